/* A module as WebAssembly: the host writes an event at weir_event(), calls weir_handle(), and reads
 * the answer at the address that it returns. It imports nothing, so it has no clock, no file and no
 * other source of chance. */
#include "event.h"

#define EXPORT(name) __attribute__((export_name(name)))

static struct shim_event event;
static char name[64];
static u64 heap[1 << 15];
static size_t used;

EXPORT("weir_event") void *weir_event(void) { return &event; }
EXPORT("weir_name") void *weir_name(void) { return name; }
EXPORT("weir_set_param") int weir_set_param(s64 value) { return shim_set_param(name, value); }
EXPORT("weir_start") int weir_start(void) { return shim_start(); }
EXPORT("weir_handle") const void *weir_handle(void) { return shim_handle(&event); }

void shim_warn(const char *file, int line, const char *condition) { (void)file; (void)line; (void)condition; }

/* Memory is never returned; a module takes it once for a socket. */
void *kcalloc(size_t count, size_t size, gfp_t flags)
{
	size_t words = (count * size + 7) / 8;
	(void)flags;
	if (words > ARRAY_SIZE(heap) - used)
		return NULL;
	used += words;
	return &heap[used - words];
}
void kfree(const void *block) { (void)block; }
char *kstrdup(const char *text, gfp_t flags)
{
	char *copy = kcalloc(strlen(text) + 1, 1, flags);
	return copy ? memcpy(copy, text, strlen(text) + 1) : NULL;
}
void *memset(void *to, int octet, size_t count)
{
	for (size_t i = 0; i < count; i++)
		((volatile char *)to)[i] = (char)octet;
	return to;
}
void *memcpy(void *to, const void *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		((volatile char *)to)[i] = ((const char *)from)[i];
	return to;
}
int strcmp(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (u8)*a - (u8)*b;
}
size_t strlen(const char *text)
{
	size_t count = 0;
	while (text[count])
		count++;
	return count;
}
/* These belong to lists of names, which only sysctls of the kernel print. */
long strscpy(char *to, const char *from, size_t size) { (void)from; if (size) *to = 0; return 0; }
int snprintf(char *to, size_t size, const char *format, ...) { (void)format; if (size) *to = 0; return 0; }
char *strncpy(char *to, const char *from, size_t size) { (void)from; if (size) *to = 0; return to; }
char *strsep(char **text, const char *delimiters) { (void)delimiters; *text = NULL; return NULL; }

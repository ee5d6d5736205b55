/* A module as a process: an event a line on standard input, an answer a line on standard output.
 * Arguments set parameters of the module: `driver-cubic hystart=0 beta=819`. With `--binary`, events
 * and answers are the structs of event.h. */
#include "event.h"

/* The C library's headers define the names of shim/kernel.h, so what is needed is declared here. */
int printf(const char *format, ...);
int puts(const char *text);
long read(int file, void *to, unsigned long count);
long write(int file, const void *from, unsigned long count);
void *calloc(size_t count, size_t size);
void free(void *block);
char *strdup(const char *text);
char *strchr(const char *text, int character);
long long strtoll(const char *text, char **end, int base);
char *fgets(char *to, int size, void *stream);
int fflush(void *stream);
int dprintf(int file, const char *format, ...);
extern void *stdin;

void *kcalloc(size_t count, size_t size, gfp_t flags) { (void)flags; return calloc(count, size); }
char *kstrdup(const char *text, gfp_t flags) { (void)flags; return strdup(text); }
void kfree(const void *block) { free((void *)block); }
long strscpy(char *to, const char *from, size_t size) { return snprintf(to, size, "%s", from); }
void shim_warn(const char *file, int line, const char *condition)
{
	dprintf(2, "%s:%d: warning of the module: %s\n", file, line, condition);
}

static const struct { const char *name; long offset; } fields[] = {
#define X(name) { #name, offsetof(struct shim_event, name) },
	SHIM_FIELDS(X)
#undef X
};
static const struct { const char *name; int code; } kinds[] = {
#define X(name, code) { #name, code },
	SHIM_KINDS(X)
#undef X
};

/* Returns what is wrong, or null. */
static const char *parse(char *line, struct shim_event *event)
{
	char *word;

	memset(event, 0, sizeof(*event));
	event->rtt_us = -1;
	while ((word = strsep(&line, " \n"))) {
		char *value = strchr(word, '=');
		char *end;
		u32 i;

		if (!*word)
			continue;
		if (!value) {
			for (i = 0; i < ARRAY_SIZE(kinds) && strcmp(kinds[i].name, word) != 0; i++)
				;
			if (i == ARRAY_SIZE(kinds))
				return word;
			event->kind = kinds[i].code;
			continue;
		}
		*value++ = 0;
		for (i = 0; i < ARRAY_SIZE(fields) && strcmp(fields[i].name, word) != 0; i++)
			;
		if (i == ARRAY_SIZE(fields))
			return word;
		*(s64 *)((char *)event + fields[i].offset) = strtoll(value, &end, 10);
		if (end == value || *end)
			return value;
	}
	return NULL;
}

static int serve_text(void)
{
	static char line[4096];
	struct shim_event event;

	while (fgets(line, sizeof(line), stdin)) {
		const char *wrong = parse(line, &event);
		const struct shim_answer *answer;

		if (wrong) {
			printf("error: not known: %s\n", wrong);
			fflush(NULL);
			continue;
		}
		answer = shim_handle(&event);
#define X(name) printf(#name "=%lld ", answer->name);
		SHIM_ANSWERS(X)
#undef X
		puts("");
		fflush(NULL);
	}
	return 0;
}

static int serve_binary(void)
{
	struct shim_event event;
	unsigned long have = 0;

	for (;;) {
		long count = read(0, (char *)&event + have, sizeof(event) - have);
		if (count <= 0)
			return count < 0;
		have += (unsigned long)count;
		if (have < sizeof(event))
			continue;
		have = 0;
		if (write(1, shim_handle(&event), sizeof(struct shim_answer)) != sizeof(struct shim_answer))
			return 1;
	}
}

int main(int count, char **words)
{
	bool binary = false;

	for (int i = 1; i < count; i++) {
		char *value = strchr(words[i], '=');
		if (strcmp(words[i], "--binary") == 0) {
			binary = true;
			continue;
		}
		if (value)
			*value++ = 0;
		if (!value || shim_set_param(words[i], strtoll(value, NULL, 0)) != 0) {
			dprintf(2, "the module has no parameter of this name: %s\n", words[i]);
			return 2;
		}
	}
	if (shim_start() != SHIM_OK) {
		dprintf(2, "no module registered as " CA "\n");
		return 2;
	}
	return binary ? serve_binary() : serve_text();
}

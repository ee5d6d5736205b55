/* The part of the kernel's C dialect that congestion control modules use: integer types, macros,
 * arithmetic helpers, lists, and the registration of modules, parameters and init functions.
 * One thread runs a module, so locks, RCU and memory barriers do nothing. */
#ifndef SHIM_KERNEL_H
#define SHIM_KERNEL_H

#include <stdarg.h>
#include <stddef.h>

#ifndef KERNEL
#define KERNEL 612 /* version * 100 + patch level of the kernel that the modules are of */
#endif
#ifndef HZ
#define HZ 250 /* Debian's and Ubuntu's value; 1000 in others */
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef _Bool bool;
typedef s64 ktime_t;
#define true 1
#define false 0

/* Strings and memory: the C library's, or those of stack/freestanding.c. */
void *memset(void *to, int octet, size_t count);
void *memcpy(void *to, const void *from, size_t count);
int strcmp(const char *a, const char *b);
size_t strlen(const char *text);
char *strncpy(char *to, const char *from, size_t size);
char *strsep(char **text, const char *delimiters);
int snprintf(char *to, size_t size, const char *format, ...);

/* Attributes. */
#define __init __attribute__((unused))
#define __exit __attribute__((unused))
#define __read_mostly
#define __bpf_kfunc
#define ____cacheline_aligned_in_smp
#define __pure
#define noinline __attribute__((noinline))
#define likely(x) (!!(x))
#define unlikely(x) (!!(x))
#define fallthrough __attribute__((fallthrough))
#define SHIM_NOTHING _Static_assert(1, "")

/* Reads, writes and exchanges: one thread. */
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((void)((x) = (value)))
#define xchg(place, value) ({ __auto_type shim_old = *(place); *(place) = (value); shim_old; })
#define cmpxchg(place, old, new) \
	({ __auto_type shim_old = *(place); if (shim_old == (old)) *(place) = (new); shim_old; })
#define DEFINE_SPINLOCK(name) int name __attribute__((unused))
#define spin_lock(lock) ((void)(lock))
#define spin_unlock(lock) ((void)(lock))
#define rcu_read_lock() ((void)0)
#define rcu_read_unlock() ((void)0)
#define rcu_dereference(pointer) (pointer)
#define synchronize_rcu() ((void)0)
#define might_sleep() ((void)0)

/* Comparison and arithmetic. */
#define min(a, b) ({ __auto_type shim_a = (a); __auto_type shim_b = (b); shim_a < shim_b ? shim_a : shim_b; })
#define max(a, b) ({ __auto_type shim_a = (a); __auto_type shim_b = (b); shim_a > shim_b ? shim_a : shim_b; })
#define min_t(type, a, b) ({ type shim_a = (a); type shim_b = (b); shim_a < shim_b ? shim_a : shim_b; })
#define max_t(type, a, b) ({ type shim_a = (a); type shim_b = (b); shim_a > shim_b ? shim_a : shim_b; })
#define min3(a, b, c) min((a), min((b), (c)))
#define max3(a, b, c) max((a), max((b), (c)))
#define min_not_zero(a, b) \
	({ __auto_type shim_x = (a); __auto_type shim_y = (b); \
	   shim_x == 0 ? shim_y : shim_y == 0 ? shim_x : min(shim_x, shim_y); })
#define clamp(x, low, high) \
	({ __auto_type shim_x = (x); __auto_type shim_l = (low); __auto_type shim_h = (high); \
	   shim_x < shim_l ? shim_l : shim_x > shim_h ? shim_h : shim_x; })
#define clamp_t(type, x, low, high) ({ type shim_v = (x), shim_lo = (low), shim_hi = (high); \
	clamp(shim_v, shim_lo, shim_hi); })
#define abs(x) ({ s64 shim_x = sizeof(x) > 4 ? (s64)(x) : (s64)(s32)(x); shim_x < 0 ? -shim_x : shim_x; })
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define DIV_ROUND_UP(a, b) (((a) + (b) - 1) / (b))
#define DIV_ROUND_CLOSEST(a, b) (((a) + (b) / 2) / (b))
#define BIT(n) (1UL << (n))
#define U32_C(x) x##u
static inline bool is_power_of_2(unsigned long n) { return n && !(n & (n - 1)); }
/* Divides the 64-bit variable `n` in place; the value is the remainder. */
#define do_div(n, base) ({ u32 shim_base = (base); u32 shim_rest = (u32)((n) % shim_base); (n) /= shim_base; shim_rest; })
static inline u64 div_u64(u64 a, u32 b) { return a / b; }
static inline s64 div_s64(s64 a, s32 b) { return a / b; }
static inline u64 div64_u64(u64 a, u64 b) { return a / b; }
static inline s64 div64_s64(s64 a, s64 b) { return a / b; }
#define div64_ul(a, b) div64_u64((a), (b))
#define div64_long(a, b) div64_s64((a), (b))
/* The number of the highest bit that is set, from 1; 0 for 0. */
static inline int fls64(u64 x) { return x ? 64 - __builtin_clzll(x) : 0; }
static inline int fls(u32 x) { return x ? 32 - __builtin_clz(x) : 0; }
#define ilog2(x) (fls64(x) - 1)

/* Sequence numbers and times that wrap around. */
static inline bool before(u32 a, u32 b) { return (s32)(a - b) < 0; }
#define after(a, b) before((b), (a))
#define time_before(a, b) ((long)((a) - (b)) < 0)
#define time_after(a, b) time_before((b), (a))
#define time_after_eq(a, b) (!time_before((a), (b)))
#define time_before_eq(a, b) time_after_eq((b), (a))
#define time_before32(a, b) before((u32)(a), (u32)(b))
#define time_after32(a, b) before((u32)(b), (u32)(a))
#define between(x, low, high) ((u32)((high) - (low)) >= (u32)((x) - (low)))

/* Times. The virtual clock is an argument of each event (stack/stack.c). */
#define USEC_PER_MSEC 1000L
#define USEC_PER_SEC 1000000L
#define MSEC_PER_SEC 1000L
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
extern u64 shim_now_ns;
extern u32 shim_jiffies;
#define tcp_jiffies32 shim_jiffies
#define jiffies ((unsigned long)shim_jiffies)
static inline unsigned long usecs_to_jiffies(u32 us) { return (unsigned long)(((u64)us * HZ + 999999) / 1000000); }
static inline unsigned long msecs_to_jiffies(u32 ms) { return (unsigned long)(((u64)ms * HZ + 999) / 1000); }
static inline u32 jiffies_to_msecs(unsigned long j) { return (u32)((u64)j * 1000 / HZ); }
static inline u32 jiffies_to_usecs(unsigned long j) { return (u32)((u64)j * 1000000 / HZ); }
static inline u64 local_clock(void) { return shim_now_ns; }
static inline ktime_t ktime_get(void) { return (s64)shim_now_ns; }
static inline ktime_t ktime_get_real(void) { return (s64)shim_now_ns; }
#define ktime_to_us(t) ((t) / 1000)
#define ktime_to_ns(t) (t)

/* Random numbers: a stream of each socket, from the seed of its first event. */
u32 shim_random(void);
#define get_random_u32() shim_random()
#define prandom_u32() shim_random()
static inline void get_random_bytes(void *to, size_t count)
{
	while (count--)
		((u8 *)to)[count] = (u8)shim_random();
}
static inline u32 get_random_u32_below(u32 bound) { return (u32)(((u64)shim_random() * bound) >> 32); }
#define prandom_u32_max(bound) get_random_u32_below(bound)

/* Messages: none, except what a kernel would warn of. */
void shim_warn(const char *file, int line, const char *condition);
#define pr_debug(...) ((void)0)
#define pr_info(...) ((void)0)
#define pr_notice(...) ((void)0)
#define pr_err(...) ((void)0)
#define pr_warn(...) ((void)0)
#define pr_warn_once(...) ((void)0)
#define net_dbg_ratelimited(...) ((void)0)
#define WARN_ON(c) ({ bool shim_c = !!(c); if (shim_c) shim_warn(__FILE__, __LINE__, #c); shim_c; })
#define WARN_ON_ONCE(c) WARN_ON(c)
#define WARN_ONCE(c, ...) WARN_ON(c)
#define BUILD_BUG_ON(c) _Static_assert(!(c), #c)
#define EPERM 1
#define ENOENT 2
#define ENOMEM 12
#define EBUSY 16
#define EEXIST 17
#define EINVAL 22
#define ERANGE 34
#define U16_MAX 0xffff
#define U32_MAX (~0u)
#define S32_MAX 0x7fffffff

/* Memory. `private` modules such as CDG take a little for each socket. */
typedef u32 gfp_t;
#define GFP_USER 0
#define GFP_KERNEL 0
#define GFP_NOWAIT 0
#define __GFP_NOWARN 0
void *kcalloc(size_t count, size_t size, gfp_t flags);
#define kzalloc(size, flags) kcalloc(1, (size), (flags))
char *kstrdup(const char *text, gfp_t flags);
void kfree(const void *block);
long strscpy(char *to, const char *from, size_t size);

/* Lists, as far as a registry needs them. */
struct list_head { struct list_head *next, *prev; };
#define LIST_HEAD(name) struct list_head name = { &(name), &(name) }
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
static inline void list_add_tail_rcu(struct list_head *entry, struct list_head *head)
{
	entry->next = head;
	entry->prev = head->prev;
	head->prev->next = entry;
	head->prev = entry;
}
static inline void list_del_rcu(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
}
#define list_for_each_entry_rcu(at, head, member) \
	for (at = container_of((head)->next, __typeof__(*at), member); &at->member != (head); \
	     at = container_of(at->member.next, __typeof__(*at), member))
/* Keys of the registry. Any hash does: the stack finds modules by name. */
static inline u32 jhash(const void *key, u32 length, u32 start)
{
	const u8 *octets = key;
	u32 hash = 2166136261u ^ start;
	for (u32 i = 0; i < length; i++)
		hash = (hash ^ octets[i]) * 16777619u;
	return hash;
}

/* Modules: constructors note parameters and init functions; the stack sets the former, then calls
 * the latter. */
struct module { int unused; };
#define THIS_MODULE ((struct module *)0)
struct kernel_param { void *arg; };
struct kernel_param_ops {
	int (*set)(const char *value, const struct kernel_param *param);
	int (*get)(char *buffer, const struct kernel_param *param);
};
static inline int param_set_uint_minmax(const char *value, const struct kernel_param *param, u32 low, u32 high)
{ (void)value; (void)param; (void)low; (void)high; return 0; }
static inline int param_get_uint(char *buffer, const struct kernel_param *param)
{ (void)buffer; (void)param; return 0; }
void shim_add_init(int (*init)(void));
void shim_add_param(const char *name, void *place, u32 size);
#define module_init(function) \
	static void __attribute__((constructor)) shim_init_##function(void) { shim_add_init(function); } SHIM_NOTHING
#define module_exit(function) SHIM_NOTHING
#define late_initcall(function) SHIM_NOTHING
#define module_param_named(name, variable, type, mode) \
	static void __attribute__((constructor)) shim_param_##name(void) \
	{ shim_add_param(#name, (void *)&(variable), sizeof(variable)); } SHIM_NOTHING
#define module_param(name, type, mode) module_param_named(name, name, type, mode)
#define module_param_cb(name, ops, place, mode) \
	static void __attribute__((constructor)) shim_param_##name(void) \
	{ (void)(ops); shim_add_param(#name, (void *)(place), sizeof(*(place))); } SHIM_NOTHING
#define MODULE_PARM_DESC(name, text) SHIM_NOTHING
#define MODULE_AUTHOR(text) SHIM_NOTHING
#define MODULE_LICENSE(text) SHIM_NOTHING
#define MODULE_DESCRIPTION(text) SHIM_NOTHING
#define MODULE_VERSION(text) SHIM_NOTHING
#define MODULE_ALIAS(text) SHIM_NOTHING
#define EXPORT_SYMBOL(name) SHIM_NOTHING
#define EXPORT_SYMBOL_GPL(name) SHIM_NOTHING

/* Functions that BPF programs may call: none here. */
struct btf_id_set8 { u32 count; };
struct btf_kfunc_id_set { struct module *owner; struct btf_id_set8 *set; };
enum { BPF_PROG_TYPE_STRUCT_OPS };
#define BTF_KFUNCS_START(name) static struct btf_id_set8 name;
#define BTF_KFUNCS_END(name)
#define BTF_SET8_START(name) static struct btf_id_set8 name;
#define BTF_SET8_END(name)
#define BTF_ID_FLAGS(...)
static inline int register_btf_kfunc_id_set(int type, const struct btf_kfunc_id_set *set)
{ (void)type; (void)set; return 0; }

#endif

/* Events for a congestion control module and its answer, the same in text and in memory. All fields
 * are 64 bits wide, so that the layout is that of every compiler. */
#ifndef SHIM_EVENT_H
#define SHIM_EVENT_H

#include <shim/kernel.h>

/* name, code: see README.md for what each one means. */
#define SHIM_KINDS(X) \
	X(new, 1) X(sent, 2) X(ack, 3) X(loss, 4) X(mark, 5) X(open, 6) X(rto, 7) X(undo, 8) \
	X(idle, 9) X(clone, 10) X(free, 11) X(mss, 12)

/* Fields of an event; what an event does not name is zero, rtt_us -1. Counts are of packets. */
#define SHIM_FIELDS(X) \
	X(kind) X(id) X(now_ns) \
	X(mss) X(cwnd) X(seed) X(ecn) X(from) \
	X(in_flight) X(packets_out) X(snd_una) X(snd_nxt) X(srtt_us) X(min_rtt_us) \
	X(app_limited) X(limited) X(acked) X(losses) X(ce) X(rtt_us) \
	X(delivered) X(interval_us) X(prior_delivered) X(prior_in_flight) \
	X(rs_app_limited) X(ack_delayed) X(repeated) X(last_sent_ns)

struct shim_event {
#define X(name) s64 name;
	SHIM_FIELDS(X)
#undef X
};

/* error: 0, or the number of what is wrong (README.md). gains are of 256. app_limited: the module or
 * the event has set it. own_control: it has cong_control. */
#define SHIM_ANSWERS(X) \
	X(error) X(cwnd) X(ssthresh) X(pacing_rate) X(paced) X(burst) X(ca_state) \
	X(bw) X(info_min_rtt_us) X(pacing_gain) X(cwnd_gain) X(alpha) \
	X(app_limited) X(own_control) X(needs_ecn)

struct shim_answer {
#define X(name) s64 name;
	SHIM_ANSWERS(X)
#undef X
};

enum { SHIM_OK, SHIM_NO_MODULE, SHIM_BAD_ID, SHIM_BAD_KIND, SHIM_FULL, SHIM_NO_CLONE };

/* Registers the modules; parameters must have been set. */
int shim_start(void);
/* 0, or -1 if the module has no parameter of this name. */
int shim_set_param(const char *name, s64 value);
/* Handles an event. The answer is valid until the next. */
const struct shim_answer *shim_handle(const struct shim_event *event);

#endif

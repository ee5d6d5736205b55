/* What TCP does around a congestion control module: it keeps the socket's fields, calls the hooks in
 * the order of Linux, and keeps congestion states. Proportional rate reduction is left to the
 * caller: in recovery the window of a module without cong_control is its ssthresh. */
#include <net/tcp.h>
#include "event.h"

#ifndef CA
#error "CA is the name under which the module registers, such as \"cubic\""
#endif
#define SOCKETS 1024
#define LISTED 64
/* The clocks of a connection do not begin at zero, which modules take as "not set". */
#define CLOCK_BASE_NS 1000000000ull
#define JIFFIES_BASE (300u * HZ)
/* sysctl tcp_pacing_ss_ratio and tcp_pacing_ca_ratio, in percent. */
#define PACING_SLOW_START 200
#define PACING_AVOIDANCE 120

struct connection {
	struct tcp_sock tp;
	u64 random;
	bool used;
};

u64 shim_now_ns;
u32 shim_jiffies;
struct net init_net;

static struct connection connections[SOCKETS];
static struct connection *current;
static struct shim_answer answer;
static int (*inits[LISTED])(void);
static u32 init_count;
static struct { const char *name; void *place; u32 size; } params[LISTED];
static u32 param_count;
static struct tcp_congestion_ops *module;

void shim_add_init(int (*init)(void))
{
	if (init_count < LISTED)
		inits[init_count++] = init;
}

void shim_add_param(const char *name, void *place, u32 size)
{
	if (param_count == LISTED)
		return;
	params[param_count].name = name;
	params[param_count].place = place;
	params[param_count++].size = size;
}

int shim_set_param(const char *name, s64 value)
{
	for (u32 i = 0; i < param_count; i++) {
		if (strcmp(params[i].name, name) != 0)
			continue;
		/* Little-endian, as x86, Arm and WebAssembly are. */
		memcpy(params[i].place, &value, params[i].size);
		return 0;
	}
	return -1;
}

int shim_start(void)
{
	int result = tcp_register_congestion_control(&tcp_reno);
	for (u32 i = 0; i < init_count && result == 0; i++)
		result = inits[i]();
	module = tcp_ca_find(CA);
	return result == 0 && module ? SHIM_OK : SHIM_NO_MODULE;
}

/* xorshift64* of Vigna: the high half of each product. */
u32 shim_random(void)
{
	u64 x = current->random;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	current->random = x;
	return (u32)((x * 0x2545f4914f6cdd1dull) >> 32);
}

static const struct tcp_congestion_ops *ops(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_ops;
}

static void notify(struct sock *sk, enum tcp_ca_event event)
{
	if (ops(sk)->cwnd_event)
		ops(sk)->cwnd_event(sk, event);
}

static u32 jiffies_at(u64 now_ns)
{
	return (u32)(now_ns / 1000 * HZ / 1000000) + JIFFIES_BASE;
}

static void set_clock(struct tcp_sock *tp, u64 now_ns)
{
	shim_now_ns = now_ns + CLOCK_BASE_NS;
	shim_jiffies = jiffies_at(now_ns);
	tp->tcp_clock_cache = shim_now_ns;
	tp->tcp_wstamp_ns = shim_now_ns;
	tp->tcp_mstamp = shim_now_ns / 1000;
}

static void set_fields(struct tcp_sock *tp, const struct shim_event *e)
{
	tp->packets_out = (u32)max(e->packets_out, e->in_flight);
	tp->sacked_out = tp->packets_out - (u32)e->in_flight;
	tp->snd_una = (u32)e->snd_una;
	tp->snd_nxt = (u32)e->snd_nxt;
	tp->rx_opt.rcv_tsecr = tcp_time_stamp_ms(tp);
	if (e->srtt_us > 0)
		tp->srtt_us = (u32)e->srtt_us << 3;
	if (e->min_rtt_us > 0)
		minmax_reset(&tp->rtt_min, shim_jiffies, (u32)e->min_rtt_us);
	tp->app_limited = e->app_limited ? max(tp->delivered + (u32)e->in_flight, 1u) : 0;
}

/* Linux computes this rate for all modules without one of their own. HyStart reads it. */
static void update_pacing_rate(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	bool early = tp->snd_cwnd < tp->snd_ssthresh / 2;
	u64 rate = (u64)tp->mss_cache * max(tp->snd_cwnd, tp->packets_out);

	rate = rate * (early ? PACING_SLOW_START : PACING_AVOIDANCE) / 100 * (8 * USEC_PER_SEC);
	if (tp->srtt_us)
		rate /= tp->srtt_us;
	sk->sk_pacing_rate = (unsigned long)min(rate, (u64)sk->sk_max_pacing_rate);
}

static void begin_reduction(struct sock *sk, u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->high_seq = tp->snd_nxt;
	tp->prior_ssthresh = state == TCP_CA_Recovery ? tcp_current_ssthresh(sk) : 0;
	tp->prior_cwnd = tp->snd_cwnd;
	tp->snd_cwnd_cnt = 0;
	tp->snd_ssthresh = ops(sk)->ssthresh(sk);
	if (!ops(sk)->cong_control)
		tp->snd_cwnd = tp->snd_ssthresh;
}

static void on_new(struct connection *c, const struct shim_event *e)
{
	struct tcp_sock *tp = &c->tp;
	struct sock *sk = &tp->inet_conn.sk;

	memset(c, 0, sizeof(*c));
	c->used = true;
	c->random = (u64)e->seed * 0x9e3779b97f4a7c15ull + 1;
	if (c->random == 0)
		c->random = 1;
	current = c;
	set_clock(tp, (u64)e->now_ns);
	minmax_reset(&tp->rtt_min, shim_jiffies, ~0u);
	set_fields(tp, e);
	sk->sk_state = TCP_ESTABLISHED;
	sk->sk_max_pacing_rate = ~0ul;
	sk->sk_pacing_shift = 10;
	sk->sk_gso_max_size = GSO_LEGACY_MAX_SIZE;
	tp->inet_conn.icsk_rto = HZ;
	tp->mss_cache = (u32)max(e->mss, 1ll);
	tp->snd_cwnd = (u32)max(e->cwnd, 1ll);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->snd_cwnd_clamp = ~0u;
	tp->delivered_mstamp = tp->tcp_mstamp;
	tp->lsndtime = shim_jiffies;
	tp->ecn_flags = e->ecn ? TCP_ECN_OK : 0;
	tp->inet_conn.icsk_ca_ops = module;
	tcp_init_congestion_control(sk);
	if (!ops(sk)->cong_control)
		update_pacing_rate(sk);
}

static void on_sent(struct sock *sk, const struct shim_event *e)
{
	struct tcp_sock *tp = tcp_sk(sk);

	/* TCP announces the first packet of a flight before it counts it. */
	if (e->last_sent_ns > 0)
		tp->lsndtime = jiffies_at((u64)e->last_sent_ns);
	if (e->packets_out <= 1) {
		tp->packets_out = tp->sacked_out = 0;
		tp->app_limited = e->app_limited ? max(tp->delivered, 1u) : 0;
		notify(sk, CA_EVENT_TX_START);
	}
	tp->lsndtime = shim_jiffies;
	set_fields(tp, e);
}

static void on_ack(struct sock *sk, const struct shim_event *e)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ack_sample sample = { .pkts_acked = (u32)e->acked, .rtt_us = (s32)e->rtt_us };
	struct rate_sample rs = {
		.delivered = e->interval_us > 0 ? (s32)e->delivered : -1,
		.interval_us = e->interval_us > 0 ? (long)e->interval_us : -1,
		.prior_delivered = (u32)e->prior_delivered,
		.prior_in_flight = (u32)e->prior_in_flight,
		.acked_sacked = (u32)e->acked,
		.losses = (int)e->losses,
		.rtt_us = (long)e->rtt_us,
		.delivered_ce = (s32)e->ce,
		.last_end_seq = (u32)e->snd_una,
		.is_app_limited = e->rs_app_limited,
		.is_ack_delayed = e->ack_delayed,
	};

	set_fields(tp, e);
	tp->delivered += (u32)e->acked;
	tp->delivered_ce += (u32)e->ce;
	tp->lost += (u32)e->losses;
	if (e->acked)
		tp->delivered_mstamp = tp->tcp_mstamp;
	tp->is_cwnd_limited = !!e->limited;
	tp->max_packets_out = (u32)e->prior_in_flight;
	if (ops(sk)->in_ack_event)
		ops(sk)->in_ack_event(sk, e->ce ? CA_ACK_SLOWPATH | CA_ACK_ECE : 0);
	if (ops(sk)->pkts_acked) {
		sample.in_flight = tp->mss_cache * (tp->delivered - rs.prior_delivered);
		ops(sk)->pkts_acked(sk, &sample);
	}
	if (ops(sk)->cong_control) {
#if KERNEL >= 610
		ops(sk)->cong_control(sk, tp->snd_una, 0, &rs);
#else
		ops(sk)->cong_control(sk, &rs);
#endif
		return;
	}
	if (e->acked && !tcp_in_cwnd_reduction(sk))
		ops(sk)->cong_avoid(sk, tp->snd_una, (u32)e->acked);
	update_pacing_rate(sk);
}

static void on_loss(struct sock *sk)
{
	if (inet_csk(sk)->icsk_ca_state >= TCP_CA_Recovery)
		return;
	if (!tcp_in_cwnd_reduction(sk))
		begin_reduction(sk, TCP_CA_Recovery);
	tcp_set_ca_state(sk, TCP_CA_Recovery);
}

static void on_mark(struct sock *sk)
{
	if (inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR)
		return;
	begin_reduction(sk, TCP_CA_CWR);
	tcp_set_ca_state(sk, TCP_CA_CWR);
}

void tcp_enter_cwr(struct sock *sk)
{
	on_mark(sk);
}

static void on_open(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_in_cwnd_reduction(sk)) {
		if (!ops(sk)->cong_control) {
			tp->snd_cwnd = tp->snd_ssthresh;
			notify(sk, CA_EVENT_COMPLETE_CWR);
		}
	}
	if (inet_csk(sk)->icsk_ca_state != TCP_CA_Open)
		tcp_set_ca_state(sk, TCP_CA_Open);
}

static void on_rto(struct sock *sk, const struct shim_event *e)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;

	set_fields(tp, e);
	if (state <= TCP_CA_Disorder || (state == TCP_CA_Loss && !e->repeated)) {
		tp->prior_ssthresh = tcp_current_ssthresh(sk);
		tp->prior_cwnd = tp->snd_cwnd;
		tp->snd_ssthresh = ops(sk)->ssthresh(sk);
		notify(sk, CA_EVENT_LOSS);
	}
	tp->snd_cwnd = (u32)e->in_flight + 1;
	tp->snd_cwnd_cnt = 0;
	tcp_set_ca_state(sk, TCP_CA_Loss);
	tp->high_seq = tp->snd_nxt;
}

static void on_undo(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->prior_ssthresh) {
		tp->snd_cwnd = ops(sk)->undo_cwnd(sk);
		tp->snd_ssthresh = max(tp->snd_ssthresh, tp->prior_ssthresh);
	}
	if (inet_csk(sk)->icsk_ca_state != TCP_CA_Open)
		tcp_set_ca_state(sk, TCP_CA_Open);
}

/* Nothing was sent for longer than a timeout. Modules with cong_control keep their window. */
static void on_idle(struct sock *sk, const struct shim_event *e)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (ops(sk)->cong_control)
		return;
	notify(sk, CA_EVENT_CWND_RESTART);
	tp->snd_ssthresh = tcp_current_ssthresh(sk);
	tp->snd_cwnd = min(tp->snd_cwnd, (u32)max(e->cwnd, 1ll));
}

static int on_clone(struct connection *to, const struct connection *from)
{
	/* A module that has to release something has memory beyond the socket. */
	if (from->tp.inet_conn.icsk_ca_ops->release)
		return SHIM_NO_CLONE;
	*to = *from;
	return SHIM_OK;
}

static void fill_answer(struct connection *c)
{
	struct tcp_sock *tp = &c->tp;
	struct sock *sk = &tp->inet_conn.sk;
	union tcp_cc_info info;
	int attribute = 0;

	memset(&info, 0, sizeof(info));
	answer.cwnd = tp->snd_cwnd;
	answer.ssthresh = tp->snd_ssthresh;
	answer.pacing_rate = (s64)min((u64)sk->sk_pacing_rate, (u64)1 << 62);
	answer.paced = sk->sk_pacing_status != SK_PACING_NONE;
	answer.burst = ops(sk)->min_tso_segs ? ops(sk)->min_tso_segs(sk) : 2;
	answer.ca_state = tp->inet_conn.icsk_ca_state;
	answer.app_limited = tp->app_limited != 0;
	answer.own_control = ops(sk)->cong_control != NULL;
	answer.needs_ecn = tcp_ca_needs_ecn(sk);
	if (ops(sk)->get_info)
		ops(sk)->get_info(sk, ~0u, &attribute, &info);
	if (attribute == INET_DIAG_BBRINFO) {
		answer.bw = (s64)((u64)info.bbr.bbr_bw_hi << 32 | info.bbr.bbr_bw_lo);
		answer.info_min_rtt_us = info.bbr.bbr_min_rtt;
		answer.pacing_gain = info.bbr.bbr_pacing_gain;
		answer.cwnd_gain = info.bbr.bbr_cwnd_gain;
	} else if (attribute == INET_DIAG_DCTCPINFO) {
		answer.alpha = info.dctcp.dctcp_alpha;
	}
}

const struct shim_answer *shim_handle(const struct shim_event *e)
{
	bool makes = e->kind == 1 || e->kind == 10;
	struct connection *c = &connections[0];
	struct sock *sk;

	memset(&answer, 0, sizeof(answer));
	if (!module) {
		answer.error = SHIM_NO_MODULE;
		return &answer;
	}
	if (e->id < 0 || e->id >= SOCKETS) {
		answer.error = SHIM_FULL;
		return &answer;
	}
	c += e->id;
	if (c->used == makes) {
		answer.error = SHIM_BAD_ID;
		return &answer;
	}
	current = c;
	sk = &c->tp.inet_conn.sk;
	if (!makes)
		set_clock(&c->tp, (u64)e->now_ns);
	switch (e->kind) {
	case 1: on_new(c, e); break;
	case 2: on_sent(sk, e); break;
	case 3: on_ack(sk, e); break;
	case 4: set_fields(&c->tp, e); on_loss(sk); break;
	case 5: set_fields(&c->tp, e); on_mark(sk); break;
	case 6: on_open(sk); break;
	case 7: on_rto(sk, e); break;
	case 8: on_undo(sk); break;
	case 9: on_idle(sk, e); break;
	case 10:
		if (e->from < 0 || e->from >= SOCKETS || !connections[e->from].used)
			answer.error = SHIM_BAD_ID;
		else
			answer.error = on_clone(c, &connections[e->from]);
		if (answer.error)
			return &answer;
		break;
	case 11:
		tcp_cleanup_congestion_control(sk);
		c->used = false;
		return &answer;
	case 12: c->tp.mss_cache = (u32)max(e->mss, 1ll); break;
	default:
		answer.error = SHIM_BAD_KIND;
		return &answer;
	}
	fill_answer(c);
	return &answer;
}

/* The socket as a congestion control module sees it: the fields, constants and helpers of
 * net/tcp.h, linux/tcp.h, net/sock.h and linux/inet_diag.h that the modules of net/ipv4 use. */
#ifndef SHIM_TCP_H
#define SHIM_TCP_H

#include <shim/kernel.h>
#include <linux/win_minmax.h>

#define TCP_CA_NAME_MAX 16
#define TCP_CA_UNSPEC 0
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_INIT_CWND 10
#define GSO_LEGACY_MAX_SIZE 65536u
#define MAX_TCP_HEADER 320 /* L1_CACHE_ALIGN(128 + MAX_HEADER) of a usual configuration */
#define ICSK_CA_PRIV_SIZE 104
#define CONFIG_DEFAULT_TCP_CONG "reno"

enum { TCP_ESTABLISHED = 1, TCP_CLOSE = 7, TCP_LISTEN = 10 };
#define TCPF_CLOSE (1 << TCP_CLOSE)
#define TCPF_LISTEN (1 << TCP_LISTEN)
enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
#define TCPF_CA_Open (1 << TCP_CA_Open)
#define TCPF_CA_Disorder (1 << TCP_CA_Disorder)
#define TCPF_CA_CWR (1 << TCP_CA_CWR)
#define TCPF_CA_Recovery (1 << TCP_CA_Recovery)
#define TCPF_CA_Loss (1 << TCP_CA_Loss)
enum tcp_ca_event {
	CA_EVENT_TX_START, CA_EVENT_CWND_RESTART, CA_EVENT_COMPLETE_CWR, CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE, CA_EVENT_ECN_IS_CE,
};
enum { CA_ACK_SLOWPATH = 1, CA_ACK_WIN_UPDATE = 2, CA_ACK_ECE = 4 };
enum { TCP_ECN_OK = 1, TCP_ECN_QUEUE_CWR = 2, TCP_ECN_DEMAND_CWR = 4 };
enum { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };
enum { ICSK_ACK_SCHED = 1, ICSK_ACK_TIMER = 2, ICSK_ACK_NOW = 16 };

struct sock;
struct tcp_congestion_ops;

struct netns_ipv4 {
	struct tcp_congestion_ops *tcp_congestion_control;
};
struct net { struct netns_ipv4 ipv4; };
extern struct net init_net;
#define sock_net(sk) (&init_net)
#define net_eq(a, b) ((a) == (b))
#define NET_INC_STATS(net, counter) ((void)0)
#define NET_ADD_STATS(net, counter, amount) ((void)0)

struct ack_sample { u32 pkts_acked; s32 rtt_us; u32 in_flight; };

struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered, prior_delivered_ce;
	s32 delivered, delivered_ce;
	long interval_us;
	u32 snd_interval_us, rcv_interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked, prior_in_flight, last_end_seq;
	bool is_app_limited, is_retrans, is_ack_delayed;
};

/* What a module reports of itself. */
enum { INET_DIAG_VEGASINFO = 3, INET_DIAG_DCTCPINFO = 9, INET_DIAG_BBRINFO = 16 };
struct tcpvegas_info { u32 tcpv_enabled, tcpv_rttcnt, tcpv_rtt, tcpv_minrtt; };
struct tcp_dctcp_info { u16 dctcp_enabled, dctcp_ce_state; u32 dctcp_alpha, dctcp_ab_ecn, dctcp_ab_tot; };
struct tcp_bbr_info { u32 bbr_bw_lo, bbr_bw_hi, bbr_min_rtt, bbr_pacing_gain, bbr_cwnd_gain; };
union tcp_cc_info { struct tcpvegas_info vegas; struct tcp_dctcp_info dctcp; struct tcp_bbr_info bbr; };

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
#if KERNEL >= 610
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
#else
	void (*cong_control)(struct sock *sk, const struct rate_sample *rs);
#endif
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	size_t (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
	char name[TCP_CA_NAME_MAX];
	struct module *owner;
	struct list_head list;
	u32 key, flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

struct sock {
	u8 sk_state;
	unsigned long sk_pacing_rate, sk_max_pacing_rate; /* octets per second */
	u32 sk_pacing_status;
	u8 sk_pacing_shift;
	u32 sk_gso_max_size;
};

struct inet_connection_sock {
	struct sock sk;
	const struct tcp_congestion_ops *icsk_ca_ops;
	u8 icsk_ca_state, icsk_ca_setsockopt, icsk_ca_dst_locked, icsk_ca_initialized;
	u8 icsk_retransmits;
	u32 icsk_rto; /* jiffies */
	struct { u8 pending; } icsk_ack;
	u64 icsk_ca_priv[ICSK_CA_PRIV_SIZE / sizeof(u64)];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp; /* microseconds */
	u64 tcp_clock_cache, tcp_wstamp_ns; /* nanoseconds */
	u64 delivered_mstamp; /* microseconds */
	u32 snd_cwnd, snd_ssthresh, snd_cwnd_cnt, snd_cwnd_clamp, prior_cwnd, prior_ssthresh;
	u32 snd_cwnd_stamp; /* jiffies */
	u32 snd_una, snd_nxt, high_seq, rcv_nxt, undo_marker;
	u32 packets_out, sacked_out, lost_out, retrans_out, max_packets_out;
	u32 delivered, delivered_ce, lost, app_limited; /* packets */
	u32 srtt_us, mdev_us, rttvar_us; /* srtt_us and mdev_us in eighths and quarters */
	struct minmax rtt_min;
	u32 mss_cache;
	u32 lsndtime; /* jiffies */
	u8 ecn_flags, is_cwnd_limited;
	struct { u32 rcv_tsval, rcv_tsecr; } rx_opt;
};

#define tcp_sk(sk) ((struct tcp_sock *)(sk))
#define inet_csk(sk) ((struct inet_connection_sock *)(sk))
#define inet_csk_ca(sk) ((void *)inet_csk(sk)->icsk_ca_priv)
#define INET_ECN_xmit(sk) ((void)(sk))
#define INET_ECN_dontxmit(sk) ((void)(sk))
#define bpf_try_module_get(data, owner) ((void)(data), true)
#define bpf_module_put(data, owner) ((void)(data))
#define trace_tcp_cong_state_set(sk, state) ((void)(sk))
#define __tcp_send_ack(sk, ...) ((void)(sk))

/* No BPF program is attached to a socket. */
enum { BPF_SOCK_OPS_BASE_RTT = 7 };
#define tcp_call_bpf(sk, op, count, args) ((void)(sk), -1)

static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp) { return tp->snd_cwnd; }
static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 packets) { WARN_ON_ONCE((s32)packets <= 0); tp->snd_cwnd = packets; }
static inline bool tcp_in_slow_start(const struct tcp_sock *tp) { return tp->snd_cwnd < tp->snd_ssthresh; }
static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{ return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out; }
static inline u32 tcp_min_rtt(const struct tcp_sock *tp) { return minmax_get(&tp->rtt_min); }
static inline u32 tcp_stamp_us_delta(u64 later, u64 earlier) { return (u32)max((s64)(later - earlier), 0LL); }
static inline u32 tcp_time_stamp_ms(const struct tcp_sock *tp) { return (u32)(tp->tcp_mstamp / 1000); }
#define tcp_time_stamp(tp) tcp_time_stamp_ms(tp)
#define tcp_time_stamp_ts(tp) tcp_time_stamp_ms(tp)
#define TCP_TS_HZ 1000
static inline bool tcp_in_cwnd_reduction(const struct sock *sk)
{ return (1 << inet_csk(sk)->icsk_ca_state) & (TCPF_CA_CWR | TCPF_CA_Recovery); }
static inline u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 three_quarters = (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2);
	return tcp_in_cwnd_reduction(sk) ? tp->snd_ssthresh : max(tp->snd_ssthresh, three_quarters);
}
/* The window limits the sender; in slow start also if it used half of it. */
static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	return tp->is_cwnd_limited || (tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out);
}
#define tcp_ca_needs_ecn(sk) (!!(inet_csk(sk)->icsk_ca_ops->flags & TCP_CONG_NEEDS_ECN))

/* In the kernel's tcp_cong.c, which is compiled with each module. */
extern struct tcp_congestion_ops tcp_reno;
int tcp_register_congestion_control(struct tcp_congestion_ops *ca);
void tcp_unregister_congestion_control(struct tcp_congestion_ops *ca);
struct tcp_congestion_ops *tcp_ca_find(const char *name);
struct tcp_congestion_ops *tcp_ca_find_key(u32 key);
int tcp_validate_congestion_control(struct tcp_congestion_ops *ca);
int tcp_update_congestion_control(struct tcp_congestion_ops *ca, struct tcp_congestion_ops *old);
void tcp_set_ca_state(struct sock *sk, const u8 state);
void tcp_init_congestion_control(struct sock *sk);
void tcp_cleanup_congestion_control(struct sock *sk);
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked);
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
u32 tcp_reno_ssthresh(struct sock *sk);
u32 tcp_reno_undo_cwnd(struct sock *sk);

/* In stack/stack.c: a module begins a reduction by itself, as CDG does. */
void tcp_enter_cwr(struct sock *sk);

/* Protective load balancing changes a flow's path; a simulated flow has one. */
#define TCP_PLB_SCALE 8
struct tcp_plb_state { u8 consec_cong_rounds; u32 pause_until; };
static inline void tcp_plb_init(const struct sock *sk, struct tcp_plb_state *plb) { (void)sk; *plb = (struct tcp_plb_state){ 0 }; }
#define tcp_plb_update_state(sk, plb, ratio) ((void)(ratio))
#define tcp_plb_check_rehash(sk, plb) ((void)(plb))
#define tcp_plb_update_state_upon_rto(sk, plb) ((void)(plb))

#endif

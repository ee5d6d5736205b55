/* What tests have in place of the registry and the Reno of a kernel's tree. */
#include <net/tcp.h>

static struct tcp_congestion_ops *known[4];
static u32 count;

int tcp_register_congestion_control(struct tcp_congestion_ops *ca)
{
	known[count++] = ca;
	return 0;
}

struct tcp_congestion_ops *tcp_ca_find(const char *name)
{
	for (u32 i = 0; i < count; i++)
		if (strcmp(known[i]->name, name) == 0)
			return known[i];
	return NULL;
}

void tcp_set_ca_state(struct sock *sk, const u8 state) { inet_csk(sk)->icsk_ca_state = state; }
void tcp_init_congestion_control(struct sock *sk) { if (inet_csk(sk)->icsk_ca_ops->init) inet_csk(sk)->icsk_ca_ops->init(sk); }
void tcp_cleanup_congestion_control(struct sock *sk) { (void)sk; }
u32 tcp_reno_ssthresh(struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd / 2, 2u); }
u32 tcp_reno_undo_cwnd(struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd); }

/* A packet a round trip, twice the window in slow start. */
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	(void)ack;
	if (tcp_in_slow_start(tp)) {
		tp->snd_cwnd += acked;
		return;
	}
	tp->snd_cwnd_cnt += acked;
	if (tp->snd_cwnd_cnt >= tp->snd_cwnd) {
		tp->snd_cwnd_cnt -= tp->snd_cwnd;
		tp->snd_cwnd++;
	}
}

struct tcp_congestion_ops tcp_reno = {
	.name = "reno",
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

/* A module as people write them. Tests replace NAME and LARGEST, the window at which it crashes. */
#include <linux/module.h>
#include <net/tcp.h>

static void test_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
	if (tcp_snd_cwnd(tcp_sk(sk)) >= LARGEST)
		__builtin_trap();
}

static struct tcp_congestion_ops test __read_mostly = {
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = test_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "NAME",
};

static int __init test_register(void)
{
	return tcp_register_congestion_control(&test);
}

module_init(test_register);
MODULE_LICENSE("GPL");

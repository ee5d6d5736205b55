"""Checks the modules against what is known by hand. Usage: check.py FOLDER_OF_DRIVERS"""
import math
import sys
from collections import deque

from driver import Module

FOLDER = sys.argv[1]
MSS = 1448
failures = 0


def check(name, holds, detail=""):
    global failures
    failures += not holds
    print(f"{'holds' if holds else 'FAILS'}: {name} {detail}")


def start(name, *params, cwnd=10, **fields):
    module = Module(f"{FOLDER}/driver-{name}", *params)
    module.call("new", mss=MSS, cwnd=cwnd, **fields)
    return module


def rounds(module, cwnd, rtt_us, count, at=0, sent=0, rtt_of=None):
    """`count` round trips in which the whole window is acknowledged, packet by packet."""
    for _ in range(count):
        flight = cwnd
        for n in range(flight):
            sent += MSS
            at += rtt_us * 1000 // flight
            sample = rtt_of(at) if rtt_of else rtt_us
            answer = module.call("ack", now_ns=at, acked=1, in_flight=flight - 1, prior_in_flight=flight, packets_out=flight - 1,
                                 snd_una=sent, snd_nxt=sent + (flight - 1) * MSS, rtt_us=sample, srtt_us=rtt_us, min_rtt_us=rtt_us, limited=1)
            cwnd = answer["cwnd"]
        yield answer, at, sent


# Reno: slow start doubles, a loss halves, avoidance adds one packet a round trip, a timeout leaves one.
module = start("reno")
states = list(rounds(module, 10, 100_000, 3))
_, at, sent = states[-1]
windows = [answer["cwnd"] for answer, *_ in states]
check("Reno doubles in slow start", windows == [20, 40, 80], windows)
answer = module.call("loss", now_ns=at, in_flight=79)
check("Reno halves", (answer["cwnd"], answer["ssthresh"], answer["ca_state"]) == (40, 40, 3), answer["cwnd"])
module.call("open", now_ns=at)
states = list(rounds(module, 40, 100_000, 5, at, sent))
at = states[-1][1]
windows = [answer["cwnd"] for answer, *_ in states]
check("Reno adds one packet a round trip", windows == [41, 42, 43, 44, 45], windows)
answer = module.call("rto", now_ns=at)
check("Reno after a timeout", (answer["cwnd"], answer["ssthresh"]) == (1, 22), (answer["cwnd"], answer["ssthresh"]))
module.call("undo", now_ns=at)
check("undo restores the window", module.call("sent", now_ns=at, in_flight=1, packets_out=1)["cwnd"] == 45)
module.close()

# CUBIC against RFC 9438: W(t) = C(t-K)^3 + Wmax, K = cbrt((Wmax - cwnd_epoch)/C), C 0.4, beta 0.7.
RTT = 0.1
module = start("cubic", "hystart=0", "tcp_friendliness=0", cwnd=1000)
answer = module.call("loss", now_ns=1_000_000_000, in_flight=999)
check("CUBIC reduces to 717/1024", answer["cwnd"] == 1000 * 717 // 1024, answer["cwnd"])
module.call("open", now_ns=1_000_000_000)
cwnd, w_max, c = answer["cwnd"], 1000, 0.4
k = ((w_max - cwnd) / c) ** (1 / 3)
print(f"  K = {k:.3f} s;   t/s  module  RFC 9438 at t  at t + RTT  (packets)")
begin, worst = None, 0
for n, (answer, at, sent) in enumerate(rounds(module, cwnd, int(RTT * 1e6), 180, 1_000_000_000)):
    begin = at / 1e9 - RTT if begin is None else begin
    t = at / 1e9 - begin
    w = lambda t: c * (t - k) ** 3 + w_max
    if n % 15 == 14:
        print(f"                  {t:5.1f}  {answer['cwnd']:6}  {w(t):13.1f}  {w(t + RTT):10.1f}")
    if n > 10:
        worst = max(worst, abs(answer["cwnd"] / w(t) - 1))
check("CUBIC follows the curve of RFC 9438 within 2 %", worst < 0.02, f"largest difference {100 * worst:.2f} %")
module.close()
module = start("cubic", cwnd=10)
hystart = None
for answer, at, sent in rounds(module, 10, 100_000, 12, rtt_of=lambda now: 100_000 if now < 450_000_000 else 125_000):
    if answer["ssthresh"] < 2**30:
        hystart = answer["ssthresh"]
        break
check("HyStart ends slow start when the delay grows", hystart is not None, f"ssthresh {hystart}")
module.close()

# DCTCP: alpha begins at 1024, is multiplied by 15/16 in a round trip without marks, and the window
# is reduced by alpha/2.
module = start("dctcp", cwnd=100, ecn=1, snd_nxt=100 * MSS)
states = list(rounds(module, 100, 10_000, 4))
at = states[-1][1]
alphas = [answer["alpha"] for answer, *_ in states]
expected = 1024
by_hand = []
for _ in alphas:
    expected -= expected >> 4
    by_hand.append(expected)
check("DCTCP's alpha decays by 1/16 a round trip", alphas == by_hand, f"{alphas} by hand {by_hand}")
before = module.call("sent", now_ns=at, in_flight=1, packets_out=2)
answer = module.call("mark", now_ns=at, in_flight=100)
check("DCTCP reduces by alpha/2", answer["cwnd"] == before["cwnd"] - (before["cwnd"] * before["alpha"] >> 11), (before["cwnd"], answer["cwnd"]))
module.close()

# Vegas: with a queue of about 3 packets it holds; below 2 it adds a packet, above 4 it takes one.
for extra, change in ((1, 1), (3, 0), (6, -1)):
    module = start("vegas", cwnd=100)
    module.call("loss", now_ns=0, in_flight=99)
    module.call("open", now_ns=0)
    list(rounds(module, 50, 100_000, 2))
    queueing = lambda _: int(100_000 * (1 + extra / 50))
    answers = [answer["cwnd"] for answer, at, sent in rounds(module, 50, 100_000, 4, 10**9, 10**6, rtt_of=queueing)]
    check(f"Vegas with {extra} packets queued changes by {change} a round trip", answers[-1] - answers[-2] == change, answers)
    module.close()


class Path:
    """A paced sender over a bottleneck without loss."""

    def __init__(self, module, answer, rate_pps, rtt):
        self.module, self.answer, self.gap, self.rtt = module, answer, 1 / rate_pps, rtt
        self.now = self.free = self.next_send = 0.0
        self.acks, self.sent, self.delivered, self.delivered_at, self.first_sent = deque(), 0, 0, 0.0, 0.0
        self.srtt = 0

    def run(self, until):
        while self.now < until:
            room = len(self.acks) < self.answer["cwnd"]
            at = max(self.next_send, self.now)
            if room and (not self.acks or at <= self.acks[0][0]):
                self.now = at
                self.send()
            elif self.acks:
                yield from self.acknowledge()

    def send(self):
        if not self.acks:
            self.first_sent = self.delivered_at = self.now
        self.free = max(self.free, self.now + self.rtt / 2) + self.gap
        self.acks.append((self.free + self.rtt / 2, self.now, self.delivered, self.delivered_at, self.first_sent))
        self.sent += 1
        flight = len(self.acks)
        self.answer = self.module.call("sent", now_ns=self.now * 1e9, in_flight=flight, packets_out=flight, snd_nxt=self.sent * MSS,
                                       snd_una=(self.sent - flight) * MSS, srtt_us=self.srtt)
        self.next_send = self.now + MSS / max(self.answer["pacing_rate"], 1)

    def acknowledge(self):
        self.now, sent_at, prior, prior_at, first = self.acks.popleft()
        self.delivered += 1
        self.delivered_at, self.first_sent = self.now, sent_at
        rtt = int((self.now - sent_at) * 1e6)
        self.srtt = self.srtt + (rtt - self.srtt) // 8 if self.srtt else rtt
        interval = max(sent_at - first, self.now - prior_at)
        flight = len(self.acks)
        self.answer = self.module.call("ack", now_ns=self.now * 1e9, acked=1, rtt_us=rtt, srtt_us=self.srtt, in_flight=flight, packets_out=flight,
                                       prior_in_flight=flight + 1, delivered=self.delivered - prior, interval_us=interval * 1e6,
                                       prior_delivered=prior, snd_nxt=self.sent * MSS, snd_una=(self.sent - flight) * MSS, limited=1)
        yield self.now, self.answer


# BBR over 1000 packets a second and 40 ms.
def bbr(seed):
    module = Module(f"{FOLDER}/driver-bbr")
    answer = module.call("new", mss=MSS, cwnd=10, seed=seed)
    gains, values, probe_rtt = [], [], None
    first_rate = answer["pacing_rate"]
    for now, answer in Path(module, answer, 1000, 0.04).run(11.5):
        values.append(answer)
        if not gains or gains[-1][0] != answer["pacing_gain"]:
            gains.append((answer["pacing_gain"], now))
        if answer["cwnd"] == 4 and probe_rtt is None and now > 1:
            probe_rtt = now
    module.close()
    return first_rate, gains, values, probe_rtt


first_rate, gains, values, probe_rtt = bbr(1)
print("  gains:", [(f"{gain / 256:.3f}", round(at, 3)) for gain, at in gains[:14]])
check("BBR's first rate is 2.89 * 10 packets a ms, less 1 %", abs(first_rate / (739 / 256 * 10 * MSS * 1000 * 0.99) - 1) < 1e-4, first_rate)
check("BBR starts with a gain of 739/256 = 2.887", gains[0][0] == 739)
check("BBR drains with 88/256 = 0.344", gains[1][0] == 88)
phases = [gain for gain, at in gains[2:40]]
check("BBR's cycle: 1.25, 0.75, then 1", set(phases) == {320, 192, 256}
      and all(phases[i + 1] == 192 for i, gain in enumerate(phases[:-1]) if gain == 320)
      and all(phases[i + 1] == 256 for i, gain in enumerate(phases[:-1]) if gain == 192))
ups = [at for gain, at in gains if gain == 320 and at < 10]
check("BBR's cycle lasts about 8 minimum round trips (0.33 s)", 0.31 < (ups[-1] - ups[0]) / (len(ups) - 1) < 0.45, f"{(ups[-1] - ups[0]) / (len(ups) - 1):.3f} s")
check("BBR's bandwidth is that of the bottleneck", abs(values[-1]["bw"] / (1000 * MSS) - 1) < 0.02, f"{values[-1]['bw'] / MSS:.1f} packets/s")
check("BBR's ProbeRTT begins after 10 s with 4 packets", probe_rtt is not None and 10 < probe_rtt < 10.4, probe_rtt)
check("the same seed gives the same run", bbr(1)[2] == values)
check("another seed gives another phase", any(bbr(seed)[1][2:6] != gains[2:6] for seed in (2, 3)))
print(f"{failures} failed")
sys.exit(failures > 0)

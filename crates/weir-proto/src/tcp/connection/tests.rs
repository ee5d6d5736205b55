//! A sender against acknowledgements written by hand: single steps of RFCs 5681, 6298, 6582, 6675,
//! 5682 and 8985.

use super::*;
use crate::cc::window::{
    BoxedController, ControllerRules, RecoveryBoundary, Rules as WindowRules, WindowConfig, named,
};
use crate::event::SndLim;
use crate::packet::{Ecn, IpHeader};
use crate::tcp::sequence::wrap;
use crate::tcp::wire::{Packet as TcpPacket, SackBlocks, SynOptions};

mod controller_calls;
mod duplicates;
mod ecn;
mod exchange;
mod fast_recovery;
mod flow_control;
mod outage;
mod rack_tlp;
mod segments;
mod steps;
mod timers;

const MSS: u64 = 1000;
const MS: fn(u64) -> Duration = Duration::from_millis;

fn at(millis: u64) -> Instant {
    Instant::ZERO + MS(millis)
}

fn controller(config: &Config, name: &str) -> BoxedController {
    let rules = config.rules;
    let window = WindowConfig {
        max_datagram_size: MSS,
        initial_window: Some(rules.initial_window(MSS as u32)),
        rules: WindowRules {
            recovery_probe: false,
            recovery_boundary: RecoveryBoundary::Before,
            controller: ControllerRules {
                undo_spurious: rules.controller.undo_spurious || rules.f_rto,
                ..ControllerRules::OFF
            },
            ..WindowRules::RFC9002
        },
        ..WindowConfig::default()
    };
    named(name, &window).expect("a known controller")
}

/// A client with much to send, and a peer whose segments the test writes.
struct Bench {
    sender: Connection,
}

impl Bench {
    /// The connection is open at 100 ms, the round-trip time of its handshake, unless the SYN was
    /// lost once: then it took a second more.
    fn open(rules: &str, lost_syn: bool) -> Self {
        let config = Config::named(rules).expect("a preset");
        Self::open_with(config, "newreno", lost_syn)
    }

    /// The same with these settings and this controller.
    fn open_with(config: Config, name: &str, lost_syn: bool) -> Self {
        Self::open_of(config, controller(&config, name), lost_syn)
    }

    fn open_of(config: Config, controller: BoxedController, lost_syn: bool) -> Self {
        let config = Config {
            segment_size: MSS as u32,
            ..config
        };
        let mut sender = Connection::client(config, controller);
        sender.connect(at(0));
        assert!(sender.poll_transmit(at(0)).is_some(), "a SYN");
        let mut open_at = at(100);
        if lost_syn {
            sender.handle_timeout(at(1000));
            assert!(sender.poll_transmit(at(1000)).is_some(), "a SYN again");
            open_at = at(1100);
        }
        let mut bench = Self { sender };
        bench.receive(
            open_at,
            TcpPacket {
                flags: flag::SYN | flag::ACK,
                syn: Some(SynOptions {
                    mss: MSS as u16,
                    window_scale: 10,
                    sack_permitted: true,
                }),
                ..segment(0, &[])
            },
        );
        bench
            .sender
            .write(open_at, Payload::of_len(1_000_000))
            .expect("room");
        bench
    }

    fn receive(&mut self, now: Instant, body: TcpPacket) {
        self.sender.handle(now, &mut packet(body));
    }

    /// An acknowledgement of `ack` segments and SACKs of segments.
    fn ack(&mut self, millis: u64, ack: u64, sacks: &[(u64, u64)]) {
        self.receive(at(millis), segment(ack, sacks));
    }

    /// The numbers of the segments that leave now.
    fn sent(&mut self, millis: u64) -> Vec<u64> {
        let mut sent = Vec::new();
        while let Some(packet) = self.sender.poll_transmit(at(millis)) {
            let Body::Tcp(packet) = packet.body else {
                panic!("not TCP")
            };
            if packet.payload_len > 0 {
                sent.push(u64::from(packet.seq.wrapping_sub(1)) / MSS);
            }
        }
        sent
    }

    /// The window in segments.
    fn window(&self) -> f64 {
        self.sender.controller.window() as f64 / MSS as f64
    }

    fn ssthresh(&self) -> Option<u64> {
        self.sender
            .controller
            .report()
            .ssthresh
            .map(|octets| octets / MSS)
    }

    /// Lets the timers expire that are due next, and returns when.
    fn expire(&mut self) -> u64 {
        let next = self.sender.poll_timeout().expect("a timer");
        self.sender.handle_timeout(next);
        next.as_nanos() / 1_000_000
    }

    /// Grows the window to `segments` by acknowledging one segment after another, a round trip of
    /// 100 ms after it was sent; returns how many are acknowledged, and the time. All that the
    /// window allows is in flight then.
    fn grow_to(&mut self, segments: u64) -> (u64, u64) {
        let mut now = 100;
        let mut sent = self.sent(now);
        loop {
            now += 100;
            let mut next = Vec::new();
            for segment in sent {
                let acked = segment + 1;
                self.ack(now, acked, &[]);
                next.extend(self.sent(now));
                if self.window() >= segments as f64 {
                    return (acked, now);
                }
            }
            sent = next;
        }
    }
}

/// The segment as it arrives from the peer.
fn packet(body: TcpPacket) -> Packet {
    Packet {
        ip: IpHeader {
            source: HostId(1),
            destination: HostId(0),
            ecn: Ecn::NotEct,
            ttl: IpHeader::DEFAULT_TTL,
            ..IpHeader::default()
        },
        ..Packet::new(40, Body::Tcp(body))
    }
}

/// An acknowledgement of `ack` segments, with SACKs of segments.
fn segment(ack: u64, sacks: &[(u64, u64)]) -> TcpPacket {
    let number = |segments: u64| wrap(0, segments * MSS);
    let mut blocks = SackBlocks::default();
    for &(start, end) in sacks {
        blocks.push((number(start), number(end)));
    }
    TcpPacket {
        source_port: 1,
        destination_port: 0,
        seq: 1,
        ack: number(ack),
        flags: flag::ACK,
        window: u16::MAX,
        syn: None,
        sack: blocks,
        accecn: None,
        payload_len: 0,
    }
}

#[test]
fn the_first_flight_is_the_initial_window() {
    // RFC 5681 §3.1: 4 segments of 1000 octets; RFC 6928: 10.
    for (rules, segments) in [("rfc", 4), ("linux", 10), ("ns2-sack1", 2)] {
        assert_eq!(
            Bench::open(rules, false).sent(100).len(),
            segments,
            "{rules}"
        );
    }
}

#[test]
fn a_lost_syn_leaves_one_segment_and_three_seconds() {
    // RFC 5681 §3.1: the initial window is one segment; RFC 6298 §5.7: the RTO is 3 s.
    let mut bench = Bench::open("rfc", true);
    assert_eq!(bench.sent(1100), [0]);
    assert_eq!(bench.expire(), 4100);
}

#[test]
fn one_acknowledgement_opens_the_window_by_one_segment_in_slow_start() {
    // RFC 5681 §3.1, eq. 2: min(N, SMSS); Linux counts all segments acknowledged.
    for (rules, window) in [("rfc", 5.0), ("linux", 14.0)] {
        let mut bench = Bench::open(rules, false);
        bench.sent(100);
        bench.ack(200, 4, &[]);
        assert_eq!(bench.window(), window, "{rules}");
    }
}

#[test]
fn sacked_octets_alone_do_not_open_the_window() {
    // RFC 5681 §3.1: growth for acknowledgements of new data; Linux counts what was delivered.
    for (rules, window) in [("rfc", 4.0), ("linux", 11.0)] {
        let mut bench = Bench::open(rules, false);
        bench.sent(100);
        bench.ack(200, 0, &[(1, 2)]);
        assert_eq!(bench.window(), window, "{rules}");
    }
}

#[test]
fn a_timeout_leaves_one_segment_and_half_the_flight() {
    // RFC 5681 §3.1: LW is one segment, ssthresh = max(FlightSize / 2, 2 SMSS).
    let mut bench = Bench::open("rfc", false);
    let (acked, now) = bench.grow_to(16);
    let first = bench.expire();
    // RFC 6298 §2: SRTT 100 ms; the RTO is its minimum, 1 s.
    assert_eq!(first, now + 1000);
    assert_eq!((bench.window(), bench.ssthresh()), (1.0, Some(8)));
    assert_eq!(bench.sent(first), [acked], "one segment, not two");
    assert_eq!(bench.sender.statistics().timeouts, 1);
    // §3.1: ssthresh is kept when the timer expires again for the same segment; RFC 6298 §5.5.
    let second = bench.expire();
    assert_eq!((second, bench.ssthresh()), (first + 2000, Some(8)));
    bench.sent(second);
    assert_eq!(
        bench.sender.statistics().packets_lost,
        0,
        "presumed, not found lost"
    );
    assert_eq!(
        bench.sender.statistics().packets_retransmitted_by_timeout,
        2
    );
}

#[test]
fn the_back_off_ends_with_a_sample_or_with_new_data() {
    // RFC 6298 §5: a retransmitted segment gives no sample, so the RTO stays doubled.
    for (rules, after) in [("rfc", 2000), ("ns2-sack1", 300)] {
        let mut bench = Bench::open(rules, false);
        bench.sent(100);
        let expired = bench.expire();
        bench.sent(expired);
        let now = expired + 100;
        bench.ack(now, 1, &[]);
        bench.sent(now);
        let due = bench.expire() - now;
        assert_eq!(due, after, "{rules}");
    }
}

#[test]
fn fast_recovery_halves_the_flight_once() {
    // RFC 6675 §5: three SACKed segments; ssthresh = cwnd = FlightSize / 2.
    let mut bench = Bench::open("rfc", false);
    let (first, t) = bench.grow_to(16);
    bench.ack(t + 100, first, &[(first + 1, first + 3)]);
    // RFC 3042: each of the first two duplicates allows a new segment.
    assert_eq!(bench.sent(t + 100), [first + 16, first + 17]);
    assert_eq!(bench.window(), 16.0);
    bench.ack(t + 101, first, &[(first + 1, first + 4)]);
    // FlightSize is 18 with the two segments of Limited Transmit; the window was 16.
    assert_eq!((bench.window(), bench.ssthresh()), (8.0, Some(8)));
    assert_eq!(bench.sent(t + 101), [first], "the retransmission");
    for n in 5..=17 {
        bench.ack(t + 102, first, &[(first + 1, first + n)]);
        bench.sent(t + 102);
        assert_eq!(
            bench.window(),
            8.0,
            "no growth in fast recovery (RFC 5681 §3.2)"
        );
    }
    assert_eq!(bench.sender.statistics().loss_events, 1);
}

#[test]
fn a_loss_of_the_next_window_reduces_again() {
    // RFC 5681 §4.3: loss in two successive windows of data lowers the window twice.
    let mut bench = Bench::open("rfc", false);
    let (first, t) = bench.grow_to(16);
    bench.ack(t + 100, first, &[(first + 1, first + 16)]);
    let new = bench.sent(t + 100);
    assert_eq!(new[0], first);
    let lost = first + 16;
    assert!(new.contains(&lost) && new.len() >= 5, "{new:?}");
    // The first new segment is lost too; the segments after it arrive, then the retransmission.
    bench.ack(
        t + 200,
        first,
        &[(lost + 1, lost + 4), (first + 1, first + 16)],
    );
    bench.sent(t + 200);
    assert_eq!(bench.window(), 8.0);
    bench.ack(t + 201, lost, &[(lost + 1, lost + 4)]);
    assert!(bench.window() < 8.0, "{}", bench.window());
    assert_eq!(bench.sender.statistics().loss_events, 2);
}

#[test]
fn no_recovery_begins_before_the_point_of_a_timeout() {
    // RFC 6675 §5.1: until HighACK reaches RecoveryPoint.
    let mut bench = Bench::open("rfc", false);
    let (first, _) = bench.grow_to(16);
    let now = bench.expire();
    bench.sent(now);
    for n in 1..=6 {
        bench.ack(now + 100, first + n, &[]);
        bench.sent(now + 100);
    }
    let window = bench.window();
    bench.ack(now + 200, first + 6, &[(first + 7, first + 12)]);
    assert!(bench.window() >= window);
    assert_eq!(bench.sender.statistics().loss_events, 1);
}

#[test]
fn an_arrival_of_the_original_takes_a_timeout_back() {
    // RFC 5682 §3: the segment after the retransmitted one was sent once only and has arrived.
    for (rules, undone) in [("linux", true), ("rfc", false)] {
        let mut bench = Bench::open(rules, false);
        let (first, _) = bench.grow_to(32);
        let mut now = bench.expire();
        if bench.sender.statistics().timeouts == 0 {
            // A loss probe came first.
            bench.sent(now);
            now = bench.expire();
        }
        assert_eq!(bench.window(), 1.0, "{rules}");
        assert_eq!(bench.sent(now)[0], first);
        bench.ack(now + 50, first + 2, &[]);
        assert_eq!(
            bench.window() >= 32.0,
            undone,
            "{rules}: {}",
            bench.window()
        );
    }
}

#[test]
fn a_duplicate_after_new_data_shows_that_the_timeout_was_real() {
    // RFC 5682 §3: step 2b sends new data; a SACK of it alone ends F-RTO.
    let mut bench = Bench::open("linux", false);
    let (first, _) = bench.grow_to(32);
    let mut now = bench.expire();
    bench.sent(now);
    while bench.sender.statistics().timeouts == 0 {
        now = bench.expire();
    }
    let top = bench.sender.scoreboard.high_data() / MSS;
    assert_eq!(bench.sent(now), [first]);
    bench.ack(now + 100, first + 1, &[]);
    let new = bench.sent(now + 100);
    assert!(
        new.iter().all(|segment| *segment >= top) && !new.is_empty(),
        "{new:?}"
    );
    bench.ack(now + 200, first + 1, &[(top, top + 1)]);
    assert!(
        bench.sent(now + 200).contains(&(first + 1)),
        "now what was lost"
    );
    assert!(bench.window() < 32.0);
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    // RFC 8985 §7.2: PTO = 2 * SRTT = 200 ms, and the probe is the last segment (§7.3).
    let mut bench = Bench::open("linux", false);
    bench.sender.unsent = 3 * MSS;
    assert_eq!(bench.sent(100), [0, 1, 2]);
    assert_eq!(bench.expire(), 300);
    assert_eq!(bench.sent(300), [2]);
    // The SACK of the probe shows that the segments sent before are lost (§6.2).
    bench.ack(400, 0, &[(2, 3)]);
    assert_eq!(bench.sent(400), [0]);
    bench.ack(500, 1, &[(2, 3)]);
    assert_eq!(bench.sent(500), [1]);
    assert_eq!(bench.sender.statistics().timeouts, 0);
}

#[test]
fn a_repaired_tail_reduces_the_window() {
    // RFC 8985 §7.4.2, case 2: the probe repaired the loss of the last segment.
    let mut bench = Bench::open("linux", false);
    bench.sender.unsent = 3 * MSS;
    bench.sent(100);
    bench.expire();
    assert_eq!(bench.sent(300), [2]);
    bench.sender.unsent = MSS;
    bench.ack(310, 2, &[]);
    bench.sent(310);
    bench.ack(400, 4, &[]);
    assert_eq!(bench.sender.statistics().loss_events, 1);
}

#[test]
fn duplicates_of_all_retransmissions_take_a_recovery_back() {
    let mut bench = Bench::open("linux", false);
    let (first, t) = bench.grow_to(32);
    bench.ack(t + 100, first, &[(first + 1, first + 4)]);
    assert!(bench.window() < 32.0);
    assert!(bench.sent(t + 100).contains(&first));
    // The original arrives late, then the retransmission as a duplicate (RFC 2883).
    bench.ack(t + 150, first + 4, &[]);
    bench.sent(t + 150);
    bench.ack(t + 200, first + 4, &[(first, first + 1)]);
    assert!(bench.window() >= 32.0, "{}", bench.window());
}

#[test]
fn an_idle_time_takes_the_window_back_to_the_initial_one() {
    // RFC 5681 §4.1: RW = min(IW, cwnd) after an RTO without a packet.
    let mut bench = Bench::open("linux", false);
    let (first, t) = bench.grow_to(32);
    bench.sender.unsent = 0;
    let all = bench.sender.scoreboard.high_data() / MSS;
    assert!(all > first);
    bench.ack(t + 100, all, &[]);
    bench.sender.unsent = 100 * MSS;
    assert_eq!(bench.sent(t + 5000).len(), 10);
}

#[test]
fn a_change_of_bound_comes_after_the_window_of_its_time() {
    // No acknowledgement reports a burst that the peer's window ends, or an idle time after which
    // the window is smaller.
    let mut bench = Bench::open("linux", false);
    let (_, t) = bench.grow_to(32);
    bench.sender.unsent = 0;
    let all = bench.sender.scoreboard.high_data() / MSS;
    bench.ack(t + 100, all, &[]);
    let watched = EventMask::CONTROLLER.union(EventMask::BOUND);
    bench.sender.events.set_mask(watched);
    bench.sent(t + 100);
    bench.sender.events.drain().for_each(drop);
    bench.sender.unsent = 100 * MSS;
    bench.sent(t + 5000);
    let events: Vec<_> = bench.sender.events.drain().collect();
    let [
        (first, Event::Window(window)),
        (second, Event::Blocked(bound)),
    ] = events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!([first, second], [at(t + 5000); 2]);
    assert_eq!(bound, SndLim::Window);
    assert_eq!((window.cwnd, window.bytes_in_flight), (10 * MSS, 10 * MSS));
    // Recorded again at the same time, without a segment sent since, the bound is no event.
    bench.sent(t + 5000);
    assert!(bench.sender.events.is_empty());
}

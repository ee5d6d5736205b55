use super::*;
use crate::loss::{Loss, LossConfig};
use crate::loss::{RandomLossConfig, TraceLossConfig};
use crate::netem::NetemConfig;
use crate::packet_pool::fixture;
use crate::queue::all_disciplines::of_three;
use crate::queue::{DropTailConfig, QueueConfig, QueueLimit};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::VecDeque;
use weir_proto::packet::HostId;
use weir_proto::units::Probability;

fn config(rate: Option<u64>, limit: QueueLimit) -> LinkConfig {
    LinkConfig {
        name: "wire".to_owned(),
        from: HostId(0),
        to: HostId(1),
        rate,
        delay: Duration::ZERO,
        mtu: None,
        queue: QueueConfig::DropTail(DropTailConfig { limit }),
        shaper: None,
        loss: LossConfig::None,
        ..LinkConfig::default()
    }
}

/// The progress at which every event up to this time has been processed.
const fn progress(now: Instant) -> Progress {
    Progress {
        now,
        including: true,
    }
}

fn packet(number: u64, size: u32) -> PacketRef {
    fixture::packet_ref(number, 0, size)
}

/// A millisecond.
const MS: u64 = 1_000_000;

const fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// Runs the link until it is empty; arrivals as (nanoseconds, id).
fn drain(link: &mut Link) -> Vec<(u64, u64)> {
    let mut arrivals = Vec::new();
    while let Some(now) = link.poll_timeout() {
        link.handle_timeout(now);
        while let Some(packet) = link.poll_transmit(now) {
            arrivals.push((now.as_nanos(), fixture::number_of(&packet)));
        }
    }
    arrivals
}

#[test]
fn serialisation_does_not_drift_at_100_gigabit() {
    // 1280 bytes at 100 Gbit/s take 102.4 ns: a million of them end at 102.4 ms exactly, and the
    // k-th arrives at 102.4 k ns, rounded up.
    let mut link = Link::new(
        &config(Some(100_000_000_000), QueueLimit::Packets(u64::MAX)),
        1,
    );
    for id in 0..1_000_000 {
        link.handle(Instant::ZERO, packet(id, 1280));
    }
    let arrivals = drain(&mut link);
    assert_eq!(
        arrivals[..5],
        [(103, 0), (205, 1), (308, 2), (410, 3), (512, 4)]
    );
    assert_eq!(arrivals[999_999], (102_400_000, 999_999));
    let counters = link.counters(progress(at(102_400_000)));
    assert_eq!(counters.busy, Duration::from_nanos(102_400_000));
    assert_eq!(counters.utilisation_since(&LinkCounters::default()), 1.0);
}

#[test]
fn the_remainder_is_carried_for_odd_rates_and_sizes() {
    // 7 bit/s: one octet takes 8/7 s. Seven octets, one by one, end after exactly 8 s.
    let mut link = Link::new(&config(Some(7), QueueLimit::Packets(10)), 1);
    for id in 0..7 {
        link.handle(Instant::ZERO, packet(id, 1));
    }
    assert_eq!(drain(&mut link)[6], (8_000_000_000, 6));
    // The largest possible rate does not overflow.
    let mut link = Link::new(&config(Some(u64::MAX), QueueLimit::Packets(10)), 1);
    for id in 0..7 {
        link.handle(Instant::ZERO, packet(id, u32::MAX));
    }
    assert_eq!(
        drain(&mut link)[6].0,
        14,
        "7 * 34359738360 bits, 18.4 bits a nanosecond"
    );
}

#[test]
fn an_idle_link_starts_at_once_and_adds_its_delay() {
    let mut link = Link::new(
        &LinkConfig {
            delay: Duration::from_millis(5),
            ..config(Some(1_000_000), QueueLimit::Packets(1))
        },
        1,
    );
    link.handle(at(1_000), packet(0, 125));
    assert_eq!(drain(&mut link), [(1_000 + 1_000_000 + 5_000_000, 0)]);
    link.handle(at(9_000_000), packet(1, 125));
    assert_eq!(drain(&mut link), [(15_000_000, 1)]);
    assert_eq!(
        link.counters(progress(at(15_000_000))).busy,
        Duration::from_millis(2)
    );
}

#[test]
fn a_link_without_rate_only_delays() {
    let mut link = Link::new(
        &LinkConfig {
            delay: Duration::from_nanos(1_500),
            ..config(None, QueueLimit::Packets(1))
        },
        1,
    );
    for id in 0..3 {
        link.handle(at(10), packet(id, 60_000));
    }
    assert_eq!(drain(&mut link), [(1_510, 0), (1_510, 1), (1_510, 2)]);
    assert_eq!(link.counters(progress(at(2_000))).max_packets_queued, 0);
}

/// Offers packets of these (nanoseconds, size) and returns the ids that were dropped.
fn drops(limit: QueueLimit, offered: &[(u64, u32)]) -> Vec<u64> {
    // 8 Mbit/s: an octet takes a microsecond.
    let mut link = Link::new(&config(Some(8_000_000), limit), 1);
    let mut dropped = Vec::new();
    for (id, &(nanos, size)) in offered.iter().enumerate() {
        let before = link.wire.counters.packets_dropped();
        link.handle(at(nanos), packet(id as u64, size));
        if link.wire.counters.packets_dropped() > before {
            dropped.push(id as u64);
        }
    }
    dropped
}

#[test]
fn a_queue_limited_in_packets_drops_the_one_too_many() {
    // Packet 0 is transmitted until 100 us, 1 and 2 wait, 3 is dropped. At 100 us packet 1 leaves
    // the queue, 4 takes its place, 5 is dropped.
    let offered = [
        (0, 100),
        (0, 100),
        (0, 100),
        (0, 100),
        (100_000, 100),
        (100_000, 100),
    ];
    assert_eq!(drops(QueueLimit::Packets(2), &offered), [3, 5]);
    // One nanosecond earlier no packet has left the queue yet.
    let offered = [(0, 100), (0, 100), (0, 100), (99_999, 100), (100_000, 100)];
    assert_eq!(drops(QueueLimit::Packets(2), &offered), [3]);
}

#[test]
fn a_queue_limited_in_bytes_takes_what_still_fits() {
    // On the wire: 0. Waiting: 1 (150 octets) makes 150, 2 (100) would make 250 of 200, 3 (50) fits
    // exactly, 4 (1) exceeds the limit. At 100 us packet 1 leaves the queue: 5 (150) fits again.
    let offered = [
        (0, 100),
        (0, 150),
        (0, 100),
        (0, 50),
        (0, 1),
        (100_000, 150),
    ];
    assert_eq!(drops(QueueLimit::Bytes(200), &offered), [2, 4]);
}

#[test]
fn the_queue_is_measured_over_time() {
    // 0 is transmitted from 0 to 100 us, 1 waits 100 us, 2 waits 200 us.
    let mut link = Link::new(&config(Some(8_000_000), QueueLimit::Packets(9)), 1);
    for id in 0..3 {
        link.handle(Instant::ZERO, packet(id, 100));
    }
    let early = link.counters(progress(at(50_000)));
    assert_eq!((early.packets_queued, early.packets_in_flight), (2, 1));
    assert_eq!(early.busy, Duration::from_micros(50));
    assert_eq!(
        early.mean_packets_queued_since(&LinkCounters::default()),
        2.0
    );
    drain(&mut link);
    let counters = link.counters(progress(at(400_000)));
    assert_eq!(counters.packet_nanos_queued, 300_000);
    assert_eq!(counters.byte_nanos_queued, 30_000_000);
    assert_eq!(counters.max_packets_queued, 2);
    assert_eq!(counters.max_bytes_queued, 200);
    assert_eq!(counters.utilisation_since(&LinkCounters::default()), 0.75);
    assert_eq!(counters.mean_bytes_queued_since(&early), 20_000.0 / 350.0);
}

#[test]
fn what_an_idle_link_takes_at_once_did_not_wait_in_any_queue() {
    for queue in of_three() {
        let mut link = Link::new(
            &LinkConfig {
                queue: queue.clone(),
                ..config(Some(8_000_000), QueueLimit::Packets(9))
            },
            1,
        );
        let mut most = |time: u64, id| {
            link.handle(at(time), packet(id, 1000));
            let counters = link.counters(progress(at(time)));
            (counters.max_packets_queued, counters.max_bytes_queued)
        };
        // A packet takes 1 ms to transmit.
        assert_eq!(most(0, 0), (0, 0), "{queue:?}");
        assert_eq!(most(MS, 1), (0, 0), "{queue:?}");
        assert_eq!(most(MS, 2), (1, 1000), "{queue:?}");
    }
}

#[test]
fn a_packet_above_the_mtu_is_dropped_and_one_at_the_mtu_passes() {
    let mut link = Link::new(
        &LinkConfig {
            mtu: Some(1500),
            ..config(None, QueueLimit::Packets(1))
        },
        1,
    );
    link.handle(Instant::ZERO, packet(0, 1500));
    link.handle(Instant::ZERO, packet(1, 1501));
    assert_eq!(drain(&mut link), [(0, 0)]);
    let counters = link.counters(progress(Instant::ZERO));
    assert_eq!(
        (counters.dropped_too_large, counters.bytes_dropped),
        (1, 1501)
    );
    assert_eq!(link.packets_dropped_of(FlowId(0)), 1);
    assert_eq!(link.packets_dropped_of(FlowId(7)), 0);
}

#[test]
fn a_packet_lost_on_the_wire_has_used_its_time() {
    let mut link = Link::new(
        &LinkConfig {
            loss: LossConfig::Trace(TraceLossConfig {
                drops: vec![1, 0, 3],
            }),
            ..config(Some(8_000_000), QueueLimit::Packets(9))
        },
        1,
    );
    for id in 0..5 {
        link.handle(Instant::ZERO, packet(id, 100));
    }
    assert_eq!(drain(&mut link), [(300_000, 2), (500_000, 4)]);
    assert_eq!(link.counters(progress(at(500_000))).dropped_loss_model, 3);
}

/// The outcome of one packet on a link.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Arrives(u64),
    QueueFull,
    Lost,
}

/// The same link with an event for each packet's end of transmission, in exact rational time
/// (units of 1/rate nanoseconds).
fn naive_link(config: &LinkConfig, offered: &[(u64, u32)]) -> Vec<Outcome> {
    let rate = u128::from(config.rate.expect("a rate"));
    let QueueConfig::DropTail(DropTailConfig { limit }) = config.queue else {
        panic!("drop-tail only")
    };
    let mut loss = Loss::new(&config.loss, 1, "link/wire/loss");
    let mut outcomes: Vec<Outcome> = offered.iter().map(|_| Outcome::QueueFull).collect();
    // Ends of transmissions come before arrivals at the same nanosecond.
    let mut events = BinaryHeap::new();
    for (id, &(nanos, _)) in offered.iter().enumerate() {
        events.push(Reverse((u128::from(nanos) * rate, 1, id)));
    }
    let mut waiting: VecDeque<usize> = VecDeque::new();
    let mut busy = false;
    while let Some(Reverse((now, kind, id))) = events.pop() {
        if kind == 1 {
            let bytes: u64 = waiting.iter().map(|&w| u64::from(offered[w].1)).sum();
            let room = match limit {
                QueueLimit::Packets(limit) => (waiting.len() as u64) < limit,
                QueueLimit::Bytes(limit) => bytes + u64::from(offered[id].1) <= limit,
            };
            if busy && !room {
                continue;
            }
            waiting.push_back(id);
        } else {
            busy = false;
        }
        if !busy && let Some(next) = waiting.pop_front() {
            busy = true;
            let end = now + u128::from(offered[next].1) * 8_000_000_000;
            events.push(Reverse((end, 0, next)));
            let arrives = end.div_ceil(rate) as u64 + config.delay.as_nanos();
            outcomes[next] = if loss.drops_next(Instant::ZERO) {
                Outcome::Lost
            } else {
                Outcome::Arrives(arrives)
            };
        }
    }
    outcomes
}

/// The outcomes on the real link, which is called when a packet enters and when one arrives.
fn real_link(config: &LinkConfig, offered: &[(u64, u32)]) -> Vec<Outcome> {
    let mut link = Link::new(config, 1);
    let mut outcomes: Vec<Outcome> = offered.iter().map(|_| Outcome::Lost).collect();
    let arrive = |link: &mut Link, outcomes: &mut Vec<Outcome>, until: u64| {
        while let Some(now) = link.poll_timeout().filter(|now| now.as_nanos() < until) {
            link.handle_timeout(now);
            while let Some(packet) = link.poll_transmit(now) {
                outcomes[fixture::number_of(&packet) as usize] = Outcome::Arrives(now.as_nanos());
            }
        }
    };
    for (id, &(nanos, size)) in offered.iter().enumerate() {
        arrive(&mut link, &mut outcomes, nanos);
        let full = link.wire.counters.dropped_queue_full;
        link.handle(at(nanos), packet(id as u64, size));
        if link.wire.counters.dropped_queue_full > full {
            outcomes[id] = Outcome::QueueFull;
        }
        let counters = link.counters(progress(at(nanos)));
        assert_eq!(
            counters.packets_in,
            counters.packets_delivered
                + counters.packets_dropped()
                + counters.packets_queued
                + counters.packets_in_flight
        );
    }
    arrive(&mut link, &mut outcomes, u64::MAX);
    outcomes
}

proptest! {
    #[test]
    fn agrees_with_a_link_that_has_an_event_for_each_packet(
        gaps in prop::collection::vec((0_u64..3_000, 40_u32..1500), 1..200),
        // Around one octet per nanosecond: from overloaded to idle.
        rate in 1_000_000_000_u64..20_000_000_000,
        packets in 1_u64..20,
        in_bytes in any::<bool>(),
        delay in 0_u64..10_000,
        loss in 0.0..0.3_f64,
    ) {
        let limit = if in_bytes {
            QueueLimit::Bytes(packets * 700)
        } else {
            QueueLimit::Packets(packets)
        };
        let config = LinkConfig {
            delay: Duration::from_nanos(delay),
            loss: RandomLossConfig { rate: Probability::clamped(loss) }.into(),
            ..config(Some(rate), limit)
        };
        let mut now = 0;
        let offered: Vec<_> = gaps
            .iter()
            .map(|&(gap, size)| {
                now += gap / 2;
                (now, size)
            })
            .collect();
        prop_assert_eq!(real_link(&config, &offered), naive_link(&config, &offered));
    }
}

#[test]
fn changes_hold_for_what_starts_later() {
    let change = |millis, rate: u64, delay| LinkChange {
        at: Duration::from_millis(millis),
        rate: Some(Some(rate)),
        delay: Some(Duration::from_millis(delay)),
        ..LinkChange::default()
    };
    let mut link = Link::new(
        &LinkConfig {
            changes: vec![change(15, 2_000_000, 1), change(40, 500_000, 5)],
            delay: Duration::from_millis(10),
            ..config(Some(1_000_000), QueueLimit::Packets(10))
        },
        1,
    );
    // 1250 octets take 10 ms at 1 Mbit/s, 5 ms at 2, 20 ms at 0.5. The third starts at 20 ms; the
    // last two wait until 40 ms, one starts then and the other at 60 ms.
    for number in 0..3 {
        link.handle(Instant::ZERO, packet(number, 1250));
    }
    let mut arrivals = Vec::new();
    let mut drain = |link: &mut Link, until: u64| {
        while let Some(now) = link.poll_timeout().filter(|&now| now <= at(MS * until)) {
            link.handle_timeout(now);
            while let Some(packet) = link.poll_transmit(now) {
                arrivals.push((fixture::number_of(&packet), now.as_nanos() / MS));
            }
        }
    };
    drain(&mut link, 39);
    for number in 3..5 {
        link.handle(at(MS * 40), packet(number, 1250));
    }
    drain(&mut link, 200);
    // The second starts at 10 ms, before the first change: 20 + 10. The third, at 25 + 1, overtakes
    // it.
    assert_eq!(arrivals, [(0, 20), (2, 26), (1, 30), (3, 65), (4, 85)]);
}

#[test]
fn packets_that_overtake_arrive_at_their_own_times() {
    // At 1 Mbit/s 1000 octets take 8 ms. The first packet is on the wire when the delay changes
    // from 100 ms to 1 ms; the next one starts at 8 ms and arrives at 17 ms.
    let mut link = Link::new(
        &LinkConfig {
            delay: Duration::from_millis(100),
            changes: vec![LinkChange {
                at: Duration::from_millis(5),
                delay: Some(Duration::from_millis(1)),
                ..LinkChange::default()
            }],
            ..config(Some(1_000_000), QueueLimit::Packets(10))
        },
        1,
    );
    for id in 0..4 {
        link.handle(Instant::ZERO, packet(id, 1000));
    }
    let expected = [(17 * MS, 1), (25 * MS, 2), (33 * MS, 3), (108 * MS, 0)];
    assert_eq!(drain(&mut link), expected);
}

#[test]
fn jitter_delays_packets_whether_or_not_others_enter() {
    // Calling the link in each millisecond instead of at the arrivals alone yields the same
    // arrivals.
    let config = LinkConfig {
        delay: Duration::from_millis(50),
        netem: NetemConfig {
            jitter: Duration::from_millis(50),
            ..NetemConfig::default()
        },
        ..config(Some(1_000_000), QueueLimit::Packets(100))
    };
    let fill = || {
        let mut link = Link::new(&config, 1);
        for id in 0..50 {
            link.handle(Instant::ZERO, packet(id, 1000));
        }
        link
    };
    let rare = drain(&mut fill());
    let mut link = fill();
    let mut often = Vec::new();
    for now in (0..600 * MS).step_by(MS as usize / 10).map(at) {
        link.handle_timeout(now);
        while let Some(packet) = link.poll_transmit(now) {
            often.push((now.as_nanos(), fixture::number_of(&packet)));
        }
    }
    assert_eq!(rare.len(), often.len());
    for ((rare, first), (often, second)) in rare.iter().zip(&often) {
        assert_eq!(first, second);
        assert!(
            (rare..=&(rare + MS / 10)).contains(&often),
            "{rare} {often}"
        );
    }
}

#[test]
fn packets_take_the_overheads_of_netem_and_its_cells_on_the_wire() {
    // 8 Mbit/s are an octet a microsecond. 1000 + 20 octets; 22 cells of 48 with 5 each, 1166; 28
    // for 1343 and 1344 = 28 · 48 octets without an overhead of the packet, 29 for 1345.
    for (packet_overhead, cell_size, size, micros) in [
        (0, 0, 1000, 1000),
        (20, 0, 1000, 1020),
        (20, 48, 1000, 1166),
        (0, 48, 1343, 28 * 53),
        (0, 48, 1344, 28 * 53),
        (0, 48, 1345, 29 * 53),
    ] {
        let netem = NetemConfig {
            packet_overhead,
            cell_size,
            cell_overhead: 5,
            ..NetemConfig::default()
        };
        let config = LinkConfig {
            netem,
            ..config(Some(8_000_000), QueueLimit::Packets(10))
        };
        let mut link = Link::new(&config, 1);
        link.handle(Instant::ZERO, packet(0, size));
        assert_eq!(drain(&mut link), [(micros * 1000, 0)], "{netem:?}");
    }
}

#[test]
fn with_ecn_the_loss_model_marks_what_is_capable() {
    for (ecn, capable, arrives, marks) in
        [(false, true, 0, 0), (true, false, 0, 0), (true, true, 1, 1)]
    {
        let config = LinkConfig {
            loss: LossConfig::Random(RandomLossConfig {
                rate: Probability::clamped(1.0),
            }),
            netem: NetemConfig {
                ecn,
                ..NetemConfig::default()
            },
            ..config(Some(8_000_000), QueueLimit::Packets(10))
        };
        let mut link = Link::new(&config, 1);
        let mut sent = packet(0, 1000);
        if capable {
            sent.ip.ecn = weir_proto::packet::Ecn::Ect0;
        }
        link.handle(Instant::ZERO, sent);
        assert_eq!(drain(&mut link).len(), arrives, "{ecn} {capable}");
        let counters = link.counters(progress(at(9 * MS)));
        let counted = (counters.packets_marked, counters.dropped_loss_model);
        assert_eq!(counted, (marks, 1 - marks), "{ecn} {capable}");
    }
}

use super::super::{Link, LinkCounters, Progress};
use super::*;
use crate::class_delay::EcnClass;
use crate::ecn_faults::EcnFaultsConfig;
use crate::outage::OutageConfig;
use crate::packet_pool::fixture;
use weir_proto::units::Probability;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// A link that transmits 1250 octets in 10 ms and propagates them in another 10 ms.
fn plain() -> LinkConfig {
    LinkConfig {
        name: "wire".to_owned(),
        rate: Some(1_000_000),
        delay: millis(10),
        ..LinkConfig::default()
    }
}

/// Sends packets of these sizes and ECN fields at these milliseconds; returns the arrivals, with
/// the millisecond and the ECN field of each, and the counters at the end.
fn carry(config: &LinkConfig, packets: &[(u64, u32, Ecn)]) -> (Vec<(u64, u64, Ecn)>, LinkCounters) {
    let mut link = Link::new(config, 1);
    let mut arrived = Vec::new();
    let mut next = packets.iter().zip(0..).peekable();
    loop {
        let enters = next.peek().map(|((enters, ..), _)| at(*enters));
        let Some(now) = [enters, link.poll_timeout()].into_iter().flatten().min() else {
            break;
        };
        link.handle_timeout(now);
        while let Some(packet) = link.poll_transmit(now) {
            let millis = now.as_nanos() / 1_000_000;
            arrived.push((fixture::number_of(&packet), millis, packet.ip.ecn));
        }
        if enters == Some(now)
            && let Some((&(_, size, ecn), number)) = next.next()
        {
            let mut packet = fixture::packet_ref(number, 0, size);
            packet.ip.ecn = ecn;
            link.handle(now, packet);
        }
    }
    let counters = link.counters(Progress {
        now: at(100_000),
        including: true,
    });
    let gone = counters.packets_delivered + counters.packets_dropped();
    assert_eq!(counters.packets_in, gone);
    assert_eq!(arrived.len() as u64, counters.packets_delivered);
    (arrived, counters)
}

#[test]
fn an_outage_loses_what_starts_in_it_and_leaves_what_is_on_the_wire() {
    let config = LinkConfig {
        outages: vec![OutageConfig {
            at: millis(15).into(),
            duration: millis(15).into(),
            every: None,
        }],
        ..plain()
    };
    // Transmissions start at 0, 10, 20, 30 and 40 ms: that of 10 ms is on the wire, that of 20 ms
    // is lost.
    let packets = [(0, 1250, Ecn::NotEct); 5];
    let (arrived, counters) = carry(&config, &packets);
    let arrived: Vec<_> = arrived.iter().map(|&(id, at, _)| (id, at)).collect();
    assert_eq!(arrived, [(0, 20), (1, 30), (3, 50), (4, 60)]);
    assert_eq!((counters.dropped_outage, counters.lost_on_wire()), (1, 1));
    assert_eq!(counters.busy, millis(50));
}

#[test]
fn both_directions_of_a_wire_are_out_at_the_same_times() {
    let range = |least, most| weir_proto::DurationRange {
        least: millis(least),
        most: millis(most),
    };
    let direction = |name: &str, wire: Option<&str>| LinkConfig {
        name: name.to_owned(),
        wire: wire.map(str::to_owned),
        outages: vec![OutageConfig {
            at: range(0, 100),
            duration: range(1, 300),
            every: Some(range(100, 1000)),
        }],
        ..plain()
    };
    let out = |config: LinkConfig| {
        let mut faults = Faults::new(&config, 1).expect("it has an outage");
        (0..5000).map(move |time| faults.is_out(at(time)))
    };
    let forward: Vec<bool> = out(direction("wire", None)).collect();
    let backward: Vec<bool> = out(direction("wire.backward", Some("wire"))).collect();
    let other: Vec<bool> = out(direction("other", None)).collect();
    assert_eq!(forward, backward);
    assert_ne!(forward, other);
}

#[test]
fn a_bleaching_wire_clears_fields_and_a_black_hole_drops_what_has_one() {
    let faults = |bleach, black_hole| LinkConfig {
        ecn_faults: EcnFaultsConfig {
            bleach: Probability::clamped(bleach),
            black_hole: Probability::clamped(black_hole),
        },
        ..plain()
    };
    let all = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    let packets = all.map(|ecn| (0, 1250, ecn));
    let (arrived, counters) = carry(&faults(1.0, 0.0), &packets);
    let times: Vec<_> = arrived.iter().map(|&(_, at, ecn)| (at, ecn)).collect();
    assert_eq!(times, [20, 30, 40, 50].map(|at| (at, Ecn::NotEct)));
    assert_eq!(
        (counters.packets_bleached, counters.packets_dropped()),
        (3, 0)
    );
    let (arrived, counters) = carry(&faults(1.0, 1.0), &packets);
    assert_eq!(arrived, [(0, 20, Ecn::NotEct)]);
    let lost = (counters.dropped_ecn_black_hole, counters.lost_on_wire());
    assert_eq!((lost, counters.packets_bleached), ((3, 3), 0));
}

#[test]
fn packets_overtake_those_of_a_slower_class_and_each_arrives_at_its_own_time() {
    let config = LinkConfig {
        class_delays: vec![ClassDelayConfig {
            delay: millis(100),
            larger_than: 1000,
            ecn: EcnClass::NotEct,
            ..ClassDelayConfig::default()
        }],
        ..plain()
    };
    // 125 octets take a millisecond. The large packet is on the wire from 0 to 10 and arrives at
    // 120, the small ones leave at 11, 12 and 31, the large one with an ECN field at 22.
    let packets = [
        (0, 1250, Ecn::NotEct),
        (0, 125, Ecn::NotEct),
        (0, 125, Ecn::NotEct),
        (0, 1250, Ecn::Ect0),
        (30, 125, Ecn::NotEct),
    ];
    let (arrived, _) = carry(&config, &packets);
    let arrived: Vec<_> = arrived.iter().map(|&(id, at, _)| (id, at)).collect();
    assert_eq!(arrived, [(1, 21), (2, 22), (3, 32), (4, 41), (0, 120)]);
    // Without delays by class all packets arrive in order, as on a plain link.
    let (plain, _) = carry(&plain(), &packets);
    let plain: Vec<_> = plain.iter().map(|&(id, at, _)| (id, at)).collect();
    assert_eq!(plain, [(0, 20), (1, 21), (2, 22), (3, 32), (4, 41)]);
}

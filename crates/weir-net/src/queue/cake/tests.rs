use super::*;
use crate::queue::tests::{capable, packet};
use weir_proto::packet::{Ecn, HostId};

const MS: Duration = Duration::from_millis(1);

fn at(millis: u64) -> Instant {
    Instant::ZERO + MS * millis
}

fn build(config: CakeConfig) -> Box<Cake> {
    config.build(Rng::stream(1, "cake"))
}

/// A packet of a flow from one host to another, with a codepoint.
fn between(flow: u32, [source, destination]: [u32; 2], size: u32, dscp: u8) -> PacketRef {
    let mut packet = packet(flow, size);
    packet.ip.source = HostId(source);
    packet.ip.destination = HostId(destination);
    packet.ip.dscp = Dscp::new(dscp);
    packet
}

/// When so many packets leave, in microseconds, if each leaves as soon as it may, and their flows.
fn departures(queue: &mut Cake, count: usize) -> Vec<(u64, u32)> {
    let mut effects = DropsAndMarks::default();
    let mut left = Vec::new();
    while left.len() < count && queue.head_size().is_some() {
        let now = queue.ready_at();
        if let Some(packet) = queue.dequeue(now, &mut effects) {
            left.push((now.as_nanos() / 1000, packet.flow.0));
        }
    }
    left
}

#[test]
fn the_parameters_are_those_of_the_manual() {
    // tc-cake(8): unlimited, 100 ms, diffserv3, triple-isolate, no filter, no overhead.
    let config = CakeConfig::default();
    assert_eq!((config.bandwidth, config.rtt.time()), (None, MS * 100));
    assert_eq!(config.diffserv, Diffserv::Diffserv3);
    assert_eq!(config.flowmode, FlowMode::TripleIsolate);
    assert_eq!(config.ack_filter, AckFilter::Off);
    assert_eq!(
        (config.overhead, config.mpu, config.atm),
        (0, 0, Framing::NoAtm)
    );
    assert!(!config.ingress && !config.wash && config.memlimit.is_none());
    // tc-cake(8), round trip time parameters, in microseconds.
    for (word, micros) in [
        (RttWord::Datacentre, 100),
        (RttWord::Lan, 1000),
        (RttWord::Metro, 10_000),
        (RttWord::Regional, 30_000),
        (RttWord::Internet, 100_000),
        (RttWord::Oceanic, 300_000),
        (RttWord::Satellite, 1_000_000),
        (RttWord::Interplanetary, 1_000_000_000),
    ] {
        assert_eq!(word.time(), Duration::from_micros(micros), "{word:?}");
    }
}

#[test]
fn the_buffer_is_four_times_rate_and_round_trip_time_within_bounds() {
    let buffer = |bandwidth, memlimit| {
        let config = CakeConfig {
            bandwidth,
            memlimit,
            ..CakeConfig::default()
        };
        config.limit()
    };
    // 100 Mbit/s · 0.1 s · 4 = 5 000 000 octets; 10 Mbit/s would be 500 000, less than 4 MiB; 10
    // 240 packets of 1514 octets at most.
    assert_eq!(
        buffer(Some(100_000_000), None),
        QueueLimit::Bytes(5_000_000)
    );
    assert_eq!(buffer(Some(10_000_000), None), QueueLimit::Bytes(4_194_304));
    assert_eq!(
        buffer(Some(10_000_000_000), None),
        QueueLimit::Bytes(15_503_360)
    );
    assert_eq!(buffer(None, None), QueueLimit::Bytes(15_503_360));
    assert_eq!(buffer(None, Some(1 << 30)), QueueLimit::Bytes(1 << 30));
}

#[test]
fn packets_are_spaced_at_the_bandwidth_with_their_overhead() {
    // 8 Mbit/s are an octet a microsecond. 1000 octets; with 44 more 1044; at least 2000 for `mpu`
    // (256 at most, so 100 octets here); 1044 octets in 22 cells of 53, 1166; 1044 + 17 in PTM.
    for (size, overhead, mpu, atm, micros) in [
        (1000, 0, 0, Framing::NoAtm, 1000),
        (1000, 44, 0, Framing::NoAtm, 1044),
        (100, 44, 200, Framing::NoAtm, 200),
        (100, 44, 144, Framing::NoAtm, 144),
        (1000, 44, 0, Framing::Atm, 1166),
        (1000, 44, 0, Framing::Ptm, 1061),
    ] {
        let mut queue = build(CakeConfig {
            bandwidth: Some(8_000_000),
            overhead,
            mpu,
            atm,
            ..CakeConfig::default()
        });
        let mut effects = DropsAndMarks::default();
        for _ in 0..3 {
            queue.enqueue(at(5), packet(1, size), &mut effects);
        }
        let left = departures(&mut queue, 3);
        let times: Vec<_> = left.iter().map(|(time, _)| time - 5000).collect();
        assert_eq!(times, [0, micros, 2 * micros], "{overhead} {mpu} {atm:?}");
        // 5 ms idle; then the transmission times of three packets, two of which have passed.
        let now = Instant::ZERO + Duration::from_micros(5000 + 2 * micros);
        assert_eq!(queue.shaping_time(now), Duration::from_micros(2 * micros));
        let end = now + Duration::from_micros(micros);
        assert_eq!(queue.shaping_time(end), Duration::from_micros(3 * micros));
    }
}

/// The share of the flows numbered 2 and higher in packets of 1000 octets that leave, if so many
/// flows of host 1 and one of host 2 send to host 9, all with enough packets.
fn share_of_the_single(flowmode: FlowMode, others: u32) -> f64 {
    let mut queue = build(CakeConfig {
        flowmode,
        ..CakeConfig::default()
    });
    let mut effects = DropsAndMarks::default();
    for _ in 0..100 {
        for flow in 0..others {
            let packet = between(100 + flow, [1, 9], 1514, 0);
            queue.enqueue(Instant::ZERO, packet, &mut effects);
        }
    }
    for _ in 0..400 {
        let packet = between(1, [2, 9], 1514, 0);
        queue.enqueue(Instant::ZERO, packet, &mut effects);
    }
    // The first turns, before all are bulk, do not count.
    departures(&mut queue, 20);
    let left = departures(&mut queue, 200);
    let single = left.iter().filter(|(_, flow)| *flow == 1).count();
    single as f64 / left.len() as f64
}

#[test]
fn hosts_share_the_link_before_their_flows_do() {
    // Four flows of host 1 and one of host 2. Between flows: a fifth. Between source hosts: a half.
    // Between destinations, of which there is one: a fifth.
    for (mode, expected) in [
        (FlowMode::Flows, 0.2),
        (FlowMode::DualDstHost, 0.2),
        (FlowMode::DualSrcHost, 0.5),
        (FlowMode::SrcHost, 0.5),
    ] {
        let share = share_of_the_single(mode, 4);
        assert!((share - expected).abs() < 0.03, "{mode:?} {share}");
    }
    // Triple: the busier host of each flow counts: host 9 has five bulk flows.
    let share = share_of_the_single(FlowMode::TripleIsolate, 4);
    assert!((share - 0.2).abs() < 0.03, "{share}");
}

#[test]
fn a_tin_within_its_threshold_goes_first_and_one_above_it_gets_what_is_left() {
    // 8 Mbit/s, diffserv3: voice has 2 Mbit/s. A packet of 1000 octets is 4 ms ahead of the voice
    // tin's clock and 1 ms of the best-effort tin's: of four packets one is voice.
    let mut queue = build(CakeConfig {
        bandwidth: Some(8_000_000),
        ..CakeConfig::default()
    });
    let mut effects = DropsAndMarks::default();
    for _ in 0..40 {
        queue.enqueue(Instant::ZERO, between(1, [1, 9], 1000, 46), &mut effects);
        queue.enqueue(Instant::ZERO, between(2, [1, 9], 1000, 0), &mut effects);
    }
    let left = departures(&mut queue, 40);
    assert_eq!(left[0].1, 1, "voice goes first");
    let voice = left.iter().filter(|(_, flow)| *flow == 1).count();
    assert!((10..=12).contains(&voice), "{voice}");
    // Without a shaper the tins share 1024 to 256: four to one.
    let mut queue = build(CakeConfig::default());
    for _ in 0..400 {
        queue.enqueue(Instant::ZERO, between(1, [1, 9], 1000, 46), &mut effects);
        queue.enqueue(Instant::ZERO, between(2, [1, 9], 1000, 0), &mut effects);
    }
    let left = departures(&mut queue, 250);
    let voice = left.iter().filter(|(_, flow)| *flow == 1).count();
    assert!((48..=52).contains(&voice), "{voice}");
}

#[test]
fn wash_clears_the_field_after_the_tin_was_chosen() {
    for wash in [false, true] {
        let mut queue = build(CakeConfig {
            wash,
            ..CakeConfig::default()
        });
        let mut effects = DropsAndMarks::default();
        queue.enqueue(Instant::ZERO, between(1, [1, 9], 1000, 46), &mut effects);
        assert_eq!(queue.tins[2].packets(), 1);
        let sent = queue
            .dequeue(Instant::ZERO, &mut effects)
            .expect("a packet");
        assert_eq!(sent.ip.dscp.bits(), if wash { 0 } else { 46 });
    }
}

#[test]
fn overflow_drops_from_the_head_of_the_longest_queue() {
    let mut queue = build(CakeConfig {
        memlimit: Some(10_000),
        ..CakeConfig::default()
    });
    let mut effects = DropsAndMarks::default();
    queue.enqueue(Instant::ZERO, packet(2, 1000), &mut effects);
    for number in 0..12 {
        let mut long = capable(number, 1000, Ecn::NotEct);
        long.flow.0 = 1;
        queue.enqueue(Instant::ZERO, long, &mut effects);
    }
    let dropped: Vec<_> = (effects.dropped.iter())
        .map(|(packet, reason)| (crate::packet_pool::fixture::number_of(packet), *reason))
        .collect();
    assert_eq!(
        dropped,
        [0, 1, 2].map(|number| (number, DropReason::QueueFull))
    );
    assert_eq!(queue.backlog().bytes, 10_000);
}

/// Packets that leave and that COBALT drops if ten of 1000 octets waited for 250 ms, one leaving
/// each 5 ms from then on.
fn overloaded(ingress: bool, count: u64) -> (usize, usize, Duration) {
    let mut queue = build(CakeConfig {
        bandwidth: Some(8_000_000),
        ingress,
        ..CakeConfig::default()
    });
    let mut effects = DropsAndMarks::default();
    for _ in 0..count {
        queue.enqueue(Instant::ZERO, packet(1, 1000), &mut effects);
    }
    let mut sent = 0;
    for millis in (250..600).step_by(5) {
        sent += usize::from(queue.dequeue(at(millis), &mut effects).is_some());
    }
    (sent, effects.dropped.len(), queue.shaped)
}

#[test]
fn a_long_queue_is_dropped_from_and_its_last_packet_never() {
    let (sent, dropped, _) = overloaded(false, 50);
    assert_eq!(sent + dropped, 50);
    assert!(dropped > 2, "{dropped}");
    let (sent, dropped, _) = overloaded(false, 1);
    assert_eq!((sent, dropped), (1, 0));
}

#[test]
fn with_ingress_drops_use_up_the_rate() {
    for ingress in [false, true] {
        let (sent, dropped, shaped) = overloaded(ingress, 50);
        let counted = if ingress { sent + dropped } else { sent };
        assert_eq!(shaped, MS * counted as u64, "{ingress}");
    }
}

/// Acknowledgements of one flow of 1000, 2000, … octets, with these echoes of congestion, of which
/// those left leave.
fn filtered(ack_filter: AckFilter, echoes: &[u16]) -> Vec<u64> {
    let mut queue = build(CakeConfig {
        ack_filter,
        ..CakeConfig::default()
    });
    assert_eq!(queue.reads_acks(), ack_filter != AckFilter::Off);
    let mut effects = DropsAndMarks::default();
    for (number, echo) in (1..).zip(echoes) {
        queue.expect(Some(AckFacts {
            ack: number * 1000,
            flags: 0x10 | echo,
            ..AckFacts::default()
        }));
        let ack = capable(number.into(), 40, Ecn::NotEct);
        queue.enqueue(Instant::ZERO, ack, &mut effects);
    }
    let thinned = |(_, reason): &(_, DropReason)| *reason == DropReason::Thinned;
    assert!(effects.dropped.iter().all(thinned));
    let take = |_| queue.dequeue(Instant::ZERO, &mut effects);
    let left = (0..9).filter_map(take);
    left.map(|ack| crate::packet_pool::fixture::number_of(&ack))
        .collect()
}

#[test]
fn the_filter_keeps_two_acknowledgements_and_the_aggressive_one_one() {
    // The third finds two older ones and drops the first; the aggressive filter drops each.
    assert_eq!(filtered(AckFilter::Off, &[0; 5]), [1, 2, 3, 4, 5]);
    assert_eq!(filtered(AckFilter::On, &[0; 5]), [4, 5]);
    assert_eq!(filtered(AckFilter::Aggressive, &[0; 5]), [5]);
}

#[test]
fn the_filter_keeps_changes_of_the_echo_of_congestion() {
    const ECE: u16 = 0x40;
    // 2 begins an echo and 4 ends it.
    let echoes = [0, ECE, ECE, 0, 0];
    assert_eq!(filtered(AckFilter::Aggressive, &echoes), [1, 3, 5]);
}

#[test]
fn other_flows_and_packets_without_facts_are_not_filtered() {
    let mut queue = build(CakeConfig {
        ack_filter: AckFilter::Aggressive,
        flowmode: FlowMode::FlowBlind,
        ..CakeConfig::default()
    });
    let mut effects = DropsAndMarks::default();
    let facts = |ack| {
        Some(AckFacts {
            ack,
            flags: 0x10,
            ..AckFacts::default()
        })
    };
    for (flow, facts) in [
        (1, facts(1)),
        (2, facts(2)),
        (1, None),
        (3, facts(3)),
        (3, None),
    ] {
        queue.expect(facts);
        queue.enqueue(Instant::ZERO, packet(flow, 40), &mut effects);
    }
    assert!(effects.dropped.is_empty());
}

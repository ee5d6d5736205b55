use super::*;
use crate::queue::tests::{capable, packet};
use weir_proto::packet::Ecn;

fn micros(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn filled(config: FqConfig, flows: &[(u32, u32, u32)]) -> Box<Fq> {
    let mut queue = config.build(Rng::stream(1, "fq"));
    let mut effects = DropsAndMarks::default();
    for &(flow, size, count) in flows {
        for _ in 0..count {
            queue.enqueue(Instant::ZERO, packet(flow, size), &mut effects);
        }
    }
    assert!(effects.is_empty());
    queue
}

/// The flows of so many packets, all taken at once.
fn order(queue: &mut Fq, count: usize) -> Vec<u32> {
    let mut effects = DropsAndMarks::default();
    let take = |_| queue.dequeue(Instant::ZERO, &mut effects);
    let taken = (0..count).filter_map(take);
    taken.map(|packet| packet.flow.0).collect()
}

/// When so many packets leave, in microseconds, if each leaves as soon as it may.
fn departures(queue: &mut Fq, count: usize) -> Vec<u64> {
    let mut effects = DropsAndMarks::default();
    let mut times = Vec::new();
    while times.len() < count && queue.head_size().is_some() {
        let now = queue.ready_at();
        if queue.dequeue(now, &mut effects).is_some() {
            times.push(now.as_nanos() / 1000);
        }
    }
    times
}

#[test]
fn the_parameters_are_those_of_the_manual() {
    // tc-fq(8): limit 10000 packets, flow_limit 100, quantum 2 and initial_quantum 10 times the MTU
    // with its header of 14 octets, buckets 1024, pacing on, maxrate unlimited. Linux: flows up to
    // 550 kbit/s are spaced packet by packet, the refill delay is 40 ms.
    let config = FqConfig::default();
    assert_eq!((config.limit, config.flow_limit), (10_000, 100));
    assert_eq!((config.quantum, config.initial_quantum), (3028, 15_140));
    assert_eq!((config.buckets, config.low_rate_threshold), (1024, 550_000));
    assert!(config.pacing && config.maxrate.is_none() && config.ce_threshold.is_none());
    assert_eq!(config.flow_refill_delay, Duration::from_millis(40));
}

#[test]
fn a_new_flow_has_the_initial_quantum_and_then_quanta() {
    // 15140 octets are ten packets of 1514; a turn of 3028 is two.
    let mut queue = filled(FqConfig::default(), &[(1, 1514, 20), (2, 1514, 20)]);
    let mut expected = vec![1; 10];
    expected.extend([2; 10]);
    expected.extend([1, 1, 2, 2, 1, 1, 2, 2]);
    assert_eq!(order(&mut queue, 28), expected);
}

#[test]
fn a_flow_holds_no_more_than_its_limit_and_all_no_more_than_theirs() {
    let config = FqConfig {
        limit: 150,
        ..FqConfig::default()
    };
    let mut queue = config.build(Rng::stream(1, "fq"));
    let mut effects = DropsAndMarks::default();
    for (flow, offered, held) in [(1, 101, 100), (2, 51, 150)] {
        for _ in 0..offered {
            queue.enqueue(Instant::ZERO, packet(flow, 100), &mut effects);
        }
        assert_eq!(queue.backlog().packets, held);
    }
    let reasons: Vec<_> = effects.dropped.iter().map(|(_, reason)| *reason).collect();
    assert_eq!(reasons, [DropReason::QueueFull; 2]);
}

#[test]
fn a_paced_flow_sends_a_quantum_at_a_time_above_the_low_rate() {
    // 1 Mbit/s: ten packets use up the first credits; then 3028 octets take 24.224 ms, and two
    // packets use up a quantum.
    let config = FqConfig {
        maxrate: Some(1_000_000),
        ..FqConfig::default()
    };
    let mut queue = filled(config, &[(1, 1514, 14)]);
    let mut expected = vec![0; 10];
    expected.extend([24_224, 24_224, 48_448, 48_448]);
    assert_eq!(departures(&mut queue, 14), expected);
}

#[test]
fn a_paced_flow_spaces_each_packet_up_to_the_low_rate() {
    // 1514 octets take 22.021 ms at 550 kbit/s, the threshold, and 12.112 ms at 1 Mbit/s.
    for (rate, second, third) in [(550_000, 22_021, 44_043), (550_001, 0, 0)] {
        let config = FqConfig {
            maxrate: Some(rate),
            ..FqConfig::default()
        };
        let mut queue = filled(config, &[(1, 1514, 3)]);
        assert_eq!(departures(&mut queue, 3), [0, second, third], "{rate}");
    }
    // At most a second passes: 1514 octets at 1 kbit/s would take 12.
    let config = FqConfig {
        maxrate: Some(1000),
        ..FqConfig::default()
    };
    let mut queue = filled(config, &[(1, 1514, 3)]);
    assert_eq!(departures(&mut queue, 3), [0, 1_000_000, 2_000_000]);
}

#[test]
fn a_late_turn_makes_the_next_wait_shorter_by_at_most_half() {
    // 1000 octets take 16 ms at 500 kbit/s. The second leaves 4 ms late, the third follows after 12
    // ms; the fourth comes 60 ms late, the fifth follows after 8 ms.
    let config = FqConfig {
        maxrate: Some(500_000),
        ..FqConfig::default()
    };
    let mut queue = filled(config, &[(1, 1000, 9)]);
    let mut effects = DropsAndMarks::default();
    for (now, ready) in [(0, 16_000), (20_000, 32_000), (92_000, 100_000)] {
        assert!(queue.dequeue(micros(now), &mut effects).is_some());
        assert!(queue.dequeue(micros(now), &mut effects).is_none());
        assert_eq!(queue.ready_at(), micros(ready));
    }
}

#[test]
fn without_pacing_nothing_waits_and_others_pass_a_flow_that_waits() {
    let paced = FqConfig {
        maxrate: Some(500_000),
        ..FqConfig::default()
    };
    let unpaced = FqConfig {
        pacing: false,
        ..paced
    };
    let mut queue = filled(unpaced, &[(1, 1514, 10)]);
    assert_eq!(departures(&mut queue, 10), [0; 10]);
    let mut queue = filled(paced, &[(1, 1514, 3)]);
    assert_eq!(order(&mut queue, 2), [1]);
    let mut effects = DropsAndMarks::default();
    queue.enqueue(micros(5), packet(2, 1514), &mut effects);
    assert_eq!(queue.ready_at(), micros(5));
    let next = queue.dequeue(micros(5), &mut effects);
    assert_eq!(next.map(|packet| packet.flow.0), Some(2));
}

#[test]
fn a_flow_that_was_idle_for_long_has_a_quantum_again() {
    // The first packet leaves 15140 - 15139 = 1 credit; after more than 40 ms the flow has 3028.
    for (idle_micros, first) in [(40_000, vec![1, 2]), (40_001, vec![1, 1])] {
        let mut queue = filled(FqConfig::default(), &[(1, 15_139, 1)]);
        assert_eq!(order(&mut queue, 2), [1]);
        let mut effects = DropsAndMarks::default();
        let later = micros(idle_micros);
        for flow in [1, 1, 2] {
            queue.enqueue(later, packet(flow, 1514), &mut effects);
        }
        let take = |_| queue.dequeue(later, &mut effects);
        let taken = (0..2).filter_map(take);
        let taken: Vec<_> = taken.map(|packet| packet.flow.0).collect();
        assert_eq!(taken, first, "{idle_micros}");
    }
}

#[test]
fn packets_that_waited_longer_than_the_threshold_are_marked() {
    let config = FqConfig {
        ce_threshold: Some(Duration::from_millis(1)),
        ..FqConfig::default()
    };
    let mut queue = config.build(Rng::stream(1, "fq"));
    let mut effects = DropsAndMarks::default();
    for number in 0..2 {
        queue.enqueue(Instant::ZERO, capable(number, 100, Ecn::Ect0), &mut effects);
    }
    for (now, marks) in [(1000, 0), (1001, 1)] {
        queue.dequeue(micros(now), &mut effects);
        assert_eq!(effects.marked.len(), marks);
    }
}

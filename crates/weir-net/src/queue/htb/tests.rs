use super::*;
use crate::queue::tests::packet;

/// A class of this number below class 1, with the packets of the flow of the same number.
fn leaf(classid: u32, rate: u64, ceil: u64) -> HtbClassConfig {
    HtbClassConfig {
        classid,
        parent: Some(1),
        rate,
        ceil: Some(ceil),
        flows: vec![u64::from(classid)],
        ..HtbClassConfig::default()
    }
}

fn root(rate: u64) -> HtbClassConfig {
    HtbClassConfig {
        classid: 1,
        rate,
        ..HtbClassConfig::default()
    }
}

fn htb(classes: Vec<HtbClassConfig>) -> HtbConfig {
    let config = HtbConfig {
        classes,
        ..HtbConfig::default()
    };
    assert_eq!(config.fault(), None);
    config
}

/// When packets of 1000 octets leave in this time, in microseconds, and their classes, if these
/// have enough of them and each leaves as soon as it may.
fn departures(config: &HtbConfig, classes: &[u32], micros: u64) -> Vec<(u64, u32)> {
    let mut queue = config.build(Rng::stream(1, "htb"));
    let mut effects = DropsAndMarks::default();
    for _ in 0..1000 {
        for class in classes {
            queue.enqueue(Instant::ZERO, packet(class - 1, 1000), &mut effects);
        }
    }
    let mut left = Vec::new();
    loop {
        let now = queue.ready_at();
        let time = now.as_nanos().div_ceil(1000);
        if time > micros || queue.head_size().is_none() {
            return left;
        }
        let packet = queue.dequeue(now, &mut effects);
        left.push((time, packet.expect("it is ready").flow.0 + 1));
    }
}

/// How many packets of 1000 octets each of these classes sends in a second.
fn shares(config: &HtbConfig, classes: &[u32]) -> Vec<usize> {
    let left = departures(config, classes, 1_000_000);
    let count = |class: &u32| left.iter().filter(|(_, of)| of == class).count();
    classes.iter().map(count).collect()
}

fn near(found: &[usize], expected: &[usize], within: usize) {
    let close = |(a, b): (&usize, &usize)| a.abs_diff(*b) <= within;
    assert!(
        found.iter().zip(expected).all(close),
        "{found:?} {expected:?}"
    );
}

#[test]
fn the_parameters_are_those_of_the_manual() {
    // tc-htb(8): ceil defaults to rate, prio to 0, r2q to 10; tc: burst and cburst to one packet of
    // 1600 octets.
    let class = root(1_000_000);
    assert_eq!((class.ceil(), class.prio), (1_000_000, 0));
    assert_eq!((class.burst, class.cburst, class.limit), (1600, 1600, 1000));
    assert_eq!(HtbConfig::default().r2q, 10);
    // 8 Mbit/s are 1 000 000 octets per second: a quantum of 100 000; from 1000 to 200 000.
    let quantum = |rate| Class::new(&root(rate), None, 10).quantum;
    assert_eq!(quantum(8_000_000), 100_000);
    assert_eq!((quantum(8000), quantum(80_000_000)), (1000, 200_000));
    let own = HtbClassConfig {
        quantum: Some(1514),
        ..root(8_000_000)
    };
    assert_eq!(Class::new(&own, None, 10).quantum, 1514);
}

#[test]
fn a_class_sends_a_burst_and_then_at_its_rate() {
    // 8 Mbit/s are an octet a microsecond. With 1600 octets of tokens a packet leaves 600, the
    // second -400, so the third leaves after 400 us and each later one after 1000 us.
    let alone = htb(vec![HtbClassConfig {
        flows: vec![1],
        ..root(8_000_000)
    }]);
    let times: Vec<_> = departures(&alone, &[1], 3000)
        .iter()
        .map(|left| left.0)
        .collect();
    assert_eq!(times, [0, 0, 400, 1400, 2400]);
    let burst = htb(vec![HtbClassConfig {
        flows: vec![1],
        burst: 3000,
        cburst: 3000,
        ..root(8_000_000)
    }]);
    let times: Vec<_> = departures(&burst, &[1], 2500)
        .iter()
        .map(|left| left.0)
        .collect();
    assert_eq!(times, [0, 0, 0, 0, 1000, 2000]);
    // 500 octets of overhead: 1600, 100, -1400, so 1400 us later.
    let overhead = htb(vec![HtbClassConfig {
        flows: vec![1],
        overhead: 500,
        ..root(8_000_000)
    }]);
    let times: Vec<_> = departures(&overhead, &[1], 3000)
        .iter()
        .map(|left| left.0)
        .collect();
    assert_eq!(times, [0, 0, 1400, 2900]);
    let least = htb(vec![HtbClassConfig {
        flows: vec![1],
        mpu: 1500,
        ..root(8_000_000)
    }]);
    let times: Vec<_> = departures(&least, &[1], 3000)
        .iter()
        .map(|left| left.0)
        .collect();
    assert_eq!(times, [0, 0, 1400, 2900]);
}

#[test]
fn classes_get_their_rates_and_share_the_rest_by_quanta() {
    // 8 Mbit/s are 1000 packets a second. Rates of 1 and 3 Mbit/s; the other 4 are borrowed in
    // proportion to the quanta, 12 500 and 37 500 octets: 1 and 3.
    let config = htb(vec![
        root(8_000_000),
        leaf(2, 1_000_000, 8_000_000),
        leaf(3, 3_000_000, 8_000_000),
    ]);
    near(&shares(&config, &[2, 3]), &[250, 750], 30);
    near(&shares(&config, &[2]), &[1000], 3);
}

#[test]
fn no_class_exceeds_its_ceiling() {
    let config = htb(vec![
        root(8_000_000),
        leaf(2, 1_000_000, 2_000_000),
        leaf(3, 1_000_000, 8_000_000),
    ]);
    near(&shares(&config, &[2]), &[250], 3);
    // While the other has its turn of 12 500 octets, the bucket of 1600 overflows.
    near(&shares(&config, &[2, 3]), &[243, 757], 8);
}

#[test]
fn a_lower_priority_number_borrows_first_and_no_rate_is_taken() {
    let mut first = leaf(2, 1_000_000, 8_000_000);
    let mut second = leaf(3, 3_000_000, 8_000_000);
    (first.prio, second.prio) = (0, 1);
    // The second has its 375 packets, the first its 125 and all 500 others.
    let config = htb(vec![root(8_000_000), first, second]);
    near(&shares(&config, &[2, 3]), &[625, 375], 10);
}

#[test]
fn a_nephew_borrows_from_the_grandparent_only_what_its_parent_may() {
    // Class 4 is below class 2, whose ceiling is 4 Mbit/s, below 1.
    let mut nephew = leaf(4, 1_000_000, 8_000_000);
    nephew.parent = Some(2);
    let mut middle = leaf(2, 2_000_000, 4_000_000);
    middle.flows.clear();
    let config = htb(vec![
        root(8_000_000),
        middle,
        leaf(3, 2_000_000, 8_000_000),
        nephew,
    ]);
    near(&shares(&config, &[4]), &[500], 4);
    let levels: Vec<_> = config
        .build(Rng::stream(1, "htb"))
        .classes
        .iter()
        .map(|class| class.level)
        .collect();
    assert_eq!(levels, [7, 6, 0, 0]);
}

#[test]
fn packets_go_to_the_first_class_that_matches_or_the_default() {
    let mut by_dscp = leaf(2, 1_000_000, 1_000_000);
    by_dscp.flows.clear();
    by_dscp.dscp = Some(Dscp::new(46));
    let mut both = leaf(3, 1_000_000, 1_000_000);
    both.dscp = Some(Dscp::new(8));
    let mut other = leaf(4, 1_000_000, 1_000_000);
    other.flows.clear();
    let mut config = htb(vec![root(8_000_000), by_dscp, both, other]);
    config.default = Some(4);
    assert_eq!(config.fault(), None);
    let queue = config.build(Rng::stream(1, "htb"));
    for (flow, dscp, class) in [(9, 46, 1), (2, 8, 2), (2, 0, 3), (5, 8, 3), (0, 0, 3)] {
        let mut sent = packet(flow, 1000);
        sent.ip.dscp = Dscp::new(dscp);
        assert_eq!(queue.leaf_of(&sent), Some(class), "{flow} {dscp}");
    }
    config.default = None;
    let mut queue = config.build(Rng::stream(1, "htb"));
    let mut effects = DropsAndMarks::default();
    // Without a class, packets leave at once.
    for _ in 0..5 {
        queue.enqueue(Instant::ZERO, packet(70, 1000), &mut effects);
    }
    for _ in 0..5 {
        assert_eq!(queue.ready_at(), Instant::ZERO);
        assert!(queue.dequeue(Instant::ZERO, &mut effects).is_some());
    }
}

#[test]
fn faults_of_the_tree_are_named_and_a_faulty_tree_still_runs() {
    let fault = |classes: Vec<HtbClassConfig>, default| {
        let config = HtbConfig {
            default,
            classes,
            ..HtbConfig::default()
        };
        config.build(Rng::stream(1, "htb"));
        config.fault().unwrap_or_default()
    };
    let mut itself = leaf(2, 1, 1);
    itself.parent = Some(2);
    for (classes, default, part) in [
        (vec![root(8), root(8)], None, "twice"),
        (vec![leaf(2, 1, 1)], None, "parent 1 of class 2"),
        (vec![itself], None, "its own parent"),
        (vec![root(8), leaf(2, 2, 1)], None, "below its rate"),
        (vec![root(8)], Some(3), "default 3"),
        (vec![root(8), leaf(2, 1, 1)], Some(1), "default 1"),
        (vec![root(8), leaf(2, 1, 1)], Some(2), ""),
    ] {
        let found = fault(classes, default);
        assert!(
            found.contains(part) && found.is_empty() == part.is_empty(),
            "{found}"
        );
    }
}

//! Tests that apply to every discipline, and the configurations that property tests draw.

use super::tests::packet;
use super::*;
use weir_proto::settings::{Kind, Raw, Table, Value, read};
use weir_proto::time::Duration;

fn red(limit: u64) -> RedConfig {
    RedConfig {
        harddrop: true,
        limit,
        min: 5000,
        max: 15_000,
        probability: 0.02,
        weight: 0.0,
        packet_time: Duration::from_millis(1),
        gentle: true,
        ecn: false,
    }
}

/// Each discipline with a limit of three packets, or 3000 octets.
pub(crate) fn of_three() -> [QueueConfig; 12] {
    let codel = CodelConfig {
        limit: 3,
        ..CodelConfig::default()
    };
    let step = |limit| StepConfig {
        limit,
        threshold: StepThreshold::default(),
        drop_others: false,
    };
    [
        DropTailConfig {
            limit: QueueLimit::Packets(3),
        }
        .into(),
        red(3000).into(),
        codel.into(),
        FqCodelConfig {
            codel,
            ..FqCodelConfig::default()
        }
        .into(),
        PieConfig {
            limit: 3,
            ..PieConfig::default()
        }
        .into(),
        FqPieConfig {
            pie: PieConfig {
                limit: 3,
                ..PieConfig::default()
            },
            ..FqPieConfig::default()
        }
        .into(),
        CakeConfig {
            memlimit: Some(3000),
            ..CakeConfig::default()
        }
        .into(),
        HtbConfig {
            direct_qlen: 3,
            ..HtbConfig::default()
        }
        .into(),
        FqConfig {
            limit: 3,
            ..FqConfig::default()
        }
        .into(),
        DualPi2Config {
            limit: 3,
            ..DualPi2Config::default()
        }
        .into(),
        step(QueueLimit::Packets(3)).into(),
        step(QueueLimit::Bytes(3000)).into(),
    ]
}

#[test]
fn each_keeps_its_limit_and_reports_its_head_and_its_backlog() {
    for config in of_three() {
        let limits = [QueueLimit::Packets(3), QueueLimit::Bytes(3000)];
        assert!(limits.contains(&config.limit()), "{config:?}");
        let mut queue = Queue::new(&config, 1, "queue");
        let mut effects = DropsAndMarks::default();
        assert_eq!(queue.head_size(), None, "{config:?}");
        for held in 1..=3 {
            queue.enqueue(Instant::ZERO, packet(0, 1000), &mut effects);
            let backlog = Backlog {
                packets: held,
                bytes: 1000 * held,
            };
            assert_eq!(queue.backlog(), backlog, "{config:?}");
            assert_eq!(queue.head_size(), Some(1000), "{config:?}");
        }
        assert!(effects.is_empty(), "{config:?}");
        queue.enqueue(Instant::ZERO, packet(0, 1000), &mut effects);
        // FQ-CoDel drops half of its longest queue (RFC 8290 §4.1).
        let full = |(_, reason): &(_, DropReason)| *reason == DropReason::QueueFull;
        assert!(!effects.dropped.is_empty(), "{config:?}");
        assert!(effects.dropped.iter().all(full), "{config:?}");
        while queue.dequeue(Instant::ZERO, &mut effects).is_some() {}
        assert_eq!(queue.backlog(), Backlog::default(), "{config:?}");
    }
}

#[test]
fn only_drop_tail_may_be_skipped() {
    // As Linux's TCQ_F_CAN_BYPASS: a discipline with active queue management measures every packet.
    for config in of_three() {
        let may = matches!(config, QueueConfig::DropTail(_));
        assert_eq!(Queue::new(&config, 1, "queue").can_bypass(), may);
    }
}

/// What a drop-tail queue and a step queue read from this value; `None` if they reject it.
fn read_limits(value: &Raw) -> [Option<String>; 2] {
    let mut table = Table::default();
    table.put("limit", value.clone());
    let mut drop_tail = DropTailConfig::default();
    let read_it = read(&mut drop_tail, &table, "queue").is_empty();
    let limit = read_it.then(|| format!("{:?} {:?}", drop_tail.limit, drop_tail.limit.write()));
    let mut table = Table::default();
    table.put("threshold", value.clone());
    let mut step = StepConfig {
        limit: QueueLimit::Packets(1),
        threshold: StepThreshold::Packets(1),
        drop_others: false,
    };
    let read_it = read(&mut step, &table, "queue").is_empty();
    let threshold = step.threshold;
    [
        limit,
        read_it.then(|| format!("{threshold:?} {:?}", threshold.write())),
    ]
}

#[test]
fn limits_and_thresholds_are_packets_octets_or_times() {
    let text = |text: &str| Raw::Text(text.to_owned());
    let both = |words: &str| [Some(words.to_owned()), Some(words.to_owned())];
    let step_only = |words: &str| [None, Some(words.to_owned())];
    let most = 1_125_899_906_842_624_i64;
    for (value, expected) in [
        (Raw::Integer(1), both("Packets(1) Integer(1)")),
        (Raw::Integer(0), step_only("Packets(0) Integer(0)")),
        (
            Raw::Integer(most),
            both("Packets(1125899906842624) Integer(1125899906842624)"),
        ),
        (Raw::Integer(most + 1), [None, None]),
        (text("1b"), both("Bytes(1) Text(\"1b\")")),
        (text("0b"), step_only("Bytes(0) Text(\"0b\")")),
        (
            text("1125899906842624b"),
            both("Bytes(1125899906842624) Text(\"1125899906842624b\")"),
        ),
        (text("1125899906842625b"), [None, None]),
        (
            text("2ms"),
            step_only("Delay(Duration(2000000)) Text(\"2ms\")"),
        ),
        (text("many"), [None, None]),
    ] {
        assert_eq!(read_limits(&value), expected, "{value:?}");
    }
    let least = |kind: Kind| match kind {
        Kind::AnyOf(kinds) => kinds.into_iter().find_map(|kind| match kind {
            Kind::Integer { min, max, .. } => Some((min, max)),
            _ => None,
        }),
        _ => None,
    };
    let most = most.unsigned_abs();
    assert_eq!(least(QueueLimit::default().kind()), Some((1, most)));
    assert_eq!(least(StepThreshold::default().kind()), Some((0, most)));
    // Linux's txqueuelen, and the step of DualPI2.
    assert_eq!(QueueLimit::default(), QueueLimit::Packets(1000));
    let step = StepThreshold::Delay(Duration::from_millis(1));
    assert_eq!(StepThreshold::default(), step);
}

const DRAWS: u32 = 400_000;

/// The minimum, mean and maximum of the values that `draw` returns.
fn spread<T>(draw: impl Fn(&mut Rng) -> Option<T>) -> [f64; 3]
where
    f64: From<T>,
{
    let mut rng = Rng::stream(1, "arbitrary");
    let (mut least, mut sum, mut most, mut count) = (f64::INFINITY, 0.0, 0.0_f64, 0.0);
    for value in (0..DRAWS).filter_map(|_| draw(&mut rng)) {
        let value = f64::from(value);
        (least, most) = (least.min(value), most.max(value));
        (sum, count) = (sum + value, count + 1.0);
    }
    [least, sum / count, most]
}

fn packets(limit: QueueLimit) -> Option<u32> {
    match limit {
        QueueLimit::Packets(packets) => u32::try_from(packets).ok(),
        QueueLimit::Bytes(_) => None,
    }
}

fn octets(limit: QueueLimit) -> Option<u32> {
    match limit {
        QueueLimit::Bytes(octets) => u32::try_from(octets).ok(),
        QueueLimit::Packets(_) => None,
    }
}

#[test]
fn property_tests_draw_short_queues_of_all_lengths() {
    let bounds = |found: [f64; 3]| [found[0], found[2]];
    for draw in [
        |rng: &mut Rng| packets(DropTailConfig::arbitrary(rng).limit),
        |rng: &mut Rng| packets(CodelConfig::arbitrary(rng).limit()),
        |rng: &mut Rng| packets(FqCodelConfig::arbitrary(rng).limit()),
        |rng: &mut Rng| packets(PieConfig::arbitrary(rng).limit()),
        |rng: &mut Rng| packets(FqPieConfig::arbitrary(rng).limit()),
        |rng: &mut Rng| packets(FqConfig::arbitrary(rng).limit()),
        |rng: &mut Rng| packets(DualPi2Config::arbitrary(rng).limit()),
        |rng: &mut Rng| packets(StepConfig::arbitrary(rng).limit()),
    ] {
        assert_eq!(bounds(spread(draw)), [1.0, 20.0]);
    }
    for draw in [
        |rng: &mut Rng| octets(DropTailConfig::arbitrary(rng).limit),
        |rng: &mut Rng| octets(RedConfig::arbitrary(rng).limit()),
        |rng: &mut Rng| octets(CakeConfig::arbitrary(rng).limit()),
    ] {
        assert_eq!(bounds(spread(draw)), [1500.0, 31_499.0]);
    }
    let config = RedConfig::arbitrary(&mut Rng::stream(1, "red"));
    assert_eq!((config.min, config.max), (1500, 6000));
    assert_eq!(config.packet_time, Duration::from_millis(1));
    let step = |rng: &mut Rng| StepConfig::arbitrary(rng).threshold;
    let waiting = spread(|rng| match step(rng) {
        StepThreshold::Packets(packets) => u32::try_from(packets).ok(),
        _ => None,
    });
    assert_eq!(bounds(waiting), [0.0, 9.0]);
    let waiting = spread(|rng| match step(rng) {
        StepThreshold::Bytes(octets) => u32::try_from(octets).ok(),
        _ => None,
    });
    assert_eq!(bounds(waiting), [0.0, 9999.0]);
}

#[test]
fn property_tests_draw_each_option_as_often() {
    let share = |draw: fn(&mut Rng) -> bool| spread(|rng| Some(u32::from(draw(rng))))[1];
    // Half of 400 000, within six standard deviations of 0.0008.
    for draw in [
        |rng: &mut Rng| packets(DropTailConfig::arbitrary(rng).limit).is_some(),
        |rng: &mut Rng| CodelConfig::arbitrary(rng).ecn,
        |rng: &mut Rng| PieConfig::arbitrary(rng).ecn,
        |rng: &mut Rng| RedConfig::arbitrary(rng).ecn,
        |rng: &mut Rng| RedConfig::arbitrary(rng).gentle,
        |rng: &mut Rng| StepConfig::arbitrary(rng).drop_others,
    ] {
        assert!((share(draw) - 0.5).abs() < 0.005, "{}", share(draw));
    }
    // A third each.
    for draw in [
        |rng: &mut Rng| {
            matches!(
                StepConfig::arbitrary(rng).threshold,
                StepThreshold::Packets(_)
            )
        },
        |rng: &mut Rng| {
            matches!(
                StepConfig::arbitrary(rng).threshold,
                StepThreshold::Bytes(_)
            )
        },
        |rng: &mut Rng| {
            matches!(
                StepConfig::arbitrary(rng).threshold,
                StepThreshold::Delay(_)
            )
        },
    ] {
        assert!((share(draw) - 1.0 / 3.0).abs() < 0.005, "{}", share(draw));
    }
    let dualpi2 =
        |of: fn(&DualPi2Config) -> f64| spread(|rng| Some(of(&DualPi2Config::arbitrary(rng))))[2];
    assert!((49.9..50.0).contains(&dualpi2(|config| config.beta)));
    assert!((3.99..4.0).contains(&dualpi2(|config| config.coupling_factor)));
}

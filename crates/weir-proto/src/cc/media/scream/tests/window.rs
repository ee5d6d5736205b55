//! The reference window.

use super::*;
use crate::cc::media::scream::window::{Feedback, ReferenceWindow};

const CONFIG: fn() -> ScreamConfig = ScreamConfig::default;

/// A report at this time with a round trip of 25 ms, which is VIRTUAL_RTT.
fn feedback(now: u64) -> Feedback {
    Feedback {
        now: at(now),
        rtt: Some(Duration::from_millis(25)),
        in_flight: [1_000_000; 2],
        may_grow: true,
        ..Feedback::default()
    }
}

/// A window of so many octets far from its inflection point.
fn window(octets: f64) -> ReferenceWindow {
    ReferenceWindow::of(&CONFIG(), false, [octets, 1.0])
}

fn octets(mut window: ReferenceWindow, feedback: &Feedback) -> (f64, Option<Limit>) {
    let limit = window.on_report(&CONFIG(), feedback);
    (window.octets(), limit)
}

const LOSS: fn(u64) -> Feedback = |now| Feedback {
    is_loss: true,
    ..feedback(now)
};
const MARK: fn(u64) -> Feedback = |now| Feedback {
    units: [1, 1],
    ..feedback(now)
};

#[test]
fn losses_and_classic_marks_reduce_by_their_factors() {
    assert_eq!(
        octets(window(10_000.0), &LOSS(0)),
        (7000.0, Some(Limit::LossReduction))
    );
    assert_eq!(
        octets(window(10_000.0), &MARK(0)),
        (8000.0, Some(Limit::MarkReduction))
    );
    assert_eq!(octets(window(3100.0), &LOSS(0)).0, 3000.0, "MIN_REF_WND");
    // Without a round-trip time nothing follows.
    let unknown = Feedback {
        rtt: None,
        ..LOSS(0)
    };
    assert_eq!(octets(window(10_000.0), &unknown), (10_000.0, None));
}

#[test]
fn the_window_is_reduced_once_in_a_virtual_round_trip() {
    let mut reduced = window(100_000.0);
    reduced.on_report(&CONFIG(), &LOSS(0));
    assert_eq!(reduced.on_report(&CONFIG(), &LOSS(24)), None);
    assert!(close(reduced.octets(), 70_000.0));
    // The loss of 24 ms still counts.
    let limit = reduced.on_report(&CONFIG(), &feedback(25));
    assert_eq!(limit, Some(Limit::LossReduction));
    assert!(close(reduced.octets(), 49_000.0));
    // A shorter round trip counts instead.
    let short = |now| Feedback {
        rtt: Some(Duration::from_millis(10)),
        ..LOSS(now)
    };
    reduced.on_report(&CONFIG(), &short(34));
    assert!(close(reduced.octets(), 49_000.0));
    reduced.on_report(&CONFIG(), &short(35));
    assert!(close(reduced.octets(), 34_300.0));
}

/// The window of 100 000 octets after a report with this round trip and queueing delay, both in ms.
fn with_delay(rtt: u64, qdelay: u64) -> f64 {
    let feedback = Feedback {
        rtt: Some(Duration::from_millis(rtt)),
        qdelay: Some(Duration::from_millis(qdelay)),
        ..feedback(0)
    };
    octets(window(100_000.0), &feedback).0
}

#[test]
fn a_queueing_delay_above_half_of_the_target_reduces_like_marks() {
    // The average rises by a quarter: 160 ms make 40, which is (40 - 30) / 30 above half of the
    // target: the backoff is a sixth.
    assert!(close(with_delay(25, 160), 100_000.0 * 5.0 / 6.0));
    // 120 ms make 30, which is not above it; 240 ms make 60, and 400 ms 100: half at most.
    assert!(close(with_delay(25, 120), 100_000.0));
    assert!(close(with_delay(25, 240), 50_000.0));
    assert!(close(with_delay(25, 400), 50_000.0));
    // Over 100 ms, four virtual round trips, a quarter of it.
    assert!(close(with_delay(100, 240), 87_500.0));
}

#[test]
fn the_average_delay_rises_by_a_quarter_and_falls_at_once() {
    let mut seen = window(10_000.0);
    let mut average = |now, qdelay| {
        let feedback = Feedback {
            qdelay: Some(Duration::from_millis(qdelay)),
            ..feedback(now)
        };
        seen.on_report(&CONFIG(), &feedback);
        seen.qdelay()
    };
    assert!(close(average(0, 40), 0.01));
    assert!(close(average(24, 40), 0.01), "once in a virtual round trip");
    assert!(close(average(25, 40), 0.0175));
    assert!(close(average(50, 5), 0.005));
}

#[test]
fn the_share_of_marks_rises_by_an_eighth_and_falls_by_a_128th() {
    let mut marked = ReferenceWindow::of(&CONFIG(), true, [10_000.0, 1.0]);
    let mut alpha = |now, units| {
        marked.on_report(
            &CONFIG(),
            &Feedback {
                units,
                ..feedback(now)
            },
        );
        marked.alpha()
    };
    assert!(close(alpha(0, [4, 2]), 0.0625));
    // Within 10 ms the units are counted together: one of four.
    assert!(close(alpha(9, [2, 0]), 0.0625));
    assert!(close(alpha(10, [2, 1]), 0.0625 + (0.25 - 0.0625) / 8.0));
    assert!(close(alpha(20, [9, 0]), 0.085_937_5 * 127.0 / 128.0));
    assert!(close(alpha(30, [0, 0]), 0.085_937_5 * 127.0 / 128.0));
}

/// An L4S window of 100 000 octets with this inflection point, after a report in which all of eight
/// units are marked: alpha is 1/8, the backoff a sixteenth at most.
fn marked(inflection: f64, change: impl Fn(Feedback) -> Feedback) -> f64 {
    let mut window = ReferenceWindow::of(&CONFIG(), true, [100_000.0, inflection]);
    window.on_report(
        &CONFIG(),
        &change(Feedback {
            units: [8, 8],
            ..feedback(0)
        }),
    );
    window.octets()
}

#[test]
fn marks_of_l4s_reduce_by_half_of_their_share() {
    assert!(close(marked(1.0, |feedback| feedback), 93_750.0));
    let slow = |feedback| Feedback {
        rtt: Some(Duration::from_millis(50)),
        ..feedback
    };
    assert!(close(marked(1.0, slow), 100_000.0 - 6250.0 / 2.0));
    // Near the last greatest window a quarter of it, if the queue is below 15 ms.
    let delayed = |millis| {
        move |feedback| Feedback {
            qdelay: Some(Duration::from_millis(millis)),
            ..feedback
        }
    };
    assert!(close(
        marked(100_000.0, delayed(14)),
        100_000.0 - 6250.0 / 4.0
    ));
    assert!(close(marked(100_000.0, delayed(15)), 93_750.0));
    // 8 · (100 - 108) / 108 is -0.59, its square 0.351: that much of the backoff.
    let scale = 64.0 * 64.0 / (108.0 * 108.0);
    assert!(close(
        marked(108_000.0, delayed(0)),
        100_000.0 - 6250.0 * scale
    ));
}

#[test]
fn after_long_without_congestion_marks_set_the_window_to_the_flight() {
    let small = |feedback| Feedback {
        in_flight: [1_000_000, 40_000],
        ..feedback
    };
    assert!(close(marked(1.0, small), 37_500.0));
    // 100 round trips of 25 ms after a reaction, and a millisecond later.
    for (now, from) in [(2500, 93_750.0), (2501, 40_000.0)] {
        let mut window = ReferenceWindow::of(&CONFIG(), true, [100_000.0, 1.0]);
        window.on_report(
            &CONFIG(),
            &Feedback {
                units: [8, 8],
                ..feedback(0)
            },
        );
        // The second report: alpha is 1/8 + 1/8 · 7/8 = 15/64, the backoff 15/128.
        window.on_report(
            &CONFIG(),
            &small(Feedback {
                units: [8, 8],
                ..feedback(now)
            }),
        );
        assert!(close(window.octets(), from * (1.0 - 15.0 / 128.0)), "{now}");
    }
}

#[test]
fn a_reduction_remembers_the_window_before_it_until_that_grows() {
    let mut reduced = window(100_000.0);
    reduced.on_report(&CONFIG(), &LOSS(0));
    assert!(close(reduced.inflection(), 100_000.0));
    reduced.on_report(&CONFIG(), &LOSS(100));
    assert!(close(reduced.inflection(), 100_000.0));
    let acked = Feedback {
        acked: [1000, 0],
        ..feedback(110)
    };
    reduced.on_report(&CONFIG(), &acked);
    let grown = reduced.octets();
    reduced.on_report(&CONFIG(), &LOSS(200));
    assert!(close(reduced.inflection(), grown));
}

/// The growth of a window with this inflection point when 10 000 octets are acknowledged.
fn growth(
    [octets, inflection]: [f64; 2],
    change: impl Fn(Feedback) -> Feedback,
) -> (f64, Option<Limit>) {
    let mut window = ReferenceWindow::of(&CONFIG(), false, [octets, inflection]);
    let acked = Feedback {
        acked: [10_000, 0],
        ..feedback(0)
    };
    let limit = window.on_report(&CONFIG(), &change(acked));
    (window.octets() - octets, limit)
}

#[test]
fn the_window_grows_by_a_packet_and_a_share_of_itself_in_a_round_trip() {
    let plain = |feedback| feedback;
    // 10000 octets of a window of 10000: MSS · (1 + 0.02 · 10000 / 1000).
    let (step, limit) = growth([10_000.0, 1.0], plain);
    assert!(close(step, 1200.0), "{step}");
    assert_eq!(limit, Some(Limit::AdditiveIncrease));
    // Of 100000: a tenth of MSS · (1 + 2).
    let (step, limit) = growth([100_000.0, 1.0], plain);
    assert!(close(step, 300.0), "{step}");
    assert_eq!(limit, Some(Limit::MultiplicativeIncrease));
    // Marked octets do not count.
    let marked = |feedback| Feedback {
        acked: [10_000, 5000],
        ..feedback
    };
    assert!(close(growth([10_000.0, 1.0], marked).0, 600.0));
    // Over a shorter round trip less.
    let short = |feedback| Feedback {
        rtt: Some(Duration::from_millis(5)),
        ..feedback
    };
    assert!(close(growth([10_000.0, 1.0], short).0, 240.0));
    // At the inflection point a quarter, and the multiplicative part by a tenth.
    assert!(close(growth([10_000.0, 10_000.0], plain).0, 255.0));
    // 8 · (100 - 108) / 108, squared, is 0.351.
    let scale = 64.0 * 64.0 / (108.0 * 108.0);
    let step = 100.0 * scale * (1.0 + 2.0 * scale);
    assert!(close(growth([100_000.0, 108_000.0], plain).0, step));
    assert_eq!(
        growth([10_000.0, 1.0], |feedback| Feedback {
            acked: [0, 0],
            ..feedback
        }),
        (0.0, None)
    );
}

#[test]
fn after_congestion_the_growth_is_additive_at_first() {
    // 100 round trips of 25 ms; after 250 ms a tenth of the multiplicative part.
    for (now, part) in [(250, 0.1), (2500, 1.0), (5000, 1.0)] {
        let mut window = window(100_000.0);
        window.on_report(&CONFIG(), &LOSS(0));
        let before = window.octets();
        let acked = Feedback {
            acked: [7000, 0],
            ..feedback(now)
        };
        window.on_report(&CONFIG(), &acked);
        // 7000 of 70000 octets: a tenth of MSS · (1 + 0.02 · 70 · part).
        let step = 100.0 * (1.0 + 1.4 * part);
        assert!(close(window.octets() - before, step), "{now}");
    }
}

#[test]
fn the_window_does_not_leave_the_flight_behind() {
    // MSS + 1.5 · 6800 is 11200: 10000 + 1200 is just allowed.
    let flight = |in_flight| {
        move |feedback| Feedback {
            in_flight,
            ..feedback
        }
    };
    assert!(close(growth([10_000.0, 1.0], flight([6800, 0])).0, 1200.0));
    assert!(close(growth([10_000.0, 1.0], flight([0, 6800])).0, 1200.0));
    let (step, limit) = growth([10_000.0, 1.0], flight([6799, 6799]));
    assert_eq!((step, limit), (0.0, Some(Limit::ReceivedMedia)));
    let full = |feedback| Feedback {
        may_grow: false,
        ..feedback
    };
    assert_eq!(
        growth([10_000.0, 1.0], full),
        (0.0, Some(Limit::ReceivedMedia))
    );
}

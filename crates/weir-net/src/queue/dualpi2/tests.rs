use super::*;
use crate::packet_pool::fixture::number_of;
use crate::queue::tests::{capable, packet};

const MS: Duration = Duration::from_millis(1);

fn dualpi2() -> Box<DualPi2> {
    DualPi2Config::default().build(Rng::stream(1, "dualpi2"))
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + MS * millis
}

#[test]
fn the_parameters_are_those_of_the_rfc() {
    // RFC 9332 appendix A.1, figure 2: TARGET 15 ms, T_UPDATE 16 ms, ALPHA 0.16 and BETA 3.2 for
    // an RTT_max of 100 ms, COUPLING_FACTOR k = 2, SATURATED p_Lmax = 1, MIN_QLEN_STEP Th_len = 1.
    let config = DualPi2Config::default();
    assert_eq!((config.target, config.tupdate), (MS * 15, MS * 16));
    assert_eq!((config.alpha, config.beta), (0.16, 3.2));
    assert_eq!((config.coupling_factor, SATURATED), (2.0, 1.0));
    assert_eq!((config.min_qlen_step, config.step_thresh), (1, MS));
    // p_Cmax = min(1/k^2, 1).
    for (k, most) in [(2.0, 0.25), (1.0, 1.0), (0.5, 1.0), (4.0, 0.0625)] {
        let queue = DualPi2Config {
            coupling_factor: k,
            ..config
        };
        assert_eq!(queue.build(Rng::stream(1, "k")).overload(), most);
    }
}

#[test]
fn the_base_probability_takes_the_steps_of_figure_8() {
    // One packet waits from time zero on in one of the queues. At 16 ms: 0.16 (16 - 15) ms + 3.2
    // (16 - 0) ms = 0.051 36; at 32 ms: 0.16 · 17 ms + 3.2 · 16 ms = 0.053 92 more. After it has
    // left, at 48 ms: 0.16 (0 - 15) ms + 3.2 (0 - 32) ms = -0.104 8, and at 64 ms -0.002 4, which
    // is clamped to zero.
    for ecn in [Ecn::NotEct, Ecn::Ect1] {
        let mut queue = dualpi2();
        let mut effects = DropsAndMarks::default();
        queue.enqueue(at(0), capable(0, 1000, ecn), &mut effects);
        for (now, expected) in [(15, 0.0), (16, 0.051_36), (31, 0.051_36), (32, 0.105_28)] {
            queue.catch_up(at(now));
            assert!((queue.base - expected).abs() < 1e-12, "{now} ms");
        }
        // p_CL = 2 p', p_C = p'^2.
        assert!((queue.coupled() - 0.210_56).abs() < 1e-12);
        assert!((queue.classic_probability() - 0.011_083_878_4).abs() < 1e-12);
        queue.dequeue(at(33), &mut effects);
        for (now, expected) in [(48, 0.000_48), (64, 0.0), (6400, 0.0)] {
            queue.catch_up(at(now));
            assert!((queue.base - expected).abs() < 1e-12, "{now} ms");
        }
        assert!(effects.dropped.is_empty());
    }
}

/// Which of the first 20 packets of a queue in this state get a signal, and whether any is dropped.
fn signals(base: f64, mut signal: impl FnMut(&mut DualPi2) -> Signal) -> (Vec<u32>, bool) {
    let mut queue = dualpi2();
    queue.base = base;
    let mut dropped = false;
    let numbers = (1..=20).filter(|_| match signal(&mut queue) {
        Signal::None => false,
        Signal::Mark => true,
        Signal::Drop => {
            dropped = true;
            true
        }
    });
    (numbers.collect(), dropped)
}

#[test]
fn signals_are_spread_evenly_with_the_square_and_with_the_coupled_probability() {
    // RFC 9332 figure 4: a signal each time that the sum of likelihoods exceeds 1. p' = 1/4: p_C is
    // 1/16, exceeded at the 17th packet; p_CL is 1/2, exceeded at the 3rd and every second one
    // after.
    let odd = (3..=19).step_by(2).collect::<Vec<_>>();
    let classic = |ecn| move |queue: &mut DualPi2| queue.signal_classic(ecn);
    let low = |delay, behind| move |queue: &mut DualPi2| queue.signal_low(delay, behind);
    let all = (2..=20).collect::<Vec<_>>();
    assert_eq!(signals(0.25, classic(Ecn::NotEct)), (vec![17], true));
    assert_eq!(signals(0.25, classic(Ecn::Ect0)), (vec![17], false));
    assert_eq!(signals(0.25, low(Duration::ZERO, 0)), (odd.clone(), false));
    // The step of L: from 1 ms on all packets except the first, which only fills the sum; none
    // without other packets in L.
    assert_eq!(signals(0.0, low(MS, 1)), (all.clone(), false));
    assert_eq!(signals(0.0, low(MS, 0)), (vec![], false));
    let short = MS.saturating_sub(Duration::from_nanos(1));
    assert_eq!(signals(0.0, low(short, 9)), (vec![], false));
    // The larger of the two probabilities applies, not their sum.
    assert_eq!(signals(0.25, low(MS, 1)), (all, false));
}

#[test]
fn a_ramp_rises_to_one_over_its_range() {
    // RFC 9332 figure 5 with minTh = 800 µs and a range of 400 µs.
    let config = DualPi2Config {
        step_thresh: Duration::from_micros(800),
        ramp: Duration::from_micros(400),
        ..DualPi2Config::default()
    };
    let queue = config.build(Rng::stream(1, "ramp"));
    for (micros, expected) in [
        (799, 0.0),
        (800, 0.0),
        (900, 0.25),
        (1000, 0.5),
        (1200, 1.0),
    ] {
        let found = queue.ramp(Duration::from_micros(micros));
        assert!((found - expected).abs() < 1e-12, "{micros} µs: {found}");
    }
}

#[test]
fn under_overload_both_queues_drop_with_the_classic_probability() {
    // RFC 9332 figure 7: p' = 1/2 gives p_CL = 1 and p_C = 1/4 = p_Cmax, so that every fourth
    // packet is dropped, ECN-capable or not, the first at the fifth; all others of L are marked.
    let classic = |queue: &mut DualPi2| queue.signal_classic(Ecn::Ect0);
    assert_eq!(signals(0.5, classic), (vec![5, 9, 13, 17], true));
    let just_below = signals(0.499, classic);
    assert!(!just_below.1 && just_below.0.len() == 4, "{just_below:?}");
    let low = |queue: &mut DualPi2| queue.signal_low(Duration::ZERO, 0);
    let (signalled, dropped) = signals(0.5, low);
    assert_eq!(signalled.len(), 20);
    assert!(dropped);
    assert!(!signals(0.499, low).1);
}

#[test]
fn the_scheduler_leaves_the_classic_queue_its_share_and_prefers_the_other_at_first() {
    // Both queues hold packets of 1500 octets, and the share of C is a tenth: the credit starts at
    // 1500 (0.2 - 1) = -1200 and grows by 150 with each packet of L, so that it is positive after
    // the ninth; a packet of C subtracts 1350.
    let mut queue = dualpi2();
    let mut effects = DropsAndMarks::default();
    for number in 0..40 {
        let ecn = if number < 20 { Ecn::Ect0 } else { Ecn::Ect1 };
        queue.enqueue(at(0), capable(number, 1500, ecn), &mut effects);
    }
    let mut order = Vec::new();
    while let Some(head) = queue.head_size() {
        let packet = queue.dequeue(at(0), &mut effects).expect("one is left");
        assert_eq!(head, packet.size);
        order.push(number_of(&packet) < 20);
    }
    let classic: Vec<_> = (0..40).filter(|&n| order[n]).collect();
    assert_eq!(
        classic[..3],
        [9, 19, 22],
        "L is empty after 20 packets of it"
    );
    assert_eq!(queue.credit, -1200.0, "an empty queue prefers L again");
    // A queue that is served alone does not change the credit.
    queue.enqueue(at(0), capable(0, 1500, Ecn::NotEct), &mut effects);
    queue.enqueue(at(0), capable(1, 1500, Ecn::NotEct), &mut effects);
    queue.dequeue(at(0), &mut effects);
    assert_eq!(queue.credit, -1200.0);
}

#[test]
fn packets_are_classified_by_the_low_bit_of_their_ecn_field() {
    let mut queue = dualpi2();
    let mut effects = DropsAndMarks::default();
    for (number, ecn) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]
        .into_iter()
        .enumerate()
    {
        queue.enqueue(at(0), capable(number as u64, 100, ecn), &mut effects);
    }
    assert_eq!(queue.low.fifo.packets(), 2);
    let order = std::iter::from_fn(|| queue.dequeue(at(0), &mut effects));
    let order: Vec<_> = order.map(|packet| number_of(&packet)).collect();
    assert_eq!(order, [2, 3, 0, 1]);
    assert!(effects.is_empty());
}

#[test]
fn both_queues_share_one_limit() {
    let config = DualPi2Config {
        limit: 3,
        ..DualPi2Config::default()
    };
    let mut queue = config.build(Rng::stream(1, "limit"));
    let mut effects = DropsAndMarks::default();
    for ecn in [Ecn::Ect1, Ecn::NotEct, Ecn::NotEct, Ecn::Ect1, Ecn::NotEct] {
        queue.enqueue(at(0), capable(0, 100, ecn), &mut effects);
    }
    assert_eq!(
        queue.backlog(),
        Backlog {
            packets: 3,
            bytes: 300
        }
    );
    let reasons: Vec<_> = effects.dropped.iter().map(|(_, reason)| *reason).collect();
    assert_eq!(reasons, [DropReason::QueueFull; 2]);
}

#[test]
fn holds_an_overloaded_classic_queue_near_its_target() {
    // Service at 10 Mbit/s (0.8 ms per packet), arrivals 12.5 % faster: p_C must reach 1/9, p' 1/3.
    let mut queue = dualpi2();
    let mut effects = DropsAndMarks::default();
    let (mut arrived, mut delays, mut drops) = (0, 0.0, 0);
    for tick in 0..100_000_u64 {
        let now = Instant::from_nanos(tick * 800_000);
        while arrived * 8 < tick * 9 {
            queue.enqueue(now, packet(0, 1000), &mut effects);
            arrived += 1;
        }
        if tick >= 50_000 {
            delays += queue.classic.delay(now).as_secs_f64();
            drops += effects.dropped.len();
        }
        effects.dropped.clear();
        queue.dequeue(now, &mut effects);
    }
    let (delay, share) = (delays / 50_000.0, drops as f64 / 56_250.0);
    assert!((0.013..0.017).contains(&delay), "{delay}");
    assert!((share - 1.0 / 9.0).abs() < 0.005, "{share}");
    assert!((queue.base - 1.0 / 3.0).abs() < 0.02, "{}", queue.base);
}

#[test]
fn a_long_silence_is_skipped_once_an_update_changes_nothing() {
    let years = Duration::from_secs(10 * 365 * 86_400);
    for (waits, base) in [(true, 1.0), (false, 0.0)] {
        let mut queue = dualpi2();
        queue.base = 0.5;
        if waits {
            queue.classic.fifo.push(at(0), packet(0, 1000));
        }
        queue.catch_up(Instant::ZERO + years);
        assert_eq!(queue.base, base);
        let next = queue.next_update.since(Instant::ZERO);
        assert!(next > years && next <= years + MS * 16);
        assert_eq!(next.as_nanos() % 16_000_000, 0);
        let last = next - MS * 16;
        let delay = if waits { last } else { Duration::ZERO };
        assert_eq!(queue.old_delay, delay, "as if every tick had been taken");
    }
}

#[test]
fn the_sum_of_likelihoods_keeps_what_is_beyond_one() {
    // RFC 9332 figure 4: with 0.26 the k-th signal comes when 0.26 n exceeds k.
    let mut side = Side::default();
    let signals: Vec<_> = (1..=49).filter(|_| side.recurs(0.26)).collect();
    assert_eq!(signals, [4, 8, 12, 16, 20, 24, 27, 31, 35, 39, 43, 47]);
}

#[test]
fn a_new_queue_waits_a_period_and_prefers_the_low_latency_at_most() {
    assert_eq!(dualpi2().next_update, at(16));
    // 1500 (2·0.9 - 1) would be above zero.
    let config = DualPi2Config {
        classic_protection: 0.9,
        ..DualPi2Config::default()
    };
    assert_eq!(config.first_credit(), 0.0);
}

#[test]
fn the_credit_decides_between_packets_of_both_queues() {
    for (low, classic, credit, low_is_next) in [
        (1, 1, 0.0, true),
        (1, 1, 0.5, false),
        (1, 2, 0.0, true),
        (2, 0, 0.5, true),
        (0, 1, -5.0, false),
        (0, 0, -5.0, false),
    ] {
        let mut queue = dualpi2();
        for _ in 0..low {
            queue.low.fifo.push(at(0), packet(0, 1000));
        }
        for _ in 0..classic {
            queue.classic.fifo.push(at(0), packet(0, 1000));
        }
        queue.credit = credit;
        assert_eq!(queue.low_is_next(), low_is_next, "{low} {classic} {credit}");
    }
}

#[test]
fn the_credit_moves_while_the_other_queue_holds_a_packet() {
    // A packet of L of 1000 octets adds a tenth, one of C subtracts nine tenths; neither if the
    // other queue is empty.
    for (low, classic, credit, expected) in [
        (1, 1, 0.0, 100.0),
        (3, 0, 0.0, 0.0),
        (1, 1, 1.0, -899.0),
        (0, 3, 1.0, 1.0),
    ] {
        let mut queue = dualpi2();
        let mut effects = DropsAndMarks::default();
        for _ in 0..low {
            queue.low.fifo.push(at(0), packet(0, 1000));
        }
        for _ in 0..classic {
            queue.classic.fifo.push(at(0), packet(0, 1000));
        }
        queue.credit = credit;
        assert!(queue.dequeue(at(0), &mut effects).is_some());
        assert_eq!(queue.credit, expected, "{low} {classic} {credit}");
    }
}

#[test]
fn a_saturated_queue_that_was_drained_is_followed_tick_by_tick() {
    // p' was 1 at a delay of a second. At 1600 ms the first packet has waited 20 ms: the change of
    // -0.98 s reduces p' to zero, and nine ticks add 3.2·16 ms and 0.16 (20 + 16 k - 15) ms each:
    // 9·0.0512 + 0.16·(9·0.005 + 0.016·45) = 0.583 2.
    let mut queue = dualpi2();
    (queue.base, queue.old_delay) = (1.0, MS * 1000);
    queue.next_update = at(1600);
    queue.classic.fifo.push(at(1580), packet(0, 1000));
    queue.catch_up(at(1600 + 9 * 16));
    assert!((queue.base - 0.583_2).abs() < 1e-12, "{}", queue.base);
    // The queues are empty: p' decreases from 1 by 0.16·15 ms per tick.
    let mut queue = dualpi2();
    queue.base = 1.0;
    queue.catch_up(at(160));
    assert!((queue.base - 0.976).abs() < 1e-12, "{}", queue.base);
}

#[test]
fn a_saturated_queue_below_its_target_is_followed_tick_by_tick() {
    // alpha = 1/s, beta = 1.01/s, a target of 100 ms and ticks of 1 ms. At 50 ms p' stays at 1,
    // because the delay has grown by 50 ms; then each tick adds (k - 50 + 1.01) ms·1/s: after ten
    // ticks 1 - 0.5 + 0.055 + 0.0101.
    let config = DualPi2Config {
        alpha: 1.0,
        beta: 1.01,
        target: MS * 100,
        tupdate: MS,
        ..DualPi2Config::default()
    };
    let mut queue = config.build(Rng::stream(1, "dualpi2"));
    (queue.base, queue.next_update) = (1.0, at(50));
    queue.classic.fifo.push(at(0), packet(0, 1000));
    queue.catch_up(at(60));
    assert!((queue.base - 0.565_1).abs() < 1e-12, "{}", queue.base);
}

#[test]
fn after_a_million_updates_in_a_row_only_the_last_tick_counts() {
    // MOST_UPDATES: N ticks of 16 ms add alpha (16 ms k - 15 ms) + beta 16 ms each; then follows
    // only the last one, the M-th.
    let updates = 1e6;
    for more in [2, 5] {
        let config = DualPi2Config {
            alpha: 1e-11,
            beta: 1e-6,
            ..DualPi2Config::default()
        };
        let mut queue = config.build(Rng::stream(1, "dualpi2"));
        queue.classic.fifo.push(at(0), packet(0, 1000));
        let last = 1_000_000 + more;
        queue.catch_up(at(16 * last));
        let errors = 0.016 * updates * (updates + 1.0) / 2.0 - 0.015 * updates;
        let error = 0.016 * last as f64 - 0.015;
        let expected = 1e-11 * (errors + error) + 1e-6 * 0.016 * (updates + 1.0);
        assert!((queue.base - expected).abs() < 2e-9, "{}", queue.base);
    }
}

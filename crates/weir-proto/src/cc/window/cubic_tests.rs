//! CUBIC against windows worked by hand from RFC 9438.

use super::*;
use crate::cc::{Rtt, window::WindowConfig};

const MDS: u64 = 1000;

fn cubic() -> Cubic {
    Cubic::new(&WindowConfig {
        max_datagram_size: MDS,
        ..WindowConfig::default()
    })
}

fn acked(at_ms: u64, rtt_ms: u64) -> Acked {
    Acked {
        now: Instant::ZERO + Duration::from_millis(at_ms),
        sent_at: Instant::ZERO,
        bytes: MDS,
        bytes_in_flight: 10 * MDS,
        rtt: Rtt {
            smoothed: Duration::from_millis(rtt_ms),
            ..Rtt::default()
        },
        app_limited: false,
    }
}

#[test]
fn the_target_is_at_most_one_and_a_half_windows() {
    // RFC 9438 §4.2, MAX_TARGET: 40 s after a reduction from 20 to 14 packets W_cubic is beyond
    // 1.5·14, so that one packet of 14 acknowledged adds (21 - 14)/14 = 0.5 packets.
    let mut cubic = cubic();
    let cwnd = cubic.on_congestion_event(Instant::ZERO, 20 * MDS);
    let first = cubic.on_ack(cwnd, &acked(0, 100));
    // 14 + 0.529 412/14 = 14.037 815.
    assert_eq!(first, 14_037);
    let second = cubic.on_ack(first, &acked(40_000, 100));
    // 14.037 + 0.5.
    assert_eq!(second, 14_537);
}

#[test]
fn the_target_is_never_below_the_window() {
    // RFC 9438 §4.2: with W_max = 100 and K = 4.217 s, W_cubic(2.1 s) = 96.2 is below a window
    // of 99, which stays (W_est does not reach it).
    let mut cubic = cubic();
    cubic.on_congestion_event(Instant::ZERO, 100 * MDS);
    cubic.on_ack(70 * MDS, &acked(0, 100));
    assert_eq!(cubic.on_ack(99 * MDS, &acked(2000, 100)), 99 * MDS);
}

#[test]
fn the_reno_estimate_grows_by_one_once_it_has_reached_the_prior_window() {
    // RFC 9438 §4.3: alpha = 3·0.3/1.7 = 0.529 412 while W_est < cwnd_prior = 10, then 1. A
    // window acknowledged at once adds alpha.
    let mut cubic = cubic();
    let cwnd = cubic.on_congestion_event(Instant::ZERO, 10 * MDS);
    let whole = |window: u64| Acked {
        bytes: window,
        ..acked(0, 1)
    };
    assert_eq!(cubic.on_ack(cwnd, &whole(cwnd)), 7529);
    let mut estimate = 7.0 + 0.529_412;
    while estimate < 10.0 {
        estimate += 0.529_412;
        cubic.on_ack(7529, &whole(7529));
    }
    let before = cubic.epoch.expect("an epoch").w_est;
    assert!((before - estimate).abs() < 1e-4, "{before}");
    cubic.on_ack(7529, &whole(7529));
    let after = cubic.epoch.expect("an epoch").w_est;
    assert!((after - before - 1.0).abs() < 1e-12, "{after}");
}

#[test]
fn the_constant_alpha_of_linux_is_that_of_the_reduction() {
    // As above, and alpha = 0.529 412 beyond cwnd_prior = 10 too.
    let mut config = WindowConfig {
        max_datagram_size: MDS,
        ..WindowConfig::default()
    };
    config.rules.controller.cubic_alpha = CubicAlpha::Constant;
    let mut cubic = Cubic::new(&config);
    let cwnd = cubic.on_congestion_event(Instant::ZERO, 10 * MDS);
    let whole = |window: u64| Acked {
        bytes: window,
        ..acked(0, 1)
    };
    cubic.on_ack(cwnd, &whole(cwnd));
    for _ in 1..10 {
        cubic.on_ack(7529, &whole(7529));
    }
    let found = cubic.epoch.expect("an epoch").w_est;
    // 7 + 10 · 0.529 412.
    assert!((found - 12.294_118).abs() < 1e-5, "{found}");
}

#[test]
fn a_reduction_leaves_whole_packets_where_the_rule_says_so() {
    // 0.7 · 10 packets are 7, though the product lacks a little; 0.7 · 12 are 8.4, and of a window
    // of 12.9 packets 12 count. Linux: cwnd · 717 >> 10, and cwnd >> 1 for Reno, 7 of 15.9.
    use crate::cc::CongestionEvent;
    use crate::cc::window::named;
    let window_after = |controller: &str, octets: u64, whole_packets: bool| {
        let mut config = WindowConfig {
            max_datagram_size: 1460,
            initial_window: Some(octets),
            ..WindowConfig::default()
        };
        config.rules.controller.whole_packets = whole_packets;
        let mut made = named(controller, &config).expect("a controller");
        made.on_congestion_event(&CongestionEvent {
            now: Instant::ZERO + Duration::from_secs(1),
            sent_at: Instant::ZERO + Duration::from_millis(900),
            lost_bytes: 1460,
            bytes_in_flight: octets - 1460,
            flight_size: None,
            ecn: false,
        });
        made.window()
    };
    for (controller, octets, whole, fractions) in [
        ("cubic", 14_600, 7 * 1460, 10_220),
        ("cubic", 17_520, 8 * 1460, 12_264),
        ("cubic", 18_834, 8 * 1460, 13_183),
        ("newreno", 23_214, 7 * 1460, 11_607),
    ] {
        let found = [true, false].map(|rule| window_after(controller, octets, rule));
        assert_eq!(found, [whole, fractions], "{controller} {octets}");
    }
}

#[test]
fn without_a_reduction_the_plateau_is_the_first_window() {
    // RFC 9438 §4.10: K = 0 and W_max = cwnd. At t = 1.9 s and an RTT of 100 ms the target is
    // 50 + 0.4·2³ = 53.2: one packet of 50 adds 3.2/50 = 0.064.
    let mut cubic = cubic();
    let first = cubic.on_ack(50 * MDS, &acked(0, 100));
    // W_est: 50 + 1/50, because there is no prior window.
    assert_eq!(first, 50_020);
    let second = cubic.on_ack(50 * MDS, &acked(1900, 100));
    assert_eq!(second, 50_064);
}

#[test]
fn follows_the_curve_of_hand_computed_values() {
    // RFC 9438 §4.2 with C of §5.1.
    let mut cubic = cubic();
    // 100 packets reduced to 70: W_max - cwnd = 30, K = cbrt(30 / 0.4) = cbrt(75).
    assert_eq!(
        cubic.on_congestion_event(Instant::ZERO, 100 * MDS),
        70 * MDS
    );
    let k = cubic.time_to_w_max(70.0);
    assert!((k - 4.217_163_326_508_746).abs() < 1e-12, "{k}");
    // W_cubic(0) is the reduced window, W_cubic(K) is W_max, and W_cubic(K + 1 s) is C more.
    assert!((cubic.w_cubic(0.0, k) - 70.0).abs() < 1e-9);
    assert!((cubic.w_cubic(k, k) - 100.0).abs() < 1e-9);
    assert!((cubic.w_cubic(k + 1.0, k) - 100.4).abs() < 1e-9);
    // W_cubic(2) = 0.4 (2 - 4.217163)^3 + 100 = 95.640336
    assert!((cubic.w_cubic(2.0, k) - 95.640_335_7).abs() < 1e-6);
}

#[test]
fn reduces_to_seven_tenths_and_converges_fast_below_the_w_maximum() {
    // RFC 9438 §4.6, BETA, and §4.7.
    let mut cubic = cubic();
    assert_eq!(cubic.on_congestion_event(Instant::ZERO, 100_000), 70_000);
    assert_eq!(cubic.w_max, 100.0);
    assert_eq!(cubic.on_congestion_event(Instant::ZERO, 80_000), 56_000);
    // 80 * (1 + 0.7) / 2
    assert!((cubic.w_max - 68.0).abs() < 1e-9);
    // The same window is not below W_max.
    cubic.w_max = 80.0;
    cubic.on_congestion_event(Instant::ZERO, 80_000);
    assert_eq!(cubic.w_max, 80.0);
    cubic.config.fast_convergence = false;
    cubic.on_congestion_event(Instant::ZERO, 60_000);
    assert_eq!(cubic.w_max, 60.0);
}

#[test]
fn the_estimate_of_rapid_start_sets_both_windows() {
    // draft-kazuho-ccwg-rapid-start §3.3.3: W_max is twice the estimate with fast convergence.
    for (fast_convergence, w_max) in [(true, 40.0), (false, 20.0)] {
        let mut cubic = cubic();
        cubic.config.fast_convergence = fast_convergence;
        cubic.on_congestion_event(Instant::ZERO, 50 * MDS);
        cubic.on_full_bdp(20_000.0);
        assert_eq!((cubic.w_max, cubic.cwnd_prior), (w_max, 20.0));
    }
}

#[test]
fn a_short_round_trip_keeps_it_in_the_reno_friendly_region() {
    let mut cubic = cubic();
    let reduced = cubic.on_congestion_event(Instant::ZERO, 100 * MDS);
    // At an RTT of 1 ms the curve has hardly moved while W_est grows by alpha = 3 * 0.3 / 1.7 =
    // 0.529412 packets for each window acknowledged.
    let mut cwnd = reduced;
    for _ in 0..70 {
        cwnd = cubic.on_ack(cwnd, &acked(1, 1));
    }
    let grown = cwnd as f64 / MDS as f64 - 70.0;
    assert!((grown - 0.529).abs() < 0.01, "{grown}");
}

#[test]
fn a_long_round_trip_follows_the_curve() {
    let mut cubic = cubic();
    let cwnd = cubic.on_congestion_event(Instant::ZERO, 100 * MDS);
    // At t = 0 the curve is not above W_est = 70 + 0.529412 / 70.
    let first = cubic.on_ack(cwnd, &acked(0, 100));
    assert_eq!(first, 70_007);
    // At t = 1 s it is, and the target is W_cubic(1.1 s) = 87.8846: one packet of 70
    // acknowledged moves the window by (87.8846 - 70.007) / 70.007 = 0.2554 packets.
    let second = cubic.on_ack(first, &acked(1000, 100));
    assert_eq!(second, 70_262);
}

/// Packets from one loss to the next, and the mean window that RFC 9438 §5.1 gives for them at
/// a round-trip time of 100 ms: (0.4·3.7/1.2)^(1/4)·(0.1·10 000)^(3/4) = 1.053 83·177.828.
const PERIOD: u32 = 10_000;
const LAW: f64 = 187.400;

/// The mean windows of `cycles` cycles in shares of the law. Each loses one packet after
/// `PERIOD` acknowledgements; before the first the window was `w_max` in shares of the law's. A
/// round trip of the window passes at once with its last acknowledgement: there is no recovery.
fn cycles_under_periodic_loss(fast_convergence: bool, w_max: f64, cycles: usize) -> Vec<f64> {
    let mut config = WindowConfig {
        max_datagram_size: MDS,
        ..WindowConfig::default()
    };
    config.constants.cubic.fast_convergence = fast_convergence;
    let mut cubic = Cubic::new(&config);
    // A cycle begins at 0.7 W_max and ends at W_max; its mean is (1 - 0.3/4) W_max.
    let mut cwnd = (w_max * LAW / 0.925 * MDS as f64) as u64;
    let mut now = Instant::ZERO;
    let cycle = |_| {
        cwnd = cubic.on_congestion_event(now, cwnd);
        let start = now;
        for _ in 0..PERIOD {
            let windows = MDS as f64 / cwnd as f64;
            now += Duration::from_millis(100).mul_f64(windows);
            let acked = Acked {
                now,
                ..acked(0, 100)
            };
            cwnd = cubic.on_ack(cwnd, &acked);
        }
        f64::from(PERIOD) * 0.1 / now.since(start).as_secs_f64() / LAW
    };
    (0..cycles).map(cycle).collect()
}

#[test]
fn under_periodic_loss_the_law_holds_at_its_own_window() {
    // W_cubic(K) = W_max: a cycle that lasts K ends at the window at which it began.
    for mean in cycles_under_periodic_loss(false, 1.0, 60) {
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
    }
}

#[test]
fn under_periodic_loss_the_window_comes_to_the_law_as_slowly_as_one_over_root_n() {
    // A window that is too large by the share d has a cycle shorter than K by (4/3) d K, so
    // that the next one is smaller by 0.4 ((4/3) d K)^3 = 0.3 W_max ((4/3) d)^3: d falls with
    // d^3.
    for w_max in [4.0, 0.5] {
        let far = cycles_under_periodic_loss(false, w_max, 160);
        let distance = |n: usize| (far[n] - 1.0).abs();
        assert!((0.07..0.13).contains(&distance(80)), "{}", distance(80));
        let ratio = distance(40) / distance(159);
        // Four times as many cycles halve the distance; after forty cycles not yet exactly.
        assert!((1.6..2.6).contains(&ratio), "{ratio}");
    }
}

#[test]
fn under_periodic_loss_fast_convergence_stays_below_the_law() {
    // §4.7: any loss below the last W_max takes 15 % from it, and from below the window grows by
    // its distance cubed. The section recommends to disable it for a single flow.
    for w_max in [4.0, 1.0] {
        let cycles = cycles_under_periodic_loss(true, w_max, 100);
        let mean = cycles[20..].iter().sum::<f64>() / 80.0;
        assert!((0.9..0.96).contains(&mean), "{mean}");
    }
}

#[test]
fn time_without_data_does_not_move_the_curve() {
    let run = |idle: bool| {
        let mut cubic = cubic();
        let mut cwnd = cubic.on_congestion_event(Instant::ZERO, 100 * MDS);
        cwnd = cubic.on_ack(cwnd, &acked(0, 100));
        let offset = if idle {
            cubic.on_app_limited(Instant::ZERO + Duration::from_secs(3));
            3000
        } else {
            0
        };
        cubic.on_ack(cwnd, &acked(offset + 100, 100))
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn before_the_first_reduction_and_after_a_timeout_no_window_is_known() {
    // RFC 9438 §4.8: the next epoch starts at its own window. Half a packet is below every W_max
    // and cwnd_prior, so that a value left over would have an effect.
    let half = MDS / 2;
    let mut used = cubic();
    used.on_congestion_event(Instant::ZERO, 100 * MDS);
    used.on_ack(70 * MDS + 1, &acked(0, 100));
    assert!(used.fraction > 0.0);
    used.reset();
    for policy in [cubic(), used] {
        // §4.7: no fast convergence, because no window was higher.
        let mut reduced = policy.clone();
        assert_eq!(reduced.on_congestion_event(Instant::ZERO, half), 350);
        assert_eq!(reduced.w_max, 0.5);
        // §4.3: alpha = 1, because W_est is not below cwnd_prior: a window acknowledged adds one.
        let mut grown = policy;
        let whole = Acked {
            bytes: half,
            ..acked(0, 100)
        };
        assert_eq!(grown.on_ack(half, &whole), half + MDS);
        assert_eq!(grown.fraction, 0.0);
    }
}

#[test]
fn the_reno_estimate_grows_by_one_from_the_prior_window_itself() {
    // RFC 9438 §4.3: alpha = 1 once W_est has reached cwnd_prior, so also where they are equal.
    let mut cubic = cubic();
    cubic.on_congestion_event(Instant::ZERO, 10 * MDS);
    let whole = Acked {
        bytes: 10 * MDS,
        ..acked(0, 1)
    };
    assert_eq!(cubic.on_ack(10 * MDS, &whole), 11 * MDS);
}

#[test]
fn where_the_curve_meets_the_reno_estimate_the_curve_counts() {
    // RFC 9438 §4.3: Reno-friendly only if W_cubic(t) < W_est. With C = 0.5 and K = 0,
    // W_cubic(2 s) = 10 + 0.5·2³ = 14; four windows of ten packets add four to W_est, which is 14
    // too. §4.2: the target of an RTT later, 10 + 0.5·3³ = 23.5, is bounded by 15, and ten packets
    // of ten acknowledged go all the way to it.
    let mut cubic = cubic();
    cubic.config.c = 0.5;
    let whole = |at_ms| Acked {
        bytes: 10 * MDS,
        ..acked(at_ms, 1000)
    };
    for _ in 0..3 {
        cubic.on_ack(10 * MDS, &whole(0));
    }
    assert_eq!(cubic.on_ack(10 * MDS, &whole(2000)), 15 * MDS);
}

#[test]
fn a_flight_allows_one_and_a_half_of_it_and_at_least_a_packet_more() {
    // draft-ietf-ccwg-ratelimited-increase §3: for CUBIC limit() has the factor 1.5 of RFC 9438
    // §4.2.
    for (flight, limit) in [(10_000, 15_000), (2000, 3000), (1000, 2000), (0, 1000)] {
        assert_eq!(cubic().limit(flight, MDS), limit, "{flight}");
    }
}

#[test]
fn another_datagram_size_leaves_the_curve_in_octets_where_it_is() {
    // 100 packets of 1000 octets reduced to 70, of which one is acknowledged: W_est = 70 +
    // 0.529 412/70 = 70.007 563. In packets of 2000 octets all windows are half of that, and
    // K = cbrt(15 / 0.4) = 3.347 165 s (RFC 9438 figure 2).
    let mut cubic = cubic();
    cubic.on_congestion_event(Instant::ZERO, 100 * MDS);
    cubic.on_ack(70 * MDS, &acked(0, 100));
    cubic.set_max_datagram_size(2 * MDS);
    let epoch = cubic.epoch.expect("an epoch");
    let found = [cubic.w_max, cubic.cwnd_prior, epoch.w_est, epoch.k];
    for (value, expected) in found.into_iter().zip([50.0, 50.0, 35.003_782, 3.347_165]) {
        assert!((value - expected).abs() < 1e-6, "{value} {expected}");
    }
    assert_eq!(cubic.max_datagram_size, 2000.0);
}

#[test]
fn before_its_first_reduction_cubic_of_linux_grows_by_a_packet_for_twenty() {
    // Without a reduction W_cubic starts at the plateau and is 0.4 · 0.04³ packets more a round
    // trip of 40 ms later; W_est grows by 0.529 412/76 for each packet. A twentieth is 50 octets.
    let mut config = WindowConfig {
        max_datagram_size: MDS,
        ..WindowConfig::default()
    };
    config.rules.controller.cubic_alpha = CubicAlpha::Constant;
    for (initial_growth, grown) in [(true, 50), (false, 6)] {
        config.rules.controller.cubic_initial_growth = initial_growth;
        let mut cubic = Cubic::new(&config);
        assert_eq!(cubic.on_ack(76 * MDS, &acked(0, 40)), 76 * MDS + grown);
        // After a reduction only the curves count: 0.529 412/53 packets.
        let cwnd = cubic.on_congestion_event(Instant::ZERO, 76 * MDS);
        assert_eq!(cwnd, 53_200);
        assert_eq!(
            cubic.on_ack(cwnd, &acked(0, 40)),
            53_209,
            "{initial_growth}"
        );
    }
}

//! Groups of packets, the trend of the delay and the detector.

use super::super::groups::Variation;
use super::*;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Gives packets that were sent and arrived at these times, and returns the last variation.
fn grouped(packets: &[(u64, u64)]) -> Option<Variation> {
    let mut groups = Groups::default();
    let config = GccConfig::default();
    let mut last = None;
    for (sent, arrival) in packets {
        last = groups.on_packet(&config, at(*sent), ms(*arrival));
    }
    last
}

#[test]
fn the_variation_is_that_of_the_last_packets_of_two_groups() {
    // d = (60 - 25) - (38 - 5) = 2 ms.
    let packets = [(0, 20), (5, 25), (33, 55), (38, 60), (66, 90)];
    let variation = grouped(&packets).expect("two groups and the begin of a third");
    assert_eq!((variation.arrival, variation.sent), (ms(60), ms(33)));
    assert!(close(variation.delay_ms, 2.0), "{variation:?}");
    assert_eq!(grouped(&packets[..4]), None);
}

#[test]
fn what_is_sent_within_burst_time_or_arrives_in_a_burst_is_one_group() {
    // Sent 5 ms after the first: the same group; 6 ms: the next.
    let next = |sent: u64, arrival| grouped(&[(0, 20), (30, 50), (30 + sent, arrival), (90, 110)]);
    assert_eq!(next(5, 55).expect("a group").arrival, ms(55));
    assert_eq!(next(6, 56).expect("a group").arrival, ms(56));
    let three = |packets: &[(u64, u64)]| grouped(packets).is_some();
    assert!(!three(&[(0, 20), (30, 50), (35, 55)]));
    assert!(three(&[(0, 20), (30, 50), (36, 56)]));
    // Sent 10 ms later, it arrived 4 ms later: a burst; 5 ms later: none.
    assert!(!three(&[(0, 20), (30, 50), (40, 54)]));
    assert!(three(&[(0, 20), (30, 50), (40, 55)]));
    // Its delay must fall: sent and arrived 4.9 ms later is within burst_time in any case, so the
    // group is 6 ms long here and the packet arrives as late as it was sent.
    assert!(three(&[(0, 20), (30, 50), (34, 54), (38, 58)]));
    // A burst lasts for less than 100 ms: arrivals at 50, 54, … 146 are merged, that at 150 not.
    let burst = |packets: u64| {
        let burst = (0..packets).map(|k| (30 + 10 * k, 50 + 4 * k));
        let packets: Vec<_> = [(0, 20)].into_iter().chain(burst).collect();
        three(&packets)
    };
    assert!(!burst(25));
    assert!(burst(26));
}

#[test]
fn packets_out_of_order_are_ignored() {
    // The third is older than the second, and the fourth arrived before it.
    let packets = [(0, 20), (30, 50), (20, 51), (60, 49), (60, 80)];
    let variation = grouped(&packets).expect("two groups");
    assert!(close(variation.delay_ms, 0.0), "{variation:?}");
}

/// A group that is sent `sent` ms after the last and arrives at `arrival`, its delay grown by
/// `delay_ms`.
fn group(arrival: u64, sent: u64, delay_ms: f64) -> Variation {
    Variation {
        arrival: ms(arrival),
        sent: ms(sent),
        delay_ms,
    }
}

#[test]
fn the_trend_is_the_slope_of_the_smoothed_delay() {
    let config = GccConfig {
        trendline_window: 3,
        ..GccConfig::default()
    };
    let mut trendline = Trendline::new(&config);
    for k in 1..=3 {
        trendline.on_group(&config, &group(10 * k, 10, 1.0));
    }
    // Smoothed: 0.1, 0.9 · 0.1 + 0.1 · 2 = 0.29, 0.9 · 0.29 + 0.1 · 3 = 0.561; at equal distances
    // of 10 ms the slope is (0.561 - 0.1) / 20 = 0.02305. T = 3 · 0.02305 · 4 = 0.2766.
    assert!(close(trendline.trend(), 0.02305), "{}", trendline.trend());
    assert!(close(trendline.signal(), 0.2766), "{}", trendline.signal());
    assert!(close(trendline.delay_ms(), 3.0));
}

#[test]
fn the_regression_needs_twenty_groups_and_sixty_count_at_most() {
    let config = GccConfig::default();
    let mut trendline = Trendline::new(&config);
    for k in 1..=19 {
        trendline.on_group(&config, &group(10 * k, 10, 1.0));
    }
    assert_eq!(trendline.trend(), 0.0);
    for k in 20..=200 {
        trendline.on_group(&config, &group(10 * k, 10, 1.0));
        let counted = k.min(60) as f64;
        let signal = counted * trendline.trend() * 4.0;
        assert!(close(trendline.signal(), signal), "{k}");
    }
    // The smoothed delay follows at the same slope, 1 ms in 10 ms.
    assert!(
        (trendline.trend() - 0.1).abs() < 1e-3,
        "{}",
        trendline.trend()
    );
}

/// The trend is the last growth of the delay, in ms per ms of arrival; the threshold is constant.
fn plain() -> GccConfig {
    GccConfig {
        trendline_window: 2,
        smoothing: 0.0,
        k_u: 0.0,
        k_d: 0.0,
        ..GccConfig::default()
    }
}

/// The usage after each of the groups, which arrive in 10 ms each.
fn usages(growth: &[f64], sent: u64) -> Vec<Usage> {
    let config = plain();
    let mut trendline = Trendline::new(&config);
    let each = growth.iter().zip(1..).map(|(delay_ms, k)| {
        trendline.on_group(&config, &group(10 * k, sent, *delay_ms));
        trendline.usage()
    });
    each.collect()
}

#[test]
fn an_over_use_lasts_longer_than_ten_milliseconds_and_grows() {
    // The nth growth is n: trend 0.1 n, T = 0.4 n², which is above 12.5 from n = 6 on (14.4). The
    // sixth group counts for 5 ms, the seventh makes 15.
    let mut growth = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    let seen = usages(&growth, 10);
    assert_eq!(seen[..6], [Usage::Normal; 6]);
    assert_eq!(seen[6], Usage::Over);
    // A group counts for half of its distance at first: 10 ms are not more than 10 ms.
    assert_eq!(usages(&growth, 6)[6], Usage::Normal);
    assert_eq!(usages(&growth, 7)[6], Usage::Over);
    // One group is none, however long.
    assert_eq!(usages(&growth[..6], 30)[5], Usage::Normal);
    // T = 7 · 0.5 · 4 = 14 is above the threshold, but the trend falls.
    growth[6] = 5.0;
    assert_eq!(usages(&growth, 10)[6], Usage::Normal);
    let falling = [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0];
    let seen = usages(&falling, 10);
    assert_eq!(seen[4..], [Usage::Normal, Usage::Under]);
}

/// The threshold after a third group with this growth that arrives `gap` ms after the second.
fn adapted(initial_threshold: f64, growth: f64, gap: u64) -> f64 {
    let config = GccConfig {
        trendline_window: 2,
        smoothing: 0.0,
        threshold_gain: 1.0,
        initial_threshold,
        ..GccConfig::default()
    };
    let mut trendline = Trendline::new(&config);
    trendline.on_group(&config, &group(10, 10, 0.0));
    trendline.on_group(&config, &group(20, 10, 0.0));
    assert!(close(trendline.threshold(), initial_threshold));
    trendline.on_group(&config, &group(20 + gap, 10, growth));
    trendline.threshold()
}

#[test]
fn the_threshold_follows_the_signal() {
    // T = 3 · growth / gap. Upwards: T = 15, 12.5 + 10 · 0.0087 · 2.5.
    assert!(close(adapted(12.5, 50.0, 10), 12.7175));
    // Downwards: T = 0, 12.5 - 10 · 0.039 · 12.5.
    assert!(close(adapted(12.5, 0.0, 10), 7.625));
    assert!(close(adapted(7.0, 0.0, 10), 6.0), "the least");
    // T is 27 and 27.6: more than 15 above the threshold changes nothing.
    assert!(close(adapted(12.5, 90.0, 10), 12.5 + 0.087 * 14.5));
    assert!(close(adapted(12.5, 92.0, 10), 12.5));
    // At most 100 ms count: T = 15, 12.5 + 100 · 0.0087 · 2.5.
    assert!(close(adapted(12.5, 1000.0, 200), 14.675));
    // The greatest: T = 610.
    assert!(close(adapted(600.0, 6100.0 / 3.0, 10), 600.0));
    // A negative trend counts by its size.
    assert!(close(adapted(12.5, -50.0, 10), 12.7175));
}

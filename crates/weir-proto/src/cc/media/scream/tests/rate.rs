//! The target rate and the pacing.

use super::*;

const RTT: Duration = Duration::from_millis(100);

fn target(rate: &mut MediaRate, window: f64) -> f64 {
    let config = ScreamConfig {
        max_rate: 100_000_000,
        min_rate: 1,
        ..ScreamConfig::default()
    };
    rate.update(&config, window, RTT);
    rate.target()
}

#[test]
fn the_target_is_the_window_in_a_round_trip_with_margins() {
    let mut rate = MediaRate::new(&ScreamConfig::default());
    // 8 · 10000 / 0.1 is 800 kbit/s; headers: 1000 / 1020; the margin 1 / 1.2.
    assert!(close(target(&mut rate, 10_000.0), 800e3 / 1.02 / 1.2));
    // MSS / ref_wnd is 0.2: a tenth less.
    assert!(close(target(&mut rate, 5000.0), 400e3 / 1.02 / 1.2 * 0.9));
    // 1/3: 0.2 less at most, also below a packet.
    assert!(close(target(&mut rate, 3000.0), 240e3 / 1.02 / 1.2 * 0.8));
    assert!(close(target(&mut rate, 500.0), 40e3 / 1.02 / 1.2 * 0.8));
}

#[test]
fn the_target_stays_between_those_of_the_encoder() {
    let config = ScreamConfig::default();
    let mut rate = MediaRate::new(&config);
    assert!(close(rate.target(), 150e3));
    rate.update(&config, 1e6, RTT);
    assert!(close(rate.target(), 1.5e6));
    rate.update(&config, 1000.0, RTT);
    assert!(close(rate.target(), 150e3));
}

#[test]
fn media_that_wait_lower_the_target() {
    let config = ScreamConfig::default();
    let mut rate = MediaRate::new(&config);
    // The first frame: the period is 20 ms, a quarter is 5. 45 ms are 40 / 20 above it: 2 / 16.
    rate.on_frame(&config, at(0), [0.0, 0.045]);
    let with = |margin: f64| 800e3 / 1.02 / margin;
    assert!(close(target(&mut rate, 10_000.0), with(1.325)));
    // 1 s: half at most; and then none at the least, a fourth of a period below zero each.
    rate.on_frame(&config, at(20), [0.0, 1.0]);
    assert!(close(target(&mut rate, 10_000.0), with(1.7)));
    rate.on_frame(&config, at(40), [0.0, 0.0]);
    assert!(close(target(&mut rate, 10_000.0), with(1.7 - 0.25 / 16.0)));
    (3..60).for_each(|k| rate.on_frame(&config, at(20 * k), [0.0, 0.0]));
    assert!(close(target(&mut rate, 10_000.0), with(1.2)));
}

#[test]
fn large_frames_lower_the_target() {
    let config = ScreamConfig::default();
    let mut rate = MediaRate::new(&config);
    // 150 kbit/s · 20 ms are 375 octets. 975 are 1.6 times more: 1.6 / 64 = 0.025.
    rate.on_frame(&config, at(0), [975.0, 0.005]);
    let with = |margin: f64| 800e3 / 1.02 / margin;
    assert!(close(target(&mut rate, 10_000.0), with(1.225)));
    let mut rate = MediaRate::new(&config);
    // At most 0.2; smaller frames count as none: 0.2 · 63 / 64.
    rate.on_frame(&config, at(0), [1e6, 0.005]);
    rate.on_frame(&config, at(20), [1.0, 0.005]);
    assert!(close(
        target(&mut rate, 10_000.0),
        with(1.2 + 0.2 * 63.0 / 64.0)
    ));
}

#[test]
fn the_frame_period_follows_the_frames_and_no_pause() {
    let config = ScreamConfig::default();
    let mut rate = MediaRate::new(&config);
    rate.on_frame(&config, at(0), [0.0, 0.0]);
    // 20 + (100 - 20) / 8 = 30 ms; a wait of 67.5 ms is two periods above a quarter: 2 / 16.
    rate.on_frame(&config, at(100), [0.0, 0.0675]);
    assert!(close(target(&mut rate, 10_000.0), 800e3 / 1.02 / 1.325));
    // A pause of more than 200 ms leaves it: 37.5 ms are a period above a quarter.
    rate.on_frame(&config, at(301), [0.0, 0.0375]);
    assert!(close(target(&mut rate, 10_000.0), 800e3 / 1.02 / 1.3875));
}

#[test]
fn packets_are_paced_above_the_target_and_freely_at_the_greatest_rate() {
    let config = ScreamConfig {
        min_rate: 1,
        max_rate: 1_000_000,
        ..ScreamConfig::default()
    };
    let paced = |target: f64| {
        let mut rate = MediaRate::new(&config);
        // The window for this target: MSS / ref_wnd is below 0.1 from 654 kbit/s on.
        rate.update(&config, target / 80.0 * 1.02 * 1.2, RTT);
        rate.pacing(&config)
    };
    assert!(close(paced(700e3), 1.05e6));
    assert!(close(paced(800e3), 1.2e6));
    // Half way from 0.8 to 1: twice as much; at 0.95 and above four times.
    assert!(close(paced(900e3), 2.7e6));
    assert!(close(paced(950e3), 5.7e6));
    assert!(close(paced(1e6), 6e6));
    // RATE_PACE_MIN.
    let rate = MediaRate::new(&config);
    assert!(close(rate.pacing(&config), 75e3));
}

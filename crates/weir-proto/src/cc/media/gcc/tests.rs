use super::trendline::Usage;
use super::*;
use crate::cc::media::feedback_deadline;
use crate::cc::media::fixture::{at, close, packet_of};

mod delay;
mod rates;

/// The values of draft-ietf-rmcat-gcc-02 §5.4 to §6, and those of libwebrtc that the head of
/// `config.rs` names.
#[test]
fn the_constants_are_those_of_the_draft_and_of_libwebrtc() {
    let ms = Duration::from_millis;
    let expected = GccConfig {
        min_rate: 150_000,
        max_rate: 1_500_000,
        start_rate: 300_000,
        burst_time: ms(5),
        max_burst: ms(100),
        trendline_window: 20,
        smoothing: 0.9,
        threshold_gain: 4.0,
        max_deltas: 60,
        initial_threshold: 12.5,
        k_u: 0.0087,
        k_d: 0.039,
        overuse_time: ms(10),
        rate_window: ms(500),
        beta: 0.85,
        eta: 1.08,
        additive_packets: 0.5,
        received_bound: 1.5,
        low_loss: 0.02,
        high_loss: 0.1,
        loss_growth: 1.08,
        loss_increase_interval: ms(1000),
        loss_decrease_interval: ms(300),
        loss_packets: 20,
        pacing: 2.5,
        feedback_timeout: ms(500),
    };
    assert_eq!(GccConfig::default(), expected);
}

/// A packet of 1250 octets; `delay` is `None` if it was lost.
fn packet(sequence: u64, sent: u64, delay: Option<u64>) -> PacketReport {
    packet_of(1250, sequence, sent, delay)
}

/// Reports `packets` at this time, with a round trip of 100 ms.
fn report(gcc: &mut Gcc, now: u64, packets: &[PacketReport]) {
    gcc.on_report(&Report {
        now: at(now),
        made_at: Duration::from_millis(now - 50),
        rtt: Some(Duration::from_millis(100)),
        packets,
    });
}

/// Ten packets, one in 10 ms, sent from this time on.
fn tenth(sent: u64, delay: impl Fn(u64) -> Option<u64>) -> Vec<PacketReport> {
    let packets = (0..10).map(|k| packet(sent / 10 + k, sent + 10 * k, delay(sent / 10 + k)));
    packets.collect()
}

#[test]
fn the_received_rate_is_that_of_the_last_half_second() {
    let mut gcc = Gcc::new(GccConfig::default());
    // 10 packets of 1250 octets are 100 kbit; in 0.5 s that is 200 kbit/s.
    report(&mut gcc, 200, &tenth(0, |_| Some(20)));
    assert_eq!(gcc.received, Some(200e3));
    // The report at 750 was made at 700; the window begins after 200 and contains none of the
    // first ten, which arrived from 20 to 110.
    report(&mut gcc, 750, &[packet(10, 600, Some(20))]);
    assert_eq!(gcc.received, Some(20e3));
    let state = gcc.state(0, 1250);
    assert_eq!(state.receive_rate, Rate::from_bps(20e3));
}

#[test]
fn packets_leave_at_two_and_a_half_times_the_target() {
    let gcc = Gcc::new(GccConfig::default());
    assert_eq!(gcc.target_rate(0), Rate::from_bps(300e3));
    assert_eq!(gcc.send_rate(0), Rate::from_bps(750e3));
    assert!(gcc.may_send(u32::MAX));
    let state = gcc.state(77, 1250);
    assert_eq!((state.state, state.limit), ("no_feedback_yet", Limit::None));
    assert_eq!(state.media.expect("media").buffered_bytes, 77);
}

#[test]
fn without_congestion_the_rate_grows_by_eight_percent_a_second() {
    let mut gcc = Gcc::new(GccConfig::default());
    for k in 0..=10 {
        report(&mut gcc, 200 + 100 * k, &tenth(100 * k, |_| Some(20)));
    }
    // 1 s after the first report, which only sets the time: 300 · 1.08.
    assert!(close(gcc.rate(), 324e3), "{}", gcc.rate());
    assert_eq!(gcc.limit, Limit::MultiplicativeIncrease);
    assert_eq!(gcc.state(0, 1250).state, "increase");
}

/// A delay-based estimate that doubles each second takes the loss-based one with it for two
/// seconds (libwebrtc's `kStartPhase`), and not if a packet was lost.
#[test]
fn the_loss_based_estimate_follows_the_other_for_two_seconds() {
    let estimates_after = |reports: u64, lost: Option<u64>| {
        let mut gcc = Gcc::new(GccConfig {
            eta: 2.0,
            max_rate: 100_000_000,
            received_bound: 100.0,
            ..GccConfig::default()
        });
        for k in 0..=reports {
            let delay = |number| (Some(number) != lost).then_some(20);
            report(&mut gcc, 200 + 100 * k, &tenth(100 * k, delay));
        }
        (gcc.losses.rate(), gcc.aimd.rate())
    };
    // The first report is at 200 ms, the 19th after it at 2100 ms.
    let (losses, delay) = estimates_after(19, None);
    assert!(close(losses, delay), "{losses} {delay}");
    let (losses, delay) = estimates_after(20, None);
    assert!(losses < 0.99 * delay, "{losses} {delay}");
    let (losses, delay) = estimates_after(19, Some(42));
    assert!(losses < 0.9 * delay, "{losses} {delay}");
}

#[test]
fn a_growing_delay_reduces_the_rate_to_a_part_of_what_arrives() {
    let mut gcc = Gcc::new(GccConfig::default());
    // From the 100th packet on the delay grows by 4 ms a packet; 1 Mbit/s arrives less and less.
    let delay = |k: u64| Some(20 + k.saturating_sub(100) * 4);
    let mut reduced = None;
    for k in 0..30 {
        let before = gcc.rate();
        report(&mut gcc, 200 + 100 * k, &tenth(100 * k, delay));
        if gcc.limit == Limit::DelayReduction {
            reduced = Some((before, gcc.rate(), gcc.received.expect("a rate")));
            break;
        }
    }
    let (before, after, received) = reduced.expect("an over-use");
    assert!(
        close(after, (0.85 * received).min(before)),
        "{after} {received}"
    );
    assert_eq!(gcc.state(0, 1250).state, "decrease");
    let media = gcc.state(0, 1250).media.expect("media");
    assert!(media.congestion_signal > Duration::from_millis(6));
    assert!(media.queue_delay > Duration::from_millis(20));
}

#[test]
fn losses_bind_the_rate_and_are_counted_once_a_round_trip() {
    let mut gcc = Gcc::new(GccConfig::default());
    // 10 of 20 packets are lost: 300 · (1 - 0.25) kbit/s.
    report(&mut gcc, 150, &tenth(0, |k| (k % 2 == 0).then_some(20)));
    report(&mut gcc, 250, &tenth(100, |k| (k % 2 == 0).then_some(20)));
    assert!(close(gcc.rate(), 225e3), "{}", gcc.rate());
    assert_eq!(gcc.limit, Limit::LossReduction);
    assert!(close(gcc.state(0, 1250).loss_event_rate, 0.5));
    // Sent at 10 and, more than 100 ms later, at 130.
    assert_eq!(gcc.loss_events(), 2);
    assert_eq!(gcc.smoothed_rtt(), Duration::from_millis(100));
}

#[test]
fn missing_feedback_halves_both_estimates() {
    let mut gcc = Gcc::new(GccConfig {
        min_rate: 100_000,
        ..GccConfig::default()
    });
    assert_eq!(feedback_deadline(&gcc, at(7)), at(507));
    gcc.on_feedback_timeout();
    assert!(close(gcc.rate(), 150e3));
    assert_eq!(gcc.limit, Limit::NofeedbackHalving);
    gcc.on_feedback_timeout();
    assert!(close(gcc.rate(), 100e3));
    assert_eq!(gcc.limit, Limit::MinimumMediaRate);
    gcc.rtt.on_sample(at(0), Duration::from_millis(400));
    assert_eq!(feedback_deadline(&gcc, at(7)), at(807));
}

#[test]
fn the_rate_stays_between_those_of_the_encoder() {
    let mut gcc = Gcc::new(GccConfig {
        start_rate: 9_000_000,
        ..GccConfig::default()
    });
    assert!(close(gcc.rate(), 1.5e6));
    for k in 0..12 {
        let many: Vec<_> = (0..100)
            .map(|n| packet(100 * k + n, 100 * k + n, Some(20)))
            .collect();
        report(&mut gcc, 200 + 100 * k, &many);
    }
    assert!(close(gcc.rate(), 1.5e6));
    assert_eq!(gcc.limit, Limit::MaximumMediaRate);
}

#[test]
fn after_two_seconds_of_silence_the_filters_begin_again() {
    for (silence, delay) in [(2000, 30.0), (2001, 0.0)] {
        let mut gcc = Gcc::new(GccConfig::default());
        // Three groups of one packet; the third ends the second, which came 30 ms late.
        let packets =
            [(0, 20), (10, 50), (70, 50)].map(|(sent, delay)| packet(sent / 10, sent, Some(delay)));
        report(&mut gcc, 200, &packets);
        assert!(
            close(gcc.trendline.delay_ms(), 30.0),
            "{}",
            gcc.trendline.delay_ms()
        );
        report(&mut gcc, 200 + silence, &[]);
        assert!(close(gcc.trendline.delay_ms(), delay), "{silence}");
    }
}

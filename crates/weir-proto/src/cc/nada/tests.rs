use super::*;
use crate::cc::media::control::{PacketOutcome, feedback_deadline};

mod bounds;
mod losses;

const DELTA: Duration = Duration::from_millis(100);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn nada() -> Nada {
    Nada::new(NadaConfig::default(), DELTA)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * b.abs().max(1e-9)
}

/// A packet of `bytes`, sent at this time and received `delay` milliseconds later.
fn received(sequence: u64, sent: u64, delay: u64, bytes: u32) -> PacketReport {
    PacketReport {
        sequence,
        sent: at(sent),
        bytes,
        outcome: PacketOutcome::Received {
            at: Some(Duration::from_millis(sent + delay)),
            marked: false,
        },
    }
}

fn lost(sequence: u64, sent: u64) -> PacketReport {
    PacketReport {
        outcome: PacketOutcome::Lost,
        ..received(sequence, sent, 0, 1000)
    }
}

/// A report at `now` on these packets, made 10 ms before; the round-trip time is 20 ms.
fn report(nada: &mut Nada, now: u64, packets: &[PacketReport]) {
    nada.on_report(&Report {
        now: at(now),
        made_at: Duration::from_millis(now - 10),
        rtt: Some(Duration::from_millis(20)),
        packets,
    });
}

#[test]
fn the_parameters_are_those_of_table_2() {
    let config = NadaConfig::default();
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    // RFC 8698 §4.1, table 2: PRIO, RMIN, RMAX, XREF, KAPPA, ETA, TAU, LOGWIN, QEPS, DFILT,
    // GAMMA_MAX, QBOUND, MULTILOSS, QTH, LAMBDA, PLRREF, PMRREF, DLOSS, DMARK, FPS, BETA_S, BETA_V,
    // ALPHA, in its order.
    let table = [
        (config.priority, 1.0),
        (config.min_rate as f64, 150e3),
        (config.max_rate as f64, 1.5e6),
        (ms(config.reference_signal), 10.0),
        (config.kappa, 0.5),
        (config.eta, 2.0),
        (ms(config.tau), 500.0),
        (ms(config.observation_window), 500.0),
        (ms(config.queueing_threshold), 10.0),
        (ms(config.filter_delay), 120.0),
        (config.gamma_max, 0.5),
        (ms(config.ramp_up_queue), 50.0),
        (config.multiloss, 7.0),
        (ms(config.warping_threshold), 50.0),
        (config.lambda, 0.5),
        (config.reference_loss, 0.01),
        (config.reference_marking, 0.01),
        (ms(config.loss_penalty), 10.0),
        (ms(config.marking_penalty), 2.0),
        (config.reference_frame_rate, 30.0),
        (config.beta_s, 0.1),
        (config.beta_v, 0.1),
        (config.alpha, 0.1),
    ];
    for (row, (ours, published)) in table.into_iter().enumerate() {
        assert!(
            close(ours, published),
            "row {row}: {ours} is not {published}"
        );
    }
    // RFC 8698 §5.1.1, DELAY_FILTER_SAMPLES.
    assert_eq!(config.delay_filter, 15);
}

#[test]
fn queueing_delay_is_warped_from_qth_on() {
    // (1) by hand: 50 ms · exp(-0.5 · (d - 50 ms) / 50 ms).
    for (queue, warped) in [
        (0.049, 0.049),
        (0.050, 0.050),
        (0.150, 0.050 * 0.367_879_441_2),
        (0.450, 0.050 * 0.018_315_638_9),
    ] {
        let ours = nada().warp(queue);
        assert!(close(ours, warped), "{queue}: {ours}");
    }
}

#[test]
fn the_signal_adds_penalties_for_losses_and_marks() {
    // (2) by hand: 2 ms · (3 % / 1 %)² + 10 ms · (2 % / 1 %)² + 30 ms of queue.
    let mut nada = nada();
    nada.measured = Measured {
        queue_delay: Duration::from_millis(30),
        loss_ratio: 0.02,
        marking_ratio: 0.03,
        ..Measured::default()
    };
    assert!(close(nada.congestion_signal(), 0.018 + 0.040 + 0.030));
    nada.measured.loss_ratio = 1.0;
    assert!(close(nada.congestion_signal(), 0.5));
}

#[test]
fn delay_is_warped_only_behind_losses() {
    // RFC 8698 §4.2 and (1): 150 ms without a loss; 50 ms · exp(-1) within MULTILOSS = 7 average
    // loss intervals of 50 packets after one.
    let waiting = Measured {
        queue_delay: Duration::from_millis(150),
        ..Measured::default()
    };
    let mut nada = nada();
    nada.measured = waiting;
    assert!(close(nada.congestion_signal(), 0.150));
    let packet = |n| match n {
        50 => lost(n, 20 * n),
        _ => received(n, 20 * n, 10, 1000),
    };
    let packets: Vec<_> = (0..100).map(packet).collect();
    report(&mut nada, 2100, &packets);
    nada.measured = waiting;
    assert!(close(nada.congestion_signal(), 0.050 * 0.367_879_441_2));
}

#[test]
fn the_last_signal_is_that_of_the_last_report_also_while_the_rate_ramps_up() {
    // RFC 8698 §4.3: x_prev = x_curr at the end of each calculation.
    let mut nada = nada();
    nada.signal = 0.030;
    report(&mut nada, 120, &[received(0, 100, 10, 1000)]);
    assert_eq!(nada.limit, Limit::MinimumMediaRate);
    assert_eq!(nada.mode, Mode::AcceleratedRampUp);
    assert!(close(nada.signal, 0.0));
}

#[test]
fn target_and_sending_rate_have_factors_of_their_own() {
    // (11) to (14): 1000 octets · 8 · FPS 30 are 240 kbit/s, of which BETA_V takes 5 % and BETA_S
    // adds 10 %.
    let config = NadaConfig {
        beta_v: 0.05,
        ..NadaConfig::default()
    };
    let mut nada = Nada::new(config, DELTA);
    nada.reference_rate = 1_000_000.0;
    assert!(close(nada.target_rate(1000).as_bps(), 988_000.0));
    assert!(close(nada.send_rate(1000).as_bps(), 1_024_000.0));
}

#[test]
fn the_baseline_of_the_delay_holds_for_ten_minutes() {
    // RFC 8698 §5.1.1: "tens of minutes"; 30 ms are 20 ms more than the earlier minimum.
    for (seconds, queue_delay) in [(300, 20), (700, 0)] {
        let mut nada = nada();
        let first: Vec<_> = (0..20).map(|n| received(n, 20 * n, 10, 1000)).collect();
        report(&mut nada, 420, &first);
        let start = 1000 * seconds;
        let sent = |n| received(n, start + 20 * n, 30, 1000);
        let later: Vec<_> = (20..40).map(sent).collect();
        report(&mut nada, start + 900, &later);
        let expected = Duration::from_millis(queue_delay);
        assert_eq!(nada.measured.queue_delay, expected, "{seconds} s");
    }
}

#[test]
fn without_congestion_the_rate_ramps_up_from_what_arrives() {
    let mut nada = nada();
    assert!(close(nada.target_rate(0).as_bps(), 150e3));
    // 20 packets of 1000 octets in the window of 500 ms: 320 kbit/s.
    let packets: Vec<_> = (0..20).map(|n| received(n, 20 * n, 10, 1000)).collect();
    report(&mut nada, 420, &packets);
    // (3): 50 / (20 + 100 + 120) = 0.208333, less than GAMMA_MAX; (4): 1.208333 · 320 kbit/s.
    assert!(close(nada.reference_rate, 386_666.666_667));
    assert_eq!(nada.limit, Limit::AcceleratedRampUp);
    // The received rate does not lower the reference rate: ten packets in the window, 160 kbit/s.
    report(&mut nada, 720, &[received(20, 700, 10, 1000)]);
    assert!(close(nada.measured.receive_bytes_per_sec, 20_000.0));
    assert_eq!(nada.mode, Mode::AcceleratedRampUp);
    assert!(close(nada.reference_rate, 386_666.666_667));
}

#[test]
fn the_gradual_update_follows_the_signal_and_its_change() {
    let mut nada = nada();
    nada.reference_rate = 750_000.0;
    nada.signal = 0.020;
    // (5): 30 ms - 10 ms · 1500/750 = 10 ms; (6): 10 ms;
    // (7): 750 kbit/s · (1 - 0.5 · 0.1/0.5 · 0.01/0.5 - 0.5 · 2 · 0.01/0.5).
    nada.update_gradually(0.030, DELTA);
    assert!(close(nada.reference_rate, 750_000.0 * (1.0 - 0.002 - 0.02)));
    // In equilibrium the rate does not change: x_curr = XREF · RMAX / r_ref, and x_prev is the
    // same.
    nada.reference_rate = 500_000.0;
    nada.signal = 0.030;
    nada.update_gradually(0.030, DELTA);
    assert!(close(nada.reference_rate, 500_000.0));
}

#[test]
fn a_pause_is_no_interval_of_feedback() {
    let mut nada = nada();
    assert_eq!(nada.measured_interval(at(420), &[]), DELTA);
    let packets: Vec<_> = (0..20).map(|n| received(n, 20 * n, 10, 1000)).collect();
    report(&mut nada, 420, &packets);
    for (sent, interval) in [
        // RFC 8698 §4.3: delta starts at the last report, also when packets were sent and reports
        // are missing.
        (vec![], 19_680),
        (vec![800, 20_060], 19_680),
        (vec![920, 20_060], 19_680),
        // Nothing was sent for longer than LOGWIN, 500 ms: delta starts at the first packet after
        // that. The packet of 410 ms was lost before, and no report has covered it.
        (vec![921, 20_060], 19_179),
        (vec![410, 20_060, 20_080], 40),
    ] {
        let packets = sent.iter().zip(20..);
        let packets: Vec<_> = packets.map(|(sent, n)| lost(n, *sent)).collect();
        let measured = nada.measured_interval(at(20_100), &packets);
        assert_eq!(measured, Duration::from_millis(interval), "{sent:?}");
    }
}

#[test]
fn the_rate_stays_between_those_of_the_encoder() {
    let mut nada = nada();
    for (rate, clipped, limit) in [
        (2e6, 1.5e6, Limit::MaximumMediaRate),
        (-5.0, 150e3, Limit::MinimumMediaRate),
    ] {
        nada.reference_rate = rate;
        nada.clip();
        assert!(close(nada.reference_rate, clipped));
        assert_eq!(nada.limit, limit);
    }
}

#[test]
fn the_buffer_shifts_target_and_sending_rate() {
    let mut nada = nada();
    nada.reference_rate = 1_000_000.0;
    // RFC 8698 §5.2.2: 2000 octets are 48 kbit/s; BUFFER_SHIFT holds it to 5 % of r_ref.
    for (buffered, target, send) in [
        (0, 1_000_000.0, 1_000_000.0),
        (2000, 952_000.0, 1_048_000.0),
        (100_000, 950_000.0, 1_050_000.0),
    ] {
        assert!(close(nada.target_rate(buffered).as_bps(), target));
        assert!(close(nada.send_rate(buffered).as_bps(), send));
    }
    nada.reference_rate = 1_490_000.0;
    assert!(close(nada.send_rate(2000).as_bps(), 1_500_000.0));
    nada.reference_rate = 150_000.0;
    assert!(close(nada.target_rate(2000).as_bps(), 150_000.0));
}

#[test]
fn queue_loss_and_marks_end_the_ramp_up() {
    let fill = |nada: &mut Nada| {
        let packets: Vec<_> = (0..20).map(|n| received(n, 20 * n, 10, 1000)).collect();
        report(nada, 420, &packets);
        assert_eq!(nada.mode, Mode::AcceleratedRampUp);
    };
    let marked = |sequence| PacketReport {
        outcome: PacketOutcome::Received {
            at: Some(Duration::from_millis(510)),
            marked: true,
        },
        ..received(sequence, 500, 10, 1000)
    };
    for (packets, mode) in [
        (vec![received(20, 500, 19, 1000)], Mode::AcceleratedRampUp),
        // QEPS: 10 ms above the least delay.
        (vec![received(20, 490, 20, 1000)], Mode::GradualUpdate),
        (
            vec![lost(20, 480), received(21, 500, 10, 1000)],
            Mode::GradualUpdate,
        ),
        (vec![marked(20)], Mode::GradualUpdate),
        // RFC 8698 §5.1.2: a packet out of order counts as lost.
        (
            vec![received(20, 480, 29, 1000), received(21, 490, 10, 1000)],
            Mode::GradualUpdate,
        ),
    ] {
        let mut nada = nada();
        fill(&mut nada);
        report(&mut nada, 540, &packets);
        assert_eq!(nada.mode, mode, "{packets:?}");
    }
    let config = NadaConfig {
        marks_end_ramp_up: false,
        ..NadaConfig::default()
    };
    let mut nada = Nada::new(config, DELTA);
    fill(&mut nada);
    report(&mut nada, 520, &[marked(20)]);
    assert_eq!(nada.mode, Mode::AcceleratedRampUp);
}

#[test]
fn ratios_are_smoothed_and_delays_are_minima_of_15_packets() {
    let mut nada = nada();
    // One of ten is lost: (10): 0.1 · 0.1, then 0.1 · 0.1 + 0.9 · 0.01.
    let mut packets: Vec<_> = (0..10).map(|n| received(n, 10 * n, 10, 1000)).collect();
    packets[4] = lost(4, 40);
    report(&mut nada, 120, &packets);
    assert!(close(nada.measured.loss_ratio, 0.01));
    report(&mut nada, 130, &[]);
    assert!(close(nada.measured.loss_ratio, 0.019));
    // Fourteen packets that waited 40 ms leave the minimum at zero; the fifteenth raises it.
    for n in 0..15 {
        assert_eq!(nada.measured.queue_delay, Duration::ZERO, "{n}");
        report(&mut nada, 200 + n, &[received(10 + n, 140 + n, 50, 1000)]);
    }
    assert_eq!(nada.measured.queue_delay, Duration::from_millis(40));
    // The loss leaves the window of 500 ms.
    report(&mut nada, 1000, &[received(25, 950, 10, 1000)]);
    assert_eq!(nada.mode, Mode::AcceleratedRampUp);
}

#[test]
fn a_loss_is_forgotten_after_multiloss_average_intervals() {
    let mut observations = Observations::new();
    let config = NadaConfig::default();
    let mut next = 0;
    let mut take = |observations: &mut Observations, count: u64, is_lost: bool| {
        let packets: Vec<_> = (0..count)
            .map(|n| {
                let sequence = next + n;
                if is_lost {
                    lost(sequence, 100 * sequence)
                } else {
                    received(sequence, 100 * sequence, 10, 1000)
                }
            })
            .collect();
        next += count;
        let reported = Duration::from_millis(100 * next);
        observations.on_report(&config, &packets, reported, Duration::from_millis(20));
    };
    assert!(close(observations.warped_share(7.0), 0.0));
    // Losses are ten packets apart; RFC 5348 §5.4 gives a mean interval of 10.
    for _ in 0..9 {
        take(&mut observations, 9, false);
        take(&mut observations, 1, true);
    }
    take(&mut observations, 10, false);
    assert!(close(observations.warped_share(7.0), 1.0));
    // The open interval lengthens the mean: with 160 packets it is (160 + 10 · 5.0) / 6.0 = 35, and
    // seven times that is more than 160. A longer open interval, with its weight of 1/6, never
    // reaches 8 · mean, unless the multiplier is smaller than 6.
    take(&mut observations, 150, false);
    let mean = (160.0 + 10.0 * 5.0) / 6.0;
    assert!(close(
        observations.warped_share(4.0),
        1.0 - (160.0 - 4.0 * mean) / mean
    ));
    assert!(close(observations.warped_share(3.0), 0.0));
    assert!(close(observations.warped_share(7.0), 1.0));
}

#[test]
fn missing_feedback_halves_the_rate_down_to_the_least() {
    let mut nada = nada();
    nada.reference_rate = 500_000.0;
    assert_eq!(feedback_deadline(&nada, at(100)), at(600));
    nada.on_feedback_timeout();
    assert!(close(nada.reference_rate, 250_000.0));
    assert_eq!(nada.limit, Limit::NofeedbackHalving);
    nada.on_feedback_timeout();
    assert!(close(nada.reference_rate, 150_000.0));
    assert_eq!(nada.limit, Limit::MinimumMediaRate);
}

#[test]
fn clocks_of_both_ends_need_not_agree() {
    // The receiver's clock is an hour ahead: only differences count.
    let hour = Duration::from_secs(3600);
    let mut nada = nada();
    for n in 0..30 {
        let delay = if n < 10 { 10 } else { 35 };
        let sent = 20 * n;
        let packet = PacketReport {
            outcome: PacketOutcome::Received {
                at: Some(hour + Duration::from_millis(sent + delay)),
                marked: false,
            },
            ..received(n, sent, 0, 1000)
        };
        nada.on_report(&Report {
            now: at(sent + delay + 10),
            made_at: hour + Duration::from_millis(sent + delay),
            rtt: None,
            packets: &[packet],
        });
    }
    assert_eq!(nada.measured.queue_delay, Duration::from_millis(25));
}

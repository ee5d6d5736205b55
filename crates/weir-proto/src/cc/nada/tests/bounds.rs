//! Settings at their bounds, and times and rates at the edges of rules.

use super::*;

fn with(change: impl FnOnce(&mut NadaConfig)) -> Nada {
    let mut config = NadaConfig::default();
    change(&mut config);
    Nada::new(config, DELTA)
}

#[test]
fn the_first_report_compares_its_signal_with_none() {
    // Two of twenty packets are marked: p_mark = 0.1 · 0.1 (10), x_curr = 2 ms · (1 %/1 %)² (2).
    // (5): 2 ms - 10 ms · 1500/750 = -18 ms; (6): 2 ms - 0; (7) with DELTA for delta: 750 kbit/s ·
    // (1 - 0.5 · (0.1/0.5 · -0.018/0.5 + 2 · 0.002/0.5)) = 0.9996 · 750 kbit/s.
    let mut nada = nada();
    nada.reference_rate = 750_000.0;
    let mut packets: Vec<_> = (0..20).map(|n| received(n, 20 * n, 10, 1000)).collect();
    for packet in &mut packets[3..5] {
        packet.outcome = PacketOutcome::Received {
            at: Some(Duration::from_nanos(packet.sent.as_nanos()) + Duration::from_millis(10)),
            marked: true,
        };
    }
    report(&mut nada, 420, &packets);
    assert!(close(nada.measured.marking_ratio, 0.01));
    assert!(close(nada.signal, 0.002), "{}", nada.signal);
    assert!(close(nada.reference_rate, 749_700.0));
}

#[test]
fn a_packet_that_left_with_the_last_report_was_sent_before_the_pause() {
    let mut nada = nada();
    let packets: Vec<_> = (0..20).map(|n| received(n, 20 * n, 10, 1000)).collect();
    report(&mut nada, 420, &packets);
    let after = [lost(20, 420), lost(21, 20_060)];
    let interval = nada.measured_interval(at(20_100), &after);
    assert_eq!(interval, Duration::from_millis(40));
}

#[test]
fn the_ramp_up_multiplies_by_gamma_max_at_most() {
    // (3): QBOUND of 1 s would give 1 / 0.24 = 4.17; (4): 1.5 · 320 kbit/s.
    let mut nada = with(|config| config.ramp_up_queue = Duration::from_secs(1));
    let packets: Vec<_> = (0..20).map(|n| received(n, 20 * n, 10, 1000)).collect();
    report(&mut nada, 420, &packets);
    assert!(close(nada.reference_rate, 480_000.0));
}

#[test]
fn a_flow_of_twice_the_priority_is_in_equilibrium_at_twice_the_signal() {
    // (5): x_curr = PRIO · XREF · RMAX / r_ref = 2 · 10 ms · 1500 / 500.
    let mut nada = with(|config| config.priority = 2.0);
    nada.reference_rate = 500_000.0;
    nada.signal = 0.060;
    nada.update_gradually(0.060, DELTA);
    assert!(close(nada.reference_rate, 500_000.0));
}

#[test]
fn the_offset_counts_for_the_time_since_the_last_report() {
    // (7): 750 kbit/s and 30 ms of queue, 10 ms above XREF · RMAX / r_ref, and no change: 0.5 ·
    // 0.13/0.5 · 0.01/0.5 after 130 ms, and 0.5 · 0.2/0.5 · 0.01/0.5 after 200 ms.
    let mut nada = with(|config| config.delay_filter = 1);
    report(&mut nada, 120, &[received(0, 100, 10, 1000)]);
    nada.signal = 0.030;
    for (sequence, now, less) in [(1, 250, 0.0026), (2, 450, 0.004)] {
        nada.reference_rate = 750_000.0;
        report(&mut nada, now, &[received(sequence, now - 50, 40, 1000)]);
        assert_eq!(nada.mode, Mode::GradualUpdate);
        assert!(close(nada.reference_rate, 750_000.0 * (1.0 - less)));
    }
}

#[test]
fn losses_and_marks_have_references_of_their_own() {
    // (2): 2 ms · (6 % / 3 %)² + 10 ms · (2 % / 4 %)².
    let mut nada = with(|config| {
        config.reference_loss = 0.04;
        config.reference_marking = 0.03;
    });
    nada.measured.loss_ratio = 0.02;
    nada.measured.marking_ratio = 0.06;
    assert!(close(nada.congestion_signal(), 0.008 + 0.0025));
}

#[test]
fn settings_of_zero_switch_their_rule_off() {
    // A reference ratio of zero would divide by zero.
    let mut no_reference = with(|config| {
        config.reference_loss = 0.0;
        config.reference_marking = 0.0;
    });
    no_reference.measured = Measured {
        queue_delay: Duration::from_millis(30),
        loss_ratio: 0.02,
        marking_ratio: 0.03,
        ..Measured::default()
    };
    assert!(close(no_reference.congestion_signal(), 0.030));
    // A threshold of zero warps nothing.
    let no_warping = with(|config| config.warping_threshold = Duration::ZERO);
    for queue in [0.0, 0.02, 0.2] {
        assert!(close(no_warping.warp(queue), queue), "{queue}");
    }
    // No packet arrives within a window of zero length.
    let mut no_window = with(|config| config.observation_window = Duration::ZERO);
    report(&mut no_window, 120, &[received(0, 100, 10, 1000)]);
    assert!(no_window.measured.receive_bytes_per_sec.abs() < f64::EPSILON);
    // A minimum filter over one packet has no effect.
    let mut no_filter = with(|config| config.delay_filter = 1);
    let packets = [received(0, 0, 10, 1000), received(1, 20, 50, 1000)];
    report(&mut no_filter, 90, &packets);
    assert_eq!(no_filter.measured.queue_delay, Duration::from_millis(40));
}

#[test]
fn a_rate_at_its_bound_is_limited_by_it() {
    // (8) and (9): RMAX and RMIN themselves.
    for (rate, limit) in [
        (1.5e6, Limit::MaximumMediaRate),
        (150e3, Limit::MinimumMediaRate),
    ] {
        let mut nada = nada();
        nada.reference_rate = rate;
        nada.limit = Limit::GradualUpdate;
        nada.clip();
        assert_eq!(nada.limit, limit);
        assert!(close(nada.reference_rate, rate));
    }
}

#[test]
fn feedback_is_awaited_for_two_round_trips() {
    // Two round trips exceed the 500 ms of `feedback_timeout` only if R is longer than half of
    // that.
    for (rtt, deadline) in [(200, 600), (250, 600), (400, 900)] {
        let mut nada = nada();
        nada.rtt.on_sample(at(50), Duration::from_millis(rtt));
        assert_eq!(feedback_deadline(&nada, at(100)), at(deadline), "{rtt}");
    }
}

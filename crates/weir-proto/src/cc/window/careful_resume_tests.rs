//! The phases with the numbers of the examples in RFC 9959 appendix A: an initial window of 10
//! packets, 29 packets in flight at the jump, and 300 packets saved. A packet has 1000 octets.

use super::super::{BoxedController, WindowConfig, named};
use super::*;
use crate::cc::{
    CongestionEvent, ConnectionEvent, EndAcks, RetransmissionTimeout, Rtt, WindowControllerExt as _,
};
use crate::units::Rate;

const PACKET: u64 = 1000;
const SAVED: CarefulResumeConfig = CarefulResumeConfig {
    saved_cwnd: 300 * PACKET,
    saved_rtt: Duration::from_millis(100),
    max_jump: None,
    ssthresh_percent: 50,
};

fn config() -> WindowConfig {
    let mut config = WindowConfig {
        max_datagram_size: PACKET,
        initial_window: Some(10 * PACKET),
        ..WindowConfig::default()
    };
    config.rules.controller.careful_resume = Some(SAVED);
    config
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// A packet sent in milliseconds, with these packets in flight.
fn sent(now: u64, flight: u64) -> Sent {
    Sent {
        now: at(now),
        bytes: PACKET,
        bytes_in_flight: flight * PACKET,
        ..Sent::default()
    }
}

/// An acknowledged packet that leaves these packets in flight; the round-trip time is 120 ms, and
/// its minimum 110 ms.
fn acked(now: u64, sent_at: u64, left: u64) -> Acked {
    Acked {
        now: at(now),
        sent_at: at(sent_at),
        bytes: PACKET,
        bytes_in_flight: (left + 1) * PACKET,
        rtt: Rtt {
            latest: Duration::from_millis(120),
            min: Duration::from_millis(110),
            ..Rtt::default()
        },
        app_limited: false,
    }
}

/// At 120 ms the initial window is acknowledged, and these packets are in flight.
fn after_the_jump(saved: CarefulResumeConfig, flight: u64) -> (CarefulResume, Step) {
    let mut resume = CarefulResume::new(saved);
    for _ in 0..9 {
        let step = resume.on_ack(&acked(120, 0, flight), 20 * PACKET, &config().basis());
        assert_eq!((step, resume.state()), (Step::Normal, "reconnaissance"));
    }
    let step = resume.on_ack(&acked(120, 0, flight), 20 * PACKET, &config().basis());
    (resume, step)
}

/// The window full of unvalidated packets: 121 after 29, one each millisecond from 121 ms on.
fn full() -> CarefulResume {
    let (mut resume, _) = after_the_jump(SAVED, 29);
    for n in 1..=120 {
        let step = resume.on_sent(&sent(120, 29 + n), 150 * PACKET, &config().basis());
        assert_eq!(step, Step::Hold, "{n}");
    }
    let step = resume.on_sent(&sent(121, 150), 150 * PACKET, &config().basis());
    assert_eq!(step, Step::Window(150 * PACKET, Limit::CarefulResume));
    assert_eq!(resume.state(), "validating");
    resume
}

#[test]
fn the_jump_is_half_of_the_saved_window_or_the_configured_most() {
    // RFC 9959 §3.3, JUMP_DIVISOR: jump_cwnd = min(max_jump, saved_cwnd / 2).
    for (saved_cwnd, max_jump, jump) in [
        (300_000, None, 150_000),
        (300_001, None, 150_000),
        (300_000, Some(40_000), 40_000),
        (300_000, Some(160_000), 150_000),
    ] {
        let saved = CarefulResumeConfig {
            saved_cwnd,
            max_jump,
            ..SAVED
        };
        let (resume, step) = after_the_jump(saved, 29);
        assert_eq!(step, Step::Window(jump, Limit::CarefulResume));
        assert_eq!(resume.state(), "unvalidated");
    }
}

#[test]
fn a_round_trip_time_of_half_or_less_or_above_ten_times_is_another_path() {
    // RFC 9959 §3.2, RTT_DIVISOR 2, and §4.2.1, RTT_FACTOR 10: saved_rtt is 100 ms.
    let ns = Duration::from_nanos;
    for (least, confirmed) in [
        (50_000_000, false),
        (50_000_001, true),
        (1_000_000_000, true),
        (1_000_000_001, false),
    ] {
        assert_eq!(SAVED.confirms(ns(least)), confirmed, "{least}");
        let mut resume = CarefulResume::new(SAVED);
        let mut ack = acked(120, 0, 29);
        ack.bytes = 10 * PACKET;
        ack.rtt.min = ns(least);
        let step = resume.on_ack(&ack, 20 * PACKET, &config().basis());
        assert_eq!(step == Step::Normal, !confirmed, "{least}");
        assert_eq!(resume.is_over(), !confirmed, "{least}");
    }
}

#[test]
fn the_jump_waits_while_the_application_limits_and_needs_a_larger_window() {
    let mut resume = CarefulResume::new(SAVED);
    let mut ack = acked(120, 0, 29);
    (ack.bytes, ack.app_limited) = (20 * PACKET, true);
    assert_eq!(resume.on_ack(&ack, 20_000, &config().basis()), Step::Normal);
    assert_eq!(resume.state(), "reconnaissance");
    ack.app_limited = false;
    let mut other = resume;
    assert_eq!(
        resume.on_ack(&ack, 150_000, &config().basis()),
        Step::Normal
    );
    assert!(resume.is_over());
    let step = other.on_ack(&ack, 149_999, &config().basis());
    assert_eq!(step, Step::Window(150_000, Limit::CarefulResume));
}

#[test]
fn unvalidated_packets_leave_one_at_a_time_over_a_round_trip_time() {
    // RFC 9959 §4.3: ITT = 120 ms · 1000 / 150,000 = 0.8 ms, which is 10 Mbit/s.
    let (resume, _) = after_the_jump(SAVED, 29);
    let expected = PacingRate {
        rate: Rate::from_bps(10e6),
        quantum: Some(PACKET),
    };
    assert_eq!(resume.pacing(PACKET), Some(expected));
    assert_eq!(CarefulResume::new(SAVED).pacing(PACKET), None);
    assert_eq!(full().pacing(PACKET), None);
}

#[test]
fn a_window_that_lacks_less_than_a_packet_is_full() {
    for (flight, step) in [
        (149_000, Step::Hold),
        (149_001, Step::Window(149_001, Limit::CarefulResume)),
    ] {
        let (mut resume, _) = after_the_jump(SAVED, 29);
        let mut packet = sent(121, 0);
        packet.bytes_in_flight = flight;
        assert_eq!(resume.on_sent(&packet, 150_000, &config().basis()), step);
    }
}

#[test]
fn the_unvalidated_phase_ends_after_more_than_a_round_trip_time() {
    // RFC 9959 §3.3: it began at 120 ms and the round-trip time is 120 ms.
    for (now, ends) in [(240, false), (241, true)] {
        let (mut resume, _) = after_the_jump(SAVED, 29);
        resume.on_sent(&sent(now, 60), 150_000, &config().basis());
        assert_eq!(resume.state() == "validating", ends, "sent at {now}");
        let (mut resume, _) = after_the_jump(SAVED, 29);
        resume.on_ack(&acked(now, 119, 60), 150_000, &config().basis());
        assert_eq!(resume.state() == "validating", ends, "acked at {now}");
    }
}

#[test]
fn the_first_unvalidated_packet_acknowledged_leaves_the_flight_or_pipe_size() {
    // RFC 9959 §3.3: PipeSize is 29 packets and the acknowledged one. A flight of 50 packets is
    // the window; one of 30 or less, or below the initial window, leaves PipeSize, at least 10.
    let window = |packets, limit| Step::Window(packets * PACKET, limit);
    for (before, left, step, over) in [
        (29, 50, window(50, Limit::CarefulResume), false),
        (29, 31, window(31, Limit::CarefulResume), false),
        (29, 30, window(30, Limit::ApplicationLimited), true),
        (29, 9, window(30, Limit::ApplicationLimited), true),
        (3, 9, window(10, Limit::ApplicationLimited), true),
        (3, 10, window(10, Limit::CarefulResume), false),
    ] {
        let (mut resume, _) = after_the_jump(SAVED, before);
        // What was sent before the jump is in PipeSize already.
        let step_before = resume.on_ack(&acked(200, 119, left), 150_000, &config().basis());
        assert_eq!(step_before, Step::Hold);
        let found = resume.on_ack(&acked(240, 120, left), 150_000, &config().basis());
        assert_eq!((found, resume.is_over()), (step, over), "{before} {left}");
    }
}

#[test]
fn the_last_unvalidated_packet_acknowledged_ends_careful_resume() {
    let mut resume = full();
    for (sent_at, over) in [(120, false), (121, true)] {
        let step = resume.on_ack(&acked(241, sent_at, 100), 150_000, &config().basis());
        assert_eq!((step, resume.is_over()), (Step::Normal, over), "{sent_at}");
    }
}

#[test]
fn a_lost_unvalidated_packet_leaves_half_of_pipe_size_and_beta_of_it_as_threshold() {
    // RFC 9959 appendix A: 34 of 121 are acknowledged, PipeSize is 29 + 34 = 63 packets, and the
    // window 31.5 (RETREAT_DIVISOR). 120 arrive: 149 packets, of which beta is 74.5 or 104.3.
    for (ssthresh_percent, threshold) in [(50, 74_500), (70, 104_300)] {
        let mut resume = full();
        resume.saved.ssthresh_percent = ssthresh_percent;
        for _ in 0..34 {
            resume.on_ack(&acked(240, 120, 100), 150_000, &config().basis());
        }
        assert_eq!(resume.on_congestion_event(), Some(31_500));
        assert_eq!(resume.state(), "safe_retreat");
        for _ in 0..85 {
            let step = resume.on_ack(&acked(240, 120, 50), 31_500, &config().basis());
            assert_eq!(step, Step::Hold);
        }
        let step = resume.on_ack(&acked(241, 121, 0), 31_500, &config().basis());
        assert_eq!(step, Step::Threshold(threshold));
        assert!(resume.is_over());
    }
}

#[test]
fn congestion_in_reconnaissance_is_the_controllers_own() {
    let mut resume = CarefulResume::new(SAVED);
    assert_eq!(resume.on_congestion_event(), None);
    assert!(resume.is_over());
}

/// NewReno after the jump, with this many packets in flight before it.
fn new_reno(flight: u64) -> BoxedController {
    let mut window = named("newreno", &config()).expect("NewReno");
    for _ in 0..10 {
        window.on_ack(&acked(120, 0, flight));
    }
    assert_eq!(window.window(), 150 * PACKET);
    window
}

fn lost(now: u64, sent_at: u64) -> CongestionEvent {
    CongestionEvent {
        now: at(now),
        sent_at: at(sent_at),
        ..CongestionEvent::default()
    }
}

#[test]
fn a_controller_jumps_holds_grows_again_and_retreats() {
    let mut window = new_reno(29);
    assert_eq!(window.report().limit, Limit::CarefulResume);
    assert_eq!(window.report().state, "unvalidated");
    assert_eq!(window.pacer(), Some((Rate::from_bps(10e6), PACKET)));
    window.on_ack(&acked(130, 10, 28));
    assert_eq!(window.window(), 150 * PACKET, "no growth in this phase");
    window.on_sent(&sent(130, 150));
    assert_eq!(
        (window.report().state, window.pacer()),
        ("validating", None)
    );
    window.on_ack(&acked(250, 125, 149));
    assert_eq!(window.window(), 151 * PACKET, "slow start");
    // PipeSize is 30 packets.
    assert!(window.on_congestion_event(&lost(251, 126)));
    assert_eq!(window.window(), 15 * PACKET);
    assert_eq!(window.report().limit, Limit::SafeRetreat);
    window.on_ack(&acked(252, 129, 100));
    assert_eq!(window.window(), 15 * PACKET, "no growth in this phase");
    assert_eq!(window.report().state, "safe_retreat");
    window.on_ack(&acked(253, 130, 99));
    // PipeSize is 32 packets, and the recovery goes on.
    assert_eq!(window.report().ssthresh, Some(16 * PACKET));
    assert_eq!(window.report().state, "recovery");
    assert!(!window.on_spurious_congestion_event(at(254)));
    window.on_ack(&acked(400, 300, 5));
    assert_eq!(window.window(), 16 * PACKET, "slow start up to ssthresh");
}

#[test]
fn a_retreat_ends_rapid_start() {
    // Half of PipeSize, 30 packets; what is acknowledged then takes nothing off.
    let mut config = config();
    config.rules.controller.rapid_start = true;
    let mut window = named("newreno", &config).expect("NewReno");
    for _ in 0..10 {
        window.on_ack(&acked(120, 0, 29));
    }
    window.on_sent(&sent(130, 150));
    window.on_ack(&acked(250, 125, 149));
    assert!(window.on_congestion_event(&lost(251, 126)));
    window.on_end_acks(&EndAcks {
        now: at(252),
        newest_sent_at: at(126),
        newly_acked: 6 * PACKET,
        ..EndAcks::default()
    });
    assert_eq!(window.window(), 15 * PACKET);
    assert_eq!(window.report().limit, Limit::SafeRetreat);
}

#[test]
fn a_retreat_leaves_two_packets_at_least_and_never_more_than_the_controller() {
    // RFC 9002 §7.2: the minimum window. NewReno halves 150 packets, and PipeSize is 2.
    let mut window = new_reno(2);
    window.on_sent(&sent(130, 150));
    window.on_congestion_event(&lost(240, 125));
    assert_eq!(window.window(), 2 * PACKET);
    assert_eq!(window.report().limit, Limit::MinimumWindow);
    // PipeSize is 3 packets, of which a half is less than the minimum.
    window.on_ack(&acked(250, 130, 0));
    assert_eq!(window.report().ssthresh, Some(2 * PACKET));
    // PipeSize is 200 packets: half of it is above the 75 that NewReno leaves.
    let mut window = new_reno(200);
    window.on_congestion_event(&lost(240, 125));
    assert_eq!(window.window(), 75 * PACKET);
}

#[test]
fn timeouts_and_events_of_the_connection_end_it() {
    let mut persistent = new_reno(29);
    persistent.on_persistent_congestion(at(500));
    let mut timeout = new_reno(29);
    timeout.on_retransmission_timeout(&RetransmissionTimeout {
        now: at(500),
        ..RetransmissionTimeout::default()
    });
    let mut idle = new_reno(29);
    idle.on_connection_event(ConnectionEvent::IdleRestart);
    for window in [persistent, timeout, idle] {
        assert_eq!(window.report().state, "slow_start");
        assert_eq!(window.pacing(), None);
    }
}

#[test]
fn cubic_takes_it_and_ledbat_does_not() {
    for (name, state) in [
        ("cubic", "reconnaissance"),
        ("ledbat", "congestion_avoidance"),
    ] {
        let window = named(name, &config()).expect("a controller");
        assert_eq!(window.report().state, state, "{name}");
    }
}

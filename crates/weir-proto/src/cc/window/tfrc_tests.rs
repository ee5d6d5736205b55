//! TFRC's window over a path with a constant round-trip time.

use super::*;
use crate::cc::tfrc::response;
use crate::cc::{Rtt, WindowControllerExt as _};

const MDS: u64 = 1000;
const RTT: Duration = Duration::from_millis(100);

struct Path {
    window: TfrcWindow,
    now: Instant,
    sent: u64,
    in_flight: u64,
}

impl Path {
    fn new() -> Self {
        let config = WindowConfig {
            max_datagram_size: MDS,
            ..WindowConfig::default()
        };
        Self {
            window: TfrcWindow::new(&config),
            now: Instant::ZERO,
            sent: 0,
            in_flight: 0,
        }
    }

    /// Sends one window evenly over a round-trip time; each packet is acknowledged or lost a
    /// round-trip time later. Returns the packets of the window.
    fn round(&mut self, lost: impl Fn(u64) -> bool) -> u64 {
        let packets = (self.window.window() / MDS).max(1);
        let gap = RTT / packets;
        let mut flight = Vec::new();
        for number in 0..packets {
            let now = self.now + gap * number;
            self.in_flight += MDS;
            self.window.on_sent(&Sent {
                now,
                bytes: MDS,
                bytes_in_flight: self.in_flight,
                ..Sent::default()
            });
            flight.push((now, self.sent));
            self.sent += 1;
        }
        for (sent_at, number) in flight {
            let now = sent_at + RTT;
            self.in_flight -= MDS;
            if lost(number) {
                self.lose(now, sent_at);
            } else {
                self.acknowledge(now, sent_at);
            }
        }
        self.now += RTT;
        packets
    }

    fn acknowledge(&mut self, now: Instant, sent_at: Instant) {
        let rtt = Rtt {
            latest: RTT,
            smoothed: RTT,
            variation: Duration::ZERO,
            min: RTT,
        };
        self.window.on_ack(&Acked {
            now,
            sent_at,
            bytes: MDS,
            bytes_in_flight: self.in_flight + MDS,
            rtt,
            app_limited: false,
        });
    }

    fn lose(&mut self, now: Instant, sent_at: Instant) {
        self.window.on_congestion_event(&CongestionEvent {
            now,
            sent_at,
            lost_bytes: MDS,
            bytes_in_flight: self.in_flight,
            flight_size: None,
            ecn: false,
        });
    }
}

#[test]
fn starts_with_the_initial_window_and_doubles_while_nothing_is_lost() {
    let mut path = Path::new();
    assert_eq!(path.round(|_| false), 10);
    // RFC 5348 §4.2: W_init = min(4·MSS, max(2·MSS, 4380)) from the first feedback on.
    let windows: Vec<u64> = (0..5).map(|_| path.round(|_| false)).collect();
    assert_eq!(windows[0], 4);
    assert!(
        windows.windows(2).all(|pair| pair[1] > pair[0]),
        "{windows:?}"
    );
    assert!(windows[4] >= 16, "{windows:?}");
    assert_eq!(path.window.report().state, "slow_start");
    assert_eq!(path.window.report().ssthresh, None);
}

#[test]
fn converges_to_the_rate_of_the_equation() {
    for every in [20_u64, 50, 100, 400] {
        let mut path = Path::new();
        for _ in 0..1000 {
            path.round(|number| number % every == every - 1);
        }
        let mean = (0..200)
            .map(|_| path.round(|number| number % every == every - 1))
            .sum::<u64>() as f64
            / 200.0;
        // W = X·R/s = 1/f(p), in whole packets.
        let expected = 1.0 / response(1.0 / every as f64);
        assert!(
            (mean - expected).abs() < (0.06 * expected).max(0.5),
            "one in {every}: {mean}, expected {expected}"
        );
        assert_eq!(path.window.report().state, "congestion_avoidance");
        assert_eq!(path.window.report().limit, Limit::Equation);
    }
}

#[test]
fn losses_of_one_round_trip_are_one_event() {
    let mut path = Path::new();
    for _ in 0..5 {
        path.round(|_| false);
    }
    let first = path.sent;
    path.round(|number| (first..first + 3).contains(&number));
    assert_eq!(path.window.intervals.events(), 1);
    path.round(|_| false);
    path.round(|_| false);
    let second = path.sent;
    path.round(|number| number == second);
    assert_eq!(path.window.intervals.events(), 2);
}

#[test]
fn silence_halves_the_window_repeatedly() {
    let mut path = Path::new();
    for round in 0..60 {
        path.round(|number| round > 6 && number % 200 == 199);
    }
    let before = path.window.window();
    assert!(before > 12 * MDS, "{before}");
    path.round(|_| false);
    let probe = |path: &mut Path| {
        path.window.on_sent(&Sent {
            now: path.now,
            bytes: MDS,
            bytes_in_flight: MDS,
            ..Sent::default()
        });
        path.window.window()
    };
    // The nofeedback timer expires after 4R.
    path.now += RTT * 5;
    let after = probe(&mut path);
    assert!(after < before * 2 / 3, "{before} {after}");
    path.now += RTT * 20;
    probe(&mut path);
    path.now += RTT * 200;
    let last = probe(&mut path);
    assert!((2 * MDS..3 * MDS).contains(&last), "{last}");
}

#[test]
fn a_long_silence_takes_bounded_work() {
    let mut path = Path::new();
    for _ in 0..3 {
        path.round(|_| false);
    }
    path.now += Duration::from_secs(1_000_000_000);
    path.window.on_persistent_congestion(path.now);
    assert!(path.window.window() >= 2 * MDS);
}

#[test]
fn loss_of_the_very_first_packets_leaves_two_datagrams() {
    let mut path = Path::new();
    path.round(|_| true);
    assert_eq!(path.window.window(), 2 * MDS);
    path.round(|_| false);
    assert!(path.window.window() > 2 * MDS);
}

#[test]
fn the_send_history_stays_small_and_in_order() {
    let mut history = SendHistory::default();
    for number in 0..100_000_u64 {
        history.on_sent(Instant::from_nanos(number * 10), MDS);
    }
    assert!(history.entries.len() <= MAX_ENTRIES);
    // 100,000 packets in at least 2048 entries: at most 50 packets in each.
    for number in [0, 1, 777, 50_000, 99_998] {
        let offset = history.offset_of(Instant::from_nanos(number * 10));
        let off = (number * MDS) as i64 - offset as i64;
        assert!((0..=50 * MDS as i64).contains(&off), "{number}: {off}");
    }
    history.forget_before(Instant::from_nanos(900_000));
    for number in 100_000..100_100_u64 {
        history.on_sent(Instant::from_nanos(number * 10), MDS);
        let offset = history.offset_of(Instant::from_nanos(number * 10));
        assert_eq!(offset, number * MDS, "exact again");
    }
}

#[test]
fn two_large_datagrams_grow_to_more() {
    let mut path = Path::new();
    path.window = TfrcWindow::new(&WindowConfig {
        max_datagram_size: 9 * MDS,
        initial_window: Some(18 * MDS),
        ..WindowConfig::default()
    });
    // W_init is two datagrams; the strict send gate must let both out.
    let mut windows = Vec::new();
    for _ in 0..8 {
        let packets = (path.window.window() - 1) / (9 * MDS);
        for number in 0..packets {
            path.window.on_sent(&Sent {
                now: path.now + Duration::from_millis(number),
                bytes: 9 * MDS,
                bytes_in_flight: 9 * MDS,
                ..Sent::default()
            });
        }
        for number in 0..packets {
            let sent_at = path.now + Duration::from_millis(number);
            path.window.on_ack(&Acked {
                now: sent_at + RTT,
                sent_at,
                bytes: 9 * MDS,
                bytes_in_flight: 9 * MDS,
                rtt: Rtt {
                    smoothed: RTT,
                    ..Rtt::default()
                },
                app_limited: false,
            });
        }
        windows.push(packets);
        path.now += RTT + Duration::from_millis(packets);
    }
    assert!(windows[7] > 8, "{windows:?}");
}

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// An acknowledgement at `now` of a packet sent at `sent_at`, when the transport has measured this
/// round-trip time.
fn acked(now: u64, sent_at: u64, smoothed: u64) -> Acked {
    Acked {
        now: ms(now),
        sent_at: ms(sent_at),
        bytes: MDS,
        bytes_in_flight: 10 * MDS,
        rtt: Rtt {
            smoothed: Duration::from_millis(smoothed),
            ..Rtt::default()
        },
        app_limited: false,
    }
}

fn sent(now: u64) -> Sent {
    Sent {
        now: ms(now),
        bytes: MDS,
        bytes_in_flight: MDS,
        ..Sent::default()
    }
}

#[test]
fn a_full_history_keeps_every_other_entry_and_their_distance() {
    // Entries of 1000 octets from 9000 on, of which the last is the 4096th: half of them are left,
    // 2000 octets apart.
    let mut history = SendHistory::default();
    for at in 0..10 {
        history.on_sent(ms(at), MDS);
    }
    history.forget_before(ms(10));
    assert_eq!(history.entries, [(ms(9), 9000)]);
    for at in 10..4105 {
        history.on_sent(ms(at), MDS);
    }
    assert_eq!((history.entries.len(), history.spacing), (4096, 0));
    for (at, entries) in [(4105, 2049), (4106, 2049), (4107, 2050)] {
        history.on_sent(ms(at), MDS);
        assert_eq!((history.entries.len(), history.spacing), (entries, 2000));
    }
    assert_eq!(history.entries[1], (ms(11), 11_000));
}

#[test]
fn the_newest_entry_and_those_from_the_time_on_are_kept() {
    for (time, left) in [(1, 3), (2, 2), (3, 1), (10, 1)] {
        let mut history = SendHistory::default();
        for at in 1..=3 {
            history.on_sent(ms(at), MDS);
        }
        history.forget_before(ms(time));
        assert_eq!(history.entries.len(), left, "{time}");
    }
}

#[test]
fn the_distance_ends_when_less_than_a_quarter_of_the_entries_is_left() {
    for (entries, spacing) in [(1024, 2000), (1023, 0)] {
        let mut history = SendHistory {
            entries: (0..entries).map(|at| (ms(at), at)).collect(),
            sent: entries,
            spacing: 2000,
        };
        history.forget_before(Instant::ZERO);
        assert_eq!(history.spacing, spacing, "{entries}");
    }
}

#[test]
fn the_receive_rate_is_that_since_the_feedback_a_round_trip_ago() {
    // RFC 5348 §6.2: over at least R. Feedback came at 900 and 1000 ms with 5000 and 20,000 octets.
    let sample = |at, acked| AckSample { at: ms(at), acked };
    let samples = [Some(sample(1000, 20_000)), Some(sample(900, 5000))];
    for (samples, rtt, now, rate) in [
        (samples, 100, 1100, 10_000.0 / 0.1),
        (samples, 100, 1099, 25_000.0 / 0.199),
        (samples, 100, 1050, 25_000.0 / 0.15),
        (samples, 100, 1150, 10_000.0 / 0.15),
        // The only feedback counts, over R at the least.
        ([samples[0], None], 100, 1050, 10_000.0 / 0.1),
        // Without a round-trip time, the feedback of this moment has no span.
        (samples, 0, 1000, 25_000.0 / 0.1),
        ([samples[0], None], 0, 1000, 0.0),
        ([None, None], 100, 1000, 0.0),
    ] {
        let mut window = Path::new().window;
        window.smoothed_rtt = Duration::from_millis(rtt);
        window.samples = samples;
        window.acked = 30_000;
        let found = window.receive_rate(ms(now));
        assert!((found - rate).abs() < 1e-6, "{rtt} {now}: {found}");
    }
}

#[test]
fn the_open_interval_counts_in_packets() {
    // RFC 5348 §5.4: I_0 = 18 and I_1 = 10 with equal weights, I_mean = max(14, 10).
    let mut window = Path::new().window;
    window
        .intervals
        .on_first_loss(ReportedInterval::default(), 10.0, 1.0);
    window.event = Some(LossEvent {
        sent_at: ms(0),
        offset: 1000,
    });
    window.highest_acked = 19_000;
    window.give_feedback(ms(100), RTT);
    let rate = window.intervals.loss_event_rate();
    assert!((rate - 1.0 / 14.0).abs() < 1e-12, "{rate}");
}

#[test]
fn the_first_interval_is_that_of_the_greatest_receive_rate_or_of_half_a_packet_a_round_trip() {
    // RFC 5348 §6.3.1: X_target is the greatest X_recv, or s/(2R) if that is more, which is
    // f(p) = s/(R·X) = 2.
    for (rtt, greatest, response_of_p) in [
        (RTT, 0.0, 2.0),
        (RTT, 4000.0, 2.0),
        (RTT, 100_000.0, 0.1),
        (Duration::from_secs(1000), 0.0, 2.0),
        (Duration::from_nanos(1), 0.0, 2.0),
    ] {
        let mut window = Path::new().window;
        window.smoothed_rtt = rtt;
        window.greatest_receive_rate = f64::max(window.greatest_receive_rate, greatest);
        let event = LossEvent {
            sent_at: ms(0),
            offset: 0,
        };
        window.begin_loss_event(ms(0), event);
        let found = response(window.intervals.loss_event_rate());
        assert!(
            (found / response_of_p - 1.0).abs() < 1e-3,
            "{rtt:?} {found}"
        );
    }
}

#[test]
fn the_round_trip_time_is_the_first_sample_and_then_what_the_transport_has_smoothed() {
    let mut window = Path::new().window;
    window.on_sent(&sent(0));
    for (now, sent_at, smoothed, rtt) in
        [(80, 0, 333, 80), (190, 100, 150, 150), (300, 180, 0, 120)]
    {
        window.on_ack(&acked(now, sent_at, smoothed));
        assert_eq!(window.smoothed_rtt, Duration::from_millis(rtt), "{now}");
    }
}

#[test]
fn feedback_is_given_once_a_round_trip_and_its_time_is_not_smoothed_again() {
    // RFC 5348 §6.1: at least once a round-trip time.
    let mut window = Path::new().window;
    window.on_sent(&sent(0));
    let times = |window: &TfrcWindow| window.samples.map(|last| last.map(|last| last.at));
    for (now, rtt, newest, before) in [
        (100, 100, Some(100), None),
        (150, 100, Some(100), None),
        (199, 100, Some(100), None),
        (200, 100, Some(200), Some(100)),
        (399, 200, Some(200), Some(100)),
        (400, 200, Some(400), Some(200)),
    ] {
        window.on_ack(&acked(now, now - rtt, rtt));
        assert_eq!(times(&window), [newest.map(ms), before.map(ms)], "{now}");
    }
    assert_eq!(window.rtt(), Duration::from_millis(200));
}

#[test]
fn what_left_two_round_trips_before_an_acknowledged_packet_is_forgotten() {
    let mut window = Path::new().window;
    for at in 0..100 {
        window.on_sent(&sent(10 * at));
    }
    window.on_ack(&acked(990, 890, 100));
    assert_eq!(window.history.entries[0].0, ms(690));
}

#[test]
fn a_loss_a_round_trip_after_the_first_belongs_to_its_event() {
    // RFC 5348 §5.2: a packet that left more than R after the first lost one begins a new event.
    let mut window = Path::new().window;
    for at in 0..300 {
        window.on_sent(&sent(at));
    }
    window.on_ack(&acked(100, 0, 100));
    for (sent_at, events) in [(10, 1), (109, 1), (110, 1), (111, 2)] {
        window.on_congestion_event(&CongestionEvent {
            now: ms(290),
            sent_at: ms(sent_at),
            lost_bytes: MDS,
            ..CongestionEvent::default()
        });
        assert_eq!(window.intervals.events(), events, "{sent_at}");
    }
}

#[test]
fn the_window_is_the_rate_in_whole_packets_and_an_octet() {
    // RFC 5348 §4.2: W_init = min(4 MSS, max(2 MSS, 4380)): 4 packets of 1000 octets, 3.504 of 1250
    // and 3.476 of 1260, in 100 ms.
    for (mds, packets, octets_per_s) in [
        (1000, 4, 40_000.0),
        (1250, 4, 43_800.0),
        (1260, 3, 43_800.0),
    ] {
        let mut window = TfrcWindow::new(&WindowConfig {
            max_datagram_size: mds,
            ..WindowConfig::default()
        });
        assert_eq!(window.pacing_rate(), None);
        window.on_sent(&sent(0));
        window.on_ack(&acked(100, 0, 100));
        assert_eq!(window.window(), packets * mds + 1, "{mds}");
        let rate = window.pacing_rate().expect("a rate").as_bytes_per_sec();
        assert!((rate - octets_per_s).abs() < 1e-6, "{rate}");
    }
    let config = WindowConfig {
        max_datagram_size: 0,
        ..WindowConfig::default()
    };
    assert_eq!(segment_size(&config.basis()), 1, "at least an octet");
}

/// A flow of 100 packets in flight over this round-trip time with one loss event.
fn after_a_loss(rtt: Duration) -> TfrcWindow {
    let mut window = Path::new().window;
    window.on_sent(&sent(0));
    window.on_sent(&sent(1));
    let now = Instant::ZERO + rtt;
    window.on_ack(&Acked {
        now,
        ..acked(0, 0, rtt.as_micros() / 1000)
    });
    window.on_congestion_event(&CongestionEvent {
        now,
        sent_at: ms(1),
        lost_bytes: MDS,
        ..CongestionEvent::default()
    });
    window
}

#[test]
fn the_nofeedback_timer_is_processed_when_its_time_has_come() {
    // RFC 5348 §4.4, by calls that report no acknowledgement.
    let calls: [fn(&mut TfrcWindow, Instant); 3] = [
        |window, now| window.on_sent(&Sent { now, ..sent(0) }),
        TfrcWindow::on_persistent_congestion,
        |window, now| {
            window.on_retransmission_timeout(&RetransmissionTimeout {
                now,
                repeated: true,
                ..RetransmissionTimeout::default()
            });
        },
    ];
    for call in calls {
        let mut window = after_a_loss(RTT);
        window.on_sent(&sent(100));
        let at = window.sender.poll_timeout().expect("a timer");
        call(&mut window, at - Duration::from_nanos(1));
        assert_eq!(window.sender.poll_timeout(), Some(at));
        call(&mut window, at);
        assert_ne!(window.sender.poll_timeout(), Some(at));
    }
}

#[test]
fn expiries_beyond_the_64th_are_processed_at_once() {
    // A round-trip time of 1000 s, so that no rate is as low as the recover rate, at which the
    // timer would stop (RFC 5348 §4.4): it expires every 4R = 4000 s.
    for (expiries, late) in [(63, false), (64, false), (65, true), (80, true)] {
        let mut window = after_a_loss(Duration::from_secs(1000));
        let first = window.sender.poll_timeout().expect("a timer");
        let span = Duration::from_secs(4000);
        let last = first + span * (expiries - 1);
        let now = last + Duration::from_secs(1);
        window.on_persistent_congestion(now);
        let from = if late { now } else { last };
        let next = window.sender.poll_timeout();
        assert_eq!(next, Some(from + span), "{expiries}");
    }
}

#[test]
fn a_loss_event_of_a_flow_with_little_to_send_bounds_its_rate_though_losses_become_rarer() {
    // RFC 5348 §4.3 step 4: a new loss event in a data-limited interval, also one that does not
    // raise p.
    let mut window = after_a_loss(RTT);
    let mut now = 200;
    for _ in 0..400 {
        window.on_sent(&sent(now));
        window.on_ack(&acked(now + 100, now, 100));
        now += 100;
    }
    window.on_sent(&sent(now));
    window.on_sent(&sent(now + 1));
    window.on_ack(&acked(now + 100, now, 100));
    let before = window.intervals.loss_event_rate();
    window.on_congestion_event(&CongestionEvent {
        now: ms(now + 101),
        sent_at: ms(now + 1),
        lost_bytes: MDS,
        ..CongestionEvent::default()
    });
    assert_eq!(window.intervals.events(), 2);
    assert!(window.intervals.loss_event_rate() <= before);
    assert_eq!(window.report().limit, Limit::DataLimited);
}

#[test]
fn a_retransmission_timeout_is_a_loss_event_once() {
    let mut window = Path::new().window;
    window.on_sent(&sent(0));
    window.on_sent(&sent(50));
    window.on_ack(&acked(100, 0, 100));
    for (repeated, events) in [(true, 0), (false, 1), (true, 1)] {
        window.on_retransmission_timeout(&RetransmissionTimeout {
            now: ms(300),
            sent_at: ms(50),
            repeated,
            ..RetransmissionTimeout::default()
        });
        assert_eq!(window.intervals.events(), events, "{repeated}");
    }
}

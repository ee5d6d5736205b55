//! TFRC's window over a path with a constant round-trip time.

use super::*;
use crate::cc::Rtt;
use crate::cc::tfrc::response;

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
    assert_eq!(path.window.state(), "slow_start");
    assert_eq!(path.window.ssthresh(), None);
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
        assert_eq!(path.window.state(), "congestion_avoidance");
        assert_eq!(path.window.limit(), Limit::Equation);
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

//! Properties that the transports require of every controller in the registry.

use super::*;
use crate::cc::{
    Acked, CongestionEvent, ConnectionEvent, EndAcks, RateSample, RetransmissionTimeout, Rtt, Sent,
};
use crate::time::{Duration, Instant};
use crate::units::Rate;

const MDS: u64 = 1252;
const RTT: Duration = Duration::from_millis(20);

/// A controller that may undo spurious reductions, and the current time.
struct Path {
    controller: BoxedController,
    now: Instant,
}

impl Path {
    fn new(entry: &ControllerEntry) -> Self {
        let config = WindowConfig {
            rules: Rules {
                controller: ControllerRules {
                    undo_spurious: true,
                    ..ControllerRules::OFF
                },
                ..Rules::RFC9002
            },
            ..WindowConfig::default()
        };
        Self {
            controller: (entry.make)(&config),
            now: Instant::ZERO,
        }
    }

    /// Rounds in each of which a whole window is sent, and delivered at 20 Mbit/s.
    fn grow(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.round();
        }
    }

    fn round(&mut self) {
        let rtt = Rtt {
            latest: RTT,
            smoothed: RTT,
            variation: Duration::ZERO,
            min: RTT,
        };
        let packets = self.controller.window() / MDS;
        let flight = packets * MDS;
        let sent_at = self.now;
        for packet in 1..=packets {
            self.controller.on_sent(&Sent {
                now: sent_at,
                bytes: MDS,
                bytes_in_flight: packet * MDS,
                rtt,
                app_limited: false,
            });
        }
        self.now += RTT;
        for packet in 0..packets {
            self.controller.on_ack(&Acked {
                now: self.now,
                sent_at,
                bytes: MDS,
                bytes_in_flight: flight - packet * MDS,
                rtt,
                app_limited: false,
            });
        }
        self.controller.on_end_acks(&EndAcks {
            now: self.now,
            newly_acked: flight,
            acked_packets: packets,
            newest_sent_at: sent_at,
            rtt_sample: Some(RTT),
            rtt,
            rate: RateSample {
                delivery_rate: Some(Rate::from_bps(2e7)),
                ..RateSample::default()
            },
            ..EndAcks::default()
        });
        self.now += Duration::from_millis(1);
    }

    fn lose(&mut self, sent_at: Instant) -> bool {
        self.controller.on_congestion_event(&CongestionEvent {
            now: self.now,
            sent_at,
            lost_bytes: MDS,
            ..CongestionEvent::default()
        })
    }
}

#[test]
fn losses_of_one_flight_are_one_loss_event_for_every_controller() {
    // RFC 9002 §7.3.2: packets sent before the recovery period began belong to it.
    for entry in REGISTRY {
        let mut path = Path::new(entry);
        path.grow(3);
        let sent_at = path.now - RTT;
        assert!(path.lose(sent_at), "{}", entry.name);
        let began = path.now;
        path.now += Duration::from_millis(1);
        assert!(
            !path.lose(began - Duration::from_millis(1)),
            "{}",
            entry.name
        );
        path.now += RTT * 2;
        assert!(path.lose(began + RTT + RTT / 2), "{}", entry.name);
    }
}

#[test]
fn an_idle_time_takes_every_window_back_to_the_initial_one_that_nothing_else_bounds() {
    // RFC 5681 §4.1: RW = min(IW, cwnd).
    for entry in REGISTRY {
        let mut path = Path::new(entry);
        let initial = path.controller.window();
        path.grow(6);
        let before = path.controller.window();
        path.controller
            .on_connection_event(ConnectionEvent::IdleRestart);
        let restarted = path.controller.window();
        // TFRC has its nofeedback timer and BBR its pacing rate.
        let expected = match entry.name {
            "tfrc" | "bbr" | "bbr1" => before,
            _ => before.min(initial),
        };
        assert_eq!(restarted, expected, "{}", entry.name);
        assert!(before > initial, "{}", entry.name);
    }
}

#[test]
fn a_lost_handshake_leaves_a_packet_of_every_window() {
    // RFC 5681 §3.1: if the SYN or its acknowledgement is lost, the initial window is a segment.
    for entry in REGISTRY {
        let mut path = Path::new(entry);
        path.controller
            .on_connection_event(ConnectionEvent::HandshakeLoss);
        let expected = match entry.name {
            "tfrc" => WindowConfig::default().initial_window(),
            _ => MDS,
        };
        assert_eq!(path.controller.window(), expected, "{}", entry.name);
    }
}

#[test]
fn every_controller_takes_a_spurious_loss_and_timeout_back() {
    for entry in REGISTRY {
        for timeout in [false, true] {
            let mut path = Path::new(entry);
            path.grow(6);
            let before = path.controller.window();
            let sent_at = path.now - RTT;
            if timeout {
                path.controller
                    .on_retransmission_timeout(&RetransmissionTimeout {
                        now: path.now,
                        sent_at,
                        ..RetransmissionTimeout::default()
                    });
            } else {
                path.lose(sent_at);
            }
            let reduced = path.controller.window();
            let is_taken_back = path.controller.on_spurious_congestion_event(path.now);
            assert_eq!(is_taken_back, entry.name != "tfrc", "{}", entry.name);
            let restored = path.controller.window();
            // TFRC keeps the loss interval that has started.
            let expected = if entry.name == "tfrc" {
                reduced
            } else {
                before
            };
            assert_eq!(restored, expected, "{} {timeout}", entry.name);
            // A second report has no effect.
            path.controller.on_spurious_congestion_event(path.now);
            assert_eq!(path.controller.window(), expected, "{}", entry.name);
        }
    }
}

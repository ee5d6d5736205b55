//! The controller behind a stack's trait, compared with the same controller called directly and
//! with windows computed by hand.

use super::*;
use weir_proto::cc::window::{Increase, REGISTRY, Rules};
use weir_proto::event::Limit;

const MTU: u16 = 1200;
const PACKET: u64 = 1200;

fn rtt() -> Rtt {
    Rtt {
        latest: Duration::from_millis(40),
        smoothed: Duration::from_millis(40),
        variation: Duration::ZERO,
        min: Duration::from_millis(40),
    }
}

/// A controller behind the stack's trait and one called directly, with the same calls.
struct Twins {
    base: time::Instant,
    plugged: PathController,
    direct: BoxedController,
    in_flight: u64,
}

impl Twins {
    fn new(controller: &ControllerConfig) -> Self {
        let base = time::Instant::now();
        let config = WindowConfig {
            max_datagram_size: u64::from(MTU),
            ..controller.config
        };
        Self {
            base,
            plugged: controller.start(base, MTU),
            direct: (controller.entry.make)(&config),
            in_flight: 0,
        }
    }

    fn wall(&self, millis: u64) -> time::Instant {
        self.base + time::Duration::from_millis(millis)
    }

    fn send(&mut self, now: u64) {
        self.in_flight += PACKET;
        self.plugged.send(self.wall(now), PACKET);
        self.direct.on_sent(&Sent {
            now: at(now),
            bytes: PACKET,
            bytes_in_flight: self.in_flight,
            ..Sent::default()
        });
    }

    fn acknowledge(&mut self, now: u64, sent: u64, app_limited: bool) {
        let acked = Acked {
            now: at(now),
            sent_at: at(sent),
            bytes: PACKET,
            bytes_in_flight: self.in_flight,
            rtt: rtt(),
            app_limited,
        };
        self.plugged.pass_on(acked);
        self.direct.on_ack(&acked);
        self.in_flight -= PACKET;
    }

    fn lose(&mut self, now: u64, sent: u64, persistent: bool) {
        self.in_flight -= PACKET;
        let (wall_now, wall_sent) = (self.wall(now), self.wall(sent));
        self.plugged
            .congest(&congestion([wall_now, wall_sent], persistent, PACKET));
        self.direct.on_congestion_event(&CongestionEvent {
            now: at(now),
            sent_at: at(sent),
            lost_bytes: PACKET,
            bytes_in_flight: self.in_flight,
            flight_size: None,
            ecn: false,
        });
        if persistent {
            self.direct.on_persistent_congestion(at(now));
        }
    }

    fn compare(&self, when: &str) {
        let controller = self.plugged.controller();
        assert_eq!(self.plugged.window(), self.direct.window(), "{when}");
        assert_eq!(controller.report(), self.direct.report(), "{when}");
        let metrics = self.plugged.metrics();
        assert_eq!(metrics.ssthresh, self.direct.report().ssthresh, "{when}");
        assert_eq!(metrics.congestion_window, self.direct.window(), "{when}");
    }
}

/// A loss at a time of packets that were sent at another, or a mark if no octets are lost.
fn congestion([now, sent]: [time::Instant; 2], is_persistent: bool, lost: u64) -> Congestion {
    Congestion {
        now,
        sent,
        is_persistent,
        is_ecn: lost == 0,
        lost_bytes: lost,
        largest_lost: 0,
    }
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

#[test]
fn the_window_is_that_of_the_controller_driven_directly() {
    for entry in REGISTRY
        .iter()
        .filter(|entry| !entry.name.starts_with("bbr"))
    {
        for name in Rules::NAMES {
            let config = WindowConfig {
                rules: Rules::named(name).unwrap(),
                ..WindowConfig::default()
            };
            let controller = ControllerConfig::named(entry.name)
                .unwrap()
                .with_config(config);
            let mut twins = Twins::new(&controller);
            // Eighty round trips of 40 ms with ten packets each; every seventh loses its first
            // packet, the fortieth has persistent congestion, every ninth is application-limited.
            for round in 0..80 {
                let sent = round * 40;
                for _ in 0..10 {
                    twins.send(sent);
                }
                let now = sent + 40;
                let losses = u64::from(round % 7 == 6);
                for _ in losses..10 {
                    twins.acknowledge(now, sent, round % 9 == 8);
                }
                if losses > 0 {
                    twins.lose(now, sent, round == 41);
                }
                twins.compare(&format!("{} {name} round {round}", entry.name));
            }
        }
    }
}

#[test]
fn persistent_congestion_leaves_two_packets_to_every_controller() {
    // RFC 9002 §7.6.2. TFRC has no such rule, only its nofeedback timer's (RFC 5348 §4.4).
    for entry in REGISTRY.iter().filter(|entry| entry.name != "tfrc") {
        let controller = ControllerConfig::named(entry.name).unwrap();
        let mut twins = Twins::new(&controller);
        for _ in 0..10 {
            twins.send(0);
        }
        twins.acknowledge(40, 0, false);
        twins.lose(2000, 0, true);
        let controller = twins.plugged.controller();
        assert_eq!(controller.window(), 2400, "{}", entry.name);
        assert_eq!(controller.report().limit, Limit::PersistentCongestion);
    }
}

#[test]
fn newreno_follows_windows_computed_by_hand() {
    let rules = Rules {
        increase: Increase::ByteCounting,
        ..Rules::RFC9002
    };
    let config = WindowConfig {
        rules,
        ..WindowConfig::default()
    };
    let controller = ControllerConfig::named("newreno")
        .unwrap()
        .with_config(config);
    let mut twins = Twins::new(&controller);
    // min(10 * 1200, max(2 * 1200, 14720)).
    assert_eq!(twins.plugged.initial_window(), 12_000);
    assert_eq!(twins.plugged.window(), 12_000);
    for _ in 0..20 {
        twins.send(0);
    }
    twins.acknowledge(40, 0, false);
    assert_eq!(twins.plugged.window(), 13_200, "slow start");
    twins.lose(40, 0, false);
    assert_eq!(twins.plugged.window(), 6600, "half of it");
    twins.lose(41, 0, false);
    assert_eq!(twins.plugged.window(), 6600, "once in a recovery");
    // 6 * 1200 octets exceed the window: one packet more, and 600 octets are left over.
    for _ in 0..6 {
        twins.acknowledge(100, 50, false);
    }
    assert_eq!(twins.plugged.window(), 7800);
    // 600 + 6 * 1200 = 7800.
    for _ in 0..6 {
        twins.acknowledge(140, 90, false);
    }
    assert_eq!(twins.plugged.window(), 9000);
    twins.lose(150, 120, true);
    assert_eq!(twins.plugged.window(), 2400, "persistent congestion");
}

#[test]
fn an_mtu_update_and_a_copy_for_another_path_reach_the_controller() {
    let base = time::Instant::now();
    let mut running = ControllerConfig::named("newreno").unwrap().start(base, MTU);
    running.on_mtu_update(1452);
    assert_eq!(running.window(), 14_520);
    let copy = running.copy();
    let sent = base + time::Duration::from_millis(1);
    running.congest(&congestion([base, sent], false, PACKET));
    assert_eq!(running.window(), 7260);
    assert_eq!(copy.window(), 14_520);
}

#[test]
fn a_congestion_mark_halves_the_window_like_a_loss() {
    let base = time::Instant::now();
    let mut running = ControllerConfig::named("newreno").unwrap().start(base, MTU);
    running.congest(&congestion([base; 2], false, 0));
    assert_eq!(running.window(), 6000);
}

#[test]
fn an_error_for_an_unknown_name_lists_the_known_ones() {
    let error = ControllerConfig::named("vegas").map(|_| ()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("\"vegas\"") && text.contains("newreno, cubic"),
        "{text}"
    );
}

#[test]
fn a_pacing_rate_opens_the_window_at_each_acknowledgement() {
    let mut pace = Pace::default();
    // 8 Mbit/s are 1000 octets in a millisecond, and 40 000 in a round-trip time.
    let rate = Rate::from_bps(8e6);
    for (now, allowance) in [(10, 10_000), (15, 15_000), (500, 40_000)] {
        pace.count(at(now), rate, 2400, Duration::from_millis(40));
        assert_eq!(pace.allowance, allowance, "{now} ms");
    }
    // At least a quantum is permitted, even if the round-trip time is short.
    pace.count(at(501), rate, 2400, Duration::from_millis(1));
    assert_eq!(pace.allowance, 2400);
    // The allowance that a full window did not use expires, except for a quantum.
    pace.count(at(511), rate, 2400, Duration::from_millis(40));
    pace.is_window_full = true;
    pace.count(at(512), rate, 2400, Duration::from_millis(40));
    assert_eq!(pace.allowance, 2400 + 1000);
}

#[test]
fn a_window_below_the_pacing_rate_does_not_slow_the_pacer_while_there_is_room() {
    // 8 Mbit/s are 40 000 octets in 40 ms, 1.25 of 32 000; ten packets are 12 000.
    let pace = (Rate::from_bps(8e6), Duration::from_millis(40));
    for (limit, room, seen) in [
        (20_000, 12_000, 32_000),
        (20_000, 11_999, 20_000),
        (50_000, 12_000, 50_000),
    ] {
        assert_eq!(paced_window(limit, room, MTU.into(), pace), seen, "{room}");
    }
}

#[test]
fn losses_that_the_stack_reports_together_are_reported_packet_by_packet() {
    let mut flight = Flight::default();
    for number in 0..6 {
        flight.on_sent(at(number / 2), PACKET, (number + 1) * PACKET);
    }
    flight.on_ack(at(40), PACKET, at(1));
    // Of the packets of 0, 0, 1, 1, 2 and 2 ms the third was acknowledged; three others are lost.
    let mut unreported = 3 * PACKET;
    let mut told = Vec::new();
    while let Some(lost) = flight.next_lost(at(40), &mut unreported, at(1)) {
        told.push((
            lost.sent_at,
            lost.tx_in_flight / PACKET,
            lost.lost_since_sent / PACKET,
            lost.continues_range,
        ));
    }
    assert_eq!(
        told,
        [
            (at(0), 1, 1, false),
            (at(0), 2, 2, true),
            (at(1), 4, 3, false)
        ]
    );
    // Octets of unknown packets are reported as one packet.
    let lost = flight.next_lost(at(41), &mut 7000, at(1)).unwrap();
    assert_eq!((lost.bytes, lost.tx_in_flight), (7000, 7000));
}

#[test]
fn a_packet_may_fill_a_window_that_grows_only_if_it_is_filled() {
    // RFC 9002 §7 permits two packets of 1200 octets in a window of 2400; quinn sends while the
    // octets in flight plus another packet stay below the window that it sees.
    // noq lets each packet fill the window.
    for (name, in_quinn) in [("bbr", 2), ("ledbat", 2), ("newreno", 1), ("cubic", 1)] {
        let expected = if stack_api::FILLS_WINDOW { 2 } else { in_quinn };
        let now = time::Instant::now();
        let mut controller = ControllerConfig::named(name).unwrap().start(now, MTU);
        controller.congest(&congestion([now; 2], true, 0));
        assert_eq!(controller.inner.window(), 2400, "{name}");
        let mut packets = 0;
        let filled = u64::from(stack_api::FILLS_WINDOW);
        while packets * PACKET + PACKET < controller.window() + filled {
            controller.send(now, PACKET);
            packets += 1;
        }
        assert_eq!(packets, expected, "{name}");
    }
}

//! The behaviour of a sender while a path is down, and when it is up again.

use super::*;
use crate::event::WindowState;

/// A window of `packets` packets right after persistent congestion, and the rule that bound it.
struct Expected {
    packets: u64,
    limit: Limit,
}

/// RFC 9002 §7.6.2: kMinimumWindow, two packets, for every controller that has a rule for it. TFRC
/// has none: expiries of the nofeedback timer have halved X (RFC 5348 §4.4) down to a window of two
/// packets, its least, and the losses come in a data-limited interval (§4.3).
fn expected(name: &str) -> Expected {
    Expected {
        packets: 2,
        limit: match name {
            "tfrc" => Limit::DataLimited,
            _ => Limit::PersistentCongestion,
        },
    }
}

/// A client with a round-trip time of 50 ms whose path fails for `dead`, after acknowledgements
/// were lost for 40 ms. Returns the first and the last window that the client reports when the path
/// is up again and the first losses are detected.
fn windows_behind_an_outage(mut config: Config, dead: Duration) -> (WindowState, WindowState) {
    // The path has no rate limit: without this credit some windows would grow without bound.
    config.flow_control.initial_max_data = 200_000;
    let mut pair = Pair::started(config);
    pair.delay = millis(25);
    pair.bulk = Some(Side::Client);
    pair.drop = periodic(101);
    pair.run_for(Duration::from_secs(3));
    pair.drop = Box::new(|side, _| side == Side::Server);
    pair.run_for(millis(40));
    pair.drop = Box::new(|_, _| true);
    pair.run_for(dead);
    pair.drop = Box::new(|_, _| false);
    let before = pair.client.statistics();
    pair.windows.clear();
    while pair.client.statistics().packets_lost == before.packets_lost {
        pair.windows.clear();
        let next = pair.next_at();
        pair.run_until(next);
    }
    let first = *pair.windows.first().expect("a window");
    assert!(
        pair.client.statistics().data_packets_sent >= before.data_packets_sent,
        "it goes on"
    );
    (first, *pair.windows.last().expect("a window"))
}

#[test]
fn persistent_congestion_leaves_the_minimum_window_to_every_controller() {
    for entry in window::REGISTRY {
        for losses_before_acks in [true, false] {
            let mut config = lossy_link("rfc9002", 2);
            config.controller = entry;
            config.rules.losses_before_acks = losses_before_acks;
            let (first, _) = windows_behind_an_outage(config, Duration::from_secs(6));
            let Expected { packets, limit } = expected(entry.name);
            let name = entry.name;
            assert_eq!(first.cwnd / 1252, packets, "{name} {losses_before_acks}");
            assert_eq!(first.limit, limit, "{name} {losses_before_acks}");
        }
    }
}

#[test]
fn what_left_the_network_with_the_acknowledgement_is_no_room_for_bbr() {
    // Packets that arrived before the path failed are acknowledged together with the first probes:
    // they are in flight when persistent congestion is detected, and no longer after it.
    let mut config = lossy_link("rfc9002", 2);
    config.controller = window::find("bbr").unwrap();
    let (first, last) = windows_behind_an_outage(config, Duration::from_secs(6));
    assert!(first.bytes_in_flight > 10 * 1252, "{first:?}");
    assert_eq!((last.cwnd, last.limit), (2504, Limit::PersistentCongestion));
    assert!(last.bytes_in_flight <= 4 * 1252, "{last:?}");
}

#[test]
fn the_back_off_of_probes_ends_at_its_maximum() {
    // Smoothed 2 ms and variation 1 ms make a timeout of 2 + 4 + 25 ms, which doubles (RFC 9002
    // §6.2.1). A maximum below this has no effect, because probes would leave before a response can
    // arrive.
    for (pto_max, at) in [
        (None, [31, 93, 217, 465]),
        (Some(100), [31, 93, 193, 293]),
        (Some(62), [31, 93, 155, 217]),
        (Some(10), [31, 62, 93, 124]),
    ] {
        let mut config = lossy_link("inet-2025", 1);
        config.pto_max = pto_max.map(millis);
        let mut pair = Pair::started(config);
        let now = pair.now;
        pair.client.write(now, Payload::of_len(1000)).unwrap();
        pair.run_for(millis(100));
        pair.drop = Box::new(|_, _| true);
        let start = pair.now;
        pair.client.write(start, Payload::of_len(1000)).unwrap();
        for (expiries, after) in at.into_iter().enumerate() {
            pair.run_until(start + millis(after - 1));
            let timeouts = pair.client.statistics().timeouts;
            assert_eq!(timeouts, expiries as u64, "{pto_max:?} before {after} ms");
            pair.run_until(start + millis(after));
            let timeouts = pair.client.statistics().timeouts;
            assert_eq!(
                timeouts,
                expiries as u64 + 1,
                "{pto_max:?} after {after} ms"
            );
        }
    }
}

#[test]
fn after_a_minute_without_a_path_a_sender_waits_at_most_the_maximum() {
    for (pto_max, silence) in [(Some(2000), 2000), (Some(500), 500), (None, 60_000)] {
        let mut config = lossy_link("rfc9002", 2);
        config.pto_max = pto_max.map(millis);
        let mut pair = Pair::started(config);
        pair.delay = millis(25);
        pair.bulk = Some(Side::Client);
        pair.drop = periodic(101);
        pair.run_for(Duration::from_secs(3));
        pair.drop = Box::new(|_, _| true);
        pair.run_for(Duration::from_secs(60));
        pair.drop = Box::new(|_, _| false);
        let (back, before) = (pair.now, pair.server.statistics().payload_received);
        while pair.server.statistics().payload_received == before {
            let next = pair.next_at();
            pair.run_until(next);
        }
        // The one-way delay is 25 ms.
        let waited = pair.now.since(back);
        assert!(waited <= millis(silence + 25), "{pto_max:?}: {waited}");
        assert_eq!(waited > millis(2025), pto_max.is_none(), "{waited}");
    }
}

#[test]
fn the_back_off_never_overflows() {
    use super::super::recovery::backed_off;
    let second = Duration::from_secs(1);
    assert_eq!(backed_off(Duration::MAX, u32::MAX, None), Duration::MAX);
    assert_eq!(backed_off(second, u32::MAX, None), second * (1 << 20));
    assert_eq!(backed_off(second, u32::MAX, Some(second * 2)), second * 2);
}

//! The packets that leave at once after a pause (RFC 9002 §7.7).

use super::*;
use crate::event::SndLim;

/// Presets of models that do not pace.
const UNPACED: [&str; 2] = ["inet-2025", "inet-now"];

/// Octets of the client's packets that leave at the end of a pause after a transfer of 1 MB, at
/// that instant and within a millisecond; the bound at that instant, and the window.
fn after_a_pause(config: Config, delay: Duration, pause: Duration) -> ([u64; 2], SndLim, u64) {
    const TRANSFER: u32 = 1_000_000;
    let mut pair = Pair::started(config);
    pair.delay = delay;
    pair.run_for(Duration::from_secs(1));
    let now = pair.now;
    pair.client.write(now, Payload::of_len(TRANSFER)).unwrap();
    pair.exchange();
    while pair.client.streams.unsent() > 0 || pair.client.bytes_in_flight > 0 {
        let next = pair.next_at();
        pair.run_until(next);
    }
    pair.run_for(pause);
    let now = pair.now;
    pair.client.write(now, Payload::of_len(TRANSFER)).unwrap();
    pair.sizes.clear();
    pair.exchange();
    let sent = |pair: &Pair| pair.sizes.iter().map(|size| u64::from(*size)).sum();
    let at_once = sent(&pair);
    let (bound, window) = (pair.client.bound(), pair.client.controller.window());
    pair.run_for(millis(1));
    ([at_once, sent(&pair)], bound, window)
}

#[test]
fn no_more_than_the_initial_window_leaves_at_once_after_a_pause() {
    for preset in Config::NAMES.iter().filter(|name| !UNPACED.contains(name)) {
        for entry in window::REGISTRY {
            for (delay, pause) in [(10, 200), (30, 1000), (30, 30_000), (100, 100_000)] {
                let mut config = Config::named(preset).unwrap();
                config.controller = entry;
                let initial_window = config.window().initial_window();
                let (sent, bound, window) = after_a_pause(config, millis(delay), millis(pause));
                let case = format!("{preset} {} {delay} {pause}: {sent:?}", entry.name);
                // RFC 9002 §7.7. BBR may send a millisecond of its rate at once, at most 64 KB
                // (draft-bbr §5.6.3).
                let most = match entry.name {
                    "bbr" | "bbr1" => 64 * 1024,
                    _ => initial_window,
                };
                assert!(sent[0] <= most, "{case}");
                // No window exceeds twice the megabyte that was sent, so that a millisecond is at
                // most 1.25 (Copa and BBR: 2.77, BBRv1: 2.89) times that over a round trip of two
                // delays.
                let in_a_millisecond = 2_890_000 * 2 / (2 * delay);
                assert!(sent[1] <= most + in_a_millisecond, "{case}");
                let has_room = window >= sent[0] + 1252;
                let expected = if has_room {
                    SndLim::Pacer
                } else {
                    SndLim::Window
                };
                assert_eq!(bound, expected, "{case}");
            }
        }
    }
}

#[test]
fn a_model_without_pacing_sends_its_window_at_once() {
    for preset in UNPACED {
        let config = Config::named(preset).unwrap();
        let (sent, bound, _) = after_a_pause(config, millis(30), millis(30_000));
        assert!(sent[0] > 500_000, "{preset}: {sent:?}");
        assert_ne!(bound, SndLim::Pacer, "{preset}");
    }
}

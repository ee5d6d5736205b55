//! The behaviour of a sender while a path is down.

use super::*;
use crate::cc::window::REGISTRY;
use crate::event::Limit;

/// The window after a timeout: the loss window of one segment (RFC 5681 §3.1) for every controller
/// that has a rule for it, BBR included (draft-bbr §5.6.4.4: one more than the segments in flight,
/// which are none). For TFRC a timeout is a loss event (RFC 5348 §5.2), and its window is at least
/// two; the measurements determine which rule of its rate binds.
fn expected(name: &str) -> (u64, Option<Limit>) {
    match name {
        "tfrc" => (2, None),
        _ => (1, Some(Limit::Timeout)),
    }
}

#[test]
fn a_timeout_leaves_one_segment_to_every_controller() {
    for entry in REGISTRY {
        for rules in Config::NAMES {
            let config = Config::named(rules).unwrap();
            let mut bench = Bench::open_with(config, entry.name, false);
            let mut now = 100;
            for _ in 0..4 {
                bench.sent(now);
                now += 100;
                let all = bench.sender.scoreboard.high_data() / MSS;
                bench.ack(now, all, &[]);
            }
            bench.sent(now);
            while bench.sender.statistics().timeouts == 0 {
                now = bench.expire();
                if bench.sender.statistics().timeouts == 0 {
                    // The time is rounded down, and a pacer's time is not a whole millisecond.
                    bench.sent(now + 1);
                }
            }
            let controller = &bench.sender.controller;
            let (segments, limit) = expected(entry.name);
            assert_eq!(
                controller.window() / MSS,
                segments,
                "{} {rules}",
                entry.name
            );
            let found = controller.report().limit;
            assert!(
                limit.is_none_or(|limit| found == limit),
                "{} {found:?}",
                entry.name
            );
        }
    }
}

#[test]
fn timeouts_come_no_rarer_than_rto_max_and_the_connection_lives_for_100_seconds() {
    // RFC 6298 §2.5: the maximum; RFC 9293 §3.8.3: R2 is at least 100 s, however many expiries.
    for rto_max in [1000, 2000, 5000] {
        let config = Config {
            rto_max: MS(rto_max),
            ..Config::named("linux").unwrap()
        };
        let mut bench = Bench::open_with(config, "newreno", false);
        bench.sent(100);
        let mut expiries = vec![];
        while bench.sender.state == State::Established {
            let before = bench.sender.statistics().timeouts;
            let now = bench.expire();
            bench.sent(now);
            if bench.sender.statistics().timeouts > before || now > 90_000 {
                expiries.push(now);
            }
        }
        let gaps = expiries.windows(2).map(|pair| pair[1] - pair[0]);
        assert_eq!(gaps.max(), Some(rto_max));
        let span = expiries[expiries.len() - 1] - expiries[0];
        assert!((100_000..100_000 + rto_max).contains(&span), "{span}");
    }
}

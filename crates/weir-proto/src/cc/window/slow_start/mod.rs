//! Slow start (RFC 9002 §7.3.1), which all policies share: while cwnd < ssthresh the window grows
//! by the octets acknowledged, which doubles it in a round-trip time. It ends with the first
//! congestion event, or by one of the rules here, which examine delays or delivered octets.
//! [`RapidStart`] grows faster and has a recovery of its own; a rule may end it too.

mod hystart;
mod hystart_plus_plus;
mod rapid_start;
mod search;

use self::hystart::HyStart;
use self::hystart_plus_plus::HyStartPlusPlus;
pub(super) use self::rapid_start::RapidStart;
use self::search::Search;
use super::{ControllerRules, Pacing};
use crate::cc::Acked;

/// True while the window is below the threshold; `None` is an infinite threshold.
#[inline]
pub(super) const fn applies(cwnd: u64, ssthresh: Option<u64>) -> bool {
    match ssthresh {
        Some(threshold) => cwnd < threshold,
        None => true,
    }
}

/// The rule that ends slow start, beside a congestion event.
#[derive(Clone, Debug)]
pub(super) enum SlowStart {
    /// No rule.
    Standard,
    /// Linux's HyStart.
    HyStart(HyStart),
    /// HyStart++ (RFC 9406).
    HyStartPlusPlus(HyStartPlusPlus),
    /// SEARCH.
    Search(Box<Search>),
}

/// A window in slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlowWindow {
    /// Its size in octets.
    pub(super) octets: u64,
    /// The size of the largest packet in octets.
    pub(super) packet: u64,
    /// It is the first slow start: there has been no congestion event.
    pub(super) first: bool,
}

/// The effect of an acknowledgement in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Growth {
    /// The window after it in octets.
    pub(super) window: u64,
    /// Slow start ends at this window.
    pub(super) ends: bool,
}

impl SlowStart {
    /// The rule that the settings select; `hystart` is true if the policy supports Linux's HyStart.
    pub(super) fn new(rules: &ControllerRules, hystart: bool) -> Self {
        if rules.search {
            Self::Search(Box::default())
        } else if rules.hystart_plus_plus {
            Self::HyStartPlusPlus(HyStartPlusPlus::default())
        } else if rules.hystart && hystart && !rules.rapid_start {
            Self::HyStart(HyStart::default())
        } else {
            Self::Standard
        }
    }

    /// Octets were delivered, whether or not the window may grow.
    #[inline]
    pub(super) fn on_delivered(&mut self, octets: u64) {
        if let Self::Search(search) = self {
            search.on_delivered(octets);
        }
    }

    /// A packet was acknowledged in slow start.
    pub(super) fn on_ack(
        &mut self,
        acked: &Acked,
        window: SlowWindow,
        rules: &ControllerRules,
    ) -> Growth {
        let grown = window.octets.saturating_add(acked.bytes);
        match self {
            Self::HyStart(hystart) => Growth {
                window: grown,
                ends: hystart.on_ack(acked, grown / window.packet),
            },
            Self::HyStartPlusPlus(hystart) if window.first => {
                let paces = rules.pacing != Pacing::Off || rules.rapid_start;
                let packet = (!paces).then_some(window.packet);
                let (octets, ends) = hystart.on_ack(acked, packet);
                Growth {
                    window: window.octets.saturating_add(octets),
                    ends,
                }
            }
            Self::Search(search) if window.first => match search.on_ack(acked) {
                Some(overshoot) => Growth {
                    window: grown.saturating_sub(overshoot).max(2 * window.packet),
                    ends: true,
                },
                None => Growth {
                    window: grown,
                    ends: false,
                },
            },
            _ => Growth {
                window: grown,
                ends: false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Rtt;
    use crate::time::{Duration, Instant};

    const PACKET: u64 = 1000;

    fn window(octets: u64, first: bool) -> SlowWindow {
        SlowWindow {
            octets,
            packet: PACKET,
            first,
        }
    }

    fn acked(now_ms: u64, rtt_ms: u64) -> Acked {
        Acked {
            now: Instant::ZERO + Duration::from_millis(now_ms),
            bytes: PACKET,
            rtt: Rtt {
                latest: Duration::from_millis(rtt_ms),
                min: Duration::from_millis(100),
                ..Rtt::default()
            },
            ..Acked::default()
        }
    }

    #[test]
    fn the_rules_choose_what_ends_slow_start_and_hystart_needs_a_policy_that_takes_it() {
        // Rapid Start takes the place of HyStart and goes on beside the others.
        let rapid = |rules| ControllerRules {
            rapid_start: true,
            ..rules
        };
        let rules = |hystart, hystart_plus_plus, search| ControllerRules {
            hystart,
            hystart_plus_plus,
            search,
            ..ControllerRules::OFF
        };
        for (rules, takes_it, chosen) in [
            (rules(false, false, false), true, "Standard"),
            (rules(true, false, false), false, "Standard"),
            (rules(true, false, false), true, "HyStart("),
            (rules(true, true, false), true, "HyStartPlusPlus"),
            (rules(true, true, true), true, "Search"),
            (rapid(rules(true, false, false)), true, "Standard"),
            (rapid(rules(true, true, false)), true, "HyStartPlusPlus"),
            (rapid(rules(true, true, true)), true, "Search"),
        ] {
            let found = format!("{:?}", SlowStart::new(&rules, takes_it));
            assert!(found.starts_with(chosen), "{chosen}: {found}");
        }
    }

    #[test]
    fn hystart_counts_the_window_after_the_acknowledgement_in_packets() {
        // hystart_low_window = 16; eight samples of 113 ms on a path of 100 ms.
        for (octets, ends) in [(15_000, true), (14_999, false)] {
            let mut slow_start = SlowStart::HyStart(HyStart::default());
            let mut on_ack = |n: u64| {
                let acked = acked(1000 + 3 * n, 113);
                slow_start.on_ack(&acked, window(octets, true), &ControllerRules::OFF)
            };
            let last = (0..8).map(&mut on_ack).last().expect("eight");
            let window = octets + PACKET;
            assert_eq!(last, Growth { window, ends });
        }
    }

    #[test]
    fn hystart_plus_plus_limits_the_first_slow_start_of_a_sender_that_does_not_pace() {
        // RFC 9406 §4.3: L = 8 packets for each acknowledgement, only in the first slow start.
        // Rapid Start paces.
        for (pacing, rapid_start, first, grown) in [
            (Pacing::Off, false, true, 8000),
            (Pacing::Linux, false, true, 12_000),
            (Pacing::Off, true, true, 12_000),
            (Pacing::Off, false, false, 12_000),
        ] {
            let mut slow_start = SlowStart::HyStartPlusPlus(HyStartPlusPlus::default());
            let acked = Acked {
                bytes: 12 * PACKET,
                ..acked(100, 100)
            };
            let rules = ControllerRules {
                rapid_start,
                pacing,
                ..ControllerRules::OFF
            };
            let growth = slow_start.on_ack(&acked, window(10_000, first), &rules);
            assert_eq!(growth.window, 10_000 + grown, "{pacing:?} {first}");
        }
    }

    #[test]
    fn search_takes_back_what_was_too_much_down_to_two_packets() {
        // A packet in each bin of 35 ms: the octets should double but do not, and the last five
        // packets were too much. Bin 14 is the first with a window a round-trip time (two bins and
        // 30/35) before it.
        for (octets, first, window_after) in [
            (50_000, true, Some(46_000)),
            (1000, true, Some(2000)),
            (50_000, false, None),
        ] {
            let mut slow_start = SlowStart::Search(Box::default());
            let end = (0..60).find_map(|n| {
                let acked = acked(36 * n, 100);
                slow_start.on_delivered(acked.bytes);
                let growth =
                    slow_start.on_ack(&acked, window(octets, first), &ControllerRules::OFF);
                growth.ends.then_some(growth.window)
            });
            assert_eq!(end, window_after, "{octets} {first}");
        }
    }
}

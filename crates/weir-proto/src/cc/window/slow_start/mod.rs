//! Slow start (RFC 9002 §7.3.1), which all policies share: while cwnd < ssthresh the window grows
//! by the octets acknowledged, which doubles it in a round-trip time. The first congestion event
//! ends it, or one of the rules here that look at delays or at what arrives.

mod hystart;
mod hystart_plus_plus;
mod search;

use self::hystart::HyStart;
use self::hystart_plus_plus::HyStartPlusPlus;
use self::search::Search;
use super::{Pacing, Rules};
use crate::cc::Acked;

/// True while the window is below the threshold; `None` is an infinite threshold.
#[inline]
pub(super) const fn applies(cwnd: u64, ssthresh: Option<u64>) -> bool {
    match ssthresh {
        Some(threshold) => cwnd < threshold,
        None => true,
    }
}

/// What ends slow start beside a congestion event.
#[derive(Clone, Debug)]
pub(super) enum SlowStart {
    /// Nothing.
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
    /// Its octets.
    pub(super) octets: u64,
    /// The octets of the largest packet.
    pub(super) packet: u64,
    /// It is the first slow start: there has been no congestion event.
    pub(super) first: bool,
}

/// What an acknowledgement does in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Growth {
    /// The window after it in octets.
    pub(super) window: u64,
    /// Slow start ends at this window.
    pub(super) ends: bool,
}

impl SlowStart {
    /// What the rules ask for; `hystart` says whether the policy takes Linux's.
    pub(super) fn new(rules: &Rules, hystart: bool) -> Self {
        if rules.search {
            Self::Search(Box::default())
        } else if rules.hystart_plus_plus {
            Self::HyStartPlusPlus(HyStartPlusPlus::default())
        } else if rules.hystart && hystart {
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
    pub(super) fn on_ack(&mut self, acked: &Acked, window: SlowWindow, rules: &Rules) -> Growth {
        let grown = window.octets.saturating_add(acked.bytes);
        match self {
            Self::HyStart(hystart) => Growth {
                window: grown,
                ends: hystart.on_ack(acked, grown / window.packet),
            },
            Self::HyStartPlusPlus(hystart) if window.first => {
                let packet = (rules.pacing == Pacing::Off).then_some(window.packet);
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

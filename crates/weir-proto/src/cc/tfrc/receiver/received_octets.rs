//! X_recv, the rate at which data arrived (RFC 5348 §6.2):
//!
//!   X_recv = octets received in t / t,   t = max(R, time since the last feedback)
//!
//! If R is so long that all remembered feedbacks are less than R ago, X_recv covers the time since
//! the oldest of them.

use super::super::profile::{Arithmetic, Profile, ReceiveRateRule};
use crate::time::{Duration, Instant};

/// The feedbacks kept, to find one that is a round-trip time old: one for each round trip, and
/// those of loss events.
const SAMPLES: usize = 8;

/// The octets received up to a feedback.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    octets: u64,
}

/// The octets received, now and up to each of the latest feedbacks.
#[derive(Clone, Debug)]
pub(super) struct ReceivedOctets {
    octets: u64,
    /// The newest first; the first `known` entries are feedbacks.
    samples: [Sample; SAMPLES],
    known: u8,
}

impl ReceivedOctets {
    pub(super) const fn new() -> Self {
        let none = Sample {
            at: Instant::ZERO,
            octets: 0,
        };
        Self {
            octets: 0,
            samples: [none; SAMPLES],
            known: 0,
        }
    }

    /// A packet with `payload` octets of payload arrived.
    pub(super) const fn add(&mut self, payload: u32) {
        self.octets = self.octets.saturating_add(payload as u64);
    }

    /// Feedback leaves.
    pub(super) fn on_feedback(&mut self, now: Instant) {
        self.samples.rotate_right(1);
        self.samples[0] = Sample {
            at: now,
            octets: self.octets,
        };
        self.known = (self.known + 1).min(SAMPLES as u8);
    }

    /// True once feedback has left.
    pub(super) const fn any_feedback(&self) -> bool {
        self.known > 0
    }

    /// X_recv now, in octets per second, with R.
    pub(super) fn rate(&self, profile: &Profile, rtt: Option<Duration>, now: Instant) -> f64 {
        let least = match profile.receive_rate {
            ReceiveRateRule::SinceFeedback => Duration::ZERO,
            ReceiveRateRule::AtLeastRoundTrip => rtt.unwrap_or(Duration::ZERO),
        };
        let samples = &self.samples[..usize::from(self.known)];
        // RFC 5348 §6.2: since the latest feedback that is at least R ago.
        let old_enough = samples.iter().find(|sample| now.since(sample.at) >= least);
        let Some(sample) = old_enough.or_else(|| samples.last()) else {
            return 0.0;
        };
        let octets = self.octets.saturating_sub(sample.octets);
        // Before the first feedback no octets were received, so t can be R. The octets before the
        // oldest of a full set are not known, so t is the time since that feedback.
        let forgotten = old_enough.is_none() && samples.len() == SAMPLES;
        let least = if forgotten { Duration::ZERO } else { least };
        let span = now
            .since(sample.at)
            .max(least)
            .max(Duration::from_micros(1));
        match profile.arithmetic {
            Arithmetic::Float => octets as f64 / span.as_secs_f64(),
            Arithmetic::KernelIntegers => {
                let micros = u128::from(span.as_micros());
                (u128::from(octets) * 1_000_000 / micros) as f64
            }
        }
    }
}

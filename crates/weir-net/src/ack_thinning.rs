//! Thinning of acknowledgements: of the small packets of a flow a link delivers only every n-th, as
//! modems and radios do to save capacity on a slow return path.
//!
//! The network does not look into packets: a packet of at most `largest` octets counts as an
//! acknowledgement without data. One of a flow passes if it is the n-th since the last that passed,
//! or if none has passed for `gap`, so that handshakes and flows with few packets in flight
//! proceed. Devices that hold the newest acknowledgement and replace it lose none at the end of a
//! burst; here the last one may be dropped, and the sender recovers by its timer.

use weir_proto::packet::FlowId;
use weir_proto::settings::{Form, Keyword, bytes, count, or_table};
use weir_proto::time::{Duration, Instant};

/// Thinning that a link may have: `{ kind = "none" }` or `{ kind = "every", … }`.
pub const fn ack_thinning() -> impl Form<Option<AckThinningConfig>> {
    or_table(
        Keyword {
            word: "none",
            doc: "Every acknowledgement passes.",
        },
        Keyword {
            word: "every",
            doc: "Each `n`-th acknowledgement of a flow passes.",
        },
    )
}

weir_proto::settings! {
    /// Lets each n-th acknowledgement of a flow pass, and drops those between.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AckThinningConfig {
        /// Of so many acknowledgements in a row one passes.
        pub n: u64 [required] = 2 => count(1..=1_000_000, "packets"),
        /// The largest packet that counts as an acknowledgement without data, in bytes.
        pub largest: u32 = 100 => bytes(1..=65_535),
        /// One passes anyhow if none of its flow has passed for so long.
        pub gap: Duration = Duration::from_millis(10),
    }
}

/// The acknowledgements of a flow since the last that passed.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    passed_at: Option<Instant>,
    since: u64,
}

/// Thins the acknowledgements on a link.
#[derive(Debug)]
pub(crate) struct AckThinning {
    config: AckThinningConfig,
    /// By flow.
    seen: Vec<Seen>,
}

impl AckThinning {
    pub(crate) const fn new(config: AckThinningConfig) -> Self {
        Self {
            config,
            seen: Vec::new(),
        }
    }

    /// True if the packet of this size passes.
    pub(crate) fn passes(&mut self, now: Instant, flow: FlowId, size: u32) -> bool {
        if size > self.config.largest {
            return true;
        }
        let flow = flow.0 as usize;
        if self.seen.len() <= flow {
            self.seen.resize(flow + 1, Seen::default());
        }
        let seen = &mut self.seen[flow];
        seen.since += 1;
        let is_quiet = seen
            .passed_at
            .is_none_or(|at| now.since(at) >= self.config.gap);
        let passes = is_quiet || seen.since >= self.config.n;
        if passes {
            *seen = Seen {
                passed_at: Some(now),
                since: 0,
            };
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nth_of_a_flow_passes_and_one_after_a_gap() {
        let config = AckThinningConfig {
            n: 3,
            ..AckThinningConfig::default()
        };
        let mut thinning = AckThinning::new(config);
        let mut passes = |millis, flow, size| {
            let now = Instant::ZERO + Duration::from_millis(millis);
            thinning.passes(now, FlowId(flow), size)
        };
        // The first packet passes, then every third after it; each flow is counted separately.
        let row: Vec<_> = (0..7).map(|n| passes(n, 5, 60)).collect();
        assert_eq!(row, [true, false, false, true, false, false, true]);
        assert!(passes(7, 1, 100), "the first of another flow");
        assert!(!passes(15, 5, 100));
        assert!(
            passes(16, 5, 40),
            "ten milliseconds after the last that passed"
        );
        assert!(!passes(17, 5, 40));
        assert!(passes(17, 5, 101), "a larger packet is data");
        assert!(!passes(18, 5, 40), "and does not count");
        assert!(passes(18, 5, 40));
    }
}

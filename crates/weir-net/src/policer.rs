//! A policer, as tc-police(8): a token bucket that drops packets above its rate instead of delaying
//! them as a shaper does.
//!
//! Tokens accumulate at `rate` up to `burst` octets. A packet passes and takes tokens if there are
//! enough for all of it; otherwise it is dropped at once and takes none. Sizes count from the IP
//! header on plus `overhead`.

use crate::shaper::{TokenBucket, TokenBucketConfig};
use weir_proto::settings::{Form, Keyword, bit_rate, bytes, or_table};

/// A policer that a link may have: `{ kind = "none" }` or `{ kind = "police", … }`.
pub const fn policer() -> impl Form<Option<PolicerConfig>> {
    or_table(
        Keyword {
            word: "none",
            doc: "Packets enter the queue as fast as they come.",
        },
        Keyword {
            word: "police",
            doc: "A token bucket that drops, as tc's police: `rate`, `burst`.",
        },
    )
}

weir_proto::settings! {
    /// A token bucket that drops packets for which it has no tokens, in the words of tc-police(8).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PolicerConfig {
        /// Bits per second.
        pub rate: u64 [required] => bit_rate(),
        /// Bytes that may pass at once; a larger packet never passes.
        pub burst: u64 [required] => bytes(1..=1 << 50),
        /// Bytes that each packet counts beyond its IP size: 14 on Ethernet.
        pub overhead: u32 => bytes(0..=1000),
    }
}

impl PolicerConfig {
    /// The token bucket, full.
    pub(crate) fn bucket(self) -> TokenBucket {
        TokenBucket::new(TokenBucketConfig {
            rate: self.rate,
            burst: self.burst,
            overhead: self.overhead,
            ..TokenBucketConfig::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_proto::time::{Duration, Instant};

    #[test]
    fn drops_what_finds_too_few_tokens_and_takes_none_for_it() {
        // 1 Mbit/s is 125 octets per millisecond. Of three packets of 1500 octets at once, two pass
        // within the burst of 3000; 12 ms later there are tokens for one, and the drops took none.
        let config = PolicerConfig {
            rate: 1_000_000,
            burst: 3000,
            overhead: 0,
        };
        for (overhead, passes) in [
            (
                0,
                [true, true, false, false, true, false, true, true, false],
            ),
            (
                1,
                [true, false, false, true, false, false, true, false, false],
            ),
        ] {
            let mut bucket = PolicerConfig { overhead, ..config }.bucket();
            let times = [0, 0, 0, 11, 12, 12, 100, 100, 100];
            let found = times.map(|millis| {
                let now = Instant::ZERO + Duration::from_millis(millis);
                bucket.takes(now, 1500)
            });
            // With one octet of overhead per packet: 1499 are left at 0, 2874 at 11 ms, 1498 at 12
            // ms.
            assert_eq!(found, passes, "{overhead}");
            assert!(!bucket.takes(Instant::ZERO + Duration::from_secs(9), 3001));
        }
    }
}

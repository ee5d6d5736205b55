//! A token bucket, as Linux's `tbf` (tc-tbf(8)): tokens accumulate at `rate` up to `burst` octets,
//! and the head of the queue may start when there are tokens for all of it; with a peak rate a
//! second bucket of one `mtu` spaces the packets of a burst.
//!
//! Tokens are counted in whole nanobits (bits times 10^9), so that nothing drifts. Sizes count from
//! the IP header on plus `overhead`: a qdisc on an Ethernet device counts 14 octets more than IP.
//! Linux drops a packet larger than the bucket on arrival, and so does the link.
//!
//! With `limit` or `latency` the queue in front of the bucket is first in, first out, as tbf's own;
//! without either it is the link's. Under FQ-CoDel, whose next packet is known only at dequeue, the
//! bucket waits for tokens for the largest packet seen and charges the actual size.

use weir_proto::settings::{Form, Keyword, bit_rate, bytes, natural, or_table, or_word};
use weir_proto::time::{Duration, Instant};

const NANO: u128 = 1_000_000_000;

/// A shaper that a link may have: `{ kind = "none" }` or `{ kind = "tbf", … }`.
pub const fn shaper() -> impl Form<Option<TokenBucketConfig>> {
    or_table(
        Keyword {
            word: "none",
            doc: "Packets start as soon as the transmitter is free.",
        },
        Keyword {
            word: "tbf",
            doc: "A token bucket as Linux's tbf: `rate`, `burst`, `limit`, `peakrate`.",
        },
    )
}

weir_proto::settings! {
    /// A token bucket and the limit of the queue in front of it, in the words of tc-tbf(8).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct TokenBucketConfig {
        /// Bits per second.
        pub rate: u64 [required] => bit_rate(),
        /// Bytes that may leave at once; a larger packet never passes.
        pub burst: u64 [required] => bytes(1..=MAX_OCTETS),
        /// The most bytes that wait for tokens; or write `latency`.
        pub limit: Option<u64> => or_word("by_latency", bytes(1..=MAX_OCTETS)),
        /// In place of `limit`: the longest time that a packet waits for tokens.
        pub latency: Option<Duration> => or_word("by_limit", natural()),
        /// Bits per second within a burst.
        pub peakrate: Option<u64> => or_word("unlimited", bit_rate()),
        /// Bytes of one step at the peak rate: tc's mtu of tbf.
        pub peakmtu: u64 = PEAK_MTU => bytes(1..=MAX_OCTETS),
        /// Bytes that each packet counts beyond its IP size: 14 on Ethernet.
        pub overhead: u32 => bytes(0..=1000),
    }
    normalise = |bucket: &mut TokenBucketConfig| if bucket.peakrate.is_none() {
        bucket.peakmtu = PEAK_MTU;
    };
}

/// The bucket of the peak rate if the scenario does not give one, or sets no peak rate.
const PEAK_MTU: u64 = 1540;

const MAX_OCTETS: u64 = 1 << 50;

impl TokenBucketConfig {
    /// The most octets that wait, first in, first out; `None` if neither `limit` nor `latency` is
    /// set. A latency is converted to the octets that the bucket passes in that time plus its
    /// burst, as tc does.
    pub fn queue_limit(&self) -> Option<u64> {
        let within = |latency: Duration| {
            let bits = u128::from(self.rate) * u128::from(latency.as_nanos());
            let octets = u64::try_from(bits / 8_000_000_000).unwrap_or(u64::MAX);
            octets.saturating_add(self.burst)
        };
        self.limit.or(self.latency.map(within))
    }
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: u128,
    depth: u128,
    tokens: u128,
}

impl Bucket {
    fn full(rate: u64, octets: u64) -> Self {
        let depth = u128::from(octets) * 8 * NANO;
        Self {
            rate: u128::from(rate.max(1)),
            depth,
            tokens: depth,
        }
    }

    /// Nanoseconds until the bucket is full.
    fn missing_nanos(&self) -> u64 {
        self.wait_for(self.depth)
    }

    fn fill(&mut self, nanos: u64) {
        self.tokens = self.depth.min(self.tokens + u128::from(nanos) * self.rate);
    }

    /// Nanoseconds until there are tokens for this many nanobits.
    fn wait_for(&self, need: u128) -> u64 {
        let missing = need.min(self.depth).saturating_sub(self.tokens);
        u64::try_from(missing.div_ceil(self.rate)).unwrap_or(u64::MAX)
    }
}

/// The state of a token bucket, which is full initially.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    bucket: Bucket,
    peak: Option<Bucket>,
    overhead: u32,
    filled_at: Instant,
    /// The time during which tokens were missing, up to `filled_at`.
    busy_nanos: u64,
}

impl TokenBucket {
    pub(crate) fn new(config: TokenBucketConfig) -> Self {
        let step = |rate| Bucket::full(rate, config.peakmtu);
        Self {
            bucket: Bucket::full(config.rate, config.burst),
            peak: config.peakrate.map(step),
            overhead: config.overhead,
            filled_at: Instant::ZERO,
            busy_nanos: 0,
        }
    }

    /// Changes the rate of tokens from now on.
    pub(crate) fn set_rate(&mut self, now: Instant, rate: u64) {
        self.fill(now);
        self.bucket.rate = u128::from(rate.max(1));
    }

    /// Adds the tokens up to `now`.
    fn fill(&mut self, now: Instant) {
        let nanos = now.since(self.filled_at).as_nanos();
        self.filled_at = self.filled_at.max(now);
        self.busy_nanos += nanos.min(self.bucket.missing_nanos());
        self.bucket.fill(nanos);
        if let Some(peak) = &mut self.peak {
            peak.fill(nanos);
        }
    }

    /// The time during which tokens were missing up to `now`: the octets passed divided by the
    /// rate, minus what is left to refill. At full rate it is the whole time.
    pub(crate) fn busy(&self, now: Instant) -> Duration {
        let nanos = now.since(self.filled_at).as_nanos();
        Duration::from_nanos(self.busy_nanos + nanos.min(self.bucket.missing_nanos()))
    }

    fn need(&self, size: u32) -> u128 {
        (u128::from(size) + u128::from(self.overhead)) * 8 * NANO
    }

    /// True if a packet of this size can ever pass.
    pub(crate) fn fits(&self, size: u32) -> bool {
        let need = self.need(size);
        need <= self.bucket.depth && self.peak.is_none_or(|peak| need <= peak.depth)
    }

    /// The earliest start of a packet of this size by the tokens.
    pub(crate) fn ready_at(&self, size: u32) -> Instant {
        let need = self.need(size);
        let wait = self.bucket.wait_for(need);
        let wait = wait.max(self.peak.map_or(0, |peak| peak.wait_for(need)));
        self.filled_at + Duration::from_nanos(wait)
    }

    /// Takes tokens for a packet of this size, if there are enough now, as a policer does.
    pub(crate) fn takes(&mut self, now: Instant, size: u32) -> bool {
        let has = self.fits(size) && self.ready_at(size) <= now;
        if has {
            self.on_start(now, size);
        }
        has
    }

    /// The transmission of a packet of this size starts.
    pub(crate) fn on_start(&mut self, now: Instant, size: u32) {
        self.fill(now);
        let need = self.need(size);
        self.bucket.tokens = self.bucket.tokens.saturating_sub(need);
        if let Some(peak) = &mut self.peak {
            peak.tokens = peak.tokens.saturating_sub(need);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Start times in microseconds of packets that all wait since time zero.
    fn starts(config: TokenBucketConfig, sizes: &[u32]) -> Vec<u64> {
        let mut bucket = TokenBucket::new(config);
        let mut now = Instant::ZERO;
        sizes
            .iter()
            .map(|&size| {
                now = now.max(bucket.ready_at(size));
                bucket.on_start(now, size);
                now.as_nanos() / 1_000
            })
            .collect()
    }

    fn tbf() -> TokenBucketConfig {
        TokenBucketConfig {
            rate: 1_000_000,
            burst: 10_000,
            ..TokenBucketConfig::default()
        }
    }

    #[test]
    fn lets_a_burst_pass_and_then_keeps_the_rate() {
        // `tbf rate 1000kbit burst 10000`: six packets of 1500 octets at once leave 1000 octets of
        // tokens; the seventh waits for 500 (4 ms), each later one for 1500 (12 ms).
        let times = starts(tbf(), &[1500; 10]);
        assert_eq!(times, [0, 0, 0, 0, 0, 0, 4_000, 16_000, 28_000, 40_000]);
    }

    #[test]
    fn the_peak_rate_spaces_a_burst() {
        let config = TokenBucketConfig {
            peakrate: Some(2_000_000),
            peakmtu: 1_500,
            ..tbf()
        };
        assert_eq!(starts(config, &[1500; 4]), [0, 6_000, 12_000, 18_000]);
    }

    #[test]
    fn a_bucket_is_busy_while_tokens_are_missing() {
        // 1 Mbit/s: the tokens of a packet of 1500 octets take 12 ms.
        let mut bucket = TokenBucket::new(tbf());
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let busy = |bucket: &TokenBucket, millis| bucket.busy(at(millis)).as_nanos() / 1_000_000;
        assert_eq!(busy(&bucket, 50), 0);
        bucket.on_start(at(50), 1500);
        bucket.on_start(at(50), 1500);
        assert_eq!(busy(&bucket, 60), 10);
        assert_eq!(busy(&bucket, 90), 24);
        // At half the rate from 100 ms on: 12 ms of tokens take 24 ms.
        bucket.on_start(at(88), 1500);
        bucket.set_rate(at(100), 500_000);
        bucket.on_start(at(100), 1500);
        assert_eq!(busy(&bucket, 112), 24 + 12 + 12);
        assert_eq!(busy(&bucket, 200), 24 + 12 + 24);
    }

    #[test]
    fn tokens_do_not_exceed_the_burst_and_never_drift() {
        let config = TokenBucketConfig {
            rate: 3,
            burst: 100,
            ..tbf()
        };
        let mut bucket = TokenBucket::new(config);
        bucket.on_start(Instant::ZERO, 100);
        for octets in 1..=300_u64 {
            let at = bucket.ready_at(1);
            // There are tokens for the n-th octet after exactly ceil(8 n / 3) seconds.
            assert_eq!(at.as_nanos(), (octets * 8 * 1_000_000_000).div_ceil(3));
            bucket.on_start(at, 1);
        }
        let later = Instant::ZERO + Duration::from_secs(1_000_000);
        bucket.on_start(later, 0);
        assert_eq!(bucket.ready_at(100), later);
        assert!(!bucket.fits(101) && bucket.fits(100));
    }
}

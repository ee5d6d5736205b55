//! Too many Requests: a filter in the kernel that lets only a share of them in.
//!
//! What a flood costs is not the answers, which cookies make cheap, but the socket's queue: a
//! sender that is faster than the listener reads keeps it full, and the packets of connections are
//! lost with those of the flood. So when more Requests come than the options allow, a classic BPF
//! program drops them at random before they are queued. Other packets pass. A client whose Request
//! was dropped asks again after a second, so it comes in as soon as its luck allows.
//!
//! Without such filters, away from Linux, the surplus is dropped here, after the queue.

use crate::limits::Bucket;
use weir_proto::time::{Duration, Instant};

/// After a narrowing the queue is given this long to show its effect.
const PATIENCE: Duration = Duration::from_millis(2);
/// How long few Requests must come until more are let in.
const CALM: Duration = Duration::from_millis(100);
/// No less than one in four thousand is let in.
const NARROWEST: u32 = 12;

/// How many Requests are let in.
#[derive(Debug)]
pub(crate) struct Sieve {
    bucket: Bucket,
    rate: u32,
    /// One in two to the power of this passes the kernel's filter.
    width: u32,
    changed: Instant,
    /// Requests since the last change or look.
    seen: u32,
    /// Some of them were too many.
    dry: bool,
}

impl Sieve {
    /// For so many Requests a second.
    pub(crate) fn new(rate: u32, now: Instant) -> Self {
        Self {
            bucket: Bucket::new(rate, (rate / 100).max(1), now),
            rate,
            width: 0,
            changed: now,
            seen: 0,
            dry: false,
        }
    }

    /// A Request has come; true if it is not one too many.
    pub(crate) fn admit(&mut self, now: Instant) -> bool {
        self.seen = self.seen.saturating_add(1);
        let admitted = self.bucket.take(now);
        self.dry |= !admitted;
        admitted
    }

    /// In so many nanoseconds it must be looked at again, even if nothing comes.
    pub(crate) fn patience(&self) -> u64 {
        if self.width > 0 {
            CALM.as_nanos()
        } else {
            u64::MAX
        }
    }

    /// The width that the kernel's filter must have from now on, if it must change.
    pub(crate) fn adjust(&mut self, now: Instant) -> Option<u32> {
        let since = now.since(self.changed);
        let before = self.width;
        if self.dry && since >= PATIENCE {
            self.width = (before + 2).min(NARROWEST);
        } else if before > 0 && since >= CALM {
            let few = f64::from(self.rate) * since.as_secs_f64() / 4.0;
            self.width -= u32::from(f64::from(self.seen) < few);
        } else {
            return None;
        }
        (self.changed, self.seen, self.dry) = (now, 0, false);
        (self.width != before).then_some(self.width)
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod filter {
    use socket2::{SockFilter, SockRef};
    use std::io;

    /// The kernel's random number (SKF_AD_OFF + SKF_AD_RANDOM).
    const RANDOM: u32 = 0xffff_f000 + 56;
    /// Octets of the UDP header, which the program sees first, and of DCCP's before its type.
    const TYPE_AT: u32 = 8 + 8;

    /// Lets one Request in two to the power of `width` pass.
    pub(crate) fn attach(socket: &SockRef<'_>, width: u32) -> io::Result<()> {
        if width == 0 {
            return socket.detach_filter();
        }
        let below = 1 << 32_u32.saturating_sub(width);
        socket.attach_filter(&[
            // A type of zero, between Res and X, is a Request.
            SockFilter::new(0x30, 0, 0, TYPE_AT),
            SockFilter::new(0x54, 0, 0, 0x1e),
            SockFilter::new(0x15, 0, 2, 0),
            SockFilter::new(0x20, 0, 0, RANDOM),
            SockFilter::new(0x35, 1, 0, below),
            SockFilter::new(0x06, 0, 0, u32::MAX),
            SockFilter::new(0x06, 0, 0, 0),
        ])
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod filter {
    use socket2::SockRef;
    use std::io;

    /// There is none.
    pub(crate) fn attach(_socket: &SockRef<'_>, _width: u32) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) use filter::attach;

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests at this rate for a second, through a filter that works; the mean share that
    /// passes over the second half, and how many are admitted in it.
    fn flood(sieve: &mut Sieve, from: Instant, rate: u32) -> (f64, u32) {
        let (mut passed, mut admitted) = (0.0, 0);
        let mut share = 0.5_f64.powi(sieve.width as i32);
        for number in 0..rate {
            let nanos = 1_000_000_000 / u64::from(rate) * u64::from(number);
            let now = from + Duration::from_nanos(nanos);
            let before = f64::from(number) * share;
            if (before + share).floor() > before.floor() {
                let counts = number >= rate / 2;
                passed += f64::from(u8::from(counts));
                admitted += u32::from(sieve.admit(now) && counts);
            }
            if let Some(width) = sieve.adjust(now) {
                share = 0.5_f64.powi(width as i32);
            }
        }
        (passed / f64::from(rate / 2), admitted)
    }

    #[test]
    fn the_sieve_is_open_below_its_rate_narrow_above_and_opens_again() {
        let start = Instant::from_nanos(1_000_000_000);
        let second = Duration::from_secs(1);
        let mut sieve = Sieve::new(10_000, start);
        assert_eq!(flood(&mut sieve, start, 8_000), (1.0, 4_000));
        let (share, admitted) = flood(&mut sieve, start + second, 1_000_000);
        assert!(share < 0.02, "{share}");
        assert!((1_000..=5_200).contains(&admitted), "{admitted}");
        flood(&mut sieve, start + second * 2, 1_000);
        assert_eq!(flood(&mut sieve, start + second * 3, 8_000), (1.0, 4_000));
    }
}

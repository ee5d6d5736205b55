//! Too many Requests: a filter in the kernel that lets only a share of them in.
//!
//! What a flood costs is not the answers, which cookies make cheap, but the socket's queue: a
//! sender that is faster than the listener reads keeps it full, and the packets of connections are
//! lost with those of the flood. So when Requests come faster than they are read, or more of them
//! than the options allow, a classic BPF program drops them at random before they are queued. Other
//! packets pass. A client whose Request was dropped asks again after a second, so it comes in as
//! soon as its luck allows.
//!
//! A raw socket would get every packet of the protocol that comes to its address; the same program
//! lets only those in that are for the socket's own DCCP port.
//!
//! Without such filters, away from Linux, the surplus is dropped here, after the queue.

use crate::limits::Bucket;
use crate::socket::Socket;
use weir_proto::time::{Duration, Instant};

/// After a narrowing the queue is given this long to show its effect.
const PATIENCE: Duration = Duration::from_millis(2);
/// After so many full reads in a row, most of it Requests, the queue counts as growing.
const STREAK: u32 = 16;
/// Octets of the socket's buffer that these reads may stand for: an eighth of what the kernel
/// charges for small packets, 768 octets each.
const OCTETS_PER_READ: usize = 8 * 768 * Socket::MOST_READS;
/// How long no Request must be too many until more are let in.
const CALM: Duration = Duration::from_millis(25);
/// No less than one in four thousand is let in.
const NARROWEST: u32 = 12;

/// How many Requests are let in.
#[derive(Debug)]
pub(crate) struct Sieve {
    bucket: Bucket,
    longest_streak: u32,
    /// One in two to the power of this passes the kernel's filter.
    width: u32,
    changed: Instant,
    /// Requests in this read.
    read: usize,
    /// Full reads in a row.
    streak: u32,
    /// Since the last change some Requests were too many.
    overrun: bool,
}

impl Sieve {
    /// For so many Requests a second, and a socket's buffer of so many octets.
    pub(crate) fn new(rate: u32, buffer: usize, now: Instant) -> Self {
        let reads = u32::try_from(buffer / OCTETS_PER_READ).unwrap_or(STREAK);
        Self {
            longest_streak: reads.clamp(2, STREAK),
            bucket: Bucket::new(rate, (rate / 100).max(1), now),
            width: 0,
            changed: now,
            read: 0,
            streak: 0,
            overrun: false,
        }
    }

    /// A Request has come; true if it is not one too many.
    pub(crate) fn admit(&mut self, now: Instant) -> bool {
        self.read += 1;
        let admitted = self.bucket.take(now);
        self.overrun |= !admitted;
        admitted
    }

    /// So many packets were read; `full` if there was no room for more of them.
    pub(crate) fn end_read(&mut self, packets: usize, full: bool) {
        let requests = std::mem::take(&mut self.read);
        self.streak = if full && requests * 2 >= packets {
            self.streak.saturating_add(1)
        } else {
            0
        };
        self.overrun |= self.streak >= self.longest_streak;
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
        if self.overrun && since >= PATIENCE {
            self.width = (before + 1).min(NARROWEST);
        } else if !self.overrun && before > 0 && since >= CALM {
            self.width -= 1;
        } else {
            return None;
        }
        (self.changed, self.streak, self.overrun) = (now, 0, false);
        (self.width != before).then_some(self.width)
    }
}

/// Where DCCP begins in what the kernel's program sees of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    /// Behind so many octets.
    At(u32),
    /// Behind an IPv4 header, which may have options.
    BehindIpv4,
}

/// Which packets a socket wants at all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    pub(crate) start: Start,
    /// Those for this DCCP port; `None` for all.
    pub(crate) port: Option<u16>,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod filter {
    use super::{Scope, Start};
    use socket2::{SockFilter, SockRef};
    use std::io;

    /// The kernel's random number (SKF_AD_OFF + SKF_AD_RANDOM).
    const RANDOM: u32 = 0xffff_f000 + 56;
    /// Lets packets pass that are for the port, and of Requests one in two to the power of `width`.
    pub(crate) fn attach(socket: &SockRef<'_>, scope: Scope, width: u32) -> io::Result<()> {
        if width == 0 && scope.port.is_none() {
            return socket.detach_filter();
        }
        let mut program = vec![match scope.start {
            Start::At(octets) => SockFilter::new(0x01, 0, 0, octets),
            // Four times the low half of the first octet.
            Start::BehindIpv4 => SockFilter::new(0xb1, 0, 0, 0),
        }];
        if let Some(port) = scope.port {
            // To the end, if the destination port is another.
            let rest = if width > 0 { 6 } else { 1 };
            program.push(SockFilter::new(0x48, 0, 0, 2));
            program.push(SockFilter::new(0x15, 0, rest, port.into()));
        }
        if width > 0 {
            let below = 1 << 32_u32.saturating_sub(width);
            program.extend([
                // A type of zero, between Res and X, is a Request.
                SockFilter::new(0x50, 0, 0, 8),
                SockFilter::new(0x54, 0, 0, 0x1e),
                SockFilter::new(0x15, 0, 2, 0),
                SockFilter::new(0x20, 0, 0, RANDOM),
                SockFilter::new(0x35, 1, 0, below),
            ]);
        }
        program.push(SockFilter::new(0x06, 0, 0, u32::MAX));
        program.push(SockFilter::new(0x06, 0, 0, 0));
        socket.attach_filter(&program)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod filter {
    use super::Scope;
    use socket2::SockRef;
    use std::io;

    /// There is none.
    pub(crate) fn attach(_socket: &SockRef<'_>, _scope: Scope, _width: u32) -> io::Result<()> {
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
        let mut sieve = Sieve::new(10_000, 1 << 23, start);
        assert_eq!(flood(&mut sieve, start, 8_000), (1.0, 4_000));
        let (share, admitted) = flood(&mut sieve, start + second, 1_000_000);
        assert!(share < 0.03, "{share}");
        assert!((2_000..=5_200).contains(&admitted), "{admitted}");
        flood(&mut sieve, start + second * 2, 1_000);
        assert_eq!(flood(&mut sieve, start + second * 3, 8_000), (1.0, 4_000));
    }

    #[test]
    fn the_sieve_narrows_when_requests_fill_the_reads_and_not_when_data_do() {
        let start = Instant::from_nanos(1_000_000_000);
        for (requests, narrows) in [(32, true), (16, true), (15, false), (0, false)] {
            let mut sieve = Sieve::new(1_000_000, 1 << 23, start);
            for _ in 0..STREAK {
                for _ in 0..requests {
                    assert!(sieve.admit(start));
                }
                sieve.end_read(32, true);
            }
            let width = sieve.adjust(start + PATIENCE);
            assert_eq!(width, narrows.then_some(1), "{requests}");
        }
        let mut sieve = Sieve::new(1_000_000, 1 << 23, start);
        for number in 0..100 {
            sieve.admit(start);
            sieve.end_read(1, number % STREAK == 0);
        }
        assert_eq!(sieve.adjust(start + CALM), None);
    }
}

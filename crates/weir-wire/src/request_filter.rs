//! Protection against floods of Requests: a filter in the kernel that passes only a share of them.
//!
//! A flood costs little processing, since cookies make answers cheap, but it fills the socket's
//! receive queue, so that packets of connections are lost too. When Requests fill the reads, or
//! exceed the configured rate, a classic BPF program therefore drops a random share of them before
//! they are queued. Other packets pass. A client retransmits a dropped Request after a second.
//!
//! A raw socket would receive every DCCP packet sent to its address: the same program passes only
//! those for the socket's own DCCP port.
//!
//! On systems without such filters the excess is dropped after the queue, by
//! [`admit`](RequestFilter::admit).

use crate::limits::RateLimiter;
use quinn_udp::BATCH_SIZE;
use weir_proto::time::{Duration, Instant};

/// The time for a tighter filter to take effect on the queue.
const TIGHTEN_INTERVAL: Duration = Duration::from_millis(2);
/// The time without excess Requests after which the filter is relaxed.
const RELAX_INTERVAL: Duration = Duration::from_millis(25);
/// The most consecutive full reads, with at least half of them Requests, before the queue is
/// considered to grow.
const MAX_FULL_READS: u32 = 16;
/// Octets of the receive buffer for each of these reads: an eighth of what the kernel charges for a
/// batch of small packets, 768 octets each.
const BUFFER_PER_FULL_READ: usize = 8 * 768 * BATCH_SIZE;
/// The filter passes at least one Request in 2^12.
const MAX_DROP_SHIFT: u32 = 12;

/// Decides which share of the Requests the kernel passes.
#[derive(Debug)]
pub(crate) struct RequestFilter {
    limiter: RateLimiter,
    max_full_reads: u32,
    /// The kernel passes one Request in 2^`drop_shift`.
    drop_shift: u32,
    changed: Instant,
    /// Requests in the current read.
    requests: usize,
    /// Consecutive full reads.
    full_reads: u32,
    /// There have been excess Requests since the last change.
    surplus: bool,
}

impl RequestFilter {
    /// A filter for `rate` Requests per second and a receive buffer of `buffer` octets.
    pub(crate) fn new(rate: u32, buffer: usize, now: Instant) -> Self {
        let reads = u32::try_from(buffer / BUFFER_PER_FULL_READ).unwrap_or(MAX_FULL_READS);
        Self {
            limiter: RateLimiter::new(rate, (rate / 100).max(1), now),
            max_full_reads: reads.clamp(2, MAX_FULL_READS),
            drop_shift: 0,
            changed: now,
            requests: 0,
            full_reads: 0,
            surplus: false,
        }
    }

    /// Counts a received Request; true if it is within the rate.
    pub(crate) fn admit(&mut self, now: Instant) -> bool {
        self.requests += 1;
        let admitted = self.limiter.take(now);
        self.surplus |= !admitted;
        admitted
    }

    /// Records the end of a read of `packets`; `full` if it had no room for more.
    pub(crate) fn end_read(&mut self, packets: usize, full: bool) {
        let requests = std::mem::take(&mut self.requests);
        self.full_reads = if full && requests * 2 >= packets {
            self.full_reads.saturating_add(1)
        } else {
            0
        };
        self.surplus |= self.full_reads >= self.max_full_reads;
    }

    /// Nanoseconds until [`adjust`](Self::adjust) must be called even if no packet arrives.
    pub(crate) fn next_wakeup(&self) -> u64 {
        if self.drop_shift > 0 {
            RELAX_INTERVAL.as_nanos()
        } else {
            u64::MAX
        }
    }

    /// Tightens or relaxes the filter; returns the new drop shift for the kernel's filter, if it
    /// changes.
    pub(crate) fn adjust(&mut self, now: Instant) -> Option<u32> {
        let unchanged = now.since(self.changed);
        let before = self.drop_shift;
        if self.surplus && unchanged >= TIGHTEN_INTERVAL {
            self.drop_shift = (before + 1).min(MAX_DROP_SHIFT);
        } else if !self.surplus && before > 0 && unchanged >= RELAX_INTERVAL {
            self.drop_shift -= 1;
        } else {
            return None;
        }
        (self.changed, self.full_reads, self.surplus) = (now, 0, false);
        (self.drop_shift != before).then_some(self.drop_shift)
    }
}

/// Where the DCCP header begins in the data that the filter program reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DccpOffset {
    /// After this many octets.
    Fixed(u32),
    /// After an IPv4 header, which may have options.
    AfterIpv4,
}

/// The packets that a socket's filter passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilterScope {
    pub(crate) offset: DccpOffset,
    /// Packets to this DCCP port; `None` for all.
    pub(crate) port: Option<u16>,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod bpf {
    use super::{DccpOffset, FilterScope};
    use socket2::{SockFilter, SockRef};
    use std::io;

    // Instructions of classic BPF (linux/filter.h).
    const LD_WORD_ABSOLUTE: u16 = 0x20;
    const LDX_IMMEDIATE: u16 = 0x01;
    /// Four times the low half of an octet: the length of an IPv4 header.
    const LDX_IPV4_LENGTH: u16 = 0xb1;
    const LD_HALF_INDEXED: u16 = 0x48;
    const LD_BYTE_INDEXED: u16 = 0x50;
    const AND: u16 = 0x54;
    const JUMP_EQUAL: u16 = 0x15;
    const JUMP_GREATER_EQUAL: u16 = 0x35;
    const RETURN: u16 = 0x06;

    /// The address at which a program loads a random number (SKF_AD_OFF + SKF_AD_RANDOM).
    const RANDOM: u32 = 0xffff_f000 + 56;
    /// Offsets in the DCCP header (RFC 4340 §5.1), and the bits of the packet type. Type 0 is a
    /// Request.
    const DESTINATION_PORT: u32 = 2;
    const TYPE: u32 = 8;
    const TYPE_BITS: u32 = 0x1e;

    /// Attaches a filter that passes packets to the scope's port, and one in 2^`drop_shift` of the
    /// Requests.
    pub(crate) fn attach(
        socket: &SockRef<'_>,
        scope: FilterScope,
        drop_shift: u32,
    ) -> io::Result<()> {
        if drop_shift == 0 && scope.port.is_none() {
            return socket.detach_filter();
        }
        let mut program = vec![match scope.offset {
            DccpOffset::Fixed(octets) => SockFilter::new(LDX_IMMEDIATE, 0, 0, octets),
            DccpOffset::AfterIpv4 => SockFilter::new(LDX_IPV4_LENGTH, 0, 0, 0),
        }];
        if let Some(port) = scope.port {
            // Jumps to the last instruction if the port differs.
            let rest = if drop_shift > 0 { 6 } else { 1 };
            program.push(SockFilter::new(LD_HALF_INDEXED, 0, 0, DESTINATION_PORT));
            program.push(SockFilter::new(JUMP_EQUAL, 0, rest, port.into()));
        }
        if drop_shift > 0 {
            let threshold = 1 << 32_u32.saturating_sub(drop_shift);
            program.extend([
                SockFilter::new(LD_BYTE_INDEXED, 0, 0, TYPE),
                SockFilter::new(AND, 0, 0, TYPE_BITS),
                SockFilter::new(JUMP_EQUAL, 0, 2, 0),
                SockFilter::new(LD_WORD_ABSOLUTE, 0, 0, RANDOM),
                SockFilter::new(JUMP_GREATER_EQUAL, 1, 0, threshold),
            ]);
        }
        // Pass the whole packet, or drop it.
        program.push(SockFilter::new(RETURN, 0, 0, u32::MAX));
        program.push(SockFilter::new(RETURN, 0, 0, 0));
        socket.attach_filter(&program)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod bpf {
    use super::FilterScope;
    use socket2::SockRef;
    use std::io;

    /// Such filters are not supported on this system.
    pub(crate) fn attach(_: &SockRef<'_>, _: FilterScope, _: u32) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) use bpf::attach;

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends Requests at `rate` for a second through a kernel's filter; returns the share that
    /// passes in the second half, and the number admitted in it.
    fn flood(filter: &mut RequestFilter, from: Instant, rate: u32) -> (f64, u32) {
        let (mut passed, mut admitted) = (0.0, 0);
        let mut share = 0.5_f64.powi(filter.drop_shift as i32);
        for number in 0..rate {
            let nanos = 1_000_000_000 / u64::from(rate) * u64::from(number);
            let now = from + Duration::from_nanos(nanos);
            let before = f64::from(number) * share;
            if (before + share).floor() > before.floor() {
                let counts = number >= rate / 2;
                passed += f64::from(u8::from(counts));
                admitted += u32::from(filter.admit(now) && counts);
            }
            if let Some(drop_shift) = filter.adjust(now) {
                share = 0.5_f64.powi(drop_shift as i32);
            }
        }
        (passed / f64::from(rate / 2), admitted)
    }

    #[test]
    fn a_filter_is_open_below_its_rate_tight_above_and_opens_again() {
        let start = Instant::from_nanos(1_000_000_000);
        let second = Duration::from_secs(1);
        let mut filter = RequestFilter::new(10_000, 1 << 23, start);
        assert_eq!(flood(&mut filter, start, 8_000), (1.0, 4_000));
        let (share, admitted) = flood(&mut filter, start + second, 1_000_000);
        assert!(share < 0.03, "{share}");
        assert!((2_000..=5_200).contains(&admitted), "{admitted}");
        flood(&mut filter, start + second * 2, 1_000);
        assert_eq!(flood(&mut filter, start + second * 3, 8_000), (1.0, 4_000));
    }

    #[test]
    fn a_filter_tightens_when_requests_fill_the_reads_and_not_when_data_do() {
        let start = Instant::from_nanos(1_000_000_000);
        for (requests, tightens) in [(32, true), (16, true), (15, false), (0, false)] {
            let mut filter = RequestFilter::new(1_000_000, 1 << 23, start);
            for _ in 0..MAX_FULL_READS {
                for _ in 0..requests {
                    assert!(filter.admit(start));
                }
                filter.end_read(32, true);
            }
            let drop_shift = filter.adjust(start + TIGHTEN_INTERVAL);
            assert_eq!(drop_shift, tightens.then_some(1), "{requests}");
        }
        let mut filter = RequestFilter::new(1_000_000, 1 << 23, start);
        for number in 0..100 {
            filter.admit(start);
            filter.end_read(1, number % MAX_FULL_READS == 0);
        }
        assert_eq!(filter.adjust(start + RELAX_INTERVAL), None);
    }
}

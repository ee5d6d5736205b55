//! A packet that has come, and when.

use super::{Hub, Key};
use crate::clock::Clock;
use crate::datagram::dccp_of;
use crate::limits::Allowance;
use crate::outbox::Way;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use weir_proto::dccp::wire;
use weir_proto::packet::Packet;
use weir_proto::time::Instant;

/// A packet that has come.
pub(super) struct Arrival {
    pub(super) key: Key,
    /// The address of ours that it came to.
    pub(super) local: Option<IpAddr>,
    /// When the kernel had it, if that is known, and else when it was read.
    pub(super) at: Instant,
    pub(super) packet: Packet,
}

impl Arrival {
    /// `None` for what is not DCCP.
    pub(super) fn new(
        from: SocketAddr,
        local: Option<IpAddr>,
        at: Instant,
        packet: Packet,
    ) -> Option<Self> {
        let body = dccp_of(&packet)?;
        Some(Self {
            key: (from, body.source_port, body.destination_port),
            local,
            at,
            packet,
        })
    }

    pub(super) fn body(&self) -> Option<&wire::Packet> {
        dccp_of(&self.packet)
    }

    /// What may be sent in answer to a peer whose address is not proven.
    pub(super) fn allowance(&self, hub: &Hub) -> Allowance {
        let size = self.packet.size + hub.encapsulation.overhead(self.key.0);
        Allowance::after(size, hub.strict)
    }

    /// The way back.
    pub(super) fn way(&self) -> Way {
        Way {
            to: self.key.0,
            from: self.local,
            ecn: None,
        }
    }
}

/// The moment of a read, by which the kernel's times of what was read become ours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    now: Instant,
    /// The system's time since 1970, in which the kernel tells its own.
    wall: Duration,
}

impl Reading {
    /// The kernel's buffers are not that long. An older time is none: the system's clock was set
    /// between the two looks at it.
    const OLDEST: Duration = Duration::from_secs(1);

    /// After what was read came.
    pub(super) fn at(clock: &Clock) -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            now: clock.now(),
            wall: wall.unwrap_or_default(),
        }
    }

    /// When the kernel had a packet that it marked so; without a mark, or with one from the future
    /// or from long ago, now.
    pub(super) fn time_of(&self, mark: Option<Duration>) -> Instant {
        let age = mark.and_then(|mark| self.wall.checked_sub(mark));
        let age = age.filter(|age| *age < Self::OLDEST).unwrap_or_default();
        self.now - weir_proto::time::Duration::from_nanos(age.as_nanos() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_as_old_as_the_kernel_says_unless_the_clock_was_set() {
        let millis = Duration::from_millis;
        let reading = Reading {
            now: Instant::from_nanos(5_000_000_000),
            wall: millis(1_000_000),
        };
        for (mark, age_ms) in [
            (None, 0),
            (Some(millis(1_000_000)), 0),
            (Some(millis(999_997)), 3),
            (Some(millis(999_001)), 999),
            (Some(millis(999_000)), 0),
            (Some(millis(7)), 0),
            (Some(millis(1_000_001)), 0),
            (Some(Duration::MAX), 0),
        ] {
            let expected = Instant::from_nanos((5_000 - age_ms) * 1_000_000);
            assert_eq!(reading.time_of(mark), expected, "{mark:?}");
        }
    }
}

//! Received packets and their arrival times.

use super::EndpointDriver;
use crate::clock::Clock;
use crate::connection_key::ConnectionKey;
use crate::datagram::dccp_body;
use crate::limits::AmplificationBudget;
use crate::send_queue::Destination;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use weir_proto::dccp::wire;
use weir_proto::packet::Packet;
use weir_proto::time::Instant;

/// A received packet.
pub(super) struct ReceivedPacket {
    pub(super) key: ConnectionKey,
    /// The local address to which it was sent.
    pub(super) local_ip: Option<IpAddr>,
    /// When the kernel received it, or when it was read if there is no timestamp.
    pub(super) at: Instant,
    pub(super) packet: Packet,
}

impl ReceivedPacket {
    /// `None` if the packet is not DCCP.
    pub(super) fn new(
        from: SocketAddr,
        local_ip: Option<IpAddr>,
        at: Instant,
        packet: Packet,
    ) -> Option<Self> {
        let body = dccp_body(&packet)?;
        Some(Self {
            key: ConnectionKey {
                peer: from,
                peer_port: body.source_port,
                local_port: body.destination_port,
            },
            local_ip,
            at,
            packet,
        })
    }

    pub(super) fn body(&self) -> Option<&wire::Packet> {
        dccp_body(&self.packet)
    }

    /// The budget of the answer if the peer's address is not validated.
    pub(super) fn amplification_budget(&self, driver: &EndpointDriver) -> AmplificationBudget {
        let size = self.packet.size + driver.encapsulation.overhead(self.key.peer);
        AmplificationBudget::for_packet(size, driver.strict_amplification)
    }

    /// The destination of an answer.
    pub(super) fn reply_destination(&self) -> Destination {
        Destination {
            peer: self.key.peer,
            local_ip: self.local_ip,
            ecn: None,
        }
    }
}

/// Converts the kernel's receive timestamps to the driver's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimestampConverter {
    now: Instant,
    /// The system time at `now`, since 1970, the epoch of the kernel's timestamps.
    system_time: Duration,
}

impl TimestampConverter {
    /// The age from which a timestamp is ignored. Packets do not stay in the kernel's buffer that
    /// long, so the system clock must have been set in between.
    const MAX_AGE: Duration = Duration::from_secs(1);

    /// A converter for packets that have just been read.
    pub(super) fn new(clock: &Clock) -> Self {
        let system_time = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            now: clock.now(),
            system_time: system_time.unwrap_or_default(),
        }
    }

    /// The time of a timestamp; now, if there is none, or if it is in the future or too old.
    pub(super) fn convert(&self, timestamp: Option<Duration>) -> Instant {
        let age = timestamp.and_then(|timestamp| self.system_time.checked_sub(timestamp));
        let age = age.filter(|age| *age < Self::MAX_AGE).unwrap_or_default();
        self.now - weir_proto::time::Duration::from(age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_as_old_as_its_timestamp_unless_the_clock_was_set() {
        let millis = Duration::from_millis;
        let converter = TimestampConverter {
            now: Instant::from_nanos(5_000_000_000),
            system_time: millis(1_000_000),
        };
        for (timestamp, age_ms) in [
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
            assert_eq!(converter.convert(timestamp), expected, "{timestamp:?}");
        }
    }
}

//! Datagrams of the application (RFC 9221) in the packets that leave.

use super::transmit::PacketBuilder;
use super::{Connection, State};
use crate::endpoint::{EndpointEvent, WriteError};
use crate::event::{Event, EventMask};
use crate::packet::Payload;
use crate::quic::error::TransportError;
use crate::quic::media::Media;
use crate::quic::wire::SpaceId;
use crate::time::Instant;

/// Octets for an acknowledgement with a few ranges. One that need not leave now goes beside a
/// datagram only if the packet has so much room left, because the datagram cannot be split.
const ACK_ROOM: u32 = 48;

impl Connection {
    /// Queues a datagram. It leaves in one packet, is not sent again, and is dropped if it waits
    /// longer than the configured lifetime.
    ///
    /// # Errors
    /// [`WriteError::TooLarge`] with the largest size in octets that fits, [`WriteError::Blocked`]
    /// while the queue is full or before the handshake is done, [`WriteError::Closed`].
    pub fn send_datagram(&mut self, now: Instant, data: Payload) -> Result<(), WriteError> {
        match self.state {
            State::Established if !self.closing => {}
            State::Handshaking if !self.closing => return Err(WriteError::Blocked),
            _ => return Err(WriteError::Closed),
        }
        let len = data.len();
        let most = self.config.max_datagram_payload();
        if len > most {
            return Err(WriteError::TooLarge(most));
        }
        let first = self.datagrams.waits_since();
        if !self.datagrams.push(now, data) {
            self.write_blocked = true;
            return Err(WriteError::Blocked);
        }
        if let Some(sender) = self.media.as_deref_mut().and_then(Media::sender_mut) {
            sender.on_written(now, u64::from(len), first);
        }
        self.quiet = false;
        self.events
            .push(now, EventMask::WRITE, || Event::Write(len));
        Ok(())
    }

    /// The next datagram that has arrived.
    pub fn recv_datagram(&mut self) -> Option<Payload> {
        self.datagrams.read()
    }

    /// Datagrams that were dropped because they waited too long for a packet.
    pub fn datagrams_expired(&self) -> u64 {
        self.datagrams.expired()
    }

    /// A DATAGRAM frame arrived.
    pub(super) fn on_datagram(&mut self, data: &Payload) -> Result<(), TransportError> {
        // RFC 9221 §3: the limit counts the whole frame; a Length field would only add to it.
        let len = u64::from(data.len()) + 1;
        if len > self.config.datagrams.max_datagram_frame_size {
            return Err(TransportError::protocol_violation(
                "the peer sends a datagram that is larger than this end takes",
            ));
        }
        self.statistics.payload_received += u64::from(data.len());
        self.datagrams.on_arrival(data.clone());
        Ok(())
    }

    /// True if a datagram waits that fits the next packet. Those that have waited too long are
    /// dropped.
    pub(super) fn has_datagram(&mut self, now: Instant) -> bool {
        if self.datagrams.is_empty() {
            return false;
        }
        if self.datagrams.expire(now) {
            self.notify_datagram_writable();
        }
        // Before its client's address is validated, a server may have less room.
        let overhead = self.config.header.longest_overhead(SpaceId::Data);
        let room = self.datagram_limit().saturating_sub(overhead);
        self.datagrams.head_len().is_some_and(|len| len <= room)
    }

    /// True if an acknowledgement that need not leave now takes no room from a datagram.
    pub(super) fn leaves_room_for_ack(&self, builder: &PacketBuilder) -> bool {
        let head = self.datagrams.head_len();
        head.is_none_or(|len| len.saturating_add(ACK_ROOM) <= builder.room)
    }

    /// Adds the datagrams that fit. An acknowledgement that had to leave may take the room of the
    /// first one, which then leaves in the next packet. A packet of media has one.
    pub(super) fn push_datagrams(&mut self, now: Instant, builder: &mut PacketBuilder) {
        while let Some(bytes) = self.datagrams.head_payload()
            && let Some(frame) = self.datagrams.next_frame(builder.room)
        {
            builder.push_eliciting(frame);
            if self.media.is_some() {
                self.on_media_sent(now, bytes);
                break;
            }
        }
        self.notify_datagram_writable();
    }

    fn notify_datagram_writable(&mut self) {
        if self.write_blocked && self.datagrams.is_half_empty() {
            self.write_blocked = false;
            self.endpoint_events.push_back(EndpointEvent::Writable);
        }
    }
}

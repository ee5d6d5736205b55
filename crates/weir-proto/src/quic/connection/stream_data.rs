//! Stream data in the packets that leave.

use super::Connection;
use super::transmit::PacketBuilder;
use crate::endpoint::EndpointEvent;
use crate::event::PacketContent;
use crate::packet::Packet;
use crate::quic::loss::{RetransmitFrame, SentPacket};
use crate::quic::wire::{self, Frame, Frames, SpaceId, StreamFrame};
use crate::time::Instant;

impl Connection {
    pub(super) fn push_stream_frames(&mut self, builder: &mut PacketBuilder) {
        while let Some((frame, repeats)) = self.next_stream_frame(builder.room) {
            if repeats {
                builder.content = PacketContent::Retransmission;
            }
            builder.push_retransmittable(Frame::Stream(frame), RetransmitFrame::Stream(frame));
        }
        self.notify_writable();
    }

    /// The next frame of stream data for which there is room, and whether its data was sent before.
    #[inline]
    fn next_stream_frame(&mut self, room: u32) -> Option<(StreamFrame, bool)> {
        if room == 0 {
            return None;
        }
        let unsent = self.streams.unsent();
        let frame = self.streams.next_frame(room)?;
        // Lost data comes first, and only new data reduces the number of unsent octets.
        let repeats = self.streams.unsent() == unsent && frame.len > 0;
        Some((frame, repeats))
    }

    /// Reports to the application that the send queue has room again.
    #[inline]
    fn notify_writable(&mut self) {
        if self.write_blocked {
            let low = self.config.send_queue_limit as f64 * self.config.low_water_ratio;
            if self.streams.unsent() as f64 <= low {
                self.write_blocked = false;
                self.endpoint_events.push_back(EndpointEvent::Writable);
            }
        }
    }

    /// A packet of the Data space with stream data only: usually one frame that fills it, as in
    /// half of all packets of a download.
    pub(super) fn build_stream_data(&mut self, now: Instant) -> Packet {
        let sent = &self.spaces.data.sent;
        let number = sent.next_number();
        let number_len = self.config.header.number_len(number, sent.largest_acked());
        let overhead = self.config.header.overhead(SpaceId::Data, number_len);
        let room = self.datagram_limit().saturating_sub(overhead);
        let first = self.next_stream_frame(room);
        let (frame, repeats) = match first {
            Some((frame, repeats)) if Frame::Stream(frame).len(false) >= room.max(8) => {
                (frame, repeats)
            }
            _ => return self.build_more_stream_data(now, first),
        };
        self.notify_writable();
        let size = overhead + Frame::Stream(frame).len(true);
        let mut sent = SentPacket::new(now, size);
        sent.ack_eliciting = true;
        sent.retransmit.push(RetransmitFrame::Stream(frame));
        self.count_in_flight(now, SpaceId::Data, sent);
        let content = if repeats {
            PacketContent::Retransmission
        } else {
            PacketContent::Data
        };
        let packet = wire::Packet {
            number,
            number_len,
            space: SpaceId::Data,
            frames: Frames::one(Frame::Stream(frame)),
        };
        self.count_sent(now, &packet, size, content);
        self.wrap(packet, size)
    }

    /// A packet with stream data that the first frame does not fill.
    #[cold]
    fn build_more_stream_data(
        &mut self,
        now: Instant,
        first: Option<(StreamFrame, bool)>,
    ) -> Packet {
        let mut builder = self.builder(now, SpaceId::Data);
        if let Some((frame, repeats)) = first {
            if repeats {
                builder.content = PacketContent::Retransmission;
            }
            builder.push_retransmittable(Frame::Stream(frame), RetransmitFrame::Stream(frame));
        }
        self.push_stream_frames(&mut builder);
        self.finish(now, builder)
    }
}

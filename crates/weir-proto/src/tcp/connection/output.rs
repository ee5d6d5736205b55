//! Builds the segments that leave.

use super::{Connection, Recovery, State, WINDOW_SCALE};
use crate::cc::Sent;
use crate::endpoint::EndpointEvent;
use crate::event::{Event, EventMask};
use crate::packet::{Body, Ecn, IpHeader, Packet, Payload};
use crate::tcp::scoreboard::SentSegment;
use crate::tcp::sequence::wrap;
use crate::tcp::wire::{Packet as TcpPacket, SackBlocks, SynOptions, flag};
use crate::time::Instant;

impl Connection {
    /// A segment with these flags and this payload; adds the acknowledgement and the ECN flags.
    pub(super) fn build(&mut self, flags: u8, seq: u32, payload: Payload) -> Packet {
        let syn = flags & flag::SYN != 0;
        let data = !payload.is_empty();
        let (ack, sack) = self.acknowledgement(syn);
        let flags = self.with_ack_and_ecn(flags, data);
        let window = self.config.receive_buffer.saturating_sub(self.unread);
        let scale = if syn { 0 } else { WINDOW_SCALE };
        let body = TcpPacket {
            source_port: self.config.local.0 as u16,
            destination_port: self.config.remote.0 as u16,
            seq,
            ack,
            flags,
            window: (window >> scale).min(u64::from(u16::MAX)) as u16,
            syn: syn.then(|| SynOptions {
                mss: self.config.segment_size.min(u32::from(u16::MAX)) as u16,
                window_scale: WINDOW_SCALE,
                sack_permitted: self.config.sack,
            }),
            sack,
            payload,
        };
        let octets = body.wire_len() as u32;
        self.packets += 1;
        self.statistics.packets_sent += 1;
        self.statistics.bytes_sent += u64::from(octets);
        self.statistics.data_packets_sent += u64::from(data);
        Packet {
            id: self.packets,
            flow: self.config.flow,
            ip: IpHeader {
                source: self.config.local,
                destination: self.config.remote,
                // RFC 3168 §6.1.1 and §6.1.4: SYNs and pure ACKs are not ECN-capable.
                ecn: if self.ecn && data {
                    Ecn::Ect0
                } else {
                    Ecn::NotEct
                },
                ttl: IpHeader::DEFAULT_TTL,
            },
            size: IpHeader::V4_OCTETS + octets,
            damaged_at: None,
            body: Body::Tcp(body),
        }
    }

    /// The acknowledgement number and the SACK blocks of a segment.
    fn acknowledgement(&mut self, syn: bool) -> (u32, SackBlocks) {
        let peer_sequence = self.peer_sequence;
        if self.state == State::SynSent {
            return (0, SackBlocks::default());
        }
        if syn {
            return (wrap(peer_sequence, 0), SackBlocks::default());
        }
        let blocks = self
            .receiver
            .on_ack_sent(|offset| wrap(peer_sequence, offset));
        let fin = u64::from(self.fin.received);
        let ack = wrap(peer_sequence, self.receiver.next() + fin);
        (
            ack,
            if self.sack {
                blocks
            } else {
                SackBlocks::default()
            },
        )
    }

    /// The flags with ACK, and with ECE and CWR where RFC 3168 §6.1 asks for them.
    fn with_ack_and_ecn(&mut self, mut flags: u8, data: bool) -> u8 {
        if self.state != State::SynSent {
            flags |= flag::ACK;
        }
        if self.ecn && flags & flag::SYN == 0 {
            flags |= if self.ece_pending { flag::ECE } else { 0 };
            if data && self.cwr_pending {
                flags |= flag::CWR;
                self.cwr_pending = false;
            }
        }
        flags
    }

    pub(super) fn build_data(&mut self, now: Instant, start: u64, len: u32) -> Packet {
        self.timer.start_if_idle(now);
        let bytes_in_flight = self.scoreboard.pipe();
        self.controller.on_sent(&Sent {
            now,
            bytes: u64::from(len),
            bytes_in_flight,
        });
        let seq = wrap(self.config.initial_sequence, start);
        let packet = self.build(0, seq, Payload::of_len(len));
        self.events.push(now, EventMask::PACKET, || Event::Sent {
            number: start,
            size: len,
        });
        packet
    }

    /// The next segment with data that the window lets out: retransmissions first (RFC 6675 §4,
    /// NextSeg()).
    pub(super) fn next_data(&mut self, now: Instant) -> Option<Packet> {
        let segment = u64::from(self.config.segment_size);
        let inflation = if self.sack {
            0
        } else {
            u64::from(self.duplicate_acks) * segment
        };
        let pipe = self.scoreboard.pipe().saturating_sub(inflation);
        let room = self.controller.window().saturating_sub(pipe) >= segment;
        self.window_limited = !room && self.unsent > 0;
        if (room || self.retransmit_beyond_window)
            && let Some(SentSegment { start, len, .. }) = self.scoreboard.next_lost(now)
        {
            self.retransmit_beyond_window = false;
            return Some(self.build_data(now, start, len));
        }
        if !room {
            return None;
        }
        let credit = (self.scoreboard.high_ack() + self.peer_window)
            .saturating_sub(self.scoreboard.high_data());
        let len = self.unsent.min(segment);
        // Silly window avoidance: only the last segment of what was written may be short.
        if len > 0 && len <= credit {
            let start = self.scoreboard.high_data();
            self.unsent -= len;
            self.scoreboard.on_sent(now, len as u32);
            self.notify_writable();
            return Some(self.build_data(now, start, len as u32));
        }
        if matches!(self.recovery, Recovery::Fast { .. }) {
            let SentSegment { start, len, .. } = self.scoreboard.next_unsacked(now)?;
            return Some(self.build_data(now, start, len));
        }
        None
    }

    /// Tells the application that the send buffer has room again.
    pub(super) fn notify_writable(&mut self) {
        if self.blocked && self.unsent <= self.config.send_buffer / 2 {
            self.blocked = false;
            self.endpoint_events.push_back(EndpointEvent::Writable);
        }
    }

    /// The FIN, once all data was sent, or its retransmission.
    pub(super) fn next_fin(&mut self, now: Instant) -> Option<Packet> {
        let ready = self.closing && self.unsent == 0 && (!self.fin.sent || self.fin.due);
        if !ready {
            return None;
        }
        (self.fin.sent, self.fin.due) = (true, false);
        self.timer.start_if_idle(now);
        let seq = wrap(self.config.initial_sequence, self.scoreboard.high_data());
        Some(self.build(flag::FIN, seq, Payload::default()))
    }

    pub(super) fn send_syn(&mut self, now: Instant) {
        self.handshake.sent_at = now;
        self.handshake.attempts += 1;
        let ecn = match (self.ecn, self.state) {
            (false, _) => 0,
            (true, State::SynSent) => flag::ECE | flag::CWR,
            (true, _) => flag::ECE,
        };
        let packet = self.build(
            flag::SYN | ecn,
            self.config.initial_sequence,
            Payload::default(),
        );
        self.transmit_queue.push_back(packet);
        self.timer.start_if_idle(now);
    }
}

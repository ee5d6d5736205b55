//! The packets that an end has sent and that are not yet acknowledged, as its loss detection has
//! them (RFC 9002 Appendix A.1).

use super::record::{APPLICATION, Packet, SPACES, Space, StreamOctets};
use std::collections::BTreeMap;
use weir_proto::ranges::RangeSet;
use weir_proto::time::Instant;

/// The content of a packet, in the words of a run's table `packets`.
pub(super) const DATA: &str = "data";
pub(super) const RETRANSMISSION: &str = "retransmission";
pub(super) const ACKNOWLEDGEMENT: &str = "acknowledgement";
pub(super) const CONTROL: &str = "control";

struct SentPacket {
    at: Instant,
    size: u32,
    ack_eliciting: bool,
    lost: bool,
    streams: Box<[StreamOctets]>,
    datagram_octets: u64,
}

/// What an acknowledgement reports for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NewlyAcked {
    pub(super) packets: u64,
    /// Octets of packets.
    pub(super) octets: u64,
    /// Octets of streams and datagrams that were not acknowledged before.
    pub(super) data: u64,
    /// When the packet with the largest number was sent, if that is newly acknowledged, and one of
    /// the newly acknowledged elicited an acknowledgement: what gives a sample of the round-trip
    /// time (RFC 9002 §5.1).
    pub(super) largest_sent_at: Option<Instant>,
}

#[derive(Default)]
pub(super) struct SentPackets {
    spaces: BTreeMap<Space, BTreeMap<u64, SentPacket>>,
    in_flight: u64,
    highest: BTreeMap<u64, u64>,
    acknowledged: BTreeMap<u64, RangeSet>,
}

/// Adds octets of streams; returns how many of them are new.
pub(super) fn add_octets(all: &mut BTreeMap<u64, RangeSet>, streams: &[StreamOctets]) -> u64 {
    let mut new = 0_u64;
    for octets in streams {
        let range = octets.offset..octets.offset.saturating_add(octets.length);
        new = new.saturating_add(all.entry(octets.stream).or_default().insert(range));
    }
    new
}

impl SentPackets {
    /// Octets of packets that are neither acknowledged nor declared lost.
    pub(super) const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Takes a packet that is sent; returns its content, empty if its frames are not known.
    pub(super) fn on_sent(&mut self, at: Instant, packet: &Packet) -> &'static str {
        let (content, ack_eliciting, counts) = match &packet.frames {
            Some(frames) => {
                let content = self.content(packet);
                (
                    content,
                    frames.ack_eliciting,
                    frames.ack_eliciting || frames.padding,
                )
            }
            None => ("", true, true),
        };
        if let (Some(number), true) = (packet.number, counts) {
            let frames = packet.frames.as_ref();
            let sent = SentPacket {
                at,
                size: packet.size.unwrap_or_default(),
                ack_eliciting,
                lost: false,
                streams: frames.map(|all| all.streams.clone()).unwrap_or_default(),
                datagram_octets: frames.map_or(0, |all| all.datagram_octets),
            };
            self.in_flight = self.in_flight.saturating_add(u64::from(sent.size));
            let space = self.spaces.entry(packet.space).or_default();
            if let Some(before) = space.insert(number, sent)
                && !before.lost
            {
                self.in_flight = self.in_flight.saturating_sub(u64::from(before.size));
            }
        }
        content
    }

    fn content(&mut self, packet: &Packet) -> &'static str {
        let Some(frames) = &packet.frames else {
            return "";
        };
        let mut again = false;
        for octets in frames.streams.iter().filter(|octets| octets.length > 0) {
            let highest = self.highest.entry(octets.stream).or_default();
            again |= octets.offset < *highest;
            *highest = (*highest).max(octets.offset.saturating_add(octets.length));
        }
        if again {
            return RETRANSMISSION;
        }
        content_of(packet)
    }

    /// Packets of these numbers are acknowledged.
    pub(super) fn on_acked(&mut self, space: Space, ranges: &[(u64, u64)]) -> NewlyAcked {
        let mut newly = NewlyAcked::default();
        let largest = ranges.iter().map(|(_, last)| *last).max();
        let mut eliciting = false;
        let mut largest_sent_at = None;
        let sent = self.spaces.entry(space).or_default();
        for &(first, last) in ranges {
            let numbers: Vec<u64> = sent
                .range(first..=last)
                .map(|(number, _)| *number)
                .collect();
            for number in numbers {
                let Some(packet) = sent.remove(&number) else {
                    continue;
                };
                if !packet.lost {
                    self.in_flight = self.in_flight.saturating_sub(u64::from(packet.size));
                }
                newly.packets += 1;
                newly.octets = newly.octets.saturating_add(u64::from(packet.size));
                let data = add_octets(&mut self.acknowledged, &packet.streams);
                newly.data = newly.data.saturating_add(data);
                newly.data = newly.data.saturating_add(packet.datagram_octets);
                eliciting |= packet.ack_eliciting;
                if Some(number) == largest {
                    largest_sent_at = Some(packet.at);
                }
            }
        }
        newly.largest_sent_at = largest_sent_at.filter(|_| eliciting);
        if newly.packets > 0 && space % SPACES == APPLICATION {
            self.drop_handshake(space - APPLICATION);
        }
        newly
    }

    /// The keys of the handshake are discarded soon after the first acknowledgement of a packet of
    /// 1-RTT (RFC 9001 §4.9.2), and with them what was sent in its spaces.
    fn drop_handshake(&mut self, path: Space) {
        for space in path..path + APPLICATION {
            let dropped = self.spaces.remove(&space).unwrap_or_default();
            for packet in dropped.into_values().filter(|packet| !packet.lost) {
                self.in_flight = self.in_flight.saturating_sub(u64::from(packet.size));
            }
        }
    }

    /// A packet is declared lost; returns its size if it is known.
    pub(super) fn on_lost(&mut self, space: Space, number: u64) -> Option<u32> {
        let packet = self.spaces.get_mut(&space)?.get_mut(&number)?;
        if !packet.lost {
            packet.lost = true;
            self.in_flight = self.in_flight.saturating_sub(u64::from(packet.size));
        }
        Some(packet.size)
    }
}

/// The content of a packet for which nothing was sent before; empty if its frames are not known.
pub(super) fn content_of(packet: &Packet) -> &'static str {
    let Some(frames) = &packet.frames else {
        return "";
    };
    if frames.datagram_octets > 0 || frames.streams.iter().any(|octets| octets.length > 0) {
        DATA
    } else if !frames.acks.is_empty() && !frames.ack_eliciting {
        ACKNOWLEDGEMENT
    } else {
        CONTROL
    }
}

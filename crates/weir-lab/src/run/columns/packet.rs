//! The columns of `packets`.

use crate::table::ColumnSpec;
use std::sync::Arc;
use weir_proto::event::{Event, PacketType};
use weir_proto::time::Instant;

/// A column of [`PACKET`].
pub type Packet = ColumnSpec<PacketRow>;

/// A packet at an endpoint or on a link.
#[derive(Clone, Debug)]
pub struct PacketRow {
    at: Instant,
    place: &'static str,
    name: Arc<str>,
    flow: Arc<str>,
    event: &'static str,
    number: Option<u64>,
    size: u32,
    content: &'static str,
    packet_type: PacketType,
    reason: &'static str,
}

/// `packets`: a row for each packet sent, received or lost at an endpoint, and for each packet
/// dropped or marked on a link.
pub const PACKET: &[Packet] = &[
    Packet::number(
        "time_s",
        "s",
        "virtual time since the start of the run",
        &|row| row.at.as_secs_f64(),
    ),
    Packet::word("place", "sender, receiver or link", &|row| row.place),
    Packet::word("name", "the flow or the direction of a link", &|row| {
        &row.name
    }),
    Packet::word(
        "event",
        "sent, received, lost, dropped or marked; lost at the receiver where that detects losses \
         (TFRC, UDP); of quinn a row for each packet, which does not say which one and why",
        &|row| row.event,
    ),
    Packet::number(
        "number",
        "",
        "sequence or packet number; of TCP the offset of the first octet, of an acknowledgement \
         without data that of the octet that is expected; none of a packet that quinn declares lost",
        &|row| row.number.map_or(f64::NAN, |number| number as f64),
    ),
    Packet::count(
        "size_bytes",
        "bytes",
        "size without IP and UDP headers; 0 where it is not known: where a receiver declares a packet \
         lost, which it never saw, and where quinn declares several lost at once",
        &|row| u64::from(row.size),
    ),
    Packet::word(
        "reason",
        "why the packet was dropped or declared lost",
        &|row| row.reason,
    ),
    Packet::word("flow", "the flow that the packet belongs to", &|row| {
        &row.flow
    }),
    Packet::word(
        "content",
        "of a packet sent or received: data, retransmission, acknowledgement or control; at the \
         receiver a retransmission is data",
        &|row| row.content,
    ),
    Packet::word(
        "packet_type",
        "of a packet of QUIC sent, received or lost: initial, handshake or 1RTT, each of which has \
         numbers of its own; of quinn the type of the first packet of a datagram, whose number is \
         that of the datagram",
        &|row| row.packet_type.name(),
    ),
];

impl PacketRow {
    /// The row of an event at a `sender`, a `receiver` or a `link` of this name, about a packet of
    /// this flow; `None` if the event is not about a packet.
    pub(in crate::run) fn new(
        at: Instant,
        place: &'static str,
        [name, flow]: [&Arc<str>; 2],
        event: &Event,
    ) -> Option<Self> {
        let (mut carried, mut of_type) = ("", PacketType::None);
        let (event, number, size, reason) = match *event {
            Event::Sent {
                number,
                size,
                content,
                packet_type,
            } => {
                (carried, of_type) = (content.name(), packet_type);
                ("sent", Some(number), size, "")
            }
            Event::Received {
                number,
                size,
                content,
                packet_type,
            } => {
                (carried, of_type) = (content.name(), packet_type);
                ("received", Some(number), size, "")
            }
            Event::Lost {
                number,
                size,
                trigger,
                packet_type,
            } => {
                of_type = packet_type;
                ("lost", Some(number), size, trigger.name())
            }
            Event::LostUnnamed { size } => ("lost", None, size, ""),
            Event::Drop {
                number,
                size,
                reason,
                ..
            } => ("dropped", number, size, reason.name()),
            Event::EcnMark { number, size, .. } => ("marked", number, size, ""),
            _ => return None,
        };
        Some(Self {
            at,
            place,
            name: Arc::clone(name),
            flow: Arc::clone(flow),
            event,
            number,
            size,
            content: carried,
            packet_type: of_type,
            reason,
        })
    }
}

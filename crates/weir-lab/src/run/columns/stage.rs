//! The columns of `stages`.

use crate::table::ColumnSpec;
use std::sync::Arc;
use weir_proto::time::Instant;

/// A column of [`STAGE`].
pub type Stage = ColumnSpec<StageRow>;

/// The way of a packet over a link, or what ended it.
#[derive(Clone, Debug)]
pub struct StageRow {
    pub(in crate::run) packet: u64,
    pub(in crate::run) flow: Arc<str>,
    pub(in crate::run) from: &'static str,
    pub(in crate::run) link: Arc<str>,
    pub(in crate::run) number: Option<u64>,
    pub(in crate::run) size: u32,
    pub(in crate::run) content: &'static str,
    pub(in crate::run) sent: Option<Instant>,
    pub(in crate::run) entered: Option<Instant>,
    pub(in crate::run) started: Option<Instant>,
    pub(in crate::run) left: Option<Instant>,
    pub(in crate::run) arrives: Option<Instant>,
    pub(in crate::run) dropped: Option<Instant>,
    pub(in crate::run) reason: &'static str,
}

fn seconds(at: Option<Instant>) -> f64 {
    at.map_or(f64::NAN, Instant::as_secs_f64)
}

/// `stages`: a row for each time that a link carried a packet or dropped it, and for each packet
/// lost at its sender's socket. On the air a row is a frame, so that a packet has a row for each
/// time that it was sent. Only in memory: no folder of a run has it.
pub const STAGE: &[Stage] = &[
    Stage::count(
        "packet",
        "",
        "the packet, numbered in the order in which packets enter the network",
        &|row| row.packet,
    ),
    Stage::word(
        "flow",
        "the flow; empty for transfers and packets from outside",
        &|row| &row.flow,
    ),
    Stage::word(
        "from",
        "the end of the flow that sent it: sender or receiver; empty where that is not known",
        &|row| row.from,
    ),
    Stage::word(
        "link",
        "the direction of a link or the station; empty at the sender's socket",
        &|row| &row.link,
    ),
    Stage::number(
        "number",
        "",
        "sequence or packet number, as in the table of packets",
        &|row| row.number.map_or(f64::NAN, |number| number as f64),
    ),
    Stage::count(
        "size_bytes",
        "bytes",
        "octets from the IP header on",
        &|row| u64::from(row.size),
    ),
    Stage::word(
        "content",
        "data, retransmission, acknowledgement or control; empty where that is not known",
        &|row| row.content,
    ),
    Stage::number("sent_s", "s", "when its endpoint handed it over", &|row| {
        seconds(row.sent)
    }),
    Stage::number(
        "entered_s",
        "s",
        "when it entered the queue of the link",
        &|row| seconds(row.entered),
    ),
    Stage::number("started_s", "s", "when its transmission began", &|row| {
        seconds(row.started)
    }),
    Stage::number("left_s", "s", "when its transmission ended", &|row| {
        seconds(row.left)
    }),
    Stage::number(
        "arrives_s",
        "s",
        "when it arrives at the other end; none of a frame without acknowledgement",
        &|row| seconds(row.arrives),
    ),
    Stage::number("dropped_s", "s", "when it was dropped", &|row| {
        seconds(row.dropped)
    }),
    Stage::word("reason", "why it was dropped", &|row| row.reason),
];

//! What the parts of a followed flow give each other.

use super::super::Vantage;
use super::super::rows::Rows;
use super::super::tables::{Events, Intervals, Losses};
use weir_proto::time::Duration;

/// What the survey knows about a flow.
#[derive(Clone, Debug)]
pub(super) struct FlowSetup {
    pub(super) name: String,
    /// The end that sends the data.
    pub(super) side: usize,
    pub(super) vantage: Vantage,
    /// The shift of the receiver's windows.
    pub(super) window_scale: Option<u8>,
    /// The largest segment on the wire, in octets of data.
    pub(super) segment_octets: u32,
    pub(super) uses_sack: bool,
    /// The round trip of the handshake.
    pub(super) handshake: Option<Duration>,
    /// The other direction is no flow.
    pub(super) is_alone: bool,
}

/// What both kinds of observers write to.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) events: Events,
    pub(super) losses: Losses,
    pub(super) intervals: Intervals,
    /// What was sent and what is missing, at timeouts and at the end.
    pub(super) counters: Rows,
    /// `sender` or `receiver`: the end beside which the capture was made.
    pub(super) place: &'static str,
}

/// Data that a segment carries, as offsets in the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Octets of header and data.
    pub(super) size: u32,
    pub(super) ce: bool,
    pub(super) echo: Option<u32>,
}

/// An acknowledgement of the flow's data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledgement<'a> {
    /// The octet that is expected next.
    pub(super) ack: u64,
    /// The advertised window, if its scale is known.
    pub(super) window: Option<u64>,
    /// It carries nothing else.
    pub(super) pure: bool,
    pub(super) sacks: &'a [(u64, u64)],
    pub(super) timestamp: Option<u32>,
}

//! A change of address during a run.

use std::collections::VecDeque;
use weir_proto::packet::HostId;
use weir_proto::time::Instant;

/// A change of the address of one end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// When it happens.
    pub at: Instant,
    /// The host whose links its packets take from then on; `None` if a NAT changes the port alone.
    pub to: Option<HostId>,
}

/// The handovers of an agent, and what they have led to.
#[derive(Debug, Default)]
pub(crate) struct Handovers {
    /// Those to come, the next one first.
    pub(crate) ahead: VecDeque<Handover>,
    pub(crate) rebindings: u8,
    /// Its own address or that of the peer has changed since the last call of `take_moved`.
    pub(crate) moved: bool,
}

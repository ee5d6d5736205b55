//! The number of a flow.

/// A flow: one pair of endpoints, in place of the five-tuple by which a host finds a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

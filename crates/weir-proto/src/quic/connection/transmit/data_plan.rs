//! What the next packet of the Data space carries.

/// The content of the next packet of the Data space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct DataPlan {
    /// An acknowledgement that cannot wait.
    pub(super) ack_due: bool,
    pub(super) flow_control: bool,
    pub(super) stream_data: bool,
    pub(super) datagrams: bool,
    /// A probe without anything else in it.
    pub(super) ping: bool,
    /// Frames of path validation, in a datagram of their own.
    pub(super) path: bool,
}

impl DataPlan {
    const NOTHING: Self = Self {
        ack_due: false,
        flow_control: false,
        stream_data: false,
        datagrams: false,
        ping: false,
        path: false,
    };

    /// An acknowledgement alone.
    pub(in super::super) const ACK: Self = Self {
        ack_due: true,
        ..Self::NOTHING
    };

    /// Frames of path validation alone.
    pub(super) const PATH: Self = Self {
        path: true,
        ..Self::NOTHING
    };

    /// Stream data alone.
    pub(super) const STREAM_DATA: Self = Self {
        stream_data: true,
        ..Self::NOTHING
    };
}

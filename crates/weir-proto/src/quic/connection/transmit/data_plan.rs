//! What the next packet of the Data space carries.

/// The content of the next packet of the Data space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::quic::connection) struct DataPlan {
    /// An acknowledgement that cannot wait.
    pub(in crate::quic::connection) ack_due: bool,
    pub(in crate::quic::connection) flow_control: bool,
    pub(in crate::quic::connection) stream_data: bool,
    pub(in crate::quic::connection) datagrams: bool,
    /// A probe without anything else in it.
    pub(in crate::quic::connection) ping: bool,
    /// Frames of path validation, in a datagram of their own.
    pub(in crate::quic::connection) path: bool,
}

impl DataPlan {
    /// An acknowledgement alone.
    pub(in crate::quic::connection) const ACK: Self = Self {
        ack_due: true,
        flow_control: false,
        stream_data: false,
        datagrams: false,
        ping: false,
        path: false,
    };

    /// Frames of path validation alone.
    pub(in crate::quic::connection) const PATH: Self = Self {
        ack_due: false,
        flow_control: false,
        stream_data: false,
        datagrams: false,
        ping: false,
        path: true,
    };

    /// Stream data alone.
    pub(in crate::quic::connection) const STREAM_DATA: Self = Self {
        ack_due: false,
        flow_control: false,
        stream_data: true,
        datagrams: false,
        ping: false,
        path: false,
    };
}

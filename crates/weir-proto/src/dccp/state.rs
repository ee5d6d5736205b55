//! The states of a connection (RFC 4340 §4.3 and figure 2).

/// A state of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the RFC's own names")]
pub enum State {
    #[default]
    Closed,
    Listen,
    Request,
    Respond,
    PartOpen,
    Open,
    CloseReq,
    Closing,
    TimeWait,
}

impl State {
    /// The name in RFC 4340.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "CLOSED",
            Self::Listen => "LISTEN",
            Self::Request => "REQUEST",
            Self::Respond => "RESPOND",
            Self::PartOpen => "PARTOPEN",
            Self::Open => "OPEN",
            Self::CloseReq => "CLOSEREQ",
            Self::Closing => "CLOSING",
            Self::TimeWait => "TIMEWAIT",
        }
    }

    /// True if application data may be sent.
    pub const fn takes_data(self) -> bool {
        matches!(self, Self::PartOpen | Self::Open)
    }
}

//! The states of a connection (RFC 4340 §4.3 and figure 2).

use crate::named::named;

named! {
    /// A state of a connection.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[expect(missing_docs, reason = "the RFC's own names")]
    pub enum State {
        #[default]
        Closed => "CLOSED",
        Listen => "LISTEN",
        Request => "REQUEST",
        Respond => "RESPOND",
        PartOpen => "PARTOPEN",
        Open => "OPEN",
        CloseReq => "CLOSEREQ",
        Closing => "CLOSING",
        TimeWait => "TIMEWAIT",
    }
}

impl State {
    /// True if application data may be sent.
    pub const fn takes_data(self) -> bool {
        matches!(self, Self::PartOpen | Self::Open)
    }
}

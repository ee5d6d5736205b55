//! Why a test has ended.

use crate::address::canonical;
use crate::error::Error;
use crate::fault::{Lie, Refusal};
use std::net::SocketAddr;

/// Why a test has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EndReason {
    /// The duration is over, or one end has stopped the test.
    Done,
    /// An ICMP message says that no process listens at the server's port.
    Refused,
    /// The peer has not answered, or has stopped sending messages.
    TimedOut,
    /// The server runs as many tests as it allows.
    Busy,
    /// The server's tests carry media and this one does not, or the other way round.
    OtherMedia,
    /// The server does not take the test.
    Declined(Refusal),
    /// This end, a server, does not take the test.
    Rejected(Refusal),
    /// The client does not ask for a test.
    NoRequest,
    /// The peer claims what cannot be true.
    Lied(Lie),
    /// The sender has not ended the test in its time.
    Overdue,
    /// The connection has ended before the test.
    Closed,
    /// The connection has ended during the test.
    EndedEarly,
}

impl EndReason {
    /// Whether the test with this peer is done.
    ///
    /// # Errors
    /// Why it is not.
    pub const fn result(self, peer: SocketAddr) -> Result<(), Error> {
        let peer = canonical(peer);
        Err(match self {
            Self::Done => return Ok(()),
            Self::Closed => Error::Closed,
            Self::Refused => Error::Refused(peer),
            Self::TimedOut => Error::TimedOut(peer),
            Self::Busy => Error::Busy(peer),
            Self::OtherMedia => Error::OtherMedia(peer),
            Self::Declined(refusal) => Error::Declined(peer, refusal),
            Self::Rejected(refusal) => Error::Rejected(peer, refusal),
            Self::NoRequest => Error::NoRequest(peer),
            Self::Lied(lie) => Error::Lied(peer, lie),
            Self::Overdue => Error::Overdue(peer),
            Self::EndedEarly => Error::EndedEarly(peer),
        })
    }
}

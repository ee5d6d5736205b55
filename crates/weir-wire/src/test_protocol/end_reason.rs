//! The reason why a test has ended.

use crate::address::canonical;
use crate::error::Error;
use crate::fault::{ImplausibleValue, Refusal};
use std::net::SocketAddr;

/// The reason why a test has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EndReason {
    /// The duration has elapsed, or one end has stopped the test.
    Done,
    /// An ICMP message reports that no process listens at the server's port.
    Refused,
    /// The peer has not answered, or has stopped sending messages.
    TimedOut,
    /// The server already runs as many tests as it allows.
    Busy,
    /// The server's tests use media and this one does not, or vice versa.
    OtherMedia,
    /// The server refuses the test.
    Declined(Refusal),
    /// This end, a server, refuses the test.
    Rejected(Refusal),
    /// The client does not request a test.
    NoRequest,
    /// The peer reports an impossible value.
    Implausible(ImplausibleValue),
    /// The sender has not ended the test in the agreed time.
    Overdue,
    /// The connection ended before the test began.
    Closed,
    /// The connection ended during the test.
    EndedEarly,
}

impl EndReason {
    /// Success if the test with this peer is done.
    ///
    /// # Errors
    /// Why the test has ended otherwise.
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
            Self::Implausible(lie) => Error::Implausible(peer, lie),
            Self::Overdue => Error::Overdue(peer),
            Self::EndedEarly => Error::EndedEarly(peer),
        })
    }
}

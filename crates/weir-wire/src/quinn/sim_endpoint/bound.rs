//! What limits the stack's sending.
//!
//! quinn and noq do not report it. Whether it had data to send, and whether the window or its pacer
//! delayed that data, is inferred from its queries of the controller's window (see `WindowQueries`
//! in [`stack_api`](super::super::stack_api)). Data that it does not accept from the application is
//! limited by the receiver's flow-control credit, if the stack has sent a BLOCKED frame, else by
//! its send window. Before the client's address is validated, the octets of datagrams are compared
//! as RFC 9000 §8.1 requires.
//!
//! Not visible: the receiver's credit in octets.

use super::super::calls::SendBound;
use super::super::stack_api::proto::Side;
use super::{SimEndpoint, State};
use weir_proto::event::SndLim;

impl SimEndpoint {
    /// What limits sending, when the stack has nothing more to send now.
    pub(super) fn bound(&self) -> SndLim {
        let bound = self.view.lock().stack_bound();
        match (self.state, bound) {
            (State::Handshaking, _) if self.is_amplification_limited() => SndLim::AntiAmplification,
            (State::Established, SendBound::Window) => SndLim::Window,
            (State::Established, SendBound::Pacer) => SndLim::Pacer,
            (State::Established, SendBound::NoData) if !self.pending.is_empty() => {
                self.bound_of_writes()
            }
            (State::Established, SendBound::NoData) if !self.closing => SndLim::Application,
            _ => SndLim::Nothing,
        }
    }

    /// Why the stack accepts no more data: its send window, or the receiver's credit for the stream
    /// or the connection. The stack sends a BLOCKED frame once for each limit of the credit.
    fn bound_of_writes(&self) -> SndLim {
        if self.counts.blocked_frames_sent > self.blocked_frames_before {
            SndLim::ReceiverCredit
        } else {
            SndLim::SendBuffer
        }
    }

    /// True for a server that has sent three times what it received, to an address that is not
    /// validated.
    fn is_amplification_limited(&self) -> bool {
        let server =
            (self.inner.as_ref()).is_some_and(|(_, connection)| connection.side() == Side::Server);
        server && self.statistics.bytes_sent >= 3 * self.statistics.bytes_received
    }
}

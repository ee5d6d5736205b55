//! What limits quinn's sending.
//!
//! quinn does not report it. Whether it had data to send, and whether the window or its pacer
//! delayed that data, is inferred from its queries of the controller's window (see
//! [`QuinnSndLim`]). Data that it does not accept from the application is limited by the receiver's
//! flow-control credit, if quinn has sent a BLOCKED frame, else by its send window. Before the
//! client's address is validated, the octets of datagrams are compared as RFC 9000 §8.1 requires.
//!
//! Not visible: the receiver's credit in octets.

use super::super::observed::QuinnSndLim;
use super::{SimEndpoint, State};
use quinn_proto::Side;
use weir_proto::event::SndLim;

impl SimEndpoint {
    /// What limits sending, when quinn has nothing more to send now.
    pub(super) fn bound(&self) -> SndLim {
        let asked = self.view.lock().quinn_bound();
        match (self.state, asked) {
            (State::Handshaking, _) if self.is_amplification_limited() => SndLim::AntiAmplification,
            (State::Established, QuinnSndLim::Window) => SndLim::Window,
            (State::Established, QuinnSndLim::Pacer) => SndLim::Pacer,
            (State::Established, QuinnSndLim::NoData) if !self.pending.is_empty() => {
                self.bound_of_writes()
            }
            (State::Established, QuinnSndLim::NoData) if !self.closing => SndLim::Application,
            _ => SndLim::Nothing,
        }
    }

    /// Why quinn accepts no more data: its send window, or the receiver's credit for the stream or
    /// the connection. quinn sends a BLOCKED frame once for each limit of the credit.
    fn bound_of_writes(&self) -> SndLim {
        if self.blocked_frames() > self.blocked_frames_before {
            SndLim::ReceiverCredit
        } else {
            SndLim::SendBuffer
        }
    }

    /// DATA_BLOCKED and STREAM_DATA_BLOCKED frames sent so far (RFC 9000 §19.12, §19.13).
    pub(super) fn blocked_frames(&self) -> u64 {
        let sent = self.stats().frame_tx;
        sent.data_blocked + sent.stream_data_blocked
    }

    /// True for a server that has sent three times what it received, to an address that is not
    /// validated.
    fn is_amplification_limited(&self) -> bool {
        let server =
            (self.inner.as_ref()).is_some_and(|(_, connection)| connection.side() == Side::Server);
        server && self.statistics.bytes_sent >= 3 * self.statistics.bytes_received
    }
}

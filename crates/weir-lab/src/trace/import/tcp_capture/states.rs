//! The states of an end of a connection (RFC 9293 §3.3.2), as the segments beside it show them.

use super::segment::{ACK, FIN, RST, SYN, Segment};

/// What an end has sent and received so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct States {
    /// It has sent and received a FIN.
    fins: [bool; 2],
    /// It has sent a SYN/ACK that is not acknowledged.
    has_answered: bool,
}

impl States {
    /// The state that the end enters with a segment that it sends (`own`) or gets; `None` if it
    /// stays in its state.
    pub(super) fn on_segment(&mut self, own: bool, segment: &Segment) -> Option<&'static str> {
        if segment.has(RST) {
            return Some("CLOSED");
        }
        if segment.has(SYN) {
            self.has_answered |= own && segment.has(ACK);
            return match (own, segment.has(ACK)) {
                (true, false) => Some("SYN-SENT"),
                (true, true) => Some("SYN-RECEIVED"),
                (false, true) => Some("ESTABLISHED"),
                (false, false) => None,
            };
        }
        let [sent, received] = &mut self.fins;
        let (this, other) = if own {
            (sent, received)
        } else {
            (received, sent)
        };
        if segment.has(FIN) && !std::mem::replace(this, true) {
            return Some(match (own, *other) {
                (true, false) => "FIN-WAIT-1",
                (true, true) => "LAST-ACK",
                (false, false) => "CLOSE-WAIT",
                (false, true) => "TIME-WAIT",
            });
        }
        if !own && std::mem::take(&mut self.has_answered) {
            return Some("ESTABLISHED");
        }
        None
    }
}

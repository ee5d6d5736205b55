//! Drain: the flow empties the queue that Startup has built (draft-ietf-ccwg-bbr §5.3.2).

use super::{Bbr, state::State};
use crate::cc::EndAcks;

impl Bbr {
    /// EnterDrain (draft-bbr §5.3.2).
    pub(super) const fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.marks.reset();
        self.drain_start_round = self.model.rounds.count();
    }

    /// CheckDrainDone (draft-bbr §5.3.2): at most the bandwidth-delay product is in flight, or
    /// Drain has taken too many rounds.
    pub(super) fn check_drain_done(&mut self, acks: &EndAcks) {
        if self.state != State::Drain {
            return;
        }
        let drained = self.bytes_in_flight <= self.inflight(self.model.bw, 1.0);
        let rounds = self.model.rounds.count();
        if drained || rounds > self.drain_start_round + self.config.drain_rounds {
            self.start_down(acks.now);
        }
    }
}

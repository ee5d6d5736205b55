//! Turns of hosts in a window of time, which [`windows`](crate::network) finds.

use super::{Outcome, Run};
use crate::network::EventTarget;
use std::ops::Range;
use weir_proto::time::Instant;

impl Run<'_> {
    /// All events before the end of a window have been processed.
    pub(super) fn end_window(&mut self, window_end: Instant) {
        if self.network.now < window_end {
            self.network.now = window_end;
            self.network.at_this_instant = 0;
            self.network.including_now = false;
            self.network.event_order = 0;
        }
    }

    /// A host handles its events up to the end of a window.
    pub(super) fn take_turn(&mut self, turn: Range<usize>, window_end: Instant) -> Outcome<()> {
        // Events of other hosts at this instant do not delay those of this one.
        self.network.event_order = 0;
        self.network.queue.defers = true;
        let outcome = self.handle_events_of(turn, window_end);
        self.network.queue.defers = false;
        self.network.event_order = 0;
        outcome
    }

    #[inline]
    fn handle_events_of(&mut self, turn: Range<usize>, window_end: Instant) -> Outcome<()> {
        loop {
            let members = self.network.windows().members(turn.clone());
            let (at, order, target) = self.network.queue.first_of(members);
            if at >= window_end {
                return Ok(());
            }
            self.events += 1;
            self.advance_to(at, order, target)?;
            match self.network.targets[target.0 as usize] {
                EventTarget::Link(link) => self.call_link(link)?,
                EventTarget::Agent(agent) => self.call_agent(agent)?,
                _ => return Ok(()),
            }
        }
    }
}

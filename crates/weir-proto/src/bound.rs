//! What holds a sender back at a moment, as RFC 4898 (SndLim) and Linux's chronographs say it for
//! TCP, here for every transport.
//!
//! A transport says its bound when it has nothing more to send, at the end of `poll_transmit`. At
//! that moment exactly one thing holds it back; it holds until the next call. If several do, the
//! first in this order is said: anti-amplification, window, pacer or rate, the receiver's credit,
//! the send buffer, the application.
//!
//! | here | RFC 4898 | Linux `tcp_info` |
//! |---|---|---|
//! | `window` | SndLimTimeCwnd | busy time less `rwnd_limited` and `sndbuf_limited` |
//! | `receiver_credit` | SndLimTimeRwin | `rwnd_limited` |
//! | `send_buffer` | SndLimTimeSnd | `sndbuf_limited` |
//! | `pacer` | SndLimTimeSnd | busy time, as for `window` |
//! | `application` | SndLimTimeSnd | not busy; busy while the last data is not acknowledged |
//! | `nothing` | SndLimTimeSnd | as `application` |
//! | `rate`, `anti_amplification` | none: TCP has neither | none |

use crate::named::named;
use crate::time::Instant;

named! {
    /// What keeps a sender from sending.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Bound {
        /// The application has written nothing that waits, although it may.
        Application => "application",
        /// All written data was sent, and the application may write no more before some of it is
        /// acknowledged: the send buffer holds it until then.
        SendBuffer => "send_buffer",
        /// Data waits for room in the congestion window, or for an acknowledgement or timeout that
        /// tells what to send again.
        Window => "window",
        /// Data waits for its time by the allowed rate of a rate controller (TFRC, NADA).
        Rate => "rate",
        /// Data waits for its time by the pacer of a window controller; the window has room.
        Pacer => "pacer",
        /// The receiver's window (TCP) or flow control credit (QUIC) lets no more data out.
        ReceiverCredit => "receiver_credit",
        /// A server may not send more before the client's address is validated (RFC 9000 §8.1):
        /// data waits, or its probe timeouts do, which may repeat nothing (RFC 9002 §6.2.2.1).
        AntiAmplification => "anti_amplification",
        /// There is nothing to send and nothing more to come: the handshake is not complete, or the
        /// application has closed and all its data was sent.
        Nothing => "nothing",
    }
}

/// Remembers the bound, so that only its changes become events. A bound that holds for no time,
/// because another is said at the same instant, is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundChanges {
    /// The bound of the last event.
    told: Option<Bound>,
    /// The latest bound and since when it holds, if it is not the told one.
    latest: Option<(Instant, Bound)>,
}

impl BoundChanges {
    /// From now on this bound holds. Returns the change to an earlier bound that held until now.
    pub(crate) fn set(&mut self, now: Instant, bound: Bound) -> Option<(Instant, Bound)> {
        let settled = self.settle(now);
        if self.told == Some(bound) {
            self.latest = None;
        } else if self.latest.is_none_or(|(_, latest)| latest != bound) {
            self.latest = Some((now, bound));
        }
        settled
    }

    /// Takes the latest change, if it was made before now.
    pub(crate) fn settle(&mut self, now: Instant) -> Option<(Instant, Bound)> {
        self.latest.filter(|(since, _)| *since < now)?;
        self.take()
    }

    /// Takes the latest change.
    pub(crate) fn take(&mut self) -> Option<(Instant, Bound)> {
        let change = self.latest.take()?;
        self.told = Some(change.1);
        Some(change)
    }

    /// True if there is a change that was not taken.
    pub(crate) const fn is_pending(&self) -> bool {
        self.latest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, EventMask, Events};

    /// Bounds and the times at which they are said, in nanoseconds.
    type Said<'a> = &'a [(u64, Bound)];

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// The events after these bounds were said at these times, drained after each if `drained`.
    fn events(said: Said<'_>, drained: bool) -> Vec<(u64, Bound)> {
        let mut events = Events::default();
        events.set_mask(EventMask::BOUND);
        let mut seen = Vec::new();
        let mut drain = |events: &mut Events| {
            for (at, event) in events.drain() {
                let Event::Blocked(bound) = event else {
                    panic!("{event:?}");
                };
                seen.push((at.as_nanos(), bound));
            }
        };
        for &(nanos, bound) in said {
            events.block(at(nanos), bound);
            if drained {
                drain(&mut events);
            }
        }
        drain(&mut events);
        assert!(events.is_empty());
        seen
    }

    #[test]
    fn only_changes_that_last_become_events_drained_or_not() {
        use Bound::{Application, Rate, Window};
        let table: [(Said<'_>, Said<'_>); 5] = [
            (&[(1, Window), (2, Window), (3, Window)], &[(1, Window)]),
            (&[(1, Window), (2, Rate)], &[(1, Window), (2, Rate)]),
            // A queue that is empty for no time.
            (
                &[(1, Window), (5, Application), (5, Window), (6, Window)],
                &[(1, Window)],
            ),
            (
                &[(1, Window), (5, Application), (5, Rate)],
                &[(1, Window), (5, Rate)],
            ),
            (
                &[(1, Window), (5, Rate), (6, Window), (7, Rate)],
                &[(1, Window), (5, Rate), (6, Window), (7, Rate)],
            ),
        ];
        for (said, expected) in table {
            assert_eq!(events(said, false), expected);
        }
        // Drained in between, what was said first at an instant stands.
        let said = [(1, Window), (2, Rate), (2, Rate), (3, Window)];
        assert_eq!(events(&said, true), [(1, Window), (2, Rate), (3, Window)]);
    }

    #[test]
    fn times_of_events_never_decrease_and_nothing_is_built_outside_the_mask() {
        let mut events = Events::default();
        events.set_mask(EventMask::BOUND.union(EventMask::WRITE));
        events.block(at(1), Bound::Window);
        events.push(at(1), EventMask::WRITE, || Event::Write(1));
        events.push(at(2), EventMask::WRITE, || Event::Write(2));
        let seen: Vec<_> = events.drain().map(|(at, _)| at.as_nanos()).collect();
        assert_eq!(seen, [1, 1, 2]);
        events.set_mask(EventMask::WRITE);
        events.block(at(3), Bound::Rate);
        assert!(events.is_empty());
    }
}

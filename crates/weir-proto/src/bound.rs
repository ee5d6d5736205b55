//! What limits a sender at a given moment. RFC 4898 (SndLim) and Linux's chronographs record this
//! for TCP; here every transport records it.
//!
//! A transport records its bound at the end of `poll_transmit`, when it has nothing more to send.
//! One bound applies from then until the next call. If several apply, the first in this order is
//! recorded: anti-amplification, window, pacer, rate or minimum interval, the receiver's credit,
//! the send buffer, the application.
//!
//! A pacer or a window that follows from an estimate of the delivery rate is a bound of its own
//! only if the path limited the sample behind that estimate. If the receiver's credit, the send
//! buffer or the application limited that sample, that is the bound (see [`RateLimit`]). The same
//! holds for any pacer within a round trip in which one of these limited the sender, because the
//! pacer then only spreads the packets that the other bound allows.
//!
//! | here | RFC 4898 | Linux `tcp_info` |
//! |---|---|---|
//! | `window` | SndLimTimeCwnd | busy time less `rwnd_limited` and `sndbuf_limited` |
//! | `receiver_credit` | SndLimTimeRwin | `rwnd_limited` |
//! | `send_buffer` | SndLimTimeSnd | `sndbuf_limited` |
//! | `pacer` | SndLimTimeSnd | busy time, as for `window` |
//! | `application` | SndLimTimeSnd | not busy; busy while the last data is not acknowledged |
//! | `nothing` | SndLimTimeSnd | as `application` |
//! | `rate`, `minimum_interval`, `anti_amplification` | none: TCP has none of them | none |

use crate::named::named;
use crate::time::Instant;

named! {
    /// What keeps a sender from sending: the column `bound`. [`Limit`](crate::event::Limit) is the
    /// rule that set the controller's window or rate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SndLim {
        /// No data waits, although the application may write more.
        Application => "application",
        /// All written data was sent, and the application may write no more before some of it is
        /// acknowledged: the send buffer holds it until then.
        SendBuffer => "send_buffer",
        /// Data waits for room in the congestion window, or for an acknowledgement or timeout that
        /// determines which data to retransmit.
        Window => "window",
        /// Data waits until the allowed rate of a rate controller (TFRC, NADA) permits it.
        Rate => "rate",
        /// Data waits for the minimum interval between two packets of TFRC-SP (RFC 5622 §5),
        /// although the allowed rate permits it.
        MinimumInterval => "minimum_interval",
        /// Data waits until the pacer of a window controller permits it; the window has room.
        Pacer => "pacer",
        /// The receiver's window (TCP) or flow control credit (QUIC) allows no more data.
        ReceiverCredit => "receiver_credit",
        /// A server may not send more before the client's address is validated (RFC 9000 §8.1):
        /// data waits, or its probe timeouts do, which may not retransmit either (RFC 9002
        /// §6.2.2.1).
        AntiAmplification => "anti_amplification",
        /// There is no data to send: the handshake is not complete, or the application has closed
        /// and all its data was sent.
        Nothing => "nothing",
    }
}

named! {
    /// The limit of a sample of the delivery rate, other than the path and the controller.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum RateLimit {
        /// No limit: the sample reflects the path, or the pacer or window in force.
        #[default]
        Path => "path",
        /// The application wrote less.
        Application => "application",
        /// The send buffer accepted no more data from the application.
        SendBuffer => "send_buffer",
        /// The receiver's window or credit allowed no more data.
        ReceiverCredit => "receiver_credit",
    }
}

impl RateLimit {
    /// The limit of a sample whose packets are sent while `bound` applies.
    const fn of(bound: SndLim) -> Self {
        match bound {
            SndLim::Application => Self::Application,
            SndLim::SendBuffer => Self::SendBuffer,
            SndLim::ReceiverCredit => Self::ReceiverCredit,
            _ => Self::Path,
        }
    }

    /// This limit, or `other` if this one is [`Self::Path`].
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        match self {
            Self::Path => other,
            limit => limit,
        }
    }

    /// The bound to record in place of `bound`, which follows from a rate estimate with this limit.
    pub const fn behind(self, bound: SndLim) -> SndLim {
        match self {
            Self::Path => bound,
            Self::Application => SndLim::Application,
            Self::SendBuffer => SndLim::SendBuffer,
            Self::ReceiverCredit => SndLim::ReceiverCredit,
        }
    }
}

/// The bound, other than window or pacer, that limited the sender within the last round trip. It
/// counts from the moment at which it applies until all octets in flight at that moment have been
/// delivered, as C.app_limited of draft-ietf-ccwg-bbr §4.1.2.4 does for the application alone:
/// packets sent meanwhile belong to a flight with a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hold {
    /// The latest bound, the time since when it applies, and the count of delivered octets at which
    /// it ends. It takes effect if it still applies at a later time.
    said: Option<(Instant, RateLimit, u64)>,
    current: RateLimit,
    until: u64,
}

impl Hold {
    /// `bound` applies from now on; `delivered_then` octets will have been delivered when all
    /// octets in flight have been.
    pub fn say(&mut self, now: Instant, bound: SndLim, delivered_then: u64) {
        self.settle(now);
        self.said = match bound {
            SndLim::Pacer => None,
            _ => Some((now, RateLimit::of(bound), delivered_then)),
        };
    }

    /// Lets a bound that was recorded before `now` take effect. A window that limits the sender
    /// ends an earlier limit.
    pub fn settle(&mut self, now: Instant) {
        if let Some((_, limit, until)) = self.said.take_if(|(since, ..)| *since < now) {
            (self.current, self.until) = (limit, until);
        }
    }

    /// `delivered` octets have been delivered so far.
    pub const fn on_delivered(&mut self, delivered: u64) {
        if delivered > self.until {
            self.current = RateLimit::Path;
        }
    }

    /// The limit of the flight of a packet that leaves now.
    pub const fn limit(&self) -> RateLimit {
        self.current
    }
}

/// Keeps the bound, so that only its changes become events. A bound that another replaces at the
/// same instant is not an event.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundChanges {
    /// The bound of the last event.
    reported: Option<SndLim>,
    /// The latest bound and the time since when it applies, if it differs from `reported`.
    latest: Option<(Instant, SndLim)>,
}

impl BoundChanges {
    /// `bound` applies from now on. Returns an earlier change, if that bound lasted until now.
    pub(crate) fn set(&mut self, now: Instant, bound: SndLim) -> Option<(Instant, SndLim)> {
        let settled = self.settle(now);
        if self.reported == Some(bound) {
            self.latest = None;
        } else if self.latest.is_none_or(|(_, latest)| latest != bound) {
            self.latest = Some((now, bound));
        }
        settled
    }

    /// Takes the latest change if it was made before `now`.
    pub(crate) fn settle(&mut self, now: Instant) -> Option<(Instant, SndLim)> {
        self.latest.filter(|(since, _)| *since < now)?;
        self.take()
    }

    /// Takes the latest change.
    pub(crate) fn take(&mut self) -> Option<(Instant, SndLim)> {
        let change = self.latest.take()?;
        self.reported = Some(change.1);
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

    /// Bounds and the times at which they are recorded, in nanoseconds.
    type Said<'a> = &'a [(u64, SndLim)];

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// The events after these bounds were recorded at these times, drained after each if `drained`.
    fn events(said: Said<'_>, drained: bool) -> Vec<(u64, SndLim)> {
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
        use SndLim::{Application, Rate, Window};
        let table: [(Said<'_>, Said<'_>); 5] = [
            (&[(1, Window), (2, Window), (3, Window)], &[(1, Window)]),
            (&[(1, Window), (2, Rate)], &[(1, Window), (2, Rate)]),
            // The queue empties and fills again at the same instant.
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
        // With events drained in between, the first bound recorded at an instant stays.
        let said = [(1, Window), (2, Rate), (2, Rate), (3, Window)];
        assert_eq!(events(&said, true), [(1, Window), (2, Rate), (3, Window)]);
    }

    #[test]
    fn a_bound_that_follows_from_a_limited_rate_is_that_limit() {
        use RateLimit::{Application, Path, ReceiverCredit, SendBuffer};
        // The limit of the estimate precedes the limit of the last round trip.
        for (estimate, hold, behind) in [
            (Path, Path, SndLim::Pacer),
            (Path, SendBuffer, SndLim::SendBuffer),
            (ReceiverCredit, Path, SndLim::ReceiverCredit),
            (ReceiverCredit, Application, SndLim::ReceiverCredit),
            (Application, Path, SndLim::Application),
        ] {
            assert_eq!(estimate.or(hold).behind(SndLim::Pacer), behind);
        }
    }

    #[test]
    fn times_of_events_never_decrease_and_nothing_is_built_outside_the_mask() {
        let mut events = Events::default();
        events.set_mask(EventMask::BOUND.union(EventMask::WRITE));
        events.block(at(1), SndLim::Window);
        events.push(at(1), EventMask::WRITE, || Event::Write(1));
        events.push(at(2), EventMask::WRITE, || Event::Write(2));
        let seen: Vec<_> = events.drain().map(|(at, _)| at.as_nanos()).collect();
        assert_eq!(seen, [1, 1, 2]);
        events.set_mask(EventMask::WRITE);
        events.block(at(3), SndLim::Rate);
        assert!(events.is_empty());
    }
}

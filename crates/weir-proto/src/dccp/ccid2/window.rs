//! The two kinds of windows that CCID 2 can have, with one interface, in packets.

use super::ack_summary::AckSummary;
use super::controlled::Controlled;
use super::tcp_like::TcpLike;
use crate::cc::{EcnCapability, Rtt};
use crate::dccp::ccid::SendTime;
use crate::event::{SndLim, WindowState};
use crate::time::{Duration, Instant};

/// The window of a sender.
pub(super) enum Window {
    TcpLike(TcpLike),
    Controlled(Box<Controlled>),
}

impl Window {
    /// The window in packets.
    pub(super) fn packets(&self) -> u32 {
        match self {
            Self::TcpLike(window) => window.packets(),
            Self::Controlled(window) => window.packets(),
        }
    }

    /// When the next packet may leave, with `pipe` packets in flight.
    pub(super) fn send_time(&mut self, now: Instant, pipe: u32) -> SendTime {
        match self {
            Self::TcpLike(window) if pipe < window.packets() => SendTime::Now,
            Self::TcpLike(_) => SendTime::Blocked,
            Self::Controlled(window) => window.send_time(now, pipe),
        }
    }

    /// A packet leaves; `pipe` includes it.
    pub(super) fn on_sent(&mut self, now: Instant, pipe: u32, rtt: Rtt) {
        match self {
            Self::TcpLike(window) => window.on_sent(pipe),
            Self::Controlled(window) => window.on_sent(now, pipe, rtt),
        }
    }

    /// No further packet leaves now.
    pub(super) fn on_nothing_more(&mut self, now: Instant) {
        match self {
            Self::TcpLike(_) => {}
            Self::Controlled(window) => window.on_nothing_more(now),
        }
    }

    /// No further packet leaves now because of `bound`; returns the bound behind it.
    pub(super) fn on_bound(&mut self, now: Instant, bound: SndLim, pipe: u32) -> SndLim {
        match self {
            Self::TcpLike(_) => bound,
            Self::Controlled(window) => window.on_bound(now, bound, pipe),
        }
    }

    /// The oldest packet was acknowledged and is removed from the history.
    pub(super) fn forget_oldest(&mut self) {
        match self {
            Self::TcpLike(_) => {}
            Self::Controlled(window) => {
                window.take_oldest();
            }
        }
    }

    /// Processes the receiver's reports in an acknowledgement, before its packets.
    pub(super) fn on_receiver_reports(&mut self, now: Instant, summary: &AckSummary, rtt: Rtt) {
        if !summary.slow_receiver && !summary.data_dropped {
            return;
        }
        // RFC 4340 §11.6: the window does not grow for about a round-trip time.
        let rtt = rtt.smoothed.max(Duration::from_millis(1));
        let slow_until = summary.slow_receiver.then_some(now + rtt);
        match self {
            Self::TcpLike(window) => window.on_receiver_reports(slow_until),
            Self::Controlled(window) => window.on_receiver_reports(slow_until),
        }
    }

    /// All packets of an acknowledgement and the losses that it shows are known.
    pub(super) fn grow(&mut self, now: Instant, summary: &AckSummary, ack_ratio: u16) {
        match self {
            Self::TcpLike(window) => window.grow(now, summary, ack_ratio),
            Self::Controlled(window) => window.on_receiver_drops(summary),
        }
    }

    /// The retransmission timer expired, `repeated` without an acknowledgement since.
    pub(super) fn on_timeout(&mut self, now: Instant, first_sent_at: Instant, repeated: bool) {
        match self {
            Self::TcpLike(window) => window.on_timeout(),
            Self::Controlled(window) => window.on_timeout(now, first_sent_at, repeated),
        }
    }

    /// Nothing was sent for longer than a timeout.
    pub(super) fn restart(&mut self) {
        match self {
            Self::TcpLike(window) => window.restart(),
            Self::Controlled(window) => window.restart(),
        }
    }

    /// The ECN codepoint of packets, if the window needs one.
    pub(super) fn ecn(&self) -> Option<EcnCapability> {
        match self {
            Self::TcpLike(_) => None,
            Self::Controlled(window) => window.ecn(),
        }
    }

    /// The state for a trace, with `pipe` packets in flight.
    pub(super) fn state(&self, pipe: u32, rtt: Rtt) -> WindowState {
        match self {
            Self::TcpLike(window) => window.state(pipe, rtt),
            Self::Controlled(window) => window.state(pipe, rtt),
        }
    }
}

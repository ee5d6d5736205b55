//! The window of RFC 4341 §5, which counts packets.

use super::ack_summary::AckSummary;
use super::initial_window;
use crate::cc::Rtt;
use crate::event::{Limit, WindowState};
use crate::time::Instant;

/// The window, in packets.
#[derive(Clone, Debug)]
pub(super) struct TcpLike {
    packet_size: u64,
    cwnd: u32,
    ssthresh: u32,
    /// Packets acknowledged towards the next increase.
    acked_since_increase: u32,
    /// The window was not filled when the last packet left.
    app_limited: bool,
    /// The window does not grow before this time, after Slow Receiver (RFC 4340 §11.6).
    slow_until: Option<Instant>,
    limit: Limit,
}

impl TcpLike {
    /// The initial window of RFC 3390 for packets of about this many octets.
    pub(super) fn new(packet_size: u32) -> Self {
        let packet_size = u64::from(packet_size.max(1));
        Self {
            packet_size,
            cwnd: initial_window(packet_size),
            ssthresh: u32::MAX,
            acked_since_increase: 0,
            app_limited: false,
            slow_until: None,
            limit: Limit::InitialWindow,
        }
    }

    pub(super) const fn packets(&self) -> u32 {
        self.cwnd
    }

    pub(super) const fn on_sent(&mut self, pipe: u32) {
        self.app_limited = pipe < self.cwnd;
    }

    /// Leaves slow start after Slow Receiver or Data Dropped (RFC 4341 §5.2).
    pub(super) fn on_receiver_reports(&mut self, slow_until: Option<Instant>) {
        self.ssthresh = self.ssthresh.min(self.cwnd.max(2));
        self.slow_until = slow_until.or(self.slow_until);
    }

    pub(super) fn grow(&mut self, now: Instant, summary: &AckSummary, ack_ratio: u16) {
        if self.slow_until.is_none_or(|until| until <= now) && summary.unmarked > 0 {
            self.increase(summary.unmarked, ack_ratio);
        }
        // RFC 4341 §5.2: one packet less for each with drop code 2.
        self.cwnd = self.cwnd.saturating_sub(summary.dropped_by_receiver).max(1);
    }

    fn increase(&mut self, unmarked: u32, ack_ratio: u16) {
        if self.app_limited {
            self.limit = Limit::ApplicationLimited;
            return;
        }
        let window = self.cwnd;
        self.acked_since_increase = self.acked_since_increase.saturating_add(unmarked);
        if window < self.ssthresh {
            // RFC 4341 §5: one packet for two acknowledged, at most half the Ack Ratio for each
            // acknowledgement.
            let limit = u32::from(ack_ratio).div_ceil(2);
            let increase = (self.acked_since_increase / 2).min(limit);
            self.acked_since_increase = (self.acked_since_increase - 2 * increase).min(1);
            self.cwnd = window.saturating_add(increase).min(self.ssthresh);
            self.limit = Limit::SlowStart;
        } else if self.acked_since_increase >= window {
            self.acked_since_increase -= window;
            self.cwnd = window.saturating_add(1);
            self.limit = Limit::CongestionAvoidance;
        } else {
            self.limit = Limit::CongestionAvoidance;
        }
    }

    /// A congestion event halves the window (RFC 4341 §5).
    pub(super) fn reduce(&mut self) {
        self.cwnd = (self.cwnd / 2).max(1);
        self.ssthresh = self.cwnd.max(2);
        self.acked_since_increase = 0;
        self.limit = Limit::Recovery;
    }

    /// One packet is left after a timeout (RFC 4341 §5).
    pub(super) fn on_timeout(&mut self) {
        self.ssthresh = (self.cwnd / 2).max(2);
        self.cwnd = 1;
        self.acked_since_increase = 0;
        self.limit = Limit::Timeout;
    }

    /// The window restarts after an idle time (RFC 4341 §5.1, RFC 5681 §4.1).
    pub(super) fn restart(&mut self) {
        let initial = initial_window(self.packet_size);
        if self.cwnd > initial {
            self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
            self.cwnd = initial;
            self.acked_since_increase = 0;
            self.limit = Limit::ApplicationLimited;
        }
    }

    pub(super) fn state(&self, pipe: u32, rtt: Rtt) -> WindowState {
        let octets = |packets| u64::from(packets) * self.packet_size;
        WindowState {
            cwnd: octets(self.cwnd),
            bytes_in_flight: octets(pipe),
            partial_bytes_acked: octets(self.acked_since_increase),
            ssthresh: (self.ssthresh < u32::MAX).then(|| octets(self.ssthresh)),
            state: if self.cwnd < self.ssthresh {
                "slow_start"
            } else {
                "congestion_avoidance"
            },
            limit: self.limit,
            ..rtt.into()
        }
    }
}

#[cfg(test)]
#[path = "tcp_like_tests.rs"]
mod tests;

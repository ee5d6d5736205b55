//! The rules in which TCP senders differ, each a named switch, and their presets.
//!
//! `rfc` has the rules of RFCs 5681, 6298, 6582, 6675 and 6937 as their texts give them; `linux`
//! those of Linux as far as they are known: RACK-TLP (RFC 8985), F-RTO (RFC 5682), a floor of the
//! RTO's variance term, CUBIC's HyStart, constant alpha and initial growth, reductions to whole
//! packets, growth while the window was used up in the last round;
//! `ns2-sack1` those of ns-2's Agent/TCP/Sack1 with Agent/TCPSink/Sack1, with the defaults of
//! ns-2.35, for comparison. Any rule may be changed on top of a preset, so that the effect of one
//! rule can be studied alone.

use crate::cc::window::{ControllerRules, CubicAlpha, RateLimitedGrowth};
use crate::settings::{Keyword, count, or_word};
use crate::time::Duration;
use crate::{keywords, settings};

keywords! {
    /// What declares a segment lost. Without SACK it is always RFC 6582.
    pub enum LossDetection {
        /// SACKed octets above it: DupThresh ranges, or more than DupThresh - 1 segments (RFC 6675
        /// §4, IsLost()).
        DuplicateAcks = "duplicate-acks",
        /// A segment that was sent later has been delivered (RFC 8985 §6.2).
        Rack = "rack",
    }

    /// How much fast recovery sends.
    pub enum RecoveryWindow {
        /// As much as keeps ssthresh in the network (RFC 6675 §5).
        Ssthresh = "ssthresh",
        /// Proportional rate reduction with the conservative reduction bound (RFC 6937 §3).
        PrrCrb = "prr-crb",
        /// Proportional rate reduction with the slow start reduction bound (RFC 6937 §3).
        PrrSsrb = "prr-ssrb",
        /// The slow start reduction bound for an acknowledgement that advances and shows no new
        /// loss, the conservative one otherwise, as Linux has it.
        PrrSafeAck = "prr-safe-ack",
        /// Proportional rate reduction of the Standards Track (RFC 9937 §6): the bounds as in
        /// Linux, at least what an acknowledgement delivers, and a retransmission in any case when
        /// recovery begins; what was SACKed before counts as delivered.
        PrrRfc9937 = "prr-rfc9937",
    }

    /// The quantity that a congestion event reduces.
    pub enum ReductionBase {
        /// FlightSize: what was sent and is not cumulatively acknowledged (RFC 5681 §3.1, eq. 4).
        FlightSize = "flight-size",
        /// The congestion window.
        Cwnd = "cwnd",
    }

    /// The quantity that is at least `rto_min`.
    pub enum RtoFloor {
        /// The whole timeout (RFC 6298 §2.4).
        Timeout = "timeout",
        /// Its variance term: RTO = SRTT + max(4·RTTVAR, `rto_min`), as Linux has it.
        Variance = "variance",
    }

    /// What ends the back-off of the RTO.
    pub enum BackoffEnd {
        /// A sample of the round-trip time, which no retransmitted segment gives (RFC 6298 §5).
        Sample = "sample",
        /// An acknowledgement of new data, as with Linux's timestamps, by which retransmitted
        /// segments give samples.
        NewAck = "new-ack",
    }
}

settings! {
    /// Single rules, on top of `rules`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Rules {
        /// What declares a segment lost; without SACK it is always RFC 6582.
        pub loss_detection: LossDetection = LossDetection::Rack,
        /// DupThresh (RFC 6675 §2).
        pub dup_thresh: u32 = 3 => count(1..=300, "segments"),
        /// How much fast recovery sends.
        pub recovery_window: RecoveryWindow = RecoveryWindow::PrrSafeAck,
        /// The quantity that a congestion event reduces: the new window is a share of it.
        pub reduction_base: ReductionBase = ReductionBase::Cwnd,
        /// A lost retransmission reduces the window again (RFC 5681 §4.3).
        pub reduce_on_lost_retransmission: bool = false,
        /// Initial window in segments; "rfc5681" is 2 to 4 segments by their size (RFC 5681 §3.1).
        pub initial_window: Option<u32> = Some(10)
            => or_word("rfc5681", count(1..=1000, "segments")),
        /// Segments by which one acknowledgement enlarges the window in slow start: L of RFC 3465,
        /// 1 in RFC 5681 §3.1; "unlimited" is as many as it acknowledges.
        pub slow_start_limit: Option<u32> = None
            => or_word("unlimited", count(1..=1000, "segments")),
        /// Octets that are only SACKed enlarge the window too; RFC 5681 §3.1 counts what is
        /// acknowledged cumulatively.
        pub grow_on_sacks: bool = true,
        /// Each of the first two duplicate acknowledgements lets a new segment out (RFC 3042).
        pub limited_transmit: bool = true,
        /// An idle time longer than the RTO takes the window back to the initial one (RFC 5681
        /// §4.1).
        pub restart_after_idle: bool = true,
        /// The quantity that is at least `rto_min`.
        pub rto_floor: RtoFloor = RtoFloor::Variance,
        /// What ends the back-off of the RTO.
        pub rto_backoff_end: BackoffEnd = BackoffEnd::NewAck,
        /// Expiries in a row after which the RTO doubles no more.
        pub rto_doublings: u32 = 16 => count(0..=16, "doublings"),
        /// The retransmission of the first outstanding segment restarts the RTO (RFC 6675 §6).
        pub restart_rto_on_retransmission: bool = true,
        /// A timeout forgets which segments were SACKed.
        pub forget_sacks_on_timeout: bool = false,
        /// A probe instead of a timeout for losses at the end of a flight (RFC 8985 §7).
        pub tail_loss_probe: bool = true,
        /// A timeout whose segments turn out to have arrived is taken back (RFC 5682 §3).
        pub f_rto: bool = true,
        /// The receiver reports duplicates (RFC 2883).
        pub dsack: bool = true,
        /// The rules of the controller.
        pub controller: ControllerRules [flatten] = ControllerRules {
            undo_spurious: true,
            hystart: true,
            cubic_alpha: CubicAlpha::Constant,
            cubic_initial_growth: true,
            whole_packets: true,
            rate_limited_growth: RateLimitedGrowth::Linux,
            ..ControllerRules::OFF
        },
    }
    constant LINUX;
}

/// The times of a retransmission timer that differ between presets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RtoTimes {
    pub(super) initial: Duration,
    pub(super) min: Duration,
    pub(super) max: Duration,
}

impl Rules {
    /// The presets.
    pub const PRESETS: [Keyword; 3] = [
        Keyword::new("linux", "Linux, as far as its rules are known."),
        Keyword::new("rfc", "RFCs 5681, 6298, 6582, 6675 and 6937."),
        Keyword::new("ns2-sack1", "Agent/TCP/Sack1 of ns-2.35, for comparison."),
    ];

    /// The names of the presets.
    pub const NAMES: [&'static str; 3] = Keyword::words(&Self::PRESETS);

    /// RFCs 5681, 6298, 6582, 6675 and 6937.
    pub const RFC: Self = Self {
        loss_detection: LossDetection::DuplicateAcks,
        recovery_window: RecoveryWindow::PrrSsrb,
        reduction_base: ReductionBase::FlightSize,
        reduce_on_lost_retransmission: true,
        initial_window: None,
        slow_start_limit: Some(1),
        grow_on_sacks: false,
        rto_backoff_end: BackoffEnd::Sample,
        rto_floor: RtoFloor::Timeout,
        tail_loss_probe: false,
        f_rto: false,
        dsack: false,
        controller: ControllerRules::OFF,
        ..Self::LINUX
    };

    /// ns-2's Sack1: go-back-N after a timeout, and no rule that keeps the timer from expiring
    /// in a long recovery.
    pub const NS2_SACK1: Self = Self {
        recovery_window: RecoveryWindow::Ssthresh,
        reduction_base: ReductionBase::Cwnd,
        initial_window: Some(2),
        rto_backoff_end: BackoffEnd::NewAck,
        // `t_backoff_` is at most 64.
        rto_doublings: 6,
        restart_rto_on_retransmission: false,
        forget_sacks_on_timeout: true,
        ..Self::RFC
    };

    /// The preset of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "linux" => Some(Self::LINUX),
            "rfc" => Some(Self::RFC),
            "ns2-sack1" => Some(Self::NS2_SACK1),
            _ => None,
        }
    }

    /// The initial window in octets.
    pub fn initial_window(&self, segment_size: u32) -> u64 {
        let segments = self.initial_window.unwrap_or(match segment_size {
            // RFC 5681 §3.1, eq. 1.
            2191.. => 2,
            1096.. => 3,
            _ => 4,
        });
        u64::from(segments) * u64::from(segment_size)
    }
}

impl RtoTimes {
    /// RFC 6298 §2.1, §2.4 and §2.5.
    const RFC: Self = Self {
        initial: Duration::from_secs(1),
        min: Duration::from_secs(1),
        max: Duration::from_secs(60),
    };
    /// `TCP_TIMEOUT_INIT`, `TCP_RTO_MIN` and `TCP_RTO_MAX`.
    pub(super) const LINUX: Self = Self {
        initial: Duration::from_secs(1),
        min: Duration::from_millis(200),
        max: Duration::from_secs(120),
    };
    /// `rtxcur_init_`, `minrto_` and `maxrto_`.
    const NS2: Self = Self {
        initial: Duration::from_secs(3),
        min: Duration::from_millis(200),
        max: Duration::from_secs(60),
    };

    /// The times of the preset of this name.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "rfc" => Self::RFC,
            "ns2-sack1" => Self::NS2,
            _ => Self::LINUX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_window_of_rfc_5681_depends_on_the_segment_size() {
        // §3.1: SMSS > 2190: 2 SMSS; 1095 < SMSS <= 2190: 3 SMSS; SMSS <= 1095: 4 SMSS.
        for (size, segments) in [(2191, 2), (2190, 3), (1096, 3), (1095, 4), (536, 4)] {
            let window = Rules::RFC.initial_window(size);
            assert_eq!(window, u64::from(segments * size), "{size}");
        }
        assert_eq!(Rules::LINUX.initial_window(1460), 14_600);
    }

    #[test]
    fn every_preset_has_its_name() {
        assert!(Rules::NAMES.iter().all(|name| Rules::named(name).is_some()));
        assert_eq!(Rules::named("linux"), Some(Rules::default()));
        assert_eq!(Rules::named("reno"), None);
    }

    #[test]
    fn the_timeouts_of_rfc_6298_are_a_second_and_a_minute() {
        // §2.1: 1 s before the first sample; §2.4: at least 1 s; §2.5: a maximum of at least 60 s.
        let times = RtoTimes::named("rfc");
        assert_eq!(times.initial, Duration::from_secs(1));
        assert_eq!(times.min, Duration::from_secs(1));
        assert_eq!(times.max, Duration::from_secs(60));
    }
}

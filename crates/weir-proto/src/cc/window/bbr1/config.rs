//! The constants of BBRv1, named after those of Linux's `tcp_bbr.c`, each a setting.

use crate::settings;
use crate::settings::{count, fraction, number};
use crate::time::Duration;

/// bbr_high_gain: 2/ln 2 as Linux computes it, 2885/1000 + 1 of 256 parts: by which the rate can
/// double each round.
const HIGH_GAIN: f64 = 739.0 / 256.0;
/// bbr_drain_gain: 1000/2885 in 256 parts.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// bbr_cwnd_gain.
const CWND_GAIN: f64 = 2.0;
/// The first of bbr_pacing_gain: probes for more bandwidth.
const PROBE_GAIN: f64 = 1.25;
/// The second of bbr_pacing_gain: drains the queue that the probe may have made.
const PROBE_DRAIN_GAIN: f64 = 0.75;
/// bbr_pacing_margin_percent, as a share.
const PACING_MARGIN: f64 = 0.01;
/// bbr_bw_rtts: the cycle of 8 phases and two more.
const BW_ROUNDS: u64 = 10;
/// bbr_min_rtt_win_sec.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// bbr_probe_rtt_mode_ms.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// bbr_cwnd_min_target in packets.
const CWND_MIN_TARGET: u64 = 4;
/// bbr_full_bw_thresh.
const FULL_BW_THRESHOLD: f64 = 1.25;
/// bbr_full_bw_cnt.
const FULL_BW_ROUNDS: u32 = 3;
/// bbr_extra_acked_gain.
const EXTRA_ACKED_GAIN: f64 = 1.0;

settings! {
    /// The constants of BBRv1 (Linux 4.20 and later).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Bbr1Config {
        /// The gain of pacing rate and window in Startup (bbr_high_gain).
        pub high_gain: f64 = HIGH_GAIN => number(0.1..=10.0, "times"),
        /// The gain of the pacing rate in Drain (bbr_drain_gain).
        pub drain_gain: f64 = DRAIN_GAIN => number(0.01..=10.0, "times"),
        /// The gain of the window in ProbeBW (bbr_cwnd_gain).
        pub cwnd_gain: f64 = CWND_GAIN => number(0.1..=10.0, "times"),
        /// The pacing gain of the phase of ProbeBW that probes.
        pub probe_gain: f64 = PROBE_GAIN => number(0.1..=10.0, "times"),
        /// The pacing gain of the phase after it.
        pub probe_drain_gain: f64 = PROBE_DRAIN_GAIN => number(0.01..=10.0, "times"),
        /// The share of the bandwidth that pacing leaves free (bbr_pacing_margin_percent).
        pub pacing_margin: f64 = PACING_MARGIN => fraction(),
        /// Rounds for which the largest sample of the bandwidth counts (bbr_bw_rtts).
        pub bw_rounds: u64 = BW_ROUNDS => count(1..=1_000_000, "rounds"),
        /// How long the smallest round-trip time counts (bbr_min_rtt_win_sec).
        pub min_rtt_window: Duration = MIN_RTT_WINDOW,
        /// How long ProbeRTT lasts at least (bbr_probe_rtt_mode_ms).
        pub probe_rtt_time: Duration = PROBE_RTT_TIME,
        /// The smallest window in packets (bbr_cwnd_min_target).
        pub cwnd_min_target: u64 = CWND_MIN_TARGET => count(1..=1000, "packets"),
        /// Growth of the bandwidth in a round below which the pipe counts as full
        /// (bbr_full_bw_thresh).
        pub full_bw_threshold: f64 = FULL_BW_THRESHOLD => number(1.0..=10.0, "times"),
        /// Rounds without that growth after which the pipe is full (bbr_full_bw_cnt).
        pub full_bw_rounds: u32 = FULL_BW_ROUNDS => count(1..=1_000_000, "rounds"),
        /// The share of the octets acknowledged beyond the bandwidth that the window has room for
        /// (bbr_extra_acked_gain); 0 as before Linux 5.1.
        pub extra_acked_gain: f64 = EXTRA_ACKED_GAIN => number(0.0..=10.0, "times"),
        /// The rate of a policer is found by its losses, and used for 48 rounds (bbr_lt_bw_*).
        pub policer_detection: bool = true,
    }
}

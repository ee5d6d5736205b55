//! The constants of BBR (draft-ietf-ccwg-bbr §2), each a setting, so that the effect of one of them
//! can be studied alone; and those of the BBRv3 that is deployed (`tcp_bbr.c` of the branch v3 of
//! github.com/google/bbr), where they differ.

use crate::settings;
use crate::settings::{Keyword, count, duration, fraction, named, number, or_word};
use crate::time::Duration;
use std::ops::RangeInclusive;

/// BBR.StartupPacingGain (draft-bbr §2.5): 4·ln 2, by which the rate can double each round.
const STARTUP_PACING_GAIN: f64 = 2.77;
/// BBR.DrainPacingGain (draft-bbr §2.5).
const DRAIN_PACING_GAIN: f64 = 0.5;
/// BBR.DefaultCwndGain (draft-bbr §2.6).
const DEFAULT_CWND_GAIN: f64 = 2.0;
/// The pacing gain of ProbeBW_DOWN (draft-bbr §5.3.3.1).
const PROBE_DOWN_PACING_GAIN: f64 = 0.9;
/// The pacing gain of ProbeBW_UP (draft-bbr §5.3.3.5).
const PROBE_UP_PACING_GAIN: f64 = 1.25;
/// The cwnd gain of ProbeBW_UP (draft-bbr §5.3.3.5).
const PROBE_UP_CWND_GAIN: f64 = 2.25;
/// BBR.ProbeRTTCwndGain (draft-bbr §2.16.2).
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// BBR.PacingMarginPercent (draft-bbr §2.5), as a share.
const PACING_MARGIN: f64 = 0.01;
/// BBR.LossThresh (draft-bbr §2.8).
const LOSS_THRESHOLD: f64 = 0.02;
/// BBR.Beta (draft-bbr §2.8).
const BETA: f64 = 0.7;
/// BBR.Headroom (draft-bbr §2.8).
const HEADROOM: f64 = 0.15;
/// BBR.MinPipeCwnd in packets (draft-bbr §2.8).
const MIN_PIPE_PACKETS: u64 = 4;
/// By how much the delivery rate must have grown for a round to count as growth (draft-bbr
/// §5.3.1.2).
const FULL_BW_GROWTH: f64 = 1.25;
/// Rounds without that growth after which the pipe is full (draft-bbr §5.3.1.2).
const FULL_BW_ROUNDS: u32 = 3;
/// BBRStartupFullLossCnt: ranges lost in a round that end Startup (draft-bbr §5.3.1.3).
const STARTUP_FULL_LOSS_RANGES: u32 = 6;
/// Rounds after which Drain ends whatever is in flight (draft-bbr §5.3.2).
const DRAIN_ROUNDS: u64 = 3;
/// BBR.MaxBwFilterLen in cycles (draft-bbr §2.11).
const MAX_BW_FILTER_CYCLES: u64 = 2;
/// BBR.ExtraAckedFilterLen in rounds (draft-bbr §2.12).
const EXTRA_ACKED_FILTER_ROUNDS: u64 = 10;
/// BBR.MinRTTFilterLen (draft-bbr §2.16.1).
const MIN_RTT_FILTER: Duration = Duration::from_secs(10);
/// BBR.ProbeRTTInterval (draft-bbr §2.16.2).
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// BBR.ProbeRTTDuration (draft-bbr §2.16.2).
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
/// The least time between two probes for bandwidth (draft-bbr §5.3.3.8.3, PickProbeWait).
const PROBE_WAIT: Duration = Duration::from_secs(2);
/// The greatest random addition to it (draft-bbr §5.3.3.8.3, PickProbeWait).
const PROBE_WAIT_SPREAD: Duration = Duration::from_secs(1);
/// The most rounds between two probes for bandwidth (draft-bbr §5.3.3.8.3).
const RENO_ROUNDS: u64 = 63;

/// `bbr_drain_gain` of Linux: 1000/2885, less than the 1/2.77 that would empty the queue of Startup
/// in a round.
const LINUX_DRAIN_PACING_GAIN: f64 = 0.347;
/// `bbr_pacing_gain[BBR_BW_PROBE_DOWN]` of Linux.
const LINUX_PROBE_DOWN_PACING_GAIN: f64 = 0.91;
/// `bbr_extra_acked_win_rtts` of Linux.
const LINUX_EXTRA_ACKED_FILTER_ROUNDS: u64 = 5;
/// `bbr_extra_acked_max_us` of Linux.
const LINUX_EXTRA_ACKED_LIMIT: Duration = Duration::from_millis(100);
/// Linux's Drain has no end by rounds: more than a run has.
const LINUX_DRAIN_ROUNDS: u64 = 1_000_000;
/// The bounds of `extra_acked_limit`.
const LIMITS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);
/// `bbr_ecn_alpha_gain` of Linux.
const ECN_ALPHA_GAIN: f64 = 1.0 / 16.0;
/// `bbr_ecn_factor` of Linux.
const ECN_FACTOR: f64 = 1.0 / 3.0;
/// `bbr_ecn_thresh` of Linux.
const ECN_THRESHOLD: f64 = 0.5;
/// `bbr_ecn_max_rtt_us` of Linux.
const ECN_MAX_RTT: Duration = Duration::from_millis(5);
/// `bbr_full_ecn_cnt` of Linux.
const FULL_ECN_ROUNDS: u32 = 2;
/// `bbr_ecn_reprobe_gain` of Linux.
const ECN_REPROBE_GAIN: f64 = 0.5;

/// The presets: whose constants the others are.
const PRESETS: [Keyword; 2] = [
    Keyword {
        word: "draft",
        doc: "The constants of draft-ietf-ccwg-bbr.",
    },
    Keyword {
        word: "linux-v3",
        doc: "Those of Google's tcp_bbr.c, version 3, which several distributions ship.",
    },
];

settings! {
    /// The constants of BBR (draft-ietf-ccwg-bbr).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct BbrConfig {
        /// Whose constants the other keys start from.
        pub preset: &'static str = "draft" => named(|| PRESETS.into()),
        /// BBR.StartupPacingGain (draft-bbr §2.5).
        pub startup_pacing_gain: f64 = STARTUP_PACING_GAIN => number(0.1..=10.0, "times"),
        /// BBR.DrainPacingGain (draft-bbr §2.5).
        pub drain_pacing_gain: f64 = DRAIN_PACING_GAIN => number(0.01..=10.0, "times"),
        /// BBR.DefaultCwndGain (draft-bbr §2.6).
        pub cwnd_gain: f64 = DEFAULT_CWND_GAIN => number(0.1..=10.0, "times"),
        /// The pacing gain of ProbeBW_DOWN (draft-bbr §5.6.1).
        pub probe_down_pacing_gain: f64 = PROBE_DOWN_PACING_GAIN => number(0.01..=10.0, "times"),
        /// The pacing gain of ProbeBW_UP (draft-bbr §5.6.1).
        pub probe_up_pacing_gain: f64 = PROBE_UP_PACING_GAIN => number(0.1..=10.0, "times"),
        /// The window's gain of ProbeBW_UP (draft-bbr §5.6.1).
        pub probe_up_cwnd_gain: f64 = PROBE_UP_CWND_GAIN => number(0.1..=10.0, "times"),
        /// BBR.ProbeRTTCwndGain (draft-bbr §2.16.2).
        pub probe_rtt_cwnd_gain: f64 = PROBE_RTT_CWND_GAIN => number(0.01..=10.0, "times"),
        /// BBR.PacingMarginPercent: the share of the bandwidth that pacing leaves free, in 0..1
        /// (draft-bbr §2.5).
        pub pacing_margin: f64 = PACING_MARGIN => fraction(),
        /// BBR.LossThresh: the share of a round's packets that may be lost, in 0..1 (draft-bbr
        /// §2.8).
        pub loss_threshold: f64 = LOSS_THRESHOLD => fraction(),
        /// BBR.Beta (draft-bbr §2.8): what a round with losses leaves, in 0..1.
        pub beta: f64 = BETA => fraction(),
        /// BBR.Headroom: the share of inflight_longterm that cruising leaves free, in 0..1
        /// (draft-bbr §2.8).
        pub headroom: f64 = HEADROOM => fraction(),
        /// BBR.MinPipeCwnd (draft-bbr §2.8) in packets.
        pub min_pipe_packets: u64 = MIN_PIPE_PACKETS => count(1..=1000, "packets"),
        /// Growth of the delivery rate in a round below which the pipe counts as full.
        pub full_bw_growth: f64 = FULL_BW_GROWTH => number(1.0..=10.0, "times"),
        /// Rounds without that growth after which the pipe is full.
        pub full_bw_rounds: u32 = FULL_BW_ROUNDS => count(1..=1_000_000, "rounds"),
        /// Ranges of packets lost in one round that end Startup.
        pub startup_full_loss_ranges: u32 = STARTUP_FULL_LOSS_RANGES
            => count(1..=1_000_000, "ranges"),
        /// Rounds after which Drain ends in any case.
        pub drain_rounds: u64 = DRAIN_ROUNDS => count(1..=1_000_000, "rounds"),
        /// BBR.MaxBwFilterLen (draft-bbr §2.11) in cycles of ProbeBW, the present one included.
        pub max_bw_filter_cycles: u64 = MAX_BW_FILTER_CYCLES => count(1..=1_000_000, "cycles"),
        /// BBR.ExtraAckedFilterLen (draft-bbr §2.12) in rounds.
        pub extra_acked_filter_rounds: u64 = EXTRA_ACKED_FILTER_ROUNDS
            => count(1..=1_000_000, "rounds"),
        /// The time at the bandwidth whose octets bound what BBR.extra_acked adds to the window
        /// (Linux); "none" adds all of it, as the draft.
        pub extra_acked_limit: Option<Duration> = None => or_word("none", duration(LIMITS)),
        /// Packets are ECT(0) and marks bound the flight, as those of Linux's BBRv3 on a route with
        /// the feature `ecn_low`. The draft leaves the response to ECN open (§3.7).
        pub ecn_low: bool = false,
        /// The gain of the average share of marked packets (`bbr_ecn_alpha_gain`), with `ecn_low`.
        pub ecn_alpha_gain: f64 = ECN_ALPHA_GAIN => fraction(),
        /// How much of that share a round with marks takes from inflight_shortterm
        /// (`bbr_ecn_factor`), with `ecn_low`.
        pub ecn_factor: f64 = ECN_FACTOR => fraction(),
        /// The share of marked packets above which a probe has gone too far (`bbr_ecn_thresh`),
        /// with `ecn_low`.
        pub ecn_threshold: f64 = ECN_THRESHOLD => fraction(),
        /// The round-trip time up to which a flow responds to marks (`bbr_ecn_max_rtt_us`), with
        /// `ecn_low`; a longer one ignores them.
        pub ecn_max_rtt: Duration = ECN_MAX_RTT,
        /// Rounds with that share that end Startup (`bbr_full_ecn_cnt`), with `ecn_low`.
        pub full_ecn_rounds: u32 = FULL_ECN_ROUNDS => count(1..=1_000_000, "rounds"),
        /// How much of inflight_longterm the first round of a probe adds that follows marks
        /// (`bbr_ecn_reprobe_gain`), with `ecn_low`; zero waits for the next probe.
        pub ecn_reprobe_gain: f64 = ECN_REPROBE_GAIN => fraction(),
        /// BBR.MinRTTFilterLen (draft-bbr §2.16.1).
        pub min_rtt_filter: Duration = MIN_RTT_FILTER,
        /// BBR.ProbeRTTInterval (draft-bbr §2.16.2).
        pub probe_rtt_interval: Duration = PROBE_RTT_INTERVAL,
        /// BBR.ProbeRTTDuration (draft-bbr §2.16.2).
        pub probe_rtt_duration: Duration = PROBE_RTT_DURATION,
        /// The least time between two probes for bandwidth.
        pub probe_wait: Duration = PROBE_WAIT,
        /// The most that chance adds to that time.
        pub probe_wait_spread: Duration = PROBE_WAIT_SPREAD,
        /// The most rounds between two probes for bandwidth, for coexistence with Reno.
        pub reno_rounds: u64 = RENO_ROUNDS => count(1..=1_000_000, "rounds"),
    }
    preset preset = BbrConfig::apply;
}

impl BbrConfig {
    /// Takes the constants of the preset of this name.
    fn apply(&mut self, name: &str) {
        *self = Self::default();
        if name == "linux-v3" {
            *self = Self {
                preset: "linux-v3",
                drain_pacing_gain: LINUX_DRAIN_PACING_GAIN,
                probe_down_pacing_gain: LINUX_PROBE_DOWN_PACING_GAIN,
                drain_rounds: LINUX_DRAIN_ROUNDS,
                extra_acked_filter_rounds: LINUX_EXTRA_ACKED_FILTER_ROUNDS,
                extra_acked_limit: Some(LINUX_EXTRA_ACKED_LIMIT),
                ..Self::default()
            };
        }
    }
}

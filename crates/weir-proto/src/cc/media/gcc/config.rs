//! The constants of GCC: those of draft-ietf-rmcat-gcc-02 §5.6 where it states one, and for the
//! trendline, the detector behind it and the loss-based estimate those of libwebrtc.

use crate::settings;
use crate::settings::{bit_rate, count, fraction, number};
use crate::time::Duration;

/// The least rate of the encoder in bit/s; that of NADA, so that both can be compared.
const MIN_RATE: u64 = 150_000;
/// The greatest rate of the encoder in bit/s; that of NADA.
const MAX_RATE: u64 = 1_500_000;
/// The rate before the first report in bit/s (libwebrtc's `BitrateConstraints`).
const START_RATE: u64 = 300_000;
/// burst_time (§5.6).
const BURST_TIME: Duration = Duration::from_millis(5);
/// The longest time in which packets are merged as a burst (libwebrtc's `kMaxBurstDuration`).
const MAX_BURST: Duration = Duration::from_millis(100);
/// Groups of the regression (libwebrtc's `kDefaultTrendlineWindowSize`).
const TRENDLINE_WINDOW: u32 = 20;
/// The weight of the last smoothed delay (libwebrtc's `kDefaultTrendlineSmoothingCoeff`).
const SMOOTHING: f64 = 0.9;
/// libwebrtc's `kDefaultTrendlineThresholdGain`.
const THRESHOLD_GAIN: f64 = 4.0;
/// The groups by which the trend is multiplied, at most (libwebrtc's `kMinNumDeltas`).
const MAX_DELTAS: u32 = 60;
/// del_var_th(0) in milliseconds (§5.6).
const INITIAL_THRESHOLD: f64 = 12.5;
/// The adaptation of the threshold upwards for a millisecond (libwebrtc; 0.01 in §5.6).
const K_U: f64 = 0.0087;
/// The adaptation of the threshold downwards for a millisecond (libwebrtc; 0.00018 in §5.6).
const K_D: f64 = 0.039;
/// overuse_time_th (§5.6).
const OVERUSE_TIME: Duration = Duration::from_millis(10);
/// T, the window of the received rate: 0.5 to 1 s (§5.5).
const RATE_WINDOW: Duration = Duration::from_millis(500);
/// beta (§5.6).
const BETA: f64 = 0.85;
/// eta: the growth in a second far from convergence (§5.5).
const ETA: f64 = 1.08;
/// The part of a packet by which the rate grows in a response time near convergence (§5.5).
const ADDITIVE_PACKETS: f64 = 0.5;
/// The bound of the estimate in terms of the received rate (§5.5).
const RECEIVED_BOUND: f64 = 1.5;
/// The share of lost packets up to which the loss-based estimate grows (§6).
const LOW_LOSS: f64 = 0.02;
/// The share of lost packets above which it falls (§6).
const HIGH_LOSS: f64 = 0.1;
/// Its growth in `loss_increase_interval` (libwebrtc; 1.05 with each report in §6).
const LOSS_GROWTH: f64 = 1.08;
/// libwebrtc's `kBweIncreaseInterval`.
const LOSS_INCREASE_INTERVAL: Duration = Duration::from_millis(1000);
/// The least time between two reductions, plus a round trip (libwebrtc's `kBweDecreaseInterval`).
const LOSS_DECREASE_INTERVAL: Duration = Duration::from_millis(300);
/// The packets that a share of lost ones is taken from (libwebrtc's `kLimitNumPackets`).
const LOSS_PACKETS: u32 = 20;
/// The pacing rate in terms of the target (libwebrtc's `kDefaultPaceMultiplier`).
const PACING: f64 = 2.5;

settings! {
    /// The constants of Google Congestion Control (draft-ietf-rmcat-gcc-02, libwebrtc).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct GccConfig {
        /// The least rate of the encoder, in payload bits per second.
        pub min_rate: u64 = MIN_RATE => bit_rate(),
        /// The greatest rate of the encoder, in payload bits per second.
        pub max_rate: u64 = MAX_RATE => bit_rate(),
        /// The rate before the first report, in payload bits per second.
        pub start_rate: u64 = START_RATE => bit_rate(),
        /// burst_time: packets that are sent within it are a group (gcc-02 §5.2).
        pub burst_time: Duration = BURST_TIME,
        /// The longest time in which packets that arrive in a burst are merged (libwebrtc).
        pub max_burst: Duration = MAX_BURST,
        /// Groups of the regression of the delay (libwebrtc).
        pub trendline_window: u32 = TRENDLINE_WINDOW => count(2..=200, "groups"),
        /// The weight of the last smoothed delay, in 0..1 (libwebrtc).
        pub smoothing: f64 = SMOOTHING => fraction(),
        /// The factor of the trend before it is compared with the threshold (libwebrtc).
        pub threshold_gain: f64 = THRESHOLD_GAIN => number(0.0..=1000.0, "times"),
        /// Groups by which the trend is multiplied, at most (libwebrtc).
        pub max_deltas: u32 = MAX_DELTAS => count(2..=1000, "groups"),
        /// del_var_th(0) in milliseconds (gcc-02 §5.4).
        pub initial_threshold: f64 = INITIAL_THRESHOLD => number(6.0..=600.0, "milliseconds"),
        /// K_u: the adaptation of the threshold upwards in a millisecond. That of libwebrtc;
        /// gcc-02 §5.4 has 0.01 for its own filter.
        pub k_u: f64 = K_U => number(0.0..=1.0, "times"),
        /// K_d: the adaptation downwards. That of libwebrtc; gcc-02 §5.4 has 0.00018.
        pub k_d: f64 = K_D => number(0.0..=1.0, "times"),
        /// overuse_time_th: the time above the threshold that makes an over-use (gcc-02 §5.4).
        pub overuse_time: Duration = OVERUSE_TIME,
        /// T: the window of the received rate, 0.5 to 1 s (gcc-02 §5.5).
        pub rate_window: Duration = RATE_WINDOW,
        /// beta: the part of the received rate that is kept after an over-use (gcc-02 §5.5).
        pub beta: f64 = BETA => fraction(),
        /// eta: the growth in a second far from convergence (gcc-02 §5.5).
        pub eta: f64 = ETA => number(1.0..=10.0, "times"),
        /// Packets by which the rate grows in a response time near convergence (gcc-02 §5.5).
        pub additive_packets: f64 = ADDITIVE_PACKETS => number(0.0..=100.0, "packets"),
        /// The estimate grows to so many times the received rate (gcc-02 §5.5).
        pub received_bound: f64 = RECEIVED_BOUND => number(1.0..=100.0, "times"),
        /// The share of lost packets below which the loss-based estimate grows (gcc-02 §6).
        pub low_loss: f64 = LOW_LOSS => fraction(),
        /// The share of lost packets above which it falls (gcc-02 §6).
        pub high_loss: f64 = HIGH_LOSS => fraction(),
        /// Its growth in `loss_increase_interval`. That of libwebrtc; gcc-02 §6 has 1.05 with each
        /// report, of which there was one a second.
        pub loss_growth: f64 = LOSS_GROWTH => number(1.0..=10.0, "times"),
        /// The time in which it grows once (libwebrtc).
        pub loss_increase_interval: Duration = LOSS_INCREASE_INTERVAL,
        /// The least time between two of its reductions, in addition to a round trip (libwebrtc).
        pub loss_decrease_interval: Duration = LOSS_DECREASE_INTERVAL,
        /// Packets that a share of lost ones is taken from, at least (libwebrtc).
        pub loss_packets: u32 = LOSS_PACKETS => count(1..=10_000, "packets"),
        /// The rate at which packets leave, in terms of the target rate. That of libwebrtc; gcc-02
        /// §4 has 1.
        pub pacing: f64 = PACING => number(1.0..=100.0, "times"),
        /// Without feedback for so long, while packets are on their way, the rate is halved: the
        /// rapid reduction of RFC 8888 §5, for which gcc-02 has no rule.
        pub feedback_timeout: Duration = Duration::from_millis(500),
    }
}

//! The parameters of NADA (RFC 8698 §4.1, table 2), each a setting.

use crate::settings;
use crate::settings::{bit_rate, count, fraction, number};
use crate::time::Duration;

/// PRIO (RFC 8698 §4.1).
const PRIO: f64 = 1.0;
/// RMIN in bit/s (RFC 8698 §4.1).
const RMIN: u64 = 150_000;
/// RMAX in bit/s (RFC 8698 §4.1).
const RMAX: u64 = 1_500_000;
/// XREF (RFC 8698 §4.1).
const XREF: Duration = Duration::from_millis(10);
/// KAPPA (RFC 8698 §4.1).
const KAPPA: f64 = 0.5;
/// ETA (RFC 8698 §4.1).
const ETA: f64 = 2.0;
/// TAU (RFC 8698 §4.1).
const TAU: Duration = Duration::from_millis(500);
/// LOGWIN (RFC 8698 §4.1).
const LOGWIN: Duration = Duration::from_millis(500);
/// QEPS (RFC 8698 §4.1).
const QEPS: Duration = Duration::from_millis(10);
/// DFILT (RFC 8698 §4.1).
const DFILT: Duration = Duration::from_millis(120);
/// GAMMA_MAX (RFC 8698 §4.1).
const GAMMA_MAX: f64 = 0.5;
/// QBOUND (RFC 8698 §4.1).
const QBOUND: Duration = Duration::from_millis(50);
/// MULTILOSS (RFC 8698 §4.1).
const MULTILOSS: f64 = 7.0;
/// QTH (RFC 8698 §4.1).
const QTH: Duration = Duration::from_millis(50);
/// LAMBDA (RFC 8698 §4.1).
const LAMBDA: f64 = 0.5;
/// PLRREF (RFC 8698 §4.1).
const PLRREF: f64 = 0.01;
/// PMRREF (RFC 8698 §4.1).
const PMRREF: f64 = 0.01;
/// DLOSS (RFC 8698 §4.1).
const DLOSS: Duration = Duration::from_millis(10);
/// DMARK (RFC 8698 §4.1).
const DMARK: Duration = Duration::from_millis(2);
/// FPS (RFC 8698 §4.1).
const FPS: f64 = 30.0;
/// BETA_S (RFC 8698 §4.1).
const BETA_S: f64 = 0.1;
/// BETA_V (RFC 8698 §4.1).
const BETA_V: f64 = 0.1;
/// ALPHA (RFC 8698 §4.1).
const ALPHA: f64 = 0.1;
/// The samples of the minimum filter of the queueing delay (RFC 8698 §5.1.1).
const DELAY_FILTER_SAMPLES: u32 = 15;
/// The greatest congestion signal in the ns-3 module of NADA's authors (`NADA_PARAM_XMAX`).
const MAX_SIGNAL: Duration = Duration::from_millis(500);

settings! {
    /// The parameters of NADA (RFC 8698).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct NadaConfig {
        /// RMIN: the least rate of the encoder, in payload bits per second (RFC 8698 §4.1).
        pub min_rate: u64 = RMIN => bit_rate(),
        /// RMAX: the greatest rate of the encoder, in payload bits per second (RFC 8698 §4.1).
        pub max_rate: u64 = RMAX => bit_rate(),
        /// PRIO: the weight of the flow among NADA flows at one bottleneck (RFC 8698 §4.1).
        pub priority: f64 = PRIO => number(0.001..=1000.0, "times"),
        /// XREF: the reference congestion level (RFC 8698 §4.1).
        pub reference_signal: Duration = XREF,
        /// KAPPA: scales the gradual update (RFC 8698 §4.1).
        pub kappa: f64 = KAPPA => number(0.0..=100.0, "times"),
        /// ETA: scales its answer to changes of the congestion signal (RFC 8698 §4.1).
        pub eta: f64 = ETA => number(0.0..=100.0, "times"),
        /// TAU: the upper bound of the round-trip time in the gradual update (RFC 8698 §4.1).
        pub tau: Duration = TAU,
        /// LOGWIN: the window of packet statistics (RFC 8698 §4.1).
        pub observation_window: Duration = LOGWIN,
        /// QEPS: the queueing delay that ends the accelerated ramp-up (RFC 8698 §4.1).
        pub queueing_threshold: Duration = QEPS,
        /// DFILT: the bound on the delay of filtering (RFC 8698 §4.1).
        pub filter_delay: Duration = DFILT,
        /// GAMMA_MAX: the greatest increase in the accelerated ramp-up (RFC 8698 §4.1).
        pub gamma_max: f64 = GAMMA_MAX => number(0.0..=100.0, "times"),
        /// QBOUND: the queueing delay that the ramp-up may cause (RFC 8698 §4.1).
        pub ramp_up_queue: Duration = QBOUND,
        /// MULTILOSS: average loss intervals after which a loss is forgotten (RFC 8698 §4.1).
        pub multiloss: f64 = MULTILOSS => number(0.0..=1000.0, "times"),
        /// QTH: the queueing delay from which on it is warped (RFC 8698 §4.1).
        pub warping_threshold: Duration = QTH,
        /// LAMBDA: the exponent of the warping (RFC 8698 §4.1).
        pub lambda: f64 = LAMBDA => number(0.0..=100.0, "times"),
        /// PLRREF: the reference loss ratio, in 0..1 (RFC 8698 §4.1).
        pub reference_loss: f64 = PLRREF => fraction(),
        /// PMRREF: the reference marking ratio, in 0..1 (RFC 8698 §4.1).
        pub reference_marking: f64 = PMRREF => fraction(),
        /// DLOSS: the penalty of the reference loss ratio (RFC 8698 §4.1).
        pub loss_penalty: Duration = DLOSS,
        /// DMARK: the penalty of the reference marking ratio (RFC 8698 §4.1).
        pub marking_penalty: Duration = DMARK,
        /// FPS: the reference frame rate of the rate-shaping buffer (RFC 8698 §4.1).
        pub reference_frame_rate: f64 = FPS => number(1.0..=1000.0, "frames per second"),
        /// BETA_S: how much the sending rate follows the buffer (RFC 8698 §4.1).
        pub beta_s: f64 = BETA_S => number(0.0..=10.0, "times"),
        /// BETA_V: how much the encoder's target follows the buffer (RFC 8698 §4.1).
        pub beta_v: f64 = BETA_V => number(0.0..=10.0, "times"),
        /// ALPHA: the smoothing of loss and marking ratios, in 0..1 (RFC 8698 §4.1).
        pub alpha: f64 = ALPHA => fraction(),
        /// Packets of the minimum filter of the queueing delay (RFC 8698 §5.1.1).
        pub delay_filter: u32 = DELAY_FILTER_SAMPLES => count(1..=10_000, "packets"),
        /// The window of the baseline delay: "tens of minutes" (RFC 8698 §5.1.1).
        pub base_delay_window: Duration = Duration::from_secs(600),
        /// The greatest congestion signal. RFC 8698 has no rule for it but the 15 bits of its
        /// feedback, "3276.7ms" (§5.3), with which a burst of losses starts an oscillation; "500ms"
        /// is that of the authors' ns-3 module.
        pub max_signal: Duration = MAX_SIGNAL,
        /// Marks end the accelerated ramp-up as losses do. RFC 8698 §4.2 lists losses and queueing
        /// delay only; §4 says that any congestion signal other than zero does.
        pub marks_end_ramp_up: bool = true,
        /// Without feedback for so long, while packets are on their way, the rate is halved: the
        /// rapid reduction of RFC 8888 §5, for which RFC 8698 has no rule.
        pub feedback_timeout: Duration = Duration::from_millis(500),
    }
}

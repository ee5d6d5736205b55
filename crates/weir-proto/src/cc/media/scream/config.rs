//! The constants of SCReAMv2 (draft-ietf-ccwg-rfc8298bis-screamv2), each a setting.

use crate::settings;
use crate::settings::{bit_rate, bytes, count, fraction, number};
use crate::time::Duration;

/// TARGET_BITRATE_MIN in bit/s, which the draft leaves open; that of NADA, so that both can be
/// compared.
const MIN_RATE: u64 = 150_000;
/// TARGET_BITRATE_MAX in bit/s; that of NADA.
const MAX_RATE: u64 = 1_500_000;
/// QDELAY_TARGET_LO.
const QDELAY_TARGET: Duration = Duration::from_millis(60);
/// QDELAY_AVG_G.
const QDELAY_GAIN: f64 = 1.0 / 4.0;
/// MIN_REF_WND in octets.
const MIN_REF_WND: u64 = 3000;
/// MSS in octets.
const MSS: u64 = 1000;
/// BYTES_IN_FLIGHT_HEAD_ROOM.
const IN_FLIGHT_HEADROOM: f64 = 1.5;
/// BETA_LOSS.
const BETA_LOSS: f64 = 0.7;
/// BETA_ECN.
const BETA_ECN: f64 = 0.8;
/// POST_CONGESTION_DELAY_RTT.
const POST_CONGESTION_ROUND_TRIPS: u32 = 100;
/// MUL_INCREASE_FACTOR.
const MULTIPLICATIVE_INCREASE: f64 = 0.02;
/// VIRTUAL_RTT.
const VIRTUAL_RTT: Duration = Duration::from_millis(25);
/// L4S_AVG_G_UP.
const L4S_GAIN_UP: f64 = 1.0 / 8.0;
/// L4S_AVG_G_DOWN.
const L4S_GAIN_DOWN: f64 = 1.0 / 128.0;
/// REF_WND_OVERHEAD_MAX, which applies while REDUCE_JITTER is off.
const WINDOW_OVERHEAD: f64 = 3.0;
/// RATE_PACE_MIN in bit/s.
const MIN_PACING_RATE: u64 = 50_000;
/// PACKET_PACING_HEADROOM.
const PACING_HEADROOM: f64 = 1.5;
/// MAX_RELAXED_PACING_FACTOR.
const RELAXED_PACING: f64 = 4.0;
/// RELAXED_PACING_LIMIT_LOW.
const RELAXED_PACING_FROM: f64 = 0.8;
/// PACKET_OVERHEAD in octets.
const PACKET_OVERHEAD: u64 = 20;
/// RATE_ADJUST_GAIN.
const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
/// FRAME_SIZE_DEV_ALPHA.
const FRAME_SIZE_GAIN: f64 = 1.0 / 64.0;

settings! {
    /// The constants of SCReAMv2 (draft-ietf-ccwg-rfc8298bis-screamv2).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ScreamConfig {
        /// TARGET_BITRATE_MIN: the least rate of the encoder, in payload bits per second.
        pub min_rate: u64 = MIN_RATE => bit_rate(),
        /// TARGET_BITRATE_MAX: the greatest rate of the encoder, in payload bits per second.
        pub max_rate: u64 = MAX_RATE => bit_rate(),
        /// QDELAY_TARGET_LO: the target of the queueing delay.
        pub qdelay_target: Duration = QDELAY_TARGET,
        /// QDELAY_AVG_G: the weight of a new queueing delay above the average, in 0..1.
        pub qdelay_gain: f64 = QDELAY_GAIN => fraction(),
        /// The window of the least delay: ten minutes in RFC 6817.
        pub base_delay_window: Duration = Duration::from_secs(600),
        /// MIN_REF_WND: the least reference window.
        pub min_ref_wnd: u64 = MIN_REF_WND => bytes(1..=1_000_000_000),
        /// MSS: the largest data unit, the step of the additive increase.
        pub mss: u64 = MSS => bytes(1..=65_535),
        /// BYTES_IN_FLIGHT_HEAD_ROOM: the window grows to so many times the octets in flight.
        pub in_flight_headroom: f64 = IN_FLIGHT_HEADROOM => number(1.0..=100.0, "times"),
        /// BETA_LOSS: the part of the window that is kept after a loss.
        pub beta_loss: f64 = BETA_LOSS => fraction(),
        /// BETA_ECN: the part that is kept after a mark of classic ECN.
        pub beta_ecn: f64 = BETA_ECN => fraction(),
        /// POST_CONGESTION_DELAY_RTT: round trips after congestion until the window grows freely.
        pub post_congestion_round_trips: u32 =
            POST_CONGESTION_ROUND_TRIPS => count(1..=100_000, "round trips"),
        /// MUL_INCREASE_FACTOR: the share of the window by which it grows in a round trip.
        pub multiplicative_increase: f64 = MULTIPLICATIVE_INCREASE => number(0.0..=10.0, "times"),
        /// VIRTUAL_RTT: the round trip below which flows have equal shares.
        pub virtual_rtt: Duration = VIRTUAL_RTT,
        /// L4S_AVG_G_UP: the weight of a greater share of marked packets, in 0..1.
        pub l4s_gain_up: f64 = L4S_GAIN_UP => fraction(),
        /// L4S_AVG_G_DOWN: the weight of a smaller one, in 0..1.
        pub l4s_gain_down: f64 = L4S_GAIN_DOWN => fraction(),
        /// REF_WND_OVERHEAD_MAX: octets in flight are at most so many times the window.
        pub window_overhead: f64 = WINDOW_OVERHEAD => number(1.0..=100.0, "times"),
        /// RATE_PACE_MIN: the least pacing rate before its headroom.
        pub min_pacing_rate: u64 = MIN_PACING_RATE => bit_rate(),
        /// PACKET_PACING_HEADROOM: the pacing rate in terms of the target rate.
        pub pacing_headroom: f64 = PACING_HEADROOM => number(1.0..=100.0, "times"),
        /// MAX_RELAXED_PACING_FACTOR: the further factor at the greatest rate.
        pub relaxed_pacing: f64 = RELAXED_PACING => number(1.0..=100.0, "times"),
        /// RELAXED_PACING_LIMIT_LOW: the share of the greatest rate from which on the pacing is
        /// relaxed.
        pub relaxed_pacing_from: f64 = RELAXED_PACING_FROM => fraction(),
        /// PACKET_OVERHEAD: octets of headers of a data unit.
        pub packet_overhead: u64 = PACKET_OVERHEAD => bytes(0..=10_000),
        /// RATE_ADJUST_GAIN: how much the target follows the wait of media.
        pub rate_adjust_gain: f64 = RATE_ADJUST_GAIN => number(0.0..=10.0, "times"),
        /// FRAME_SIZE_DEV_ALPHA: the weight of a new deviation of a frame's size, in 0..1.
        pub frame_size_gain: f64 = FRAME_SIZE_GAIN => fraction(),
        /// Without feedback for so long, while packets are on their way, the window is halved: the
        /// rapid reduction of RFC 8888 §5, for which the draft has no rule.
        pub feedback_timeout: Duration = Duration::from_millis(500),
    }
}

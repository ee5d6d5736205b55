//! TCP-Friendly Rate Control (RFC 3448, RFC 5348): a sender whose rate follows TCP's throughput
//! equation, and a receiver that measures the loss event rate for it.
//!
//! [`Sender`] computes when the next packet may leave from the receiver's feedback, once a
//! round-trip time; [`Receiver`] processes every packet and reports when feedback is due and its
//! values. Both are independent of packet formats: [`dccp::ccid3`](crate::dccp::ccid3) encodes them
//! for DCCP.
//!
//! The revisions of TFRC, and Linux, differ in a few dozen rules. Each rule is a field of
//! [`Profile`], which the one implementation consults.
//!
//! Does not model: sender-based loss rates (RFC 5348 §7), Quick-Start and Faster Restart.

mod arithmetic;
mod equation;
mod loss_history;
mod loss_intervals;
mod oscillation;
mod presets;
mod profile;
mod receive_rates;
mod receiver;
mod receiver_rtt;
mod sender;
mod small_packets;
mod window_counter;
mod wireless_extensions;

pub use equation::{
    Equation, kernel_response, kernel_reverse_lookup, loss_event_rate_for, response,
};
pub use loss_intervals::{LossIntervals, ReportedInterval, mean_interval};
pub use profile::{
    Arithmetic, BeforeFeedback, CounterGuard, CounterOnAck, DataLength, Discounting, EquationForm,
    FeedbackOptions, FirstFeedback, FirstInterval, FirstIntervalAlone, FirstPacketLoss, FirstRtt,
    HalvingWithoutLoss, HandshakeRtt, IdleRule, InitialWindow, LossEventRule, LossReport,
    NofeedbackExemption, NominalTime, Oscillation, OscillationInSlowStart, Profile,
    RateAfterExpiry, ReceiveRateRule, ReceiverRttRule, RtoRate, RttOption, SegmentSizeRule,
    SendAhead, SendCredit, SlowStartFloor, TimerTick, WindowBase, ZeroRtt,
};
pub use receiver::{ArrivedPacket, FeedbackReport, Receiver};
pub use sender::{Feedback, Sender};
pub use small_packets::SmallPackets;
pub use wireless_extensions::{
    EmulatedFlows, LossDiscriminator, RandomLosses, Veno, WirelessRules, veno_response,
};

use crate::time::Duration;

/// t_mbi: the longest interval between two packets (RFC 5348 §4.3).
pub const MAX_BACKOFF: Duration = Duration::from_secs(64);
/// The round-trip time before the first sample (RFC 4340 §3.4).
pub const DEFAULT_RTT: Duration = Duration::from_millis(200);
/// The greatest allowed rate in octets per second, 140 Tbit/s, so that no input overflows.
pub const MAX_RATE: f64 = (1_u64 << 44) as f64;

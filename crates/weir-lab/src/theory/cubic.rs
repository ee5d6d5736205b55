//! CUBIC's steady state under one loss in 1/p packets (RFC 9438 §5.1; Ha, Rhee and Xu 2008).
//!
//! Between losses the window is W(t) = C·(t − K)³ + W_max with K = cbrt(W_max·(1−β)/C). One cycle
//! lasts K and carries 1/p packets, which gives the mean window
//!
//! W = ( C·(3+β) / (4·(1−β)) )^(1/4) · (RTT/p)^(3/4) packets.
//!
//! On short or lossy paths CUBIC behaves as an AIMD sender with factor β and additive increase
//! α = 3·(1−β)/(1+β), whose mean window is that of Reno, sqrt(3/(2p)); the larger of the two is
//! what a CUBIC sender has. Not modelled: fast convergence, slow start, idle round trips after a
//! loss.

use weir_proto::time::Duration;
use weir_proto::units::{Probability, Rate};

/// C (RFC 9438 §5.1) and β (§4.6).
pub const RFC9438: Constants = Constants { c: 0.4, beta: 0.7 };

/// The two constants of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// C: the scale of the growth, in packets per second cubed.
    pub c: f64,
    /// β: the share of the window kept after a loss.
    pub beta: f64,
}

/// Mean windows in packets, and the rate of the larger one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// The cubic region's mean window.
    pub cubic_packets: f64,
    /// The Reno-friendly region's mean window.
    pub reno_packets: f64,
    /// The throughput.
    pub rate: Rate,
}

/// The steady state.
pub fn steady(packet_bytes: u64, rtt: Duration, loss: Probability, law: Constants) -> Steady {
    let p = loss.get();
    let factor = law.c * (3.0 + law.beta) / (4.0 * (1.0 - law.beta));
    let cubic_packets = libm::pow(factor, 0.25) * libm::pow(rtt.as_secs_f64() / p, 0.75);
    let reno_packets = (1.5 / p).sqrt();
    let bytes = cubic_packets.max(reno_packets) * packet_bytes as f64;
    Steady {
        cubic_packets,
        reno_packets,
        rate: Rate::from_bytes_per_sec(bytes / rtt.as_secs_f64()),
    }
}

//! Padhye, Firoiu, Towsley, Kurose 1998: Reno's throughput with timeouts and a largest window,
//! the approximation of their equation 33.
//!
//! X = min( W_max/RTT, 1 / ( RTT·sqrt(2bp/3) + t_RTO·min(1, 3·sqrt(3bp/8))·p·(1 + 32p²) ) )
//!
//! in packets per second, with b packets acknowledged by one acknowledgement. TFRC's equation is
//! the same with the min(1, ·) left out. Not modelled: fast recovery beyond one loss a window,
//! SACK, and any timer granularity.

use weir_proto::time::Duration;
use weir_proto::units::{Probability, Rate};

/// The arguments of the formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reno {
    /// Octets of a segment.
    pub segment_size: u64,
    /// Round-trip time.
    pub rtt: Duration,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Probability that a segment starts a loss event.
    pub loss: Probability,
    /// b: segments that one acknowledgement covers.
    pub ack_every: f64,
    /// W_max in segments; infinite without a bound.
    pub max_window_packets: f64,
}

/// The throughput.
pub fn throughput(reno: Reno) -> Rate {
    let Reno { rtt, rto, .. } = reno;
    let p = reno.loss.get();
    let fast = rtt.as_secs_f64() * (2.0 * reno.ack_every * p / 3.0).sqrt();
    let timeout_share = (3.0 * (3.0 * reno.ack_every * p / 8.0).sqrt()).min(1.0);
    let slow = rto.as_secs_f64() * timeout_share * p * (1.0 + 32.0 * p * p);
    let window_bound = reno.max_window_packets / rtt.as_secs_f64();
    let packets = (1.0 / (fast + slow)).min(window_bound);
    Rate::from_bytes_per_sec(packets * reno.segment_size as f64)
}

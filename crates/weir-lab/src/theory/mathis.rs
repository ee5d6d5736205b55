//! Mathis et al. 1997: the throughput of a sawtooth with one loss in 1/p packets; and the same
//! sawtooth with `b` round-trip times in each cycle in which the window does not grow.
//!
//! **Classic.** The window grows by a packet a round trip from W/2 to W, then a loss halves it.
//! A cycle lasts W/2 RTT and carries (W/2)² + ½·(W/2)² = 3/8·W² packets, which must be 1/p:
//!
//! W = sqrt(8/(3p)),  rate = 3/8·W²·MSS / (W/2·RTT) = MSS/RTT · sqrt(3/(2p)).
//!
//! **With b.** A loss is found one RTT after it happens, and the first acknowledgement that may
//! raise the window comes another RTT later. So a cycle lasts (W/2 + b)·RTT with b = 2. If the b
//! idle round trips carry the cycle's mean of 3/4·W packets too, then
//! 3/4·W·(W/2 + b) = 1/p, that is W² + 2bW = 8/(3p), so
//!
//! W = sqrt(8/(3p) + b²) − b,  cycle = (sqrt(8/(3p) + b²) + b)/2 RTT,
//! rate = 3/4·W·MSS/RTT = 3/4·MSS/RTT·(sqrt(8/(3p) + b²) − b).
//!
//! A receiver that acknowledges every other packet may hold the last acknowledgement of a round
//! back for up to its ack delay; the document puts that at 3/4 of the cycles:
//! b = 2 + 3/4·min(1, ack delay/RTT).
//!
//! Not modelled: slow start, timeouts, queues, whole packets (a real window holds whole packets,
//! so a real cycle is a whole number of round trips), and random loss.

use weir_proto::time::Duration;
use weir_proto::units::{Probability, Rate};

/// A steady sawtooth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sawtooth {
    /// W: the largest window, in packets.
    pub window_packets: f64,
    /// The length of a cycle, in round-trip times.
    pub cycle_rtts: f64,
    /// The throughput.
    pub rate: Rate,
}

/// The path of a sawtooth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// The packet size in octets, as the transport counts it.
    pub packet_bytes: u64,
    /// The round-trip time without queueing.
    pub rtt: Duration,
    /// p: one loss in 1/p packets.
    pub loss: Probability,
}

/// The classic sawtooth.
pub fn classic(path: Path) -> Sawtooth {
    let window = (8.0 / (3.0 * path.loss.get())).sqrt();
    sawtooth(path, window, window / 2.0)
}

/// The sawtooth with `b` round-trip times in each cycle in which the window does not grow.
pub fn with_idle_rtts(path: Path, b: f64) -> Sawtooth {
    let root = (8.0 / (3.0 * path.loss.get()) + b * b).sqrt();
    sawtooth(path, root - b, f64::midpoint(root, b))
}

fn sawtooth(path: Path, window: f64, cycle: f64) -> Sawtooth {
    let bytes_per_rtt = 0.75 * window * path.packet_bytes as f64;
    Sawtooth {
        window_packets: window,
        cycle_rtts: cycle,
        rate: Rate::from_bytes_per_sec(bytes_per_rtt / path.rtt.as_secs_f64()),
    }
}

/// b for a receiver that acknowledges every `ack_every`-th packet: 2, and for more than one
/// packet 2 + 3/4·min(1, ack delay/RTT).
pub fn idle_rtts(ack_every: u32, ack_delay: Duration, rtt: Duration) -> f64 {
    if ack_every < 2 {
        return 2.0;
    }
    2.0 + 0.75 * (ack_delay.as_secs_f64() / rtt.as_secs_f64()).min(1.0)
}

/// The throughput of a sender that delivers `packets` packets in a cycle of `cycle_rtts` round-trip
/// times: an identity, not a model.
pub fn identity(packets: f64, cycle_rtts: f64, path: Path) -> Rate {
    let bytes = packets * path.packet_bytes as f64;
    Rate::from_bytes_per_sec(bytes / (cycle_rtts * path.rtt.as_secs_f64()))
}

//! TFRC's laws (RFC 3448, RFC 5348): the throughput equation, its inverse, the initial window,
//! the nofeedback timer and the slow-start map of an application-limited sender.
//!
//! X = s / (R·f(p)),  f(p) = sqrt(2p/3) + 12·sqrt(3p/8)·p·(1 + 32p²)      (§3.1, b = 1, t_RTO = 4R)
//!
//! The Linux kernel computes f(p) from two tables of 500 whole numbers, with p truncated to steps
//! of 0.0001 (up to 5 %) or 0.002, and divides integers; [`kernel_throughput`] does the same.
//!
//! **Slow-start map.** Without loss the allowed rate becomes, at each feedback,
//! X' = max(min(2X, m), s/R), with m = 2·X_recv, or max(W_init/R, 2·X_recv) if the sender counts
//! as idle. With a tiny X_recv only the idle case is interesting: W_init/R is four times s/R for
//! segments up to 1095 octets, so s/R doubles to 2s/R and then to W_init/R, which is the only
//! fixed point. [`slow_start_step`] is that map.

use weir_proto::time::Duration;
use weir_proto::units::{Probability, Rate};

/// f(p): the loss-dependent part of the throughput equation.
pub fn response(p: Probability) -> f64 {
    let p = p.get();
    (2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p)
}

/// X_calc: the rate that the equation allows. RFC 5348 §3.1.
pub fn throughput(segment_size: u64, rtt: Duration, p: Probability) -> Rate {
    Rate::from_bytes_per_sec(segment_size as f64 / (rtt.as_secs_f64() * response(p)))
}

/// X_calc as Linux computes it, in whole bytes per second: `s/R` and the division by the table's
/// entry are truncated, and so is p.
pub fn kernel_throughput(segment_size: u64, rtt: Duration, p: Probability) -> Rate {
    let millionths = (p.get() * 1e6 + 0.5) as u64;
    let tabulated = if millionths <= 50_000 {
        (millionths / 100).max(1) * 100
    } else {
        millionths / 2000 * 2000
    };
    let response = response(Probability::new(tabulated as f64 / 1e6).unwrap_or_default());
    let entry = (response * 1e6 + 0.5) as u64;
    let per_rtt = segment_size.saturating_mul(1_000_000) / rtt.as_micros().max(1);
    Rate::from_bytes_per_sec((per_rtt.saturating_mul(1_000_000) / entry.max(1)) as f64)
}

/// The loss event rate at which the equation gives `rate`, by bisection. `None` if even p = 1
/// allows more.
pub fn loss_event_rate_for(segment_size: u64, rtt: Duration, rate: Rate) -> Option<Probability> {
    let target = segment_size as f64 / (rtt.as_secs_f64() * rate.as_bytes_per_sec());
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    // The limit at p = 1 itself may miss the target by a rounding error.
    if response(Probability::new(high)?) * (1.0 + 1e-12) < target || target.is_nan() {
        return None;
    }
    // f increases with p; 200 halvings reach adjacent floating-point numbers.
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if response(Probability::new(middle)?) < target {
            low = middle;
        } else {
            high = middle;
        }
    }
    Probability::new(f64::midpoint(low, high))
}

/// W_init of RFC 5348 §4.2 (RFC 3390) with segment size s: min(4s, max(2s, 4380)) octets.
pub fn initial_window(segment_size: u64) -> u64 {
    (4 * segment_size).min((2 * segment_size).max(4380))
}

/// This many octets per round-trip time, as a rate.
pub fn per_rtt(bytes: u64, rtt: Duration) -> Rate {
    Rate::from_bytes_per_sec(bytes as f64 / rtt.as_secs_f64())
}

/// The arguments of the slow-start map besides X.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowStart {
    /// s: octets of a segment.
    pub segment_size: u64,
    /// R: the round-trip time.
    pub rtt: Duration,
    /// X_recv: the receive rate that the receiver reported.
    pub receive_rate: Rate,
    /// Whether the sender counts as idle.
    pub idle: bool,
}

/// X' = max(min(2X, m), s/R): the allowed rate after one feedback without loss.
pub fn slow_start_step(allowed: Rate, at: SlowStart) -> Rate {
    let twice_receive_rate = 2.0 * at.receive_rate.as_bps();
    let initial = per_rtt(initial_window(at.segment_size), at.rtt).as_bps();
    let bound = if at.idle {
        twice_receive_rate.max(initial)
    } else {
        twice_receive_rate
    };
    let floor = per_rtt(at.segment_size, at.rtt).as_bps();
    Rate::from_bps((2.0 * allowed.as_bps()).min(bound).max(floor))
}

/// X, X', X'' … until the fixed point, at most `steps` steps.
pub fn slow_start_series(allowed: Rate, at: SlowStart, steps: usize) -> Vec<Rate> {
    let mut series = vec![allowed];
    let mut current = allowed;
    for _ in 0..steps {
        let next = slow_start_step(current, at);
        if next == current {
            break;
        }
        series.push(next);
        current = next;
    }
    series
}

/// The nofeedback timer's interval: max(4R, 2s/X), and not below `min`. RFC 3448 §4.3; the
/// minimum is Linux's.
pub fn nofeedback_interval(
    segment_size: u64,
    rtt: Duration,
    allowed: Rate,
    min: Duration,
) -> Duration {
    (rtt * 4).max(allowed.time_for(2 * segment_size)).max(min)
}

/// The rate below which the packet interval rather than the round-trip time determines the
/// nofeedback timer: 2s/X > `other`.
pub fn nofeedback_knee(segment_size: u64, other: Duration) -> Rate {
    Rate::from_bytes_per_sec(2.0 * segment_size as f64 / other.as_secs_f64())
}

//! Runs that are too short for a meaningful mean.
//!
//! The slowest time constants of a path with n flows at rate C: the round-trip time with a full
//! queue; the cycle of NewReno, W/2 round trips for a window of W packets; the period of CUBIC, the
//! cube root of W·(1 − β)/C (RFC 9438 §4.2); the eight loss intervals of TFRC (RFC 5348 §5.4) of
//! 1/p packets each, with the p at which the equation gives a flow's share of the rate; the period
//! after which BBR, Copa or NADA renews its estimates of the path.

use super::Finding;
use super::view::{Control, FlowView, Shared, View};
use crate::theory::tfrc;
use weir_net::{QueueConfig, QueueLimit};
use weir_proto::time::Duration;
use weir_proto::units::Rate;

/// The number of its slowest time constants that a run should last.
const CONSTANTS: f64 = 20.0;
/// The number of loss intervals that TFRC averages.
const LOSS_INTERVALS: f64 = 8.0;
/// CUBIC's constant C: the default of `cubic.c`.
const CUBIC_C: f64 = 0.4;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let run = &view.scenario.run;
    let measured = run.duration.saturating_sub(run.warmup).as_secs_f64();
    let shared = view.bottlenecks();
    let constants = shared.iter().flat_map(|shared| {
        let controlled = shared.controlled();
        controlled.filter_map(|view| slowest(view, shared))
    });
    let slowest = constants.max_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let Some(slowest) = slowest else {
        return Vec::new();
    };
    if measured >= CONSTANTS * slowest.seconds {
        return Vec::new();
    }
    vec![Finding::new(
        "duration",
        "run.duration",
        format!(
            "{measured:.1} s after the warm-up are {:.1} times {} of flow {}, {:.2} s",
            measured / slowest.seconds,
            slowest.name,
            slowest.flow,
            slowest.seconds
        ),
        format!(
            "for means of a steady state run at least {:.0} s longer",
            libm::ceil(CONSTANTS * slowest.seconds - measured)
        ),
    )]
}

struct TimeConstant<'a> {
    seconds: f64,
    name: &'static str,
    flow: &'a str,
}

/// The slowest time constant of a flow.
fn slowest<'a>(view: &FlowView<'a>, shared: &Shared<'_, '_>) -> Option<TimeConstant<'a>> {
    let path = view.path.as_ref()?;
    let packet = f64::from(path.mtu);
    let rate = shared.rate.as_bytes_per_sec();
    // Active queue management keeps the queue short, and a policer keeps it empty.
    let queue = match shared.queue {
        QueueConfig::DropTail(queue) if shared.shaper.is_none() && shared.policed.is_none() => {
            match queue.limit {
                QueueLimit::Packets(packets) => packets as f64 * packet,
                QueueLimit::Bytes(bytes) => bytes as f64,
            }
        }
        _ => 0.0,
    };
    let share = rate / f64::from(shared.count().max(1));
    let loss = path.loss(view.flow).filter(|&p| p > 0.0);
    let from_loss = loss.map_or(f64::INFINITY, |p| (8.0 / (3.0 * p)).sqrt());
    let base_rtt = path.base_rtt.as_secs_f64();
    // Losses that keep the window below the path's capacity keep the queue empty.
    let (rtt, window) = if from_loss < share * base_rtt / packet {
        (base_rtt, from_loss)
    } else {
        let rtt = base_rtt + queue / rate;
        (rtt, (share * rtt / packet).min(from_loss))
    };
    let (seconds, name) = match view.control {
        Control::NewReno => (window / 2.0 * rtt, "a cycle of NewReno"),
        Control::Cubic => {
            let reno = window / 2.0 * rtt;
            let cubic = libm::cbrt(window * 0.3 / CUBIC_C);
            (cubic.min(reno), "a period of CUBIC")
        }
        Control::Tfrc => {
            let intervals = LOSS_INTERVALS * loss_interval(share, rtt, path.mtu, loss)?;
            (intervals, "the eight loss intervals of TFRC")
        }
        Control::Model { period, name } => (period.as_secs_f64(), name),
        Control::Other | Control::None => (0.0, ""),
    };
    let flow = view.flow.name.as_str();
    Some(if seconds > rtt {
        TimeConstant {
            seconds,
            name,
            flow,
        }
    } else {
        TimeConstant {
            seconds: rtt,
            name: "the round-trip time with a full queue",
            flow,
        }
    })
}

/// The duration of a loss interval in seconds, at the larger of two loss event rates: the one at
/// which the equation gives the share of the rate, and that of the path.
fn loss_interval(share: f64, rtt: f64, mtu: u32, loss: Option<f64>) -> Option<f64> {
    let rate = Rate::from_bytes_per_sec(share);
    let rtt = Duration::from_secs_f64(rtt);
    let p = tfrc::loss_event_rate_for(u64::from(mtu), rtt, rate)?.get();
    let p = p.max(loss.unwrap_or_default());
    (p > 0.0).then(|| f64::from(mtu) / (p * share))
}

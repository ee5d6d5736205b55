//! Flows subject to phase effects.
//!
//! If flows share a drop-tail queue and nothing varies the timing of single packets, the packets of
//! one flow may repeatedly arrive just after a packet has left, and those of another flow just
//! before: which flow loses packets depends on their phase and not on their control (Floyd and
//! Jacobson, On Traffic Phase Effects in Packet-Switched Gateways, 1992). A jitter of about the
//! bottleneck's service time prevents this: this rule accepts half of it.

use super::view::{Control, Shared};
use super::{Finding, View};
use weir_net::QueueConfig;
use weir_proto::time::Duration;
use weir_proto::units::Rate;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let locked = view.bottlenecks().into_iter().filter_map(|shared| {
        let is_drop_tail = shared.policed.is_none()
            && (shared.shaper.is_some() || matches!(shared.queue, QueueConfig::DropTail(_)));
        // Short flows end before phase effects develop.
        let adaptive = shared
            .flows
            .iter()
            .filter(|view| view.control != Control::None && view.flow.is_one_connection());
        let adaptive: u32 = adaptive.map(|flow| flow.flow.count).sum();
        let is_locked = is_drop_tail && adaptive >= 2 && !varies(view, &shared);
        is_locked.then(|| finding(&shared))
    });
    locked.collect()
}

/// True if something varies the timing of single packets, or drops packets at random.
fn varies(view: &View<'_>, shared: &Shared<'_, '_>) -> bool {
    let enough = service_micros(shared.rate) / 2.0;
    let is_enough = |spread: Duration| !spread.is_zero() && spread.as_secs_f64() * 1e6 >= enough;
    let hosts = view.scenario.hosts.iter();
    let mut jittered = hosts.filter(|host| {
        let jitter = host.timing.jitter;
        is_enough(jitter.most.saturating_sub(jitter.least))
    });
    let ends = |name: &str| {
        let mut flows = shared.flows.iter();
        flows.any(|view| {
            [&view.flow.from, &view.flow.to]
                .iter()
                .any(|end| *end == name)
        })
    };
    let mut hops = shared
        .flows
        .iter()
        .filter_map(|view| view.path.as_ref())
        .flat_map(|path| &path.hops);
    jittered.any(|host| ends(&host.name))
        || shared
            .flows
            .iter()
            .any(|view| view.flow.loss.is_random() || view.flow.arrivals.is_random())
        // netem's jitter extends to both sides of the delay.
        || hops.any(|hop| {
            is_enough(hop.direction.netem.jitter * 2) || hop.direction.loss.is_random()
        })
}

fn finding(shared: &Shared<'_, '_>) -> Finding {
    let packet = libm::ceil(service_micros(shared.rate)) as u64;
    Finding::new(
        "phase",
        &format!("link.{}.queue", shared.link.trim_end_matches(".backward")),
        format!(
            "{} flows share a drop-tail queue and no packet's time varies by half of what it takes on \
             the link: phase, not control, may decide which of them loses",
            shared.count()
        ),
        format!(
            "give the senders' [[host]] jitter = \"0s..{packet}us\", a packet's time on this link, \
             and the flows start = \"0s..1s\""
        ),
    )
}

/// The transmission time of a full-size packet on the link, in microseconds.
fn service_micros(rate: Rate) -> f64 {
    1500.0 * 8e6 / rate.as_bps().max(1.0)
}

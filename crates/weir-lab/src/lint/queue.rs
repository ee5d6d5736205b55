//! Queues that are too short for a packet, for a burst, or to keep their link utilised.
//!
//! A controller that keeps the share β of its window after a loss keeps the link utilised if the
//! queue holds (1/β − 1) bandwidth-delay products: one for NewReno, 0.43 for CUBIC; n
//! unsynchronised flows need that over √n (Appenzeller, Keslassy and McKeown, Sizing Router
//! Buffers, 2004).
//!
//! A policer has no queue: packets above its rate pass within its burst or are dropped. A window is
//! sent within a round trip, so a burst below a bandwidth-delay product drops parts of windows that
//! the rate could carry (Flach et al., An Internet-Wide Analysis of Traffic Policing, SIGCOMM 2016,
//! §2).

use super::view::{Control, Shared, View};
use super::{Finding, path::Path};
use crate::scenario::{Direction, Transport};
use weir_net::QueueLimit;
use weir_net::policer::PolicerConfig;
use weir_proto::units::format_rate;

/// Packets of an initial window: the default of TCP and QUIC.
const INITIAL_WINDOW: u64 = 10;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for link in &view.scenario.links {
        let [there, back] = link.trace_names();
        for (name, direction) in [(there, &link.forward), (back, &link.backward)] {
            findings.extend(below_a_packet(&path_of(&name), direction));
        }
    }
    // Both directions of a link usually have the same queue: one finding is enough.
    findings.dedup();
    for shared in view.bottlenecks() {
        findings.extend(match shared.policed {
            Some(policer) => below_a_window(&shared, policer),
            None => below_a_burst(&shared).or_else(|| below_the_bdp(&shared)),
        });
    }
    findings
}

/// The path of a direction's link in the notation of `--set`.
fn path_of(direction: &str) -> String {
    format!("link.{}", direction.trim_end_matches(".backward"))
}

fn below_a_packet(path: &str, direction: &Direction) -> Option<Finding> {
    let mtu = u64::from(direction.mtu);
    if let Some(policer) = &direction.policer {
        let counted = mtu + u64::from(policer.overhead);
        if policer.burst < counted {
            return Some(Finding::new(
                "queue",
                &format!("{path}.policer.burst"),
                format!(
                    "{} bytes are less than a packet of {counted}, which never passes",
                    policer.burst
                ),
                format!("write at least {counted} bytes"),
            ));
        }
    }
    if let Some(shaper) = &direction.shaper {
        let too_small = [
            ("burst", Some(shaper.burst)),
            ("limit", shaper.queue_limit()),
        ];
        let (key, size) = too_small
            .into_iter()
            .find_map(|(key, size)| Some((key, size.filter(|&size| size < mtu)?)))?;
        return Some(Finding::new(
            "queue",
            &format!("{path}.shaper.{key}"),
            format!("{size} bytes are less than a packet of {mtu}, which never passes"),
            format!("write at least {mtu} bytes"),
        ));
    }
    let QueueLimit::Bytes(limit) = direction.queue.limit() else {
        return None;
    };
    (limit < mtu && direction.rate.is_some()).then(|| {
        Finding::new(
            "queue",
            &format!("{path}.queue.limit"),
            format!("{limit} bytes are less than a packet of {mtu}, which is always dropped"),
            format!("write at least {mtu} bytes"),
        )
    })
}

/// A policer whose burst is smaller than the window that its rate can carry. Controllers with an
/// equation or a target rate have no window and are excluded.
fn below_a_window(shared: &Shared<'_, '_>, policer: &PolicerConfig) -> Option<Finding> {
    let windows = shared.controlled().filter(|view| {
        let is_media = view.flow.transport.media_title().is_some();
        !is_media && !matches!(view.control, Control::Tfrc | Control::None)
    });
    let bdps = windows.filter_map(|view| {
        let path = view.path.as_ref()?;
        Some((path.bdp_bytes()?, path.mtu))
    });
    let (needed, mtu) = bdps.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let burst = policer.burst as f64;
    let passes_packets = policer.burst >= u64::from(mtu) + u64::from(policer.overhead);
    (burst < needed && passes_packets).then(|| {
        Finding::new(
            "queue",
            &format!("{}.policer.burst", path_of(&shared.link)),
            format!(
                "{} bytes are {:.2} of the {needed:.0} that {} carry in a round trip: the policer \
                 drops parts of windows that its rate would carry",
                policer.burst,
                burst / needed,
                format_rate(shared.rate),
            ),
            format!(
                "expect less than the policer's rate, or write at least {:.0} bytes",
                libm::ceil(needed)
            ),
        )
    })
}

/// The maximum queue in octets, regardless of earlier drops by the discipline, and the key of its
/// limit. With a token bucket, the bucket's own queue plus its burst.
fn limit_bytes(shared: &Shared<'_, '_>, mtu: u64) -> (u64, &'static str) {
    if let Some((shaper, limit)) = (shared.shaper).and_then(|one| Some((one, one.queue_limit()?))) {
        let key = shaper.limit.map_or("shaper.latency", |_| "shaper.limit");
        return (limit.saturating_add(shaper.burst), key);
    }
    let limit = match shared.queue.limit() {
        QueueLimit::Packets(packets) => packets.saturating_mul(mtu),
        QueueLimit::Bytes(bytes) => bytes,
    };
    (limit, "queue.limit")
}

fn below_a_burst(shared: &Shared<'_, '_>) -> Option<Finding> {
    let bursts = shared.flows.iter().find(|view| {
        let window = matches!(
            view.flow.transport,
            Transport::Tcp(_) | Transport::Quic(_) | Transport::Quinn(_) | Transport::Noq(_)
        );
        window && arrives_faster(view.path.as_ref(), shared)
    })?;
    let mtu = u64::from(bursts.path.as_ref()?.mtu);
    let (queue, key) = limit_bytes(shared, mtu);
    let burst = INITIAL_WINDOW * mtu;
    (queue < burst && queue >= mtu).then(|| {
        Finding::new(
            "queue",
            &format!("{}.{key}", path_of(&shared.link)),
            format!(
                "{queue} bytes hold {} of the {INITIAL_WINDOW} packets of an initial window that \
                 arrive faster than they leave",
                queue / mtu
            ),
            format!("write at least {INITIAL_WINDOW} packets, or pace the sender"),
        )
    })
}

/// True if the packets reach the bottleneck faster than they leave it.
fn arrives_faster(path: Option<&Path<'_>>, shared: &Shared<'_, '_>) -> bool {
    let before = path.map(|path| path.hops.iter().take_while(|hop| hop.name != shared.link));
    let mut before = before.into_iter().flatten();
    before.all(|hop| {
        let path = path.map(|path| path.rate_bps(hop.direction));
        path.is_none_or(|bps| bps > shared.rate.as_bps())
    })
}

fn below_the_bdp(shared: &Shared<'_, '_>) -> Option<Finding> {
    let needs = shared.controlled().filter_map(|view| {
        let path = view.path.as_ref()?;
        let beta = view.control.beta()?;
        Some((path.bdp_bytes()?, 1.0 / beta - 1.0, u64::from(path.mtu)))
    });
    let (bdp, factor, mtu) = needs.max_by(|a, b| (a.0 * a.1).total_cmp(&(b.0 * b.1)))?;
    let (queue, key) = limit_bytes(shared, mtu);
    let flows = f64::from(shared.count().max(1));
    let needed = bdp * factor / flows.sqrt();
    ((queue as f64) < needed).then(|| {
        Finding::new(
            "queue",
            &format!("{}.{key}", path_of(&shared.link)),
            format!(
                "{queue} bytes are {:.2} of the {:.0} that keep {} busy after each loss",
                queue as f64 / needed,
                needed,
                format_rate(shared.rate)
            ),
            format!(
                "expect less than the link's rate, or write at least {:.0} packets",
                libm::ceil(needed / mtu as f64)
            ),
        )
    })
}

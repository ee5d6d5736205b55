//! Losses that are no sign of congestion, and losses of queues that are too short.

use super::{Detector, any, each_flow};
use crate::diagnosis::Statistic;
use crate::diagnosis::finding::{Evidence, Finding, Pathology, RemedyPlace, Statement};
use crate::diagnosis::losses::{Drop, Reduction, reductions};
use crate::diagnosis::view::{FlowView, LinkView, View};

/// Losses one by one without a queue.
pub(super) const RANDOM: Detector = Detector {
    about: &Pathology {
        kind: "random_loss",
        title: "random loss without congestion",
        definition: "At least 3 reductions and half of all come after a loss on the wire; where the links have no \
                     trace, or a loss model takes packets at the socket, with a queueing delay below 10 % of \
                     the base round-trip time in the round trip before. On average the wire loses fewer \
                     than 1.6 packets at once. Of a capture, which shows no window, retransmissions that no \
                     timeout causes stand for reductions, one in a round trip, and the octets in flight before \
                     them vary by more than a quarter of their median, from the first to the third quartile: \
                     a queue drops at a level.",
        citation: "RFC 3135 §3.2; RFC 2488 §3",
        needs: &["rtt_s"],
    },
    applies: any,
    examine: |view| each_flow(view, |view, flow| wire(view, flow, false)),
};

/// Losses in bursts without a queue.
pub(super) const BURSTY: Detector = Detector {
    about: &Pathology {
        kind: "bursty_loss",
        title: "bursts of loss without congestion",
        definition: "As random_loss, where the wire loses 1.6 packets or more at once.",
        citation: "E. Gilbert, Capacity of a Burst-Noise Channel, 1960; RFC 3611 §4.7.2",
        needs: &["rtt_s"],
    },
    applies: any,
    examine: |view| each_flow(view, |view, flow| wire(view, flow, true)),
};

/// A policer that drops what comes too fast.
pub(super) const POLICER: Detector = Detector {
    about: &Pathology {
        kind: "policer",
        title: "policer",
        definition: "At least 3 packets and half of all drops on the path are neither of a queue nor of \
                     the wire and come from a link that polices.",
        citation: "T. Flach et al., An Internet-Wide Analysis of Traffic Policing, 2016; RFC 2475 §2.3.3.4",
        needs: &[],
    },
    applies: any,
    examine: |view| each_flow(view, policer),
};

/// A queue that holds less than loss-based control needs.
pub(super) const SHALLOW: Detector = Detector {
    about: &Pathology {
        kind: "shallow_buffer",
        title: "shallow buffer",
        definition: "A drop-tail queue in front of a bulk flow's slowest link holds less than 0.3 of the \
                     bandwidth-delay product, drops at least 3 packets, and the link is used for less than \
                     95 % of the time.",
        citation: "G. Appenzeller et al., Sizing Router Buffers, 2004; RFC 3439 §A.2",
        needs: &[],
    },
    applies: any,
    examine: |view| each_flow(view, shallow),
};

/// Packets that overtake each other.
pub(super) const REORDERING: Detector = Detector {
    about: &Pathology {
        kind: "reordering",
        title: "reordering taken for loss",
        definition: "The sender takes at least 10 packets for lost and reduces its window at least 3 times \
                     without a drop or a timeout, and all links on the path together dropped fewer than half \
                     as many; or at least 3 reductions were taken back.",
        citation: "RFC 4737; RFC 8985 §3.1; RFC 9002 §6.1.1",
        needs: &[],
    },
    applies: any,
    examine: |view| each_flow(view, reordering),
};

/// Share of the base round-trip time below which there is no queue.
const NO_QUEUE: f64 = 0.1;
/// Packets lost at once from which on losses come in bursts.
const BURST: f64 = 1.6;
/// Reductions that a finding needs.
const REDUCTIONS: usize = 3;
/// By how much of their median the octets in flight before losses vary that are at random.
const AT_RANDOM: f64 = 0.25;

fn wire(view: &View<'_>, flow: &FlowView<'_>, bursty: bool) -> Option<Finding> {
    let base = flow.base.clone()?;
    let all = reductions(view, flow);
    let is_free = |one: &&Reduction| {
        let quiet = one.queue_s < NO_QUEUE * base.value;
        match one.drop {
            Drop::Wire => true,
            Drop::Unknown => quiet && !one.is_timeout,
            // Losses at the sender's socket are no drops of a link.
            Drop::None => quiet && flow.loses_at_socket(),
            Drop::Queue | Drop::Policer | Drop::Mark => false,
        }
    };
    let free: Vec<&Reduction> = all.iter().filter(is_free).collect();
    if free.len() < REDUCTIONS || 2 * free.len() < all.len() {
        return None;
    }
    let is_captured = is_captured(flow);
    if is_captured && variation(&free).is_none_or(|of| of <= AT_RANDOM) {
        return None;
    }
    let lossy = lossiest(view, flow);
    let at_once = free.iter().map(|one| one.lost).sum::<f64>() / free.len() as f64;
    let burst = lossy.and_then(|link| drops_at_once(link));
    let burst = burst.unwrap_or(if is_captured { at_once } else { 1.0 });
    if (burst >= BURST) != bursty {
        return None;
    }
    let about = if bursty { BURSTY.about } else { RANDOM.about };
    let (first, last) = (free.first()?.row, free.last()?.row);
    if is_captured {
        return lost_in_capture(flow, about, &free);
    }
    let reduced = if flow.is_tfrc() {
        flow.main.at("loss_event_rate", last)?
    } else {
        let word = flow
            .main
            .words("limit")
            .get(first)
            .map_or("recovery", |word| word);
        let word = Statistic::EntriesOf(word.to_owned());
        flow.main.measure("limit", first..last + 1, word)?
    };
    let middle = free[free.len() / 2];
    let rtt = flow.main.at("rtt_s", middle.row)?;
    let symptom = if flow.is_tfrc() {
        Statement::new(
            "The loss event rate is {}, though the round trip took {} at such a loss, on a path of {} \
             without a queue.",
            vec![reduced, rtt, base],
        )
    } else {
        Statement::new(
            "The window was reduced {} times, though the round trip took {} at such a loss, on a path \
             of {} without a queue.",
            vec![reduced, rtt, base],
        )
    };
    let span = [free.first()?.at_s, free.last()?.at_s];
    let mut finding = Finding::new(about, flow.name, 0.7, symptom).over(span);
    if let Some(link) = lossy {
        let lost = link.summary?.wire_losses as f64;
        let lost = link.given("wire_losses", lost);
        let said = format!("The wire of {} lost {{}} packets.", link.name);
        finding = finding.because(&said, Some(vec![lost]));
    }
    Some(against_loss(finding, flow, lossy))
}

/// True for a flow of a capture, whose losses stand for reductions.
fn is_captured(flow: &FlowView<'_>) -> bool {
    flow.declared.is_none() && flow.transport == "tcp" && !flow.has("cwnd_bytes")
}

/// By how much of their median the octets in flight before some losses vary, from the first to the
/// third quartile: the losses of slow start are at another level, and few.
fn variation(losses: &[&Reduction]) -> Option<f64> {
    let mut flights: Vec<f64> = losses.iter().filter_map(|one| one.flight).collect();
    flights.sort_by(f64::total_cmp);
    let at = |quarters: usize| flights.get((flights.len() * quarters / 4).min(flights.len() - 1));
    if flights.len() < REDUCTIONS {
        return None;
    }
    let (low, middle, high) = (at(1)?, at(2)?, at(3)?);
    (*middle > 0.0).then(|| (high - low) / middle)
}

/// Losses without a queue, as a capture shows them.
fn lost_in_capture(
    flow: &FlowView<'_>,
    about: &'static Pathology,
    losses: &[&Reduction],
) -> Option<Finding> {
    let middle = losses.get(losses.len() / 2)?;
    let events = Evidence::given("derived", "loss_events", losses.len() as f64);
    let varies = Evidence::given("derived", "flight_variation", variation(losses)?);
    let rtt = flow.main.at("rtt_s", middle.row)?;
    let symptom = Statement::new(
        "In {} round trips packets were lost, though the round trip took {} at such a loss, on a path of {} \
         without a queue; the octets in flight before them vary by {} of their median.",
        vec![events, rtt, flow.base.clone()?, varies],
    );
    let span = [losses.first()?.at_s, losses.last()?.at_s];
    let finding = Finding::new(about, flow.name, 0.7, symptom).over(span);
    Some(against_loss(finding, flow, None))
}

/// With what makes losses rarer or less harmful.
fn against_loss(finding: Finding, flow: &FlowView<'_>, lossy: Option<&LinkView<'_>>) -> Finding {
    let loss = lossy.and_then(|link| link.wire_setting("loss"));
    let none = loss.map(|path| vec![(path, "{ kind = \"none\" }")]);
    finding
        .with_bbr(flow, "a controller that does not answer to single losses")
        .with_every_ack(flow)
        .remedy(RemedyPlace::Network, "a link that repairs its losses", none)
}

/// The link on a flow's path that lost most on the wire.
fn lossiest<'v>(view: &'v View<'v>, flow: &'v FlowView<'_>) -> Option<&'v LinkView<'v>> {
    let lossy = view
        .forward(flow)
        .filter_map(|link| Some((link, link.summary?.wire_losses)));
    let most = lossy.max_by_key(|(_, lost)| *lost);
    most.filter(|(_, lost)| *lost > 0).map(|(link, _)| link)
}

/// How many packets a link dropped together on average: drops that follow each other within the
/// transmission of four packets are together.
fn drops_at_once(link: &LinkView<'_>) -> Option<f64> {
    let rows = link.rows.as_ref()?;
    let drops = rows.table.as_numbers("drops")?;
    let times = rows.times();
    let rate = link.direction?.rate.map_or(1e9, |rate| rate as f64);
    let near = 4.0 * 12_000.0 / rate;
    let queue = rows.table.as_numbers("queue_bytes")?;
    let full = link
        .limit_bytes()
        .map_or(f64::INFINITY, |limit| 0.8 * limit);
    let (mut total, mut groups, mut last) = (0.0, 0.0, f64::NEG_INFINITY);
    for row in 1..times.len().min(drops.len()) {
        let more = drops[row] - drops[row - 1];
        if more > 0.0 && queue[row] < full {
            total += more;
            groups += if times[row] - last > near { 1.0 } else { 0.0 };
            last = times[row];
        }
    }
    (groups > 0.0).then(|| total / groups)
}

fn policer(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let is_policing = |link: &&LinkView<'_>| link.direction.is_some_and(|d| d.policer.is_some());
    let link = view.forward(flow).find(is_policing)?;
    let summary = link.summary?;
    let others = summary.drops - summary.queue_drops - summary.wire_losses;
    if others < 3 || 2 * others < summary.drops {
        return None;
    }
    let rate = link.direction?.policer?.rate as f64;
    let path = format!("link.{}.policer.rate_bps", link.name);
    let symptom = Statement::new(
        "Of {} packets that the link dropped, {} were of the queue and {} of the wire; the rest came \
         faster than the policer's {}.",
        vec![
            link.given("drops", summary.drops as f64),
            link.given("queue_drops", summary.queue_drops as f64),
            link.given("wire_losses", summary.wire_losses as f64),
            Evidence::given("scenario", path, rate),
        ],
    );
    let finding = Finding::new(POLICER.about, flow.name, 0.9, symptom).over(flow.life());
    Some(finding.with_bbr(flow, "a controller that follows the delivery rate"))
}

fn shallow(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let link = view.bottleneck(flow)?;
    let summary = link.summary?;
    let (limit, bdp) = (link.limit_bytes()?, flow.bdp()?);
    let is_short = limit < 0.3 * bdp.value && !link.is_aqm();
    if !is_short || summary.queue_drops < 3 || summary.utilisation >= 0.95 || !flow.is_bulk {
        return None;
    }
    let packets = format!("{:.0}", libm::ceil(bdp.value / 1500.0).max(4.0));
    let path = format!("link.{}.queue.limit_bytes", link.name);
    let symptom = Statement::new(
        "The queue holds {}, less than 0.3 of the {} that the path needs, and dropped {} packets while \
         the link was used for {} of the time.",
        vec![
            Evidence::given("scenario", path, limit),
            bdp,
            link.given("queue_drops", summary.queue_drops as f64),
            link.given("utilisation", summary.utilisation),
        ],
    );
    let severity = 1.0 - summary.utilisation;
    let finding = Finding::new(SHALLOW.about, flow.name, severity, symptom).over(flow.life());
    let queue = Some(vec![(link.queue_setting("queue.limit"), packets)]);
    let text = "a buffer of one bandwidth-delay product";
    let finding = finding.with_bbr(flow, "a controller that paces");
    Some(finding.remedy(RemedyPlace::Network, text, queue))
}

fn reordering(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let summary = flow.summary?;
    let links = view.forward(flow).filter_map(|link| link.summary);
    let dropped: u64 = links.map(|link| link.drops).sum();
    let lost = summary.packets_lost;
    let undone = flow.events.as_ref().and_then(|events| {
        let spurious = Statistic::CountOf("spurious".to_owned());
        events.measure("event", events.all(), spurious)
    });
    let is_undone = undone.as_ref().is_some_and(|undone| undone.value >= 3.0);
    let is_known = !flow.forward.is_empty() && !flow.loses_at_socket();
    let without_drop = reductions(view, flow).into_iter();
    let without_drop = without_drop
        .filter(|one| one.drop == Drop::None && !one.is_timeout)
        .count();
    let is_false = lost >= 10 && 2 * dropped < lost && is_known && without_drop >= REDUCTIONS;
    if !(is_false || is_undone && dropped < lost.max(10)) {
        return None;
    }
    let symptom = Statement::new(
        "The sender took {} packets for lost, and all links on the path together dropped {}.",
        vec![
            flow.given("packets_lost", lost as f64),
            Evidence::given("summary", "links.*.drops", dropped as f64),
        ],
    );
    let finding = Finding::new(REORDERING.about, flow.name, 0.8, symptom).over(flow.life());
    Some(
        finding.because(
            "It took {} reductions back.",
            undone
                .filter(|undone| undone.value > 0.0)
                .map(|undone| vec![undone]),
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(flights: &[f64]) -> Vec<Reduction> {
        let of = |flight: &f64| Reduction {
            row: 0,
            at_s: 0.0,
            queue_s: 0.0,
            drop: Drop::Unknown,
            is_timeout: false,
            flight: Some(*flight),
            lost: 1.0,
        };
        flights.iter().map(of).collect()
    }

    fn varies(flights: &[f64]) -> Option<f64> {
        let losses = losses(flights);
        variation(&losses.iter().collect::<Vec<_>>())
    }

    /// Of eight sorted numbers the first quartile is the third, the median the fifth, the third
    /// quartile the seventh.
    #[test]
    fn the_level_of_losses_is_that_of_their_middle_half() {
        assert_eq!(varies(&[8.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), Some(0.8));
        // Two losses of slow start at another level do not matter.
        let level = [13.0, 250.0, 62.0, 62.0, 62.0, 62.0, 62.0, 62.0, 62.0];
        assert_eq!(varies(&level), Some(0.0));
        assert_eq!(varies(&[1.0, 2.0]), None);
        assert_eq!(varies(&[0.0, 0.0, 0.0]), None);
        assert_eq!(varies(&[]), None);
    }
}

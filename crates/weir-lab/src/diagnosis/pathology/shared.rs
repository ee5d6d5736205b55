//! Flows that share a bottleneck unfairly, and links that are not filled.

use super::{Detector, any};
use crate::diagnosis::Statistic;
use crate::diagnosis::finding::{Evidence, Finding, Pathology, Statement};
use crate::diagnosis::view::{FlowView, View};
use weir_net::AppConfig;

/// Flows with long round trips that get less.
pub(super) const RTT_BIAS: Detector = Detector {
    about: &Pathology {
        kind: "rtt_bias",
        title: "RTT unfairness",
        definition: "Two bulk flows with the same controller share a bottleneck for at least 50 of the longer \
                     round trips; congestion control holds the one whose base round trip is at least 2 \
                     times the other's, and it gets less than half of the other's goodput.",
        citation: "RFC 5166 §2.3; T. Lakshman and U. Madhow, 1997",
        needs: &[],
    },
    applies: any,
    examine: |view| pairs(view, rtt_bias),
};

/// A flow that came later and gets less.
pub(super) const LATECOMER: Detector = Detector {
    about: &Pathology {
        kind: "latecomer_starved",
        title: "starved latecomer",
        definition: "Two bulk flows with base round trips within 20 % share a bottleneck for at least 10 round \
                     trips; congestion control holds the one that began at least 10 round trips later, and \
                     it gets less than a third of the other's goodput from then on.",
        citation: "RFC 5166 §2.3; RFC 6817 §4.4",
        needs: &[],
    },
    applies: any,
    examine: |view| pairs(view, latecomer),
};

/// Two kinds of controllers of which one takes all.
pub(super) const UNFAIR: Detector = Detector {
    about: &Pathology {
        kind: "unfairness",
        title: "unfairness between controllers",
        definition: "Two bulk flows with different controllers, neither of which began 10 round trips after the \
                     other, share a bottleneck for at least 50 round trips; congestion control holds one, \
                     and it gets less than a third of the other's goodput.",
        citation: "RFC 9743 §5.1; RFC 5166 §2.3",
        needs: &[],
    },
    applies: any,
    examine: |view| pairs(view, unfair),
};

/// An L4S flow beside a classic one in one queue that marks.
pub(super) const L4S: Detector = Detector {
    about: &Pathology {
        kind: "l4s_beside_classic",
        title: "L4S flow beside a classic flow in one classic queue",
        definition: "As unfairness, whenever they began, where the larger flow is Prague or DCTCP, the other is not, \
                     and their queue marks and is not DualPI2.",
        citation: "RFC 9331 §4.3 and Appendix A.1.5",
        needs: &[],
    },
    applies: any,
    examine: |view| pairs(view, l4s),
};

/// A link that stays partly unused although data waits.
pub(super) const UNDERUSED: Detector = Detector {
    about: &Pathology {
        kind: "underused_link",
        title: "underused link",
        definition: "Congestion control holds the only bulk flows over a link without active queue \
                     management for more than half of the time, and the link is used for less than 80 % of \
                     it, over at least 50 base round trips.",
        citation: "RFC 5166 §2.1; RFC 3649 §1",
        needs: &[],
    },
    applies: any,
    examine: underused,
};

/// The pairs of bulk flows that share a bottleneck.
fn pairs(
    view: &View<'_>,
    rule: impl Fn(&View<'_>, &FlowView<'_>, &FlowView<'_>) -> Option<Finding>,
) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for link in &view.links {
        let flows = view.sharing(&link.name);
        let flows: Vec<_> = flows
            .into_iter()
            .filter(|flow| flow.is_bulk)
            .take(64)
            .collect();
        for one in &flows {
            for other in flows.iter().filter(|other| other.name != one.name) {
                let finding = rule(view, one, other);
                // One finding a link: the worst pair.
                if let Some(finding) = finding {
                    let known = found
                        .iter_mut()
                        .find(|known| known.subject == finding.subject);
                    match known {
                        Some(known) if known.severity >= finding.severity => {}
                        Some(known) => *known = finding,
                        None => found.push(finding),
                    }
                }
            }
        }
    }
    found
}

/// The kind of a flow's controller: transports with the same one are of one kind.
fn controller(flow: &FlowView<'_>) -> String {
    use crate::scenario::{ForeignStack, Transport};
    match flow.declared.map(|flow| &flow.transport) {
        Some(Transport::Tcp(tcp)) => tcp.controller.name.to_owned(),
        Some(Transport::Quic(quic)) => quic.config.controller.name.to_owned(),
        Some(Transport::Quinn(quinn)) => ForeignStack::algorithm_of(quinn.controller).to_owned(),
        Some(Transport::Noq(noq)) => ForeignStack::algorithm_of(noq.controller).to_owned(),
        Some(Transport::Dccp(dccp)) => format!("ccid{}", dccp.ccid),
        _ => flow.transport.to_owned(),
    }
}

fn goodput(flow: &FlowView<'_>) -> Option<Evidence> {
    Some(flow.given("goodput_bps", flow.summary?.goodput_bps))
}

/// The time in which both flows lived, in round trips of the longer one.
fn together(one: &FlowView<'_>, other: &FlowView<'_>) -> Option<f64> {
    let (a, b) = (one.life(), other.life());
    let time = a[1].min(b[1]) - a[0].max(b[0]);
    Some(time / one.base_s()?.max(other.base_s()?))
}

/// A finding that `small` gets much less than `large`.
fn shares(
    about: &'static Pathology,
    [small, large]: [&FlowView<'_>; 2],
    ratio: f64,
) -> Option<Finding> {
    let (little, much) = (goodput(small)?, goodput(large)?);
    let enough = together(small, large)? >= 50.0 && small.is_controlled(&small.alive());
    if !enough || little.value >= ratio * much.value {
        return None;
    }
    let severity = 1.0 - little.value / much.value;
    let said = format!("{} gets {{}}, and {} gets {{}}.", small.name, large.name);
    let symptom = Statement::new(&said, vec![little, much]);
    Some(Finding::new(about, small.name, severity, symptom).over(small.life()))
}

fn rtt_bias(_: &View<'_>, small: &FlowView<'_>, large: &FlowView<'_>) -> Option<Finding> {
    let (long, short) = (small.base.clone()?, large.base.clone()?);
    if controller(small) != controller(large) || long.value < 2.0 * short.value {
        return None;
    }
    let finding = shares(RTT_BIAS.about, [small, large], 0.5)?;
    Some(finding.because(
        "Without a queue the round trip takes {} for the one and {} for the other.",
        Some(vec![long, short]),
    ))
}

fn latecomer(view: &View<'_>, small: &FlowView<'_>, large: &FlowView<'_>) -> Option<Finding> {
    let (a, b) = (small.base_s()?, large.base_s()?);
    if is_l4s_in_classic(view, small, large) {
        return None;
    }
    if !is_later(small, large)? || a.max(b) > 1.2 * a.min(b) || !small.is_controlled(&small.alive())
    {
        return None;
    }
    let (from, to) = (small.life()[0], small.life()[1].min(large.life()[1]));
    if to - from < 10.0 * a {
        return None;
    }
    let mean = |flow: &FlowView<'_>| {
        let intervals = flow.intervals.as_ref()?;
        // A row is the end of an interval; its value holds before it.
        let times = intervals.times();
        let rows = times.partition_point(|t| *t <= from)..times.partition_point(|t| *t <= to);
        intervals.measure("goodput_bps", rows, Statistic::Mean)
    };
    let (little, much) = (mean(small)?, mean(large)?);
    if little.value >= much.value / 3.0 {
        return None;
    }
    let severity = 1.0 - little.value / much.value;
    let said = format!(
        "{} gets {{}}, and {}, which began before it, {{}}.",
        small.name, large.name
    );
    let symptom = Statement::new(&said, vec![little, much]);
    let finding = Finding::new(LATECOMER.about, small.name, severity, symptom);
    let first = |flow: &FlowView<'_>| flow.main.at("time_s", 0);
    let starts = first(small).zip(first(large));
    Some(finding.because(
        "It began at {}, the other at {}.",
        starts.map(|(late, early)| vec![late, early]),
    ))
}

/// True if a flow began at least 10 base round trips after the other.
fn is_later(small: &FlowView<'_>, large: &FlowView<'_>) -> Option<bool> {
    Some(small.life()[0] > large.life()[0] + 10.0 * small.base_s()?)
}

fn unfair(view: &View<'_>, small: &FlowView<'_>, large: &FlowView<'_>) -> Option<Finding> {
    let is_same = controller(small) == controller(large);
    if is_same || is_l4s_in_classic(view, small, large) || is_later(small, large)? {
        return None;
    }
    shares(UNFAIR.about, [small, large], 1.0 / 3.0)
}

fn l4s(view: &View<'_>, small: &FlowView<'_>, large: &FlowView<'_>) -> Option<Finding> {
    if !is_l4s_in_classic(view, small, large) {
        return None;
    }
    let finding = shares(L4S.about, [small, large], 1.0 / 3.0)?;
    Some(finding.with_queue(view.bottleneck(small)?, "dualpi2", "DualPI2 in the queue"))
}

fn is_l4s_in_classic(view: &View<'_>, small: &FlowView<'_>, large: &FlowView<'_>) -> bool {
    let is_l4s = ["prague", "dctcp"].contains(&controller(large).as_str());
    let is_classic = !["prague", "dctcp"].contains(&controller(small).as_str());
    let marks = view.bottleneck(small).is_some_and(|link| {
        let queue = link.direction.map(|direction| &direction.queue);
        let is_dual = matches!(queue, Some(weir_net::QueueConfig::DualPi2(_)));
        !is_dual && link.summary.is_some_and(|summary| summary.marks > 0)
    });
    is_l4s && is_classic && marks
}

fn underused(view: &View<'_>) -> Vec<Finding> {
    let links = view.links.iter().filter_map(|link| {
        let summary = link.summary?;
        let flows = view.sharing(&link.name);
        let is_bulk = |flow: &&FlowView<'_>| {
            // Media ask for no more than their encoder gives.
            let app = flow.declared.map(|flow| &flow.app);
            flow.is_bulk && !matches!(app, Some(AppConfig::Video(_)))
        };
        let bulk: Vec<_> = flows.into_iter().filter(is_bulk).collect();
        let first = bulk.first()?;
        let [from, to] = first.life();
        let long = to - from >= 50.0 * first.base_s()? && to >= 0.95 * first.main.end_s;
        let all = bulk.iter().all(|flow| flow.is_controlled(&flow.alive()));
        if !long || !all || summary.utilisation >= 0.8 || link.is_aqm() {
            return None;
        }
        let symptom = Statement::new(
            "Data waited at the sender, and the link was used for {} of the time.",
            vec![link.given("utilisation", summary.utilisation)],
        );
        let severity = 0.5 * (1.0 - summary.utilisation);
        Some(Finding::new(UNDERUSED.about, &link.name, severity, symptom).over(first.life()))
    });
    links.collect()
}

//! Many flows that do the same at the same time.

use super::{Detector, any};
use crate::diagnosis::Statistic;
use crate::diagnosis::finding::{Evidence, Finding, Pathology, RemedyPlace, Statement};
use crate::diagnosis::losses::reductions;
use crate::diagnosis::view::{FlowView, LinkView, View};

/// Flows that begin together and overflow one queue.
pub(super) const INCAST: Detector = Detector {
    about: &Pathology {
        kind: "incast",
        title: "incast",
        definition: "At least 8 flows over one bottleneck begin within 10 ms, its queue drops packets in \
                     the second after, and at least one of them has a timeout.",
        citation: "A. Phanishayee et al., 2008; Y. Chen et al., Understanding TCP Incast, 2009",
        needs: &[],
    },
    applies: any,
    examine: |view| {
        view.links
            .iter()
            .filter_map(|link| incast(view, link))
            .collect()
    },
};

/// Flows that reduce their windows together.
pub(super) const SYNCHRONISED: Detector = Detector {
    about: &Pathology {
        kind: "loss_synchronisation",
        title: "synchronised losses",
        definition: "At least 4 flows share a drop-tail queue, and in more than half of at least 4 epochs \
                     of one round trip with a reduction half of the flows or more reduce.",
        citation: "RFC 7567 §2; L. Zhang and D. Clark, 1990",
        needs: &["cwnd_bytes"],
    },
    applies: any,
    examine: |view| {
        view.links
            .iter()
            .filter_map(|link| synchronised(view, link))
            .collect()
    },
};

/// A number of flows or epochs, which stands in no table.
fn count(name: &str, value: usize) -> Evidence {
    Evidence::given("derived", name, value as f64)
}

/// Flows that begin together are an incast from this number on.
const FLOWS: usize = 8;

fn incast(view: &View<'_>, link: &LinkView<'_>) -> Option<Finding> {
    let flows = view.sharing(&link.name);
    let mut starts: Vec<f64> = flows.iter().map(|flow| flow.life()[0]).collect();
    starts.sort_by(f64::total_cmp);
    let together = starts
        .windows(FLOWS)
        .find(|starts| starts[FLOWS - 1] - starts[0] < 0.010)?;
    let from = together[0];
    let rows = link.rows.as_ref()?;
    let within = rows.within([from, from + 1.0]);
    let dropped = rows.measure("drops", within, Statistic::Growth)?;
    let timeouts = |flow: &&&FlowView<'_>| {
        let retransmissions = flow.summary.and_then(|summary| summary.retransmissions);
        retransmissions.is_some_and(|of| of.timeouts > 0)
    };
    let timed_out = flows.iter().filter(timeouts).count();
    if dropped.value < 1.0 || timed_out == 0 {
        return None;
    }
    let begin = starts
        .iter()
        .filter(|start| (0.0..0.010).contains(&(**start - from)))
        .count();
    let symptom = Statement::new(
        "The queue dropped {} packets in the second after {} flows had begun within 10 ms, and {} flows \
         had timeouts.",
        vec![
            dropped,
            count("flows_begun", begin),
            count("flows_timed_out", timed_out),
        ],
    );
    let finding = Finding::new(INCAST.about, &link.name, 0.9, symptom);
    let queue = Some(vec![(link.queue_setting("queue.limit"), "1000")]);
    Some(finding.remedy(RemedyPlace::Network, "a larger buffer", queue))
}

fn synchronised(view: &View<'_>, link: &LinkView<'_>) -> Option<Finding> {
    let flows = view.sharing(&link.name);
    let flows: Vec<_> = flows
        .into_iter()
        .filter(|flow| flow.is_bulk)
        .take(64)
        .collect();
    if flows.len() < 4 || link.is_aqm() {
        return None;
    }
    let base = flows
        .iter()
        .filter_map(|flow| flow.base_s())
        .fold(0.0, f64::max);
    let mut all: Vec<(f64, usize)> = Vec::new();
    for (number, flow) in flows.iter().enumerate() {
        let from = flow.slow_start_end_s();
        let of = reductions(view, flow);
        all.extend(
            of.iter()
                .filter(|one| one.at_s > from)
                .map(|one| (one.at_s, number)),
        );
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let queue = link.limit_bytes()? * 8.0 / flows[0].rate_bps()?;
    let epoch = 1.5 * (base + queue);
    let (mut epochs, mut common, mut next) = (0, 0, 0);
    while let Some((start, _)) = all.get(next) {
        let within: Vec<usize> = all[next..]
            .iter()
            .take_while(|(at, _)| *at < start + epoch)
            .map(|(_, flow)| *flow)
            .collect();
        let mut different = within.clone();
        different.sort_unstable();
        different.dedup();
        epochs += 1;
        common += usize::from(2 * different.len() >= flows.len());
        next += within.len();
    }
    if epochs < 4 || 2 * common <= epochs {
        return None;
    }
    let symptom = Statement::new(
        "In {} of {} epochs with a reduction half of the {} flows or more reduced their windows.",
        vec![
            count("common_epochs", common),
            count("epochs", epochs),
            count("flows", flows.len()),
        ],
    );
    let span = [all.first()?.0, all.last()?.0];
    let finding = Finding::new(SYNCHRONISED.about, &link.name, 0.5, symptom).over(span);
    Some(finding.with_queue(link, "fq_codel", "FQ-CoDel in the queue"))
}

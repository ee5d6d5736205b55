//! The way of the acknowledgements: congested or lossy.

use super::{Detector, any, each_flow};
use crate::diagnosis::finding::{Evidence, Finding, Pathology, RemedyPlace, Statement};
use crate::diagnosis::view::{FlowView, LinkView, View};

/// A way back without room.
pub(super) const CONGESTED: Detector = Detector {
    about: &Pathology {
        kind: "ack_path_congestion",
        title: "a way back without room for acknowledgements",
        definition: "A link on the way back is used for more than 90 % of the time and its queue holds at \
                     least 1000 octets on average or drops packets; or for more than 70 % and its queue \
                     drops at least 100.",
        citation: "RFC 3449 §2; RFC 5690",
        needs: &[],
    },
    applies: any,
    examine: |view| each_flow(view, congested),
};

/// Acknowledgements that get lost.
pub(super) const LOST: Detector = Detector {
    about: &Pathology {
        kind: "ack_loss",
        title: "acknowledgements that get lost",
        definition: "The links on the way back drop more than 5 % of the packets that the receiver sent, \
                     and at least 20.",
        citation: "RFC 3449 §2.3; RFC 2525 §2.13",
        needs: &[],
    },
    applies: any,
    examine: |view| each_flow(view, lost),
};

fn backward<'v>(
    view: &'v View<'v>,
    flow: &'v FlowView<'_>,
) -> impl Iterator<Item = &'v LinkView<'v>> {
    flow.backward.iter().filter_map(|name| view.link(name))
}

fn congested(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let link = backward(view, flow).find(|link| {
        let waits =
            |of: &crate::summary::LinkSummary| of.queue_bytes.mean > 1000.0 || of.queue_drops > 0;
        link.direction.is_some()
            && link.summary.is_some_and(|of| {
                let is_full = of.utilisation > 0.9 && waits(of);
                is_full || (of.utilisation > 0.7 && of.queue_drops >= 100)
            })
    })?;
    let summary = link.summary?;
    let of =
        |key: &str, value| Evidence::given("summary", format!("links.{}.{key}", link.name), value);
    let said = format!(
        "The way back over {} is used for {{}} of the time, and {{}} wait on it on average.",
        link.name
    );
    let symptom = Statement::new(
        &said,
        vec![
            of("utilisation", summary.utilisation),
            of("queue_bytes.mean_bytes", summary.queue_bytes.mean),
        ],
    );
    let mut finding = Finding::new(CONGESTED.about, flow.name, 0.8, symptom);
    finding.span_s = flow.life();
    let queue = link
        .setting("queue")
        .map(|path| vec![(path, "{ kind = \"fq_codel\" }")]);
    Some(finding.remedy(RemedyPlace::Network, "FQ-CoDel on the way back", queue))
}

fn lost(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let drops: u64 = backward(view, flow)
        .filter_map(|link| Some(link.summary?.drops))
        .sum();
    let name = flow.backward.first()?;
    // What the receiver's direction carried is not counted by flow; of one flow alone it is known.
    let is_alone = view
        .flows
        .iter()
        .filter(|other| other.backward.contains(name))
        .count()
        == 1;
    let acknowledgements = acknowledgements(flow)?;
    if !is_alone || drops < 20 || (drops as f64) < 0.05 * acknowledgements {
        return None;
    }
    let symptom = Statement::new(
        "The links on the way back dropped {} packets, of about {} acknowledgements.",
        vec![
            Evidence::given("summary", format!("links.{name}.drops"), drops as f64),
            Evidence::given("summary", "acknowledgements", libm::round(acknowledgements)),
        ],
    );
    let mut finding = Finding::new(LOST.about, flow.name, 0.5, symptom);
    finding.span_s = flow.life();
    Some(finding)
}

/// The acknowledgements of a receiver: one for two packets (RFC 5681 §4.2), of TFRC one for each
/// round trip.
fn acknowledgements(flow: &FlowView<'_>) -> Option<f64> {
    if flow.is_tfrc() {
        let [from, to] = flow.life();
        return Some((to - from) / flow.base_s()?);
    }
    Some(flow.summary?.packets_received as f64 / 2.0)
}

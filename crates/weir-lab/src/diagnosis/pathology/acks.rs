//! The reverse path, which carries the acknowledgements: congested or lossy.

use super::{Detector, any, each_flow};
use crate::diagnosis::finding::{Evidence, Finding, Pathology, Statement};
use crate::diagnosis::view::{FlowView, View};
use crate::summary::LinkSummary;

/// A reverse path without room.
pub(super) const CONGESTED: Detector = Detector {
    about: &Pathology {
        kind: "ack_path_congestion",
        title: "congested reverse path",
        definition: "A link on the reverse path is used for more than 90 % of the time and its queue holds at \
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
        title: "loss of acknowledgements",
        definition: "The links on a reverse path that no other flow shares drop at least 20 packets and more \
                     than 5 % of the acknowledgements: one for two packets (RFC 5681 §4.2), of TFRC one for \
                     a round trip.",
        citation: "RFC 3449 §2.3; RFC 2525 §2.13",
        needs: &[],
    },
    applies: any,
    examine: |view| each_flow(view, lost),
};

fn congested(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let is_full = |of: &LinkSummary| {
        let waits = of.queue_bytes.mean > 1000.0 || of.queue_drops > 0;
        (of.utilisation > 0.9 && waits) || (of.utilisation > 0.7 && of.queue_drops >= 100)
    };
    let mut wires = view.backward(flow).filter(|link| link.direction.is_some());
    let link = wires.find(|link| link.summary.is_some_and(is_full))?;
    let summary = link.summary?;
    let said = format!(
        "The reverse path over {} is used for {{}} of the time, and {{}} wait on it on average.",
        link.name
    );
    let symptom = Statement::new(
        &said,
        vec![
            link.given("utilisation", summary.utilisation),
            link.given("queue_bytes.mean_bytes", summary.queue_bytes.mean),
        ],
    );
    let finding = Finding::new(CONGESTED.about, flow.name, 0.8, symptom).over(flow.life());
    Some(finding.with_queue(link, "fq_codel", "FQ-CoDel on the reverse path"))
}

fn lost(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let drops: u64 = view
        .backward(flow)
        .filter_map(|link| Some(link.summary?.drops))
        .sum();
    let name = flow.backward.first()?;
    // What the receiver's direction carried is not counted by flow; of one flow alone it is known.
    let sharing = view
        .flows
        .iter()
        .filter(|other| other.backward.contains(name));
    let acknowledgements = acknowledgements(flow)?;
    if sharing.count() != 1 || drops < 20 || (drops as f64) < 0.05 * acknowledgements {
        return None;
    }
    let symptom = Statement::new(
        "The links on the reverse path dropped {} packets, of about {} acknowledgements.",
        vec![
            Evidence::given("summary", format!("links.{name}.drops"), drops as f64),
            Evidence::given("derived", "acknowledgements", libm::round(acknowledgements)),
        ],
    );
    Some(Finding::new(LOST.about, flow.name, 0.5, symptom).over(flow.life()))
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

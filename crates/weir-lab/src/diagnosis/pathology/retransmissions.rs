//! Heavy retransmission, whatever loses the packets.

use super::{Detector, each_flow};
use crate::diagnosis::Statistic;
use crate::diagnosis::finding::{Evidence, Finding, Pathology, Statement};
use crate::diagnosis::view::{FlowView, View};

/// Much of what is sent was sent before.
pub(super) const HEAVY: Detector = Detector {
    about: &Pathology {
        kind: "heavy_retransmission",
        title: "heavy retransmission",
        definition: "At least a tenth of what a sender of a stream sends, and at least 10 packets, was sent before: \
                     by the socket's counters, the segments of a capture or the counts of a run; of other \
                     traces, packets declared lost, of these and those that arrived. The window \
                     1.22 / sqrt(p) that losses of p = 0.1 leave is below 4 packets, so that three \
                     duplicates of an acknowledgement no longer follow a loss.",
        citation: "M. Mathis et al., The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, 1997; \
                   RFC 5681 §3.2; Linux tcp_info, tcpi_bytes_retrans",
        needs: &[],
    },
    applies: |flow| flow.is_stream(),
    examine: |view| each_flow(view, heavy),
};

/// The share of retransmissions from which on they are heavy, and the least number of packets.
const SHARE: f64 = 0.1;
const PACKETS: f64 = 10.0;

fn heavy(_: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    if !flow.is_stream() {
        return None;
    }
    let (again, sent, least, said) = counted(flow)?;
    let share = again.value / sent.value;
    if share < SHARE || again.value < least {
        return None;
    }
    let share_of = Evidence::given("derived", "retransmitted_share", share);
    let symptom = Statement::new(said, vec![again, sent, share_of]);
    let finding = Finding::new(HEAVY.about, flow.name, share, symptom).over(flow.life());
    let backed_off = flow
        .counter("timeouts_in_a_row")
        .filter(|count| count.value >= 1.0);
    Some(finding.because(
        "The timer for retransmissions has backed off {} times.",
        backed_off.map(|count| vec![count]),
    ))
}

/// What was sent again, all that was sent, the least of the former, and the sentence.
fn counted(flow: &FlowView<'_>) -> Option<(Evidence, Evidence, f64, &'static str)> {
    let pair = |again, sent| flow.counter(again).zip(flow.counter(sent));
    if let Some((again, sent)) = pair("retransmitted_bytes", "sent_bytes") {
        let said = "{} of {} sent, {}, were retransmissions.";
        return Some((again, sent, PACKETS * flow.packet_bytes(), said));
    }
    let packets = "{} of {} packets sent, {}, were retransmissions.";
    if let Some((again, sent)) = pair("retransmitted_packets", "sent_packets") {
        return Some((again, sent, PACKETS, packets));
    }
    if let Some(summary) = flow.summary {
        let again = summary.retransmissions?.packets as f64;
        let again = flow.given("retransmissions.packets", again);
        let sent = flow.given("packets_sent", summary.packets_sent as f64);
        return Some((again, sent, PACKETS, packets));
    }
    let intervals = flow.intervals.as_ref()?;
    let sum = |column| intervals.measure(column, intervals.all(), Statistic::Sum);
    let (lost, arrived) = (sum("packets_lost")?, sum("packets_received")?);
    let all = Evidence::given("derived", "packets", lost.value + arrived.value);
    Some((lost, all, PACKETS, "{} of {} packets, {}, were lost."))
}

//! What held each sender, by share of time, and the rule behind.

use super::finding::Evidence;
use super::view::{FlowView, View};
use schemars::JsonSchema;
use serde::Serialize;
use weir_proto::event::SndLim;

/// What held a sender: shares of its time, or, of a single sample of a socket, of its life.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Held {
    /// The flow.
    pub flow: String,
    /// The bounds that held it, the longest first.
    pub shares: Vec<HeldShare>,
}

/// A bound on a sender.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HeldShare {
    /// The word of the column `bound`.
    pub bound: String,
    /// The share of the time.
    pub share: Evidence,
    /// For a bound that the controller sets, the word of the column `limit` that held longest, with
    /// its share of the time.
    pub rule: Option<(String, Evidence)>,
}

/// Shares below this are not listed.
const LEAST_SHARE: f64 = 0.005;

/// What held each sender.
pub(super) fn held(view: &View<'_>) -> Vec<Held> {
    let flows = view.flows.iter().map(|flow| Held {
        flow: flow.name.to_owned(),
        shares: shares(flow),
    });
    flows.collect()
}

fn shares(flow: &FlowView<'_>) -> Vec<HeldShare> {
    let rows = flow.alive();
    let mut shares: Vec<HeldShare> = SndLim::ALL
        .iter()
        .filter_map(|bound| {
            let share = flow.main.share("bound", bound.name(), rows.clone())?;
            let is_of_controller = [
                SndLim::Window,
                SndLim::Rate,
                SndLim::Pacer,
                SndLim::MinimumInterval,
            ]
            .contains(bound);
            (share.value >= LEAST_SHARE).then(|| HeldShare {
                bound: bound.name().to_owned(),
                rule: rule(flow).filter(|_| is_of_controller),
                share,
            })
        })
        .collect();
    if shares.is_empty() {
        shares = counted(flow);
    }
    shares.sort_by(|a, b| b.share.value.total_cmp(&a.share.value));
    shares
}

/// The shares of the life of a socket, by its counters. Its life is at least the time in which it
/// had data to send and, if nothing waits, the time since it last sent.
fn counted(flow: &FlowView<'_>) -> Vec<HeldShare> {
    let value = |column: &str| flow.counter(column).map(|counter| counter.value);
    let Some(busy) = value("busy_s") else {
        return Vec::new();
    };
    let waits = ["unacknowledged_bytes", "unsent_bytes"].map(value);
    let is_idle = waits.iter().all(|octets| *octets == Some(0.0));
    let idle = value("since_sent_s").filter(|_| is_idle).unwrap_or(0.0);
    let bounds = [
        (SndLim::ReceiverCredit, value("receiver_limited_s")),
        (SndLim::SendBuffer, value("send_buffer_limited_s")),
        (SndLim::Application, Some(idle)),
    ];
    let shares = bounds.into_iter().filter_map(|(bound, held)| {
        let share = held? / (busy + idle);
        let bound = bound.name().to_owned();
        (share >= LEAST_SHARE).then(|| HeldShare {
            share: Evidence::given("derived", format!("{bound}_share"), share),
            rule: None,
            bound,
        })
    });
    shares.collect()
}

/// The rule that bound the controller for the longest time.
fn rule(flow: &FlowView<'_>) -> Option<(String, Evidence)> {
    let rows = flow.alive();
    let mut words: Vec<&str> = Vec::new();
    for word in flow.main.words("limit") {
        if !words.contains(&&**word) {
            words.push(word);
        }
    }
    let shares = words.into_iter().filter_map(|word| {
        let share = flow.main.share("limit", word, rows.clone())?;
        Some((word.to_owned(), share))
    });
    shares.max_by(|a, b| a.1.value.total_cmp(&b.1.value))
}

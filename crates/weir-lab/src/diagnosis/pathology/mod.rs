//! The detectors, a file for each group of pathologies with one cause.

mod acks;
mod air;
mod bounds;
mod clocks;
mod crowds;
mod losses;
mod oscillation;
mod queues;
mod receivers;
mod retransmissions;
mod shared;
mod stalls;
mod start;
mod tfrc;
mod timeouts;
mod turns;

use super::finding::{Evidence, Finding, Pathology, Remedy, RemedyPlace, Statement};
use super::view::{FlowView, LinkView, View};
use crate::scenario::Override;

/// A detector of one kind of pathology.
pub(super) struct Detector {
    pub(super) about: &'static Pathology,
    /// Whether it makes sense for a flow, so that what it lacks is said: TFRC's rules concern no
    /// window, and what counters say needs no rows.
    pub(super) applies: fn(&FlowView<'_>) -> bool,
    pub(super) examine: fn(&View<'_>) -> Vec<Finding>,
}

/// All detectors.
pub(super) const DETECTORS: &[Detector] = &[
    queues::STANDING,
    queues::LATE,
    bounds::APPLICATION,
    bounds::SEND_BUFFER,
    bounds::RECEIVER,
    bounds::PACER,
    bounds::ANTI_AMPLIFICATION,
    bounds::OTHER,
    oscillation::OSCILLATION,
    oscillation::HOLDS,
    oscillation::IN_SLOW_START,
    tfrc::STARVATION,
    tfrc::HELD,
    tfrc::DOUBLE,
    tfrc::BY_DELAY,
    tfrc::BY_LOSS,
    losses::RANDOM,
    losses::BURSTY,
    losses::POLICER,
    losses::SHALLOW,
    losses::REORDERING,
    retransmissions::HEAVY,
    receivers::CLOSED,
    receivers::UNREAD,
    receivers::OUT_OF_ORDER,
    stalls::BLACK_HOLE,
    stalls::PMTU,
    turns::LONG_PATH,
    turns::SLOW_SERVER,
    turns::CLIENT,
    timeouts::STORM,
    timeouts::PERSISTENT,
    timeouts::SPURIOUS,
    start::OVERSHOOT,
    start::EARLY,
    clocks::TICKS,
    clocks::FLOOR,
    clocks::DELAYED,
    clocks::COMPRESSED,
    air::CONTENTION,
    air::RETRIES,
    air::SLOW,
    crowds::INCAST,
    crowds::SYNCHRONISED,
    acks::CONGESTED,
    acks::LOST,
    shared::RTT_BIAS,
    shared::LATECOMER,
    shared::UNFAIR,
    shared::L4S,
    shared::UNDERUSED,
];

impl Finding {
    /// A finding of this kind.
    fn new(about: &'static Pathology, subject: &str, severity: f64, symptom: Statement) -> Self {
        // The first number of the sentence is the one that spans what is seen.
        let span = symptom.evidence.iter().find_map(|one| one.span_s);
        Self {
            kind: about.kind,
            title: about.title,
            subject: subject.to_owned(),
            also: Vec::new(),
            severity: severity.clamp(0.0, 1.0),
            symptom,
            chain: Vec::new(),
            span_s: span.unwrap_or_default(),
            remedies: Vec::new(),
            citation: about.citation,
            caused_by: None,
        }
    }

    /// Adds a step of the explanation; no step if a number of it is missing.
    fn because(mut self, pattern: &str, evidence: Option<Vec<Evidence>>) -> Self {
        self.chain
            .extend(evidence.map(|evidence| Statement::new(pattern, evidence)));
        self
    }

    /// Adds a remedy; none if one of its settings does not exist.
    fn remedy<V: Into<String>>(
        mut self,
        place: RemedyPlace,
        text: &str,
        set: Option<Vec<(String, V)>>,
    ) -> Self {
        if let Some(set) = set {
            let set = set.into_iter().map(|(path, value)| Override {
                path,
                value: value.into(),
            });
            self.remedies.push(Remedy {
                text: text.to_owned(),
                set: set.collect(),
                place,
            });
            self.remedies.sort_by_key(|remedy| remedy.place);
        }
        self
    }
}

impl Finding {
    /// Sets the time in which it is seen, where no number of the sentence has it.
    fn over(mut self, span_s: [f64; 2]) -> Self {
        self.span_s = span_s;
        self
    }

    /// Adds a remedy that no setting expresses.
    fn advice(self, place: RemedyPlace, text: &str) -> Self {
        let none: Option<Vec<(String, String)>> = Some(Vec::new());
        self.remedy(place, text, none)
    }

    /// Adds BBR as a remedy, for a flow whose window controller can be chosen.
    fn with_bbr(self, flow: &FlowView<'_>, text: &str) -> Self {
        let set = (flow.is_stream() && !flow.has_model())
            .then(|| vec![(flow.setting("controller"), "bbr")]);
        self.remedy(RemedyPlace::Sender, text, set)
    }

    /// Adds another queue discipline of a link as a remedy; none behind a token bucket, which has a
    /// queue of its own.
    fn with_queue(self, link: &LinkView<'_>, kind: &str, text: &str) -> Self {
        let set = queue_of(link).map(|path| vec![(path, format!("{{ kind = \"{kind}\" }}"))]);
        self.remedy(RemedyPlace::Network, text, set)
    }

    /// Adds CoDel that marks as a remedy, for a flow whose transport answers to marks.
    fn with_marks(self, flow: &FlowView<'_>, link: &LinkView<'_>) -> Self {
        let answers = ["dccp", "tcp", "quic"].contains(&flow.transport);
        let set = queue_of(link).filter(|_| answers).map(|path| {
            let queue = "{ kind = \"codel\", ecn = true }".to_owned();
            vec![(path, queue), (flow.setting("ecn"), "true".to_owned())]
        });
        let text = "ECN, and CoDel that marks in the queue";
        self.remedy(RemedyPlace::Network, text, set)
    }

    /// Adds an acknowledgement of every packet as a remedy, for a receiver that can be told so.
    fn with_every_ack(self, flow: &FlowView<'_>) -> Self {
        let has_choice = ["tcp", "quic"].contains(&flow.transport);
        let set = has_choice.then(|| vec![(flow.setting("ack_every"), "1")]);
        self.remedy(
            RemedyPlace::Receiver,
            "an acknowledgement of every packet",
            set,
        )
    }
}

/// The path of the queue of a link; none behind a token bucket, which has a queue of its own.
fn queue_of(link: &LinkView<'_>) -> Option<String> {
    let bucket = link
        .direction
        .and_then(|direction| direction.shaper.as_ref());
    bucket.is_none().then(|| link.queue_setting("queue"))
}

/// The findings of a rule that looks at one flow.
fn each_flow<'v>(
    view: &'v View<'v>,
    rule: impl Fn(&'v View<'v>, &'v FlowView<'v>) -> Option<Finding>,
) -> Vec<Finding> {
    view.flows
        .iter()
        .filter_map(|flow| rule(view, flow))
        .collect()
}

/// A detector that concerns every flow.
fn any(_: &FlowView<'_>) -> bool {
    true
}

/// A detector that concerns flows of TFRC.
fn tfrc(flow: &FlowView<'_>) -> bool {
    flow.is_tfrc()
}

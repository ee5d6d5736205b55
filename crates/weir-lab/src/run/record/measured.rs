//! Flows measured on a real path, in the form of a run: with the same columns and the same summary.
//!
//! One end of a connection has less information than a simulator. At the sender the controller's
//! trace is known; throughput and goodput are those of sent data, and only losses that its
//! transport detected (CCID 2) are counted. At the receiver there is no trace; received data is
//! exact, and sent data is the sum of received and lost data. The path is unknown: the scenario has
//! a link with the measured throughput as its rate and half the minimum round-trip time as its
//! delay, so that the run can be read and compared with a simulation.
//!
//! Does not model: the coefficient of variation of the goodput, and links.

use super::flow_tables::WriteTrace;
use super::recorder::{FLOW_EVENTS, Recorder, SENDER_EVENTS};
use crate::run::{
    FlowSummary, FlowTrace, RUN_FORMAT, Retransmissions, RunOptions, RunOutput, RunSummary,
    Summary, TraceLevel,
};
use crate::scenario::{self, Override, Scenario, ScenarioError};
use crate::summary::{FlowStatistics, LossFinder};
use std::fmt::Write as _;
use weir_proto::endpoint::Statistics;
use weir_proto::event::{Event, EventMask, EventSource, Probe};
use weir_proto::packet::FlowId;
use weir_proto::time::{Duration, Instant};

/// The comment at the head of the scenario of a measured run.
pub const MEASURED_NOTE: &str = "measured on the wire, not simulated. The path is unknown: the \
    link's rate is what went\nthrough, its delay half of the smallest round-trip time.";

/// The build in the summary of a measured run.
const MEASURED_BY: &str = concat!("weir ", env!("CARGO_PKG_VERSION"), ", measured on the wire");

const SENDER: EventSource = EventSource(0);
const RECEIVER: EventSource = EventSource(1);

/// Records the events of a sender.
pub struct SenderRecorder {
    recorder: Recorder,
    uses_window: bool,
    full: bool,
}

/// The measured end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredEnd {
    /// The sender.
    Sender,
    /// The receiver.
    Receiver,
}

/// The transport of a measured flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeasuredTransport {
    /// DCCP.
    Dccp {
        /// The requested congestion control: 2, 3 or 4.
        ccid: u8,
        /// The name of TFRC's preset.
        profile: String,
        /// TFRC rules that were set, such as `tfrc.oscillation` to `off`.
        rules: Vec<Override>,
        /// The window controller of CCID 2 at this end.
        controller: &'static str,
        /// Data packets used ECN.
        ecn: bool,
    },
    /// Plain UDP.
    Udp,
    /// Video over RTP.
    Rtp {
        /// RMIN and RMAX of NADA in bits per second.
        rates: [u64; 2],
        /// Media used ECN.
        ecn: bool,
    },
    /// quinn with the controller of this name.
    Quinn(&'static str),
}

/// The measurements at one end of a flow.
pub struct MeasuredFlow {
    /// Its name.
    pub name: String,
    /// The measured end.
    pub end: MeasuredEnd,
    /// The transport.
    pub transport: MeasuredTransport,
    /// The size of a datagram in octets.
    pub packet: u32,
    /// The rate of the application; `None` for as much as congestion control allows.
    pub rate_bps: Option<f64>,
    /// The time from the opening of the connection to its end.
    pub duration: Duration,
    /// The counters of this end.
    pub statistics: Statistics,
    /// Octets of application data sent by this end.
    pub payload_sent: u64,
    /// Octets of application data received by the receiver, if this end knows.
    pub payload_delivered: Option<u64>,
    /// The events of the sender.
    pub events: Option<SenderRecorder>,
}

impl SenderRecorder {
    /// The recorded kinds of events.
    pub const EVENTS: EventMask = SENDER_EVENTS.union(EventMask::WRITE).union(FLOW_EVENTS);

    /// A recorder for the flow of this name.
    pub fn new(name: &str) -> Self {
        Self::after(name, Duration::ZERO)
    }

    /// A recorder whose statistics begin after the warm-up.
    pub fn after(name: &str, warmup: Duration) -> Self {
        let options = RunOptions {
            trace: TraceLevel::Full,
            ..RunOptions::default()
        };
        let mut recorder = Recorder::new(&options, Instant::ZERO + warmup);
        recorder.add_flow((FlowId(0), name), [SENDER, RECEIVER], WriteTrace::On);
        Self {
            recorder,
            uses_window: false,
            full: false,
        }
    }

    /// Records an event at this time since the opening of the connection.
    pub fn record(&mut self, at: Duration, event: &Event) {
        self.uses_window |= matches!(event, Event::Window(_));
        self.full |= self.recorder.too_many_rows().is_some();
        if !self.full {
            self.recorder.record(Instant::ZERO + at, SENDER, event);
        }
    }

    /// True if later events were dropped for lack of space.
    pub const fn is_full(&self) -> bool {
        self.full
    }

    /// The summary and the traces of the flow between two moments, from the counters of its sender
    /// and its receiver at each.
    pub fn between(
        mut self,
        moments: [Duration; 2],
        counters: [[Statistics; 2]; 2],
    ) -> (FlowSummary, Vec<FlowTrace>) {
        let [from, until] = moments;
        let [before, after] = counters.map(|ends| FlowStatistics::new(ends, LossFinder::Sender));
        let (rtts, rate) = self.recorder.distributions(0, Instant::ZERO + until);
        let summary = FlowSummary {
            rtt_s: rtts.summary(),
            rate_bps: rate.summary(),
            retransmissions: Some(Retransmissions::between(&before.sender, &after.sender)),
            ..FlowSummary::between(&before, &after, until.saturating_sub(from))
        };
        (summary, self.recorder.finish().0)
    }
}

/// Combines these flows into a run, in which they start together.
///
/// # Errors
/// If the flows do not form a valid scenario, such as two flows with the same name.
pub fn measured_run(flows: Vec<MeasuredFlow>) -> Result<RunOutput, ScenarioError> {
    let duration = flows.iter().map(|flow| flow.duration).max();
    let duration = duration.unwrap_or_default();
    let mut lines = String::new();
    let mut summary = Summary::default();
    let (mut traces, mut overrides) = (Vec::new(), Vec::new());
    let mut rtt_s = f64::INFINITY;
    for mut flow in flows {
        let mut result = flow.summary();
        if let Some(mut live) = flow.events.take() {
            if let MeasuredTransport::Dccp { ccid, rules, .. } = &mut flow.transport
                && live.uses_window
            {
                // The peer supports CCID 2 only.
                *ccid = 2;
                rules.clear();
            }
            let end = Instant::ZERO + flow.duration;
            let (rtts, rate) = live.recorder.distributions(0, end);
            result.rtt_s = rtts.summary();
            result.rate_bps = rate.summary();
            result.bound_share = live.recorder.bound_share(0, end);
            let (trace, _, _) = live.recorder.finish();
            traces.extend(trace);
        }
        let smallest = result.rtt_s.map(|rtt| rtt.min);
        let smoothed = flow.statistics.smoothed_rtt.as_secs_f64();
        let smallest = smallest.or((smoothed > 0.0).then_some(smoothed));
        rtt_s = smallest.map_or(rtt_s, |rtt| rtt_s.min(rtt));
        flow.write_toml(&mut lines);
        overrides.extend(flow.rules());
        summary.flows.insert(flow.name, result);
    }
    let rates = summary.flows.values().map(|flow| flow.throughput_bps);
    let rate = rates.sum::<f64>();
    let text = scenario_text(duration, rate, rtt_s, &lines);
    let scenario = scenario::parse_with(&text, "the measured run", &overrides)?;
    summary.run = run_summary(&scenario, duration);
    Ok(RunOutput {
        delays: None,
        scenario,
        summary,
        flows: traces,
        links: Vec::new(),
        transfers: Vec::new(),
        packets: None,
        stages: None,
    })
}

/// The scenario of flows of which only the ends are known: a link with this rate in bit/s, half of
/// this round-trip time in seconds as its delay, and these entries of flows from `here` to `there`
/// or back.
pub(crate) fn scenario_text(duration: Duration, rate_bps: f64, rtt_s: f64, flows: &str) -> String {
    let delay = if rtt_s.is_finite() { rtt_s / 2.0 } else { 0.0 };
    format!(
        "[run]\nduration = \"{}ns\"\n\n[[link]]\nname = \"path\"\nbetween = [\"here\", \"there\"]\n\
         rate = \"{}bit\"\ndelay = \"{}ns\"\n{flows}",
        duration.as_nanos().max(1),
        rate_bps.max(1000.0).round(),
        (delay * 1e9).round(),
    )
}

/// The head of the summary of a measured run.
pub(crate) fn run_summary(scenario: &Scenario, duration: Duration) -> RunSummary {
    RunSummary {
        format: RUN_FORMAT,
        scenario: scenario.content_hash(),
        seed: scenario.run.seed,
        duration_s: duration.as_secs_f64(),
        build: MEASURED_BY.to_owned(),
        ..RunSummary::default()
    }
}

/// True for the summary of a measured run, which cannot be repeated.
pub fn is_measured(summary: &Summary) -> bool {
    // Only runs in real time have a lateness.
    summary.run.build.ends_with(", measured on the wire") || summary.run.lateness_p99_s.is_some()
}

impl MeasuredFlow {
    fn summary(&self) -> FlowSummary {
        let here = self.statistics;
        let none = Statistics::default();
        let (sender, receiver) = match self.end {
            MeasuredEnd::Sender => {
                let far = Statistics {
                    packets_received: here.packets_sent.saturating_sub(here.packets_lost),
                    bytes_received: here.bytes_sent,
                    payload_received: self.payload_delivered.unwrap_or(self.payload_sent),
                    ..none
                };
                (here, far)
            }
            MeasuredEnd::Receiver => {
                let sent = here.packets_received + here.packets_lost;
                let far = Statistics {
                    packets_sent: sent,
                    data_packets_sent: here.data_packets_received + here.packets_lost,
                    ..none
                };
                (far, here)
            }
        };
        let after = FlowStatistics { sender, receiver };
        FlowSummary {
            retransmissions: self
                .counts_retransmissions()
                .then(|| Retransmissions::between(&none, &sender)),
            ..FlowSummary::between(&FlowStatistics::default(), &after, self.duration)
        }
    }

    /// True if the measured end knows retransmissions and timeouts.
    const fn counts_retransmissions(&self) -> bool {
        let counted = matches!(
            self.transport,
            MeasuredTransport::Dccp { .. } | MeasuredTransport::Rtp { .. }
        );
        counted && matches!(self.end, MeasuredEnd::Sender)
    }

    /// The rules that were set, with their paths in the scenario of the run.
    fn rules(&self) -> impl Iterator<Item = Override> {
        let rules = match &self.transport {
            MeasuredTransport::Dccp { rules, .. } => rules.as_slice(),
            _ => &[],
        };
        rules.iter().map(|rule| Override {
            path: format!("flow.{}.transport.{}", self.name, rule.path),
            value: rule.value.clone(),
        })
    }

    fn write_toml(&self, text: &mut String) {
        let (from, to) = match self.end {
            MeasuredEnd::Sender => ("here", "there"),
            MeasuredEnd::Receiver => ("there", "here"),
        };
        let transport = match &self.transport {
            MeasuredTransport::Dccp {
                ccid: 2,
                controller,
                ecn,
                ..
            } => {
                format!("\"dccp\", ccid = 2, controller = \"{controller}\", ecn = {ecn}")
            }
            MeasuredTransport::Dccp {
                ccid, profile, ecn, ..
            } => {
                format!("\"dccp\", ccid = {ccid}, profile = \"{profile}\", ecn = {ecn}")
            }
            MeasuredTransport::Udp => "\"udp\"".to_owned(),
            MeasuredTransport::Rtp { rates, ecn } => {
                let [least, most] = rates;
                let ecn = if *ecn { "ect0" } else { "off" };
                format!(
                    "\"rtp\", ecn = \"{ecn}\", \
                     nada = {{ min_rate = \"{least}bit\", max_rate = \"{most}bit\" }}"
                )
            }
            MeasuredTransport::Quinn(controller) => {
                format!("\"quinn\", controller = \"{controller}\"")
            }
        };
        let app = match self.rate_bps {
            _ if matches!(self.transport, MeasuredTransport::Rtp { .. }) => "\"video\"".to_owned(),
            Some(rate) => format!("\"cbr\", rate = \"{}bit\"", rate.round()),
            None => "\"bulk\"".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n[[flow]]\nname = \"{}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             transport = {{ kind = {transport} }}\n\
             app = {{ kind = {app}, packet = {} }}\n",
            self.name, self.packet,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;
    use weir_proto::event::{Limit, RateState, WindowState};
    use weir_proto::units::Rate;

    fn flow(name: &str, end: MeasuredEnd, events: Option<SenderRecorder>) -> MeasuredFlow {
        MeasuredFlow {
            name: name.to_owned(),
            end,
            transport: MeasuredTransport::Dccp {
                ccid: 3,
                profile: "rfc5348".to_owned(),
                rules: vec![Override {
                    path: "tfrc.oscillation".to_owned(),
                    value: "off".to_owned(),
                }],
                controller: "rfc4341",
                ecn: true,
            },
            packet: 1000,
            rate_bps: Some(64_000.0),
            duration: Duration::from_secs(2),
            statistics: Statistics {
                packets_sent: 110,
                bytes_sent: 101_000,
                data_packets_sent: 100,
                packets_received: 90,
                bytes_received: 91_000,
                data_packets_received: 88,
                payload_received: 88_000,
                packets_lost: 10,
                loss_events: 4,
                ..Statistics::default()
            },
            payload_sent: 100_000,
            payload_delivered: None,
            events,
        }
    }

    fn rate_state() -> Event {
        Event::Rate(RateState {
            allowed_rate: Rate::from_bps(80_000.0),
            equation_rate: None,
            receive_rate: Rate::from_bps(40_000.0),
            loss_event_rate: 0.0,
            rtt: Duration::from_millis(30),
            smoothed_rtt: Duration::from_millis(30),
            inter_packet_interval: Duration::from_millis(100),
            segment_size: 1000,
            state: "slow_start",
            limit: Limit::SlowStart,
            media: None,
        })
    }

    #[test]
    fn a_sender_has_the_columns_of_a_run_and_counts_what_it_sent() {
        let mut live = SenderRecorder::new("stream");
        live.record(Duration::from_millis(1), &Event::Write(1000));
        live.record(Duration::from_millis(40), &rate_state());
        for millis in [34, 30, 32] {
            let sample = Event::Rtt(Duration::from_millis(millis));
            live.record(Duration::from_millis(50), &sample);
        }
        let run = measured_run(vec![flow("stream", MeasuredEnd::Sender, Some(live))]);
        let run = run.expect("a scenario");
        assert_eq!(run.flows.len(), 1);
        assert_eq!(run.flows[0].table.rows(), 1);
        assert_eq!(run.flows[0].writes.as_ref().map(Table::rows), Some(1));
        let summary = &run.summary.flows["stream"];
        assert_eq!(summary.retransmissions, Some(Retransmissions::default()));
        assert_eq!(summary.goodput_bps, 400_000.0);
        assert_eq!(summary.throughput_bps, 404_000.0);
        assert_eq!((summary.packets_sent, summary.packets_received), (110, 100));
        assert_eq!(summary.rtt_s.map(|rtt| rtt.min), Some(0.030));
        assert_eq!(summary.rate_bps.map(|rate| rate.mean), Some(80_000.0));
        let link = &run.scenario.links[0];
        assert_eq!(link.forward.delay, Duration::from_millis(15).into());
        assert_eq!(link.forward.rate, Some(404_000));
        assert_eq!(run.summary.run.scenario, run.scenario.content_hash());
        let text = run.scenario.resolved_toml();
        assert!(text.contains("oscillation = \"off\""), "{text}");
        assert!(is_measured(&run.summary) && !is_measured(&Summary::default()));
    }

    #[test]
    fn a_receiver_counts_what_it_got_and_missed() {
        let run = measured_run(vec![flow("stream", MeasuredEnd::Receiver, None)]);
        let run = run.expect("a scenario");
        assert!(run.flows.is_empty());
        let summary = &run.summary.flows["stream"];
        // Retransmissions of the sender are not known at this end.
        assert_eq!(summary.retransmissions, None);
        assert_eq!(summary.goodput_bps, 352_000.0);
        assert_eq!((summary.packets_sent, summary.packets_lost), (100, 10));
        assert_eq!(summary.loss_event_rate, 4.0 / 98.0);
        assert_eq!(run.scenario.flows[0].from, "there");
    }

    #[test]
    fn other_transports_are_named_and_a_sender_may_know_what_came() {
        for (transport, named) in [
            (MeasuredTransport::Udp, "kind = \"udp\""),
            (
                MeasuredTransport::Quinn("quinn-cubic"),
                "controller = \"quinn-cubic\"",
            ),
            (
                MeasuredTransport::Rtp {
                    rates: [100_000, 3_000_000],
                    ecn: true,
                },
                "kind = \"video\"",
            ),
        ] {
            let measured = MeasuredFlow {
                transport,
                payload_delivered: Some(90_000),
                ..flow("stream", MeasuredEnd::Sender, None)
            };
            let run = measured_run(vec![measured]).expect("a scenario");
            assert_eq!(run.summary.flows["stream"].goodput_bps, 360_000.0);
            let text = run.scenario.resolved_toml();
            assert!(text.contains(named), "{text}");
        }
    }

    #[test]
    fn what_became_ccid_2_is_said_and_equal_names_are_refused() {
        let mut live = SenderRecorder::new("stream");
        live.record(
            Duration::ZERO,
            &Event::Window(WindowState {
                cwnd: 4380,
                bytes_in_flight: 0,
                partial_bytes_acked: 0,
                ssthresh: None,
                rtt: Duration::ZERO,
                smoothed_rtt: Duration::ZERO,
                state: "slow_start",
                limit: Limit::SlowStart,
                ..WindowState::default()
            }),
        );
        let run = measured_run(vec![flow("stream", MeasuredEnd::Sender, Some(live))]);
        let text = run.expect("a scenario").scenario.resolved_toml();
        assert!(text.contains("ccid = 2"), "{text}");
        let twice = [(); 2].map(|()| flow("stream", MeasuredEnd::Sender, None));
        assert!(measured_run(twice.into()).is_err());
    }
}

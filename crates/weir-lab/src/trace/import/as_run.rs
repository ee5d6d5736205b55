//! An imported trace in the form of a run, so that it can be drawn and written as a run's folder.
//!
//! The path is unknown: the scenario is that of a measured run.

use super::{Imported, ImportedFlow, Vantage};
use crate::run::{FlowSummary, RunOutput, Summary, run_summary, scenario_text};
use crate::scenario::{self, ScenarioError};
use crate::summary::Samples;
use crate::table::Table;
use std::fmt::Write as _;
use weir_proto::time::Duration;

impl Imported {
    /// The trace as a run.
    ///
    /// # Errors
    /// If its flows do not make a valid scenario.
    pub fn into_run(self) -> Result<RunOutput, ScenarioError> {
        let duration_s = self.duration_s.max(1e-9);
        let mut lines = String::new();
        let mut summary = Summary::default();
        let (mut least_rtt, mut rate) = (f64::INFINITY, 0.0);
        let mut flows = Vec::new();
        for mut flow in self.flows {
            let of_flow = summary_of(&flow, self.packets.as_ref(), duration_s);
            // Names of a scenario have letters, digits, `-` and `_`.
            let known = |c: char| {
                if c.is_ascii_alphanumeric() || c == '-' {
                    c
                } else {
                    '_'
                }
            };
            let name: String = flow.trace.name.chars().map(known).take(60).collect();
            let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
            flow.trace.name = if starts { name } else { format!("f{name}") };
            least_rtt = of_flow
                .rtt_s
                .map_or(least_rtt, |rtt| rtt.min.min(least_rtt));
            rate += of_flow.throughput_bps;
            write_flow(&flow, &mut lines);
            summary.flows.insert(flow.trace.name.clone(), of_flow);
            flows.push(flow.trace);
        }
        let duration = Duration::from_secs_f64(duration_s);
        let text = scenario_text(duration, rate, least_rtt, &lines);
        let scenario = scenario::parse(&text, "the imported trace")?;
        summary.run = run_summary(&scenario, duration);
        Ok(RunOutput {
            scenario,
            summary,
            flows,
            links: Vec::new(),
            transfers: Vec::new(),
            delays: None,
            packets: self.packets,
            stages: None,
        })
    }
}

/// What the tables of a flow have of its summary.
fn summary_of(flow: &ImportedFlow, packets: Option<&Table>, duration_s: f64) -> FlowSummary {
    let mut rtts = Samples::default();
    for sample in flow.trace.table.numbers("rtt_s").unwrap_or_default() {
        if sample.is_finite() && *sample >= 0.0 {
            rtts.push((sample * 1e9).round() as u64);
        }
    }
    let count = |column: &str| sum(flow.trace.intervals.as_ref(), column) as u64;
    let goodput = flow
        .delivered_bytes
        .map_or(0.0, |octets| octets * 8.0 / duration_s);
    let (lost, received) = (count("packets_lost"), count("packets_received"));
    let sent = packets.map_or(0, |packets| sent_of(packets, &flow.trace.name));
    FlowSummary {
        goodput_bps: goodput,
        throughput_bps: goodput,
        active_s: duration_s,
        // Beside the receiver, what was sent is what arrived or is missing.
        packets_sent: if sent > 0 { sent } else { lost + received },
        packets_lost: lost,
        packets_received: received,
        rtt_s: rtts.summary(),
        ..FlowSummary::default()
    }
}

/// The packets that a flow sent, by the table of packets.
fn sent_of(packets: &Table, flow: &str) -> u64 {
    let words = |name: &str| packets.words(name).unwrap_or_default().iter();
    let rows = words("event").zip(words("flow"));
    rows.filter(|(event, of)| &***event == "sent" && &***of == flow)
        .count() as u64
}

/// The sum of the values of a column.
fn sum(table: Option<&Table>, column: &str) -> f64 {
    let numbers = table.and_then(|table| table.as_numbers(column));
    let numbers = numbers.as_deref().unwrap_or_default().iter();
    numbers.filter(|number| number.is_finite()).sum()
}

fn write_flow(flow: &ImportedFlow, text: &mut String) {
    let (from, to) = match flow.vantage {
        Vantage::Receiver => ("there", "here"),
        Vantage::Sender | Vantage::Network => ("here", "there"),
    };
    let transport = match flow.transport {
        kind @ ("quic" | "tcp" | "dccp") => kind,
        _ => "udp",
    };
    let app = if transport == "udp" {
        "{ kind = \"cbr\", rate = \"1Mbit\" }"
    } else {
        "{ kind = \"bulk\" }"
    };
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\n[[flow]]\nname = \"{}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
         transport = {{ kind = \"{transport}\" }}\napp = {app}\n",
        flow.trace.name
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::FlowTrace;
    use crate::table::{Column, Values};

    fn column(name: &str, values: Vec<f64>) -> Column {
        Column {
            name: name.to_owned(),
            values: Values::F64(values),
        }
    }

    fn words<const N: usize>(name: &str, words: [&str; N]) -> Column {
        Column {
            name: name.to_owned(),
            values: Values::Text(words.map(Into::into).to_vec()),
        }
    }

    #[test]
    fn an_import_has_the_summary_of_its_tables() {
        let table = Table {
            columns: vec![
                column("time_s", vec![0.0, 1.0, 2.0]),
                column("rtt_s", vec![0.05, f64::NAN, 0.07]),
            ],
        };
        let trace = FlowTrace::new("tcp-1.backward".to_owned(), table);
        let imported = Imported {
            flows: vec![ImportedFlow {
                trace,
                transport: "tcp",
                controller: None,
                vantage: Vantage::Receiver,
                delivered_bytes: Some(1e6),
                counters: None,
                turns: None,
            }],
            duration_s: 2.0,
            packets: Some(Table {
                columns: vec![
                    words("event", ["sent", "lost", "sent", "sent"]),
                    words(
                        "flow",
                        [
                            "tcp-1.backward",
                            "tcp-1.backward",
                            "tcp-1.backward",
                            "tcp-2",
                        ],
                    ),
                ],
            }),
            ..Imported::default()
        };
        let run = imported.into_run().expect("a scenario");
        let flow = &run.summary.flows["tcp-1_backward"];
        assert_eq!(flow.goodput_bps, 4e6);
        assert_eq!(flow.packets_sent, 2);
        assert_eq!(flow.rtt_s.map(|rtt| rtt.min), Some(0.05));
        assert_eq!(run.scenario.flows[0].from, "there");
        assert!(crate::run::is_measured(&run.summary));
    }
}

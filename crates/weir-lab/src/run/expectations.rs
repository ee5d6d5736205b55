//! Compares a run with the expectations of its scenario.

use crate::scenario::{Expectation, Scenario};
use crate::summary::Summary;

/// An expectation with the values found in the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The expectation.
    pub expectation: Expectation,
    /// The values found, by flow, transfers, link or group; `None` if the summary has no such
    /// number, such as the completion time of a flow that did not complete.
    pub found: Vec<(String, Option<f64>)>,
}

impl Judgement {
    /// True if the expectation holds for all parts that the name matches. A missing number fails.
    pub fn holds(&self) -> bool {
        !self.found.is_empty() && self.failing().next().is_none()
    }

    /// The parts for which the expectation does not hold.
    pub fn failing(&self) -> impl Iterator<Item = &(String, Option<f64>)> {
        self.found
            .iter()
            .filter(|(_, found)| !found.is_some_and(|found| self.expectation.holds(found)))
    }
}

/// Judges the summary of a run of this scenario.
pub fn judge(scenario: &Scenario, summary: &Summary) -> Vec<Judgement> {
    let expectations = &scenario.expect.0;
    if expectations.is_empty() {
        return Vec::new();
    }
    // A summary has only names and numbers, which JSON can represent.
    let summary = serde_json::to_value(summary).unwrap_or_default();
    let judge = |expectation: &Expectation| Judgement {
        found: expectation
            .term()
            .map_or_else(Vec::new, |term| term.of(&summary)),
        expectation: expectation.clone(),
    };
    expectations.iter().map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{
        AudioSummary, Distribution, FlowSummary, GroupSummary, LatencyUnderLoad, LinkSummary,
        MeanCov, RequestSummary, Retransmissions, Totals, TransferSummary, VideoSummary,
    };
    use crate::scenario::{self, measures_of};
    use serde_json::Value;
    use weir_proto::event::SndLim;

    const SCENARIO: &str = "expect = [\"flow.*.goodput_bps > 2Mbit\", \
        \"flow.b.completion_time_s < 1s\"]\n[run]\nduration = \"1s\"\n[[link]]\nname = \"wire\"\n\
        between = [\"x\", \"y\"]\ndelay = \"1ms\"\n\
        [[flow]]\nname = \"a\"\nfrom = \"x\"\nto = \"y\"\ntransport = { kind = \"tcp\" }\n\
        [[flow]]\nname = \"b\"\nfrom = \"x\"\nto = \"y\"\ntransport = { kind = \"tcp\" }\n";

    fn flow(goodput_bps: f64, completion_time_s: Option<f64>) -> FlowSummary {
        FlowSummary {
            goodput_bps,
            completion_time_s,
            ..FlowSummary::default()
        }
    }

    #[test]
    fn an_expectation_must_hold_for_all_and_needs_a_number() {
        let scenario = scenario::parse(SCENARIO, "test.toml").unwrap();
        for (flows, expected) in [
            ([flow(3e6, None), flow(4e6, Some(0.5))], [true, true]),
            ([flow(2e6, None), flow(4e6, Some(1.5))], [false, false]),
            ([flow(3e6, None), flow(4e6, None)], [true, false]),
        ] {
            let mut summary = Summary::default();
            for (name, flow) in ["a", "b"].into_iter().zip(flows) {
                summary.flows.insert(name.to_owned(), flow);
            }
            let judged = judge(&scenario, &summary);
            let holds: Vec<_> = judged.iter().map(Judgement::holds).collect();
            assert_eq!(holds, expected, "{judged:?}");
        }
        let written = scenario.resolved_toml();
        assert_eq!(scenario::parse(&written, "again").unwrap(), scenario);
    }

    #[test]
    fn transfers_are_a_part_of_their_own() {
        let arrivals = "arrivals = { kind = \"list\", transfers = [[0, 1000]] }\n";
        let with = |expected: &str| {
            let (_, text) = SCENARIO.split_once('\n').unwrap();
            let text = format!("expect = [\"{expected}\"]\n{text}{arrivals}");
            scenario::parse(&text, "test.toml")
        };
        let scenario = with("transfers.b.completion_time_s.p99 < 1s").unwrap();
        for (p99, holds) in [(0.5, true), (2.0, false)] {
            let mut summary = Summary::default();
            let time = Distribution {
                p99,
                ..Distribution::default()
            };
            let transfers = TransferSummary {
                completion_time_s: Some(time),
                ..TransferSummary::default()
            };
            summary.transfers.insert("b".to_owned(), transfers);
            assert_eq!(judge(&scenario, &summary)[0].holds(), holds);
        }
        let told = |expected: &str| with(expected).unwrap_err().to_string();
        let flow = told("flow.b.one_way_delay_s.p95 < 1s");
        assert!(flow.contains("a flow with arrivals"), "{flow}");
        assert!(flow.contains("transfers.b.MEASURE"), "{flow}");
        assert!(flow.contains("one_way_delay_s.p95"), "{flow}");
        let one = told("transfers.a.completed > 1");
        assert!(one.contains("flow.a.MEASURE"), "{one}");
        assert!(told("transfers.c.completed > 1").contains("no name"));
    }

    /// The paths of all numbers in a value, separated by points.
    fn numbers(value: &Value, path: &str, all: &mut Vec<String>) {
        if value.is_number() {
            all.push(path.trim_start_matches('.').to_owned());
        }
        for (key, inner) in value.as_object().into_iter().flatten() {
            numbers(inner, &format!("{path}.{key}"), all);
        }
    }

    #[test]
    fn the_measures_are_those_of_a_summary() {
        let some = Some(Distribution::default());
        let requests = Some(RequestSummary {
            completion_time_s: some,
            ..RequestSummary::default()
        });
        let shares = SndLim::ALL.map(|bound| (bound.name().to_owned(), 0.0));
        let flow = FlowSummary {
            bound_share: shares.clone().into(),
            completion_time_s: Some(0.0),
            startup_s: Some(0.0),
            recovery_s: Some(0.0),
            retransmissions: Some(Retransmissions::default()),
            rtt_s: some,
            one_way_delay_s: some,
            queueing_delay_s: some,
            jitter_s: some,
            latency_under_load: Some(LatencyUnderLoad::default()),
            rate_bps: Some(MeanCov::default()),
            audio: Some(AudioSummary::default()),
            requests,
            video: Some(VideoSummary {
                frame_delay_s: some,
                ..VideoSummary::default()
            }),
            ..FlowSummary::default()
        };
        let group = GroupSummary {
            bound_share: shares.clone().into(),
            jain_index: Some(1.0),
            completion_time_s: some,
            one_way_delay_s: some,
            queueing_delay_s: some,
            jitter_s: some,
            rtt_s: some,
            requests,
            ..GroupSummary::default()
        };
        let transfers = TransferSummary {
            completion_time_s: some,
            size_bytes: some,
            bound_share: shares.clone().into(),
            rtt_s: some,
            one_way_delay_s: some,
            queueing_delay_s: some,
            jitter_s: some,
            ..TransferSummary::default()
        };
        let totals = Totals {
            bound_share: shares.into(),
            jain_index: Some(1.0),
            ..Totals::default()
        };
        for (part, value) in [
            ("flow", serde_json::to_value(flow)),
            ("transfers", serde_json::to_value(transfers)),
            ("link", serde_json::to_value(LinkSummary::default())),
            ("group", serde_json::to_value(group)),
            ("total", serde_json::to_value(totals)),
        ] {
            let mut found = Vec::new();
            numbers(&value.unwrap(), "", &mut found);
            found.sort();
            let mut known = measures_of(part);
            known.sort_unstable();
            assert_eq!(known, found, "{part}");
        }
    }
}

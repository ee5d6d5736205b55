//! Builds the summary of a completed simulation.

pub(super) mod completion;
pub(super) mod recovery;
pub(super) mod smoothness;
pub(super) mod transfers;

use crate::run::network::{Counters, SimFlow};
use crate::run::simulation::Simulation;
use crate::run::{
    FlowSummary, GroupSummary, LatencyUnderLoad, LinkSummary, RUN_FORMAT, RequestSummary,
    Retransmissions, RunSummary, Summary, Totals, TransferSummary, VideoSummary,
};
use crate::scenario::Flow;
use crate::summary::GroupParts;
use completion::{completed_at, over_at};
use std::collections::BTreeSet;
use transfers::completion_times;
use weir_net::Side;
use weir_proto::time::{Duration, Instant};

/// The time in which a flow was alive, and the duration of its transfer.
struct Lifetime {
    /// Within the measured time.
    active: Duration,
    completion: Option<Duration>,
}

impl Simulation {
    /// The summary of a run that has reached this time, from the counters at the end of the warm-up
    /// and the current ones. `check` is called for each part and may stop, because there may be a
    /// hundred thousand parts.
    ///
    /// # Errors
    /// The error of `check`.
    pub(in crate::run) fn summarise<E>(
        &mut self,
        reached: Duration,
        [before, after]: [&Counters; 2],
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<Summary, E> {
        let (end, warmup) = (Instant::ZERO + reached, self.scenario.run.warmup);
        let hash = self.scenario_hash.take();
        let mut summary = Summary {
            run: RunSummary {
                format: RUN_FORMAT,
                scenario: hash.unwrap_or_else(|| self.scenario.content_hash()),
                seed: self.scenario.run.seed,
                duration_s: reached.as_secs_f64(),
                warmup_s: warmup.as_secs_f64(),
                events: self.events,
                build: concat!("weir ", env!("CARGO_PKG_VERSION")).to_owned(),
                trace_thinned_from_s: self.recorder.thinned_from_s(),
                packets_left_out_from_s: self.recorder.packets_left_out_from_s(),
                ..RunSummary::default()
            },
            drawn: self.scenario.drawn(),
            ..Summary::default()
        };
        for (index, (before, after)) in before.flows.iter().zip(&after.flows).enumerate() {
            check()?;
            let lifetime = self.lifetime(index, end);
            let counted = self.sim.flows[index].counts_retransmissions;
            let flow = FlowSummary {
                completion_time_s: lifetime.completion.map(Duration::as_secs_f64),
                retransmissions: counted
                    .then(|| Retransmissions::between(&before.sender, &after.sender)),
                ..FlowSummary::between(before, after, lifetime.active)
            };
            let flow = self.with_distributions(index, end, flow);
            let name = self.sim.flows[index].name.clone();
            summary.flows.insert(name, flow);
        }
        for (index, (name, _)) in self.sim.links.iter().enumerate() {
            check()?;
            let link = LinkSummary::between(&before.links[index], &after.links[index]);
            summary.links.insert(name.clone(), link);
        }
        let window = reached.saturating_sub(warmup);
        self.sim
            .close_connections(&mut self.recorder.connections, end);
        let mut sets = Vec::new();
        for (index, set) in self.sim.transfers.iter().enumerate() {
            check()?;
            let counters = [&before.transfers[index], &after.transfers[index]];
            let transfers = TransferSummary::of(&self.sim, set, counters, [warmup, window]);
            let delays = self.transfer_delays.get(index).and_then(Option::as_ref);
            let transfers = transfers.with_delays(delays);
            let transfers = transfers.with_senders(self.recorder.connections.of(index));
            sets.push((set.name.clone(), transfers));
        }
        let transfers = sets.iter().map(|(_, transfers)| transfers);
        summary.totals = Totals::of(summary.flows.values(), transfers, window);
        summary.transfers = sets.into_iter().collect();
        for name in self.scenario.group_names() {
            check()?;
            if let Some(group) = self.group(&name, &summary) {
                summary.groups.insert(name, group);
            }
        }
        Ok(summary)
    }

    /// The group of this name over the flows and transfers in the summary; `None` if this part of
    /// the scenario has none of them.
    fn group(&self, name: &str, summary: &Summary) -> Option<GroupSummary> {
        let flows = self.scenario.flows.iter();
        let entries = flows.filter(|flow| flow.group() == Some(name));
        let members: Vec<String> = entries.flat_map(Flow::names).collect();
        let names: BTreeSet<&str> = members.iter().map(String::as_str).collect();
        let sets = self.sim.transfers.iter();
        let sets = sets.filter(|set| names.contains(set.name.as_str()));
        let times = sets.flat_map(|set| completion_times(&self.sim, set, self.scenario.run.warmup));
        let parts = GroupParts {
            flows: members
                .iter()
                .filter_map(|n| summary.flows.get(n))
                .collect(),
            transfers: members
                .iter()
                .filter_map(|n| summary.transfers.get(n))
                .collect(),
            transfer_times: times.collect(),
        };
        let has_members = !(parts.flows.is_empty() && parts.transfers.is_empty());
        has_members.then(|| GroupSummary {
            requests: self.requests_of(&names),
            members: members.clone(),
            ..GroupSummary::of(&parts)
        })
    }

    /// The requests of these flows, combined.
    fn requests_of(&self, names: &BTreeSet<&str>) -> Option<RequestSummary> {
        let members = self.sim.flows.iter();
        let members = members.filter(|flow| names.contains(flow.name.as_str()));
        let report = |flow: &SimFlow| self.sim.network.app_report(flow.id, Side::Receiver);
        let requests = members.flat_map(|flow| report(flow).requests);
        let requests: Vec<_> = requests.copied().collect();
        let from = Instant::ZERO + self.scenario.run.warmup;
        (!requests.is_empty()).then(|| RequestSummary::of(&requests, from))
    }

    /// Adds the distributions measured over packets.
    fn with_distributions(&mut self, index: usize, end: Instant, flow: FlowSummary) -> FlowSummary {
        let id = self.sim.flows[index].id;
        let (rtts, rate) = self.recorder.distributions(index, end);
        let rtt_s = rtts.summary();
        let base = self.sim.network.base_rtt(id);
        let latency = rtt_s.zip(base);
        let delays = self.delays.get(index).and_then(Option::as_ref);
        let report = self.sim.network.app_report(id, Side::Receiver);
        let from = Instant::ZERO + self.scenario.run.warmup;
        FlowSummary {
            latency_under_load: latency.map(|(rtt, base)| LatencyUnderLoad::new(&rtt, base)),
            rtt_s,
            rate_bps: rate.summary(),
            bound_share: self.recorder.bound_share(index, end),
            startup_s: self.recorder.startup(index).map(Duration::as_secs_f64),
            recovery_s: self.smoothness.recovery_s(index),
            goodput_cov: self.smoothness.of_flow(index),
            ended: self.sim.ended(id),
            audio: report.playback.map(|playback| playback.statistics.into()),
            requests: (!report.requests.is_empty())
                .then(|| RequestSummary::of(report.requests, from)),
            video: self
                .sim
                .video(id)
                .map(|(frames, timing)| VideoSummary::of(&frames, [from, end], timing)),
            ..flow.with_delays(delays)
        }
    }

    fn lifetime(&self, index: usize, end: Instant) -> Lifetime {
        let SimFlow { id, start, .. } = self.sim.flows[index];
        let report = |side| self.sim.network.app_report(id, side).statistics;
        let ends = [Side::Sender, Side::Receiver].map(report);
        let from = start.max(Instant::ZERO + self.scenario.run.warmup);
        let until = over_at(&ends).unwrap_or(end);
        Lifetime {
            active: until.min(end).since(from),
            completion: completed_at(&ends).map(|at| at.since(start)),
        }
    }
}

//! A run in pieces: the caller says how far it goes, and when.
//!
//! [`run()`](super::run()) drives it in virtual time from the start to the end. A driver in real
//! time may drive a part of a scenario, only its flows or only its links, whose hosts have ports to
//! an outside network: so the same endpoints and the same links work on real sockets.

use super::columns::{self, GapRow};
use super::recorder::Recorder;
use super::sim_network::{Counters, NetworkSegment, Scope, SimNetwork};
use super::smoothness::Smoothness;
use super::{
    FlowSummary, LinkSummary, RUN_FORMAT, RunError, RunOptions, RunOutput, RunSummary, Summary,
};
use crate::scenario::Scenario;
use crate::table::{Table, TableRecorder};
use std::sync::atomic::Ordering;
use weir_net::{inject, simulate};
use weir_proto::packet::{FlowId, HostId, Packet};
use weir_proto::time::{Duration, Instant};

/// A run is simulated in this many pieces, between which it can be cancelled.
const SLICES: u64 = 1000;

/// A simulation in progress.
pub struct Simulation {
    scenario: Scenario,
    sim: SimNetwork,
    recorder: Recorder,
    smoothness: Smoothness,
    /// At the end of the warm-up, once it is over.
    before: Option<Counters>,
    events: u64,
}

impl Simulation {
    /// Builds the simulation at time zero.
    ///
    /// # Errors
    /// [`RunError::Build`].
    pub fn new(
        scenario: &Scenario,
        options: &RunOptions<'_>,
        scope: Scope,
    ) -> Result<Self, RunError> {
        let mut sim = SimNetwork::build(scenario, scope, options)?;
        let mut recorder = Recorder::new(options, Instant::ZERO + scenario.run.warmup);
        sim.listen(&mut recorder);
        let window = scenario.run.duration.saturating_sub(scenario.run.warmup);
        let smoothness = Smoothness::new(sim.flows.len(), window);
        Ok(Self {
            scenario: scenario.clone(),
            sim,
            recorder,
            smoothness,
            before: None,
            events: 0,
        })
    }

    /// When the run ends.
    pub fn end(&self) -> Instant {
        Instant::ZERO + self.scenario.run.duration
    }

    /// Simulates up to and including `until`, at most to the end.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn advance(&mut self, options: &RunOptions<'_>, until: Instant) -> Result<(), RunError> {
        let (until, end) = (until.min(self.end()), self.end());
        let warmup = Instant::ZERO + self.scenario.run.warmup;
        if self.before.is_none() && warmup == Instant::ZERO {
            // Nothing has happened yet: what happens at time zero counts.
            self.begin_statistics();
        }
        loop {
            let now = self.sim.network.now();
            if self.before.is_none() {
                self.simulate_to(options, warmup.min(until))?;
                if until < warmup {
                    return Ok(());
                }
                self.begin_statistics();
            } else if now >= end {
                return Ok(());
            } else {
                let next = self.smoothness.next(now, warmup).unwrap_or(end).min(end);
                self.simulate_to(options, next.min(until))?;
                if next > until {
                    return Ok(());
                }
                self.smoothness
                    .sample(next.since(warmup), self.sim.delivered());
            }
            if self.sim.network.now() >= until {
                return Ok(());
            }
        }
    }

    /// The warm-up is over.
    fn begin_statistics(&mut self) {
        self.before = Some(self.sim.counters());
        self.smoothness.sample(Duration::ZERO, self.sim.delivered());
    }

    fn simulate_to(&mut self, options: &RunOptions<'_>, until: Instant) -> Result<(), RunError> {
        let end = self.end();
        let slice = Duration::from_nanos((end.as_nanos() / SLICES).max(1));
        let mut at = self.sim.network.now();
        let hundredth = |at: Instant| at.as_nanos() / (end.as_nanos() / 100).max(1);
        loop {
            let before = at;
            at = (at + slice).min(until);
            let counters = simulate(&mut self.sim.network, at, &mut self.recorder)
                .map_err(|stuck| RunError::Stuck(stuck.to_string()))?;
            self.events += counters.events;
            if let Some(fault) = self.sim.fault.take() {
                return Err(RunError::Codec(fault));
            }
            if let Some(rows) = self.recorder.too_many_rows() {
                return Err(RunError::TooMuchTrace(rows));
            }
            if options
                .cancel
                .is_some_and(|flag| flag.load(Ordering::Relaxed))
            {
                return Err(RunError::Cancelled(at));
            }
            if let Some(progress) = options.progress
                && hundredth(at) != hundredth(before)
            {
                progress(at, end);
            }
            if at >= until {
                return Ok(());
            }
        }
    }

    /// Injects a packet from the outside network, at the present time of the simulation.
    ///
    /// # Errors
    /// [`RunError::Stuck`].
    pub fn inject(&mut self, packet: Packet) -> Result<(), RunError> {
        inject(&mut self.sim.network, packet, &mut self.recorder)
            .map_err(|stuck| RunError::Stuck(stuck.to_string()))
    }

    /// The next packet for the outside network, and the host that it leaves.
    pub fn poll_port(&mut self) -> Option<(HostId, Packet)> {
        self.sim.network.poll_port()
    }

    /// When the next event is due.
    pub fn next_event(&mut self) -> Option<Instant> {
        self.sim.network.next_event()
    }

    /// Of [`Scope::Links`]: each link and medium with its ends.
    pub fn segments(&self) -> &[NetworkSegment] {
        &self.sim.segments
    }

    /// Of [`Scope::Flows`]: each flow with its sender's and its receiver's host. Hosts are numbered
    /// as in the scenario.
    pub fn flow_ends(&self) -> Vec<(FlowId, HostId, HostId)> {
        let ends = |id: FlowId| {
            let (source, target) = self.sim.network.ends_of_flow(id);
            (id, source, target)
        };
        self.sim.flows.iter().map(|flow| ends(flow.id)).collect()
    }

    /// The result. A run that is ended early counts the time until then.
    pub fn finish(mut self) -> RunOutput {
        let end = self.sim.network.now().min(self.end());
        let reached = end.since(Instant::ZERO);
        let window = reached.saturating_sub(self.scenario.run.warmup);
        let after = self.sim.counters();
        let before = self.before.take();
        let before = before.unwrap_or_else(|| self.sim.counters());
        let mut summary = Summary {
            run: RunSummary {
                format: RUN_FORMAT,
                scenario: self.scenario.content_hash(),
                seed: self.scenario.run.seed,
                duration_s: reached.as_secs_f64(),
                warmup_s: self.scenario.run.warmup.as_secs_f64(),
                events: self.events,
                build: concat!("weir ", env!("CARGO_PKG_VERSION")).to_owned(),
                ..RunSummary::default()
            },
            drawn: self.scenario.drawn(),
            ..Summary::default()
        };
        let mut gaps = Vec::new();
        for (index, flow) in self.sim.flows.iter().enumerate() {
            let playback = self.sim.playback(flow.id);
            let (rtts, rate) = self.recorder.distributions(index, end);
            let result = FlowSummary {
                rtt_s: rtts.summary(),
                rate_bps: rate.summary(),
                bound_share: self.recorder.bound_share(index, end),
                goodput_cov: self.smoothness.of_flow(index),
                ended: self.sim.ended(flow.id),
                audio: playback.as_ref().map(|playback| playback.statistics.into()),
                ..FlowSummary::between(&before.flows[index], &after.flows[index], window)
            };
            summary.flows.insert(flow.name.clone(), result);
            gaps.push(playback.map(|playback| gap_table(&playback.gaps)));
        }
        for (index, (name, _)) in self.sim.links.iter().enumerate() {
            let link = LinkSummary::between(&before.links[index], &after.links[index]);
            summary.links.insert(name.clone(), link);
        }
        let (mut flows, links, packets) = self.recorder.finish();
        for (flow, gaps) in flows.iter_mut().zip(gaps) {
            flow.gaps = gaps;
        }
        RunOutput {
            scenario: self.scenario,
            summary,
            flows,
            links,
            packets,
        }
    }
}

fn gap_table(gaps: &[(Instant, Duration)]) -> Table {
    let mut table = TableRecorder::new(columns::GAP);
    let mut silence = Duration::ZERO;
    for &(at, length) in gaps {
        silence += length;
        table.push(&GapRow {
            at,
            length,
            silence,
        });
    }
    table.finish()
}

//! A run in pieces: somebody else says how far it goes, and when.
//!
//! [`run()`](super::run()) drives it in virtual time from the start to the end. A driver in real
//! time may drive a part of a scenario, only its flows or only its links, whose hosts have ports
//! to a network outside: that is how the same endpoints and the same links work on real sockets.

use super::build::{Counters, SimNetwork};
use super::recorder::Recorder;
use super::smoothness::Smoothness;
use super::{FlowSummary, LinkSummary, RunError, RunOptions, RunOutput, RunSummary, Summary};
use super::{network_segment::NetworkSegment, tables};
use crate::scenario::Scenario;
use std::sync::atomic::Ordering;
use weir_net::{inject, simulate};
use weir_proto::packet::{FlowId, HostId, Packet};
use weir_proto::time::{Duration, Instant};

/// A run is simulated in so many pieces, between which it can be cancelled.
const SLICES: u64 = 1000;

/// How much of a scenario a run holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of it: nothing comes in or goes out.
    Whole,
    /// The flows. Each host has a port; packets are octets, as a socket takes them.
    Flows,
    /// The links and media, each apart: every end of one has a host and a port of its own. Token
    /// buckets are left out, for a kernel to have, except those of links that change.
    Links,
    /// The hosts, links and media as one network. Each host has a port.
    Network,
}

/// A run under way.
pub struct Simulation {
    scenario: Scenario,
    network: SimNetwork,
    recorder: Recorder,
    smoothness: Smoothness,
    /// At the end of the warm-up, once it is over.
    before: Option<Counters>,
    events: u64,
}

impl Simulation {
    /// Builds the run; nothing has happened yet.
    ///
    /// # Errors
    /// [`RunError::Build`].
    pub fn new(
        scenario: &Scenario,
        options: &RunOptions<'_>,
        part: Scope,
    ) -> Result<Self, RunError> {
        let mut network = SimNetwork::build(scenario, part, options)?;
        let mut recorder = Recorder::new(options, Instant::ZERO + scenario.run.warmup);
        network.listen(&mut recorder);
        let window = scenario.run.duration.saturating_sub(scenario.run.warmup);
        let smoothness = Smoothness::new(network.flow_count(), window);
        Ok(Self {
            scenario: scenario.clone(),
            network,
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

    /// Goes on up to and including `until`, at most to the end.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn advance(&mut self, options: &RunOptions<'_>, until: Instant) -> Result<(), RunError> {
        let (until, end) = (until.min(self.end()), self.end());
        let warmup = Instant::ZERO + self.scenario.run.warmup;
        loop {
            let now = self.network.network.now();
            if self.before.is_none() {
                self.simulate_to(options, warmup.min(until))?;
                if until < warmup {
                    return Ok(());
                }
                self.before = Some(self.network.counters());
                self.smoothness.sample(&self.network, Duration::ZERO);
            } else if now >= end {
                return Ok(());
            } else {
                let next = self.smoothness.next(now, warmup).unwrap_or(end).min(end);
                self.simulate_to(options, next.min(until))?;
                if next > until {
                    return Ok(());
                }
                self.smoothness.sample(&self.network, next.since(warmup));
            }
            if self.network.network.now() >= until {
                return Ok(());
            }
        }
    }

    fn simulate_to(&mut self, options: &RunOptions<'_>, until: Instant) -> Result<(), RunError> {
        let end = self.end();
        let slice = Duration::from_nanos((end.as_nanos() / SLICES).max(1));
        let mut at = self.network.network.now();
        let hundredth = |at: Instant| at.as_nanos() / (end.as_nanos() / 100).max(1);
        loop {
            let before = at;
            at = (at + slice).min(until);
            let counters = simulate(&mut self.network.network, at, &mut self.recorder)
                .map_err(|stuck| RunError::Stuck(stuck.to_string()))?;
            self.events += counters.events;
            if let Some(fault) = self.network.codec_fault() {
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

    /// A packet comes in from outside, at the time up to which the run has come.
    ///
    /// # Errors
    /// [`RunError::Stuck`].
    pub fn inject(&mut self, packet: Packet) -> Result<(), RunError> {
        inject(&mut self.network.network, packet, &mut self.recorder)
            .map_err(|stuck| RunError::Stuck(stuck.to_string()))
    }

    /// The next packet that goes outside, and the host that it leaves.
    pub fn poll_port(&mut self) -> Option<(HostId, Packet)> {
        self.network.network.poll_port()
    }

    /// When the next event is due.
    pub fn next_event(&mut self) -> Option<Instant> {
        self.network.network.next_event()
    }

    /// Of [`Scope::Links`]: where each link and medium lies.
    pub fn segments(&self) -> &[NetworkSegment] {
        self.network.segments()
    }

    /// Of [`Scope::Flows`]: each flow, and the places of its hosts in the scenario, which are
    /// their numbers here.
    pub fn flow_ends(&self) -> Vec<(FlowId, HostId, HostId)> {
        self.network.flow_ends()
    }

    /// What the run has come to. One that is ended early counts the time that it had.
    pub fn finish(mut self) -> RunOutput {
        let end = self.network.network.now().min(self.end());
        let reached = end.since(Instant::ZERO);
        let window = reached.saturating_sub(self.scenario.run.warmup);
        let after = self.network.counters();
        let before = self.before.take();
        let before = before.unwrap_or_else(|| self.network.counters());
        let mut summary = Summary {
            run: RunSummary {
                scenario: self.scenario.content_hash(),
                seed: self.scenario.run.seed,
                duration_s: reached.as_secs_f64(),
                warmup_s: self.scenario.run.warmup.as_secs_f64(),
                events: self.events,
                build: concat!("weir ", env!("CARGO_PKG_VERSION")).to_owned(),
                wall_s: None,
                lateness_p99_s: None,
            },
            ..Summary::default()
        };
        for (index, name) in self.network.flow_names().iter().enumerate() {
            let (before, after) = (&before.flows[index], &after.flows[index]);
            let mut flow = FlowSummary::between(before, after, window);
            let (rtts, rate) = self.recorder.distributions(index, end);
            flow.rtt_s = rtts.summary();
            flow.rate_bps = rate.summary();
            flow.goodput_cov = self.smoothness.of_flow(index);
            flow.ended = self.network.ended(index);
            summary.flows.insert(name.clone(), flow);
        }
        for (index, name) in self.network.link_names().iter().enumerate() {
            let link = LinkSummary::between(&before.links[index], &after.links[index]);
            summary.links.insert(name.clone(), link);
        }
        let (mut flows, links, packets) = self.recorder.finish();
        for (index, name) in self.network.flow_names().iter().enumerate() {
            let Some(playback) = self.network.playback(index) else {
                continue;
            };
            if let Some(summary) = summary.flows.get_mut(name) {
                summary.audio = Some(playback.statistics.into());
            }
            if let Some(flow) = flows.get_mut(index) {
                flow.gaps = Some(tables::gaps(&playback.gaps));
            }
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

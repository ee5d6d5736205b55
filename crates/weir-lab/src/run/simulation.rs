//! A run in steps: the caller decides how far and when it advances.
//!
//! [`run()`](crate::run::run()) advances it in virtual time from the start to the end. A driver in
//! real time may advance a part of a scenario, only its flows or only its links, whose hosts have
//! ports to an outside network, so that the same endpoints and links work with real sockets.

use crate::run::columns::delay::delay_table;
use crate::run::columns::frame::frame_table;
use crate::run::columns::request::request_table;
use crate::run::columns::{self, GapRow};
use crate::run::live::{LiveView, SHOWN};
use crate::run::network::{Counters, NetworkSegment, Scope, SimNetwork};
use crate::run::process_limits::ProcessLimits;
use crate::run::record::intervals::Intervals;
use crate::run::record::recorder::Recorder;
use crate::run::summarise::smoothness::Smoothness;
use crate::run::summarise::transfers::transfer_table;
use crate::run::{RunError, RunOptions, RunOutput, TraceLevel, TransferTrace};
use crate::scenario::Scenario;
use crate::table::{Table, TableRecorder};
use std::convert::Infallible;
use std::sync::atomic::Ordering;
use weir_net::{DelayStatistics, Horizon, Side, inject, simulate_to};
use weir_proto::packet::{FlowId, HostId, Packet};
use weir_proto::time::{Duration, Instant};

/// The number of slices of a run, between which it can be cancelled.
const SLICES: u64 = 1000;
/// The number of parts of the summary, flows or links, after which the run checks for cancellation.
const PARTS_BETWEEN_CHECKS: u32 = 256;
/// The maximum number of events of a slice, so that a slow run can be cancelled too.
const EVENTS_OF_A_SLICE: u64 = 50_000;

/// A simulation in progress.
pub struct Simulation {
    pub(in crate::run) scenario: Scenario,
    /// As in [`RunOptions`].
    pub(in crate::run) scenario_hash: Option<String>,
    pub(in crate::run) sim: SimNetwork,
    pub(in crate::run) recorder: Recorder,
    pub(in crate::run) smoothness: Smoothness,
    /// Whether the trace is full and of all flows.
    full: bool,
    /// Present with a full trace, and with an observer.
    intervals: Option<Intervals>,
    live: Option<LiveView>,
    /// As in [`RunOptions`].
    traced_flow: Option<String>,
    measures_delays: bool,
    /// The counters at the end of the warm-up, once it is over.
    before: Option<Counters>,
    /// The counters at the end of the run, once it is reached.
    after: Option<Counters>,
    /// The delays of each flow, once the statistics have ended.
    pub(in crate::run) delays: Vec<Option<DelayStatistics>>,
    /// The delays of each flow with arrivals, likewise.
    pub(in crate::run) transfer_delays: Vec<Option<DelayStatistics>>,
    pub(in crate::run) events: u64,
    /// The pieces that may still be simulated before the caller is asked.
    pieces: u32,
    limits: ProcessLimits,
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
        let limits = ProcessLimits::new(&scenario.run, options.registry.process)?;
        let mut sim = SimNetwork::build(scenario, scope, options)?;
        let mut recorder = Recorder::new(options, Instant::ZERO + scenario.run.warmup);
        sim.listen(&mut recorder);
        let window = scenario.run.duration.saturating_sub(scenario.run.warmup);
        let smoothness = Smoothness::new(sim.flows.len(), window);
        let measures_delays = options.trace > TraceLevel::Counters;
        if measures_delays {
            sim.measure_delays();
        }
        let full = options.trace == TraceLevel::Full && options.traced_flow.is_none();
        let measured = sim.flows.len() + sim.transfers.len();
        Ok(Self {
            traced_flow: options.traced_flow.map(str::to_owned),
            intervals: (full || options.live.is_some()).then(|| {
                let intervals = Intervals::new(&scenario.run, measured);
                intervals.observed(options.live.is_some())
            }),
            full,
            live: options
                .live
                .map(|observer| LiveView::new(observer, Instant::ZERO + scenario.run.duration)),
            measures_delays,
            scenario: scenario.clone(),
            scenario_hash: options.scenario_hash.map(str::to_owned),
            sim,
            recorder,
            smoothness,
            before: None,
            after: None,
            delays: Vec::new(),
            transfer_delays: Vec::new(),
            events: 0,
            pieces: u32::MAX,
            limits,
        })
    }

    /// The end of the run.
    pub fn end(&self) -> Instant {
        Instant::ZERO + self.scenario.run.duration
    }

    /// Simulates up to and including `until`, but not beyond the end, which is not part of the run.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn advance(&mut self, options: &RunOptions<'_>, until: Instant) -> Result<(), RunError> {
        while !self.advance_some(options, until, u32::MAX)? {}
        Ok(())
    }

    /// The virtual time reached.
    pub fn now(&self) -> Instant {
        self.sim.network.now()
    }

    /// Like [`advance`](Self::advance), for at most so many pieces: a piece is a thousandth of the
    /// run, or fifty thousand events. True if the time was reached. A run that is advanced to its
    /// end by any numbers of pieces is the same in every byte; one that is advanced to times
    /// between may begin to thin its trace at another time.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn advance_some(
        &mut self,
        options: &RunOptions<'_>,
        until: Instant,
        pieces: u32,
    ) -> Result<bool, RunError> {
        self.pieces = pieces;
        let (until, end) = (until.min(self.end()), self.end());
        let warmup = Instant::ZERO + self.scenario.run.warmup;
        if self.before.is_none() && warmup == Instant::ZERO {
            // The statistics begin before any event, so that events at time zero count.
            self.begin_statistics();
        }
        while self.after.is_none() {
            if self.pieces == 0 {
                return Ok(false);
            }
            let now = self.sim.network.now();
            let stops = [
                self.before.is_none().then_some(warmup),
                self.smoothness.next(now, warmup),
                self.intervals.as_ref().and_then(|i| i.next(now)),
            ];
            let next = stops.into_iter().flatten().fold(end, Instant::min);
            let arrival = self.sim.next_arrival();
            if let Some(at) = arrival.filter(|&at| at < next && at <= until) {
                if !self.simulate_to(options, before(at))? {
                    return Ok(false);
                }
                self.open_arrivals(options)?;
                continue;
            }
            if next > until {
                return self.simulate_to(options, Horizon::including(until));
            }
            if !self.simulate_to(options, before(next))? {
                return Ok(false);
            }
            self.stop_at(next);
            if next < end {
                self.open_arrivals(options)?;
            }
        }
        Ok(true)
    }

    /// Opens the connections of transfers whose start time has been reached.
    fn open_arrivals(&mut self, options: &RunOptions<'_>) -> Result<(), RunError> {
        let connections = &mut self.recorder.connections;
        self.sim
            .open_arrivals(&self.scenario, options.registry, connections)
    }

    /// Reads the counters that are due at this time.
    fn stop_at(&mut self, at: Instant) {
        let warmup = Instant::ZERO + self.scenario.run.warmup;
        if let Some(intervals) = self.intervals.as_mut().filter(|i| i.end_at(at)) {
            let rows = intervals.end(at, self.sim.intervals());
            if self.full {
                self.recorder.count_rows(rows);
            }
            self.show_live(at);
        }
        if self.before.is_some() {
            let since = at.since(warmup);
            self.smoothness.sample(since, self.sim.delivered());
        } else if at >= warmup {
            self.begin_statistics();
        }
        if at >= self.end() {
            if let Some(intervals) = self.intervals.as_mut().filter(|i| at > i.since()) {
                intervals.end(at, self.sim.intervals());
            }
            self.after = Some(self.end_statistics());
        }
    }

    /// Shows the interval that ends at this time to an observer.
    fn show_live(&mut self, at: Instant) {
        let (Some(live), Some(intervals)) = (&mut self.live, &self.intervals) else {
            return;
        };
        let counters = self.sim.link_counters(SHOWN);
        let names = self.sim.links.iter().map(|(name, _)| name.as_str());
        let links = names.zip(counters.iter().map(|counters| counters.link));
        let flows = self.sim.flows.iter().map(|flow| flow.name.as_str());
        let sets = self.sim.transfers.iter().map(|set| set.name.as_str());
        live.show(at, flows.chain(sets).zip(intervals.last()), links);
    }

    /// Ends the statistics and reads the counters.
    fn end_statistics(&mut self) -> Counters {
        self.delays = self.sim.take_delays();
        self.transfer_delays = self.sim.take_transfer_delays();
        self.sim.counters()
    }

    /// Begins the statistics at the end of the warm-up.
    fn begin_statistics(&mut self) {
        let warmup = Instant::ZERO + self.scenario.run.warmup;
        self.sim.count_loss_events_from(warmup);
        self.before = Some(self.sim.counters());
        if self.measures_delays {
            self.sim.measure_delays();
        }
        self.smoothness.sample(Duration::ZERO, self.sim.delivered());
    }

    /// True if the horizon was reached, false if the pieces are used up.
    fn simulate_to(
        &mut self,
        options: &RunOptions<'_>,
        horizon: Horizon,
    ) -> Result<bool, RunError> {
        let end = self.end();
        let slice = Duration::from_nanos((end.as_nanos() / SLICES).max(1));
        let most = options.max_events.or(self.scenario.run.max_events);
        let most = most.unwrap_or(u64::MAX);
        self.limits.begin();
        let hundredth = |at: Instant| at.as_nanos() / (end.as_nanos() / 100).max(1);
        loop {
            let before = self.sim.network.now();
            let piece = Horizon {
                max_events: EVENTS_OF_A_SLICE.min(most.saturating_sub(self.events)),
                ..horizon.after(before, slice)
            };
            let counters = simulate_to(&mut self.sim.network, piece, &mut self.recorder)
                .map_err(|stuck| RunError::Stuck(stuck.to_string()))?;
            self.events += counters.events;
            let at = counters.now;
            if self.events > most {
                return Err(RunError::TooManyEvents { limit: most, at });
            }
            if let Some(fault) = self.sim.fault.take() {
                return Err(RunError::Codec(fault));
            }
            if let Some(rows) = self.recorder.too_many_rows() {
                return Err(RunError::TooMuchTrace(rows));
            }
            // Checked before the sink, which refuses rows after a cancellation too.
            cancelled(options, at)?;
            if options.sink.is_some_and(|sink| sink.is_broken()) {
                return Err(RunError::TraceNotWritten);
            }
            self.limits.check(at)?;
            if let Some(progress) = options.progress
                && hundredth(at) != hundredth(before)
            {
                progress(at, end);
            }
            self.pieces = self.pieces.saturating_sub(1);
            if counters.finished && piece.until >= horizon.until {
                return Ok(true);
            }
            if self.events >= most {
                return Err(RunError::TooManyEvents { limit: most, at });
            }
            if self.pieces == 0 {
                return Ok(false);
            }
        }
    }

    /// Injects a packet from the outside network at the current time of the simulation. A packet at
    /// the end of the run is ignored.
    ///
    /// # Errors
    /// [`RunError::Stuck`].
    pub fn inject(&mut self, packet: Packet) -> Result<(), RunError> {
        if self.after.is_some() {
            return Ok(());
        }
        inject(&mut self.sim.network, packet, &mut self.recorder)
            .map_err(|stuck| RunError::Stuck(stuck.to_string()))
    }

    /// The next packet for the outside network, and the host that sends it.
    pub fn poll_port(&mut self) -> Option<(HostId, Packet)> {
        self.sim.network.poll_port()
    }

    /// The time of the next event before the end of the run.
    pub fn next_event(&mut self) -> Option<Instant> {
        let next = self.sim.network.next_event();
        let next = next.into_iter().chain(self.sim.next_arrival()).min();
        next.filter(|&at| at < self.end())
    }

    /// The segments of [`Scope::Links`]: each link and medium with its ends.
    pub fn segments(&self) -> &[NetworkSegment] {
        &self.sim.segments
    }

    /// The flows of [`Scope::Flows`], each with its sender's and its receiver's host. Hosts are
    /// numbered as in the scenario.
    pub fn flow_ends(&self) -> Vec<(FlowId, HostId, HostId)> {
        let ends = |id: FlowId| {
            let (source, target) = self.sim.network.ends_of_flow(id);
            (id, source, target)
        };
        self.sim.flows.iter().map(|flow| ends(flow.id)).collect()
    }

    /// The result. For a run that is ended early, time is counted until then.
    pub fn finish(self) -> RunOutput {
        let Ok(output) = self.sum_up(|| Ok::<_, Infallible>(()));
        output
    }

    /// The result, within the limits of the run, because summarising a hundred thousand flows takes
    /// a while.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn finish_within(self, options: &RunOptions<'_>) -> Result<RunOutput, RunError> {
        let (at, mut limits, mut parts) = (self.sim.network.now(), self.limits.clone(), 0_u32);
        limits.begin();
        self.sum_up(|| {
            parts += 1;
            if parts % PARTS_BETWEEN_CHECKS == 1 {
                cancelled(options, at)?;
                limits.check(at)?;
            }
            Ok(())
        })
    }

    /// The table `delays` of all flows and of flows with arrivals.
    fn delay_table(&self) -> Table {
        let flows = self.sim.flows.iter().map(|flow| flow.name.as_str());
        let flows = flows.zip(&self.delays);
        let sets = self.sim.transfers.iter().map(|set| set.name.as_str());
        let all = flows.chain(sets.zip(&self.transfer_delays));
        delay_table(all.map(|(name, delays)| (name, delays.as_ref().map(|delays| &delays.one_way))))
    }

    fn sum_up<E>(mut self, mut check: impl FnMut() -> Result<(), E>) -> Result<RunOutput, E> {
        let end = self.sim.network.now().min(self.end());
        let reached = end.since(Instant::ZERO);
        if let Some(intervals) = self.intervals.as_mut().filter(|i| end > i.since()) {
            intervals.end(end, self.sim.intervals());
        }
        let after = self.after.take();
        let after = after.unwrap_or_else(|| self.end_statistics());
        let before = self.before.take();
        let before = before.unwrap_or_else(|| self.sim.counters());
        let summary = self.summarise(reached, [&before, &after], &mut check)?;
        let delays = self.full.then(|| self.delay_table());
        let stages = self.recorder.finish_stages();
        let (mut flows, links, packets) = self.recorder.finish();
        let full = self.full;
        let intervals = self.intervals.filter(|_| full);
        let mut intervals = intervals.into_iter().flat_map(Intervals::finish);
        for (flow, table) in flows.iter_mut().zip(&mut intervals) {
            flow.intervals = Some(table);
        }
        for (flow, sim_flow) in flows.iter_mut().zip(&self.sim.flows) {
            let report = (self.sim.network).app_report(sim_flow.id, Side::Receiver);
            flow.gaps = report.playback.map(|playback| gap_table(&playback.gaps));
            flow.requests = (!report.requests.is_empty()).then(|| request_table(report.requests));
            let video = self.sim.video(sim_flow.id);
            flow.frames = video.map(|(frames, timing)| frame_table(&frames, timing.deadline));
        }
        if let Some(traced) = self.traced_flow {
            flows.retain(|flow| flow.name == traced);
        }
        let sets = self.sim.transfers.iter().filter(|_| full);
        let transfers = sets.zip(intervals).map(|(set, intervals)| TransferTrace {
            name: set.name.clone(),
            table: transfer_table(&self.sim, set),
            intervals: Some(intervals),
        });
        Ok(RunOutput {
            transfers: transfers.collect(),
            scenario: self.scenario,
            summary,
            flows,
            links,
            delays,
            packets,
            stages,
        })
    }
}

/// # Errors
/// If the run is cancelled.
fn cancelled(options: &RunOptions<'_>, at: Instant) -> Result<(), RunError> {
    let flag = options.cancel;
    if flag.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
        return Err(RunError::Cancelled(at));
    }
    Ok(())
}

/// The horizon up to a time, excluding events at that time, which count from then on.
const fn before(until: Instant) -> Horizon {
    Horizon {
        including: false,
        ..Horizon::including(until)
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

#[cfg(test)]
mod swarm;

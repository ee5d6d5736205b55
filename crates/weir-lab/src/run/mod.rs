//! Runs a scenario in the simulator and collects its trace and summary.
//!
//! [`run()`] is a pure function of the scenario: no clock, no file, no random number that does not
//! come from the scenario's seed. Wall-clock time is the caller's affair.

mod build;
mod codec;
mod endpoints;
mod handshake;
mod recorder;
mod smoothness;
mod statistics;
mod summary;
mod tables;
mod tap;

pub use summary::{
    AudioSummary, Cov, FlowSummary, Frames, Impaired, LinkSummary, QueueBytes, RttSummary,
    RunSummary, Summary,
};
pub use tap::{SharedTap, Tap, TappedPacket, address_of};

use crate::scenario::Scenario;
use crate::trace::Table;
use build::World;
use recorder::Recorder;
use smoothness::Smoothness;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use weir_net::simulate;
use weir_proto::time::{Duration, Instant};

/// How much of a run is kept in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trace {
    /// Counters only: the summary has no round-trip times and no rates of controllers. Fastest.
    Counters,
    /// What the whole summary needs.
    #[default]
    Summary,
    /// Every change of controllers and queues as columns.
    Full,
}

/// What to keep, whom to tell, when to stop.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'a> {
    /// How much is kept.
    pub trace: Trace,
    /// Every packet too, in [`RunOutput::packets`].
    pub packets: bool,
    /// Called about a hundred times with the virtual time reached and the duration.
    pub progress: Option<&'a (dyn Fn(Instant, Instant) + Sync)>,
    /// Set by another thread to end the run early with [`RunError::Cancelled`].
    pub cancel: Option<&'a AtomicBool>,
    /// Sees every packet as the hosts of its ends see it; changes nothing.
    pub tap: Option<&'a SharedTap>,
}

/// What a run gives.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutput {
    /// What was run.
    pub scenario: Scenario,
    /// Its statistics.
    pub summary: Summary,
    /// The traces of flows, in the order of the scenario; empty unless [`Trace::Full`].
    pub flows: Vec<FlowTrace>,
    /// The traces of links, both directions; empty unless [`Trace::Full`].
    pub links: Vec<LinkTrace>,
    /// Every packet at every endpoint and every drop on a link, if it was asked for.
    pub packets: Option<Table>,
}

/// The trace of a flow: a row per change of the sender's controller.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowTrace {
    /// The flow's name.
    pub name: String,
    /// `time_s`, `allowed_rate_bps`, `equation_rate_bps`, `receive_rate_bps`, `loss_event_rate`,
    /// `rtt_s`, `smoothed_rtt_s`, `ipi_s`, `cwnd_bytes`, `bytes_in_flight`,
    /// `partial_bytes_acked`, `ssthresh_bytes`, `segment_bytes`, `state`, `limit`.
    pub table: Table,
    /// For rate controllers, a row per write of the application with the controller's state
    /// before it, which is what Linux's dccp_probe prints: the same columns as far as a rate
    /// controller has them, and `write_bytes`.
    pub writes: Option<Table>,
    /// For audio, a row per gap that the listener heard: `time_s` at which it began, `gap_s`, and
    /// `silence_s`, which sums them up.
    pub gaps: Option<Table>,
}

/// The trace of one direction of a link: a row per change of its queue and per drop or mark.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkTrace {
    /// `NAME` from the first host of `between` to the second, `NAME.backward` the other way;
    /// `NAME.HOST` for a station of an 802.11 medium.
    pub name: String,
    /// `time_s`, `queue_packets`, `queue_bytes`, `drops`, `marks`; the last two count from the
    /// start of the run.
    pub table: Table,
}

/// Why a run gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The scenario cannot be built, although its file is in order.
    Build(String),
    /// Time did not advance.
    Stuck(String),
    /// A packet did not survive being encoded and decoded (`[run] codec = true`), or has no wire
    /// form for a tap.
    Codec(String),
    /// The run was cancelled at this virtual time.
    Cancelled(Instant),
    /// The trace would need more memory than is allowed.
    TooMuchTrace(u64),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Build(message) | Self::Stuck(message) | Self::Codec(message) => {
                f.write_str(message)
            }
            Self::Cancelled(at) => write!(f, "the run was cancelled at {at} s of virtual time"),
            Self::TooMuchTrace(rows) => write!(
                f,
                "the trace has more than {rows} rows; run shorter, or keep only the summary"
            ),
        }
    }
}

impl std::error::Error for RunError {}

/// A run is simulated in so many pieces, between which it can be cancelled.
const SLICES: u64 = 1000;

/// Runs a scenario from its start to its end.
///
/// # Errors
/// See [`RunError`].
pub fn run(scenario: &Scenario, options: &RunOptions<'_>) -> Result<RunOutput, RunError> {
    let warmup = Instant::ZERO + scenario.run.warmup;
    let end = Instant::ZERO + scenario.run.duration;
    let mut world = World::build(scenario, options.tap)?;
    let mut recorder = Recorder::new(options, warmup);
    world.listen(&mut recorder);
    let window = scenario.run.duration.saturating_sub(scenario.run.warmup);
    let mut smoothness = Smoothness::new(world.flow_count(), window);
    let mut events = simulate_to(&mut world, &mut recorder, (options, end), warmup)?;
    let before = world.counters();
    smoothness.sample(&world, Duration::ZERO);
    let mut at = warmup;
    while at < end {
        at = smoothness.next(at, warmup).unwrap_or(end).min(end);
        events += simulate_to(&mut world, &mut recorder, (options, end), at)?;
        smoothness.sample(&world, at.since(warmup));
    }
    let after = world.counters();
    let mut summary = Summary {
        run: RunSummary {
            scenario: scenario.content_hash(),
            seed: scenario.run.seed,
            duration_s: scenario.run.duration.as_secs_f64(),
            warmup_s: scenario.run.warmup.as_secs_f64(),
            events,
            build: concat!("weir ", env!("CARGO_PKG_VERSION")).to_owned(),
            wall_s: None,
        },
        ..Summary::default()
    };
    for (index, name) in world.flow_names().iter().enumerate() {
        let mut flow = FlowSummary::between(&before.flows[index], &after.flows[index], window);
        let (rtts, rate) = recorder.distributions(index, end);
        flow.rtt_s = rtts.summary();
        flow.rate_bps = rate.summary();
        flow.goodput_cov = smoothness.of_flow(index);
        summary.flows.insert(name.clone(), flow);
    }
    for (index, name) in world.link_names().iter().enumerate() {
        let link = LinkSummary::between(&before.links[index], &after.links[index]);
        summary.links.insert(name.clone(), link);
    }
    let (mut flows, links, packets) = recorder.finish();
    for (index, name) in world.flow_names().iter().enumerate() {
        let Some((audio, gaps)) = world.audio(index) else {
            continue;
        };
        if let Some(summary) = summary.flows.get_mut(name) {
            summary.audio = Some(audio.into());
        }
        if let Some(flow) = flows.get_mut(index) {
            flow.gaps = Some(tables::gaps(&gaps));
        }
    }
    Ok(RunOutput {
        scenario: scenario.clone(),
        summary,
        flows,
        links,
        packets,
    })
}

/// Simulates up to `until`; returns the number of events.
fn simulate_to(
    world: &mut World,
    recorder: &mut Recorder,
    (options, end): (&RunOptions<'_>, Instant),
    until: Instant,
) -> Result<u64, RunError> {
    let slice = Duration::from_nanos((end.as_nanos() / SLICES).max(1));
    let mut events = 0;
    let mut at = world.topology.now();
    let hundredth = |at: Instant| at.as_nanos() / (end.as_nanos() / 100).max(1);
    loop {
        let before = at;
        at = (at + slice).min(until);
        let counters = simulate(&mut world.topology, at, recorder)
            .map_err(|stuck| RunError::Stuck(stuck.to_string()))?;
        events += counters.events;
        if let Some(fault) = world.codec_fault() {
            return Err(RunError::Codec(fault));
        }
        if let Some(rows) = recorder.too_many_rows() {
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
            return Ok(events);
        }
    }
}

#[cfg(test)]
mod audio_tests;
#[cfg(test)]
mod equation_tests;
#[cfg(test)]
mod link_tests;
#[cfg(test)]
mod tests;

//! A scenario in network namespaces: the laboratory's endpoints and links, driven in real time by
//! the driver of weir-wire. This and the emulation are the only modules that use both crates.

use crate::capture::PacketCapture;
use crate::exit::Failure;
use crate::foreign;
use crate::port_delays::PortDelays;
use crate::terminal;
use indicatif::ProgressBar;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use weir_lab::fault::{caught, joined};
use weir_lab::run::{LiveObserver, LiveState, NetworkSegment, SegmentShaper};
use weir_lab::run::{RunError, RunOptions, RunOutput, Scope, Simulation, TraceLevel};
use weir_lab::scenario::{Host, Link, Scenario, Transport};
use weir_lab::trace::pcapng::Interface;
use weir_proto::packet::{FlowId, HostId, Packet};
use weir_proto::time::{Duration, Instant};
use weir_wire::realtime::{Lateness, PortIo, RealtimeNetwork, drive};
use weir_wire::testbed::{LinkEnd, ShaperStats, Testbed, TestbedFlow, TestbedLink, TokenBucket};

const OPTIONS: RunOptions<'_> = RunOptions {
    scenario_hash: None,
    trace: TraceLevel::Full,
    traced_flow: None,
    packets: false,
    tap: None,
    progress: None,
    max_events: None,
    cancel: None,
    registry: foreign::registry(),
    sink: None,
    max_rows: None,
    live: None,
    stages: None,
};

/// A part of a scenario, driven in real time.
pub struct RealTimePart {
    /// The part.
    pub simulation: Simulation,
    /// The delays of packets from their entry on, if they are measured here.
    delays: Option<PortDelays>,
}

const UNTRACED: RunOptions<'_> = RunOptions {
    trace: TraceLevel::Counters,
    ..OPTIONS
};

impl RealtimeNetwork for RealTimePart {
    type Error = RunError;

    fn advance(&mut self, now: Instant) -> Result<(), RunError> {
        self.simulation.advance(&OPTIONS, now)
    }
    fn inject(&mut self, mut packet: Packet) -> Result<(), RunError> {
        if self.delays.is_some() {
            PortDelays::entered(self.simulation.now(), &mut packet);
        }
        self.simulation.inject(packet)
    }
    fn poll_port(&mut self) -> Option<(HostId, Packet)> {
        let (host, packet) = self.simulation.poll_port()?;
        if let Some(delays) = &self.delays {
            delays.left(self.simulation.now(), &packet);
        }
        Some((host, packet))
    }
    fn next_event(&mut self) -> Option<Instant> {
        self.simulation.next_event()
    }
}

impl RealTimePart {
    /// Builds a part of a scenario, with a full trace.
    pub fn new(
        scenario: &Scenario,
        part: Scope,
        live: Option<&LiveObserver>,
    ) -> Result<Self, Failure> {
        Self::with(scenario, &RunOptions { live, ..OPTIONS }, part)
    }

    /// The same without a trace, for runs of any duration.
    pub fn untraced(
        scenario: &Scenario,
        part: Scope,
        live: Option<&LiveObserver>,
    ) -> Result<Self, Failure> {
        Self::with(scenario, &RunOptions { live, ..UNTRACED }, part)
    }

    fn with(scenario: &Scenario, options: &RunOptions<'_>, part: Scope) -> Result<Self, Failure> {
        let simulation = Simulation::new(scenario, options, part);
        Ok(Self {
            simulation: simulation.map_err(|e| Failure::Failed(e.to_string()))?,
            delays: None,
        })
    }

    /// Measures the delays of the packets of kernels.
    pub fn measure(&mut self) -> PortDelays {
        self.delays.get_or_insert_default().clone()
    }
}

/// The exit status for errors of weir-wire.
pub fn wire_failure(error: weir_wire::Error) -> Failure {
    match error {
        weir_wire::Error::Privilege(_) | weir_wire::Error::Tool { .. } => {
            Failure::Unavailable(error.to_string())
        }
        error => Failure::Failed(error.to_string()),
    }
}

fn bucket(shaper: SegmentShaper) -> TokenBucket {
    TokenBucket {
        rate: shaper.bucket.rate,
        burst: shaper.bucket.burst,
        limit: shaper.limit,
        peak: shaper
            .bucket
            .peakrate
            .map(|rate| (rate, shaper.bucket.peakmtu)),
        overhead: shaper.bucket.overhead,
    }
}

fn segment(segment: &NetworkSegment) -> TestbedLink {
    let ends = segment.ends.iter().map(|end| LinkEnd {
        host: end.host,
        port: end.port,
        shaper: end.shaper.map(bucket),
    });
    TestbedLink {
        ends: ends.collect(),
        mtu: segment.mtu,
        veth: segment.plain,
    }
}

/// Checks that a testbed can be built; the error states what is missing.
pub fn check() -> Result<(), Failure> {
    Testbed::build(2, Vec::new())
        .map(drop)
        .map_err(with_alternative)
}

/// An error with advice on an alternative.
pub fn with_alternative(error: weir_wire::Error) -> Failure {
    match wire_failure(error) {
        Failure::Unavailable(message) => Failure::Unavailable(format!(
            "{message}; without it, `weir emulate` relays UDP between two ports through the same \
             links, and `weir run` simulates the scenario"
        )),
        failure => failure,
    }
}

/// The UDP port by which other programs identify a transport.
const fn port_of(transport: &Transport) -> u16 {
    match transport {
        Transport::Dccp(_) => weir_wire::DEFAULT_PORT,
        Transport::Quic(_) | Transport::Quinn(_) | Transport::Noq(_) => 443,
        Transport::Rtp(_) | Transport::Tcp(_) | Transport::Udp(_) => 0,
    }
}

/// DCCP and TCP are carried in UDP here, and the MTUs of links are increased by its header; beyond
/// the largest IP packet there is no space for it.
fn check_mtu(scenario: &Scenario) -> Result<(), Failure> {
    const MOST: u32 = u16::MAX as u32 - weir_proto::packet::IpHeader::UDP_OCTETS;
    let longest = |link: &Link| link.forward.mtu.max(link.backward.mtu);
    match scenario.links.iter().find(|link| longest(link) > MOST) {
        Some(link) => Err(Failure::Usage(format!(
            "the link {} has an mtu of {}, expected at most {MOST} in a testbed, where packets \
             have the header of UDP too",
            link.name,
            longest(link)
        ))),
        None => Ok(()),
    }
}

/// A testbed takes the duration of the scenario, which must not exceed its limit.
fn check_time(scenario: &Scenario) -> Result<(), Failure> {
    let run = &scenario.run;
    match run.max_time.filter(|&most| most < run.duration) {
        Some(most) => Err(Failure::Usage(format!(
            "a testbed runs in real time, {} s, and max_time of [run] is {} s",
            run.duration.as_secs_f64(),
            most.as_secs_f64()
        ))),
        None => Ok(()),
    }
}

/// Runs the scenario until its end, or until `stop` is set. `pcap` is the capture file for all
/// sockets; `live` sees the flows together with the links.
pub fn run(
    scenario: &Scenario,
    pcap: Option<&Path>,
    live: Option<&LiveObserver>,
    stop: &AtomicBool,
) -> Result<RunOutput, Failure> {
    check_mtu(scenario)?;
    check_time(scenario)?;
    let parts = live.map(observers_of_parts);
    let [of_flows, of_links] = [0, 1].map(|part| parts.as_ref().map(|parts| &parts[part]));
    let links = RealTimePart::new(scenario, Scope::Links, of_links)?;
    let flows = RealTimePart::new(scenario, Scope::Flows, of_flows)?;
    let segments: Vec<_> = links.simulation.segments().iter().map(segment).collect();
    let mut testbed = Testbed::build(scenario.hosts.len(), segments).map_err(with_alternative)?;
    let ends = flows.simulation.flow_ends();
    let ports = scenario.flows.iter().flat_map(|flow| {
        let port = port_of(&flow.transport);
        flow.names().map(move |_| port)
    });
    let plan = |((flow, from, to), port): ((FlowId, HostId, HostId), u16)| TestbedFlow {
        flow,
        from: from.0 as usize,
        to: to.0 as usize,
        port,
    };
    let plans: Vec<_> = ends.into_iter().zip(ports).map(plan).collect();
    let mut sockets = testbed.sockets(&plans).map_err(wire_failure)?;
    let mut devices = testbed.take_devices();
    let capture = pcap.map(|path| {
        let hosts = scenario.hosts.iter().enumerate();
        let interface = |(number, host): (usize, &Host)| Interface {
            name: host.name.clone(),
            address: Some(testbed.address_of(number)),
        };
        PacketCapture::start(path, hosts.map(interface).collect(), 0)
    });
    let capture = capture.transpose()?;
    if let Some(capture) = &capture {
        sockets.set_tap(&capture.tap());
    }
    let duration = scenario.run.duration;
    let over = AtomicBool::new(false);
    let (flows, links, before) = std::thread::scope(|scope| {
        let emulator = scope.spawn(|| caught(|| drive_part(links, &mut devices, duration, &over)));
        let before = scope.spawn(|| caught(|| follow(scenario, &testbed, live.is_none(), &over)));
        let end = SetAtEnd(&over);
        let flows = drive_part(flows, &mut sockets, duration, stop);
        drop(end);
        (flows, joined(emulator.join()), joined(before.join()))
    });
    let (mut output, late) = flows?;
    let (network, emulator_late) = links??;
    output.links = network.links;
    output.summary.links = network.summary.links;
    output.summary.run.events += network.summary.run.events;
    let before = before?.map_err(wire_failure)?;
    let after = testbed.shaper_stats().map_err(wire_failure)?;
    count_buckets(scenario, &before, &after, &mut output);
    if let Some(capture) = capture {
        capture.finish()?;
    }
    report_lateness(&[late, emulator_late], &mut output);
    Ok(output)
}

/// Observers of the flows and of the links, which are two simulations: the given one sees a state
/// of the flows with the latest one of the links.
pub fn observers_of_parts(live: &LiveObserver) -> [LiveObserver; 2] {
    let latest = Arc::new(Mutex::new(Vec::new()));
    let (live, known) = (Arc::clone(live), Arc::clone(&latest));
    let of_flows: LiveObserver = Arc::new(move |state| {
        let links = known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        live(&LiveState {
            links,
            ..state.clone()
        });
    });
    let of_links: LiveObserver = Arc::new(move |state| {
        let mut latest = latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.clone_from(&state.links);
    });
    [of_flows, of_links]
}

/// Prints how late the events of the parts of a run were, and writes it into its summary.
pub fn report_lateness(parts: &[Lateness], output: &mut RunOutput) {
    let most = |of: fn(&Lateness) -> Duration| parts.iter().map(of).max().unwrap_or_default();
    let (p99, max) = (most(Lateness::p99), most(Lateness::max));
    output.summary.run.lateness_p99_s = Some(p99.as_secs_f64());
    terminal::status(&lateness(p99, max));
    if !parts.iter().all(Lateness::is_trustworthy) {
        terminal::notice("this machine was too busy: the results are not trustworthy");
    }
}

/// Sets a flag when it is dropped, even by a panic: otherwise the other threads would never end.
pub struct SetAtEnd<'a>(pub &'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Shows the progress of a run until it is over. Returns the counters of token buckets at the end
/// of the warm-up, from which all numbers of a summary count.
fn follow(
    scenario: &Scenario,
    testbed: &Testbed,
    shows: bool,
    over: &AtomicBool,
) -> Result<Vec<ShaperStats>, weir_wire::Error> {
    let seconds = scenario.run.duration.as_secs_f64();
    let bar = if shows {
        terminal::progress(seconds.ceil() as u64, "seconds")
    } else {
        ProgressBar::hidden()
    };
    let began = std::time::Instant::now();
    let mut before = None;
    while !over.load(Ordering::Relaxed) {
        let elapsed = began.elapsed().as_secs_f64();
        bar.set_position(elapsed as u64);
        if before.is_none() && elapsed >= scenario.run.warmup.as_secs_f64() {
            before = Some(testbed.shaper_stats()?);
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    bar.finish_and_clear();
    before.map_or_else(|| testbed.shaper_stats(), Ok)
}

/// Drives a part of a scenario in real time to its end.
pub fn drive_part(
    mut part: RealTimePart,
    ports: &mut dyn PortIo,
    duration: Duration,
    stop: &AtomicBool,
) -> Result<(RunOutput, Lateness), Failure> {
    let lateness = drive(&mut part, ports, duration, stop);
    let lateness = lateness.map_err(|error| Failure::Failed(error.to_string()))?;
    Ok((part.simulation.finish(), lateness))
}

/// The lateness of events as text.
pub fn lateness(p99: Duration, max: Duration) -> String {
    let millis = |span: Duration| span.as_secs_f64() * 1e3;
    let (p99, max) = (millis(p99), millis(max));
    format!("events late by {p99:.3} ms (p99), {max:.3} ms (max)")
}

/// Adds the counters of the kernel's token buckets to the summaries of their links.
fn count_buckets(
    scenario: &Scenario,
    before: &[ShaperStats],
    after: &[ShaperStats],
    output: &mut RunOutput,
) {
    let run = &output.summary.run;
    let seconds = (run.duration_s - run.warmup_s).max(1e-9);
    for (old, bucket) in before.iter().zip(after) {
        // Links come first, each with two ends, at which its directions start.
        let Some(link) = scenario.links.get(bucket.link) else {
            continue;
        };
        let [forward, backward] = link.trace_names();
        let (name, direction) = match bucket.end {
            0 => (forward, &link.forward),
            _ => (backward, &link.backward),
        };
        if let (Some(summary), Some(shaper)) =
            (output.summary.links.get_mut(&name), &direction.shaper)
        {
            summary.drops += bucket.drops.saturating_sub(old.drops);
            let bytes = bucket.bytes.saturating_sub(old.bytes);
            let rate = bytes as f64 * 8.0 / seconds;
            summary.utilisation = (rate / shaper.rate as f64).min(1.0);
        }
    }
}

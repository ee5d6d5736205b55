//! A run's packets as a capture file, with an interface for each host at an end of a flow.
//!
//! The folder of a run does not contain the octets of packets. The run is repeated from its
//! scenario, which gives the same packets; comparing the summaries verifies that it is the same
//! run. Times are virtual, starting from zero, which readers show as 1970.

use super::pcapng::{CapturedPacket, Interface, InterfaceId, PcapngWriter};
use super::same_result::is_same_result;
use crate::headers::Direction;
use crate::run::{
    self, RunError, RunOptions, SharedTap, Summary, Tap, TappedPacket, TraceLevel,
    TransportRegistry, address_of,
};
use crate::scenario::Scenario;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use weir_proto::time::{Duration, Instant};

/// Options of a capture.
#[derive(Clone, Copy, Default)]
pub struct CaptureOptions<'a> {
    /// Only packets at this host; at all hosts if absent.
    pub host: Option<&'a str>,
    /// Octets kept of each packet; zero keeps all.
    pub snap_octets: u32,
    /// Called about a hundred times with the virtual time reached and the duration.
    pub progress: Option<&'a (dyn Fn(Instant, Instant) + Sync)>,
    /// Set by another thread to end early.
    pub cancel: Option<&'a AtomicBool>,
    /// Transports implemented outside of this crate.
    pub registry: TransportRegistry<'a>,
}

/// Why a run cannot be captured.
#[derive(Debug, thiserror::Error)]
pub enum RunCaptureError {
    /// The repeated run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The capture cannot be written.
    #[error("cannot write the capture: {0}")]
    Write(#[from] io::Error),
    /// No flow has this host at one of its ends.
    #[error("no flow begins or ends at \"{0}\", expected one of {1}")]
    NoSuchHost(String, String),
    /// The run was measured on the wire, not simulated.
    #[error("the run was measured on the wire, expected a simulated one; capture with --pcap")]
    Measured,
    /// The scenario has changed since the run.
    #[error(
        "the scenario was changed after its run, expected the one that summary.json is of; \
         run it again"
    )]
    Edited,
    /// The summary of the repeated run differs.
    #[error(
        "running the scenario again came to another result than summary.json, which \"{before}\" \
         wrote; this is \"{now}\"; run it again"
    )]
    Different {
        /// The build of the original run.
        before: String,
        /// This build.
        now: String,
    },
}

/// Runs the scenario again and writes the packets at its hosts; returns the number of packets.
///
/// # Errors
/// [`RunCaptureError`]; after an error the file is not the capture of the run.
pub fn capture_run(
    scenario: &Scenario,
    expected: &Summary,
    options: &CaptureOptions<'_>,
    out: impl Write + Send + 'static,
) -> Result<u64, RunCaptureError> {
    if run::is_measured(expected) {
        return Err(RunCaptureError::Measured);
    }
    if scenario.content_hash() != expected.run.scenario {
        return Err(RunCaptureError::Edited);
    }
    let writer = HostsWriter::new(scenario, options, out)?;
    let writer = Arc::new(Mutex::new(writer));
    let tap: SharedTap = writer.clone();
    let run_options = RunOptions {
        trace: TraceLevel::Summary,
        progress: options.progress,
        cancel: options.cancel,
        tap: Some(&tap),
        registry: options.registry,
        ..RunOptions::default()
    };
    let output = run::run(scenario, &run_options)?;
    if !is_same_result(&output.summary, expected) {
        return Err(RunCaptureError::Different {
            before: expected.run.build.clone(),
            now: output.summary.run.build,
        });
    }
    let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(writer.finish()?)
}

/// A packet that is held until no earlier one can follow.
type Waiting = Reverse<(Instant, u64, usize, bool, Box<[u8]>)>;

/// Sorts the packets of all hosts by time and writes them.
struct HostsWriter<W: Write> {
    writer: Option<PcapngWriter<W>>,
    interfaces: BTreeMap<usize, InterfaceId>,
    /// The maximum deviation of calls from the order of times.
    disorder: Duration,
    waiting: BinaryHeap<Waiting>,
    last: Instant,
    packets: u64,
    /// The first error of the output; no packet is written after it.
    fault: Option<io::Error>,
}

impl<W: Write + Send> HostsWriter<W> {
    fn new(
        scenario: &Scenario,
        options: &CaptureOptions<'_>,
        out: W,
    ) -> Result<Self, RunCaptureError> {
        let ends: BTreeSet<&str> = scenario
            .flows
            .iter()
            .flat_map(|flow| [flow.from.as_str(), flow.to.as_str()])
            .collect();
        if let Some(name) = options.host.filter(|name| !ends.contains(name)) {
            let known: Vec<_> = ends.into_iter().collect();
            let (name, known) = (name.to_owned(), known.join(", "));
            return Err(RunCaptureError::NoSuchHost(name, known));
        }
        let application = concat!("weir ", env!("CARGO_PKG_VERSION"));
        let mut writer = PcapngWriter::new(out, application, options.snap_octets)?;
        let mut interfaces = BTreeMap::new();
        let mut disorder = [Duration::ZERO; 2];
        let hosts = || scenario.hosts.iter().enumerate();
        for (number, host) in hosts() {
            let timing = &host.timing;
            disorder = [
                disorder[0].max(timing.transmit_delay),
                disorder[1].max(timing.receive_delay),
            ];
            let name = host.name.as_str();
            if ends.contains(name) && options.host.is_none_or(|only| only == name) {
                let interface = Interface {
                    name: host.name.clone(),
                    address: Some(address_of(number)),
                };
                interfaces.insert(number, writer.add_interface(&interface)?);
            }
        }
        writer.add_names(hosts().map(|(number, host)| (address_of(number), host.name.as_str())))?;
        Ok(Self {
            writer: Some(writer),
            interfaces,
            disorder: disorder[0] + disorder[1],
            waiting: BinaryHeap::new(),
            last: Instant::ZERO,
            packets: 0,
            fault: None,
        })
    }

    /// Writes the packets up to and including this time.
    fn write_until(&mut self, until: Instant) {
        while self.waiting.peek().is_some_and(|next| next.0.0 <= until) {
            let Some(Reverse((at, _, host, outbound, octets))) = self.waiting.pop() else {
                return;
            };
            let (Some(writer), Some(&interface)) = (&mut self.writer, self.interfaces.get(&host))
            else {
                continue;
            };
            let packet = CapturedPacket {
                interface,
                nanos: at.as_nanos(),
                direction: if outbound {
                    Direction::Outbound
                } else {
                    Direction::Inbound
                },
                octets: &octets,
            };
            if let Err(error) = writer.write(&packet) {
                self.fault = Some(error);
                self.writer = None;
            }
        }
    }

    fn finish(&mut self) -> io::Result<u64> {
        self.write_until(Instant::FAR_FUTURE);
        if let Some(error) = self.fault.take() {
            return Err(error);
        }
        if let Some(writer) = self.writer.take() {
            writer.finish()?;
        }
        Ok(self.packets)
    }
}

impl<W: Write + Send> Tap for HostsWriter<W> {
    fn packet(&mut self, packet: &TappedPacket<'_>) {
        if self.writer.is_none() || !self.interfaces.contains_key(&packet.host) {
            return;
        }
        let outbound = packet.direction == Direction::Outbound;
        let octets = packet.octets.into();
        let entry = (packet.at, self.packets, packet.host, outbound, octets);
        self.waiting.push(Reverse(entry));
        self.packets += 1;
        self.last = self.last.max(packet.at);
        // A later packet with exactly this time is written after those that are held.
        let nanos = self.last.as_nanos();
        let settled = nanos.saturating_sub(self.disorder.as_nanos());
        self.write_until(Instant::from_nanos(settled));
    }
}

//! A simulated link between real programs, driven in real time: as a UDP relay between two ports,
//! or in front of a program in a separate network namespace.

use crate::capture::PacketCapture;
use crate::exit::Failure;
use crate::forwarded_signals::ForwardedSignals;
use crate::interrupt::interrupt_flag;
use crate::live_view::LiveView;
use crate::port_delays::PortDelays;
use crate::terminal;
use crate::testbed::{RealTimePart, lateness, wire_failure};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time;
use weir_lab::fault::{caught, joined};
use weir_lab::run::{LiveObserver, RunError, Scope, Summary};
use weir_lab::scenario::Scenario;
use weir_proto::packet::{Body, HostId, Packet};
use weir_proto::time::{Duration, Instant};
use weir_wire::netns::Namespace;
use weir_wire::realtime::{Lateness, PortIo, RealtimeNetwork, TunDevices, UdpRelay, drive};
use weir_wire::testbed::create_tun;
use weir_wire::{DeviceCounters, Direction};

/// A link without packets in transit for this long is idle: its ends had time to respond.
const IDLE: time::Duration = time::Duration::from_millis(100);
/// The time between two states of the live view.
const LIVE_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum time for which a link remains for the last packets of a program.
const DRAIN_TIMEOUT: time::Duration = time::Duration::from_secs(2);
/// The duration of an emulation without a limit: longer than any use, and short enough that sums of
/// times do not overflow.
const YEAR: time::Duration = time::Duration::from_hours(365 * 24);

/// A link to be emulated.
pub struct Emulation {
    /// The network, between the hosts of its first flow, or of its first link if it has no flow.
    pub scenario: Scenario,
    /// The duration; `None` until it is stopped.
    pub time: Option<time::Duration>,
    /// The capture file.
    pub pcap: Option<PathBuf>,
    /// Whether the link is shown while a program uses it.
    pub live: bool,
}

impl Emulation {
    /// The link, and the hosts at its ends.
    fn link(&self, live: Option<&LiveObserver>) -> Result<(RealTimePart, [HostId; 2]), Failure> {
        let mut scenario = self.scenario.clone();
        scenario.run.interval = Some(LIVE_INTERVAL);
        let time = self.time.unwrap_or(YEAR);
        scenario.run.duration = Duration::from_nanos(time.as_nanos() as u64);
        let network = RealTimePart::untraced(&scenario, Scope::Network, live)?;
        let flow = scenario.flows.first().map(|flow| [&flow.from, &flow.to]);
        let link = || Some(scenario.links.first()?.between.each_ref());
        let index = |name: &str| scenario.hosts.iter().position(|host| host.name == name);
        let ends = flow.or_else(link);
        let ends = ends.and_then(|[from, to]| Some([index(from)?, index(to)?]));
        match ends {
            Some(ends) => Ok((network, ends.map(|end| HostId(end as u32)))),
            None => Err(Failure::Failed("the scenario has no flow".to_owned())),
        }
    }

    fn capture(&self, interface: &str) -> Result<Option<PacketCapture>, Failure> {
        let start = |path: &PathBuf| PacketCapture::on_one(path, interface, 0);
        self.pcap.as_ref().map(start).transpose()
    }

    /// The smallest MTU of all links.
    fn mtu(&self) -> Option<u32> {
        let links = self.scenario.links.iter();
        let mtus = links.flat_map(|link| [link.forward.mtu, link.backward.mtu]);
        mtus.min()
    }

    /// Relays datagrams between clients at the address `listen`, by default any port of loopback,
    /// and a server.
    pub fn relay(&self, listen: Option<SocketAddr>, server: SocketAddr) -> Result<(), Failure> {
        let view = LiveView::new();
        let (link, [near, far]) = self.link(Some(&view.observer()))?;
        let loopback = match server {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        };
        let at = listen.unwrap_or(SocketAddr::new(loopback, 0));
        let mut relay = UdpRelay::bind(at, server, near, far)
            .map_err(|error| Failure::Failed(format!("cannot use {at}: {error}")))?;
        let stop = interrupt_flag();
        let capture = self.capture("relay")?;
        if let Some(capture) = &capture {
            relay.set_tap(capture.tap());
        }
        let address = relay.local_address()?;
        terminal::status(&format!("relay at {address} to {server}"));
        let busy = AtomicBool::new(false);
        let driven = drive_link(MonitoredLink { link, busy: &busy }, &mut relay, &stop);
        view.finish();
        sum_up(driven?);
        let longest = relay.longest_packet();
        if let Some(mtu) = self.mtu().filter(|mtu| *mtu < longest) {
            terminal::status(&format!(
                "some packets were too long for the link and dropped: up to {longest} octets with \
                 IP and UDP headers, of which it takes {mtu} (the word mtu allows more)"
            ));
        }
        capture.map_or(Ok(()), PacketCapture::finish)
    }

    /// Runs a program with these arguments in a network namespace behind the link.
    pub fn program(&self, program: &str, arguments: &[String]) -> Result<(), Failure> {
        // Ctrl-C is meant for the program: the program and its link end together.
        interrupt_flag();
        let signals = ForwardedSignals::catch()?;
        let view = self.live.then(LiveView::new);
        let observer = view.as_ref().map(LiveView::observer);
        let (link, ends) = self.link(observer.as_ref())?;
        let mtu = self.scenario.links.first();
        let mtu = mtu.map_or(1500, |link| link.forward.mtu);
        let (access, devices) = AccessLink::create(mtu, ends).map_err(with_alternative)?;
        let [here, there] = access.addresses;
        terminal::status(&format!(
            "{program} is at {there}; this host is {here} to it (WEIR_HOST)"
        ));
        let capture = self.capture(program)?;
        let mut devices: Box<dyn PortIo + Send> = match &capture {
            Some(capture) => Box::new(CapturedDevices { devices, capture }),
            None => Box::new(devices),
        };
        let (stop, busy) = (AtomicBool::new(false), AtomicBool::new(false));
        let link = MonitoredLink { link, busy: &busy };
        let status = std::thread::scope(|scope| {
            let driver = scope.spawn(|| caught(|| drive_link(link, &mut *devices, &stop)));
            let mut command = Command::new(program);
            command.args(arguments).env("WEIR_HOST", here.to_string());
            let status = access.namespace.run(move || {
                let mut child = command.spawn()?;
                signals.forward_to(&child)?;
                child.wait()
            });
            if matches!(status, Ok(Ok(_))) {
                wait_until_idle(&busy);
            }
            stop.store(true, Ordering::Relaxed);
            access.state_drops(program);
            let driven = joined(driver.join())?;
            if let Some(view) = &view {
                view.finish();
            }
            sum_up(driven?);
            status
                .map_err(wire_failure)?
                .map_err(|error| Failure::Usage(format!("cannot start \"{program}\": {error}")))
        })?;
        drop(devices);
        capture.map_or(Ok(()), PacketCapture::finish)?;
        exit_status(program, status)
    }
}

/// What an emulation has measured.
struct Emulated {
    summary: Summary,
    delays: PortDelays,
    /// The names of hosts.
    hosts: Vec<String>,
    late: Lateness,
}

/// Drives a link until it is stopped.
fn drive_link(
    mut link: MonitoredLink<'_>,
    ports: &mut dyn PortIo,
    stop: &AtomicBool,
) -> Result<Emulated, Failure> {
    let delays = link.link.measure();
    let duration = link.link.simulation.end().since(Instant::ZERO);
    let late = drive(&mut link, ports, duration, stop)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let output = link.link.simulation.finish();
    let hosts = output.scenario.hosts.into_iter();
    Ok(Emulated {
        summary: output.summary,
        delays,
        hosts: hosts.map(|host| host.name).collect(),
        late,
    })
}

/// Prints the counters of a link, and the delays of the packets that went over it.
fn sum_up(of: Emulated) {
    let Emulated { hosts, late, .. } = of;
    for ([from, to], delays) in of.delays.take_all() {
        let name = |host: HostId| hosts.get(host.0 as usize).map_or("", String::as_str);
        let millis = |percent| {
            delays
                .one_way
                .percentile(percent)
                .map(|nanos| nanos as f64 / 1e6)
        };
        if let (Some(p50), Some(p95), Some(p99)) = (millis(50), millis(95), millis(99)) {
            terminal::status(&format!(
                "{} to {}: one-way delay {p50:.1} ms (p50), {p95:.1} ms (p95), {p99:.1} ms (p99) \
                 of {} packets",
                name(from),
                name(to),
                delays.one_way.count(),
            ));
        }
    }
    for (name, direction) in of.summary.links {
        terminal::status(&format!(
            "{name}: {} packets dropped, {} marked, queue {:.0} bytes (mean), {} bytes (max)",
            direction.drops, direction.marks, direction.queue_bytes.mean, direction.queue_bytes.max,
        ));
    }
    terminal::status(&lateness(late.p99(), late.max()));
}

/// Waits until no packets are in transit, because a program's last packets, which close its
/// connections, leave after it has ended.
fn wait_until_idle(busy: &AtomicBool) {
    let start = time::Instant::now();
    let mut last_busy = start;
    while last_busy.elapsed() < IDLE && start.elapsed() < DRAIN_TIMEOUT {
        std::thread::sleep(IDLE / 10);
        if busy.swap(false, Ordering::Relaxed) {
            last_busy = time::Instant::now();
        }
    }
}

/// The exit status of a program, in the convention of shells.
fn exit_status(program: &str, status: ExitStatus) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    if status.signal().is_some() {
        terminal::status(&format!("{program} ended with {status}"));
    }
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    match code.map(u8::try_from) {
        Some(Ok(code)) => Err(Failure::Program(code)),
        _ => Err(Failure::Failed(format!("{program} ended with {status}"))),
    }
}

/// A namespace and this host, each with a device of the link.
struct AccessLink {
    namespace: Namespace,
    /// The name of both devices.
    device: String,
    /// The addresses of this host and of the namespace.
    addresses: [Ipv4Addr; 2],
}

impl AccessLink {
    /// Creates the namespace and the devices as ports of the link; packets of the namespace enter
    /// the link at the first host.
    fn create(mtu: u32, [near, far]: [HostId; 2]) -> Result<(Self, TunDevices), weir_wire::Error> {
        let namespace = Namespace::new()?;
        let [here, there] = addresses();
        let name = format!("weir{}", std::process::id());
        let ours = create_tun(&name, mtu)?;
        let inner_name = name.clone();
        let theirs = namespace.run(move || create_tun(&inner_name, mtu))??;
        let configure = |own: Ipv4Addr, peer: Ipv4Addr| {
            let mut lines = vec![format!("addr add {own} peer {peer} dev {name}")];
            if Path::new("/proc/sys/net/ipv6").exists() {
                // Otherwise both kernels send router solicitations over the link.
                lines.push(format!("link set {name} addrgenmode none"));
            }
            lines.push(format!("link set {name} up"));
            lines
        };
        Namespace::ip_here(&configure(here, there))?;
        let mut inside = configure(there, here);
        inside.push("link set lo up".to_owned());
        inside.push(format!("route add default via {here} dev {name}"));
        namespace.ip(&inside)?;
        let mut devices = TunDevices::default();
        let no_routes = BTreeMap::new();
        let failed = |error| weir_wire::Error::System("use a device".to_owned(), error);
        devices
            .add(theirs, near, no_routes.clone(), Some(far))
            .and_then(|()| devices.add(ours, far, no_routes, Some(near)))
            .map_err(failed)?;
        let access = Self {
            namespace,
            device: name,
            addresses: [here, there],
        };
        Ok((access, devices))
    }
}

impl AccessLink {
    /// Prints the packets that the kernel dropped at the devices: packets that arrive faster than
    /// the link reads them never enter the link, which counts only its own drops.
    fn state_drops(&self, program: &str) {
        let name = self.device.clone();
        let inside = self.namespace.run(move || DeviceCounters::read(&name));
        let outside = DeviceCounters::read(&self.device);
        for (counters, way) in [
            (inside.ok().and_then(Result::ok).flatten(), "from"),
            (outside.ok().flatten(), "to"),
        ] {
            let counters = counters.unwrap_or_default();
            let [dropped, refused] = [counters.send_drops, counters.receive_drops];
            if dropped > 0 {
                let all = counters.sent + dropped;
                terminal::notice(&format!(
                    "the device of {program} dropped {dropped} of {all} packets {way} it before \
                     the link, which is not driven as fast as they came"
                ));
            }
            if refused > 0 {
                terminal::notice(&format!(
                    "the device of {program} dropped {refused} packets of the link"
                ));
            }
        }
    }
}

/// The addresses of this host and of the namespace, which are different for concurrent emulations.
fn addresses() -> [Ipv4Addr; 2] {
    let number = std::process::id();
    let (third, fourth) = ((number >> 6) as u8, (number << 2) as u8);
    // RFC 6598 §7: addresses for use inside a provider's network.
    [1, 2].map(|end| Ipv4Addr::new(100, 64, third, fourth | end))
}

/// An error with advice on an alternative.
fn with_alternative(error: weir_wire::Error) -> Failure {
    match wire_failure(error) {
        Failure::Unavailable(message) => Failure::Unavailable(format!(
            "{message}; without it, --listen and --to relay UDP from one port to another"
        )),
        failure => failure,
    }
}

/// Devices whose packets are captured.
struct CapturedDevices<'a> {
    devices: TunDevices,
    capture: &'a PacketCapture,
}

impl CapturedDevices<'_> {
    fn capture(&self, direction: Direction, packet: &Packet) {
        if let Body::Other(payload) = &packet.body {
            let octets = payload.content().unwrap_or_default();
            self.capture.packet(direction, octets);
        }
    }
}

impl PortIo for CapturedDevices<'_> {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.devices.descriptors()
    }
    fn receive(&mut self) -> Option<Packet> {
        let packet = self.devices.receive()?;
        self.capture(Direction::Received, &packet);
        Some(packet)
    }
    fn send(&mut self, host: HostId, packet: Packet) {
        self.capture(Direction::Sent, &packet);
        self.devices.send(host, packet);
    }
}

/// A link that reports to other threads whether packets are in transit.
struct MonitoredLink<'a> {
    link: RealTimePart,
    busy: &'a AtomicBool,
}

impl RealtimeNetwork for MonitoredLink<'_> {
    type Error = RunError;

    fn advance(&mut self, now: Instant) -> Result<(), RunError> {
        self.link.advance(now)
    }
    fn inject(&mut self, packet: Packet) -> Result<(), RunError> {
        self.busy.store(true, Ordering::Relaxed);
        self.link.inject(packet)
    }
    fn poll_port(&mut self) -> Option<(HostId, Packet)> {
        self.link.poll_port()
    }
    fn next_event(&mut self) -> Option<Instant> {
        let next = self.link.next_event();
        if next.is_some() {
            self.busy.store(true, Ordering::Relaxed);
        }
        next
    }
}

//! `weir emulate`: a link of the simulator between real programs, in real time. Either a UDP relay
//! from one port to another, which needs no privilege, or a network namespace for a program, all
//! of whose packets go over the link.

use crate::exit::Failure;
use clap::Args;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;
use weir_lab::scenario::{Scenario, link_scenario, parse};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The link, in the words of tc: "rate 1mbit delay 25ms 2ms loss 0.1% limit 50",
    /// "tbf rate 1000kbit buffer 10000 limit 30000", "delay 20ms fq_codel", "mahimahi FILE"
    #[arg(long, value_name = "WORDS", required_unless_present = "scenario")]
    link: Option<String>,
    /// The link's other direction, if it differs: from the server, or to the program
    #[arg(long, value_name = "WORDS", requires = "link")]
    back: Option<String>,
    /// In place of --link: the network of a scenario, between the hosts of its first flow
    #[arg(long, value_name = "FILE", conflicts_with = "link")]
    scenario: Option<PathBuf>,
    /// Relay: the address and port to listen at; port 0 for any
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    #[arg(requires = "to", conflicts_with = "program")]
    listen: Option<SocketAddr>,
    /// Relay: the server's address and port
    #[arg(long, value_name = "ADDRESS", value_parser = address, conflicts_with = "program")]
    to: Option<SocketAddr>,
    /// Seed of losses and jitter
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Relay: end after so long: seconds, or with a unit
    #[arg(short, long, value_name = "TIME", value_parser = crate::arguments::time)]
    #[arg(conflicts_with = "program")]
    time: Option<Duration>,
    /// Write what comes and leaves as pcapng
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// The program and its arguments
    #[arg(last = true)]
    program: Vec<String>,
}

/// An address with a port; also that of a name, as `localhost:5201`.
fn address(word: &str) -> Result<SocketAddr, String> {
    let expected = "expected an address and a port, such as 192.0.2.1:5201 or [::1]:5201";
    let mut found = word
        .to_socket_addrs()
        .map_err(|error| match word.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => error.to_string(),
            _ => expected.to_owned(),
        })?;
    // A name may have both; of a relay's addresses one is enough.
    let first = found.next().ok_or_else(|| expected.to_owned())?;
    Ok(found
        .find(|address| address.is_ipv4() && first.is_ipv6())
        .unwrap_or(first))
}

fn scenario(arguments: &Arguments) -> Result<Scenario, Failure> {
    if let Some(file) = &arguments.scenario {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
        let mut scenario = parse(&text, &name)?;
        scenario.run.seed = arguments.seed;
        return Ok(scenario);
    }
    let link = arguments.link.as_deref().unwrap_or_default();
    let back = arguments.back.as_deref();
    link_scenario(link, back, arguments.seed).map_err(|error| Failure::Usage(error.to_string()))
}

/// Emulates until Ctrl-C, or until the program ends.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let scenario = scenario(arguments)?;
    match (arguments.to, arguments.program.as_slice()) {
        (Some(to), _) if to.port() == 0 => {
            let message = format!("--to {to}: port 0 is no server's");
            Err(Failure::Usage(message))
        }
        (Some(to), []) => wired::relay(&scenario, arguments, to),
        (None, [program, words @ ..]) => wired::program(&scenario, arguments, (program, words)),
        _ => {
            let message = "expected --to ADDRESS for a relay, or -- and a program";
            Err(Failure::Usage(message.to_owned()))
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod wired {
    use super::{Arguments, Failure, Scenario, SocketAddr};

    fn missing() -> Failure {
        let message = "emulation needs Linux; `weir run` simulates such a link";
        Failure::Unavailable(message.to_owned())
    }
    pub(super) fn relay(_: &Scenario, _: &Arguments, _: SocketAddr) -> Result<(), Failure> {
        Err(missing())
    }
    pub(super) fn program(
        _: &Scenario,
        _: &Arguments,
        _: (&str, &[String]),
    ) -> Result<(), Failure> {
        Err(missing())
    }
}

#[cfg(target_os = "linux")]
mod wired {
    use super::{Arguments, Failure, Scenario, SocketAddr};
    use crate::capture::{PacketCapture, Place};
    use crate::interrupt::interrupt_flag;
    use crate::terminal;
    use crate::testbed::{RealTimePart, lateness, wire_failure};
    use std::collections::BTreeMap;
    use std::net::{IpAddr, Ipv4Addr};
    use std::os::fd::BorrowedFd;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, ExitStatus};
    use std::sync::atomic::{AtomicBool, Ordering};
    use weir_lab::run::{RunError, Scope};
    use weir_proto::packet::{Body, HostId, Packet};
    use weir_proto::time::{Duration, Instant};
    use weir_wire::Direction;
    use weir_wire::netns::{BlockedSignals, Namespace};
    use weir_wire::realtime::{PortIo, RealtimeNetwork, TunDevices, UdpRelay, drive};

    /// A link on which nothing was under way for so long is at rest: its ends had time to answer.
    const REST: std::time::Duration = std::time::Duration::from_millis(100);
    /// For the last packets of a program its link stays so long at most.
    const LAST: std::time::Duration = std::time::Duration::from_secs(2);
    use weir_wire::testbed::create_tun;

    /// The link, and the hosts at its ends.
    fn link(
        scenario: &Scenario,
        arguments: &Arguments,
    ) -> Result<(RealTimePart, [HostId; 2]), Failure> {
        let mut scenario = scenario.clone();
        // Far beyond any use, and short enough for any sum of times.
        let year = Duration::from_secs(365 * 24 * 3600);
        let time = arguments
            .time
            .map(|time| Duration::from_nanos(time.as_nanos() as u64));
        scenario.run.duration = time.unwrap_or(year);
        let network = RealTimePart::untraced(&scenario, Scope::Network)?;
        let flow = scenario.flows.first();
        let place = |name: &str| scenario.hosts.iter().position(|host| host.name == name);
        let ends = flow.and_then(|flow| Some([place(&flow.from)?, place(&flow.to)?]));
        match ends {
            Some(ends) => Ok((network, ends.map(|end| HostId(end as u32)))),
            None => Err(Failure::Failed("the scenario has no flow".to_owned())),
        }
    }

    /// The file of `--pcap`, with these places.
    fn capture(arguments: &Arguments, places: &[Place]) -> Result<Option<PacketCapture>, Failure> {
        let start = |path| PacketCapture::start(path, places, 0);
        arguments.pcap.as_deref().map(start).transpose()
    }

    /// TunDevices whose packets somebody sees.
    struct Tapped<'a> {
        devices: TunDevices,
        capture: &'a PacketCapture,
    }

    impl PortIo for Tapped<'_> {
        fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
            self.devices.descriptors()
        }
        fn receive(&mut self) -> Option<Packet> {
            let packet = self.devices.receive()?;
            if let Body::Other(payload) = &packet.body {
                let octets = payload.content().unwrap_or_default();
                self.capture.packet(Direction::Received, octets);
            }
            Some(packet)
        }
        fn send(&mut self, host: HostId, packet: Packet) {
            if let Body::Other(payload) = &packet.body {
                let octets = payload.content().unwrap_or_default();
                self.capture.packet(Direction::Sent, octets);
            }
            self.devices.send(host, packet);
        }
    }

    /// A link of which others see whether something is under way on it.
    struct Watched<'a> {
        link: RealTimePart,
        busy: &'a AtomicBool,
    }

    impl RealtimeNetwork for Watched<'_> {
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

    /// Waits until nothing is under way any more: a program's last packets, which close its
    /// connections, leave when it has ended.
    fn rest(busy: &AtomicBool) {
        let began = std::time::Instant::now();
        let mut since = began;
        while since.elapsed() < REST && began.elapsed() < LAST {
            std::thread::sleep(REST / 10);
            if busy.swap(false, Ordering::Relaxed) {
                since = std::time::Instant::now();
            }
        }
    }

    /// Drives the link until it shall stop; says what it did.
    fn carry(
        link: RealTimePart,
        outside: &mut dyn PortIo,
        (stop, busy): (&AtomicBool, &AtomicBool),
    ) -> Result<(), Failure> {
        let duration = link.0.end().since(Instant::ZERO);
        let mut link = Watched { link, busy };
        let late = drive(&mut link, outside, duration, stop)
            .map_err(|error| Failure::Failed(error.to_string()))?;
        for (name, direction) in link.link.0.finish().summary.links {
            terminal::status(&format!(
                "{name}: {} packets dropped, {} marked, queue {:.0} bytes (mean), {} bytes (max)",
                direction.drops,
                direction.marks,
                direction.queue_bytes.mean,
                direction.queue_bytes.max,
            ));
        }
        terminal::status(&lateness(late.p99(), late.max()));
        Ok(())
    }

    pub(super) fn relay(
        scenario: &Scenario,
        arguments: &Arguments,
        to: SocketAddr,
    ) -> Result<(), Failure> {
        let (link, ends) = link(scenario, arguments)?;
        let any = match to {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            SocketAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
        };
        let at = arguments.listen.unwrap_or(SocketAddr::new(any, 0));
        let mut relay = UdpRelay::bind(at, to, (ends[0], ends[1]))
            .map_err(|error| Failure::Failed(format!("cannot use {at}: {error}")))?;
        let stop = interrupt_flag()?;
        let capture = capture(arguments, &[("relay".to_owned(), None)])?;
        if let Some(capture) = &capture {
            relay.set_tap(capture.tap());
        }
        terminal::status(&format!("relay at {} to {to}", relay.local_address()?));
        carry(link, &mut relay, (&stop, &AtomicBool::new(false)))?;
        let mtus = scenario.links.iter();
        let mtus = mtus.flat_map(|link| [link.forward.mtu.0, link.backward.mtu.0]);
        if let Some(mtu) = mtus.min().filter(|mtu| *mtu < relay.longest_packet()) {
            let longest = relay.longest_packet();
            terminal::status(&format!(
                "some packets were too long for the link and dropped: up to {longest} octets with \
                 IP and UDP headers, of which it takes {mtu} (the word mtu allows more)"
            ));
        }
        capture.map_or(Ok(()), PacketCapture::finish)
    }

    /// The addresses of the program's namespace and of this side, which many may have at a time.
    fn addresses() -> [Ipv4Addr; 2] {
        let number = std::process::id();
        let (third, fourth) = ((number >> 6) as u8, (number << 2) as u8);
        // RFC 6598 §7: what is used between a network and what it carries.
        [1, 2].map(|end| Ipv4Addr::new(100, 64, third, fourth | end))
    }

    pub(super) fn program(
        scenario: &Scenario,
        arguments: &Arguments,
        (program, words): (&str, &[String]),
    ) -> Result<(), Failure> {
        // Ctrl-C is for the program: it and its link end together.
        let signals = BlockedSignals::block()?;
        let (link, [near, far]) = link(scenario, arguments)?;
        let missing = |error| match wire_failure(error) {
            Failure::Unavailable(message) => Failure::Unavailable(format!(
                "{message}; without it, --listen and --to relay UDP from one port to another"
            )),
            failure => failure,
        };
        let inside = Namespace::new().map_err(missing)?;
        let [here, there] = addresses();
        let name = format!("weir{}", std::process::id());
        let mtu = scenario
            .links
            .first()
            .map_or(1500, |link| link.forward.mtu.0);
        let ours = create_tun(&name, mtu).map_err(missing)?;
        let theirs = {
            let name = name.clone();
            inside
                .run(move || create_tun(&name, mtu))
                .and_then(|tun| tun)
                .map_err(missing)?
        };
        let lines = |own: Ipv4Addr, peer: Ipv4Addr| {
            let mut lines = vec![format!("addr add {own} peer {peer} dev {name}")];
            if std::path::Path::new("/proc/sys/net/ipv6").exists() {
                // Else the kernels talk over the link: each looks for routers.
                lines.push(format!("link set {name} addrgenmode none"));
            }
            lines.push(format!("link set {name} up"));
            lines
        };
        Namespace::ip_here(&lines(here, there)).map_err(missing)?;
        let mut within = lines(there, here);
        within.push("link set lo up".to_owned());
        within.push(format!("route add default via {here} dev {name}"));
        inside.ip(&within).map_err(missing)?;
        let mut devices = TunDevices::default();
        let all = BTreeMap::new();
        devices.add(theirs, near, all.clone(), Some(far))?;
        devices.add(ours, far, all, Some(near))?;
        terminal::status(&format!(
            "{program} is at {there}; this host is {here} to it (WEIR_HOST)"
        ));
        let (stop, busy) = (AtomicBool::new(false), AtomicBool::new(false));
        let capture = capture(arguments, &[(program.to_owned(), None)])?;
        let mut outside: Box<dyn PortIo + Send> = match &capture {
            Some(capture) => Box::new(Tapped { devices, capture }),
            None => Box::new(devices),
        };
        let status = std::thread::scope(|scope| {
            let carrier = scope.spawn(|| carry(link, &mut *outside, (&stop, &busy)));
            let mut command = Command::new(program);
            command.args(words).env("WEIR_HOST", here.to_string());
            let status = inside.run(move || {
                let mut child = signals.spawn(&mut command)?;
                signals.forward_to(&child)?;
                child.wait()
            });
            if matches!(status, Ok(Ok(_))) {
                rest(&busy);
            }
            stop.store(true, Ordering::Relaxed);
            let carried = carrier.join();
            carried.map_err(|_| Failure::Failed("the link panicked".to_owned()))??;
            status
                .map_err(wire_failure)?
                .map_err(|error| Failure::Usage(format!("cannot start \"{program}\": {error}")))
        })?;
        drop(outside);
        capture.map_or(Ok(()), PacketCapture::finish)?;
        ended(program, status)
    }

    fn ended(program: &str, status: ExitStatus) -> Result<(), Failure> {
        if status.success() {
            return Ok(());
        }
        if status.signal().is_some() {
            terminal::status(&format!("{program} ended with {status}"));
        }
        // What a shell makes of a signal.
        let code = status.code().or_else(|| Some(128 + status.signal()?));
        match code.map(u8::try_from) {
            Some(Ok(code)) => Err(Failure::Program(code)),
            _ => Err(Failure::Failed(format!("{program} ended with {status}"))),
        }
    }
}

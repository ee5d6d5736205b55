//! A network of namespaces: hosts that are kernels of their own, joined by pairs of virtual
//! Ethernet devices, or by TUN devices between which a topology stands in for the wire.
//!
//! Token buckets are the kernel's (`tbf`). Host n has the address 10.77.x.y; packets go the way
//! with the fewest hops, forwarded by the kernels. Everything is gone when the process is: the
//! namespaces have no names, and the devices live in them.
//!
//! An Ethernet device counts 14 octets of each packet more than IP does, which its `tbf` counts
//! too; a TUN device does not.

use crate::error::Error;
use crate::netns::{Namespace, output};
use crate::realtime::{FlowSocket, FlowSockets, TunDevices};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use tun_rs::{DeviceBuilder, SyncDevice};
use weir_proto::packet::{FlowId, HostId};

/// Octets of an Ethernet header, which a qdisc of an Ethernet device counts.
const ETHERNET: u32 = 14;

/// What joins hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestbedLink {
    /// Its ends: two of a wire, more of a shared medium.
    pub ends: Vec<LinkEnd>,
    /// Largest packet in octets, IP header included.
    pub mtu: u32,
    /// A kernel's device is enough; else a topology stands between the ends.
    pub veth: bool,
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkEnd {
    /// The host.
    pub host: usize,
    /// The host of the topology whose port this end is.
    pub port: HostId,
    /// What leaves here passes this bucket first.
    pub shaper: Option<TokenBucket>,
}

/// `tc qdisc … tbf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Bits per second.
    pub rate: u64,
    /// Octets that may leave at once.
    pub burst: u64,
    /// Octets that may wait.
    pub limit: u64,
    /// Bits per second within a burst, and octets of one step of it.
    pub peak: Option<(u64, u64)>,
    /// Octets that each packet counts beyond its IP size.
    pub overhead: u32,
}

impl TokenBucket {
    /// The line for `tc`; `counted` are octets beyond the IP size that the device counts itself.
    fn line(&self, device: &str, counted: u32) -> String {
        let Self {
            rate, burst, limit, ..
        } = self;
        let mut line =
            format!("qdisc add dev {device} root tbf rate {rate}bit burst {burst} limit {limit}");
        if let Some((peak, step)) = self.peak {
            let _ = write!(line, " peakrate {peak}bit mtu {step}");
        }
        let overhead = self.overhead.saturating_sub(counted);
        if overhead > 0 {
            let _ = write!(line, " overhead {overhead}");
        }
        line
    }
}

/// A flow from one host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestbedFlow {
    /// Its number in the topology of flows.
    pub flow: FlowId,
    /// The sender's host.
    pub from: usize,
    /// The receiver's host.
    pub to: usize,
    /// The receiver's UDP port, if it is free; zero for any.
    pub port: u16,
}

/// What a bucket did, as the kernel counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShaperStats {
    /// The link, by its place.
    pub link: usize,
    /// The end, by its place there.
    pub end: usize,
    /// Packets that left.
    pub packets: u64,
    /// Octets of these, with the device's own header.
    pub bytes: u64,
    /// Packets that found no room.
    pub drops: u64,
}

/// The network.
pub struct Testbed {
    hosts: Vec<Namespace>,
    links: Vec<TestbedLink>,
    devices: Option<TunDevices>,
}

/// The address of a host, by its place.
fn address(host: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, (host / 250) as u8, (host % 250 + 1) as u8)
}

/// The name of the device of a link, the same in each host.
fn device(link: usize) -> String {
    format!("weir{link}")
}

/// The way from one host to another: the link, and the host behind it.
type Hop = (usize, usize);

impl Testbed {
    /// Builds it from so many hosts and what joins them.
    ///
    /// # Errors
    /// [`Error::Privilege`], [`Error::Tool`], [`Error::System`]: then nothing is left of it.
    pub fn build(hosts: usize, links: Vec<TestbedLink>) -> Result<Self, Error> {
        let made = (0..hosts).map(|_| Namespace::new());
        let mut testbed = Self {
            hosts: made.collect::<Result<_, _>>()?,
            links,
            devices: None,
        };
        for host in &testbed.hosts {
            // Nothing but the test's packets shall be on the wires.
            for variable in ["net/ipv6/conf/all", "net/ipv6/conf/default"] {
                let variable = format!("{variable}/disable_ipv6");
                if std::path::Path::new("/proc/sys").join(&variable).exists() {
                    host.sysctl(&variable, "1")?;
                }
            }
            host.sysctl("net/ipv4/ip_forward", "1")?;
            host.sysctl("net/ipv4/conf/all/rp_filter", "0")?;
            host.sysctl("net/ipv4/conf/default/rp_filter", "0")?;
        }
        let ways = testbed.ways();
        let mut devices = TunDevices::default();
        for number in 0..testbed.links.len() {
            testbed.join(number, &ways, &mut devices)?;
        }
        for host in 0..testbed.hosts.len() {
            testbed.address(host, &ways)?;
        }
        testbed.shape()?;
        testbed.devices = Some(devices);
        Ok(testbed)
    }

    fn host(&self, host: usize) -> Result<&Namespace, Error> {
        self.hosts.get(host).ok_or(Error::Closed)
    }

    /// For each host, the first hop to each other.
    fn ways(&self) -> Vec<BTreeMap<usize, Hop>> {
        let mut ways = vec![BTreeMap::new(); self.hosts.len()];
        for target in 0..self.hosts.len() {
            let mut seen = BTreeSet::from([target]);
            let mut front = VecDeque::from([target]);
            while let Some(at) = front.pop_front() {
                for (number, link) in self.links.iter().enumerate() {
                    if !link.ends.iter().any(|end| end.host == at) {
                        continue;
                    }
                    for end in &link.ends {
                        if seen.insert(end.host) {
                            ways[end.host].insert(target, (number, at));
                            front.push_back(end.host);
                        }
                    }
                }
            }
        }
        ways
    }

    /// Makes the devices of a link.
    fn join(
        &self,
        number: usize,
        ways: &[BTreeMap<usize, Hop>],
        devices: &mut TunDevices,
    ) -> Result<(), Error> {
        let link = &self.links[number];
        let (name, mtu) = (device(number), link.mtu);
        if let ([near, far], true) = (link.ends.as_slice(), link.veth) {
            let peer = self.host(far.host)?.tid();
            let add = format!("link add {name} mtu {mtu} type veth peer name {name} mtu {mtu}");
            self.host(near.host)?.ip(&[format!("{add} netns {peer}")])?;
            return Ok(());
        }
        for end in &link.ends {
            let name = name.clone();
            let tun = self.host(end.host)?.run(move || create_tun(&name, mtu))??;
            let mut next = BTreeMap::new();
            for (target, (segment_taken, hop)) in &ways[end.host] {
                let there = link.ends.iter().find(|other| other.host == *hop);
                if let (true, Some(there)) = (*segment_taken == number, there) {
                    next.insert(IpAddr::V4(address(*target)), there.port);
                }
            }
            devices
                .add(tun, end.port, next, None)
                .map_err(|error| Error::System("use a TUN device".to_owned(), error))?;
        }
        Ok(())
    }

    /// Gives a host its address and its routes.
    fn address(&self, host: usize, ways: &[BTreeMap<usize, Hop>]) -> Result<(), Error> {
        let own = address(host);
        let mut lines = vec![
            "link set lo up".to_owned(),
            format!("addr add {own}/32 dev lo"),
        ];
        for (number, link) in self.links.iter().enumerate() {
            if link.ends.iter().any(|end| end.host == host) {
                lines.push(format!("link set {} up", device(number)));
            }
        }
        for (target, (link, hop)) in &ways[host] {
            let (target, hop, name) = (address(*target), address(*hop), device(*link));
            let via = match self.links.get(*link) {
                Some(link) if link.veth => format!("via {hop} dev {name} onlink"),
                _ => format!("dev {name}"),
            };
            lines.push(format!("route add {target}/32 {via} src {own}"));
        }
        self.host(host)?.ip(&lines)
    }

    fn shape(&self) -> Result<(), Error> {
        for (number, link) in self.links.iter().enumerate() {
            for end in &link.ends {
                if let Some(bucket) = end.shaper {
                    let counted = if link.veth { ETHERNET } else { 0 };
                    let line = bucket.line(&device(number), counted);
                    self.host(end.host)?.tc(&[line])?;
                }
            }
        }
        Ok(())
    }

    /// The devices between which a topology stands, once.
    pub fn devices(&mut self) -> TunDevices {
        self.devices.take().unwrap_or_default()
    }

    /// The namespace of a host.
    pub fn namespace(&self, host: usize) -> Option<&Namespace> {
        self.hosts.get(host)
    }

    /// The address of a host.
    pub fn address_of(&self, host: usize) -> IpAddr {
        IpAddr::V4(address(host))
    }

    /// A pair of UDP sockets for each flow.
    ///
    /// # Errors
    /// [`Error::Socket`].
    pub fn sockets(&self, flows: &[TestbedFlow]) -> Result<FlowSockets, Error> {
        let mut ends = Vec::new();
        for plan in flows {
            let TestbedFlow { flow, from, to, .. } = *plan;
            let near = self.bind(from, 0)?;
            // Another flow may have the port already.
            let far = self.bind(to, plan.port).or_else(|_| self.bind(to, 0))?;
            let addresses = [local(&near)?, local(&far)?];
            connect(&near, addresses[1])?;
            connect(&far, addresses[0])?;
            let hosts = [from, to].map(|host| HostId(host as u32));
            ends.push(FlowSocket {
                flow,
                host: hosts[0],
                peer: hosts[1],
                socket: near,
            });
            ends.push(FlowSocket {
                flow,
                host: hosts[1],
                peer: hosts[0],
                socket: far,
            });
        }
        FlowSockets::new(ends).map_err(|error| Error::System("set a socket up".to_owned(), error))
    }

    fn bind(&self, host: usize, port: u16) -> Result<UdpSocket, Error> {
        let address = SocketAddr::new(self.address_of(host), port);
        let socket = self.host(host)?.run(move || UdpSocket::bind(address))?;
        socket.map_err(|source| Error::Socket { address, source })
    }

    /// What the kernel's buckets did so far.
    ///
    /// # Errors
    /// [`Error::Tool`].
    pub fn shaper_stats(&self) -> Result<Vec<ShaperStats>, Error> {
        let mut all = Vec::new();
        for (link, joined) in self.links.iter().enumerate() {
            for (end, place) in joined.ends.iter().enumerate() {
                if place.shaper.is_none() {
                    continue;
                }
                let name = device(link);
                let text = self.host(place.host)?.run(move || {
                    let mut command = Command::new("tc");
                    command.args(["-s", "qdisc", "show", "dev", &name]);
                    output("tc", &mut command, "")
                })??;
                let counters = bucket_counters(&text).ok_or_else(|| Error::Tool {
                    program: "tc",
                    why: format!("it says of a bucket: {text}"),
                })?;
                let [bytes, packets, drops] = counters;
                all.push(ShaperStats {
                    link,
                    end,
                    packets,
                    bytes,
                    drops,
                });
            }
        }
        Ok(all)
    }
}

/// Octets, packets and drops out of a line such as `Sent 1234 bytes 5 pkt (dropped 6, …`.
fn bucket_counters(text: &str) -> Option<[u64; 3]> {
    let line = text
        .lines()
        .find(|line| line.trim_start().starts_with("Sent "))?;
    let numbers = line.split(|c: char| !c.is_ascii_digit());
    let mut numbers = numbers.filter_map(|word| word.parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next()?])
}

/// A TUN device in the namespace of the thread that calls, not up yet. It is gone when it is
/// dropped.
///
/// # Errors
/// [`Error::Privilege`], [`Error::System`].
pub fn create_tun(name: &str, mtu: u32) -> Result<SyncDevice, Error> {
    let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
    let made = DeviceBuilder::new()
        .name(name)
        .mtu(mtu)
        .enable(false)
        .build_sync();
    made.map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            Error::Privilege("making network devices needs root")
        }
        std::io::ErrorKind::NotFound => {
            Error::Privilege("this system has no /dev/net/tun for network devices")
        }
        _ => Error::System(format!("make the TUN device {name}"), error),
    })
}

fn local(socket: &UdpSocket) -> Result<SocketAddr, Error> {
    let address = socket.local_addr();
    address.map_err(|error| Error::System("name a socket".to_owned(), error))
}

fn connect(socket: &UdpSocket, to: SocketAddr) -> Result<(), Error> {
    let connected = socket.connect(to);
    connected.map_err(|source| Error::Socket {
        address: to,
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_what_tc_takes_for_it() {
        let bucket = TokenBucket {
            rate: 1_000_000,
            burst: 10_000,
            limit: 30_000,
            peak: Some((2_000_000, 1540)),
            overhead: 18,
        };
        let ethernet = "qdisc add dev weir0 root tbf rate 1000000bit burst 10000 limit 30000 \
                        peakrate 2000000bit mtu 1540 overhead 4";
        assert_eq!(bucket.line("weir0", ETHERNET), ethernet);
        let bare = TokenBucket {
            peak: None,
            overhead: 0,
            ..bucket
        };
        let tun = "qdisc add dev weir3 root tbf rate 1000000bit burst 10000 limit 30000";
        assert_eq!(bare.line("weir3", ETHERNET), tun);
    }

    #[test]
    fn counters_are_found_in_what_tc_prints() {
        let text = "qdisc tbf 8001: root refcnt 2 rate 1Mbit burst 10000b lat 160ms \n \
                    Sent 1234 bytes 5 pkt (dropped 6, overlimits 7 requeues 0) \n backlog 0b 0p";
        assert_eq!(bucket_counters(text), Some([1234, 5, 6]));
        assert_eq!(bucket_counters("nothing"), None);
    }
}

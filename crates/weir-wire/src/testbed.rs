//! A network of namespaces: hosts with separate network stacks in the kernel, joined by veth pairs,
//! or by TUN devices with a simulated link between them.
//!
//! Token buckets are the kernel's (`tbf`). Host n has an address in 10.77.0.0/16; the kernels
//! forward packets along the path with the fewest hops. The kernel removes everything when the
//! process ends, because the namespaces are anonymous and contain the devices.
//!
//! A `tbf` on a veth device counts the 14 octets of the Ethernet header for each packet, on a TUN
//! device only the IP packet.

use crate::error::Error;
use crate::netns::{Namespace, output};
use crate::realtime::{FlowSocket, FlowSockets, TunDevices};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use tun_rs::{DeviceBuilder, SyncDevice};
use weir_proto::packet::{FlowId, HostId};

/// Octets of an Ethernet header.
const ETHERNET_OCTETS: u32 = 14;

/// Packets that wait at a TUN device until they are read.
const TUN_QUEUE: u32 = 10_000;

/// A link between hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestbedLink {
    /// The link's ends: two of a wire, two or more of a shared medium.
    pub ends: Vec<LinkEnd>,
    /// Largest packet in octets, IP header included.
    pub mtu: u32,
    /// The link is a veth pair; otherwise a simulated link between TUN devices.
    pub veth: bool,
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkEnd {
    /// The number of the host.
    pub host: usize,
    /// The host of the simulated network whose port this end is.
    pub port: HostId,
    /// The token bucket for leaving packets.
    pub shaper: Option<TokenBucket>,
}

/// The parameters of `tc qdisc … tbf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Bits per second.
    pub rate: u64,
    /// The bucket's size in octets.
    pub burst: u64,
    /// Octets that may wait for tokens.
    pub limit: u64,
    /// The peak rate in bits per second and its bucket's size in octets.
    pub peak: Option<(u64, u64)>,
    /// Octets that are counted for each packet beyond its IP size.
    pub overhead: u32,
}

impl TokenBucket {
    /// The line for `tc -batch`; `counted` is the number of octets beyond the IP size that the
    /// device counts itself.
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
    /// Its number in the simulated network of flows.
    pub flow: FlowId,
    /// The sender's host.
    pub from: usize,
    /// The receiver's host.
    pub to: usize,
    /// The receiver's UDP port, if it is free; zero for any.
    pub port: u16,
}

/// The kernel's counters of a token bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShaperStats {
    /// The number of the link.
    pub link: usize,
    /// The number of the end in the link.
    pub end: usize,
    /// Packets that passed.
    pub packets: u64,
    /// Octets of these, with the device's header.
    pub bytes: u64,
    /// Packets dropped because the limit was reached.
    pub drops: u64,
}

/// A network of namespaces.
pub struct Testbed {
    hosts: Vec<Namespace>,
    links: Vec<TestbedLink>,
    devices: Option<TunDevices>,
}

/// The address of a host.
fn address(host: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, (host / 250) as u8, (host % 250 + 1) as u8)
}

/// The name of a link's devices, the same in each host.
fn device(link: usize) -> String {
    format!("weir{link}")
}

/// The first hop from one host to another.
#[derive(Clone, Copy, Debug)]
struct NextHop {
    link: usize,
    host: usize,
}

/// A host's next hops by destination.
type Routes = BTreeMap<usize, NextHop>;

impl Testbed {
    /// Builds a network of `hosts` hosts joined by these links.
    ///
    /// # Errors
    /// [`Error::Privilege`]; [`Error::Tool`]; [`Error::System`]. Namespaces created so far are
    /// removed.
    pub fn build(hosts: usize, links: Vec<TestbedLink>) -> Result<Self, Error> {
        let made = (0..hosts).map(|_| Namespace::new());
        let mut testbed = Self {
            hosts: made.collect::<Result<_, _>>()?,
            links,
            devices: None,
        };
        for host in &testbed.hosts {
            // IPv6 would send additional packets.
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
        let routes = testbed.routes();
        let mut devices = TunDevices::default();
        for number in 0..testbed.links.len() {
            testbed.create_devices(number, &routes, &mut devices)?;
        }
        for (host, routes) in routes.iter().enumerate() {
            testbed.configure_host(host, routes)?;
        }
        testbed.attach_shapers()?;
        testbed.devices = Some(devices);
        Ok(testbed)
    }

    pub(crate) fn host(&self, host: usize) -> Result<&Namespace, Error> {
        self.hosts.get(host).ok_or(Error::Closed)
    }

    /// The routes of each host, along the paths with the fewest hops.
    fn routes(&self) -> Vec<Routes> {
        let mut routes = vec![Routes::new(); self.hosts.len()];
        for target in 0..self.hosts.len() {
            let mut seen = BTreeSet::from([target]);
            let mut frontier = VecDeque::from([target]);
            while let Some(at) = frontier.pop_front() {
                for (number, link) in self.links.iter().enumerate() {
                    if !link.ends.iter().any(|end| end.host == at) {
                        continue;
                    }
                    for end in &link.ends {
                        if seen.insert(end.host) {
                            let hop = NextHop {
                                link: number,
                                host: at,
                            };
                            routes[end.host].insert(target, hop);
                            frontier.push_back(end.host);
                        }
                    }
                }
            }
        }
        routes
    }

    /// Creates the devices of a link.
    fn create_devices(
        &self,
        number: usize,
        routes: &[Routes],
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
            for (target, hop) in &routes[end.host] {
                let far = link.ends.iter().find(|other| other.host == hop.host);
                if let (true, Some(far)) = (hop.link == number, far) {
                    next.insert(IpAddr::V4(address(*target)), far.port);
                }
            }
            devices
                .add(tun, end.port, next, None)
                .map_err(|error| Error::System("use a TUN device".to_owned(), error))?;
        }
        Ok(())
    }

    /// Configures the address and the routes of a host.
    fn configure_host(&self, host: usize, routes: &Routes) -> Result<(), Error> {
        let own = address(host);
        let mut lines = vec![
            "link set lo up".to_owned(),
            format!("addr add {own}/32 dev lo"),
        ];
        for (number, link) in self.links.iter().enumerate() {
            if link.ends.iter().any(|end| end.host == host) {
                let name = device(number);
                if !link.veth {
                    // The bursts of a sender must reach the simulated queue.
                    lines.push(format!("link set {name} txqueuelen {TUN_QUEUE}"));
                }
                lines.push(format!("link set {name} up"));
            }
        }
        for (target, NextHop { link, host }) in routes {
            let (target, hop, name) = (address(*target), address(*host), device(*link));
            let via = match self.links.get(*link) {
                Some(link) if link.veth => format!("via {hop} dev {name} onlink"),
                _ => format!("dev {name}"),
            };
            lines.push(format!("route add {target}/32 {via} src {own}"));
        }
        self.host(host)?.ip(&lines)
    }

    /// Attaches the token buckets.
    fn attach_shapers(&self) -> Result<(), Error> {
        for (number, link) in self.links.iter().enumerate() {
            for end in &link.ends {
                if let Some(bucket) = end.shaper {
                    let counted = if link.veth { ETHERNET_OCTETS } else { 0 };
                    let line = bucket.line(&device(number), counted);
                    self.host(end.host)?.tc(&[line])?;
                }
            }
        }
        Ok(())
    }

    /// The TUN devices of the simulated links; only the first call returns any.
    pub fn take_devices(&mut self) -> TunDevices {
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
            // The port may be in use by another flow.
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

    /// The kernel's counters of all token buckets.
    ///
    /// # Errors
    /// [`Error::Tool`].
    pub fn shaper_stats(&self) -> Result<Vec<ShaperStats>, Error> {
        let mut all = Vec::new();
        for (link, joined) in self.links.iter().enumerate() {
            for (end, link_end) in joined.ends.iter().enumerate() {
                if link_end.shaper.is_none() {
                    continue;
                }
                let name = device(link);
                let text = self.host(link_end.host)?.run(move || {
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

/// Octets, packets and drops in a line such as `Sent 1234 bytes 5 pkt (dropped 6, …`.
fn bucket_counters(text: &str) -> Option<[u64; 3]> {
    let line = text
        .lines()
        .find(|line| line.trim_start().starts_with("Sent "))?;
    let numbers = line.split(|c: char| !c.is_ascii_digit());
    let mut numbers = numbers.filter_map(|word| word.parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next()?])
}

/// Creates a TUN device in the namespace of the calling thread, not yet up. Dropping it removes it.
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
    fn a_bucket_becomes_a_line_of_tc() {
        let bucket = TokenBucket {
            rate: 1_000_000,
            burst: 10_000,
            limit: 30_000,
            peak: Some((2_000_000, 1540)),
            overhead: 18,
        };
        let ethernet = "qdisc add dev weir0 root tbf rate 1000000bit burst 10000 limit 30000 \
                        peakrate 2000000bit mtu 1540 overhead 4";
        assert_eq!(bucket.line("weir0", ETHERNET_OCTETS), ethernet);
        let bare = TokenBucket {
            peak: None,
            overhead: 0,
            ..bucket
        };
        let tun = "qdisc add dev weir3 root tbf rate 1000000bit burst 10000 limit 30000";
        assert_eq!(bare.line("weir3", ETHERNET_OCTETS), tun);
    }

    #[test]
    fn counters_are_parsed_from_the_output_of_tc() {
        let text = "qdisc tbf 8001: root refcnt 2 rate 1Mbit burst 10000b lat 160ms \n \
                    Sent 1234 bytes 5 pkt (dropped 6, overlimits 7 requeues 0) \n backlog 0b 0p";
        assert_eq!(bucket_counters(text), Some([1234, 5, 6]));
        assert_eq!(bucket_counters("nothing"), None);
    }
}

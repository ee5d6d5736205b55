//! Each link of a scenario as a separate segment between its own hosts and ports.

use super::wire_encoding;
use super::{SimNetwork, build_error, no_host};
use crate::run::RunError;
use crate::scenario::{Direction, Link, Scenario, Wifi};
use weir_net::HostTiming;
use weir_net::shaper::TokenBucketConfig;
use weir_proto::packet::HostId;

/// A link or medium as seen by the hosts that it connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkSegment {
    /// Its ends: two of a link, one for each station of a medium.
    pub ends: Vec<SegmentEnd>,
    /// Largest packet in octets, IP header included.
    pub mtu: u32,
    /// True if only the shapers at its ends affect packets: then a kernel can replace it.
    pub plain: bool,
}

/// One end of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentEnd {
    /// The index of the host in [`Scenario::hosts`].
    pub host: usize,
    /// The host that represents this end in the simulation of [`Scope::Links`](super::Scope).
    pub port: HostId,
    /// The token bucket that outgoing packets pass first. The kernel implements it; it is not part
    /// of the simulation.
    pub shaper: Option<SegmentShaper>,
}

/// A token bucket filter, as `tc` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentShaper {
    /// Rate, burst, peak rate.
    pub bucket: TokenBucketConfig,
    /// The limit of its queue in octets.
    pub limit: u64,
}

impl SimNetwork {
    /// Adds each link and medium as a segment.
    pub(super) fn add_segments(&mut self, scenario: &Scenario) -> Result<(), RunError> {
        for link in &scenario.links {
            self.add_link_segment(scenario, link)?;
        }
        for wifi in &scenario.wifi {
            self.add_wifi_segment(scenario, wifi.clone())?;
        }
        Ok(())
    }

    fn add_link_segment(&mut self, scenario: &Scenario, link: &Link) -> Result<(), RunError> {
        let mut rest = link.clone();
        let mut ends = Vec::new();
        let directions = [&mut rest.forward, &mut rest.backward];
        for (host, direction) in link.between.iter().zip(directions) {
            // A kernel's token bucket cannot change during a run.
            let shaper = direction.shaper.filter(|_| direction.changes.is_empty());
            if shaper.is_some() {
                direction.shaper = None;
            }
            direction.mtu += wire_encoding::ENCAPSULATION;
            let shaper = shaper.map(|bucket| SegmentShaper {
                bucket,
                limit: bucket.queue_limit().unwrap_or(0),
            });
            ends.push(self.add_end(scenario, host, &link.name, shaper)?);
        }
        if let [from, to] = ends.as_slice() {
            let delays = scenario.delays_of(link);
            self.add_link(&rest, [from.port, to.port], delays)?;
        }
        let is_plain = |direction: &Direction| {
            let plain = Direction {
                mtu: direction.mtu,
                ..Direction::default()
            };
            *direction == plain
        };
        self.segments.push(NetworkSegment {
            ends,
            mtu: rest.forward.mtu.max(rest.backward.mtu),
            plain: is_plain(&rest.forward) && is_plain(&rest.backward),
        });
        Ok(())
    }

    fn add_wifi_segment(&mut self, scenario: &Scenario, mut wifi: Wifi) -> Result<(), RunError> {
        let mut ends = Vec::new();
        for station in &mut wifi.stations {
            station.config.mtu += wire_encoding::ENCAPSULATION;
            ends.push(self.add_end(scenario, &station.host, &wifi.name, None)?);
        }
        let ports: Vec<_> = ends.iter().map(|end| end.port).collect();
        self.add_wifi(&wifi, &ports)?;
        let mtus = wifi.stations.iter().map(|station| station.config.mtu);
        self.segments.push(NetworkSegment {
            ends,
            mtu: mtus.max().unwrap_or_default(),
            plain: false,
        });
        Ok(())
    }

    /// Adds the end of a link or medium of this name at this host: a separate host with a port.
    fn add_end(
        &mut self,
        scenario: &Scenario,
        host: &str,
        link: &str,
        shaper: Option<SegmentShaper>,
    ) -> Result<SegmentEnd, RunError> {
        let mut hosts = scenario.hosts.iter();
        let index = hosts.position(|known| known.name == host);
        let index = index.ok_or_else(|| no_host(host))?;
        let name = format!("{host} at {link}");
        let port = self.network.add_host(&name, HostTiming::default());
        self.network.add_port(port).map_err(build_error)?;
        Ok(SegmentEnd {
            host: index,
            port,
            shaper,
        })
    }
}

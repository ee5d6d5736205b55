//! The other driver of a network: the wall clock says how far it goes, and its ports lead to
//! sockets or network devices.
//!
//! Nothing of the simulator is written anew for it: a [`RealtimeNetwork`] goes on to the present whenever an
//! event is due or a packet comes. How late events were is measured and told, because a busy
//! machine is a bad network.

mod device;
mod edge;
mod ip;
mod lateness;
mod relay;
mod sockets;

pub use device::TunDevices;
pub use lateness::Lateness;
pub use relay::UdpRelay;
pub use sockets::{FlowSocket, FlowSockets};

use crate::clock::Clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use weir_net::{Network, Stuck, inject, simulate};
use weir_proto::packet::{HostId, Packet};
use weir_proto::time::{Duration, Instant};

/// What is due sooner is not slept for: the kernel takes about as long to wake a sleeper.
const SHORTEST_NANOS: u64 = 60_000;
/// A sleeper looks so often whether it shall stop.
const LONGEST_NANOS: u64 = 50_000_000;
/// Packets to take before events have their turn.
const BATCH: usize = 64;

/// What is driven: a network, or what holds one.
pub trait RealtimeNetwork {
    /// Why it does not go on.
    type Error;
    /// Everything up to and including this time happens.
    ///
    /// # Errors
    /// If it cannot go on.
    fn advance(&mut self, now: Instant) -> Result<(), Self::Error>;
    /// A packet comes in at the host that its header names as its source.
    ///
    /// # Errors
    /// If it cannot go on.
    fn inject(&mut self, packet: Packet) -> Result<(), Self::Error>;
    /// The next packet that leaves, and the host through whose port.
    fn poll_port(&mut self) -> Option<(HostId, Packet)>;
    /// When the next event is due.
    fn next_event(&mut self) -> Option<Instant>;
}

/// A network that nobody listens to.
impl RealtimeNetwork for Network {
    type Error = Stuck;

    fn advance(&mut self, now: Instant) -> Result<(), Stuck> {
        simulate(self, now, &mut ()).map(drop)
    }
    fn inject(&mut self, packet: Packet) -> Result<(), Stuck> {
        inject(self, packet, &mut ())
    }
    fn poll_port(&mut self) -> Option<(HostId, Packet)> {
        Self::poll_port(self)
    }
    fn next_event(&mut self) -> Option<Instant> {
        Self::next_event(self)
    }
}

/// What a network's ports lead to.
pub trait PortIo {
    /// What becomes readable when a packet has come.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;
    /// The next packet that has come, addressed for the network; `None` if none waits.
    fn receive(&mut self) -> Option<Packet>;
    /// Sends a packet that left through this host's port. What the system refuses is lost, as on
    /// any wire.
    fn send(&mut self, host: HostId, packet: Packet);
}

/// Drives a network from now on for as long as it shall last, or until somebody sets `stop`.
/// Time begins at zero.
///
/// # Errors
/// If the network cannot go on.
pub fn drive<W: RealtimeNetwork>(
    network: &mut W,
    ports: &mut dyn PortIo,
    duration: Duration,
    stop: &AtomicBool,
) -> Result<Lateness, W::Error> {
    // Without it a sleep ends 50 µs later; where it is refused that shows as lateness.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let clock = Clock::start_at(Instant::ZERO);
    let end = Instant::ZERO + duration;
    let mut lateness = Lateness::default();
    loop {
        let now = clock.now().min(end);
        let due = network.next_event().filter(|due| *due <= now);
        network.advance(now)?;
        if let Some(due) = due {
            lateness.record(now.since(due));
        }
        send(network, ports);
        if now >= end || stop.load(Ordering::Relaxed) {
            return Ok(lateness);
        }
        if receive(network, ports, &clock, end)? {
            continue;
        }
        let due = network.next_event().unwrap_or(Instant::FAR_FUTURE).min(end);
        wait(ports, due.since(clock.now()).as_nanos());
    }
}

fn send<W: RealtimeNetwork>(network: &mut W, ports: &mut dyn PortIo) {
    while let Some((host, packet)) = network.poll_port() {
        ports.send(host, packet);
    }
}

/// Takes some of the packets that have come; true if there were any.
fn receive<W: RealtimeNetwork>(
    network: &mut W,
    ports: &mut dyn PortIo,
    clock: &Clock,
    end: Instant,
) -> Result<bool, W::Error> {
    for taken in 0..BATCH {
        let Some(packet) = ports.receive() else {
            return Ok(taken > 0);
        };
        network.advance(clock.now().min(end))?;
        network.inject(packet)?;
        send(network, ports);
    }
    Ok(true)
}

/// Sleeps for this long, or until a packet comes.
fn wait(ports: &dyn PortIo, nanos: u64) {
    if nanos < SHORTEST_NANOS {
        std::thread::yield_now();
        return;
    }
    let nanos = (nanos - SHORTEST_NANOS / 2).min(LONGEST_NANOS);
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: nanos as _,
    };
    let descriptors = ports.descriptors();
    let mut waited: Vec<_> = descriptors
        .iter()
        .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
        .collect();
    // An interrupted sleep is a short one.
    let _ = poll(&mut waited, Some(&timeout));
}

//! Drives a simulated network in real time, with its ports connected to sockets or TUN devices.
//!
//! The simulator is the same as in virtual time: [`drive`] advances a [`RealtimeNetwork`] to the
//! current time whenever an event is due or a packet arrives. It measures how late events are
//! ([`Lateness`]), because on a busy machine the network behaves differently than configured.

mod flow_sockets;
mod ip_header;
mod lateness;
mod packet;
mod port_socket;
mod relay;
mod sent_times;
mod tun_devices;

pub use flow_sockets::{FlowSocket, FlowSockets};
pub use ip_header::tcp_flow;
pub use lateness::Lateness;
pub use relay::UdpRelay;
pub use tun_devices::TunDevices;

use crate::clock::Clock;
use crate::timer::Timer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use weir_proto::packet::{HostId, Packet};
use weir_proto::time::{Duration, Instant};

/// The longest sleep, after which the driver checks whether it should stop.
const MAX_SLEEP_NANOS: u64 = 50_000_000;
/// Packets to receive before the next events are processed.
const PACKETS_PER_TURN: usize = 64;

/// A simulated network with ports, advanced in real time.
pub trait RealtimeNetwork {
    /// The reason why the simulation cannot continue.
    type Error;
    /// Processes all events up to and including `now`.
    ///
    /// # Errors
    /// If the simulation cannot continue.
    fn advance(&mut self, now: Instant) -> Result<(), Self::Error>;
    /// Inserts a packet through the port of the host that is its source.
    ///
    /// # Errors
    /// If the simulation cannot continue.
    fn inject(&mut self, packet: Packet) -> Result<(), Self::Error>;
    /// The next packet that leaves, and the host through whose port it leaves.
    fn poll_port(&mut self) -> Option<(HostId, Packet)>;
    /// When the next event is due.
    fn next_event(&mut self) -> Option<Instant>;
}

/// The sockets or devices to which a network's ports are connected.
pub trait PortIo {
    /// The descriptors that become readable when a packet has arrived.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;
    /// The next received packet, addressed between hosts of the network; `None` if there is none.
    fn receive(&mut self) -> Option<Packet>;
    /// Sends a packet that left through this host's port. If the system refuses it, it is lost, as
    /// on any path.
    fn send(&mut self, host: HostId, packet: Packet);
}

/// Drives a network for `duration`, or until `stop` is set. The network's time begins at zero.
///
/// # Errors
/// If the simulation cannot continue.
pub fn drive<W: RealtimeNetwork>(
    network: &mut W,
    ports: &mut dyn PortIo,
    duration: Duration,
    stop: &AtomicBool,
) -> Result<Lateness, W::Error> {
    // With the default timer slack a sleep ends up to 50 µs late. If the system refuses, events are
    // later.
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

/// Injects some of the received packets; true if there were any.
fn receive<W: RealtimeNetwork>(
    network: &mut W,
    ports: &mut dyn PortIo,
    clock: &Clock,
    end: Instant,
) -> Result<bool, W::Error> {
    for taken in 0..PACKETS_PER_TURN {
        let Some(packet) = ports.receive() else {
            return Ok(taken > 0);
        };
        network.advance(clock.now().min(end))?;
        network.inject(packet)?;
        send(network, ports);
    }
    Ok(true)
}

/// Sleeps for `nanos`, or until a packet arrives.
fn wait(ports: &dyn PortIo, nanos: u64) {
    if nanos < Timer::MIN_SLEEP_NANOS {
        std::thread::yield_now();
        return;
    }
    let nanos = (nanos - Timer::MIN_SLEEP_NANOS / 2).min(MAX_SLEEP_NANOS);
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: nanos as _,
    };
    let descriptors = ports.descriptors();
    let mut waited: Vec<_> = descriptors
        .iter()
        .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
        .collect();
    // If a signal interrupts the sleep, the caller sleeps again.
    let _ = poll(&mut waited, Some(&timeout));
}

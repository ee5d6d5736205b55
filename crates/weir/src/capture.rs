//! `--pcap FILE`: captures the packets of sockets or devices.
//!
//! Each datagram is passed to a writer thread; if that thread is too slow, datagrams are dropped
//! from the capture and counted, as in tcpdump, because waiting would affect the measurement. A
//! socket does not report the hop limit and the identification of IP: they are 64 and 0.

use crate::exit::Failure;
use crate::terminal;
use crate::whole_writes::WholeWrites;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use weir_lab::fault::CaughtThread;
use weir_lab::headers::{self, IpHeaders, IpProtocol};
use weir_lab::trace::pcapng::{CapturedPacket, Interface, InterfaceId, PcapngWriter};
use weir_wire::{Direction, Tap, TappedDatagram};

/// The number of packets queued for the thread.
const QUEUE_LIMIT: usize = 1 << 14;
/// A socket does not report the hop limit (TTL) of IP.
const HOP_LIMIT: u8 = 64;

/// A capture in progress.
pub struct PacketCapture {
    path: PathBuf,
    queue: Arc<Queue>,
    thread: CaughtThread<io::Result<u64>>,
}

/// A packet queued for the thread.
struct QueuedPacket {
    at: Instant,
    direction: headers::Direction,
    /// The IP and UDP headers that a socket removes; `None` for a whole packet.
    headers: Option<IpHeaders>,
    octets: Vec<u8>,
}

/// The sockets' end of the queue to the thread.
#[derive(Debug)]
struct Queue {
    /// `None` in place of a packet ends the file.
    packets: SyncSender<Option<QueuedPacket>>,
    dropped: AtomicU64,
}

impl PacketCapture {
    /// Starts a file with these interfaces.
    pub fn start(
        path: &Path,
        interfaces: Vec<Interface>,
        snap_octets: u32,
    ) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            let path = path.display();
            Failure::Usage(format!("cannot write the capture \"{path}\": {error}"))
        };
        let out = WholeWrites::new(File::create(path).map_err(failed)?);
        let application = concat!("weir ", env!("CARGO_PKG_VERSION"));
        let mut writer = PcapngWriter::new(out, application, snap_octets).map_err(failed)?;
        let mut ids = Vec::new();
        for interface in interfaces {
            ids.push((
                writer.add_interface(&interface).map_err(failed)?,
                interface.address,
            ));
        }
        let (packets, receiver) = sync_channel(QUEUE_LIMIT);
        let file = CaptureFile {
            writer,
            interfaces: ids,
            start: Instant::now(),
            start_since_1970: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
            octets: Vec::new(),
        };
        Ok(Self {
            path: path.to_owned(),
            queue: Arc::new(Queue {
                packets,
                dropped: AtomicU64::new(0),
            }),
            thread: CaughtThread::start(move || file.write_all(&receiver))?,
        })
    }

    /// Starts a file with one interface, for packets with any address.
    pub fn on_one(path: &Path, interface: &str, snap_octets: u32) -> Result<Self, Failure> {
        let interface = Interface {
            name: interface.to_owned(),
            address: None,
        };
        Self::start(path, vec![interface], snap_octets)
    }

    /// Captures a whole IP packet of a device.
    pub fn packet(&self, direction: Direction, octets: &[u8]) {
        self.queue.push(QueuedPacket {
            at: Instant::now(),
            direction: direction_of(direction),
            headers: None,
            octets: octets.to_vec(),
        });
    }

    /// Captures the datagrams of a socket.
    pub fn tap(&self) -> Arc<dyn Tap> {
        Arc::clone(&self.queue) as Arc<dyn Tap>
    }

    /// Completes the file, and prints its number of packets.
    pub fn finish(self) -> Result<(), Failure> {
        // If the thread has ended with an error, the error is returned below.
        let _ = self.queue.packets.send(None);
        let path = self.path.display();
        let packets = self.thread.join()?.map_err(|error| {
            Failure::Failed(format!("cannot write the capture \"{path}\": {error}"))
        })?;
        let text = match self.queue.dropped.load(Ordering::Relaxed) {
            0 => format!("{path}: {packets} packets"),
            dropped => format!("{path}: {packets} packets, {dropped} more were too fast for it"),
        };
        terminal::status(&text);
        Ok(())
    }
}

const fn direction_of(direction: Direction) -> headers::Direction {
    match direction {
        Direction::Received => headers::Direction::Inbound,
        Direction::Sent => headers::Direction::Outbound,
    }
}

impl Queue {
    fn push(&self, packet: QueuedPacket) {
        if let Err(TrySendError::Full(_)) = self.packets.try_send(Some(packet)) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Tap for Queue {
    fn datagram(&self, datagram: &TappedDatagram<'_>) {
        self.push(QueuedPacket {
            at: datagram.at,
            direction: direction_of(datagram.direction),
            headers: Some(IpHeaders {
                source: datagram.from,
                destination: datagram.to,
                ecn: datagram.ecn,
                ttl: HOP_LIMIT,
                id: 0,
            }),
            octets: datagram.octets.to_vec(),
        });
    }
}

/// The writer thread's part of a capture.
struct CaptureFile {
    writer: PcapngWriter<WholeWrites>,
    interfaces: Vec<(InterfaceId, Option<IpAddr>)>,
    start: Instant,
    start_since_1970: Duration,
    octets: Vec<u8>,
}

impl CaptureFile {
    /// Writes packets until the end of the capture; returns their number.
    fn write_all(mut self, queue: &Receiver<Option<QueuedPacket>>) -> io::Result<u64> {
        let mut packets = 0;
        while let Ok(Some(packet)) = queue.recv() {
            packets += u64::from(self.write(&packet)?);
        }
        self.writer.finish()?;
        Ok(packets)
    }

    /// Writes a packet; false if it has no interface or is too long for an IP packet.
    fn write(&mut self, packet: &QueuedPacket) -> io::Result<bool> {
        let own = packet.headers.map(|headers| match packet.direction {
            headers::Direction::Inbound => headers.destination.ip(),
            headers::Direction::Outbound => headers.source.ip(),
        });
        let mut interfaces = self.interfaces.iter();
        let owner = interfaces.find(|(_, address)| own.is_some() && *address == own);
        let Some((interface, _)) = owner.or(self.interfaces.first()) else {
            return Ok(false);
        };
        self.octets.clear();
        match packet.headers {
            None => self.octets.extend_from_slice(&packet.octets),
            Some(headers) => {
                let protocol = ip_protocol(&headers);
                let wrapped = headers.wrap(protocol, &packet.octets, &mut self.octets);
                if wrapped.is_err() {
                    return Ok(false);
                }
            }
        }
        let time = self.start_since_1970 + packet.at.saturating_duration_since(self.start);
        self.writer.write(&CapturedPacket {
            interface: *interface,
            nanos: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
            direction: packet.direction,
            octets: &self.octets,
        })?;
        Ok(true)
    }
}

/// The encapsulation of DCCP: without UDP there are no ports.
const fn ip_protocol(headers: &IpHeaders) -> IpProtocol {
    match (headers.source.port(), headers.destination.port()) {
        (0, 0) => IpProtocol::Dccp,
        _ => IpProtocol::Udp,
    }
}

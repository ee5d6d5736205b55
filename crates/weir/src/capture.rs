//! `--pcap FILE`: what passes through sockets or devices, as a capture.
//!
//! Each datagram is handed to a thread that writes; when that thread is too slow, datagrams
//! are left out and counted, as tcpdump does, because waiting would change what is measured. A
//! socket does not say the hop limit and the identification of IP: they are 64 and 0.

use crate::exit::Failure;
use crate::terminal;
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use weir_lab::headers::{self, IpHeaders, IpProtocol};
use weir_lab::trace::pcapng::{CapturedPacket, Interface, InterfaceId, PcapngWriter};
use weir_wire::{Direction, Tap, TappedDatagram};

/// Datagrams that may wait for the thread.
const UNDER_WAY: usize = 1 << 14;
const HOP_LIMIT: u8 = 64;

/// A capture while it goes on.
pub struct PacketCapture {
    path: PathBuf,
    tap: Arc<Sender>,
    thread: JoinHandle<io::Result<u64>>,
}

/// A place at which packets are seen, and its own address, if it is known.
pub type Place = (String, Option<IpAddr>);

/// A packet on its way to the thread; none ends the file.
type Item = Option<Seen>;

struct Seen {
    at: Instant,
    direction: headers::Direction,
    /// What UDP carried, with its addresses, if it is no whole packet.
    headers: Option<IpHeaders>,
    octets: Vec<u8>,
}

/// Where datagrams come in.
#[derive(Debug)]
struct Sender {
    items: SyncSender<Item>,
    dropped: AtomicU64,
}

impl PacketCapture {
    /// Begins a file with an interface for each place.
    pub fn start(path: &Path, places: &[Place], snap_octets: u32) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            let path = path.display();
            Failure::Usage(format!("cannot write the capture \"{path}\": {error}"))
        };
        let file = File::create(path).map_err(failed)?;
        let application = concat!("weir ", env!("CARGO_PKG_VERSION"));
        let out = BufWriter::new(file);
        let mut writer = PcapngWriter::new(out, application, snap_octets).map_err(failed)?;
        let mut interfaces = Vec::new();
        for (name, address) in places {
            let interface = Interface {
                name: name.clone(),
                address: *address,
            };
            interfaces.push((writer.add_interface(&interface).map_err(failed)?, *address));
        }
        let (items, queue) = sync_channel(UNDER_WAY);
        let tap = Arc::new(Sender {
            items,
            dropped: AtomicU64::new(0),
        });
        let began = (Instant::now(), SystemTime::now());
        let thread = std::thread::spawn(move || write(writer, &interfaces, began, &queue));
        Ok(Self {
            path: path.to_owned(),
            tap,
            thread,
        })
    }

    /// Sees a whole IP packet that came or left.
    pub fn packet(&self, direction: Direction, octets: &[u8]) {
        self.tap.push(Seen {
            at: Instant::now(),
            direction: direction_of(direction),
            headers: None,
            octets: octets.to_vec(),
        });
    }

    /// What the options of a socket take.
    pub fn tap(&self) -> Arc<dyn Tap> {
        Arc::clone(&self.tap) as Arc<dyn Tap>
    }

    /// Completes the file, and says what is in it.
    pub fn finish(self) -> Result<(), Failure> {
        // A thread that has ended on a fault takes nothing any more, and has an error to tell.
        let _ = self.tap.items.send(None);
        let path = self.path.display();
        let written = self.thread.join().unwrap_or_else(|_| {
            let message = "the thread that writes it has ended";
            Err(io::Error::other(message))
        });
        let packets = written.map_err(|error| {
            Failure::Failed(format!("cannot write the capture \"{path}\": {error}"))
        })?;
        let text = match self.tap.dropped.load(Ordering::Relaxed) {
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

impl Sender {
    fn push(&self, seen: Seen) {
        if let Err(TrySendError::Full(_)) = self.items.try_send(Some(seen)) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Tap for Sender {
    fn datagram(&self, datagram: &TappedDatagram<'_>) {
        let headers = IpHeaders {
            source: datagram.from,
            destination: datagram.to,
            ecn: datagram.ecn,
            ttl: HOP_LIMIT,
            id: 0,
        };
        self.push(Seen {
            at: datagram.at,
            direction: direction_of(datagram.direction),
            headers: Some(headers),
            octets: datagram.octets.to_vec(),
        });
    }
}

/// What carries DCCP: without UDP there are no ports.
const fn ip_protocol(headers: &IpHeaders) -> IpProtocol {
    match (headers.source.port(), headers.destination.port()) {
        (0, 0) => IpProtocol::Dccp,
        _ => IpProtocol::Udp,
    }
}

/// Writes what comes until the end of the capture; returns the number of packets.
fn write(
    mut writer: PcapngWriter<BufWriter<File>>,
    interfaces: &[(InterfaceId, Option<IpAddr>)],
    began: (Instant, SystemTime),
    queue: &Receiver<Item>,
) -> io::Result<u64> {
    let since_1970 = began.1.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut octets = Vec::new();
    let mut packets = 0;
    while let Ok(Some(seen)) = queue.recv() {
        let time = since_1970 + seen.at.saturating_duration_since(began.0);
        let own = seen.headers.map(|headers| match seen.direction {
            headers::Direction::Inbound => headers.destination.ip(),
            headers::Direction::Outbound => headers.source.ip(),
        });
        let place = interfaces
            .iter()
            .find(|(_, address)| own.is_some() && *address == own);
        let Some((interface, _)) = place.or(interfaces.first()) else {
            continue;
        };
        octets.clear();
        match seen.headers {
            None => octets.extend_from_slice(&seen.octets),
            Some(headers) => {
                let wrapped = headers.wrap(ip_protocol(&headers), &seen.octets, &mut octets);
                if wrapped.is_err() {
                    continue;
                }
            }
        }
        writer.write(&CapturedPacket {
            interface: *interface,
            nanos: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
            direction: seen.direction,
            octets: &octets,
        })?;
        packets += 1;
    }
    writer.finish()?;
    Ok(packets)
}

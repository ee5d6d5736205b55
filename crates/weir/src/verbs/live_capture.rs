//! `--pcap FILE` of `serve` and `send`: what passes through the socket, as a capture.
//!
//! The hub hands each datagram to a thread that writes; when that thread is too slow, datagrams
//! are left out and counted, as tcpdump does, because waiting would change what is measured. The
//! socket does not say the hop limit and the identification of IP: they are 64 and 0.

use crate::exit::Failure;
use crate::terminal;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use weir_lab::trace::headers::{Carrier, Envelope};
use weir_lab::trace::pcapng::{self, CapturedPacket, Interface, InterfaceId, PcapngWriter};
use weir_wire::{Direction, Tap, TappedDatagram};

/// Datagrams that may wait for the thread.
const UNDER_WAY: usize = 1 << 14;
const HOP_LIMIT: u8 = 64;

/// A capture while it goes on.
pub struct LiveCapture {
    path: PathBuf,
    tap: Arc<Sender>,
    thread: JoinHandle<io::Result<u64>>,
}

/// A datagram on its way to the thread; none ends the file.
type Item = Option<(Instant, pcapng::Direction, Envelope, Vec<u8>)>;

/// Where datagrams come in.
#[derive(Debug)]
struct Sender {
    items: SyncSender<Item>,
    dropped: AtomicU64,
}

impl LiveCapture {
    /// Begins a file with an interface of this name, on which this carries DCCP.
    pub fn start(
        path: &Path,
        name: &str,
        snap_octets: u32,
        carrier: Carrier,
    ) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            let path = path.display();
            Failure::Usage(format!("cannot write the capture \"{path}\": {error}"))
        };
        let file = File::create(path).map_err(failed)?;
        let application = concat!("weir ", env!("CARGO_PKG_VERSION"));
        let out = BufWriter::new(file);
        let mut writer = PcapngWriter::new(out, application, snap_octets).map_err(failed)?;
        let interface = Interface {
            name: name.to_owned(),
            address: None,
        };
        let interface = writer.add_interface(&interface).map_err(failed)?;
        let (items, queue) = sync_channel(UNDER_WAY);
        let tap = Arc::new(Sender {
            items,
            dropped: AtomicU64::new(0),
        });
        let began = (Instant::now(), SystemTime::now());
        let thread = std::thread::spawn(move || write(writer, (interface, carrier), began, &queue));
        Ok(Self {
            path: path.to_owned(),
            tap,
            thread,
        })
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
        terminal::say(&text);
        Ok(())
    }
}

impl Tap for Sender {
    fn datagram(&self, datagram: &TappedDatagram<'_>) {
        let envelope = Envelope {
            source: datagram.from,
            destination: datagram.to,
            ecn: datagram.ecn,
            ttl: HOP_LIMIT,
            id: 0,
        };
        let direction = match datagram.direction {
            Direction::Received => pcapng::Direction::Inbound,
            Direction::Sent => pcapng::Direction::Outbound,
        };
        let item = (datagram.at, direction, envelope, datagram.octets.to_vec());
        if let Err(TrySendError::Full(_)) = self.items.try_send(Some(item)) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes what comes until the end of the capture; returns the number of packets.
fn write(
    mut writer: PcapngWriter<BufWriter<File>>,
    (interface, carrier): (InterfaceId, Carrier),
    began: (Instant, SystemTime),
    queue: &Receiver<Item>,
) -> io::Result<u64> {
    let since_1970 = began.1.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut octets = Vec::new();
    let mut packets = 0;
    while let Ok(Some((at, direction, envelope, content))) = queue.recv() {
        let time = since_1970 + at.saturating_duration_since(began.0);
        octets.clear();
        if envelope.wrap(carrier, &content, &mut octets).is_err() {
            continue;
        }
        writer.write(&CapturedPacket {
            interface,
            nanos: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
            direction,
            octets: &octets,
        })?;
        packets += 1;
    }
    writer.finish()?;
    Ok(packets)
}

//! Reads DCCP packets from capture files: pcap and pcapng, also compressed with gzip.
//!
//! The file is read as a stream, one frame at a time, so memory does not grow with its size. Frames
//! of Ethernet (with VLAN tags, also stacked), Linux cooked capture (both versions), BSD loopback
//! and raw IP are followed through IPv4, or IPv6 and its extension headers, to protocol 33 or to
//! UDP port 6511 (RFC 6773). The length is that of the IP header, so that Ethernet padding is not
//! read as payload.
//!
//! DCCP that cannot be decoded is a [`ListingRow`] with the reason. An error of the file itself is
//! a [`CaptureError`], after the rows before it.
//!
//! A frame of pcapng is a packet block; tshark also numbers custom and journal blocks.
//!
//! Times keep every digit of the file and are never converted to floats.
//!
//! Does not model: reassembly of IP fragments (each is reported as malformed), tunnels, packets
//! quoted by ICMP, IPv6 jumbograms.
//!
//! Sources: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng, the list of link types of
//! tcpdump.org, RFC 791, RFC 8200 §4, RFC 6773 §3.3.

mod byte_stream;
mod link;
mod listing;
mod pcap;
mod pcapng;
mod row;
mod timestamp;

pub(in crate::trace) use link::{ENCAPSULATION_PORT, Fragment, find_ip, is_known};
pub use link::{IpPayload, find_dccp, find_dccp_at};
pub use listing::{Listing, ListingError, ListingFormat};
pub use row::{DecodedPacket, ListingRow};
pub use timestamp::Timestamp;

use crate::scenario::files::open_input;
use byte_stream::ByteStream;
use pcap::Pcap;
use pcapng::Pcapng;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

/// The maximum length of a frame or block. Real frames are below 256 KiB; a file with a larger
/// length is damaged.
const MAX_OCTETS: u32 = 16 << 20;

/// An open capture file.
pub struct Capture {
    source: ByteStream,
    format: Format,
    buffer: Vec<u8>,
    frames: u64,
    udp_port: u16,
}

/// One frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Its number in the file, from 1, counting frames of all protocols.
    pub number: u64,
    /// Time of capture, if the file has it.
    pub time: Option<Timestamp>,
    /// The link type, as in the list of tcpdump.org.
    pub link: u16,
    /// The interface: pcapng's number of it, 0 in pcap, which has one.
    pub interface: u32,
    /// The captured octets.
    pub bytes: &'a [u8],
}

/// Why a file cannot be read, or not completely.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// It cannot be opened.
    #[error("cannot be opened: {0}")]
    Open(#[source] io::Error),
    /// It is neither pcap nor pcapng; with the octets found.
    #[error("is not a capture file: {0}; pcap and pcapng are read, also packed with gzip")]
    NotACapture(String),
    /// Reading failed, or the gzip stream is damaged.
    #[error("cannot be read further after frame {frames}: {error}")]
    Read {
        /// The number of frames read before.
        frames: u64,
        /// What the system or the decompressor reports.
        #[source]
        error: io::Error,
    },
    /// Its structure is damaged.
    #[error("is damaged after frame {frames}, at octet {octet}: {message}")]
    Damaged {
        /// The number of frames read before.
        frames: u64,
        /// The offset in the (decompressed) file at which the damage was detected.
        octet: u64,
        /// The problem.
        message: String,
    },
    /// A frame's link type is not one of those in the module's description.
    #[error(
        "frame {frame} has link type {link}, which is not read; known are Ethernet (1), raw IP \
         (101, 228, 229), Linux cooked (113, 276) and BSD loopback (0, 108)"
    )]
    LinkType {
        /// The frame.
        frame: u64,
        /// Its link type.
        link: u16,
    },
}

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// A frame as its file format describes it; the octets are in the buffer.
struct Record {
    time: Option<Timestamp>,
    link: u16,
    interface: u32,
    bytes: Range<usize>,
}

/// The error of a format's reader; [`Capture`] adds frame and octet.
enum ReadFault {
    Read(io::Error),
    Damaged(String),
}

impl From<io::Error> for ReadFault {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl Capture {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// If there is no such file or it is not a capture.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        if path.as_os_str() == "-" {
            return Self::from_reader(io::stdin().lock());
        }
        Self::from_reader(open_input(path).map_err(CaptureError::Open)?)
    }

    /// Reads a capture from any source of octets.
    ///
    /// # Errors
    /// If the octets are not a capture.
    pub fn from_reader(reader: impl Read + 'static) -> Result<Self, CaptureError> {
        let mut source = ByteStream::new(reader).map_err(CaptureError::Open)?;
        let mut magic = [0; 4];
        let octets = source.fill(&mut magic).map_err(not_a_capture)?;
        let format = if octets < magic.len() {
            Err(format!("it has only {octets} octets"))
        } else if magic == pcapng::MAGIC {
            Ok(Format::Pcapng(Pcapng::default()))
        } else if let Some(pcap) = Pcap::from_magic(magic) {
            pcap.read_header(&mut source).map(Format::Pcap)
        } else {
            let [a, b, c, d] = magic;
            Err(format!(
                "it starts with the octets {a:02x} {b:02x} {c:02x} {d:02x}"
            ))
        };
        let format = format.map_err(CaptureError::NotACapture)?;
        let mut capture = Self {
            source,
            format,
            buffer: Vec::new(),
            frames: 0,
            udp_port: ENCAPSULATION_PORT,
        };
        if let Format::Pcapng(pcapng) = &mut capture.format {
            pcapng
                .read_first_section(&mut capture.source, &mut capture.buffer)
                .map_err(CaptureError::NotACapture)?;
        }
        Ok(capture)
    }

    /// Reads UDP at this port, instead of 6511, as DCCP.
    pub const fn set_udp_port(&mut self, port: u16) {
        self.udp_port = port;
    }

    /// The number of frames read so far.
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// The next frame of any protocol; `None` at the end.
    ///
    /// # Errors
    /// If the file is damaged or ends inside a frame.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        let record = self.next_record()?;
        Ok(record.map(|record| self.frame(&record)))
    }

    /// The next frame with a DCCP packet, well-formed or not; `None` at the end.
    ///
    /// # Errors
    /// If the file is damaged, ends inside a frame, or has an unsupported link type.
    pub fn next_row(&mut self) -> Result<Option<ListingRow<'_>>, CaptureError> {
        let record = loop {
            let Some(record) = self.next_record()? else {
                return Ok(None);
            };
            let frame = self.frame(&record);
            if !is_known(frame.link) {
                return Err(CaptureError::LinkType {
                    frame: frame.number,
                    link: frame.link,
                });
            }
            let found = find_dccp_at(self.udp_port, frame.link, frame.bytes);
            if !matches!(found, Ok(None)) {
                break record;
            }
        };
        Ok(ListingRow::of_frame(&self.frame(&record), self.udp_port))
    }

    fn next_record(&mut self) -> Result<Option<Record>, CaptureError> {
        let record = match &mut self.format {
            Format::Pcap(pcap) => pcap.next(&mut self.source, &mut self.buffer),
            Format::Pcapng(pcapng) => pcapng.next(&mut self.source, &mut self.buffer),
        };
        let frames = self.frames;
        let record = record.map_err(|fault| match fault {
            ReadFault::Read(error) => CaptureError::Read { frames, error },
            ReadFault::Damaged(message) => CaptureError::Damaged {
                frames,
                octet: self.source.octets(),
                message,
            },
        })?;
        self.frames += u64::from(record.is_some());
        Ok(record)
    }

    fn frame(&self, record: &Record) -> Frame<'_> {
        Frame {
            number: self.frames,
            time: record.time,
            link: record.link,
            interface: record.interface,
            bytes: self.buffer.get(record.bytes.clone()).unwrap_or_default(),
        }
    }
}

fn not_a_capture(error: io::Error) -> CaptureError {
    CaptureError::NotACapture(error.to_string())
}

impl CaptureError {
    /// True if the file does not exist or is not a capture; false if reading failed later.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Open(_) | Self::NotACapture(_))
    }
}

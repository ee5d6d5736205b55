//! Writes captures in the block format, like Wireshark and tcpdump: a section header, an interface
//! for each point of capture, and the packets of all of them in one file.
//!
//! Every interface is raw IP (LINKTYPE_RAW) with a clock in nanoseconds; each packet has its
//! direction (epb_flags). Source: draft-ietf-opsawg-pcapng §4. The reader is `capture`.
//!
//! Does not model: statistics blocks, comments, secrets for decryption.

use crate::headers::Direction;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};

pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(super) const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
const NAME_RESOLUTION: u32 = 4;
pub(super) const ENHANCED_PACKET: u32 = 6;

/// Packets begin with their IP header.
const LINKTYPE_RAW: u16 = 101;
/// Ticks of 10^-9 s.
const NANOSECONDS: u8 = 9;

pub(super) const OPTION_END: u16 = 0;
const OPTION_APPLICATION: u16 = 4;
const OPTION_NAME: u16 = 2;
const OPTION_IPV4_ADDRESS: u16 = 4;
const OPTION_IPV6_ADDRESS: u16 = 5;
pub(super) const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_FLAGS: u16 = 2;
const RECORD_IPV4: u16 = 1;
const RECORD_IPV6: u16 = 2;

/// A capture file under construction.
#[derive(Debug)]
pub struct PcapngWriter<W: Write> {
    out: W,
    interfaces: u32,
    snap_octets: u32,
    /// The body of the current block; its allocation is reused.
    body: Vec<u8>,
    /// The whole block; its allocation is reused.
    block: Vec<u8>,
}

/// A point of capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The name of its host.
    pub name: String,
    /// The address of its host, if it has one.
    pub address: Option<IpAddr>,
}

/// The number of an interface in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceId(u32);

/// A captured packet.
#[derive(Clone, Copy, Debug)]
pub struct CapturedPacket<'a> {
    /// The point of capture.
    pub interface: InterfaceId,
    /// Time of capture in nanoseconds since 1970.
    pub nanos: u64,
    /// Its direction.
    pub direction: Direction,
    /// The packet, starting with its IP header.
    pub octets: &'a [u8],
}

impl<W: Write> PcapngWriter<W> {
    /// Starts a file with the name of the program that writes it. At most `snap_octets` of each
    /// packet are kept; zero keeps all.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn new(out: W, application: &str, snap_octets: u32) -> io::Result<Self> {
        let mut writer = Self {
            out,
            interfaces: 0,
            snap_octets,
            body: Vec::new(),
            block: Vec::new(),
        };
        writer.put_u32(BYTE_ORDER_MAGIC);
        writer.put_u16(1);
        writer.put_u16(0);
        // The length of the section: unknown.
        writer.body.extend_from_slice(&u64::MAX.to_le_bytes());
        writer.put_option(OPTION_APPLICATION, application.as_bytes());
        writer.put_option(OPTION_END, &[]);
        writer.end_block(SECTION_HEADER)?;
        Ok(writer)
    }

    /// Adds an interface; call it before the first packet of the interface.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn add_interface(&mut self, interface: &Interface) -> io::Result<InterfaceId> {
        self.put_u16(LINKTYPE_RAW);
        self.put_u16(0);
        self.put_u32(self.snap_octets);
        self.put_option(OPTION_NAME, interface.name.as_bytes());
        match interface.address {
            Some(IpAddr::V4(address)) => {
                let mask = Ipv4Addr::new(255, 0, 0, 0).octets();
                let value = [address.octets(), mask].concat();
                self.put_option(OPTION_IPV4_ADDRESS, &value);
            }
            Some(IpAddr::V6(address)) => {
                let mut value = address.octets().to_vec();
                value.push(64);
                self.put_option(OPTION_IPV6_ADDRESS, &value);
            }
            None => {}
        }
        self.put_option(OPTION_TIME_RESOLUTION, &[NANOSECONDS]);
        self.put_option(OPTION_END, &[]);
        self.end_block(INTERFACE_DESCRIPTION)?;
        let id = InterfaceId(self.interfaces);
        self.interfaces += 1;
        Ok(id)
    }

    /// Adds names of addresses, for readers that show names.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn add_names<'a>(
        &mut self,
        names: impl Iterator<Item = (IpAddr, &'a str)>,
    ) -> io::Result<()> {
        for (address, name) in names {
            let (kind, mut value) = match address {
                IpAddr::V4(address) => (RECORD_IPV4, address.octets().to_vec()),
                IpAddr::V6(address) => (RECORD_IPV6, address.octets().to_vec()),
            };
            value.extend_from_slice(name.as_bytes());
            value.push(0);
            self.put_option(kind, &value);
        }
        self.put_option(OPTION_END, &[]);
        self.end_block(NAME_RESOLUTION)
    }

    /// Appends a packet.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write(&mut self, packet: &CapturedPacket<'_>) -> io::Result<()> {
        let whole = packet.octets.len();
        let kept = match self.snap_octets as usize {
            0 => whole,
            limit => whole.min(limit),
        };
        self.put_u32(packet.interface.0);
        self.put_u32((packet.nanos >> 32) as u32);
        self.put_u32(packet.nanos as u32);
        self.put_u32(kept as u32);
        self.put_u32(whole as u32);
        self.put_padded(packet.octets.get(..kept).unwrap_or_default());
        let flags: u32 = match packet.direction {
            Direction::Inbound => 1,
            Direction::Outbound => 2,
        };
        self.put_option(OPTION_FLAGS, &flags.to_le_bytes());
        self.put_option(OPTION_END, &[]);
        self.end_block(ENHANCED_PACKET)
    }

    /// Flushes the output and returns it.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn put_u16(&mut self, number: u16) {
        self.body.extend_from_slice(&number.to_le_bytes());
    }

    fn put_u32(&mut self, number: u32) {
        self.body.extend_from_slice(&number.to_le_bytes());
    }

    /// Octets, padded to 32 bits.
    fn put_padded(&mut self, octets: &[u8]) {
        self.body.extend_from_slice(octets);
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }

    /// Code, length, value. A value longer than its length field allows is truncated.
    fn put_option(&mut self, code: u16, value: &[u8]) {
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        self.put_u16(code);
        self.put_u16(length);
        self.put_padded(value.get(..usize::from(length)).unwrap_or_default());
    }

    /// Writes the type, the length, the body, and the length again.
    fn end_block(&mut self, kind: u32) -> io::Result<()> {
        let total = (self.body.len() + 12) as u32;
        // One call for each block, so that an output that keeps whole writes keeps whole blocks.
        self.block.clear();
        self.block.extend_from_slice(&kind.to_le_bytes());
        self.block.extend_from_slice(&total.to_le_bytes());
        self.block.append(&mut self.body);
        self.block.extend_from_slice(&total.to_le_bytes());
        self.out.write_all(&self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str) -> Interface {
        Interface {
            name: name.to_owned(),
            address: Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))),
        }
    }

    fn packet(interface: InterfaceId, octets: &[u8]) -> CapturedPacket<'_> {
        CapturedPacket {
            interface,
            nanos: 5_000_000_007,
            direction: Direction::Outbound,
            octets,
        }
    }

    #[test]
    fn lays_out_blocks_as_the_draft_says() {
        let mut writer = PcapngWriter::new(Vec::new(), "weir", 0).expect("written");
        let host = writer.add_interface(&interface("a")).expect("written");
        writer.write(&packet(host, &[0x45, 1, 2])).expect("written");
        let file = writer.finish().expect("flushed");
        #[rustfmt::skip]
        let expected = [
            // Section header: 1.0, of unknown length, shb_userappl, end of options.
            0x0a, 0x0d, 0x0d, 0x0a, 40, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
            4, 0, 4, 0, b'w', b'e', b'i', b'r', 0, 0, 0, 0, 40, 0, 0, 0,
            // Interface: raw IP, no limit, if_name, if_IPv4addr, if_tsresol, end of options.
            1, 0, 0, 0, 52, 0, 0, 0, 101, 0, 0, 0, 0, 0, 0, 0,
            2, 0, 1, 0, b'a', 0, 0, 0, 4, 0, 8, 0, 10, 0, 0, 1, 255, 0, 0, 0,
            9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 52, 0, 0, 0,
            // Packet: interface 0, high and low half of the time, captured and original length.
            6, 0, 0, 0, 48, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x07, 0xf2, 0x05, 0x2a,
            3, 0, 0, 0, 3, 0, 0, 0, 0x45, 1, 2, 0, 2, 0, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0,
            48, 0, 0, 0,
        ];
        assert_eq!(file, expected);
    }

    #[cfg(feature = "files")]
    #[test]
    fn our_own_reader_reads_back_times_links_and_octets() {
        use crate::trace::capture::Capture;
        let mut writer = PcapngWriter::new(Vec::new(), "weir", 4).expect("written");
        let hosts = ["client", "server"].map(|name| {
            let id = writer.add_interface(&interface(name));
            id.expect("written")
        });
        let names = [(IpAddr::V4(Ipv4Addr::LOCALHOST), "client")];
        writer.add_names(names.into_iter()).expect("written");
        for (host, octets) in hosts.into_iter().zip([&b"abc"[..], b"longer"]) {
            writer.write(&packet(host, octets)).expect("written");
        }
        let file = writer.finish().expect("flushed");
        let mut capture = Capture::from_reader(io::Cursor::new(file)).expect("a capture");
        for expected in [&b"abc"[..], b"long"] {
            let frame = capture.next_frame().expect("undamaged").expect("a frame");
            assert_eq!((frame.link, frame.bytes), (101, expected));
            let time = frame.time.map(|time| time.to_string());
            assert_eq!(time.as_deref(), Some("5.000000007"));
        }
        assert!(capture.next_frame().expect("undamaged").is_none());
    }
}

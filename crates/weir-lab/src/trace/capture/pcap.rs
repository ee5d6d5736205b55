//! The classic format: a header of 24 octets, then records with a header of 16 octets (both byte
//! orders, micro- and nanoseconds).

use super::byte_stream::ByteStream;
use super::{MAX_OCTETS, ReadFault, Record, Timestamp};

const MAGIC_MICROS: u32 = 0xa1b2_c3d4;
const MAGIC_NANOS: u32 = 0xa1b2_3c4d;
const HEADER_OCTETS: usize = 24;
const RECORD_HEADER_OCTETS: usize = 16;

/// Byte order of a file or section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    #[default]
    Little,
    Big,
}

impl Order {
    pub(super) const fn read_u32(self, octets: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(octets),
            Self::Big => u32::from_be_bytes(octets),
        }
    }

    pub(super) const fn read_u16(self, octets: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(octets),
            Self::Big => u16::from_be_bytes(octets),
        }
    }

    /// The next 32-bit number of `rest`.
    pub(super) fn take_u32(self, rest: &mut &[u8]) -> Option<u32> {
        let (octets, after) = rest.split_first_chunk()?;
        *rest = after;
        Some(self.read_u32(*octets))
    }

    /// The next 16-bit number of `rest`.
    pub(super) fn take_u16(self, rest: &mut &[u8]) -> Option<u16> {
        let (octets, after) = rest.split_first_chunk()?;
        *rest = after;
        Some(self.read_u16(*octets))
    }
}

/// A classic capture file.
pub(super) struct Pcap {
    order: Order,
    ticks_per_second: u64,
    link: u16,
}

impl Pcap {
    /// The format that the first four octets indicate; `None` for another format.
    pub(super) fn from_magic(magic: [u8; 4]) -> Option<Self> {
        [Order::Little, Order::Big].into_iter().find_map(|order| {
            let ticks_per_second = match order.read_u32(magic) {
                MAGIC_MICROS => 1_000_000,
                MAGIC_NANOS => 1_000_000_000,
                _ => return None,
            };
            Some(Self {
                order,
                ticks_per_second,
                link: 0,
            })
        })
    }

    /// Reads the rest of the file's header. The error contains the value found.
    pub(super) fn read_header(mut self, source: &mut ByteStream) -> Result<Self, String> {
        let mut header = [0; HEADER_OCTETS - 4];
        let octets = source
            .fill(&mut header)
            .map_err(|error| error.to_string())?;
        if octets < header.len() {
            return Err(format!(
                "a pcap header has {HEADER_OCTETS} octets, here are {}",
                octets + 4
            ));
        }
        let [major_a, major_b, .., a, b, c, d] = header;
        let major = self.order.read_u16([major_a, major_b]);
        if major != 2 {
            return Err(format!("pcap version {major}, not 2"));
        }
        // The upper half of the field is the length of the frame check sequence.
        self.link = self.order.read_u32([a, b, c, d]) as u16;
        Ok(self)
    }

    pub(super) fn next(
        &self,
        source: &mut ByteStream,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Record>, ReadFault> {
        let mut header = [0; RECORD_HEADER_OCTETS];
        match source.fill(&mut header)? {
            0 => return Ok(None),
            RECORD_HEADER_OCTETS => {}
            octets => {
                return Err(ReadFault::Damaged(format!(
                    "the file ends inside the header of a frame, {octets} octets of it are there"
                )));
            }
        }
        let mut rest = &header[..];
        let mut field = || self.order.take_u32(&mut rest).unwrap_or(0);
        let (seconds, ticks, captured) = (field(), field(), field());
        if captured > MAX_OCTETS {
            return Err(ReadFault::Damaged(format!(
                "a frame of {captured} octets; {MAX_OCTETS} are the most that is read"
            )));
        }
        if !source.read(captured, buffer)? {
            return Err(ReadFault::Damaged(format!(
                "the file ends inside a frame of {captured} octets, {} of them are there",
                buffer.len()
            )));
        }
        let time = Timestamp::new(seconds.into(), ticks.into(), self.ticks_per_second);
        Ok(Some(Record {
            time: Some(time),
            link: self.link,
            interface: 0,
            bytes: 0..buffer.len(),
        }))
    }
}

//! The block format: sections in either byte order, interfaces with their link type and clock,
//! and frames in enhanced, simple or (obsolete) packet blocks. Other blocks of any length
//! are skipped.

use super::byte_stream::ByteStream;
use super::pcap::Order;
use super::{MAX_OCTETS, ReadFault, Record, Timestamp};
use crate::trace::pcapng::{
    BYTE_ORDER_MAGIC, ENHANCED_PACKET, INTERFACE_DESCRIPTION, OPTION_END, OPTION_TIME_RESOLUTION,
    SECTION_HEADER,
};

/// The block type of a section header: the same in both byte orders.
pub(super) const MAGIC: [u8; 4] = SECTION_HEADER.to_be_bytes();

const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const OPTION_TIME_OFFSET: u16 = 14;

/// Block type and both lengths.
const FRAME_OCTETS: u32 = 12;
/// Limits the memory; no host has as many interfaces.
const MAX_INTERFACES: usize = 1 << 16;

/// A capture file in the block format.
#[derive(Default)]
pub(super) struct Pcapng {
    order: Order,
    interfaces: Vec<Interface>,
}

#[derive(Clone, Copy)]
struct Interface {
    link: u16,
    snapshot_octets: u32,
    time_resolution: u8,
    time_offset: i64,
}

impl Pcapng {
    /// Reads the section header whose type has been read. The error contains the value found.
    pub(super) fn read_first_section(
        &mut self,
        source: &mut ByteStream,
        buffer: &mut Vec<u8>,
    ) -> Result<(), String> {
        let mut length = [0; 4];
        let read = source.fill(&mut length).map_err(ReadFault::Read);
        let result = read.and_then(|_| self.read_section(length, source, buffer));
        result.map_err(|fault| match fault {
            ReadFault::Read(error) => error.to_string(),
            ReadFault::Damaged(message) => message,
        })
    }

    pub(super) fn next(
        &mut self,
        source: &mut ByteStream,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Record>, ReadFault> {
        loop {
            let mut head = [0; 8];
            match source.fill(&mut head)? {
                0 => return Ok(None),
                8 => {}
                octets => {
                    return Err(ReadFault::Damaged(format!(
                        "the file ends inside the head of a block, {octets} octets of it are there"
                    )));
                }
            }
            let [a, b, c, d, length @ ..] = head;
            let kind = self.order.read_u32([a, b, c, d]);
            match kind {
                SECTION_HEADER => self.read_section(length, source, buffer)?,
                INTERFACE_DESCRIPTION => {
                    self.read_block(kind, length, source, buffer)?;
                    self.add_interface(buffer)?;
                }
                PACKET | SIMPLE_PACKET | ENHANCED_PACKET => {
                    self.read_block(kind, length, source, buffer)?;
                    return self.record(kind, buffer).map(Some);
                }
                _ => self.skip_block(kind, length, source)?,
            }
        }
    }

    /// Reads a section header after its type and length: sets the byte order, clears the
    /// interfaces.
    fn read_section(
        &mut self,
        length: [u8; 4],
        source: &mut ByteStream,
        buffer: &mut Vec<u8>,
    ) -> Result<(), ReadFault> {
        let mut magic = [0; 4];
        source.fill(&mut magic)?;
        self.order = match magic {
            _ if Order::Little.read_u32(magic) == BYTE_ORDER_MAGIC => Order::Little,
            _ if Order::Big.read_u32(magic) == BYTE_ORDER_MAGIC => Order::Big,
            [a, b, c, d] => {
                return Err(ReadFault::Damaged(format!(
                    "a section header with byte-order magic {a:02x} {b:02x} {c:02x} {d:02x}"
                )));
            }
        };
        let total = self.order.read_u32(length);
        // Type, length, magic, version, section length and the length again.
        if total < 28 {
            return Err(ReadFault::Damaged(format!(
                "a section header of {total} octets; 28 are the least"
            )));
        }
        self.read_body(SECTION_HEADER, total, 4, source, buffer)?;
        let major = self.order.take_u16(&mut buffer.as_slice()).unwrap_or(0);
        if major != 1 {
            return Err(ReadFault::Damaged(format!("pcapng version {major}, not 1")));
        }
        self.interfaces.clear();
        Ok(())
    }

    fn read_block(
        &self,
        kind: u32,
        length: [u8; 4],
        source: &mut ByteStream,
        buffer: &mut Vec<u8>,
    ) -> Result<(), ReadFault> {
        self.read_body(kind, self.order.read_u32(length), 0, source, buffer)
    }

    /// Reads the body of a block except for the octets already `consumed`, and checks its end.
    fn read_body(
        &self,
        kind: u32,
        total: u32,
        consumed: u32,
        source: &mut ByteStream,
        buffer: &mut Vec<u8>,
    ) -> Result<(), ReadFault> {
        let body = body_octets(kind, total)?;
        if body > MAX_OCTETS {
            return Err(ReadFault::Damaged(format!(
                "a block of {total} octets (type {kind}); {MAX_OCTETS} are the most that is read"
            )));
        }
        let there = source.read(body.saturating_sub(consumed), buffer)?;
        self.check_end(kind, total, there, source)
    }

    fn skip_block(
        &self,
        kind: u32,
        length: [u8; 4],
        source: &mut ByteStream,
    ) -> Result<(), ReadFault> {
        let total = self.order.read_u32(length);
        let there = source.skip(body_octets(kind, total)?)?;
        self.check_end(kind, total, there, source)
    }

    /// Every block ends with a copy of its length.
    fn check_end(
        &self,
        kind: u32,
        total: u32,
        there: bool,
        source: &mut ByteStream,
    ) -> Result<(), ReadFault> {
        let mut trailer = [0; 4];
        if !there || source.fill(&mut trailer)? < trailer.len() {
            return Err(ReadFault::Damaged(format!(
                "the file ends inside a block of {total} octets (type {kind})"
            )));
        }
        match self.order.read_u32(trailer) {
            again if again == total => Ok(()),
            again => Err(ReadFault::Damaged(format!(
                "a block (type {kind}) begins with length {total} and ends with {again}"
            ))),
        }
    }

    fn add_interface(&mut self, body: &[u8]) -> Result<(), ReadFault> {
        if self.interfaces.len() >= MAX_INTERFACES {
            return Err(ReadFault::Damaged(format!(
                "more than {MAX_INTERFACES} interfaces"
            )));
        }
        let interface = self.interface(body);
        self.interfaces.push(interface.ok_or_else(|| {
            ReadFault::Damaged(format!(
                "an interface description of only {} octets",
                body.len()
            ))
        })?);
        Ok(())
    }

    fn interface(&self, body: &[u8]) -> Option<Interface> {
        let (order, mut rest) = (self.order, body);
        let link = order.take_u16(&mut rest)?;
        let _reserved = order.take_u16(&mut rest)?;
        let snapshot_octets = order.take_u32(&mut rest)?;
        // Without an option the clock counts microseconds since 1970.
        let mut interface = Interface {
            link,
            snapshot_octets,
            time_resolution: 6,
            time_offset: 0,
        };
        while let Some((code, value)) = self.take_option(&mut rest) {
            match (code, value) {
                (OPTION_TIME_RESOLUTION, &[resolution, ..]) => {
                    interface.time_resolution = resolution;
                }
                (OPTION_TIME_OFFSET, value) => {
                    if let Some(octets) = value.first_chunk() {
                        interface.time_offset = match order {
                            Order::Little => i64::from_le_bytes(*octets),
                            Order::Big => i64::from_be_bytes(*octets),
                        };
                    }
                }
                _ => {}
            }
        }
        Some(interface)
    }

    /// The next option of a list: code, length, value, padded to 32 bits.
    fn take_option<'a>(&self, rest: &mut &'a [u8]) -> Option<(u16, &'a [u8])> {
        let code = self
            .order
            .take_u16(rest)
            .filter(|code| *code != OPTION_END)?;
        let octets = usize::from(self.order.take_u16(rest)?);
        let value = rest.get(..octets)?;
        *rest = rest.get(octets.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    }

    fn record(&self, kind: u32, body: &[u8]) -> Result<Record, ReadFault> {
        let too_short = || {
            ReadFault::Damaged(format!(
                "a packet block with a body of {} octets",
                body.len()
            ))
        };
        let (order, mut rest) = (self.order, body);
        if kind == SIMPLE_PACKET {
            let original = order.take_u32(&mut rest).ok_or_else(too_short)?;
            let interface = self.find_interface(0)?;
            let captured = match interface.snapshot_octets {
                0 => original,
                limit => original.min(limit),
            };
            let captured = (captured as usize).min(rest.len());
            let start = body.len() - rest.len();
            return Ok(Record {
                time: None,
                link: interface.link,
                interface: 0,
                bytes: start..start + captured,
            });
        }
        let mut field = || order.take_u32(&mut rest).ok_or_else(too_short);
        let first = field()?;
        let (high, low, captured, _original) = (field()?, field()?, field()?, field()?);
        let number = match (kind, order) {
            // The obsolete block has a 16-bit interface and a 16-bit count of drops.
            (PACKET, Order::Little) => first & 0xffff,
            (PACKET, Order::Big) => first >> 16,
            _ => first,
        };
        let interface = self.find_interface(number)?;
        if captured as usize > rest.len() {
            return Err(ReadFault::Damaged(format!(
                "a packet block that says {captured} octets were captured and holds {}",
                rest.len()
            )));
        }
        let ticks = u64::from(high) << 32 | u64::from(low);
        let time = Timestamp::from_ticks(ticks, interface.time_resolution, interface.time_offset);
        let start = body.len() - rest.len();
        let bytes = start..start + captured as usize;
        Ok(Record {
            time: Some(time),
            link: interface.link,
            interface: number,
            bytes,
        })
    }

    fn find_interface(&self, number: u32) -> Result<Interface, ReadFault> {
        self.interfaces
            .get(number as usize)
            .copied()
            .ok_or_else(|| {
                ReadFault::Damaged(format!(
                    "a packet of interface {number}, which is not described"
                ))
            })
    }
}

/// The octets of a block's body, without type and lengths.
fn body_octets(kind: u32, total: u32) -> Result<u32, ReadFault> {
    match total.checked_sub(FRAME_OCTETS) {
        Some(body) if total.is_multiple_of(4) => Ok(body),
        _ => Err(ReadFault::Damaged(format!(
            "a block of {total} octets (type {kind}); blocks have 12 or more, a multiple of four"
        ))),
    }
}

//! Frames (RFC 9000 §19) as typed values with exact sizes.

use super::WireError;
use super::timestamps::ReceiveTimestamps;
use super::varint::{self, Reader};
use crate::packet::Payload;
use std::sync::Arc;

/// Packet numbers from `smallest` to `largest`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRange {
    /// The smallest packet number.
    pub smallest: u64,
    /// The largest packet number.
    pub largest: u64,
}

/// The ranges of an ACK frame below its newest one, newest first. The frames of a receiver share
/// them, because they change only with the gaps.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct OlderRanges {
    /// Gap and ACK Range Length of each, as in the frame: a few octets.
    fields: Vec<u8>,
    count: u64,
    /// The smallest number of the range above them.
    above: u64,
    /// The largest number in them.
    largest: u64,
}

impl OlderRanges {
    /// The initial capacity in octets of fields: enough for the ranges that a receiver of bulk data
    /// reports.
    const ROOM: usize = 96;

    /// These ranges, below a newest range that begins at `newest_smallest`.
    pub fn new(newest_smallest: u64, ranges: impl IntoIterator<Item = AckRange>) -> Self {
        let mut list = Self::default();
        list.replace(newest_smallest, ranges);
        list
    }

    /// Replaces the contents by these ranges, in the same memory.
    pub fn replace(&mut self, newest_smallest: u64, ranges: impl IntoIterator<Item = AckRange>) {
        self.fields.clear();
        self.fields.reserve(Self::ROOM);
        self.count = 0;
        self.above = newest_smallest;
        let mut above = newest_smallest;
        for range in ranges {
            if self.count == 0 {
                self.largest = range.largest;
            }
            // The Gap field (RFC 9000 §19.3.1): the number of packets missing between two ranges,
            // less one.
            let gap = above.saturating_sub(range.largest).saturating_sub(2);
            varint::put(&mut self.fields, gap);
            varint::put(&mut self.fields, range.largest - range.smallest);
            self.count += 1;
            above = range.smallest;
        }
    }

    /// The largest number in the ranges.
    #[inline]
    pub const fn largest(&self) -> u64 {
        self.largest
    }

    /// The ranges, newest first.
    pub fn ranges(&self) -> impl Iterator<Item = AckRange> + '_ {
        let mut fields = Reader::new(&self.fields);
        let mut above = self.above;
        std::iter::from_fn(move || {
            let (gap, len) = (fields.varint().ok()?, fields.varint().ok()?);
            let largest = above.checked_sub(gap + 2)?;
            above = largest.checked_sub(len)?;
            Some(AckRange {
                smallest: above,
                largest,
            })
        })
    }
}

/// Counters of ECN codepoints received (RFC 9000 §19.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// ECT(0).
    pub ect0: u64,
    /// ECT(1).
    pub ect1: u64,
    /// Congestion experienced.
    pub ce: u64,
}

/// An ACK frame (RFC 9000 §19.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Largest Acknowledged.
    pub largest: u64,
    /// The first packet number of the newest range.
    pub smallest: u64,
    /// ACK Delay as sent, to be shifted by the ack_delay_exponent.
    pub delay: u64,
    /// The ranges below the newest one.
    pub older: Option<Arc<OlderRanges>>,
    /// The fields after the ranges, if there are such.
    pub rest: Option<Box<AckRest>>,
}

/// The fields of an ACK frame after its ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AckRest {
    /// ECN counts, once a packet with an ECN codepoint has arrived.
    pub ecn: Option<EcnCounts>,
    /// Receive timestamps, where the peers have agreed upon them: then each ACK frame of a 1-RTT
    /// packet has the field (draft-ietf-quic-receive-ts §4).
    pub timestamps: Option<ReceiveTimestamps>,
}

impl AckRest {
    /// These fields; `None` if the frame has none of them.
    pub fn new(ecn: Option<EcnCounts>, timestamps: Option<ReceiveTimestamps>) -> Option<Box<Self>> {
        let is_present = ecn.is_some() || timestamps.is_some();
        is_present.then(|| Box::new(Self { ecn, timestamps }))
    }
}

/// The optional fields of an ACK frame that is read.
#[derive(Clone, Copy, Debug)]
struct AckForm {
    /// Its type is 0x03.
    ecn: bool,
    timestamps: bool,
}

impl Ack {
    /// All ranges, newest first.
    pub fn ranges(&self) -> impl Iterator<Item = AckRange> + '_ {
        let older = self.older.as_deref().map(OlderRanges::ranges);
        std::iter::once(self.newest()).chain(older.into_iter().flatten())
    }

    /// The newest range.
    #[inline]
    pub const fn newest(&self) -> AckRange {
        AckRange {
            smallest: self.smallest,
            largest: self.largest,
        }
    }

    /// The ECN counts.
    pub fn ecn(&self) -> Option<EcnCounts> {
        self.rest.as_deref()?.ecn
    }

    /// The receive timestamps.
    pub fn timestamps(&self) -> Option<&ReceiveTimestamps> {
        self.rest.as_deref()?.timestamps.as_ref()
    }

    fn len(&self) -> u32 {
        let count = self.older.as_ref().map_or(0, |older| older.count);
        let older = self.older.as_ref().map_or(0, |older| older.fields.len());
        let ecn = self.ecn().map_or(0, |ecn| {
            varint::len(ecn.ect0) + varint::len(ecn.ect1) + varint::len(ecn.ce)
        });
        let timestamps = self.timestamps().map_or(0, ReceiveTimestamps::len);
        1 + varint::len(self.largest)
            + varint::len(self.delay)
            + varint::len(count)
            + varint::len(self.largest.saturating_sub(self.smallest))
            + older as u32
            + ecn
            + timestamps
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.push(if self.ecn().is_some() { 0x03 } else { 0x02 });
        varint::put(out, self.largest);
        varint::put(out, self.delay);
        let count = self.older.as_ref().map_or(0, |older| older.count);
        varint::put(out, count);
        varint::put(out, self.largest.saturating_sub(self.smallest));
        if let Some(older) = &self.older {
            out.extend_from_slice(&older.fields);
        }
        if let Some(ecn) = self.ecn() {
            varint::put(out, ecn.ect0);
            varint::put(out, ecn.ect1);
            varint::put(out, ecn.ce);
        }
        if let Some(timestamps) = self.timestamps() {
            timestamps.put(out);
        }
    }

    fn read(reader: &mut Reader<'_>, form: AckForm) -> Result<Self, WireError> {
        let largest = reader.varint()?;
        let delay = reader.varint()?;
        let count = reader.varint()?;
        // A range takes at least two octets, so the count cannot reserve more than the packet has.
        if count > reader.remaining() as u64 / 2 {
            return Err(WireError::Truncated);
        }
        let first = reader.varint()?;
        // RFC 9000 §19.3.1: a packet number below zero is a FRAME_ENCODING_ERROR.
        let smallest = largest.checked_sub(first).ok_or(WireError::Encoding)?;
        let mut above = smallest;
        let mut ranges = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let gap = reader.varint()?;
            let len = reader.varint()?;
            let largest = above.checked_sub(gap + 2).ok_or(WireError::Encoding)?;
            let smallest = largest.checked_sub(len).ok_or(WireError::Encoding)?;
            ranges.push(AckRange { smallest, largest });
            above = smallest;
        }
        let ecn = if form.ecn {
            Some(EcnCounts {
                ect0: reader.varint()?,
                ect1: reader.varint()?,
                ce: reader.varint()?,
            })
        } else {
            None
        };
        let timestamps = if form.timestamps {
            Some(ReceiveTimestamps::read(reader, largest)?)
        } else {
            None
        };
        Ok(Self {
            largest,
            smallest,
            delay,
            older: (!ranges.is_empty()).then(|| Arc::new(OlderRanges::new(smallest, ranges))),
            rest: AckRest::new(ecn, timestamps),
        })
    }
}

/// A STREAM frame (RFC 9000 §19.8): a length without content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamFrame {
    /// Stream ID.
    pub id: u64,
    /// Offset of the first octet.
    pub offset: u64,
    /// Octets of stream data.
    pub len: u32,
    /// FIN: the stream ends with this frame.
    pub fin: bool,
}

impl StreamFrame {
    /// Octets of the frame before its data, without the Length field.
    #[inline]
    pub const fn head_len(id: u64, offset: u64) -> u32 {
        let offset_len = if offset == 0 { 0 } else { varint::len(offset) };
        1 + varint::len(id) + offset_len
    }
}

/// An ACK_FREQUENCY frame (draft-ietf-quic-ack-frequency §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckFrequency {
    /// Sequence Number.
    pub sequence: u64,
    /// Ack-Eliciting Threshold: packets that need not be acknowledged yet.
    pub threshold: u64,
    /// Requested Max Ack Delay in microseconds.
    pub max_ack_delay: u64,
    /// Reordering Threshold.
    pub reordering_threshold: u64,
}

impl AckFrequency {
    /// The type; it takes two octets.
    const TYPE: u64 = 0xaf;

    const fn fields(&self) -> [u64; 5] {
        [
            Self::TYPE,
            self.sequence,
            self.threshold,
            self.max_ack_delay,
            self.reordering_threshold,
        ]
    }
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// PADDING: this many in a row, at least one.
    Padding(u32),
    /// PING.
    Ping,
    /// ACK.
    Ack(Ack),
    /// CRYPTO: handshake data.
    Crypto {
        /// Offset of the first octet.
        offset: u64,
        /// Octets of handshake data.
        len: u32,
    },
    /// STREAM.
    Stream(StreamFrame),
    /// MAX_DATA: octets that may be sent on the connection.
    MaxData(u64),
    /// MAX_STREAM_DATA: octets that may be sent on a stream.
    MaxStreamData {
        /// Stream ID.
        id: u64,
        /// Octets that may be sent on it.
        maximum: u64,
    },
    /// DATA_BLOCKED: the connection's maximum, which blocks the sender.
    DataBlocked(u64),
    /// STREAM_DATA_BLOCKED: a stream's maximum, which blocks the sender.
    StreamDataBlocked {
        /// Stream ID.
        id: u64,
        /// The maximum.
        limit: u64,
    },
    /// CONNECTION_CLOSE.
    ConnectionClose {
        /// Error code.
        code: u64,
        /// The type of the frame that caused it; `None` if the application closes.
        frame_type: Option<u64>,
        /// Octets of the reason phrase, whose text is skipped.
        reason_len: u32,
    },
    /// PATH_CHALLENGE, with its eight octets of data.
    PathChallenge(u64),
    /// PATH_RESPONSE, with the data of the challenge.
    PathResponse(u64),
    /// HANDSHAKE_DONE.
    HandshakeDone,
    /// IMMEDIATE_ACK (draft-ietf-quic-ack-frequency §5).
    ImmediateAck,
    /// ACK_FREQUENCY.
    AckFrequency(AckFrequency),
    /// DATAGRAM (RFC 9221 §4): the last frame of a packet has type 0x30, any other has type 0x31
    /// and a Length.
    Datagram(Payload),
}

impl Frame {
    /// True unless the frame is ACK, PADDING or CONNECTION_CLOSE (RFC 9000 §13.2).
    pub const fn is_ack_eliciting(&self) -> bool {
        !matches!(
            self,
            Self::Padding(_) | Self::Ack(_) | Self::ConnectionClose { .. }
        )
    }

    /// Octets of the Length field that the frame omits as the last one of a packet.
    #[inline]
    pub fn length_len(&self) -> u32 {
        match self {
            Self::Stream(frame) => varint::len(u64::from(frame.len)),
            Self::Datagram(data) => varint::len(u64::from(data.len())),
            _ => 0,
        }
    }

    /// Octets on the wire. A STREAM or DATAGRAM frame that is the `last` frame of its packet has no
    /// Length.
    pub fn len(&self, last: bool) -> u32 {
        match self {
            Self::Padding(count) => *count,
            Self::Ping | Self::HandshakeDone | Self::ImmediateAck => 1,
            Self::PathChallenge(_) | Self::PathResponse(_) => 9,
            Self::AckFrequency(frame) => frame.fields().into_iter().map(varint::len).sum(),
            Self::Ack(ack) => ack.len(),
            Self::Crypto { offset, len } => {
                len.saturating_add(1 + varint::len(*offset) + varint::len(u64::from(*len)))
            }
            Self::Stream(StreamFrame {
                id, offset, len, ..
            }) => {
                let length = if last { 0 } else { self.length_len() };
                len.saturating_add(StreamFrame::head_len(*id, *offset) + length)
            }
            Self::Datagram(data) => {
                let length = if last { 0 } else { self.length_len() };
                data.len().saturating_add(1 + length)
            }
            Self::MaxData(value) | Self::DataBlocked(value) => 1 + varint::len(*value),
            Self::MaxStreamData { id, maximum: value }
            | Self::StreamDataBlocked { id, limit: value } => {
                1 + varint::len(*id) + varint::len(*value)
            }
            Self::ConnectionClose {
                code,
                frame_type,
                reason_len,
            } => {
                let fields = 1
                    + varint::len(*code)
                    + frame_type.map_or(0, varint::len)
                    + varint::len(u64::from(*reason_len));
                reason_len.saturating_add(fields)
            }
        }
    }

    /// Appends the frame in wire form, with zeros as its content; a datagram may have octets.
    pub fn put(&self, out: &mut Vec<u8>, last: bool) {
        let zeros = |out: &mut Vec<u8>, count: u32| out.resize(out.len() + count as usize, 0);
        let fields = |out: &mut Vec<u8>, kind: u8, values: &[u64]| {
            out.push(kind);
            for value in values {
                varint::put(out, *value);
            }
        };
        match self {
            Self::Padding(count) => zeros(out, *count),
            Self::Ping => out.push(0x01),
            Self::Ack(ack) => ack.put(out),
            Self::Crypto { offset, len } => {
                fields(out, 0x06, &[*offset, u64::from(*len)]);
                zeros(out, *len);
            }
            Self::Stream(stream) => {
                let has_offset = stream.offset != 0;
                let kind =
                    0x08 | u8::from(has_offset) << 2 | u8::from(!last) << 1 | u8::from(stream.fin);
                fields(out, kind, &[stream.id]);
                if has_offset {
                    varint::put(out, stream.offset);
                }
                if !last {
                    varint::put(out, u64::from(stream.len));
                }
                zeros(out, stream.len);
            }
            Self::MaxData(value) => fields(out, 0x10, &[*value]),
            Self::MaxStreamData { id, maximum } => fields(out, 0x11, &[*id, *maximum]),
            Self::DataBlocked(value) => fields(out, 0x14, &[*value]),
            Self::StreamDataBlocked { id, limit } => fields(out, 0x15, &[*id, *limit]),
            Self::ConnectionClose {
                code,
                frame_type,
                reason_len,
            } => {
                let reason = u64::from(*reason_len);
                match frame_type {
                    Some(kind) => fields(out, 0x1c, &[*code, *kind, reason]),
                    None => fields(out, 0x1d, &[*code, reason]),
                }
                zeros(out, *reason_len);
            }
            Self::PathChallenge(data) => path_frame(out, 0x1a, *data),
            Self::PathResponse(data) => path_frame(out, 0x1b, *data),
            Self::HandshakeDone => out.push(0x1e),
            Self::ImmediateAck => out.push(0x1f),
            Self::Datagram(data) => {
                out.push(if last { 0x30 } else { 0x31 });
                if !last {
                    varint::put(out, u64::from(data.len()));
                }
                match data.content() {
                    Some(octets) => out.extend_from_slice(octets),
                    None => zeros(out, data.len()),
                }
            }
            Self::AckFrequency(frame) => {
                for field in frame.fields() {
                    varint::put(out, field);
                }
            }
        }
    }

    /// Reads the next frame; ACK frames have receive timestamps if `timestamps`.
    ///
    /// # Errors
    /// [`WireError`] if the octets are not a frame.
    pub fn read(reader: &mut Reader<'_>, timestamps: bool) -> Result<Self, WireError> {
        let before = reader.remaining();
        let kind = reader.varint()?;
        // A type in more octets than it needs is a protocol violation (RFC 9000 §12.4).
        if before - reader.remaining() != varint::len(kind) as usize {
            return Err(WireError::Encoding);
        }
        Ok(match kind {
            0x00 => {
                let mut count = 1;
                while reader.peek() == Some(0) {
                    reader.octet()?;
                    count += 1;
                }
                Self::Padding(count)
            }
            0x01 => Self::Ping,
            0x02 | 0x03 => {
                let ecn = kind == 0x03;
                Self::Ack(Ack::read(reader, AckForm { ecn, timestamps })?)
            }
            0x06 => {
                let offset = reader.varint()?;
                Self::Crypto {
                    offset,
                    len: content(reader, offset)?,
                }
            }
            0x08..=0x0f => Self::Stream(read_stream(reader, kind)?),
            0x10 => Self::MaxData(reader.varint()?),
            0x11 => Self::MaxStreamData {
                id: reader.varint()?,
                maximum: reader.varint()?,
            },
            0x14 => Self::DataBlocked(reader.varint()?),
            0x15 => Self::StreamDataBlocked {
                id: reader.varint()?,
                limit: reader.varint()?,
            },
            0x1a => Self::PathChallenge(path_data(reader)?),
            0x1b => Self::PathResponse(path_data(reader)?),
            0x1c => Self::ConnectionClose {
                code: reader.varint()?,
                frame_type: Some(reader.varint()?),
                reason_len: content(reader, 0)?,
            },
            0x1d => Self::ConnectionClose {
                code: reader.varint()?,
                frame_type: None,
                reason_len: content(reader, 0)?,
            },
            0x1e => Self::HandshakeDone,
            0x1f => Self::ImmediateAck,
            0x30 | 0x31 => {
                let len = match kind {
                    0x30 => reader.remaining() as u64,
                    _ => reader.varint()?,
                };
                Self::Datagram(Payload::from_bytes(reader.take(len)?))
            }
            AckFrequency::TYPE => Self::AckFrequency(AckFrequency {
                sequence: reader.varint()?,
                threshold: reader.varint()?,
                max_ack_delay: reader.varint()?,
                reordering_threshold: reader.varint()?,
            }),
            other => return Err(WireError::UnknownFrame(other)),
        })
    }
}

/// Appends PATH_CHALLENGE or PATH_RESPONSE (RFC 9000 §19.17 and §19.18).
fn path_frame(out: &mut Vec<u8>, kind: u8, data: u64) {
    out.push(kind);
    out.extend_from_slice(&data.to_be_bytes());
}

/// Reads the eight octets of PATH_CHALLENGE or PATH_RESPONSE.
fn path_data(reader: &mut Reader<'_>) -> Result<u64, WireError> {
    (0..8).try_fold(0, |data, _| Ok(data << 8 | u64::from(reader.octet()?)))
}

/// Skips content with a Length before it; returns its length.
fn content(reader: &mut Reader<'_>, offset: u64) -> Result<u32, WireError> {
    let len = reader.varint()?;
    reader.take(len)?;
    checked_len(offset, len)
}

/// Checks that no octet of a stream has an offset beyond 2^62 - 1 (RFC 9000 §19.8).
fn checked_len(offset: u64, len: u64) -> Result<u32, WireError> {
    if offset + len > varint::MAX {
        return Err(WireError::Encoding);
    }
    u32::try_from(len).map_err(|_| WireError::Encoding)
}

fn read_stream(reader: &mut Reader<'_>, kind: u64) -> Result<StreamFrame, WireError> {
    let id = reader.varint()?;
    let offset = if kind & 4 == 0 { 0 } else { reader.varint()? };
    let len = if kind & 2 == 0 {
        let len = reader.remaining() as u64;
        reader.take(len)?;
        checked_len(offset, len)?
    } else {
        content(reader, offset)?
    };
    Ok(StreamFrame {
        id,
        offset,
        len,
        fin: kind & 1 == 1,
    })
}

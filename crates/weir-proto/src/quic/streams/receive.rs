//! The receiving half of a stream: puts the pieces together. Lengths only.

use crate::quic::error::TransportError;
use crate::quic::flow_control::ReceiverFlowControl;
use crate::quic::ranges::RangeSet;
use crate::quic::wire::StreamFrame;

/// Gaps that a stream may have: a peer that leaves more is hostile, not unlucky.
const MAX_RANGES: usize = 1 << 16;

/// A stream that we receive.
#[derive(Clone, Debug)]
pub struct ReceiveStream {
    pub(super) credit: ReceiverFlowControl,
    arrived: RangeSet,
    /// Octets that the application has read.
    read: u64,
    highest: u64,
    final_size: Option<u64>,
}

/// What a frame brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedOctets {
    /// Octets by which the highest offset grew: they use the connection's credit.
    pub advance: u64,
    /// Octets that had not arrived before.
    pub new: u64,
}

impl ReceiveStream {
    /// An empty stream.
    pub fn new(credit: ReceiverFlowControl) -> Self {
        Self {
            credit,
            arrived: RangeSet::default(),
            read: 0,
            highest: 0,
            final_size: None,
        }
    }

    /// A frame arrives.
    pub fn on_stream_frame(
        &mut self,
        frame: &StreamFrame,
    ) -> Result<ReceivedOctets, TransportError> {
        let end = frame.offset.saturating_add(u64::from(frame.len));
        self.check_final_size(end, frame.fin)?;
        let advance = end.saturating_sub(self.highest);
        self.credit.consume(advance)?;
        self.highest = self.highest.max(end);
        let new = self.arrived.insert(frame.offset..end);
        if self.arrived.len() > MAX_RANGES {
            return Err(TransportError::internal("the stream has too many gaps"));
        }
        Ok(ReceivedOctets { advance, new })
    }

    /// RFC 9000 §4.5: the size of a stream is final.
    fn check_final_size(&mut self, end: u64, fin: bool) -> Result<(), TransportError> {
        let error = TransportError::final_size("the stream's final size changed");
        match self.final_size {
            Some(size) if end > size || (fin && end != size) => Err(error),
            None if fin && end < self.highest => Err(error),
            _ => {
                if fin {
                    self.final_size = Some(end);
                }
                Ok(())
            }
        }
    }

    /// Octets in order that the application has not read.
    #[inline]
    pub fn readable(&self) -> u64 {
        let first = self.arrived.first();
        first
            .filter(|range| range.start == 0)
            .map_or(0, |range| range.end - self.read)
    }

    /// The application reads what is there, at most `limit` octets.
    pub fn read(&mut self, limit: u64) -> u64 {
        let octets = self.readable().min(limit);
        self.read += octets;
        self.credit.retire(octets);
        octets
    }

    /// True if new credit is due and would be of use.
    #[inline]
    pub fn max_frame_needed(&self) -> bool {
        self.final_size.is_none() && self.credit.frame_needed()
    }
}

//! The receiving half of a stream: reassembly. Lengths only.

use crate::quic::error::TransportError;
use crate::quic::flow_control::ReceiverFlowControl;
use crate::quic::wire::StreamFrame;
use crate::ranges::RangeSet;

/// The most ranges of octets that a stream may have, to bound memory against a hostile peer.
const MAX_RANGES: usize = 1 << 16;

/// The receiving half of a stream.
#[derive(Clone, Debug)]
pub struct ReceiveStream {
    pub(super) credit: ReceiverFlowControl,
    arrived: RangeSet,
    /// Octets that the application has read.
    read: u64,
    highest: u64,
    final_size: Option<u64>,
}

/// The effect of a STREAM frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedOctets {
    /// Octets by which the highest offset grew; they count for the connection's flow control.
    pub advance: u64,
    /// Octets that had not arrived before.
    pub new: u64,
}

impl ReceiveStream {
    /// A stream without data.
    pub fn new(credit: ReceiverFlowControl) -> Self {
        Self {
            credit,
            arrived: RangeSet::default(),
            read: 0,
            highest: 0,
            final_size: None,
        }
    }

    /// A STREAM frame arrives.
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

    /// Checks that the final size does not change (RFC 9000 §4.5).
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

    /// Octets that arrived in order and are not read yet.
    #[inline]
    pub fn readable(&self) -> u64 {
        let first = self.arrived.first();
        first
            .filter(|range| range.start == 0)
            .map_or(0, |range| range.end - self.read)
    }

    /// The application reads at most `limit` octets; returns the number of octets.
    #[inline]
    pub fn read(&mut self, limit: u64) -> u64 {
        let octets = self.readable().min(limit);
        self.read += octets;
        self.credit.retire(octets);
        octets
    }

    /// True if a MAX_STREAM_DATA frame is due and more data is expected.
    #[inline]
    pub fn max_frame_needed(&self) -> bool {
        self.final_size.is_none() && self.credit.frame_needed()
    }
}

//! The sending half of a stream: octets written, sent, acknowledged and lost. Lengths only.

use crate::quic::flow_control::SenderFlowControl;
use crate::quic::wire::StreamFrame;
use crate::ranges::RangeSet;

/// The sending half of a stream.
#[derive(Clone, Debug)]
pub struct SendStream {
    id: u64,
    pub(super) credit: SenderFlowControl,
    /// Octets that the application has written.
    written: u64,
    /// Octets that were sent at least once.
    sent: u64,
    acked: RangeSet,
    lost: RangeSet,
    /// The application has finished writing.
    finished: bool,
    fin_sent: bool,
    fin_acked: bool,
}

impl SendStream {
    /// A stream without data.
    pub fn new(id: u64, credit: u64) -> Self {
        Self {
            id,
            credit: SenderFlowControl::new(credit),
            written: 0,
            sent: 0,
            acked: RangeSet::default(),
            lost: RangeSet::default(),
            finished: false,
            fin_sent: false,
            fin_acked: false,
        }
    }

    /// The application writes.
    pub fn write(&mut self, octets: u64) {
        self.written = self.written.saturating_add(octets);
    }

    /// The application has finished writing.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Octets written and not yet sent.
    #[inline]
    pub const fn unsent(&self) -> u64 {
        self.written - self.sent
    }

    /// True once all data and the end of the stream are acknowledged.
    pub fn is_done(&self) -> bool {
        let whole = 0..self.written;
        let all = self.written == 0 || self.acked.first() == Some(&whole);
        self.finished && self.fin_acked && all
    }

    /// True if [`next_frame`](Self::next_frame) returns a frame, given the connection's credit.
    #[inline]
    pub fn has_stream_data(&self, connection_credit: u64) -> bool {
        !self.lost.is_empty()
            || (self.unsent() > 0 && connection_credit > 0 && self.credit.available() > 0)
            || (self.finished && !self.fin_sent && self.unsent() == 0)
    }

    /// True if there is new data and the stream's flow control holds it back.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.unsent() > 0 && self.credit.available() == 0
    }

    /// Octets from the start that were acknowledged without a gap.
    pub fn acknowledged(&self) -> u64 {
        let first = self.acked.first().filter(|range| range.start == 0);
        first.map_or(0, |range| range.end)
    }

    /// Octets beyond the acknowledged ones that the peer's credit allows.
    pub fn receive_window(&self) -> u64 {
        self.credit.maximum().saturating_sub(self.acknowledged())
    }

    /// The next frame that fits into `room` octets, its header included: lost octets first. The
    /// second value is the number of octets that are sent for the first time.
    pub fn next_frame(&mut self, room: u32, connection_credit: u64) -> Option<(StreamFrame, u64)> {
        let again = self.lost.first().cloned();
        let offset = again.as_ref().map_or(self.sent, |range| range.start);
        let available = match &again {
            Some(range) => range.end - range.start,
            None => self
                .unsent()
                .min(self.credit.available())
                .min(connection_credit),
        };
        let space = room.checked_sub(StreamFrame::head_len(self.id, offset))?;
        let len = available.min(u64::from(space));
        let end = offset + len;
        let fin = self.finished && end == self.written;
        if len == 0 && (!fin || self.fin_sent) {
            return None;
        }
        self.fin_sent |= fin;
        let new = if again.is_some() {
            self.lost.remove(offset..end);
            0
        } else {
            self.sent = end;
            self.credit.consume(len);
            len
        };
        let frame = StreamFrame {
            id: self.id,
            offset,
            len: len as u32,
            fin,
        };
        Some((frame, new))
    }

    /// This frame was acknowledged.
    #[inline]
    pub fn on_acked(&mut self, frame: &StreamFrame) {
        let range = frame.offset..frame.offset + u64::from(frame.len);
        if !self.lost.is_empty() {
            self.lost.remove(range.clone());
        }
        self.acked.insert(range);
        self.fin_acked |= frame.fin;
    }

    /// This frame was lost: its octets that are not acknowledged are sent again.
    pub fn on_lost(&mut self, frame: &StreamFrame) {
        let range = frame.offset..frame.offset + u64::from(frame.len);
        self.lost.insert(range.clone());
        for have in self.acked.within(range) {
            self.lost.remove(have);
        }
        if frame.fin && !self.fin_acked {
            self.fin_sent = false;
        }
    }
}

//! The sending half of a stream: what was written, sent, acknowledged and lost. Lengths only.

use crate::quic::flow_control::SendCredit;
use crate::quic::ranges::RangeSet;
use crate::quic::wire::StreamFrame;

/// A stream that we send on.
#[derive(Clone, Debug)]
pub struct SendStream {
    id: u64,
    pub(super) credit: SendCredit,
    /// Octets that the application has written.
    written: u64,
    /// Octets that were sent at least once.
    sent: u64,
    acked: RangeSet,
    lost: RangeSet,
    /// The application will write no more.
    finished: bool,
    fin_sent: bool,
    fin_acked: bool,
}

impl SendStream {
    /// An empty stream.
    pub fn new(id: u64, credit: u64) -> Self {
        Self {
            id,
            credit: SendCredit::new(credit),
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

    /// The application has written everything.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Octets written and not yet sent.
    #[inline]
    pub const fn unsent(&self) -> u64 {
        self.written - self.sent
    }

    /// True once everything and the end are acknowledged.
    pub fn is_done(&self) -> bool {
        let whole = 0..self.written;
        let all = self.written == 0 || self.acked.first() == Some(&whole);
        self.finished && self.fin_acked && all
    }

    /// True if [`next_piece`](Self::next_piece) has something, given the connection's credit.
    #[inline]
    pub fn has_piece(&self, connection_credit: u64) -> bool {
        !self.lost.is_empty()
            || (self.unsent() > 0 && connection_credit > 0 && self.credit.left() > 0)
            || (self.finished && !self.fin_sent && self.unsent() == 0)
    }

    /// True if there is new data and this stream's credit is used up.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.unsent() > 0 && self.credit.left() == 0
    }

    /// The next piece that fits into `room` octets, frame head included: lost octets first.
    /// The second value says how many octets are sent for the first time.
    pub fn next_piece(&mut self, room: u32, connection_credit: u64) -> Option<(StreamFrame, u64)> {
        let again = self.lost.first().cloned();
        let offset = again.as_ref().map_or(self.sent, |range| range.start);
        let available = match &again {
            Some(range) => range.end - range.start,
            None => self.unsent().min(self.credit.left()).min(connection_credit),
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
            self.credit.spend(len);
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

    /// The peer has this piece.
    #[inline]
    pub fn on_acked(&mut self, piece: &StreamFrame) {
        let range = piece.offset..piece.offset + u64::from(piece.len);
        if !self.lost.is_empty() {
            self.lost.remove(range.clone());
        }
        self.acked.insert(range);
        self.fin_acked |= piece.fin;
    }

    /// This piece was lost: what of it the peer does not have is sent again.
    pub fn on_lost(&mut self, piece: &StreamFrame) {
        let range = piece.offset..piece.offset + u64::from(piece.len);
        self.lost.insert(range.clone());
        for have in self.acked.within(range) {
            self.lost.remove(have);
        }
        if piece.fin && !self.fin_acked {
            self.fin_sent = false;
        }
    }
}

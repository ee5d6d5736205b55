//! The streams of a connection (RFC 9000 §2 and §3) and the connection's credit.
//!
//! Not modelled: RESET_STREAM, STOP_SENDING, priorities, and MAX_STREAMS beyond the first limit.

mod receive;
mod send;
#[cfg(test)]
mod tests;

pub use receive::{Arrival, ReceiveStream};
pub use send::SendStream;

use super::config::FlowControlConfig;
use super::error::TransportError;
use super::flow_control::{ReceiveCredit, SendCredit};
use super::wire::{Frame, StreamFrame};

/// Which end of the connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one that connects.
    Client,
    /// The one that is connected to.
    Server,
}

/// A stream: two halves, or one if it is unidirectional.
#[derive(Clone, Debug)]
struct Stream {
    id: u64,
    send: Option<SendStream>,
    receive: Option<ReceiveStream>,
}

/// All streams, in the order of their ids.
#[derive(Clone, Debug)]
pub struct Streams {
    role: Role,
    config: FlowControlConfig,
    all: Vec<Stream>,
    /// Where the search for data begins: one after the stream that sent last.
    turn: usize,
    unsent: u64,
    send_credit: SendCredit,
    receive_credit: ReceiveCredit,
}

impl Streams {
    /// No streams.
    pub fn new(role: Role, config: FlowControlConfig) -> Self {
        Self {
            role,
            config,
            all: Vec::new(),
            turn: 0,
            unsent: 0,
            send_credit: SendCredit::new(config.initial_max_data),
            receive_credit: ReceiveCredit::new(config.initial_max_data, config.max_data_threshold),
        }
    }

    /// The first bidirectional stream that this end may open (RFC 9000 §2.1).
    pub const fn first_own(&self) -> u64 {
        match self.role {
            Role::Client => 0,
            Role::Server => 1,
        }
    }

    const fn is_own(&self, id: u64) -> bool {
        id & 1 == self.first_own()
    }

    /// Where the stream is, made first if it may be.
    fn open(&mut self, id: u64) -> Result<usize, TransportError> {
        // One stream is the common case.
        if self.all.first().is_some_and(|stream| stream.id == id) {
            return Ok(0);
        }
        let at = match self.all.binary_search_by_key(&id, |stream| stream.id) {
            Ok(at) => return Ok(at),
            Err(at) => at,
        };
        if id >> 2 >= self.config.max_streams {
            return Err(TransportError::stream_limit(
                "the peer opened too many streams",
            ));
        }
        let unidirectional = id & 2 != 0;
        let config = &self.config;
        let credit = ReceiveCredit::new(
            config.initial_max_stream_data,
            config.max_stream_data_threshold,
        );
        let send = (!unidirectional || self.is_own(id))
            .then(|| SendStream::new(id, config.initial_max_stream_data));
        let receive = (!unidirectional || !self.is_own(id)).then(|| ReceiveStream::new(credit));
        self.all.insert(at, Stream { id, send, receive });
        Ok(at)
    }

    /// RFC 9000 §19.8: a stream of ours must have been opened before the peer speaks of it.
    fn open_for_peer(&mut self, id: u64) -> Result<usize, TransportError> {
        let known = self.all.binary_search_by_key(&id, |stream| stream.id);
        match known {
            Ok(at) => Ok(at),
            Err(_) if self.is_own(id) => Err(TransportError::stream_state(
                "the peer used a stream that was not opened",
            )),
            Err(_) => self.open(id),
        }
    }

    fn sender(&mut self, id: u64) -> Option<&mut SendStream> {
        let at = self
            .all
            .binary_search_by_key(&id, |stream| stream.id)
            .ok()?;
        self.all.get_mut(at)?.send.as_mut()
    }

    fn receiver(&mut self, id: u64) -> Option<&mut ReceiveStream> {
        let at = self
            .all
            .binary_search_by_key(&id, |stream| stream.id)
            .ok()?;
        self.all.get_mut(at)?.receive.as_mut()
    }

    /// Writes so many octets on a stream, which is opened if need be; false if this end may not
    /// send on it.
    pub fn write(&mut self, id: u64, octets: u64) -> bool {
        let Ok(at) = self.open(id) else { return false };
        let Some(send) = &mut self.all[at].send else {
            return false;
        };
        send.write(octets);
        self.unsent = self.unsent.saturating_add(octets);
        true
    }

    /// Nothing more will be written on any stream that was opened.
    pub fn finish(&mut self) {
        for send in self
            .all
            .iter_mut()
            .filter_map(|stream| stream.send.as_mut())
        {
            send.finish();
        }
    }

    /// True once all that was written, and the ends of streams, are acknowledged.
    pub fn all_sent(&self) -> bool {
        let mut senders = self.all.iter().filter_map(|stream| stream.send.as_ref());
        senders.all(SendStream::is_done)
    }

    /// Octets written and not yet sent.
    #[inline]
    pub const fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Reads octets in order from the first stream that has some.
    pub fn read(&mut self, limit: u64) -> u64 {
        let receivers = self
            .all
            .iter_mut()
            .filter_map(|stream| stream.receive.as_mut());
        for receive in receivers {
            let octets = receive.read(limit);
            if octets > 0 {
                self.receive_credit.consume(octets);
                return octets;
            }
        }
        0
    }

    /// True if there is something to read.
    pub fn is_readable(&self) -> bool {
        let mut receivers = self.all.iter().filter_map(|stream| stream.receive.as_ref());
        receivers.any(|receive| receive.readable() > 0)
    }

    /// A piece arrived; how many of its octets are new.
    pub fn on_piece(&mut self, piece: &StreamFrame) -> Result<u64, TransportError> {
        let at = self.open_for_peer(piece.id)?;
        let Some(receive) = &mut self.all[at].receive else {
            return Err(TransportError::stream_state(
                "data came on a stream that only sends",
            ));
        };
        let Arrival { advance, new } = receive.on_piece(piece)?;
        self.receive_credit.use_more(advance)?;
        Ok(new)
    }

    /// A frame of the peer's that is about credit.
    pub fn on_credit(&mut self, frame: &Frame) -> Result<(), TransportError> {
        match *frame {
            Frame::MaxData(maximum) => self.send_credit.raise(maximum),
            Frame::MaxStreamData { id, maximum } => {
                let at = self.open_for_peer(id)?;
                let Some(send) = &mut self.all[at].send else {
                    return Err(TransportError::stream_state(
                        "credit came for a stream that only receives",
                    ));
                };
                send.credit.raise(maximum);
            }
            Frame::DataBlocked(limit) => {
                // It knows less than we have announced: a frame of ours was lost.
                self.receive_credit.answer_blocked(limit);
            }
            Frame::StreamDataBlocked { id, limit } => {
                let at = self.open_for_peer(id)?;
                let Some(receive) = &mut self.all[at].receive else {
                    return Err(TransportError::stream_state(
                        "a stream that only sends cannot block the peer",
                    ));
                };
                receive.credit.answer_blocked(limit);
            }
            _ => {}
        }
        Ok(())
    }

    /// True if a piece can be sent.
    #[inline]
    pub fn has_piece(&self) -> bool {
        let credit = self.send_credit.left();
        let mut senders = self.all.iter().filter_map(|stream| stream.send.as_ref());
        senders.any(|send| send.has_piece(credit))
    }

    /// True if there is data that only credit keeps from leaving.
    pub fn is_blocked(&self) -> bool {
        self.unsent > 0 && !self.has_piece()
    }

    /// The next piece that fits into `room` octets; streams take turns.
    pub fn next_piece(&mut self, room: u32) -> Option<StreamFrame> {
        let credit = self.send_credit.left();
        let count = self.all.len();
        for step in 0..count {
            let at = (self.turn + step) % count;
            let Some(send) = &mut self.all[at].send else {
                continue;
            };
            if let Some((frame, new)) = send.next_piece(room, credit) {
                self.send_credit.spend(new);
                self.unsent -= new;
                self.turn = at + 1;
                return Some(frame);
            }
        }
        None
    }

    /// A piece was acknowledged.
    #[inline]
    pub fn on_acked(&mut self, piece: &StreamFrame) {
        if let Some(send) = self.sender(piece.id) {
            send.on_acked(piece);
        }
    }

    /// A piece was lost, or is to be sent once more as a probe.
    pub fn on_lost(&mut self, piece: &StreamFrame) {
        if let Some(send) = self.sender(piece.id) {
            send.on_lost(piece);
        }
    }

    /// True if the peer should hear of new credit.
    #[inline]
    pub fn credit_is_due(&self) -> bool {
        let mut receivers = self.all.iter().filter_map(|stream| stream.receive.as_ref());
        self.receive_credit.is_due() || receivers.any(ReceiveStream::credit_is_due)
    }

    /// True if the peer should hear that we are blocked.
    #[inline]
    pub fn blocked_is_due(&self) -> bool {
        if self.unsent == 0 {
            return false;
        }
        let mut senders = self.all.iter().filter_map(|stream| stream.send.as_ref());
        self.send_credit.blocked_is_due()
            || senders.any(|send| send.is_blocked() && send.credit.blocked_is_due())
    }

    /// The next frame about credit, if one is due.
    pub fn next_credit(&mut self) -> Option<Frame> {
        if let Some(maximum) = self.receive_credit.take_update() {
            return Some(Frame::MaxData(maximum));
        }
        for stream in &mut self.all {
            let id = stream.id;
            let receive = stream
                .receive
                .as_mut()
                .filter(|receive| receive.credit_is_due());
            if let Some(maximum) = receive.and_then(|receive| receive.credit.take_update()) {
                return Some(Frame::MaxStreamData { id, maximum });
            }
        }
        None
    }

    /// The next frame that says we are blocked, if one is due.
    pub fn next_blocked(&mut self) -> Option<Frame> {
        if self.unsent == 0 {
            return None;
        }
        if let Some(limit) = self.send_credit.take_blocked() {
            return Some(Frame::DataBlocked(limit));
        }
        for stream in &mut self.all {
            let id = stream.id;
            let send = stream.send.as_mut().filter(|send| send.is_blocked());
            if let Some(limit) = send.and_then(|send| send.credit.take_blocked()) {
                return Some(Frame::StreamDataBlocked { id, limit });
            }
        }
        None
    }

    /// A frame about credit was lost: say what is true now.
    pub fn on_credit_lost(&mut self, frame: &Frame) {
        match *frame {
            Frame::MaxData(_) => self.receive_credit.announce_again(),
            Frame::DataBlocked(_) => self.send_credit.tell_again(),
            Frame::MaxStreamData { id, .. } => {
                if let Some(receive) = self.receiver(id) {
                    receive.credit.announce_again();
                }
            }
            Frame::StreamDataBlocked { id, .. } => {
                if let Some(send) = self.sender(id) {
                    send.credit.tell_again();
                }
            }
            _ => {}
        }
    }
}

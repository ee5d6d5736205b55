//! The streams of a connection (RFC 9000 §2 and §3) and the connection's flow control.
//!
//! Not modelled: RESET_STREAM, STOP_SENDING, priorities, and MAX_STREAMS beyond the first limit.

mod receive;
mod send;
#[cfg(test)]
mod tests;

pub use receive::{ReceiveStream, ReceivedOctets};
pub use send::SendStream;

use super::config::FlowControlConfig;
use super::error::TransportError;
use super::flow_control::{ReceiverFlowControl, SenderFlowControl};
use super::wire::{Frame, StreamFrame};

/// The role of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It opens the connection.
    Client,
    /// It accepts the connection.
    Server,
}

/// A stream with two halves, or one if it is unidirectional.
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
    /// Index at which the search for data begins: after the stream that sent last.
    next_to_send: usize,
    unsent: u64,
    sender_flow_control: SenderFlowControl,
    receiver_flow_control: ReceiverFlowControl,
}

impl Streams {
    /// A connection without streams.
    pub fn new(role: Role, config: FlowControlConfig) -> Self {
        Self {
            role,
            config,
            // One stream is the common case.
            all: Vec::with_capacity(1),
            next_to_send: 0,
            unsent: 0,
            sender_flow_control: SenderFlowControl::new(config.initial_max_data),
            receiver_flow_control: ReceiverFlowControl::new(
                config.initial_max_data,
                config.max_data_threshold,
            ),
        }
    }

    /// The first bidirectional stream that this end may open (RFC 9000 §2.1).
    pub const fn first_local_id(&self) -> u64 {
        match self.role {
            Role::Client => 0,
            Role::Server => 1,
        }
    }

    const fn is_local(&self, id: u64) -> bool {
        id & 1 == self.first_local_id()
    }

    /// The index of this stream, or the index at which it would be inserted.
    #[inline]
    fn find(&self, id: u64) -> Result<usize, usize> {
        // One stream is the common case.
        match self.all.first() {
            Some(first) if first.id == id => Ok(0),
            _ => self.all.binary_search_by_key(&id, |stream| stream.id),
        }
    }

    /// The index of a stream, which is opened if it does not exist.
    fn open(&mut self, id: u64) -> Result<usize, TransportError> {
        let at = match self.find(id) {
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
        let credit = ReceiverFlowControl::new(
            config.initial_max_stream_data,
            config.max_stream_data_threshold,
        );
        let send = (!unidirectional || self.is_local(id))
            .then(|| SendStream::new(id, config.initial_max_stream_data));
        let receive = (!unidirectional || !self.is_local(id)).then(|| ReceiveStream::new(credit));
        self.all.insert(at, Stream { id, send, receive });
        Ok(at)
    }

    /// The index of a stream in a frame of the peer. A stream of this end must exist already
    /// (RFC 9000 §19.8).
    fn open_for_peer(&mut self, id: u64) -> Result<usize, TransportError> {
        match self.find(id) {
            Ok(at) => Ok(at),
            Err(_) if self.is_local(id) => Err(TransportError::stream_state(
                "the peer used a stream that was not opened",
            )),
            Err(_) => self.open(id),
        }
    }

    fn sender(&mut self, id: u64) -> Option<&mut SendStream> {
        let at = self.find(id).ok()?;
        self.all.get_mut(at)?.send.as_mut()
    }

    fn receiver(&mut self, id: u64) -> Option<&mut ReceiveStream> {
        let at = self.find(id).ok()?;
        self.all.get_mut(at)?.receive.as_mut()
    }

    /// Writes `octets` octets on a stream, which is opened if it does not exist; false if this end
    /// may not send on it.
    pub fn write(&mut self, id: u64, octets: u64) -> bool {
        let Ok(at) = self.open(id) else { return false };
        let Some(send) = &mut self.all[at].send else {
            return false;
        };
        send.write(octets);
        self.unsent = self.unsent.saturating_add(octets);
        true
    }

    /// Ends all streams: no more data will be written.
    pub fn finish(&mut self) {
        for send in self
            .all
            .iter_mut()
            .filter_map(|stream| stream.send.as_mut())
        {
            send.finish();
        }
    }

    /// True once all data and the ends of all streams are acknowledged.
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
    #[inline]
    pub fn read(&mut self, limit: u64) -> u64 {
        let receivers = self
            .all
            .iter_mut()
            .filter_map(|stream| stream.receive.as_mut());
        for receive in receivers {
            let octets = receive.read(limit);
            if octets > 0 {
                self.receiver_flow_control.retire(octets);
                return octets;
            }
        }
        0
    }

    /// True if a stream has data to read.
    #[inline]
    pub fn is_readable(&self) -> bool {
        let mut receivers = self.all.iter().filter_map(|stream| stream.receive.as_ref());
        receivers.any(|receive| receive.readable() > 0)
    }

    /// A STREAM frame arrived; returns the number of new octets.
    pub fn on_stream_frame(&mut self, frame: &StreamFrame) -> Result<u64, TransportError> {
        let at = self.open_for_peer(frame.id)?;
        let Some(receive) = &mut self.all[at].receive else {
            return Err(TransportError::stream_state(
                "data came on a stream that only sends",
            ));
        };
        let ReceivedOctets { advance, new } = receive.on_stream_frame(frame)?;
        self.receiver_flow_control.consume(advance)?;
        Ok(new)
    }

    /// A flow control frame of the peer arrived.
    pub fn on_flow_control_frame(&mut self, frame: &Frame) -> Result<(), TransportError> {
        match *frame {
            Frame::MaxData(maximum) => self.sender_flow_control.update(maximum),
            Frame::MaxStreamData { id, maximum } => {
                let at = self.open_for_peer(id)?;
                let Some(send) = &mut self.all[at].send else {
                    return Err(TransportError::stream_state(
                        "credit came for a stream that only receives",
                    ));
                };
                send.credit.update(maximum);
            }
            Frame::DataBlocked(limit) => {
                self.receiver_flow_control.on_blocked(limit);
            }
            Frame::StreamDataBlocked { id, limit } => {
                let at = self.open_for_peer(id)?;
                let Some(receive) = &mut self.all[at].receive else {
                    return Err(TransportError::stream_state(
                        "a stream that only sends cannot block the peer",
                    ));
                };
                receive.credit.on_blocked(limit);
            }
            _ => {}
        }
        Ok(())
    }

    /// True if stream data can be sent.
    #[inline]
    pub fn has_stream_data(&self) -> bool {
        let credit = self.sender_flow_control.available();
        let mut senders = self.all.iter().filter_map(|stream| stream.send.as_ref());
        senders.any(|send| send.has_stream_data(credit))
    }

    /// Octets beyond those acknowledged in order that the peer's credit allows: the smaller of the
    /// credit of the connection and of the stream with the least credit.
    pub fn receive_window(&self) -> u64 {
        let senders = || self.all.iter().filter_map(|stream| stream.send.as_ref());
        let acknowledged = senders().map(SendStream::acknowledged).sum();
        let of_connection = self
            .sender_flow_control
            .maximum()
            .saturating_sub(acknowledged);
        senders()
            .map(SendStream::receive_window)
            .fold(of_connection, u64::min)
    }

    /// True if data is held back by flow control alone.
    pub fn is_blocked(&self) -> bool {
        self.unsent > 0 && !self.has_stream_data()
    }

    /// The next STREAM frame that fits into `room` octets; streams take turns.
    pub fn next_frame(&mut self, room: u32) -> Option<StreamFrame> {
        let credit = self.sender_flow_control.available();
        let count = self.all.len();
        for step in 0..count {
            let at = (self.next_to_send + step) % count;
            let Some(send) = &mut self.all[at].send else {
                continue;
            };
            if let Some((frame, new)) = send.next_frame(room, credit) {
                self.sender_flow_control.consume(new);
                self.unsent -= new;
                self.next_to_send = at + 1;
                return Some(frame);
            }
        }
        None
    }

    /// A STREAM frame was acknowledged.
    #[inline]
    pub fn on_acked(&mut self, frame: &StreamFrame) {
        if let Some(send) = self.sender(frame.id) {
            send.on_acked(frame);
        }
    }

    /// A STREAM frame was lost, or is sent again as a probe.
    pub fn on_lost(&mut self, frame: &StreamFrame) {
        if let Some(send) = self.sender(frame.id) {
            send.on_lost(frame);
        }
    }

    /// True if a MAX_DATA or MAX_STREAM_DATA frame is due.
    #[inline]
    pub fn max_frame_needed(&self) -> bool {
        let mut receivers = self.all.iter().filter_map(|stream| stream.receive.as_ref());
        self.receiver_flow_control.frame_needed() || receivers.any(ReceiveStream::max_frame_needed)
    }

    /// True if a DATA_BLOCKED or STREAM_DATA_BLOCKED frame is due.
    #[inline]
    pub fn blocked_frame_needed(&self) -> bool {
        if self.unsent == 0 {
            return false;
        }
        let mut senders = self.all.iter().filter_map(|stream| stream.send.as_ref());
        self.sender_flow_control.blocked_frame_needed()
            || senders.any(|send| send.is_blocked() && send.credit.blocked_frame_needed())
    }

    /// The next MAX_DATA or MAX_STREAM_DATA frame, if one is due.
    pub fn next_max_frame(&mut self) -> Option<Frame> {
        if let Some(maximum) = self.receiver_flow_control.take_new_maximum() {
            return Some(Frame::MaxData(maximum));
        }
        for stream in &mut self.all {
            let id = stream.id;
            let receive = stream
                .receive
                .as_mut()
                .filter(|receive| receive.max_frame_needed());
            if let Some(maximum) = receive.and_then(|receive| receive.credit.take_new_maximum()) {
                return Some(Frame::MaxStreamData { id, maximum });
            }
        }
        None
    }

    /// The next DATA_BLOCKED or STREAM_DATA_BLOCKED frame, if one is due.
    pub fn next_blocked_frame(&mut self) -> Option<Frame> {
        if self.unsent == 0 {
            return None;
        }
        if let Some(limit) = self.sender_flow_control.take_blocked_limit() {
            return Some(Frame::DataBlocked(limit));
        }
        for stream in &mut self.all {
            let id = stream.id;
            let send = stream.send.as_mut().filter(|send| send.is_blocked());
            if let Some(limit) = send.and_then(|send| send.credit.take_blocked_limit()) {
                return Some(Frame::StreamDataBlocked { id, limit });
            }
        }
        None
    }

    /// A flow control frame was lost: its current value is sent again.
    pub fn on_flow_control_frame_lost(&mut self, frame: &Frame) {
        match *frame {
            Frame::MaxData(_) => self.receiver_flow_control.frame_lost(),
            Frame::DataBlocked(_) => self.sender_flow_control.frame_lost(),
            Frame::MaxStreamData { id, .. } => {
                if let Some(receive) = self.receiver(id) {
                    receive.credit.frame_lost();
                }
            }
            Frame::StreamDataBlocked { id, .. } => {
                if let Some(send) = self.sender(id) {
                    send.credit.frame_lost();
                }
            }
            _ => {}
        }
    }
}

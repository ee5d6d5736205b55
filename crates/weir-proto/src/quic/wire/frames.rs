//! The frames of a packet.

use super::Frame;
use crate::shared_buffers::SharedBuffers;
use std::ops::Deref;
use std::sync::Arc;

/// The initial capacity for more than one frame: usually an acknowledgement and flow control or
/// data.
const ROOM: usize = 2;

/// The frames of a packet in their order. One frame is stored in the packet itself, more are stored
/// outside of it: nearly all packets of a transfer have one, and many packets are in flight at
/// once.
#[derive(Clone, Debug)]
pub struct Frames(Kept);

#[derive(Clone, Debug)]
enum Kept {
    None,
    One(Frame),
    /// In a buffer, which the sender's [`FrameBuffers`] may share.
    Many(Arc<Vec<Frame>>),
}

/// The buffers of packets that were sent with more than one frame. A buffer is reused once no
/// packet in the network shares it.
#[derive(Clone, Debug, Default)]
pub struct FrameBuffers {
    sent: SharedBuffers<Vec<Frame>>,
}

impl Frames {
    /// No frame.
    pub const fn new() -> Self {
        Self(Kept::None)
    }

    /// This frame alone.
    pub const fn one(frame: Frame) -> Self {
        Self(Kept::One(frame))
    }

    /// Appends a frame.
    #[inline]
    pub fn push(&mut self, frame: Frame) {
        match self.0 {
            Kept::None => self.0 = Kept::One(frame),
            _ => self.push_further(frame),
        }
    }

    #[inline(never)]
    fn push_further(&mut self, frame: Frame) {
        if let Kept::One(_) = self.0 {
            self.move_into(Arc::new(Vec::with_capacity(ROOM)));
        }
        if let Kept::Many(frames) = &mut self.0 {
            Arc::make_mut(frames).push(frame);
        }
    }

    /// Moves the only frame into this buffer, because others follow.
    fn move_into(&mut self, mut buffer: Arc<Vec<Frame>>) {
        let frames = Arc::make_mut(&mut buffer);
        frames.clear();
        if let Kept::One(first) = std::mem::replace(&mut self.0, Kept::None) {
            frames.push(first);
        }
        self.0 = Kept::Many(buffer);
    }
}

impl FrameBuffers {
    /// Prepares for further frames in this packet: moves its frame into a free buffer, if there is
    /// one.
    pub fn make_room(&mut self, frames: &mut Frames) {
        if let Kept::One(_) = frames.0
            && let Some(buffer) = self.sent.take()
        {
            frames.move_into(buffer);
        }
    }

    /// Keeps the buffer of frames that are sent, if they have one. Datagrams are not kept beyond
    /// their packet, because their sender asks whether they still exist.
    #[inline]
    pub fn keep(&mut self, frames: &Frames) {
        let is_datagram = |frame: &Frame| matches!(frame, Frame::Datagram(_));
        if let Kept::Many(buffer) = &frames.0
            && !buffer.iter().any(is_datagram)
        {
            self.sent.keep(Arc::clone(buffer));
        }
    }
}

impl Default for Frames {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Frames {
    type Target = [Frame];

    #[inline]
    fn deref(&self) -> &[Frame] {
        match &self.0 {
            Kept::None => &[],
            Kept::One(frame) => std::slice::from_ref(frame),
            Kept::Many(frames) => frames,
        }
    }
}

impl PartialEq for Frames {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl FromIterator<Frame> for Frames {
    fn from_iter<I: IntoIterator<Item = Frame>>(frames: I) -> Self {
        let mut all = Self::new();
        frames.into_iter().for_each(|frame| all.push(frame));
        all
    }
}

impl<'a> IntoIterator for &'a Frames {
    type Item = &'a Frame;
    type IntoIter = std::slice::Iter<'a, Frame>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This many frames, each with a different number.
    fn numbered(frames: u64) -> impl Iterator<Item = Frame> {
        (0..frames).map(Frame::MaxData)
    }

    #[test]
    fn frames_keep_their_order_in_a_packet_and_beyond() {
        for len in 0..6 {
            let frames: Frames = numbered(len).collect();
            assert!(frames.iter().cloned().eq(numbered(len)), "{frames:?}");
            assert_eq!(frames.clone(), frames);
        }
        assert_ne!(Frames::one(Frame::Ping), Frames::new());
    }

    #[test]
    fn a_buffer_is_used_again_for_other_frames_once_its_packet_is_gone() {
        let mut buffers = FrameBuffers::default();
        let first: Frames = numbered(3).collect();
        let octets = first.as_ptr();
        buffers.keep(&first);
        let mut second = Frames::one(Frame::Ping);
        buffers.make_room(&mut second);
        second.push(Frame::HandshakeDone);
        assert_ne!(second.as_ptr(), octets, "the first packet is under way");
        drop(first);
        let mut third = Frames::one(Frame::Ping);
        buffers.make_room(&mut third);
        third.push(Frame::HandshakeDone);
        assert_eq!(third.as_ptr(), octets);
        assert_eq!(*third, [Frame::Ping, Frame::HandshakeDone]);
    }
}

//! Unreliable datagrams (RFC 9221): those that wait for a packet, and those that have arrived.
//!
//! A DATAGRAM frame elicits an acknowledgement and is subject to congestion control; it is never
//! sent again (§5.2), has no flow control (§5.3) and may be dropped at either end (§5.1, §5.3).

use super::wire::{Frame, varint};
use crate::packet::Payload;
use crate::settings;
use crate::settings::{bytes, count, natural, or_word};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// Datagrams that have arrived and that the application has not read; further ones are dropped.
const MOST_ARRIVED: usize = 4096;

settings! {
    /// Datagrams, which media and a tunnel of mode "datagram" send.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DatagramConfig {
        /// The largest DATAGRAM frame in bytes that an end takes, type and length included; 0 takes
        /// none.
        pub max_datagram_frame_size: u64 = 65_535 => bytes(0..=65_535),
        /// Datagrams of a tunnel that may wait in the connection for the window and the pacer;
        /// media has `send_queue`.
        pub datagram_queue: u32 = 16 => count(1..=1 << 20, "datagrams"),
        /// A datagram that waits longer in the connection is dropped; "none" waits.
        pub datagram_lifetime: Option<Duration> => or_word("none", natural()),
        /// What the application writes goes into datagrams instead of a stream.
        pub carry_writes: bool [internal],
    }
}

impl DatagramConfig {
    /// Octets of the largest datagram whose frame, with its type and Length, is not too large.
    pub(super) fn max_payload(&self) -> u32 {
        let frame = self.max_datagram_frame_size;
        let head = 1 + u64::from(varint::len(frame));
        u32::try_from(frame.saturating_sub(head)).unwrap_or(u32::MAX)
    }
}

/// The datagrams of a connection.
#[derive(Debug)]
pub struct Datagrams {
    config: DatagramConfig,
    /// Those that wait, each with the time since when.
    waiting: VecDeque<(Instant, Payload)>,
    /// Octets of those that wait.
    waiting_bytes: u64,
    arrived: VecDeque<Payload>,
    expired: u64,
}

impl Datagrams {
    /// No datagram.
    pub const fn new(config: DatagramConfig) -> Self {
        Self {
            config,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            arrived: VecDeque::new(),
            expired: 0,
        }
    }

    /// Adds a datagram that is to be sent; false if there is no room.
    pub fn push(&mut self, now: Instant, data: Payload) -> bool {
        self.expire(now);
        let has_room = self.waiting.len() < self.config.datagram_queue as usize;
        if has_room {
            self.waiting_bytes += u64::from(data.len());
            self.waiting.push_back((now, data));
        }
        has_room
    }

    /// Drops those that have waited too long; true if there were such.
    pub fn expire(&mut self, now: Instant) -> bool {
        let Some(lifetime) = self.config.datagram_lifetime else {
            return false;
        };
        let before = self.expired;
        let is_old = |(since, _): &mut (Instant, Payload)| now.since(*since) > lifetime;
        while let Some((_, data)) = self.waiting.pop_front_if(is_old) {
            self.waiting_bytes -= u64::from(data.len());
            self.expired += 1;
        }
        self.expired > before
    }

    /// Octets of the frame of the first one that waits, as the last frame of its packet.
    #[inline]
    pub fn head_len(&self) -> Option<u32> {
        let (_, data) = self.waiting.front()?;
        Some(data.len().saturating_add(1))
    }

    /// The frame of the first one that waits, if it fits as the last frame of a packet with `room`.
    pub fn next_frame(&mut self, room: u32) -> Option<Frame> {
        self.head_len().filter(|&len| len <= room)?;
        let (_, data) = self.waiting.pop_front()?;
        self.waiting_bytes -= u64::from(data.len());
        Some(Frame::Datagram(data))
    }

    /// Octets of the first one that waits.
    pub fn head_payload(&self) -> Option<u32> {
        self.waiting.front().map(|(_, data)| data.len())
    }

    /// Since when the first one has waited.
    pub fn waits_since(&self) -> Option<Instant> {
        self.waiting.front().map(|(since, _)| *since)
    }

    /// Octets of all that wait.
    pub const fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// True if none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// True if at most half of the places are taken.
    pub fn is_half_empty(&self) -> bool {
        self.waiting.len() * 2 <= self.config.datagram_queue as usize
    }

    /// A datagram arrived.
    pub fn on_arrival(&mut self, data: Payload) {
        if self.arrived.len() < MOST_ARRIVED {
            self.arrived.push_back(data);
        }
    }

    /// The next one that has arrived.
    pub fn read(&mut self) -> Option<Payload> {
        self.arrived.pop_front()
    }

    /// True if one has arrived and was not read.
    #[inline]
    pub fn is_readable(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Those that were dropped because they waited too long.
    pub const fn expired(&self) -> u64 {
        self.expired
    }
}

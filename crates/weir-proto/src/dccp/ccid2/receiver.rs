//! The receiver half of CCID 2: Ack Vectors (RFC 4341 §6).

use super::ACK_DELAY;
use crate::dccp::ack_vector::{AckVector, MAX_CELLS};
use crate::dccp::ccid::CcidReceiver;
use crate::dccp::nonce::NonceSums;
use crate::dccp::wire::{DccpOption, Options, Packet, PacketType, SeqNum};
use crate::event::Events;
use crate::packet::Ecn;
use crate::time::Instant;

/// The receiver half of CCID 2.
#[derive(Clone, Debug)]
pub struct Ccid2Receiver {
    ack_ratio: u32,
    vector: AckVector,
    nonces: NonceSums,
    greatest: Option<SeqNum>,
    arrived_at: Instant,
    unacknowledged: u32,
    deadline: Option<Instant>,
    at_once: bool,
    cells: Vec<u8>,
}

impl Ccid2Receiver {
    /// A receiver that acknowledges every `ack_ratio`-th data packet.
    pub fn new(ack_ratio: u16) -> Self {
        Self {
            ack_ratio: u32::from(ack_ratio.max(1)),
            vector: AckVector::default(),
            nonces: NonceSums::default(),
            greatest: None,
            arrived_at: Instant::ZERO,
            unacknowledged: 0,
            deadline: None,
            at_once: false,
            cells: Vec::with_capacity(MAX_CELLS),
        }
    }
}

impl CcidReceiver for Ccid2Receiver {
    fn on_packet(&mut self, now: Instant, packet: &Packet, ecn: Ecn, _events: &mut Events) {
        self.vector.on_packet(packet.seq, ecn);
        self.nonces.record(packet.seq, ecn == Ecn::Ect1);
        let ahead = self.greatest.map_or(1, |last| packet.seq.since(last));
        if ahead > 0 {
            self.greatest = Some(packet.seq);
            self.arrived_at = now;
        }
        if packet.kind.carries_data() {
            self.unacknowledged += 1;
            // RFC 4340 §11.3: an acknowledgement leaves at once after a gap or a mark.
            self.at_once |= ahead != 1 || ecn == Ecn::Ce || self.unacknowledged >= self.ack_ratio;
            self.deadline.get_or_insert(now + ACK_DELAY);
        }
    }

    fn wants_ack(&self, now: Instant) -> bool {
        self.unacknowledged > 0
            && (self.at_once || self.deadline.is_some_and(|deadline| deadline <= now))
    }

    fn on_ack_sent(&mut self, now: Instant, seq: SeqNum, _kind: PacketType, options: &mut Options) {
        self.vector.on_ack_sent(seq, &mut self.cells);
        if !self.cells.is_empty() {
            let echo = self.nonces.echo(self.vector.newest(), &self.cells);
            let nonce = echo.unwrap_or(false);
            options.push(&DccpOption::AckVector {
                nonce,
                cells: &self.cells,
            });
        }
        // RFC 4340 §13.2: the time since the acknowledged packet arrived.
        let held = now.since(self.arrived_at).as_micros() / 10;
        if held > 0 && self.greatest.is_some() {
            let held = u32::try_from(held).unwrap_or(u32::MAX);
            options.push(&DccpOption::ElapsedTime(held));
        }
        self.unacknowledged = 0;
        self.at_once = false;
        self.deadline = None;
    }

    fn set_ack_ratio(&mut self, ratio: u16) {
        self.ack_ratio = u32::from(ratio.max(1));
    }

    fn on_ack_of_ack(&mut self, seq: SeqNum) {
        self.vector.on_ack_of_ack(seq);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
            .filter(|_| self.unacknowledged > 0 && !self.at_once)
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.at_once = self.unacknowledged > 0;
        }
    }
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;

//! A window controller of the registry in place of the window of RFC 4341.
//!
//! CCID 2 counts packets (RFC 4341 §5.3), and a controller octets: for the controller each packet
//! has the connection's packet size, whatever its payload is. Marks that an Ack Vector reports are
//! the controller's ECN counts.

use super::ack_summary::AckSummary;
use super::{ControllerChoice, initial_window};
use crate::cc::window::{BoxedController, ControllerRules, RecoveryBoundary, Rules, WindowConfig};
use crate::cc::{
    Acked, CongestionEvent, ConnectionEvent, DeliveryRateSampler, DeliverySnapshot, EcnCapability,
    EndAcks, Lost, Pacer, RetransmissionTimeout, Rtt, Sent, WindowControllerExt as _,
};
use crate::dccp::ccid::SendTime;
use crate::dccp::wire::SeqNum;
use crate::event::{SndLim, WindowState};
use crate::time::Instant;
use std::collections::VecDeque;

/// A controller with the state that a transport keeps for it.
pub(super) struct Controlled {
    packet_size: u64,
    controller: BoxedController,
    sampler: DeliveryRateSampler,
    pacer: Pacer,
    /// The snapshots of the packets in the sender's history, in the same order.
    snapshots: VecDeque<DeliverySnapshot>,
    /// The number of packets sent before the first of them.
    first: u64,
    last_lost: Option<u64>,
    /// Packets that were declared lost since the last reduction. When all of them have arrived,
    /// the reduction is undone.
    spurious_candidates: Vec<SeqNum>,
    /// The number of them that the current acknowledgement shows to be lost.
    newly_lost: usize,
    /// The window or the pacer holds a packet back.
    held_back: bool,
    /// The time since when no data waits although a packet may leave.
    idle_since: Option<Instant>,
    app_limited: bool,
    /// The window does not grow before this time, after Slow Receiver (RFC 4340 §11.6).
    slow_until: Option<Instant>,
    receiver_bound: Option<ReceiverBound>,
}

/// The bound of the window after the receiver had no room for packets (RFC 4341 §5.2). It grows by
/// a packet in each window until it reaches the controller's window.
#[derive(Clone, Copy, Debug)]
struct ReceiverBound {
    packets: u32,
    acked: u32,
}

impl Controlled {
    /// A controller at the initial window of RFC 3390, or its own.
    pub(super) fn new(packet_size: u32, choice: &ControllerChoice) -> Self {
        let packet_size = u64::from(packet_size.max(1));
        let config = WindowConfig {
            max_datagram_size: packet_size,
            initial_window: Some(u64::from(initial_window(packet_size)) * packet_size),
            rules: Rules {
                // As in TCP, recovery sends what its window allows, and a packet sent at its start
                // counts as sent after the reduction.
                recovery_probe: false,
                recovery_boundary: RecoveryBoundary::Before,
                controller: ControllerRules {
                    undo_spurious: true,
                    ..choice.config.rules.controller
                },
                ..choice.config.rules
            },
            ..choice.config
        };
        Self {
            packet_size,
            controller: (choice.entry.make)(&config),
            sampler: DeliveryRateSampler::default(),
            pacer: Pacer::default(),
            snapshots: VecDeque::with_capacity(64),
            first: 0,
            last_lost: None,
            spurious_candidates: Vec::new(),
            newly_lost: 0,
            held_back: false,
            idle_since: None,
            app_limited: false,
            slow_until: None,
            receiver_bound: None,
        }
    }

    fn octets(&self, packets: u32) -> u64 {
        u64::from(packets) * self.packet_size
    }

    fn controller_packets(&self) -> u32 {
        let packets = self.controller.window() / self.packet_size;
        u32::try_from(packets).unwrap_or(u32::MAX).max(1)
    }

    pub(super) fn packets(&self) -> u32 {
        let bound = self.receiver_bound.map_or(u32::MAX, |bound| bound.packets);
        self.controller_packets().min(bound)
    }

    pub(super) fn send_time(&mut self, now: Instant, pipe: u32) -> SendTime {
        let time = self.next_send_time(now, pipe);
        self.held_back = time != SendTime::Now;
        if self.held_back {
            // A sender that waits for its pacer uses its window (RFC 9002 §7.8).
            self.app_limited = false;
            self.idle_since = None;
        }
        time
    }

    fn next_send_time(&self, now: Instant, pipe: u32) -> SendTime {
        if pipe >= self.packets() {
            return SendTime::Blocked;
        }
        let controller = &self.controller;
        let pacer = controller.pacer();
        let release =
            pacer.map(|(rate, quantum)| self.pacer.release(self.packet_size, rate, quantum));
        match release {
            Some(at) if at > now => SendTime::At(at),
            _ => SendTime::Now,
        }
    }

    pub(super) fn on_sent(&mut self, now: Instant, pipe: u32, rtt: Rtt) {
        self.settle_idle(now, pipe.saturating_sub(1));
        self.idle_since = None;
        self.held_back = false;
        let bytes_in_flight = self.octets(pipe);
        let app_limited = self.sampler.is_app_limited();
        let snapshot = self.sampler.on_sent(now, self.packet_size, bytes_in_flight);
        self.snapshots.push_back(snapshot);
        self.controller.on_sent(&Sent {
            now,
            bytes: self.packet_size,
            bytes_in_flight,
            rtt,
            app_limited,
        });
        if let Some(rate) = self.controller.pacing_rate() {
            self.pacer.on_sent(now, self.packet_size, rate);
        }
    }

    /// No further packet leaves now. An application that writes at the same instant does not limit
    /// sending.
    pub(super) const fn on_nothing_more(&mut self, now: Instant) {
        if !self.held_back && self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
    }

    /// `bound` applies from now on; returns the bound behind it.
    pub(super) fn on_bound(&mut self, now: Instant, bound: SndLim, pipe: u32) -> SndLim {
        let bound = self.controller.bound_behind(bound, self.sampler.hold());
        self.sampler.on_bound(now, bound, self.octets(pipe));
        bound
    }

    /// Time has passed without waiting data, with `pipe` packets in flight.
    fn settle_idle(&mut self, now: Instant, pipe: u32) {
        // Once for each acknowledgement, with the packets in flight before it.
        if self.idle_since.take_if(|since| *since < now).is_some() {
            self.app_limited = pipe < self.packets();
            if self.app_limited {
                self.sampler.on_app_limited(self.octets(pipe));
            }
        }
    }

    /// The acknowledgement reports these numbers as received, with `pipe` packets in flight before
    /// it. True if all lost packets have arrived and the reduction was undone.
    pub(super) fn on_range_acked(
        &mut self,
        now: Instant,
        low: SeqNum,
        high: SeqNum,
        pipe: u32,
    ) -> bool {
        self.settle_idle(now, pipe);
        self.newly_lost = 0;
        if self.spurious_candidates.is_empty() {
            return false;
        }
        let arrived = |seq: SeqNum| seq.is_at_or_after(low) && seq.is_at_or_before(high);
        self.spurious_candidates.retain(|&seq| !arrived(seq));
        self.spurious_candidates.is_empty() && self.controller.on_spurious_congestion_event(now)
    }

    /// The packet at this index of the sender's history was delivered; `pipe` includes it.
    pub(super) fn on_acked(
        &mut self,
        now: Instant,
        (at, sent_at): (usize, Instant),
        (pipe, rtt): (u32, Rtt),
    ) {
        let number = self.first + at as u64;
        let snapshot = self.snapshots.get(at);
        self.sampler
            .on_acked(now, self.packet_size, (sent_at, number), snapshot);
        let is_held = self.slow_until.is_some_and(|until| until > now);
        self.controller.on_ack(&Acked {
            now,
            sent_at,
            bytes: self.packet_size,
            bytes_in_flight: self.octets(pipe),
            rtt,
            app_limited: self.app_limited || is_held || self.receiver_bound.is_some(),
        });
    }

    /// Removes the oldest packet. Returns the number of packets sent before it, and its snapshot.
    pub(super) fn take_oldest(&mut self) -> Option<(u64, DeliverySnapshot)> {
        let number = self.first;
        let snapshot = self.snapshots.pop_front()?;
        self.first += 1;
        Some((number, snapshot))
    }

    /// The oldest packet is lost.
    pub(super) fn on_lost(&mut self, now: Instant, seq: SeqNum, sent_at: Instant) {
        let Some((number, snapshot)) = self.take_oldest() else {
            return;
        };
        self.spurious_candidates.push(seq);
        self.newly_lost += 1;
        let lost_since_sent = self.sampler.on_lost(self.packet_size, Some(&snapshot));
        let before = self.last_lost.replace(number);
        self.controller.on_lost(&Lost {
            now,
            sent_at,
            bytes: self.packet_size,
            tx_in_flight: u64::from(snapshot.tx_in_flight),
            lost_since_sent,
            delivered: self.sampler.delivered(),
            app_limited: snapshot.app_limited,
            continues_range: before.is_some_and(|before| before + 1 == number),
        });
    }

    /// Packets were lost or, with `ecn`, marked; `pipe` packets are in flight without them.
    /// `is_new` is true if no packet of this window was lost or marked before.
    pub(super) fn on_congestion_event(
        &mut self,
        (now, sent_at): (Instant, Instant),
        pipe: u32,
        ecn: bool,
        is_new: bool,
    ) {
        let lost = if ecn { 0 } else { self.newly_lost as u64 };
        self.controller.on_congestion_event(&CongestionEvent {
            now,
            sent_at,
            lost_bytes: lost * self.packet_size,
            bytes_in_flight: self.octets(pipe),
            flight_size: None,
            ecn,
        });
        if is_new {
            let before = self.spurious_candidates.len() - self.newly_lost;
            self.spurious_candidates.drain(..before);
        }
    }

    /// The acknowledgement was processed completely.
    pub(super) fn on_end_acks(&mut self, now: Instant, summary: &AckSummary, pipe: u32, rtt: Rtt) {
        let Some(delivered) = self.sampler.on_end_acks(rtt.min) else {
            return;
        };
        let bytes_in_flight = self.octets(pipe);
        let limits_samples = self.controller.on_end_acks(&EndAcks {
            now,
            newly_acked: delivered.newly_acked,
            acked_packets: delivered.packets,
            newly_lost: delivered.newly_lost,
            ecn_ce: u64::from(summary.newly_marked),
            bytes_in_flight,
            newest_sent_at: delivered.newest_sent_at,
            rtt_sample: summary.rtt_sample,
            rtt,
            rate: delivered.rate,
        });
        if limits_samples {
            self.sampler.on_app_limited(bytes_in_flight);
        }
    }

    /// Leaves slow start after Slow Receiver or Data Dropped (RFC 4341 §5.2).
    pub(super) fn on_receiver_reports(&mut self, slow_until: Option<Instant>) {
        self.slow_until = slow_until.or(self.slow_until);
        self.controller
            .on_connection_event(ConnectionEvent::SlowReceiver);
    }

    /// RFC 4341 §5.2: one packet less for each with drop code 2.
    pub(super) fn on_receiver_drops(&mut self, summary: &AckSummary) {
        if summary.dropped_by_receiver > 0 {
            let packets = self.packets().saturating_sub(summary.dropped_by_receiver);
            self.receiver_bound = Some(ReceiverBound {
                packets: packets.max(1),
                acked: 0,
            });
        } else if let Some(bound) = &mut self.receiver_bound {
            bound.acked = bound.acked.saturating_add(summary.unmarked);
            if bound.acked >= bound.packets {
                bound.acked -= bound.packets;
                bound.packets += 1;
            }
        }
        let most = self.controller_packets();
        self.receiver_bound = self.receiver_bound.filter(|bound| bound.packets < most);
    }

    pub(super) fn on_timeout(&mut self, now: Instant, first_sent_at: Instant, repeated: bool) {
        self.controller
            .on_retransmission_timeout(&RetransmissionTimeout {
                now,
                sent_at: first_sent_at,
                flight_size: None,
                repeated,
            });
        self.spurious_candidates.clear();
    }

    pub(super) fn restart(&mut self) {
        self.controller
            .on_connection_event(ConnectionEvent::IdleRestart);
    }

    pub(super) fn ecn(&self) -> Option<EcnCapability> {
        self.controller.needs().ecn
    }

    pub(super) fn state(&self, pipe: u32, rtt: Rtt) -> WindowState {
        let mut state = self
            .controller
            .snapshot(self.octets(pipe), rtt, self.sampler.hold());
        if let Some(bound) = &self.receiver_bound {
            state.cwnd = state.cwnd.min(self.octets(bound.packets));
        }
        state
    }
}

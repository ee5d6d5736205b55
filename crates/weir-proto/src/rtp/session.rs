//! One end of a session as an endpoint: a sender and a receiver of media.

use super::history::{History, Outcome};
use super::receiver::{Accepted, Receiver};
use super::wire::{CcFeedback, MediaPacket, Packet as RtpPacket};
use super::{Config, EcnCodepoint, LOWER_OCTETS};
use crate::cc::media::{MediaSender, PacketOutcome, Report, Setup};
use crate::endpoint::{
    CloseReason, CountedFrom, Endpoint, EndpointEvent, MediaTarget, Statistics, WriteError,
};
use crate::event::{Event, EventMask, Events, LossTrigger, PacketContent, PacketType, SndLim};
use crate::packet::{Body, Ecn, IpHeader, Packet, Payload, TraceNumber, Transit};
use crate::rng::Rng;
use crate::time::Instant;
use std::collections::VecDeque;

/// A dynamic payload type (RFC 3551 §3).
const PAYLOAD_TYPE: u8 = 96;
/// Ticks of the clock of video in a second (RFC 3551 §5).
const VIDEO_CLOCK: u128 = 90_000;
/// First sequence numbers are below this, so that a receiver that misses the first packets extends
/// the numbers as the sender does.
const FIRST_BELOW: u64 = 1 << 15;

/// A payload that waits to be sent.
#[derive(Debug)]
struct Waiting {
    payload: Payload,
    written: Instant,
}

/// One end of a session.
#[derive(Debug)]
pub struct Session {
    config: Config,
    ssrc: u32,
    is_open: bool,
    is_closing: bool,
    /// A write was refused, and the application has not been notified of room since.
    is_blocked: bool,
    queue: VecDeque<Waiting>,
    queued_bytes: u64,
    sender: Option<MediaSender>,
    history: History,
    receiver: Receiver,
    reports: VecDeque<CcFeedback>,
    reports_sent: u64,
    received: VecDeque<Payload>,
    endpoint_events: VecDeque<EndpointEvent>,
    next_id: u64,
    statistics: Statistics,
    events: Events,
}

impl Session {
    /// One end of a session; both ends are alike.
    pub fn new(config: Config) -> Self {
        let mut rng = Rng::stream(config.seed, "rtp");
        let ssrc = rng.next_u64() as u32;
        let first = 1 + rng.below(FIRST_BELOW - 1);
        let interval = config.feedback_interval;
        Self {
            sender: MediaSender::new(
                config.controller,
                &Setup {
                    constants: &config.constants,
                    feedback_interval: interval,
                    is_l4s: config.ecn == EcnCodepoint::Ect1,
                },
            ),
            receiver: Receiver::new(interval),
            history: History::new(first),
            config,
            ssrc,
            is_open: false,
            is_closing: false,
            is_blocked: false,
            queue: VecDeque::new(),
            queued_bytes: 0,
            reports: VecDeque::new(),
            reports_sent: 0,
            received: VecDeque::new(),
            endpoint_events: VecDeque::new(),
            next_id: 0,
            statistics: Statistics::default(),
            events: Events::default(),
        }
    }

    fn open(&mut self) {
        if !self.is_open && !self.is_closing {
            self.is_open = true;
            self.endpoint_events.push_back(EndpointEvent::Connected);
        }
    }

    fn on_media(&mut self, now: Instant, media: &MediaPacket, ecn: Ecn) {
        let numbers = [media.ssrc, u32::from(media.sequence)];
        let Some(accepted) = self.receiver.on_packet(now, numbers, ecn) else {
            return;
        };
        self.open();
        let size = media.wire_len() as u32;
        self.count_received(size);
        self.statistics.data_packets_received += 1;
        self.statistics.data_bytes_received += u64::from(size);
        let (Accepted::New(number) | Accepted::Duplicate(number)) = accepted;
        if accepted == Accepted::New(number) {
            self.statistics.payload_received += u64::from(media.payload.len());
            self.received.push_back(media.payload.clone());
            self.endpoint_events.push_back(EndpointEvent::Readable);
        }
        self.events
            .push(now, EventMask::PACKET, move || Event::Received {
                number,
                size,
                content: PacketContent::Data,
                packet_type: PacketType::None,
            });
    }

    fn count_received(&mut self, size: u32) {
        self.statistics.packets_received += 1;
        self.statistics.bytes_received += u64::from(size);
    }

    fn on_feedback(&mut self, now: Instant, feedback: &CcFeedback, size: u32) {
        self.count_received(size);
        self.events
            .push(now, EventMask::PACKET, move || Event::Received {
                number: u64::from(feedback.timestamp),
                size,
                content: PacketContent::Acknowledgement,
                packet_type: PacketType::None,
            });
        let outcome = self.history.on_report(now, self.ssrc, feedback);
        self.count_lost(now, &outcome);
        if let Some(rtt) = outcome.rtt {
            self.events.push(now, EventMask::RTT, || Event::Rtt(rtt));
        }
        let Some(sender) = &mut self.sender else {
            return;
        };
        let report = Report {
            now,
            made_at: outcome.made_at,
            rtt: outcome.rtt,
            packets: &outcome.packets,
        };
        sender.on_report(&report, self.history.in_flight() > 0);
        (self.statistics.loss_events, self.statistics.smoothed_rtt) = sender.measured();
        self.push_state(now);
    }

    fn count_lost(&mut self, now: Instant, outcome: &Outcome) {
        let lost = outcome.packets.iter();
        for packet in lost.filter(|packet| packet.outcome == PacketOutcome::Lost) {
            self.statistics.packets_lost += 1;
            self.events
                .push(now, EventMask::PACKET, move || Event::Lost {
                    number: packet.sequence,
                    size: media_size(packet.bytes),
                    trigger: LossTrigger::Reported,
                    packet_type: PacketType::None,
                });
        }
        let lost = &mut self.statistics.packets_lost;
        *lost = lost.saturating_sub(outcome.late);
        self.statistics.packets_late += outcome.late;
    }

    fn push_state(&mut self, now: Instant) {
        let (queued, payload) = (self.queued_bytes, self.config.max_payload());
        if let Some(sender) = &self.sender {
            self.events.push(now, EventMask::CONTROLLER, || {
                Event::Rate(sender.state(queued, payload))
            });
        }
    }

    /// When the first waiting packet may leave; `None` if none waits, or the window is full.
    fn release(&self) -> Option<Instant> {
        let bytes = self.queue.front()?.payload.len();
        match &self.sender {
            Some(sender) => sender.release(bytes, self.queued_bytes),
            None => Some(Instant::ZERO),
        }
    }

    /// True if the first waiting packet does not fit into the window.
    fn is_window_full(&self) -> bool {
        let (Some(first), Some(sender)) = (self.queue.front(), &self.sender) else {
            return false;
        };
        sender.is_window_full(first.payload.len())
    }

    /// When the rate is halved without feedback.
    fn feedback_deadline(&self) -> Option<Instant> {
        self.sender.as_ref().filter(|_| self.is_open)?.deadline()
    }

    fn packet(&mut self, body: RtpPacket, ecn: Ecn, number: u64) -> Packet {
        let id = self.next_id;
        self.next_id += 1;
        let size = body.wire_len() as u32;
        self.statistics.packets_sent += 1;
        self.statistics.bytes_sent += u64::from(size);
        Packet {
            id,
            flow: crate::packet::FlowId::default(),
            ip: IpHeader {
                ecn,
                ..IpHeader::default()
            },
            size: size + LOWER_OCTETS,
            damaged_at: None,
            transit: Transit::default(),
            number: Some(TraceNumber::new(number)),
            body: Body::Rtp(body),
        }
    }

    fn send_report(&mut self, now: Instant) -> Option<Packet> {
        let report = self.reports.pop_front()?;
        let number = self.reports_sent;
        self.reports_sent += 1;
        let packet = self.packet(RtpPacket::Feedback(report), Ecn::NotEct, number);
        let size = packet.size - LOWER_OCTETS;
        self.events
            .push(now, EventMask::PACKET, move || Event::Sent {
                number,
                size,
                content: PacketContent::Acknowledgement,
                packet_type: PacketType::None,
            });
        Some(packet)
    }

    fn send_media(&mut self, now: Instant) -> Packet {
        let Waiting { payload, written } = self.queue.pop_front().unwrap_or(Waiting {
            payload: Payload::default(),
            written: now,
        });
        let bytes = payload.len();
        let number = self.history.next();
        if let Some(sender) = &mut self.sender {
            sender.on_sent(now, number, bytes, self.queued_bytes);
        }
        self.queued_bytes -= u64::from(bytes);
        let next = self.queue.front();
        let media = MediaPacket {
            marker: next.is_none_or(|next| next.written != written),
            payload_type: PAYLOAD_TYPE,
            sequence: number as u16,
            timestamp: (u128::from(written.as_nanos()) * VIDEO_CLOCK / 1_000_000_000) as u32,
            ssrc: self.ssrc,
            payload,
        };
        let ecn = self.config.ecn.codepoint();
        let packet = self.packet(RtpPacket::Media(media), ecn, number);
        self.history.on_sent(now, packet.id, bytes);
        self.statistics.data_packets_sent += 1;
        self.events
            .push(now, EventMask::PACKET, move || Event::Sent {
                number,
                size: media_size(bytes),
                content: PacketContent::Data,
                packet_type: PacketType::None,
            });
        if std::mem::take(&mut self.is_blocked) {
            self.endpoint_events.push_back(EndpointEvent::Writable);
        }
        self.finish_if_closing();
        packet
    }

    /// Ends the session once everything that was written has been sent.
    fn finish_if_closing(&mut self) {
        if self.is_closing && self.is_open && self.queue.is_empty() {
            self.is_open = false;
            let finished = EndpointEvent::Closed(CloseReason::Finished);
            self.endpoint_events.push_back(finished);
        }
    }
}

/// Octets of a packet with this payload, without IP and UDP headers.
const fn media_size(payload: u32) -> u32 {
    payload + super::wire::HEADER_OCTETS
}

impl Endpoint for Session {
    fn handle(&mut self, now: Instant, packet: &mut Packet) {
        // Damage fails the checksum of UDP.
        if packet.damaged_at.is_some() {
            return;
        }
        let size = packet.size.saturating_sub(LOWER_OCTETS);
        match &packet.body {
            Body::Rtp(RtpPacket::Media(media)) => self.on_media(now, media, packet.ip.ecn),
            Body::Rtp(RtpPacket::Feedback(feedback)) => self.on_feedback(now, feedback, size),
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.receiver.due().is_some_and(|due| due <= now) {
            let octets = self.config.mtu.saturating_sub(LOWER_OCTETS) as usize;
            let reports = self.receiver.report(now, self.ssrc, octets);
            self.reports.extend(reports);
        }
        if self.feedback_deadline().is_some_and(|at| at <= now) {
            if let Some(sender) = &mut self.sender {
                self.events
                    .push(now, EventMask::TIMEOUT, || Event::Timeout { backoff: 0 });
                self.statistics.timeouts += 1;
                sender.on_deadline(now);
            }
            self.push_state(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if let Some(report) = self.send_report(now) {
            return Some(report);
        }
        match self.release() {
            Some(release) if release <= now => return Some(self.send_media(now)),
            Some(_) => self.events.block(now, SndLim::Rate),
            None if self.is_window_full() => self.events.block(now, SndLim::Window),
            None if self.is_open => self.events.block(now, SndLim::Application),
            None => self.events.block(now, SndLim::Nothing),
        }
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let times = [
            self.release(),
            self.receiver.due(),
            self.feedback_deadline(),
        ];
        times.into_iter().flatten().min()
    }

    fn events(&mut self) -> Option<&mut Events> {
        Some(&mut self.events)
    }

    fn connect(&mut self, now: Instant) {
        self.open();
        self.push_state(now);
    }

    fn close(&mut self, _now: Instant) {
        self.is_closing = true;
        self.finish_if_closing();
    }

    fn write(&mut self, now: Instant, data: Payload) -> Result<(), WriteError> {
        if !self.is_open || self.is_closing {
            return Err(WriteError::Closed);
        }
        let largest = self.config.max_payload();
        if data.len() > largest {
            return Err(WriteError::TooLarge(largest));
        }
        if self.queue.len() >= self.config.send_queue as usize {
            self.is_blocked = true;
            return Err(WriteError::Blocked);
        }
        let len = data.len();
        if let Some(sender) = &mut self.sender {
            let first = self.queue.front().map(|first| first.written);
            sender.on_written(now, u64::from(len), first);
        }
        self.events
            .push(now, EventMask::WRITE, || Event::Write(len));
        self.queued_bytes += u64::from(len);
        self.queue.push_back(Waiting {
            payload: data,
            written: now,
        });
        Ok(())
    }

    fn read(&mut self, _now: Instant) -> Option<Payload> {
        self.received.pop_front()
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.endpoint_events.pop_front()
    }

    fn has_event(&self) -> bool {
        !self.endpoint_events.is_empty()
    }

    fn media_target(&self) -> Option<MediaTarget> {
        let sender = self.sender.as_ref()?;
        Some(MediaTarget {
            rate: sender.target_rate(self.queued_bytes),
            buffered_bytes: self.queued_bytes,
        })
    }

    fn transmitted(&mut self, now: Instant, packet_id: u64) {
        self.history.on_transmitted(now, packet_id);
    }

    fn statistics(&self) -> Statistics {
        self.statistics
    }

    fn count_loss_events_from(&mut self, from: CountedFrom) {
        if let Some(sender) = &mut self.sender {
            sender.count_loss_events_from(from.at);
        }
    }
}

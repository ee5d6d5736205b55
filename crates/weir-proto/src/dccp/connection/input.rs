//! Processes a packet: one function for each step of RFC 4340 §8.5.
//!
//! The decoder does step 1, the checks of the header, and the driver step 2, the lookup of the
//! connection.

use super::{Connection, State};
use crate::dccp::data_dropped::DropCode;
use crate::dccp::negotiation::{Location, MANDATORY_FAILURE, Message};
use crate::dccp::wire::checksum::{covered_len, data_checksum};
use crate::dccp::wire::{self, ApplicableOption, DccpOption, OptionFault, PacketType, feature};
use crate::endpoint::{CloseReason, EndpointEvent};
use crate::event::{self, Event, EventMask};
use crate::packet::{Body, Ecn, IpHeader, Packet};
use crate::time::Instant;

/// Reset codes (RFC 4340 §5.6).
mod code {
    pub(super) const CLOSED: u8 = 1;
    pub(super) const NO_CONNECTION: u8 = 3;
    pub(super) const PACKET_ERROR: u8 = 4;
    pub(super) const BAD_SERVICE_CODE: u8 = 8;
}

/// The end of the part of a packet that the checksum covers, from the start of the IP header.
pub(super) fn covered_end(packet: &wire::Packet) -> u32 {
    let payload = packet.payload.len() as usize;
    let covered = covered_len(packet.header_len(), payload, packet.cscov);
    covered.map_or(u32::MAX, |octets| IpHeader::V4_OCTETS + octets as u32)
}

/// True if a packet has a Data Checksum that does not match its data (RFC 4340 §9.3). A payload
/// without content does not match if the network damaged it.
fn is_corrupt(packet: &wire::Packet) -> bool {
    packet.options.iter().any(|option| match option {
        DccpOption::DataChecksum(sum) => {
            packet.payload.is_damaged() || sum != data_checksum(&packet.payload)
        }
        _ => false,
    })
}

/// Whether processing continues after a step.
type Step = std::ops::ControlFlow<()>;
const NEXT: Step = Step::Continue(());
const DONE: Step = Step::Break(());

impl Connection {
    pub(super) fn handle_packet(&mut self, now: Instant, packet: &mut Packet) {
        let ecn = packet.ip.ecn;
        let damaged_at = packet.damaged_at;
        let Body::Dccp(packet) = &mut packet.body else {
            return;
        };
        if let Some(at) = damaged_at {
            // RFC 4340 §9.2: payload that is damaged beyond the coverage is delivered.
            if at.get() < covered_end(packet) {
                return;
            }
            packet.payload = std::mem::take(&mut packet.payload).damaged();
        }
        if !packet.extended && self.sequence.started && self.state != State::TimeWait {
            // RFC 4340 §7.6.1: packets with short numbers are ignored unless they are agreed on.
            let allowed = feature::ALLOW_SHORT_SEQNOS;
            if self.negotiation.value(Location::Remote, allowed) == 0 {
                return;
            }
            packet.seq = packet.seq.extended_near(self.sequence.gsr);
        }
        let _ = self.process(now, packet, ecn);
    }

    fn process(&mut self, now: Instant, packet: &mut wire::Packet, ecn: Ecn) -> Step {
        self.step_3_listen(now, packet)?;
        self.step_4_request(now, packet)?;
        self.step_5_and_6_sequence(now, packet)?;
        self.step_7_unexpected_type(now, packet)?;
        let new = self.accept(now, packet, ecn);
        if self.state == State::Open && packet.kind == PacketType::Data {
            // The steps in between concern other types and states, and options that Data may not
            // carry.
            if new {
                self.step_16_data(packet);
            }
            return NEXT;
        }
        self.step_8_options(now, packet)?;
        self.step_9_reset(now, packet)?;
        self.step_10_request(now, packet);
        self.step_11_respond(now, packet, ecn)?;
        self.step_12_part_open(now, packet);
        self.step_13_close_req(now, packet)?;
        self.step_14_close(now, packet)?;
        self.step_15_sync(now, packet)?;
        if new {
            self.step_16_data(packet);
        }
        NEXT
    }

    /// Steps 2 and 3: CLOSED, TIMEWAIT and LISTEN.
    fn step_3_listen(&mut self, now: Instant, packet: &wire::Packet) -> Step {
        match self.state {
            State::Listen if packet.kind == PacketType::Request => {
                if packet.service_code() != Some(self.config.service_code) {
                    self.refuse(now, packet, code::BAD_SERVICE_CODE);
                    return DONE;
                }
                self.sequence.start(packet.seq);
                self.enter(now, State::Respond);
                NEXT
            }
            // RFC 4340 §8.5 step 2: TIMEWAIT responds as if there were no connection.
            State::Listen | State::Closed | State::TimeWait => {
                self.refuse(now, packet, code::NO_CONNECTION);
                DONE
            }
            _ => NEXT,
        }
    }

    /// Step 4: in REQUEST only a Response or Reset to a Request of this end is valid.
    fn step_4_request(&mut self, now: Instant, packet: &wire::Packet) -> Step {
        if self.state != State::Request {
            return NEXT;
        }
        let expected = matches!(packet.kind, PacketType::Response | PacketType::Reset);
        let acknowledges = packet
            .ack()
            .is_some_and(|ack| self.sequence.ack_is_valid(ack));
        if expected && acknowledges {
            self.sequence.start(packet.seq);
            return NEXT;
        }
        self.refuse(now, packet, code::PACKET_ERROR);
        DONE
    }

    /// Steps 5 and 6: the sequence and acknowledgement number windows.
    fn step_5_and_6_sequence(&mut self, now: Instant, packet: &wire::Packet) -> Step {
        let ack = self.full_ack(packet);
        if self.sequence.is_valid(packet.kind, packet.seq, ack) {
            return NEXT;
        }
        // RFC 4340 §7.5.3: invalid Syncs are dropped without an answer.
        if !matches!(packet.kind, PacketType::Sync | PacketType::SyncAck) {
            self.send_sync(now, packet);
        }
        DONE
    }

    /// The acknowledgement number, extended from 24 bits if it is short.
    fn full_ack(&self, packet: &wire::Packet) -> Option<wire::SeqNum> {
        let ack = packet.ack()?;
        Some(if packet.extended {
            ack
        } else {
            ack.extended_near(self.sequence.gss)
        })
    }

    /// Step 7: packet types that are unexpected in the role or state.
    fn step_7_unexpected_type(&mut self, now: Instant, packet: &wire::Packet) -> Step {
        use PacketType::{CloseReq, Data, Request, Response};
        // Copies of packets of the handshake are expected, and later steps ignore them.
        let late = self
            .sequence
            .osr
            .is_some_and(|osr| packet.seq.is_at_or_after(osr));
        let unexpected = match packet.kind {
            CloseReq => self.server,
            Response => self.server || late,
            Request => !self.server || late,
            Data => self.state == State::Respond,
            _ => false,
        };
        if unexpected {
            self.send_sync(now, packet);
            return DONE;
        }
        NEXT
    }

    /// Between steps 7 and 8: the packet is valid. Updates the variables of §7.1 and the CCIDs;
    /// false for a duplicate.
    fn accept(&mut self, now: Instant, packet: &wire::Packet, ecn: Ecn) -> bool {
        let ack = self.full_ack(packet);
        // RFC 4340 §8.5 step 6: a Sync does not update GAR.
        let gar = ack.filter(|_| packet.kind != PacketType::Sync);
        let new = self.sequence.on_valid(packet.seq, gar);
        let size = packet.wire_len();
        let data = packet.kind.carries_data();
        self.last_received = now;
        self.statistics.packets_received += 1;
        self.statistics.bytes_received += u64::from(size);
        if data && new {
            self.statistics.data_packets_received += 1;
            self.statistics.data_bytes_received += u64::from(size);
        }
        let number = packet.seq.get();
        let content = super::output::content(packet.kind);
        self.events
            .push(now, EventMask::PACKET, move || Event::Received {
                number,
                size,
                content,
                packet_type: event::PacketType::None,
            });
        if let (true, Some(receiver)) = (new, &mut self.receiver) {
            receiver.on_packet(now, packet, ecn, &mut self.events);
            if self.events.wants(EventMask::FEEDBACK)
                && let Some(decision) = receiver.feedback_decision()
            {
                self.events
                    .push(now, EventMask::FEEDBACK, || Event::Feedback(decision));
            }
            if let Some(ack) = ack {
                receiver.on_ack_of_ack(ack);
                self.data_dropped.on_ack_of_ack(ack);
            }
        }
        if let (Some(sender), Some(ack)) = (&mut self.sender, ack) {
            if let Some(nonces) = &mut self.nonces
                && !nonces.echoes_match(ack, packet)
            {
                sender.on_nonce_mismatch();
            }
            sender.on_ack(now, packet, &mut self.events);
            self.announce_ack_ratio(now);
        }
        if matches!(packet.kind, PacketType::Ack | PacketType::DataAck) {
            self.acks_received = self.acks_received.saturating_add(1);
            // A client that repeats its Ack is in PARTOPEN; a packet of the server ends that state.
            self.ack_pending |= self.state == State::Open && self.server && !self.sent_in_open;
        }
        new
    }

    /// Step 8: options of the connection; the CCIDs read their own.
    fn step_8_options(&mut self, now: Instant, packet: &wire::Packet) -> Step {
        // RFC 4340 §5.8.2, §6: no option on Data may end the connection or negotiate. A Reset ends
        // the connection in any case and is never answered by another (§8.3.1).
        if matches!(packet.kind, PacketType::Data | PacketType::Reset) {
            return NEXT;
        }
        let fault = self.process_options(packet).err();
        self.sequence.peer_window = self
            .negotiation
            .value(Location::Remote, feature::SEQUENCE_WINDOW);
        let Some(fault) = fault else { return NEXT };
        self.abort(now, fault);
        DONE
    }

    fn process_options(&mut self, packet: &wire::Packet) -> Result<(), OptionFault> {
        for applicable in packet.options.applicable_to(packet.kind) {
            let ApplicableOption {
                option,
                mandatory,
                raw,
            } = applicable?;
            if let (DccpOption::Other { .. }, true) = (option, mandatory) {
                return Err(OptionFault::mandatory(raw));
            }
            if let Some(message) = Message::from_option(option) {
                self.negotiation
                    .on_message(message, mandatory)
                    .map_err(|code| match code {
                        MANDATORY_FAILURE => OptionFault::mandatory(raw),
                        _ => OptionFault::option(raw),
                    })?;
                self.take_ack_ratio();
            }
        }
        Ok(())
    }

    /// Ends the connection with a Reset.
    fn abort(&mut self, now: Instant, fault: OptionFault) {
        let code = fault.reset_code;
        self.timers.clear();
        self.send_reset(now, code, fault.data);
        self.enter(now, State::TimeWait);
        self.start_time_wait(now);
        self.finish(CloseReason::Reset(u64::from(code)));
    }

    /// Step 9: Reset.
    fn step_9_reset(&mut self, now: Instant, packet: &wire::Packet) -> Step {
        let Some(code) = packet.reset_code() else {
            return NEXT;
        };
        let closing = matches!(self.state, State::Closing | State::CloseReq);
        self.enter(now, State::TimeWait);
        self.start_time_wait(now);
        self.transmit_queue.clear();
        let reason = match code {
            code::CLOSED => CloseReason::Finished,
            // The peer has already closed, and its Reset was lost.
            code::NO_CONNECTION if closing => CloseReason::Finished,
            code => CloseReason::Reset(u64::from(code)),
        };
        self.finish(reason);
        DONE
    }

    /// Step 10: the Response to a Request of this end.
    fn step_10_request(&mut self, now: Instant, packet: &wire::Packet) {
        if self.state != State::Request {
            return;
        }
        self.enter(now, State::PartOpen);
        self.start_part_open(now);
        self.start_ccids();
        self.keep_cookies(packet);
        self.report_handshake_rtt(now);
        self.ack_pending = true;
        self.endpoint_events.push_back(EndpointEvent::Connected);
    }

    /// Passes the round-trip time of the handshake to the CCID, unless a packet was repeated.
    fn report_handshake_rtt(&mut self, now: Instant) {
        let first = self.handshake.filter(|handshake| handshake.attempts == 1);
        let sent_at = first.and_then(|handshake| handshake.sent_at);
        if let (Some(sent_at), Some(sender)) = (sent_at, &mut self.sender) {
            sender.on_handshake_rtt(now, now.since(sent_at));
        }
    }

    /// Step 11: the handshake of the server.
    fn step_11_respond(&mut self, now: Instant, packet: &wire::Packet, ecn: Ecn) -> Step {
        if self.state != State::Respond {
            return NEXT;
        }
        if packet.kind == PacketType::Request {
            if self.timers.deadline.is_none() {
                self.start_respond(now);
            }
            self.send_response(now);
            return DONE;
        }
        if matches!(
            packet.kind,
            PacketType::Ack | PacketType::DataAck | PacketType::Sync | PacketType::SyncAck
        ) {
            self.enter(now, State::Open);
            self.sequence.osr = Some(packet.seq);
            self.timers.clear();
            self.start_keepalive(now);
            self.start_ccids();
            self.report_handshake_rtt(now);
            self.endpoint_events.push_back(EndpointEvent::Connected);
            // The CCID halves did not exist when the packet was accepted.
            if let Some(receiver) = &mut self.receiver {
                receiver.on_packet(now, packet, ecn, &mut self.events);
            }
        }
        NEXT
    }

    /// Step 12: a packet other than a Response or Sync shows that the server is in OPEN.
    fn step_12_part_open(&mut self, now: Instant, packet: &wire::Packet) {
        if self.state != State::PartOpen {
            return;
        }
        if packet.kind == PacketType::Response {
            // The echoed cookies are those of the acknowledged Response.
            if packet.seq == self.sequence.gsr {
                self.keep_cookies(packet);
            }
            self.ack_pending = true;
        } else if packet.kind != PacketType::Sync {
            self.sequence.osr = Some(packet.seq);
            self.enter(now, State::Open);
            self.timers.clear();
            self.start_keepalive(now);
            self.cookies.clear();
        }
    }

    /// Keeps the Init Cookies of a Response in their order (RFC 4340 §8.1.4).
    fn keep_cookies(&mut self, response: &wire::Packet) {
        self.cookies.clear();
        for option in &response.options {
            if matches!(option, DccpOption::InitCookie(_)) {
                self.cookies.push(&option);
            }
        }
    }

    /// Step 13: CloseReq.
    fn step_13_close_req(&mut self, now: Instant, packet: &wire::Packet) -> Step {
        if packet.kind != PacketType::CloseReq {
            return NEXT;
        }
        if matches!(self.state, State::PartOpen | State::Open) {
            self.enter(now, State::Closing);
            self.start_closing(now);
            self.send_close(now);
        }
        DONE
    }

    /// Step 14: Close.
    fn step_14_close(&mut self, now: Instant, packet: &wire::Packet) -> Step {
        if packet.kind != PacketType::Close {
            return NEXT;
        }
        self.send_reset(now, code::CLOSED, [0; 3]);
        self.timers.clear();
        self.enter(now, State::Closed);
        self.finish(CloseReason::Finished);
        DONE
    }

    /// Step 15: Sync.
    fn step_15_sync(&mut self, now: Instant, packet: &wire::Packet) -> Step {
        match packet.kind {
            PacketType::Sync => {
                self.send_sync_ack(now, packet.seq);
                DONE
            }
            PacketType::SyncAck => DONE,
            _ => NEXT,
        }
    }

    /// Step 16: data. A datagram may be empty (RFC 4340 §5.4).
    fn step_16_data(&mut self, packet: &mut wire::Packet) {
        if !packet.kind.carries_data() {
            return;
        }
        if is_corrupt(packet) {
            self.data_dropped.record(packet.seq, DropCode::Corrupt);
            return;
        }
        self.statistics.payload_received += u64::from(packet.payload.len());
        if self.received.is_empty() {
            self.endpoint_events.push_back(EndpointEvent::Readable);
        }
        self.received.push_back(std::mem::take(&mut packet.payload));
    }
}

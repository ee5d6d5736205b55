//! ECN of a connection: the negotiation in the handshake, the feedback in segments, and the
//! response to the peer's feedback.

use super::input::AckUpdate;
use super::output::Content;
use super::{Connection, Recovery, State};
use crate::cc::{CongestionEvent, EcnCapability};
use crate::packet::Ecn;
use crate::tcp::ecn::{
    AccEcnOption, DataReceiver, DataSender, EcnMode, NewlyAcked, ace, ace_flags, client_mode,
    handshake_codepoint, handshake_encoding, server_mode, syn_ack_flags, syn_flags,
};
use crate::tcp::wire::{Packet as TcpPacket, SACK_BLOCKS_BESIDE_ACCECN, SackBlocks, flag};
use crate::time::Instant;

/// The ECN state of one end.
#[derive(Clone, Copy, Debug)]
pub(super) struct EcnState {
    /// The mode that this end offers.
    offered: EcnMode,
    /// The feedback of both directions, once the first SYN or SYN-ACK of the peer has arrived.
    mode: EcnMode,
    /// Data may be ECN-capable.
    capable: bool,
    /// The codepoint of the last SYN.
    syn: Ecn,
    /// The codepoint of the SYN-ACK, until an acknowledgement has fed it back.
    syn_ack: Option<Ecn>,
    classic: Classic,
    receiver: DataReceiver,
    sender: DataSender,
}

/// The state of RFC 3168.
#[derive(Clone, Copy, Debug, Default)]
struct Classic {
    /// ECE is set until CWR arrives.
    ece: bool,
    /// CWR is due on the next new data.
    cwr: bool,
    /// ECE is ignored before this offset is acknowledged.
    recovery_point: u64,
}

/// The ECN feedback of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SegmentFeedback {
    pub(super) flags: u16,
    pub(super) option: Option<AccEcnOption>,
}

impl EcnState {
    pub(super) fn new(offered: EcnMode) -> Self {
        Self {
            offered,
            mode: EcnMode::Off,
            capable: true,
            syn: Ecn::NotEct,
            syn_ack: None,
            classic: Classic::default(),
            receiver: DataReceiver::new(),
            sender: DataSender::new(),
        }
    }

    /// True once the peer has agreed to any feedback of marks.
    pub(super) fn is_on(&self) -> bool {
        self.mode != EcnMode::Off
    }

    /// A server receives the first SYN, which decides (RFC 9768 §3.1.5).
    pub(super) fn on_first_syn(&mut self, flags: u16, ecn: Ecn) {
        self.mode = server_mode(self.offered, flags);
        self.syn = ecn;
    }

    /// A server receives another SYN.
    pub(super) fn on_syn_again(&mut self, flags: u16, ecn: Ecn) {
        self.syn = ecn;
        // RFC 9768 §3.1.5: the client may have fallen back to no ECN.
        self.capable &= self.mode != EcnMode::Accurate || ace(flags) != 0;
    }

    /// A client receives the first SYN-ACK, which decides.
    pub(super) fn on_first_syn_ack(&mut self, flags: u16, ecn: Ecn) {
        self.mode = client_mode(self.offered, flags);
        self.on_syn_ack_again(ecn);
        // RFC 9768 §3.2.2.3: the SYN left without ECT, and must have arrived without ECT.
        let changed = handshake_codepoint(ace(flags)) != Ecn::NotEct;
        self.capable &= self.mode != EcnMode::Accurate || !changed;
    }

    /// A client receives a SYN-ACK.
    pub(super) fn on_syn_ack_again(&mut self, ecn: Ecn) {
        if self.mode == EcnMode::Accurate {
            self.receiver.on_syn_ack(ecn);
            self.syn_ack = Some(ecn);
        }
    }

    /// A server receives the acknowledgement of its SYN-ACK (RFC 9768, table 4).
    pub(super) fn on_handshake_ack(&mut self, packet: &TcpPacket) {
        let pure = packet.payload_len == 0 && packet.sack.as_slice().is_empty();
        if self.mode != EcnMode::Accurate || !pure || packet.has(flag::FIN) {
            return;
        }
        let ace = ace(packet.flags);
        self.sender.on_handshake_ack(ace);
        // Zero is a client without ECN; the SYN-ACK must have arrived as it left, without ECT.
        self.capable &= ace != 0 && handshake_codepoint(ace) == Ecn::NotEct;
    }

    /// A client has to feed back the codepoint of the SYN-ACK in an acknowledgement without data,
    /// before it sends any (RFC 9768 §3.2.2.1).
    pub(super) const fn owes_handshake_ack(&self) -> bool {
        self.syn_ack.is_some()
    }

    /// The AccECN feedback of a segment without SYN; a pure segment has neither data nor FIN.
    fn accurate(&mut self, pure: bool) -> SegmentFeedback {
        let count = self.receiver.on_ack_sent();
        // A full segment has no room for options.
        let option = if pure {
            self.receiver.take_option()
        } else {
            None
        };
        match self.syn_ack.take_if(|_| pure) {
            Some(codepoint) => SegmentFeedback {
                flags: ace_flags(handshake_encoding(codepoint)),
                option: Some(self.receiver.handshake_option()),
            },
            None => SegmentFeedback {
                flags: ace_flags(count),
                option,
            },
        }
    }
}

impl Connection {
    /// The codepoint of a segment.
    pub(super) fn codepoint(&self, content: Content) -> Ecn {
        if !self.ecn.capable || self.ecn.mode == EcnMode::Off {
            return Ecn::NotEct;
        }
        match (self.ecn.mode, self.needs.ecn, content) {
            // RFC 3168 §6.1.1, §6.1.4 and §6.1.6: SYNs, pure ACKs and window probes.
            (EcnMode::Off, ..) | (_, _, Content::Empty | Content::WindowProbe) => Ecn::NotEct,
            // A retransmission without ECT(1) would leave the L4S queue (RFC 9331 §4.1); RFC 8311
            // §4.3 lets experiments, of which L4S is one, mark retransmissions as capable.
            (EcnMode::Accurate, Some(EcnCapability::Ect1), _) => Ecn::Ect1,
            // RFC 3168 §6.1.5.
            (EcnMode::Classic | EcnMode::Accurate, _, Content::Retransmission(_)) => Ecn::NotEct,
            // RFC 9331 §4.2: a sender without accurate feedback must not use the L4S queue.
            (EcnMode::Classic | EcnMode::Accurate, _, Content::New(_)) => Ecn::Ect0,
        }
    }

    /// The feedback of a segment with these flags and this content; removes SACK blocks for which
    /// the option leaves no room.
    pub(super) fn ecn_feedback(
        &mut self,
        flags: u16,
        content: Content,
        sack: &mut SackBlocks,
    ) -> SegmentFeedback {
        let feedback = if flags & flag::SYN != 0 {
            self.handshake_feedback()
        } else {
            let ecn = &mut self.ecn;
            match ecn.mode {
                EcnMode::Off => SegmentFeedback::default(),
                EcnMode::Classic => {
                    // RFC 3168 §6.1.2: on the first new data.
                    let new = matches!(content, Content::New(_));
                    let cwr = new && std::mem::take(&mut ecn.classic.cwr);
                    let ece = if ecn.classic.ece { flag::ECE } else { 0 };
                    SegmentFeedback {
                        flags: ece | if cwr { flag::CWR } else { 0 },
                        option: None,
                    }
                }
                EcnMode::Accurate => {
                    if !sack.as_slice().is_empty() {
                        // RFC 9768 §3.2.2.1: such an acknowledgement counts.
                        ecn.syn_ack = None;
                    }
                    let empty = matches!(content, Content::Empty);
                    ecn.accurate(empty && flags & flag::FIN == 0)
                }
            }
        };
        if feedback.option.is_some() {
            sack.truncate(SACK_BLOCKS_BESIDE_ACCECN);
        }
        feedback
    }

    /// The feedback of SYN and SYN-ACK.
    fn handshake_feedback(&self) -> SegmentFeedback {
        let ecn = &self.ecn;
        if self.state == State::SynSent {
            // RFC 9768 §3.2.3.2.1: no option on the SYN.
            return SegmentFeedback {
                flags: syn_flags(ecn.offered),
                option: None,
            };
        }
        let accurate = ecn.mode == EcnMode::Accurate;
        SegmentFeedback {
            flags: syn_ack_flags(ecn.mode, ecn.syn),
            option: accurate.then(|| ecn.receiver.handshake_option()),
        }
    }

    /// Classic: a mark sets ECE until CWR arrives (RFC 3168 §6.1.3).
    pub(super) fn take_classic_codepoint(&mut self, packet: &TcpPacket, ecn: Ecn) {
        if self.ecn.mode != EcnMode::Classic {
            return;
        }
        if packet.has(flag::CWR) {
            self.ecn.classic.ece = false;
        }
        if ecn == Ecn::Ce {
            self.ecn.classic.ece = true;
            self.receiver.ack_now();
        }
    }

    /// Accurate: counts an acceptable packet with `octets` octets of data.
    pub(super) fn count_codepoint(&mut self, ecn: Ecn, octets: u64) {
        let data_waits = self.receiver.owes_ack();
        let accurate = self.ecn.mode == EcnMode::Accurate;
        if accurate && self.ecn.receiver.on_packet(ecn, octets, data_waits) {
            self.receiver.ack_now();
        }
    }

    /// Classic: responds to ECE with at most one reduction per window of data (RFC 3168 §6.1.2).
    pub(super) fn handle_ece(&mut self, now: Instant, packet: &TcpPacket, ack: u64) {
        if self.ecn.mode == EcnMode::Classic
            && packet.has(flag::ECE)
            && ack > self.ecn.classic.recovery_point
            && self.recovery == Recovery::None
        {
            self.ecn.classic.recovery_point = self.scoreboard.high_data();
            self.ecn.classic.cwr = true;
            self.count_loss_event_at(ack);
            self.reduce(now, now, true);
        }
    }

    /// True if the acknowledgement may report marks.
    pub(super) const fn feeds_back_marks(&self, packet: &TcpPacket) -> bool {
        match self.ecn.mode {
            EcnMode::Off => false,
            EcnMode::Classic => packet.has(flag::ECE),
            EcnMode::Accurate => true,
        }
    }

    /// Accurate: returns the number of packets that an acknowledgement newly reports as marked.
    /// Outside of a recovery from losses, each such acknowledgement is reported to the controller,
    /// which decides whether the marks start a new period.
    pub(super) fn take_accurate_marks(
        &mut self,
        now: Instant,
        packet: &TcpPacket,
        update: &AckUpdate,
    ) -> u64 {
        if self.ecn.mode != EcnMode::Accurate {
            return 0;
        }
        let acked = NewlyAcked {
            packets: update.delivered_segments,
            bytes: update.delivered,
        };
        let option = packet.accecn.as_ref();
        let marked = self.ecn.sender.on_ack(ace(packet.flags), option, acked);
        let newest = update.newest.filter(|_| marked > 0);
        if let (Some(sent_at), Recovery::None) = (newest, self.recovery) {
            self.report_marks(now, sent_at);
        }
        marked
    }

    fn report_marks(&mut self, now: Instant, sent_at: Instant) {
        let bytes_in_flight = self.scoreboard.pipe();
        let flight_size = self.reduction_base();
        let is_new = self.controller.on_congestion_event(&CongestionEvent {
            now,
            sent_at,
            lost_bytes: 0,
            bytes_in_flight,
            flight_size,
            ecn: true,
        });
        if is_new {
            self.count_loss_event(Some(sent_at));
        }
    }
}

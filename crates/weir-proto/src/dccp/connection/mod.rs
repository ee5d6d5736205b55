//! One end of a DCCP connection: states, timers, sequence validity, negotiation and the two CCID
//! halves.
//!
//! The functions of `input` are the steps of RFC 4340 §8.5, `output` builds packets, and `timer`
//! processes timeouts.
//!
//! Packets have two times of sending: `poll_transmit` hands a packet over, `transmitted` reports
//! when it has left the host. Both are passed to the CCID (see
//! [`CcidSender`](super::ccid::CcidSender)).
//!
//! A client echoes Init Cookies (§8.1.4). They are created by the listener of a server, which
//! answers Requests without keeping state.
//!
//! Does not model: path-MTU discovery, the simultaneous open of RFC 5596, and several connections
//! behind one listening socket: a listening end accepts the first Request for its service.

#[cfg(test)]
mod conversation_tests;
mod input;
mod output;
#[cfg(test)]
mod tests;
mod timer;

use super::ccid::{CcidReceiver, CcidSender};
use super::data_dropped::DataDropped;
use super::negotiation::{Location, Negotiation};
use super::nonce::SentNonces;
use super::sequence::Sequence;
use super::state::State;
use super::wire::{self, SeqNum, feature};
use super::{ccid2, ccid3};
use crate::cc::tfrc::{FirstIntervalAlone, NominalTime, Profile, RttOption, SmallPackets};
use crate::endpoint::{CloseReason, CountedFrom, Endpoint, EndpointEvent, Statistics, WriteError};
use crate::event::{Event, EventMask, Events};
use crate::packet::{FlowId, HostId, IpHeader, Packet, Payload};
use crate::settings;
use crate::settings::count;
use crate::time::{Duration, Instant, earliest};
use std::collections::VecDeque;
use std::sync::Arc;
use timer::Timers;

/// Octets reserved for the header and options of a DataAck: 24 and 32. A larger payload leaves as
/// Data, its acknowledgement as an Ack of its own (RFC 4340 §14).
const ACK_ROOM: u32 = 56;
/// Octets reserved for Data Checksum and a short Data Dropped option on a DataAck.
const CHECKSUM_ROOM: u32 = 6 + 2 + output::DROPS_WITH_DATA as u32;
/// Octets of the header of Data with a long sequence number.
const DATA_HEADER: u32 = 16;
/// Octets of the options Data Checksum and RTT Estimate.
const DATA_CHECKSUM: u32 = 6;
const RTT_ESTIMATE: u32 = 5;

/// Which congestion control a half-connection uses.
#[derive(Clone, Debug, PartialEq)]
pub enum Ccid {
    /// CCID 2 (RFC 4341).
    TcpLike,
    /// CCID 2 with a window controller in place of the RFC's window.
    TcpLikeWith(Box<ccid2::ControllerChoice>),
    /// CCID 3 (RFC 4342) with these rules of TFRC.
    Tfrc(Box<Profile>),
    /// CCID 4 (RFC 5622), for small packets, with these rules of TFRC.
    TfrcSmallPackets(Box<Profile>),
}

impl Ccid {
    const fn number(&self) -> u8 {
        match self {
            Self::TcpLike | Self::TcpLikeWith(_) => 2,
            Self::Tfrc(_) => 3,
            Self::TfrcSmallPackets(_) => 4,
        }
    }

    /// TFRC's rules, if this is the CCID that was agreed on.
    fn tfrc(&self, agreed: u64) -> Option<Profile> {
        if u64::from(self.number()) != agreed {
            return None;
        }
        match self {
            Self::TcpLike | Self::TcpLikeWith(_) => None,
            Self::Tfrc(profile) => Some(Profile::clone(profile)),
            Self::TfrcSmallPackets(profile) => Some(Profile {
                small_packets: Some(SmallPackets::CCID4),
                // No release of Linux has CCID 4: two faults of its CCID 3, which keep the rate low
                // after an outage, do not apply to CCID 4.
                first_interval_alone: FirstIntervalAlone::Never,
                nominal_time: NominalTime::Rescheduled,
                ..Profile::clone(profile)
            }),
        }
    }
}

settings! {
    /// The settings of an endpoint.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// The flow that its packets carry.
        pub flow: FlowId [internal],
        /// This end.
        pub local: HostId [internal],
        /// The other end.
        pub remote: HostId [internal],
        /// This end's port.
        pub local_port: u16 [internal] = 5001,
        /// The peer's port.
        pub remote_port: u16 [internal] = 5001,
        /// What the client asks for and the server offers (RFC 5595).
        pub service_code: u32 [internal],
        /// ISS: from randomness on a real wire, from the seed in a simulation.
        pub initial_sequence: u64 [internal],
        /// Sequence Window of both ends (RFC 4340 §7.5.2): about five packets per round trip are
        /// needed.
        // §7.5.2 starts with 100, which is too small for fast paths; this is five round trips of
        // 2000 packets.
        pub sequence_window: u64 = 10_000 => count(32..=(1 << 46) - 1, "packets"),
        /// Congestion control of what this end sends.
        pub send_ccid: Ccid [internal] = Ccid::TcpLike,
        /// Congestion control of what this end receives.
        pub receive_ccid: Ccid [internal] = Ccid::TcpLike,
        /// Besides its own, this end takes these CCIDs, in order of preference, if the peer asks
        /// for one of them; for both directions.
        pub accept_ccids: Vec<Ccid> [internal],
        /// CCID 2: data packets per acknowledgement.
        pub ack_ratio: u16 [internal] = 2,
        /// Datagrams that may wait for their transmission, as Linux's tx_qlen.
        pub send_queue: u32 = 5 => count(1..=1_000_000, "packets"),
        /// The path's MTU in octets, IP header included.
        pub mtu: u32 [internal] = 1500,
        /// Data packets use explicit congestion notification.
        pub ecn: bool,
        /// With ecn: data packets are ECT(0) or ECT(1) by chance, and the sender verifies that the
        /// receiver knows which (RFC 4340 §12.2; historic by RFC 8311).
        pub ecn_nonces: bool,
        /// The seed of the random stream of ECN nonces.
        pub nonce_seed: u64 [internal],
        /// CsCov (RFC 4340 §9.2): 0 covers all of a packet, 1 the header, n another 4 (n - 1) bytes
        /// of payload; damage beyond is delivered.
        pub checksum_coverage: u8 => count(0..=15, ""),
        /// Data packets carry a Data Checksum (RFC 4340 §9.3): damaged data is dropped and reported
        /// with Data Dropped, and its loss is not taken for congestion by TFRC.
        pub data_checksum: bool,
        /// 24-bit sequence numbers on Data, Ack and DataAck (RFC 4340 §7.6), if the peer allows it.
        pub short_sequence_numbers: bool [internal],
        /// A client's Requests are filled with Padding up to this many octets, for a server that
        /// answers with no more octets than it received.
        pub request_octets: u32 [internal],
        /// A client gives up after this long without an answer (RFC 4340 §8.1.1).
        pub connect_timeout: Duration [internal] = Duration::from_secs(180),
        /// A peer that is silent for this long in OPEN is asked with a Sync whether it is still
        /// there, and given up if it does not answer for another 4 MSL. The RFC has no timer in
        /// OPEN: without this a connection to a peer that has gone lasts until the application
        /// closes it.
        pub keepalive: Option<Duration> [internal],
        /// MSL: TIMEWAIT lasts twice as long (RFC 4340 §3.4).
        pub max_segment_lifetime: Duration [internal] = Duration::from_secs(120),
    }
}

impl Config {
    /// The largest datagram that fits into the MTU, as Data with the options that it carries, in
    /// octets.
    pub fn max_payload(&self) -> u32 {
        let tells_rtt = match &self.send_ccid {
            Ccid::TcpLike | Ccid::TcpLikeWith(_) => false,
            Ccid::Tfrc(profile) | Ccid::TfrcSmallPackets(profile) => {
                profile.rtt_option == RttOption::Send
            }
        };
        let options =
            u32::from(self.data_checksum) * DATA_CHECKSUM + u32::from(tells_rtt) * RTT_ESTIMATE;
        let header = DATA_HEADER + options.next_multiple_of(4);
        self.mtu.saturating_sub(IpHeader::V4_OCTETS + header)
    }
}

/// A packet of the handshake, for the round-trip time of the handshake.
#[derive(Clone, Copy, Debug)]
struct HandshakePacket {
    seq: SeqNum,
    sent_at: Option<Instant>,
    attempts: u32,
}

/// One end of a DCCP connection.
pub struct Connection {
    config: Config,
    server: bool,
    state: State,
    sequence: Sequence,
    negotiation: Negotiation,
    timers: Timers,
    sender: Option<Box<dyn CcidSender>>,
    receiver: Option<Box<dyn CcidReceiver>>,
    handshake: Option<HandshakePacket>,
    /// The Init Cookies of the Response, while they must be echoed.
    cookies: wire::Options,
    option_buffers: wire::OptionBuffers,
    transmit_queue: VecDeque<Packet>,
    send_queue: VecDeque<Payload>,
    received: VecDeque<Payload>,
    endpoint_events: VecDeque<EndpointEvent>,
    /// The application waits for room in the send queue.
    blocked: bool,
    /// The application has closed; the connection closes once the send queue is empty.
    closing: bool,
    /// A packet was sent in OPEN.
    sent_in_open: bool,
    /// A Sync in PARTOPEN has asked the server for an answer.
    asked_in_part_open: bool,
    /// An acknowledgement must be sent, whether or not the CCID wants one.
    ack_pending: bool,
    /// Acknowledgements received since the last acknowledgement sent.
    acks_received: u32,
    /// The largest datagram that the application may write, in octets.
    max_payload: u32,
    data_dropped: DataDropped,
    nonces: Option<SentNonces>,
    /// When the last valid packet arrived.
    last_received: Instant,
    last_sync: Option<Instant>,
    last_reset: Option<Instant>,
    statistics: Statistics,
    events: Events,
}

impl Connection {
    /// A client.
    pub fn client(config: Config) -> Self {
        Self::new(config, false)
    }

    /// A server, which listens from the start.
    pub fn server(config: Config) -> Self {
        Self::new(config, true)
    }

    fn new(config: Config, server: bool) -> Self {
        let mut negotiation = Negotiation::new(server);
        let send = config.send_ccid.number();
        for (location, own) in [
            (Location::Local, &config.send_ccid),
            (Location::Remote, &config.receive_ccid),
        ] {
            let acceptable = std::iter::once(own).chain(&config.accept_ccids);
            let acceptable: Vec<u8> = acceptable.map(Ccid::number).collect();
            negotiation.prefer(location, feature::CCID, &acceptable);
        }
        negotiation.announce(
            feature::SEQUENCE_WINDOW,
            config.sequence_window.clamp(32, (1 << 46) - 1),
        );
        if send == 2 {
            negotiation.announce(feature::ACK_RATIO, u64::from(config.ack_ratio.max(1)));
            negotiation.prefer(Location::Remote, feature::SEND_ACK_VECTOR, &[1]);
        }
        if config.short_sequence_numbers {
            negotiation.prefer(Location::Local, feature::ALLOW_SHORT_SEQNOS, &[1, 0]);
        }
        negotiation.accept(feature::ALLOW_SHORT_SEQNOS, &[0, 1]);
        Self {
            sequence: Sequence::new(SeqNum::new(config.initial_sequence)),
            state: if server { State::Listen } else { State::Closed },
            server,
            negotiation,
            timers: Timers::default(),
            sender: None,
            receiver: None,
            handshake: None,
            cookies: wire::Options::new(),
            option_buffers: wire::OptionBuffers::default(),
            transmit_queue: VecDeque::new(),
            send_queue: VecDeque::with_capacity(config.send_queue.min(1024) as usize),
            received: VecDeque::new(),
            endpoint_events: VecDeque::new(),
            blocked: false,
            closing: false,
            sent_in_open: false,
            asked_in_part_open: false,
            ack_pending: false,
            acks_received: 0,
            max_payload: config.max_payload(),
            data_dropped: DataDropped::default(),
            nonces: (config.ecn && config.ecn_nonces).then(|| SentNonces::new(config.nonce_seed)),
            last_received: Instant::default(),
            last_sync: None,
            last_reset: None,
            statistics: Statistics::default(),
            events: Events::default(),
            config,
        }
    }

    /// The state of the connection.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The CCID of the data that this end sends, as agreed so far.
    pub fn send_ccid(&self) -> u8 {
        self.negotiation.value(Location::Local, feature::CCID) as u8
    }

    /// The CCID of the data that this end receives, as agreed so far.
    pub fn receive_ccid(&self) -> u8 {
        self.negotiation.value(Location::Remote, feature::CCID) as u8
    }

    /// When the CCID allows the next data packet, if one waits for its time: the timeout of
    /// [`poll_timeout`](Endpoint::poll_timeout) that must be met most exactly.
    pub const fn next_data_at(&self) -> Option<Instant> {
        self.timers.next_data_at
    }

    /// True if the send queue has no room: a datagram would be [`WriteError::Blocked`].
    pub fn send_queue_is_full(&self) -> bool {
        self.send_queue.len() >= self.config.send_queue.max(1) as usize
    }

    /// Removes unsent datagrams from the send queue, except those for which `keep` is true. Returns
    /// their number.
    pub fn discard_unsent(&mut self, keep: impl Fn(&Payload) -> bool) -> usize {
        let before = self.send_queue.len();
        self.send_queue.retain(keep);
        before - self.send_queue.len()
    }

    /// The largest datagram that the application may write, in octets.
    pub fn max_payload(&self) -> u32 {
        self.max_payload
    }

    /// The largest payload that leaves room for an acknowledgement, in octets.
    fn max_payload_with_ack(&self) -> u32 {
        let checked = u32::from(self.config.data_checksum) * CHECKSUM_ROOM;
        self.config
            .mtu
            .saturating_sub(IpHeader::V4_OCTETS + ACK_ROOM + checked)
            .saturating_sub(self.cookies.padded_len() as u32)
    }

    fn enter(&mut self, now: Instant, state: State) {
        if self.state != state {
            self.state = state;
            self.events
                .push(now, EventMask::STATE, || Event::State(state.name()));
        }
    }

    /// The Ack Ratio of the data that this host (`Local`) or the peer sends.
    fn ack_ratio(&self, sender: Location) -> u16 {
        let ratio = self.negotiation.value(sender, feature::ACK_RATIO);
        u16::try_from(ratio).unwrap_or(u16::MAX)
    }

    /// Announces an Ack Ratio that the sender half has changed (RFC 4341 §6.1.2).
    fn announce_ack_ratio(&mut self, now: Instant) {
        let wanted = self.sender.as_ref().and_then(|sender| sender.ack_ratio());
        let Some(ratio) = wanted.filter(|&ratio| ratio != self.ack_ratio(Location::Local)) else {
            return;
        };
        self.negotiation
            .announce(feature::ACK_RATIO, u64::from(ratio));
        if self.state == State::Open {
            self.start_change(now);
        }
    }

    /// The peer may have announced another Ack Ratio (RFC 4340 §11.3).
    fn take_ack_ratio(&mut self) {
        let ratio = self.ack_ratio(Location::Remote);
        if let Some(receiver) = &mut self.receiver {
            receiver.set_ack_ratio(ratio);
        }
    }

    /// Creates both CCID halves as negotiated.
    fn start_ccids(&mut self) {
        if self.sender.is_some() {
            return;
        }
        // RFC 4340 §6.1: a CCID in use is not changed.
        self.negotiation.freeze(feature::CCID);
        self.sequence.own_window = self
            .negotiation
            .value(Location::Local, feature::SEQUENCE_WINDOW);
        let packet_size = self.max_payload();
        let send = self.negotiation.value(Location::Local, feature::CCID);
        let receive = self.negotiation.value(Location::Remote, feature::CCID);
        let own_ratio = self.ack_ratio(Location::Local);
        let accepted = &self.config.accept_ccids;
        let rules = |own, agreed| {
            let mut acceptable = std::iter::once(own).chain(accepted);
            acceptable.find_map(|ccid: &Ccid| ccid.tfrc(agreed))
        };
        // Both halves share equal rules, to save memory when many connections are open.
        let sending = rules(&self.config.send_ccid, send).map(Arc::new);
        let receiving = rules(&self.config.receive_ccid, receive);
        let receiving = receiving.map(|own| match &sending {
            Some(shared) if **shared == own => Arc::clone(shared),
            _ => Arc::new(own),
        });
        // Without an agreement the CCID is 2, the default.
        self.sender = Some(match sending {
            Some(profile) => Box::new(ccid3::Ccid3Sender::new(profile, packet_size)),
            None => Box::new(self.ccid2_sender(packet_size, own_ratio)),
        });
        // A controller that needs a codepoint excludes random codepoints.
        if self
            .sender
            .as_ref()
            .is_some_and(|half| half.ecn().is_some())
        {
            self.nonces = None;
        }
        let ack_ratio = self.ack_ratio(Location::Remote);
        self.receiver = Some(match receiving {
            Some(profile) => Box::new(ccid3::Ccid3Receiver::new(profile)),
            None => Box::new(ccid2::Ccid2Receiver::new(ack_ratio)),
        });
    }

    /// The sender half of CCID 2, with the controller of the CCID that this end prefers.
    fn ccid2_sender(&self, packet_size: u32, ack_ratio: u16) -> ccid2::Ccid2Sender {
        let mut preferred =
            std::iter::once(&self.config.send_ccid).chain(&self.config.accept_ccids);
        match preferred.find(|ccid| ccid.number() == 2) {
            Some(Ccid::TcpLikeWith(choice)) => {
                ccid2::Ccid2Sender::with_controller(packet_size, ack_ratio, choice)
            }
            _ => ccid2::Ccid2Sender::new(packet_size, ack_ratio),
        }
    }

    /// Reports the end of the connection to the application.
    fn finish(&mut self, reason: CloseReason) {
        if let Some(sender) = &mut self.sender {
            sender.on_close();
        }
        self.send_queue.clear();
        if !self
            .endpoint_events
            .iter()
            .any(|event| matches!(event, EndpointEvent::Closed(_)))
        {
            self.endpoint_events
                .push_back(EndpointEvent::Closed(reason));
        }
    }
}

impl Connection {
    /// No further packet leaves now: reports the state of the controller and the bound.
    fn end_of_transmit(&mut self, now: Instant) {
        if self.events.wants(EventMask::WHEN_QUIET) {
            let bound = self.bound();
            let sender = self.sender.as_mut();
            let bound = sender.map_or(bound, |sender| sender.on_bound(now, bound));
            self.events.block(now, bound);
        }
        if let Some(sender) = &mut self.sender {
            sender.emit(now, &mut self.events);
        }
        if matches!(self.state, State::TimeWait | State::Closed) {
            self.release();
        }
    }

    /// Releases the state that only an open connection needs: a connection in TIMEWAIT lasts for
    /// minutes.
    fn release(&mut self) {
        if self.sender.is_some() {
            self.statistics = self.statistics();
            (self.sender, self.receiver) = (None, None);
            self.send_queue = VecDeque::new();
            self.transmit_queue = VecDeque::new();
            self.received.shrink_to_fit();
        }
    }
}

impl Endpoint for Connection {
    fn handle(&mut self, now: Instant, packet: &mut Packet) {
        self.timers.asked_at = None;
        self.handle_packet(now, packet);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.handle_timers(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        self.next_packet(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let receiver = self.receiver.as_ref().and_then(|half| half.poll_timeout());
        let sender = self.sender.as_ref().and_then(|half| half.poll_timeout());
        earliest(&[self.timers.next(), receiver, sender])
    }

    fn events(&mut self) -> Option<&mut Events> {
        Some(&mut self.events)
    }

    fn connect(&mut self, now: Instant) {
        if self.state == State::Closed && !self.server && self.handshake.is_none() {
            self.enter(now, State::Request);
            self.send_request(now);
        }
    }

    fn close(&mut self, now: Instant) {
        match self.state {
            State::PartOpen | State::Open => {
                self.closing = true;
                self.close_when_drained(now);
            }
            State::Listen | State::Request | State::Respond => {
                self.timers.clear();
                self.enter(now, State::Closed);
                self.finish(CloseReason::Finished);
            }
            _ => {}
        }
    }

    fn write(&mut self, now: Instant, data: Payload) -> Result<(), WriteError> {
        if !self.state.takes_data() || self.closing {
            return Err(WriteError::Closed);
        }
        if data.len() > self.max_payload() {
            return Err(WriteError::TooLarge(self.max_payload()));
        }
        if self.send_queue_is_full() {
            self.blocked = true;
            return Err(WriteError::Blocked);
        }
        if let Some(sender) = &mut self.sender {
            sender.on_write(now, data.len(), &mut self.events);
        }
        self.events
            .push(now, EventMask::WRITE, || Event::Write(data.len()));
        self.send_queue.push_back(data);
        Ok(())
    }

    fn read(&mut self, _now: Instant) -> Option<Payload> {
        self.received.pop_front()
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.endpoint_events.pop_front()
    }

    #[inline]
    fn has_event(&self) -> bool {
        !self.endpoint_events.is_empty()
    }

    fn is_lingering(&self) -> bool {
        self.state == State::TimeWait
    }

    fn transmitted(&mut self, now: Instant, packet_id: u64) {
        let seq = SeqNum::new(packet_id);
        if let Some(handshake) = self
            .handshake
            .as_mut()
            .filter(|handshake| handshake.seq == seq)
        {
            handshake.sent_at = Some(now);
        }
        self.timers.asked_at = None;
        if let Some(sender) = &mut self.sender {
            sender.on_transmitted(now, seq);
        }
    }

    fn statistics(&self) -> Statistics {
        let mut statistics = self.statistics;
        if let Some(sender) = &self.sender {
            let losses = sender.losses();
            statistics.packets_lost = losses.packets;
            statistics.loss_events = losses.events;
            statistics.timeouts += losses.timeouts;
            statistics.smoothed_rtt = sender.rtt().unwrap_or_default();
        }
        if let Some(receiver) = &self.receiver {
            let losses = receiver.losses();
            statistics.packets_lost += losses.packets;
            statistics.loss_events += losses.events;
        }
        statistics
    }

    fn count_loss_events_from(&mut self, from: CountedFrom) {
        if let Some(sender) = &mut self.sender {
            sender.count_loss_events_from(from.at);
        }
        if let Some(receiver) = &mut self.receiver {
            // RFC 4340 §7.1: each packet has the next number.
            let first = self.sequence.isr.add(from.packets_sent);
            receiver.count_loss_events_from(first);
        }
    }

    fn packets_received(&self) -> u64 {
        self.statistics.packets_received
    }
}

//! Packets that belong to no connection (RFC 4340 §8.5 step 2): Requests, acknowledgements that
//! bring a cookie back, and what is to be refused.
//!
//! While few handshakes are under way a Request makes a connection at once. From
//! `EndpointConfig::cookie_threshold` on the listener answers from a state machine that it forgets again, and
//! makes the same machine once more when the client brings the cookie (see [`crate::cookie`]).
//! Whatever happens, a sender whose address is not proven gets one packet for each of its own at
//! most, of three times the octets at most, and nothing by a timer.

use super::arrival::Arrival;
use super::{Hub, Key};
use crate::config::{EndpointConfig, random_iss};
use crate::connection::Connection;
use crate::cookie::{Cookies, Terms, cookie_of};
use crate::encapsulation::Encapsulation;
use crate::error::Error;
use crate::limits::{Allowance, source};
use crate::outbox::Way;
use tokio::sync::mpsc;
use weir_proto::dccp;
use weir_proto::dccp::wire::{self, PacketType, SeqNum, Subheader};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Body, Packet};
use weir_proto::time::Instant;

/// Reset codes (RFC 4340 §5.6).
mod code {
    pub(super) const NO_CONNECTION: u8 = 3;
    pub(super) const CONNECTION_REFUSED: u8 = 7;
    pub(super) const BAD_SERVICE_CODE: u8 = 8;
    pub(super) const TOO_BUSY: u8 = 9;
    pub(super) const BAD_INIT_COOKIE: u8 = 10;
}

/// What a hub that listens has for it.
pub(super) struct Listening {
    options: EndpointConfig,
    /// Where its connections go.
    pub(super) sink: mpsc::Sender<Connection>,
    cookies: Cookies,
    /// The options of the last Request that was answered from no state, and the answer.
    answered: Option<(wire::Options, wire::Packet)>,
}

/// What is done about it.
enum Verdict {
    Refuse(u8),
    Ignore,
    /// Makes a connection.
    Remember,
    /// Answers without state.
    Forget,
    /// Makes a connection from this cookie.
    Redeem(Vec<u8>),
}

impl Listening {
    /// # Errors
    /// [`Error::Randomness`].
    pub(super) fn new(
        options: &EndpointConfig,
        sink: mpsc::Sender<Connection>,
        now: Instant,
    ) -> Result<Self, Error> {
        Ok(Self {
            options: options.clone(),
            sink,
            cookies: Cookies::new(now)?,
            answered: None,
        })
    }

    /// A listening machine for this peer.
    fn machine(&self, key: Key, iss: SeqNum) -> Result<dccp::Connection, Error> {
        let overhead = self.options.encapsulation.overhead(key.0);
        let mut config = self.options.config(overhead, iss)?;
        (config.local_port, config.remote_port) = (key.2, key.1);
        Ok(dccp::Connection::server(config))
    }

    /// What a machine answers to a Request. The last answer is kept: to the same options comes the
    /// same one, with other numbers.
    fn answer(&mut self, now: Instant, stranger: Arrival, iss: SeqNum) -> Option<wire::Packet> {
        let request = stranger.body()?;
        let isr = request.seq;
        if let Some((options, answer)) = &self.answered
            && *options == request.options
        {
            let subheader = Subheader::AckService(isr, self.options.service_code);
            return Some(wire::Packet {
                source_port: stranger.key.2,
                destination_port: stranger.key.1,
                seq: iss,
                subheader,
                ..answer.clone()
            });
        }
        let options = request.options.clone();
        let mut machine = self.machine(stranger.key, iss).ok()?;
        machine.handle(now, stranger.packet);
        let Body::Dccp(answer) = machine.poll_transmit(now)?.body else {
            return None;
        };
        if answer.kind == PacketType::Response {
            self.answered = Some((options, answer.clone()));
        }
        Some(answer)
    }
}

impl Hub {
    /// Deals with a packet; names the connection that it has made, if any.
    pub(super) fn meet(&mut self, stranger: Arrival) -> Option<Key> {
        match self.judge(&stranger) {
            Verdict::Ignore => None,
            Verdict::Refuse(code) => {
                self.refuse(&stranger, code);
                None
            }
            Verdict::Remember => self.remember(stranger),
            Verdict::Forget => {
                self.answer_and_forget(stranger);
                None
            }
            Verdict::Redeem(cookie) => self.redeem(stranger, &cookie),
        }
    }

    fn judge(&self, stranger: &Arrival) -> Verdict {
        let Some(body) = stranger.body() else {
            return Verdict::Ignore;
        };
        let listening = self.listening.as_ref();
        let here = listening.filter(|l| l.options.dccp_port == body.destination_port);
        match (body.kind, here) {
            (PacketType::Reset | PacketType::Listen, _) => Verdict::Ignore,
            // A raw socket hears what is for others on this host, who answer for themselves.
            (_, None) if self.encapsulation == Encapsulation::RawIp => Verdict::Ignore,
            (PacketType::Request, None) => Verdict::Refuse(code::CONNECTION_REFUSED),
            (PacketType::Request, Some(Listening { options, .. })) => {
                if body.service_code() != Some(options.service_code) {
                    Verdict::Refuse(code::BAD_SERVICE_CODE)
                } else if !self.has_room(stranger.key, options) {
                    Verdict::Refuse(code::TOO_BUSY)
                } else if self.handshakes.len() >= options.cookie_threshold {
                    Verdict::Forget
                } else {
                    Verdict::Remember
                }
            }
            (_, Some(_)) => {
                cookie_of(body).map_or(Verdict::Refuse(code::NO_CONNECTION), Verdict::Redeem)
            }
            (_, None) => Verdict::Refuse(code::NO_CONNECTION),
        }
    }

    /// A connection is over and in TIMEWAIT, which nobody may use to keep others out: it does not
    /// count any more, and beyond as many as there may be connections the oldest is forgotten.
    pub(super) fn linger(&mut self, key: Key) {
        let Some(entry) = self.connections.get_mut(&key) else {
            return;
        };
        if std::mem::replace(&mut entry.lingering, true) {
            return;
        }
        self.uncount(key);
        self.lingering.push_back(key);
        let most = self
            .listening
            .as_ref()
            .map_or(1, |l| l.options.max_connections);
        if self.lingering.len() > most
            && let Some(&oldest) = self.lingering.front()
        {
            self.forget(oldest);
        }
    }

    /// Connections that are neither over nor in their handshake.
    fn proven(&self) -> usize {
        let others = self.handshakes.len() + self.lingering.len();
        self.connections.len().saturating_sub(others)
    }

    /// Is there room for one more? Handshakes that are not done take none: they give way.
    fn has_room(&self, key: Key, options: &EndpointConfig) -> bool {
        let same = self.census.get(&source(key.0.ip())).copied().unwrap_or(0);
        same < options.max_connections_per_address && self.proven() < options.max_connections
    }

    /// Answers with a Reset, if limits allow it.
    fn refuse(&mut self, stranger: &Arrival, code: u8) {
        let refusal = stranger.body().and_then(|body| body.refusal(code));
        if let Some(refusal) = refusal {
            self.send_unproven(stranger.allowance(self), stranger.way(), &refusal);
        }
    }

    /// Sends a packet to who has not proven its address.
    fn send_unproven(&mut self, mut allowance: Allowance, way: Way, packet: &wire::Packet) -> bool {
        let octets = 20 + self.encapsulation.overhead(way.to) + packet.wire_len();
        let reset = packet.kind == PacketType::Reset;
        if !allowance.take(octets) || (reset && !self.resets.take(self.clock.now())) {
            self.load.unanswered += 1;
            return false;
        }
        self.load.resets_sent += u64::from(reset);
        let pseudo = self.encapsulation.pseudo_header(&way);
        self.outbox.push(|out| {
            let sealed = packet.encode(pseudo.as_ref(), out);
            sealed.is_ok().then_some(way)
        });
        true
    }

    /// Makes a connection for a Request.
    fn remember(&mut self, stranger: Arrival) -> Option<Key> {
        let Listening { options, .. } = self.listening.as_ref()?;
        let (most, all) = (options.max_handshakes.max(1), options.max_connections);
        // Nothing is said to who gives way: it may never have asked.
        if (self.handshakes.len() >= most || self.proven() + self.handshakes.len() >= all)
            && let Some(oldest) = self.handshakes.pop_front()
        {
            self.forget(oldest);
        }
        self.make(stranger.key, random_iss().ok()?)?;
        self.handshakes.push_back(stranger.key);
        let before = self.outbox.len();
        let key = self.give(stranger)?;
        if self.outbox.len() == before {
            // A Request that must not be answered need not be remembered.
            self.load.unanswered += 1;
            self.forget(key);
            return None;
        }
        Some(key)
    }

    /// A new connection in LISTEN.
    fn make(&mut self, key: Key, iss: SeqNum) -> Option<()> {
        let listening = self.listening.as_ref()?;
        let machine = listening.machine(key, iss).ok()?;
        let (mut entry, connection) = self.entry(key, machine, &listening.options)?;
        entry.arrival = Some(connection);
        entry.allowance = Some(Allowance::default());
        self.insert(key, entry);
        Some(())
    }

    /// Answers a Request with an Init Cookie and keeps nothing.
    fn answer_and_forget(&mut self, stranger: Arrival) -> Option<()> {
        let now = self.clock.now();
        let (allowance, way) = (stranger.allowance(self), stranger.way());
        let listening = self.listening.as_mut()?;
        let terms = Terms::of(stranger.body()?, random_iss().ok()?);
        let client = (stranger.key, listening.options.service_code);
        let mut answer = listening.answer(now, stranger, terms.iss)?;
        let response = answer.kind == PacketType::Response;
        if response {
            let cookies = &mut listening.cookies;
            cookies
                .put(now, client, &terms, &mut answer.options)
                .then_some(())?;
        }
        let sent = self.send_unproven(allowance, way, &answer);
        self.load.cookies_sent += u64::from(sent && response);
        Some(())
    }

    /// Makes the connection that a cookie tells of, as if it had been kept since the Request.
    fn redeem(&mut self, stranger: Arrival, cookie: &[u8]) -> Option<Key> {
        let now = self.clock.now();
        let key = stranger.key;
        let listening = self.listening.as_mut()?;
        let service_code = listening.options.service_code;
        let opened = listening.cookies.open(now, (key, service_code), cookie);
        let known = self.connections.contains_key(&key);
        let Some(terms) = opened else {
            self.load.cookies_refused += 1;
            if known {
                return self.give(stranger);
            }
            self.refuse(&stranger, code::BAD_INIT_COOKIE);
            return None;
        };
        if listening.cookies.is_used(key, terms.isr) {
            self.load.cookies_refused += 1;
            return None;
        }
        // The Request came again in between, and it was remembered: the client has answered the
        // Response with the cookie, so that one counts.
        self.forget(key);
        let options = &self.listening.as_ref()?.options;
        if !self.has_room(key, options) {
            self.refuse(&stranger, code::TOO_BUSY);
            return None;
        }
        self.make(key, terms.iss)?;
        let entry = self.connections.get_mut(&key)?;
        let request = Packet {
            body: Body::Dccp(terms.request(key, service_code)),
            ..stranger.packet.clone()
        };
        entry.machine.handle(now, request);
        while entry.machine.poll_transmit(now).is_some() {}
        self.give(stranger)?;
        let half_open = self.connections.get(&key)?.is_half_open();
        if half_open {
            // Numbers that do not fit the cookie.
            self.forget(key);
            return None;
        }
        self.load.cookies_accepted += 1;
        self.listening.as_mut()?.cookies.mark_used(key, terms.isr);
        Some(key)
    }

    /// Writes down what the hub holds.
    pub(super) fn publish(&mut self) {
        self.load.connections = self.connections.len();
        self.load.handshakes = self.handshakes.len();
        self.load.lingering = self.lingering.len();
        self.board.set(self.load);
    }
}

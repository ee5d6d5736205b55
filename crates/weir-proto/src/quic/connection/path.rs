//! Paths: validation (RFC 9000 §8.2) and the change of an address (§9).
//!
//! A client that has another address sends from it at once, with PATH_CHALLENGE and PING. A server
//! takes the source of the newest packet that is not a probe as the client's address. If that is
//! another one, it sends there, at most three times what it receives, until PATH_RESPONSE has come;
//! then it begins a new congestion controller and round-trip time, unless only the port changed
//! (§9.4). A client does so when it moves. Without a response in three probe timeouts a server
//! returns to the address before.
//!
//! Not modelled: connection identifiers, preferred addresses, probes of a path before the move, a
//! challenge on the old path (§9.3.3), and ECN validation of the new one.

use super::{AmplificationBudget, Connection, NewPath, State};
use crate::cc::Pacer;
use crate::cc::rtt::RttEstimator;
use crate::event::Limit;
use crate::packet::{HostId, IpHeader};
use crate::quic::loss::PROBE_TIMEOUT;
use crate::quic::media::Media;
use crate::quic::streams::Role;
use crate::quic::wire::{Frame, Packet, PacketNumber, SpaceId};
use crate::rng::mix64;
use crate::time::{Duration, Instant};

/// Probe timeouts after which a path without PATH_RESPONSE is given up (RFC 9000 §8.2.4).
const VALIDATION_TIMEOUTS: u64 = 3;

/// An address: the host, and the port as how often a NAT has changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Address {
    host: HostId,
    rebindings: u8,
}

/// A validation under way.
#[derive(Clone, Copy, Debug)]
struct Validation {
    /// The data of PATH_CHALLENGE.
    data: u64,
    /// PATH_CHALLENGE must be sent.
    due: bool,
    /// When it is sent again, and after how long once more.
    again: Instant,
    period: Duration,
    /// When the path is given up.
    until: Instant,
    /// The peer's address before; `None` at the end that moved.
    before: Option<Address>,
}

/// The path of a connection.
#[derive(Debug, Default)]
pub(super) struct Path {
    /// The peer's address, and the number of the packet that showed it.
    peer: Option<(Address, PacketNumber)>,
    /// The peer has another address than at the start.
    has_moved: bool,
    validation: Option<Validation>,
    /// The data of the PATH_RESPONSE that must be sent.
    response: Option<u64>,
    /// PING must be sent with the challenge, so that the packet is not a probe alone.
    ping: bool,
    /// The first packet number of the Data space on this path.
    pub(super) first: PacketNumber,
    challenges: u64,
}

impl Path {
    /// True if a frame of path validation must be sent.
    pub(super) fn is_due(&self) -> bool {
        self.response.is_some() || self.validation.is_some_and(|validation| validation.due)
    }

    /// When the timer of the validation expires.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.validation
            .map(|validation| validation.again.min(validation.until))
    }

    /// Takes the frames that are due.
    pub(super) fn take_frames(&mut self) -> impl Iterator<Item = Frame> + use<> {
        let response = self.response.take().map(Frame::PathResponse);
        let mut challenge = None;
        if let Some(validation) = &mut self.validation
            && std::mem::take(&mut validation.due)
        {
            challenge = Some(Frame::PathChallenge(validation.data));
        }
        let ping = std::mem::take(&mut self.ping).then_some(Frame::Ping);
        [response, challenge, ping].into_iter().flatten()
    }

    pub(super) fn peer_host(&self) -> Option<HostId> {
        let (address, _) = self.peer.filter(|_| self.has_moved)?;
        Some(address.host)
    }

    /// The peer challenges this path.
    pub(super) const fn on_challenge(&mut self, data: u64) {
        self.response = Some(data);
    }
}

/// True if the packet only probes a path (RFC 9000 §9.1).
fn is_probe(packet: &Packet) -> bool {
    packet.frames.iter().all(|frame| {
        matches!(
            frame,
            Frame::Padding(_) | Frame::PathChallenge(_) | Frame::PathResponse(_)
        )
    })
}

impl Connection {
    /// A packet of `size` octets came from this source.
    pub(super) fn on_source(&mut self, now: Instant, packet: &Packet, size: u32, ip: &IpHeader) {
        let established = self.role == Role::Server && self.state == State::Established;
        if !established || packet.space != SpaceId::Data {
            return;
        }
        let address = Address {
            host: ip.source,
            rebindings: ip.rebindings,
        };
        let Some((known, newest)) = self.path.peer else {
            self.path.peer = Some((address, packet.number));
            return;
        };
        if packet.number <= newest {
            return;
        }
        if known == address {
            self.path.peer = Some((known, packet.number));
        } else if !is_probe(packet) {
            self.path.peer = Some((address, packet.number));
            self.path.has_moved = true;
            let before = self
                .path
                .validation
                .and_then(|validation| validation.before);
            self.validate(now, Some(before.unwrap_or(known)));
            self.amplification = Some(AmplificationBudget {
                received: u64::from(size),
                sent: 0,
            });
        }
    }

    /// Begins to validate the path.
    fn validate(&mut self, now: Instant, before: Option<Address>) {
        self.path.challenges += 1;
        // RFC 9000 §8.2.4: the larger of the current probe timeout and that of a new path.
        let fresh = PROBE_TIMEOUT.initial + self.peer_max_ack_delay();
        let period = self.probe_timeout().max(fresh);
        self.path.validation = Some(Validation {
            data: mix64(self.config.seed ^ mix64(self.path.challenges)),
            due: true,
            again: now + period,
            period,
            until: now + period * VALIDATION_TIMEOUTS,
            before,
        });
    }

    /// The timer of the validation has expired.
    pub(super) fn on_path_timer(&mut self, now: Instant) {
        let Some(validation) = &mut self.path.validation else {
            return;
        };
        if validation.until <= now {
            // RFC 9000 §9.3.2: back to the last address that was validated.
            let before = validation.before;
            self.path.validation = None;
            if let (Some(before), Some((_, newest))) = (before, self.path.peer) {
                self.path.peer = Some((before, newest));
                self.amplification = None;
            }
        } else if validation.again <= now {
            validation.due = true;
            validation.period = validation.period * 2;
            validation.again = now + validation.period;
        }
    }

    /// PATH_RESPONSE arrived.
    pub(super) fn on_path_response(&mut self, now: Instant, data: u64) {
        let Some(validation) = self.path.validation.take_if(|of| of.data == data) else {
            return;
        };
        let (Some(before), Some((peer, _))) = (validation.before, self.path.peer) else {
            return;
        };
        self.amplification = None;
        // RFC 9000 §9.4: not if only the port has changed.
        if before.host != peer.host {
            self.begin_path(now);
        }
    }

    /// This end has another address.
    pub(super) fn move_to_new_address(&mut self, now: Instant) {
        if self.state != State::Established {
            return;
        }
        self.quiet = false;
        self.begin_path(now);
        self.validate(now, None);
        self.path.ping = true;
    }

    /// Congestion controller and round-trip time begin anew (RFC 9000 §9.4).
    fn begin_path(&mut self, now: Instant) {
        if self.config.new_path == NewPath::Keep {
            return;
        }
        self.path.first = self.spaces.data.sent.next_number();
        let mut window = self.config.window();
        window.rules.controller.careful_resume = self.config.new_path_resume;
        self.controller = (self.config.controller.make)(&window);
        self.rtt = RttEstimator::default();
        self.pacer = Pacer::default();
        self.bytes_in_flight = 0;
        self.paced_until = None;
        self.recovery_probe = false;
        self.spurious_candidates.clear();
        self.last_lost = None;
        self.pto_count = 0;
        self.probes_due = 0;
        self.window_changed = true;
        if let Some(media) = &mut self.media {
            media.begin_path();
        }
        if self.media.as_deref().and_then(Media::sender).is_some() {
            self.push_media_state(now);
        } else {
            self.emit_window_limited_by(now, Some(Limit::PathChange));
        }
    }

    /// True if a packet of this number was sent on an earlier path, so that neither controller nor
    /// round-trip time learn from it.
    pub(super) fn is_of_old_path(&self, space: SpaceId, number: PacketNumber) -> bool {
        space == SpaceId::Data && number < self.path.first
    }
}

//! A window controller of `weir-proto` behind the controller trait of quinn and noq.
//!
//! quinn detects losses and counts the octets in flight; the controller sets the window. quinn
//! calls it as the minimal endpoint of `weir-proto` does, with these differences:
//! - acknowledgements are reported before the losses that they reveal, regardless of the rules;
//! - an acknowledgement is reported before its round-trip time is sampled. Until quinn has a
//!   sample, the first one is reported with itself as smoothed and minimum round-trip time instead
//!   of quinn's initial 333 ms;
//! - the variation of the round-trip time is not reported and stays zero;
//! - octets in flight are reported once for each received acknowledgement. In between they are
//!   counted here, including packets that contain only acknowledgements, which quinn does not
//!   count;
//! - quinn's pacer follows the window, at 1.25 windows per round-trip time, instead of the
//!   controller's pacing rate. If that rate is lower, the window that quinn sees is opened at each
//!   acknowledgement by the octets that the rate permits since the previous one, so that the rate
//!   holds on average and acknowledgements, not timers, release packets. If it is higher, quinn
//!   sees a window that makes its pacer as fast, as long as there is room for the packets that it
//!   sends at once;
//! - for packets that are declared lost together quinn reports the send time of the last one and
//!   the octets of all. The individual packets are determined here: they are the oldest that were
//!   not acknowledged;
//! - packets with the same send time are distinguished by the order of their acknowledgements;
//! - spurious losses are not reported to it, and no packet is sent beyond the window at the start
//!   of a recovery period. The rules `undo_spurious`, `recovery_probe`, `losses_before_acks`,
//!   `send_gate`, `ack_first_at_once` and `pto_probes` have no effect.
//!
//! The same holds for noq, except that its pacer follows a controller's pacing rate, that a packet
//! may fill the window, and that packets with acknowledgements alone are not counted as sent.

use super::calls::{Acknowledgement, Congestion};
use super::stack_api;
use super::stack_api::proto::RttEstimator;
use super::stack_api::proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use crate::error::Error;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time;
use weir_proto::cc::window::{self, BoxedController, ControllerEntry, WindowConfig};
use weir_proto::cc::{
    Acked, CongestionEvent, DeliveryRateSampler, DeliverySnapshot, EcnCapability, EndAcks, Lost,
    Rtt, Sent, WindowController, WindowControllerExt as _,
};
use weir_proto::event::Hold;
use weir_proto::time::{Duration, Instant};
use weir_proto::units::Rate;

/// A window controller of Weir for a QUIC stack: the factory that creates one for each path.
#[derive(Clone, Copy, Debug)]
pub struct ControllerConfig {
    entry: &'static ControllerEntry,
    config: WindowConfig,
}

impl ControllerConfig {
    /// The controller with this name in scenarios, such as `newreno`, `cubic` and `tfrc`.
    ///
    /// # Errors
    /// [`Error::UnknownController`] if there is none.
    pub fn named(name: &str) -> Result<Self, Error> {
        let entry = window::find(name).ok_or_else(|| Error::UnknownController(name.to_owned()))?;
        Ok(Self {
            entry,
            config: WindowConfig::default(),
        })
    }

    /// The name in scenarios.
    pub const fn name(&self) -> &'static str {
        self.entry.name
    }

    /// False for a controller that does not react to ECN marks, whose packets must not be marked as
    /// ECN-capable.
    pub fn answers_marks(&self) -> bool {
        EcnCapability::is_used((self.entry.make)(&self.config).needs().ecn, true)
    }

    /// The controller with these rules, constants and initial window. The datagram size in `config`
    /// is ignored in favour of the path's.
    #[must_use]
    pub const fn with_config(self, config: WindowConfig) -> Self {
        Self { config, ..self }
    }

    /// Creates a controller with its initial window, for a path with this datagram size.
    pub fn start(&self, now: time::Instant, max_datagram_size: u16) -> PathController {
        let config = WindowConfig {
            max_datagram_size: u64::from(max_datagram_size),
            ..self.config
        };
        PathController {
            inner: (self.entry.make)(&config),
            initial_window: config.initial_window(),
            base: now,
            bytes_in_flight: 0,
            rtt: Rtt::default(),
            has_rtt: false,
            flight: Flight::default(),
            pace: Pace::default(),
            mtu: u64::from(max_datagram_size),
        }
    }
}

impl ControllerFactory for ControllerConfig {
    fn build(self: Arc<Self>, now: time::Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(self.start(now, mtu))
    }
}

/// A controller of Weir on one path of a connection.
pub struct PathController {
    inner: BoxedController,
    initial_window: u64,
    /// Time zero of the controller.
    base: time::Instant,
    bytes_in_flight: u64,
    rtt: Rtt,
    /// quinn has a round-trip time sample.
    has_rtt: bool,
    flight: Flight,
    pace: Pace,
    mtu: u64,
}

/// Packets that may be in flight regardless of the pacing rate, so that acknowledgements keep
/// arriving.
const UNPACED_PACKETS: u64 = 4;

/// The most packets that quinn sends between two calls of `on_sent`: the batch that its socket
/// accepts.
const BATCH_PACKETS: u64 = 10;

/// The window with which quinn's pacer, at 1.25 windows per round-trip time, is at least as fast as
/// the rate. It exceeds `limit` only while a whole batch can be sent within `limit`.
fn paced_window(limit: u64, room: u64, mtu: u64, (rate, rtt): (Rate, Duration)) -> u64 {
    if room < BATCH_PACKETS * mtu {
        return limit;
    }
    limit.max((rate.as_bytes_per_sec() * rtt.as_secs_f64() / 1.25) as u64)
}

/// The octets that a pacing rate permits.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// Octets that may be sent.
    allowance: u64,
    /// The time up to which the allowance is counted; zero before the first acknowledgement.
    counted: Instant,
    /// Since then, the controller's window had no room for another packet.
    is_window_full: bool,
}

impl Pace {
    /// Adds what the rate permits up to now, at most for a round-trip time. Of an earlier allowance
    /// that was not used because the window was full, at most a quantum remains.
    fn count(&mut self, now: Instant, rate: Rate, quantum: u64, rtt: Duration) {
        if std::mem::take(&mut self.is_window_full) {
            self.allowance = self.allowance.min(quantum);
        }
        let octets = |time: Duration| (rate.as_bps() / 8.0 * time.as_secs_f64()) as u64;
        let most = octets(rtt).max(quantum);
        let earned = octets(now.since(self.counted).min(Duration::from_secs(1)));
        self.allowance = self.allowance.saturating_add(earned).min(most);
        self.counted = now;
    }
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
struct SentPacket {
    at: Instant,
    number: u64,
    bytes: u64,
    snapshot: DeliverySnapshot,
    /// The packet was acknowledged or declared lost.
    done: bool,
}

/// State that quinn does not keep for a controller: that at the sending of each packet.
#[derive(Clone, Debug, Default)]
struct Flight {
    sampler: DeliveryRateSampler,
    /// In the order of sending.
    packets: VecDeque<SentPacket>,
    sent: u64,
    /// The number of the packet that was last declared lost.
    last_lost: u64,
}

impl Flight {
    fn on_sent(&mut self, now: Instant, bytes: u64, bytes_in_flight: u64) {
        self.sent += 1;
        self.packets.push_back(SentPacket {
            at: now,
            number: self.sent,
            bytes,
            snapshot: self.sampler.on_sent(now, bytes, bytes_in_flight),
            done: false,
        });
    }

    /// The first packet in flight with this send time.
    fn find(&mut self, sent_at: Instant) -> Option<&mut SentPacket> {
        let from = self.packets.partition_point(|packet| packet.at < sent_at);
        let mut same = self.packets.range_mut(from..);
        same.find(|packet| !packet.done)
            .filter(|packet| packet.at == sent_at)
    }

    fn on_ack(&mut self, now: Instant, bytes: u64, sent_at: Instant) {
        let found = self.find(sent_at).map(|packet| {
            packet.done = true;
            (packet.number, packet.snapshot)
        });
        let number = found.map_or(0, |(number, _)| number);
        let snapshot = found.as_ref().map(|(_, snapshot)| snapshot);
        self.sampler
            .on_acked(now, bytes, (sent_at, number), snapshot);
    }

    /// Removes packets that were acknowledged or lost, and packets sent before `time`, which must
    /// be lost.
    fn forget_before(&mut self, time: Instant) {
        while let Some(front) = self.packets.front() {
            if !front.done && front.at >= time {
                break;
            }
            self.packets.pop_front();
        }
    }

    /// Determines the packets of a loss report: `bytes` octets, sent up to `sent_at`. By quinn's
    /// thresholds every older packet in flight is lost too (RFC 9002 §6.1). Each call returns the
    /// oldest one and subtracts its octets from `bytes`, until none are left.
    fn next_lost(&mut self, now: Instant, bytes: &mut u64, sent_at: Instant) -> Option<Lost> {
        if *bytes == 0 {
            return None;
        }
        let mut packets = self.packets.iter_mut();
        let found = packets
            .find(|packet| !packet.done)
            .filter(|packet| packet.at <= sent_at)
            .map(|packet| {
                packet.done = true;
                *packet
            });
        // Packets that are no longer recorded make up the rest.
        let packet = found.unwrap_or_else(|| SentPacket {
            at: sent_at,
            number: 0,
            bytes: *bytes,
            snapshot: DeliverySnapshot {
                lost: self.sampler.lost(),
                tx_in_flight: u32::try_from(*bytes).unwrap_or(u32::MAX),
                ..DeliverySnapshot::default()
            },
            done: true,
        });
        let lost = packet.bytes.min(*bytes);
        *bytes -= lost;
        let before = std::mem::replace(&mut self.last_lost, packet.number);
        Some(Lost {
            now,
            sent_at: packet.at,
            bytes: lost,
            tx_in_flight: u64::from(packet.snapshot.tx_in_flight),
            lost_since_sent: self.sampler.on_lost(lost, Some(&packet.snapshot)),
            delivered: self.sampler.delivered(),
            app_limited: packet.snapshot.app_limited,
            continues_range: before != 0 && before + 1 == packet.number,
        })
    }
}

impl PathController {
    /// The wrapped controller.
    pub fn controller(&self) -> &dyn WindowController {
        &*self.inner
    }

    /// Sets what limited the endpoint within the last round trip, for the samples of the delivery
    /// rate.
    pub(super) const fn set_hold(&mut self, hold: Hold) {
        self.flight.sampler.set_hold(hold);
    }

    /// True if the controller has a pacing rate and its window has room: the window that quinn sees
    /// then follows from that rate.
    pub(super) fn is_paced(&self) -> bool {
        self.inner.pacer().is_some() && self.bytes_in_flight + self.mtu < self.open_window()
    }

    /// The controller's window. RFC 9002 §7 permits a packet that fills the window exactly, quinn
    /// only one that stays below. For a controller that grows only a filled window, it is there an
    /// octet larger when a packet would fill it.
    fn open_window(&self) -> u64 {
        let window = self.inner.window();
        let is_filled = !stack_api::FILLS_WINDOW && self.bytes_in_flight + self.mtu == window;
        window.saturating_add((is_filled && self.inner.needs().filled_window).into())
    }

    /// Adds what the pacing rate permits since it was last counted.
    fn count_pace(&mut self, now: Instant) {
        if let Some((rate, quantum)) = self.inner.pacer() {
            self.pace.count(now, rate, quantum, self.rtt.smoothed);
        }
    }

    fn pass_on(&mut self, acked: Acked) {
        let bytes = acked.bytes;
        self.inner.on_ack(&Acked {
            bytes_in_flight: self.bytes_in_flight.max(bytes),
            ..acked
        });
        self.bytes_in_flight = self.bytes_in_flight.saturating_sub(bytes);
    }

    /// The controller's time; zero for packets sent before it was created.
    fn at(&self, when: time::Instant) -> Instant {
        Instant::ZERO + Duration::from(when.saturating_duration_since(self.base))
    }
}

/// What the stack's trait calls (see [`stack_api`]).
impl PathController {
    /// The stack's own controller inside this one: none.
    #[expect(clippy::unused_self, reason = "an observed controller may have one")]
    pub(super) fn own_mut(&mut self) -> Option<&mut dyn Controller> {
        None
    }

    /// One or more packets with these octets were sent.
    pub(super) fn send(&mut self, now: time::Instant, bytes: u64) {
        self.bytes_in_flight = self.bytes_in_flight.saturating_add(bytes);
        let now = self.at(now);
        let app_limited = self.flight.sampler.is_app_limited();
        self.flight.on_sent(now, bytes, self.bytes_in_flight);
        let sent = Sent {
            now,
            bytes,
            bytes_in_flight: self.bytes_in_flight,
            rtt: self.rtt,
            app_limited,
        };
        self.inner.on_sent(&sent);
        self.pace.is_window_full |= self.bytes_in_flight + self.mtu > self.inner.window();
        self.pace.allowance = self.pace.allowance.saturating_sub(bytes);
    }

    pub(super) fn acknowledge(&mut self, acked: &Acknowledgement, rtt: &RttEstimator) {
        let Acknowledgement {
            now,
            sent,
            bytes,
            app_limited,
            ..
        } = *acked;
        let latest = Duration::from(now.saturating_duration_since(sent));
        let measured = self.has_rtt.then(|| (rtt.get().into(), rtt.min().into()));
        let (smoothed, min) = measured.unwrap_or((latest, latest));
        let rtt = Rtt {
            latest,
            smoothed,
            variation: Duration::ZERO,
            min,
        };
        self.rtt = rtt;
        let (now, sent_at) = (self.at(now), self.at(sent));
        self.flight.on_ack(now, bytes, sent_at);
        self.pass_on(Acked {
            now,
            sent_at,
            bytes,
            bytes_in_flight: 0,
            rtt,
            app_limited,
        });
    }

    /// All acknowledgements of a packet have been reported.
    pub(super) fn end_acknowledgement(
        &mut self,
        now: time::Instant,
        in_flight: u64,
        app_limited: bool,
    ) {
        self.bytes_in_flight = in_flight;
        // quinn takes its sample after this call.
        self.has_rtt = self.rtt != Rtt::default();
        let now = self.at(now);
        let sampler = &mut self.flight.sampler;
        if app_limited {
            sampler.on_app_limited(in_flight);
        }
        let Some(delivered) = sampler.on_end_acks(self.rtt.min) else {
            return;
        };
        let newest_sent_at = delivered.newest_sent_at;
        let limits_samples = self.inner.on_end_acks(&EndAcks {
            now,
            newly_acked: delivered.newly_acked,
            acked_packets: delivered.packets,
            newly_lost: delivered.newly_lost,
            ecn_ce: 0,
            bytes_in_flight: in_flight,
            newest_sent_at,
            rtt_sample: Some(now.since(newest_sent_at)),
            rtt: self.rtt,
            rate: delivered.rate,
        });
        if limits_samples {
            self.flight.sampler.on_app_limited(in_flight);
        }
        self.flight
            .forget_before(newest_sent_at - self.rtt.smoothed * 4);
        self.count_pace(now);
    }

    pub(super) fn congest(&mut self, event: &Congestion) {
        let lost_bytes = event.lost_bytes;
        self.bytes_in_flight = self.bytes_in_flight.saturating_sub(lost_bytes);
        let (now, sent_at) = (self.at(event.now), self.at(event.sent));
        let mut unreported = lost_bytes;
        while let Some(lost) = self.flight.next_lost(now, &mut unreported, sent_at) {
            self.inner.on_lost(&lost);
        }
        let congestion = CongestionEvent {
            now,
            sent_at,
            lost_bytes,
            bytes_in_flight: self.bytes_in_flight,
            flight_size: None,
            ecn: event.is_ecn,
        };
        self.inner.on_congestion_event(&congestion);
        if event.is_persistent {
            self.inner.on_persistent_congestion(congestion.now);
        }
    }

    pub(super) fn set_mtu(&mut self, new_mtu: u16) {
        self.mtu = u64::from(new_mtu);
        self.inner.set_max_datagram_size(u64::from(new_mtu));
    }

    /// The window that the stack sees.
    pub(super) fn visible_window(&self) -> u64 {
        let window = self.open_window();
        if stack_api::PACES_BY_RATE {
            return window;
        }
        let Some((rate, _)) = self.inner.pacer() else {
            return window;
        };
        // Before the first acknowledgement, only quinn's pacer spaces the initial window.
        if self.pace.counted == Instant::default() {
            return window;
        }
        // quinn sends while the octets in flight are below the window.
        let paced = self.bytes_in_flight + self.pace.allowance + 1;
        let limit = window.min(paced.max(UNPACED_PACKETS * self.mtu));
        let room = limit.saturating_sub(self.bytes_in_flight);
        paced_window(limit, room, self.mtu, (rate, self.rtt.smoothed))
    }

    pub(super) fn visible_metrics(&self) -> ControllerMetrics {
        let mut metrics = stack_api::paced_metrics(&*self.inner);
        metrics.congestion_window = self.inner.window();
        metrics.ssthresh = self.inner.report().ssthresh;
        metrics
    }

    pub(super) fn copy(&self) -> Box<dyn Controller> {
        Box::new(Self {
            inner: self.inner.clone_box(),
            flight: self.flight.clone(),
            ..*self
        })
    }

    pub(super) const fn first_window(&self) -> u64 {
        self.initial_window
    }
}

impl fmt::Debug for PathController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PathController")
            .field("window", &self.inner.window())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "path_controller_tests.rs"]
mod tests;

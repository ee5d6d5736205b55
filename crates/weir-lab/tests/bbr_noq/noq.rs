//! Adapts the BBRv3 of noq-proto to this project's controller trait.
//!
//! Everything else is this project's: the endpoint, its pacer and its loss detection. noq is called
//! in the order of its own connection: acknowledgements first, then their end, then the losses that
//! they reveal. It also needs values that the trait does not provide:
//! - packet numbers: packets are counted here, and those of one time are told apart in the order
//!   in which they are acknowledged or lost;
//! - an estimator of the round-trip time, of which it reads the smoothed time once, as its first
//!   sample: it gets one that another connection has left;
//! - a seed: it draws the waits between probes from the system's random numbers, and has no way to
//!   set them. Two runs are not the same.

use super::estimator;
use noq_proto::congestion::{Bbr3Config, Controller, ControllerFactory};
use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::sync::Arc;
use std::time;
use weir_proto::cc::window::{BoxedController, WindowConfig};
use weir_proto::cc::{
    Acked, CongestionEvent, ConnectionEvent, EndAcks, Lost, Needs, PacingRate, RecoveryPeriod,
    Report, RetransmissionTimeout, Sent, WindowController,
};
use weir_proto::event::Limit;
use weir_proto::time::Instant;
use weir_proto::units::Rate;

/// A packet in flight: its send time and its number.
type InFlight = (Instant, u64);

/// How noq leaves a probe for bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeEnd {
    /// Unmodified: it stays in the phase `ProbeStopping` until the next probe. In each round trip
    /// of that time its bandwidth filter advances, and losses lower its long-term bound as in a
    /// probe.
    Noq,
    /// As in draft-ietf-ccwg-bbr §5.3.3.9: a round trip after the probe the filter advances once,
    /// and losses no longer count for the probe. For this, noq is called as if the application
    /// limited sending from then on until the next probe, because samples and losses of such
    /// packets have neither effect.
    Draft,
}

/// noq's BBRv3 on one path.
pub struct Noq {
    inner: Box<dyn Controller>,
    base: time::Instant,
    mtu: u64,
    next_number: u64,
    in_flight: VecDeque<InFlight>,
    app_limited: bool,
    /// The largest packet number in the current acknowledgement.
    largest_acked: Option<u64>,
    /// Losses reported to noq at the end of the current acknowledgement.
    losses: Vec<(u16, u64)>,
    state: &'static str,
    probe_end: ProbeEnd,
    /// Between probes: the number of the first packet sent after the last probe.
    after_probe: Option<u64>,
    /// The period of the last loss event, for statistics.
    period: RecoveryPeriod,
}

impl Noq {
    pub fn new(config: &WindowConfig, probe_end: ProbeEnd) -> Self {
        let base = time::Instant::now();
        let mut factory = Bbr3Config::default();
        factory.initial_window(config.initial_window());
        let mtu = config.max_datagram_size;
        Self {
            inner: Arc::new(factory).build(base, u16::try_from(mtu).unwrap_or(u16::MAX)),
            base,
            mtu,
            next_number: 0,
            in_flight: VecDeque::new(),
            app_limited: false,
            largest_acked: None,
            losses: Vec::new(),
            state: "startup",
            probe_end,
            after_probe: None,
            period: RecoveryPeriod::default(),
        }
    }

    fn at(&self, when: Instant) -> time::Instant {
        self.base + time::Duration::from_nanos(when.since(Instant::ZERO).as_nanos())
    }

    /// Takes the first packet in flight that was sent at this time.
    fn take(&mut self, sent_at: Instant) -> Option<u64> {
        let at = self.in_flight.partition_point(|&(sent, _)| sent < sent_at);
        let found = self
            .in_flight
            .get(at)
            .is_some_and(|&(sent, _)| sent == sent_at);
        found
            .then(|| self.in_flight.remove(at))?
            .map(|(_, number)| number)
    }

    fn tell_losses(&mut self, now: Instant) {
        let now = self.at(now);
        for (bytes, number) in self.losses.drain(..) {
            self.inner.on_packet_lost(bytes, number, now);
        }
        self.note_state();
    }

    fn note_state(&mut self) {
        self.state = state_of(&*self.inner);
        self.after_probe = match self.state {
            "probe_bw_down" | "probe_bw_cruise" => self.after_probe.or(Some(self.next_number)),
            _ => None,
        };
    }
}

impl WindowController for Noq {
    fn needs(&self) -> Needs {
        Needs {
            delivery_rate: true,
            end_acks: true,
            window_in_recovery: true,
            ..Needs::NONE
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        let now = self.at(sent.now);
        let bytes = u16::try_from(sent.bytes).unwrap_or(u16::MAX);
        self.inner.on_packet_sent(now, bytes, self.next_number);
        self.in_flight.push_back((sent.now, self.next_number));
        self.next_number += 1;
        if sent.bytes_in_flight + self.mtu > self.inner.window() {
            self.inner.on_cwnd_limited();
        }
    }

    fn on_ack(&mut self, acked: &Acked) {
        let Some(number) = self.take(acked.sent_at) else {
            return;
        };
        self.largest_acked = self.largest_acked.max(Some(number));
        self.app_limited = acked.app_limited;
        self.inner.on_ack(
            self.at(acked.now),
            self.at(acked.sent_at),
            acked.bytes,
            number,
            acked.app_limited,
            estimator::get(),
        );
    }

    fn on_lost(&mut self, lost: &Lost) {
        if let Some(number) = self.take(lost.sent_at) {
            self.losses.push((lost.bytes as u16, number));
        }
        if self.largest_acked.is_none() {
            self.tell_losses(lost.now);
        }
    }

    fn on_end_acks(&mut self, acks: &EndAcks) -> bool {
        let lost: u64 = self.losses.iter().map(|&(bytes, _)| u64::from(bytes)).sum();
        let largest = self.largest_acked.take();
        let (now, in_flight) = (self.at(acks.now), acks.bytes_in_flight + lost);
        self.note_state();
        let is_round_over = self.after_probe.is_some_and(|first| largest >= Some(first));
        if self.probe_end == ProbeEnd::Draft && is_round_over {
            // With nothing in flight the application-limited mark is cleared at the next
            // acknowledgement. A mark that is due to be cleared is cleared by the first call and
            // set again by the second.
            self.inner.on_end_acks(now, 0, true, largest);
            self.inner.on_end_acks(now, 0, true, largest);
            self.inner.on_end_acks(now, in_flight, false, None);
        } else {
            self.inner
                .on_end_acks(now, in_flight, self.app_limited, largest);
        }
        self.tell_losses(acks.now);
        false
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent) -> bool {
        self.period.begins(event)
    }

    fn on_connection_event(&mut self, _: ConnectionEvent) {}

    fn on_persistent_congestion(&mut self, now: Instant) {
        let now = self.at(now);
        self.inner.on_congestion_event(now, now, true, false, 0, 0);
    }

    fn on_retransmission_timeout(&mut self, timeout: &RetransmissionTimeout) {
        self.on_persistent_congestion(timeout.now);
    }

    fn on_spurious_congestion_event(&mut self, _now: Instant) -> bool {
        self.inner.on_spurious_congestion_event();
        true
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn pacing(&self) -> Option<PacingRate> {
        let metrics = self.inner.metrics();
        Some(PacingRate {
            rate: Rate::from_bytes_per_sec(metrics.pacing_rate? as f64),
            quantum: metrics.send_quantum,
        })
    }

    fn take_recovery_probe(&mut self) -> bool {
        false
    }

    fn report(&self) -> Report {
        Report::new(self.state, Limit::MaxInflight)
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        self.mtu = octets;
        self.inner
            .on_mtu_update(u16::try_from(octets).unwrap_or(u16::MAX));
    }

    fn clone_box(&self) -> BoxedController {
        Box::new(Self {
            inner: self.inner.clone_box(),
            in_flight: self.in_flight.clone(),
            losses: self.losses.clone(),
            ..*self
        })
    }
}

/// The names of states in noq's `Debug` output, and this project's names.
const STATES: [(&str, &str); 7] = [
    ("Startup", "startup"),
    ("Drain", "drain"),
    ("ProbeBw(Down)", "probe_bw_down"),
    ("ProbeBw(Cruise)", "probe_bw_cruise"),
    ("ProbeBw(Refill)", "probe_bw_refill"),
    ("ProbeBw(Up)", "probe_bw_up"),
    ("ProbeRtt", "probe_rtt"),
];

/// noq shows its state only in its `Debug` output.
fn state_of(controller: &dyn Controller) -> &'static str {
    let mut field = Field::default();
    // Writing is stopped with an error as soon as the field is known.
    let _ = write!(field, "{controller:?}");
    let known = STATES.iter().find(|(theirs, _)| *theirs == field.value);
    known
        .unwrap_or_else(|| panic!("no state {:?}", field.value))
        .1
}

/// Reads the field `state` and stops the writing of everything after it.
#[derive(Default)]
struct Field {
    before: String,
    value: String,
    found: bool,
}

impl Write for Field {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.found && text.starts_with(", ") {
            return Err(fmt::Error);
        }
        if self.found {
            self.value.push_str(text);
        } else {
            self.found = self.before == "state" && text == ": ";
            text.clone_into(&mut self.before);
        }
        Ok(())
    }
}

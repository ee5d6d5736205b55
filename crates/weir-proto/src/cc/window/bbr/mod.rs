//! BBRv3 (draft-ietf-ccwg-bbr): a model of the path, the bandwidth that it delivers and its
//! round-trip time without a queue, from which pacing rate and window follow.
//!
//! | file | what it holds |
//! |---|---|
//! | `model` | the estimates (§5.5) |
//! | `startup`, `drain`, `probe_bw`, `probe_rtt` | the states (§5.3) |
//! | `control` | pacing rate, quantum, window (§5.6) |
//! | `ecn` | the response to marks, of Linux's BBRv3 |
//! | `config` | the constants (§2) |
//!
//! Choices where the draft is open:
//! - the pacing gains are those of the table in §5.6.1, since the pseudocode of ProbeBW sets none;
//! - `TargetInflight()` counts in packets where it stands for rounds (§5.3.3.8.3);
//! - recovery begins with the first loss of a packet that was sent after the last recovery began,
//!   and ends when such a packet is delivered, for TCP as for QUIC;
//! - the state to restore is saved when a recovery begins, as §5.5.11 has it in words, and not
//!   again with the first loss of each round, as NoteLoss() has it: a probe that losses end resets
//!   the round, so that the second loss would overwrite what the first has saved;
//! - a precautionary probe ends when the octets in flight before an acknowledgement left no room
//!   for a packet below `inflight_longterm` (§5.3.3.6): the window holds at most that much, so that
//!   after an acknowledgement there is always room;
//! - QUIC establishes persistent congestion when an acknowledgement arrives. The packets that it
//!   acknowledges still count as in flight then, so that "one packet more" than that would be no
//!   reduction: the window is the minimum of RFC 9002 §7.6.2, and grows from the next
//!   acknowledgement on;
//! - the pacing rate is set again with the first sample of the round-trip time (§5.6.2);
//! - a sample without a rate does not count as a round without growth (§5.3.1.2), and a bandwidth
//!   of zero sets no pacing rate (§5.6.2);
//! - Drain is not bounded by `inflight_longterm`, as in BoundCwndForModel() and not as in the table
//!   of §5.6.1.
//!
//! The preset `linux-v3` has the constants of the BBRv3 that distributions ship. What else differs
//! there is not modelled: Linux judges the growth of the bandwidth with each acknowledgement and
//! not once a round, keeps extra_acked for five to ten rounds, and paces in fixed-point numbers.
//!
//! Not modelled: ECN in the draft, which leaves the response open, so that packets are Not-ECT
//! without `ecn_low`; connections without selective acknowledgements, offload budgets above one
//! quantum.

mod config;
mod control;
mod drain;
mod ecn;
#[cfg(test)]
mod event_tests;
mod model;
mod probe_bw;
mod probe_rtt;
mod startup;
mod state;
#[cfg(test)]
mod tests;

pub use config::BbrConfig;

use super::{BoxedController, ControllerEntry, WindowBasis, WindowConfig};
use crate::cc::{
    Acked, CongestionEvent, ConnectionEvent, EcnCapability, EndAcks, Lost, Needs, PacingRate,
    RecoveryPeriod, Report, RetransmissionTimeout, Sent, WindowController,
};
use crate::event::Limit;
use crate::rng::Rng;
use crate::time::Instant;
use crate::units::Rate;
use ecn::Marks;
pub(super) use model::BwSample;
use model::Model;
use probe_bw::Cycle;
use probe_rtt::Visit;
use startup::FullPipe;
use state::State;

/// The registry's entry.
pub(super) const ENTRY: ControllerEntry = ControllerEntry {
    name: "bbr",
    doc: "BBRv3 (draft-ietf-ccwg-bbr)",
    rules: &[&["undo_spurious"]],
    make: |config| Box::new(Bbr::new(config)),
};

/// BBR.undo_state (draft-bbr §2.15): the state that a loss has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum UndoState {
    #[default]
    None,
    Startup,
    ProbeUp,
}

/// The state to restore after a spurious loss recovery (draft-bbr §5.5.11.1).
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    state: UndoState,
    bw_shortterm: f64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
}

/// BBRv3.
#[derive(Clone, Debug)]
pub struct Bbr {
    config: BbrConfig,
    window: WindowBasis,
    /// C.SMSS in octets.
    mds: u64,
    initial_window: u64,
    rng: Rng,
    state: State,
    model: Model,
    full: FullPipe,
    cycle: Cycle,
    visit: Visit,
    marks: Marks,
    undo: Undo,
    /// C.cwnd in octets.
    cwnd: u64,
    prior_cwnd: u64,
    /// C.pacing_rate in octets per second.
    pacing_rate: f64,
    /// C.send_quantum in octets.
    send_quantum: u64,
    limit: Limit,
    drain_start_round: u64,
    idle_restart: bool,
    has_started: bool,
    has_seen_rtt: bool,
    /// When the loss recovery in progress began.
    recovery_start: Option<Instant>,
    /// The period of the last loss event.
    period: RecoveryPeriod,
    /// When persistent congestion was last established.
    persistent_congestion_at: Option<Instant>,
    bytes_in_flight: u64,
    /// Octets in flight before the acknowledgement, less the octets lost with it.
    prior_in_flight: u64,
    /// The window was full in this round, and in the last.
    cwnd_limited: [bool; 2],
}

impl Bbr {
    /// A controller at its initial window.
    pub fn new(config: &WindowConfig) -> Self {
        let mut bbr = Self {
            config: config.constants.bbr,
            window: config.basis(),
            mds: config.max_datagram_size.max(1),
            initial_window: config.initial_window(),
            rng: Rng::stream(config.seed, "bbr"),
            state: State::Startup,
            model: Model::new(),
            full: FullPipe::default(),
            cycle: Cycle::new(),
            visit: Visit::default(),
            marks: Marks::new(),
            undo: Undo::default(),
            cwnd: config.initial_window(),
            prior_cwnd: 0,
            pacing_rate: 0.0,
            send_quantum: 0,
            limit: Limit::InitialWindow,
            drain_start_round: 0,
            idle_restart: false,
            has_started: false,
            has_seen_rtt: false,
            recovery_start: None,
            period: RecoveryPeriod::default(),
            persistent_congestion_at: None,
            bytes_in_flight: 0,
            prior_in_flight: 0,
            cwnd_limited: [false; 2],
        };
        bbr.init_pacing_rate(crate::cc::Rtt::default());
        bbr
    }

    /// C.is_cwnd_limited (draft-bbr §2.2).
    const fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited[0] || self.cwnd_limited[1]
    }

    /// HandleRestartFromIdle (draft-bbr §5.4.1).
    fn handle_restart_from_idle(&mut self, now: Instant) {
        self.idle_restart = true;
        self.model.extra_acked_interval_start = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }

    /// UpdateModelAndState (draft-bbr §5.2.3).
    fn update_model_and_state(&mut self, acks: &EndAcks) {
        self.model.update_latest_delivery_signals(acks);
        if self.config.ecn_low {
            self.marks.on_acks(acks);
        }
        if self.model.update_max_bw(acks, &self.config) {
            self.cycle.rounds_since_up += 1;
            self.cwnd_limited = [false, self.cwnd_limited[0]];
            self.end_round_of_marks();
        }
        let of_marks = self.inflight_of_marks();
        self.model
            .adapt_lower_bounds(self.state, self.cwnd, self.config.beta);
        if self.model.loss_round_start {
            // The lower of the bounds of losses and marks.
            let shortterm = &mut self.model.inflight_shortterm;
            *shortterm = of_marks.map_or(*shortterm, |bound| bound.min(*shortterm));
            self.marks.in_round = false;
        }
        let window = if self.full.reached {
            self.config.extra_acked_filter_rounds
        } else {
            1
        };
        self.model.update_ack_aggregation(acks, self.cwnd, window);
        self.check_full_bw_reached(acks);
        self.check_startup_done(acks);
        self.check_drain_done(acks);
        self.update_cycle_phase(acks);
        self.model.update_min_rtt(acks, &self.config);
        self.check_probe_rtt(acks);
        self.model.advance_latest_delivery_signals(acks);
        self.marks.on_decided(acks);
        self.model.bound_bw();
    }

    /// SaveStateUponLoss (draft-bbr §5.5.11.1).
    fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            state: UndoState::None,
            bw_shortterm: self.model.bw_shortterm,
            inflight_shortterm: self.model.inflight_shortterm,
            inflight_longterm: self.model.inflight_longterm,
        };
    }

    /// OnEnterFastRecovery (draft-bbr §5.6.4.4).
    fn enter_recovery(&mut self, now: Instant) {
        self.save_state_upon_loss();
        self.recovery_start = Some(now);
    }

    /// The window of RFC 9002 §7.6.2.
    fn set_cwnd_for_persistent_congestion(&mut self) {
        self.cwnd = self.window.minimum_window();
        self.limit = Limit::PersistentCongestion;
    }

    /// HandleLostPacket where the packet was a probe (draft-bbr §5.5.10.2).
    fn handle_lost_probe(&mut self, lost: &Lost) {
        if !self.is_inflight_too_high(lost.lost_since_sent, lost.tx_in_flight) {
            return;
        }
        // InflightAtLoss: the volume at which the losses crossed the threshold.
        let threshold = self.config.loss_threshold;
        let inflight_prev = lost.tx_in_flight.saturating_sub(lost.bytes) as f64;
        let lost_prev = lost.lost_since_sent.saturating_sub(lost.bytes) as f64;
        let lost_prefix = (threshold * inflight_prev - lost_prev) / (1.0 - threshold).max(1e-9);
        // Zero if the sum is negative.
        let inflight = (inflight_prev + lost_prefix) as u64;
        self.handle_inflight_too_high(lost.now, inflight, lost.app_limited);
    }
}

impl WindowController for Bbr {
    fn needs(&self) -> Needs {
        Needs {
            delivery_rate: true,
            end_acks: true,
            window_in_recovery: true,
            filled_window: true,
            // A sender that claims ECN must treat marks as congestion (draft-bbr §3.7), for which
            // the draft has no rule.
            ecn: Some(if self.config.ecn_low {
                EcnCapability::Ect0
            } else {
                EcnCapability::NotEct
            }),
            ..Needs::NONE
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        if !self.has_started {
            self.has_started = true;
            self.model.init(sent.now, sent.rtt.smoothed);
        }
        self.init_pacing_rate(sent.rtt);
        if sent.bytes_in_flight <= sent.bytes && sent.app_limited {
            self.handle_restart_from_idle(sent.now);
        }
        self.bytes_in_flight = sent.bytes_in_flight;
        self.cwnd_limited[0] |= sent.bytes_in_flight + self.mds > self.cwnd;
    }

    fn on_ack(&mut self, _: &Acked) {}

    fn on_lost(&mut self, lost: &Lost) {
        self.bytes_in_flight = self.bytes_in_flight.saturating_sub(lost.bytes);
        if self.recovery_start.is_none_or(|start| lost.sent_at > start) {
            self.enter_recovery(lost.now);
        }
        self.model.note_loss(lost.delivered);
        self.model.loss_ranges_in_round += u32::from(!lost.continues_range);
        if self.cycle.is_probe_sample {
            self.handle_lost_probe(lost);
        }
    }

    fn on_end_acks(&mut self, acks: &EndAcks) -> bool {
        self.prior_in_flight = self.bytes_in_flight;
        self.bytes_in_flight = acks.bytes_in_flight;
        self.init_pacing_rate(acks.rtt);
        self.update_model_and_state(acks);
        if self
            .recovery_start
            .is_some_and(|start| acks.newest_sent_at > start)
        {
            self.recovery_start = None;
            self.restore_cwnd();
        }
        self.set_pacing_rate();
        self.set_send_quantum();
        if self.persistent_congestion_at == Some(acks.now) {
            self.set_cwnd_for_persistent_congestion();
        } else {
            self.set_cwnd(acks);
        }
        self.state == State::ProbeRtt
    }

    /// BBR has already reacted to each lost packet.
    fn on_congestion_event(&mut self, event: &CongestionEvent) -> bool {
        self.period.begins(event)
    }

    fn on_persistent_congestion(&mut self, now: Instant) {
        self.enter_recovery(now);
        self.persistent_congestion_at = Some(now);
        self.set_cwnd_for_persistent_congestion();
    }

    fn on_retransmission_timeout(&mut self, timeout: &RetransmissionTimeout) {
        // OnEnterRTO (draft-bbr §5.6.4.4): one packet more than the flight, which is declared lost
        // after this call.
        self.enter_recovery(timeout.now);
        self.cwnd = self.mds;
        self.limit = Limit::Timeout;
    }

    /// HandleSpuriousLossDetection (draft-bbr §5.5.11.2).
    fn on_spurious_congestion_event(&mut self, _now: Instant) -> bool {
        let undo = self.undo;
        self.undo.state = UndoState::None;
        self.restore_cwnd();
        self.recovery_start = None;
        let model = &mut self.model;
        model.is_loss_in_round = false;
        self.full.reset(0.0);
        model.bw_shortterm = model.bw_shortterm.max(undo.bw_shortterm);
        model.inflight_shortterm = model.inflight_shortterm.max(undo.inflight_shortterm);
        model.inflight_longterm = model.inflight_longterm.max(undo.inflight_longterm);
        let in_probe_rtt = self.state == State::ProbeRtt;
        match undo.state {
            UndoState::Startup if self.state != State::Startup => {
                self.full.reached = false;
                if !in_probe_rtt {
                    self.enter_startup();
                }
            }
            UndoState::ProbeUp if self.state != State::Up && !in_probe_rtt => self.start_refill(),
            _ => {}
        }
        true
    }

    fn on_connection_event(&mut self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::HandshakeLoss => self.cwnd = self.mds,
            // Pacing bounds the packets that leave after an idle time (draft-bbr §5.4.1): see
            // `handle_restart_from_idle`.
            ConnectionEvent::IdleRestart => {}
            // Startup ends with the next acknowledgement.
            ConnectionEvent::SlowReceiver => self.full.reached = true,
        }
    }

    fn window(&self) -> u64 {
        self.cwnd
    }

    fn pacing(&self) -> Option<PacingRate> {
        Some(PacingRate {
            rate: Rate::from_bytes_per_sec(self.pacing_rate),
            quantum: Some(self.send_quantum),
        })
    }

    fn take_recovery_probe(&mut self) -> bool {
        false
    }

    fn report(&self) -> Report {
        Report {
            rate_limited_by: Some(self.model.bw_limited_by()),
            model: Some(self.model.report(self.full.count)),
            ..Report::new(self.state.name(), self.limit)
        }
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        self.mds = octets.max(1);
        self.window.max_datagram_size = self.mds;
        self.initial_window = self.window.initial_window();
        self.cwnd = match self.limit {
            Limit::InitialWindow => self.initial_window,
            _ => self.cwnd.max(self.min_pipe_cwnd()),
        };
        self.set_send_quantum();
    }

    fn clone_box(&self) -> BoxedController {
        Box::new(self.clone())
    }
}

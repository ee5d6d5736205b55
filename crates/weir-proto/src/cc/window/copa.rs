//! Copa (Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet",
//! NSDI 2018; section numbers are those of the paper).
//!
//! With the queueing delay d = RTTstanding - RTTmin and 1/delta packets that a flow wants in the
//! queue, the target rate is 1/(delta·d) packets per second (§2.1). The window moves towards it
//! with each acknowledged packet:
//!   cwnd ± v / (delta·cwnd)     in packets; + while cwnd/RTTstanding is at most the target rate
//! Packets leave at 2·cwnd/RTTstanding. The velocity v is 1; once a window has moved in one
//! direction for three round trips, v doubles with each further one, and it is 1 again when the
//! direction changes. Slow start doubles the window each round trip until the rate exceeds the
//! target.
//!
//! If only Copa flows use the queue, it is nearly empty once in five round trips. Otherwise other
//! flows fill it, and the flow competes (§2.2): 1/delta grows by one each round trip and is halved
//! by a loss, and never falls below its default. In the default mode the flow ignores losses.
//!
//! The authors' code for QUIC, not the paper, ends a velocity above one when the window turns. This
//! file adds the minimum window of two packets, the bursts of two packets, the bound that the
//! window at most doubles in a round trip, and the response to a mark as to a loss.

use super::{BoxedController, ControllerEntry, WindowBasis, WindowConfig};
use crate::cc::filter::{WindowedMax, WindowedMin};
use crate::cc::{
    Acked, CongestionEvent, ConnectionEvent, EndAcks, Lost, Needs, PacingRate, Report,
    RetransmissionTimeout, Sent, WindowController,
};
use crate::event::Limit;
use crate::settings;
use crate::settings::{count, fraction, number};
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// delta of the default mode: two packets in the queue (§2.1).
const DELTA: f64 = 0.5;
/// Round trips in one direction after which the velocity doubles (§2.1).
const STEADY_ROUNDS: u32 = 3;
/// The time over which RTTstanding is the least, as a share of the smoothed round-trip time (§2.1).
const STANDING_SHARE: f64 = 0.5;
/// The time over which RTTmin is the least (§2.1).
const MIN_RTT_FILTER: Duration = Duration::from_secs(10);
/// The pacing rate in windows per RTTstanding (§2.1).
const PACING_GAIN: f64 = 2.0;
/// The delay of a nearly empty queue, as a share of RTTmax - RTTmin (§2.2).
const EMPTY_SHARE: f64 = 0.1;
/// Round trips in which the queue is nearly empty once if all flows are Copa's (§2.2).
const EMPTY_ROUNDS: u32 = 5;
/// Round trips over which RTTmax is the greatest (§2.2).
const MAX_RTT_ROUNDS: u64 = 4;
/// The growth of 1/delta in a round trip of the competitive mode (§2.2).
const COMPETITIVE_INCREASE: f64 = 1.0;
/// What a loss leaves of 1/delta in the competitive mode (§2.2).
const COMPETITIVE_DECREASE: f64 = 0.5;

/// The least window, and the largest burst, in packets.
const LEAST_PACKETS: f64 = 2.0;

settings! {
    /// The constants of Copa (NSDI 2018).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct CopaConfig {
        /// delta of the default mode: a flow keeps 1/delta packets in the queue (§2.1).
        pub delta: f64 = DELTA => number(0.001..=100.0, ""),
        /// Round trips in one direction, after which each further one doubles the velocity (§2.1).
        pub steady_rounds: u32 = STEADY_ROUNDS => count(1..=1_000_000, "round trips"),
        /// The time over which RTTstanding is the least, as a share of the smoothed round-trip
        /// time, in 0..1 (§2.1).
        pub standing_share: f64 = STANDING_SHARE => fraction(),
        /// The time over which RTTmin is the least (§2.1).
        pub min_rtt_filter: Duration = MIN_RTT_FILTER,
        /// The pacing rate in windows per RTTstanding (§2.1).
        pub pacing_gain: f64 = PACING_GAIN => number(0.1..=100.0, "times"),
        /// The flow competes where others fill the queue (§2.2).
        pub mode_switching: bool = true,
        /// The delay of a nearly empty queue, as a share of RTTmax - RTTmin, in 0..1 (§2.2).
        pub empty_share: f64 = EMPTY_SHARE => fraction(),
        /// Round trips without a nearly empty queue after which the flow competes (§2.2).
        pub empty_rounds: u32 = EMPTY_ROUNDS => count(1..=1_000_000, "round trips"),
        /// Round trips over which RTTmax is the greatest (§2.2).
        pub max_rtt_rounds: u64 = MAX_RTT_ROUNDS => count(1..=1_000_000, "round trips"),
        /// The growth of 1/delta in a round trip of the competitive mode (§2.2).
        pub competitive_increase: f64 = COMPETITIVE_INCREASE => number(0.0..=1000.0, ""),
        /// What a loss leaves of 1/delta in the competitive mode, in 0..1 (§2.2).
        pub competitive_decrease: f64 = COMPETITIVE_DECREASE => fraction(),
    }
}

/// The registry's entry.
pub(super) const ENTRY: ControllerEntry = ControllerEntry {
    name: "copa",
    doc: "Copa (NSDI 2018): keeps two packets in the queue, and competes with those that fill it",
    rules: &[&["undo_spurious"]],
    make: |config| Box::new(Copa::new(config)),
};

/// The direction in which the window moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// v, and the state that determines it (§2.1).
#[derive(Clone, Copy, Debug)]
struct Velocity {
    value: f64,
    direction: Direction,
    /// Round trips in this direction.
    rounds: u32,
    /// The window at the start of this round trip.
    start: f64,
}

impl Velocity {
    const fn new(window: f64) -> Self {
        Self {
            value: 1.0,
            direction: Direction::Up,
            rounds: 0,
            start: window,
        }
    }

    /// A round trip has ended with this window.
    fn on_round(&mut self, window: f64, steady_rounds: u32) {
        let direction = if window > self.start {
            Direction::Up
        } else {
            Direction::Down
        };
        self.turn(direction);
        self.start = window;
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds > steady_rounds {
            // No window can grow faster than this.
            self.value = (2.0 * self.value).min(1e9);
        }
    }

    /// Resets the velocity if the direction changes.
    fn turn(&mut self, direction: Direction) {
        if direction != self.direction {
            self.direction = direction;
            self.value = 1.0;
            self.rounds = 0;
        }
    }
}

/// The state before a loss or a timeout, to restore if it was spurious.
#[derive(Clone, Copy, Debug)]
struct Undo {
    cwnd: f64,
    slow_start: bool,
    velocity: Velocity,
    competing: Option<f64>,
}

/// Copa.
#[derive(Clone, Debug)]
pub struct Copa {
    config: CopaConfig,
    window: WindowBasis,
    /// The window and the packet size in octets.
    cwnd: f64,
    packet: f64,
    slow_start: bool,
    velocity: Velocity,
    min_rtt: WindowedMin<Duration>,
    standing: WindowedMin<Duration>,
    max_rtt: WindowedMax<Duration>,
    /// Packets sent from then on belong to this round trip.
    round_began: Instant,
    /// Round trips that have ended since the queue was nearly empty.
    rounds_since_empty: u32,
    /// 1/delta in the competitive mode.
    competing: Option<f64>,
    /// When a loss last halved it.
    reduced: Option<Instant>,
    undo: Option<Undo>,
    is_lossy_round: bool,
    /// Octets of the current acknowledgement that may let the window grow.
    growing: u64,
    limit: Limit,
}

impl Copa {
    /// A controller at its initial window.
    pub fn new(config: &WindowConfig) -> Self {
        let cwnd = config.initial_window() as f64;
        Self {
            config: config.constants.copa,
            window: config.basis(),
            cwnd,
            packet: config.max_datagram_size as f64,
            slow_start: true,
            velocity: Velocity::new(cwnd),
            min_rtt: WindowedMin::default(),
            standing: WindowedMin::default(),
            max_rtt: WindowedMax::default(),
            round_began: Instant::ZERO,
            rounds_since_empty: 0,
            competing: None,
            reduced: None,
            undo: None,
            is_lossy_round: false,
            growing: 0,
            limit: Limit::InitialWindow,
        }
    }

    /// Packets that the flow wants in the queue: 1/delta.
    fn wanted(&self) -> f64 {
        self.competing.unwrap_or(1.0 / self.config.delta)
    }

    /// RTTstanding - RTTmin.
    fn queueing_delay(&self) -> Duration {
        self.standing.get().saturating_sub(self.min_rtt.get())
    }

    /// True while cwnd/RTTstanding is at most 1/(delta·d).
    fn is_below_target(&self) -> bool {
        let packets = self.cwnd / self.packet;
        let delay = self.queueing_delay().as_secs_f64();
        packets * delay <= self.wanted() * self.standing.get().as_secs_f64()
    }

    fn take_sample(&mut self, acks: &EndAcks) {
        let sample = acks.rtt_sample.unwrap_or(acks.rtt.latest);
        if sample.is_zero() {
            return;
        }
        let (now, srtt) = (acks.now.as_nanos(), acks.rtt.smoothed);
        let window = self.config.min_rtt_filter.as_nanos();
        self.min_rtt.update(window, now, sample);
        let window = srtt.mul_f64(self.config.standing_share).as_nanos();
        self.standing.update(window, now, sample);
        let window = srtt.as_nanos().saturating_mul(self.config.max_rtt_rounds);
        self.max_rtt.update(window, now, sample);
        let swing = self.max_rtt.get().saturating_sub(self.min_rtt.get());
        if self.queueing_delay() <= swing.mul_f64(self.config.empty_share) {
            self.rounds_since_empty = 0;
        }
    }

    /// A round trip has ended.
    fn on_round(&mut self) {
        if self.slow_start {
            self.velocity = Velocity::new(self.cwnd);
        } else {
            self.velocity.on_round(self.cwnd, self.config.steady_rounds);
        }
        let is_lossy = std::mem::take(&mut self.is_lossy_round);
        let default = 1.0 / self.config.delta;
        self.competing = match self.competing {
            _ if !self.config.mode_switching => None,
            _ if self.rounds_since_empty < self.config.empty_rounds => None,
            Some(wanted) if is_lossy => Some(wanted),
            Some(wanted) => Some(wanted + self.config.competitive_increase),
            None => Some(default),
        };
        self.rounds_since_empty = self.rounds_since_empty.saturating_add(1);
    }

    /// Moves the window for `octets` acknowledged, of which `growing` may let it grow.
    fn steer(&mut self, octets: f64, growing: f64) {
        let is_below = self.is_below_target();
        if self.slow_start && is_below {
            self.cwnd += growing;
            self.limit = Limit::SlowStart;
            return;
        }
        self.slow_start = false;
        let (direction, octets) = if is_below {
            (Direction::Up, growing)
        } else {
            (Direction::Down, octets)
        };
        if self.velocity.value > 1.0 {
            self.velocity.turn(direction);
        }
        let step = self.velocity.value * self.wanted() * self.packet * octets / self.cwnd;
        let step = step.min(octets);
        self.limit = Limit::CongestionAvoidance;
        match direction {
            Direction::Up if growing > 0.0 => self.cwnd += step,
            Direction::Up => self.limit = Limit::ApplicationLimited,
            Direction::Down => self.cwnd -= step,
        }
        if self.cwnd <= LEAST_PACKETS * self.packet {
            self.cwnd = LEAST_PACKETS * self.packet;
            self.limit = Limit::MinimumWindow;
        }
    }

    /// Saves the state before a loss or a timeout changes it.
    fn save_for_undo(&mut self) {
        self.undo = self.window.rules.controller.undo_spurious.then_some(Undo {
            cwnd: self.cwnd,
            slow_start: self.slow_start,
            velocity: self.velocity,
            competing: self.competing,
        });
    }

    fn start_again(&mut self, window: f64, limit: Limit) {
        self.cwnd = window;
        self.slow_start = true;
        self.velocity = Velocity::new(window);
        self.limit = limit;
    }
}

impl WindowController for Copa {
    fn needs(&self) -> Needs {
        Needs {
            end_acks: true,
            acks_in_recovery: true,
            window_in_recovery: true,
            ..Needs::NONE
        }
    }

    fn on_sent(&mut self, _: &Sent) {}

    fn on_ack(&mut self, acked: &Acked) {
        if !acked.app_limited {
            self.growing += acked.bytes;
        }
    }

    fn on_lost(&mut self, _: &Lost) {}

    fn on_end_acks(&mut self, acks: &EndAcks) -> bool {
        self.take_sample(acks);
        let growing = std::mem::take(&mut self.growing) as f64;
        if !self.standing.get().is_zero() {
            self.steer(acks.newly_acked as f64, growing);
        }
        if acks.newest_sent_at >= self.round_began {
            self.round_began = acks.now;
            self.on_round();
        }
        false
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent) -> bool {
        self.is_lossy_round = true;
        if self.reduced.is_some_and(|reduced| event.sent_at < reduced) {
            return false;
        }
        self.save_for_undo();
        self.reduced = Some(event.now);
        let least = 1.0 / self.config.delta;
        let left = self.config.competitive_decrease;
        self.competing = self.competing.map(|wanted| (left * wanted).max(least));
        true
    }

    fn on_persistent_congestion(&mut self, _now: Instant) {
        self.undo = None;
        self.start_again(LEAST_PACKETS * self.packet, Limit::PersistentCongestion);
    }

    fn on_retransmission_timeout(&mut self, timeout: &RetransmissionTimeout) {
        if !timeout.repeated {
            self.save_for_undo();
        }
        self.start_again(self.packet, Limit::Timeout);
    }

    fn on_connection_event(&mut self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::HandshakeLoss => self.cwnd = self.packet,
            ConnectionEvent::IdleRestart => {
                self.cwnd = self.cwnd.min(self.window.initial_window() as f64);
            }
            ConnectionEvent::SlowReceiver => self.slow_start = false,
        }
    }

    fn on_spurious_congestion_event(&mut self, _now: Instant) -> bool {
        let Some(undo) = self.undo.take() else {
            return false;
        };
        self.competing = undo.competing;
        if undo.cwnd > self.cwnd {
            self.cwnd = undo.cwnd;
            self.slow_start = undo.slow_start;
            self.velocity = undo.velocity;
            self.limit = if self.slow_start {
                Limit::SlowStart
            } else {
                Limit::CongestionAvoidance
            };
        }
        true
    }

    fn window(&self) -> u64 {
        self.cwnd as u64
    }

    fn pacing(&self) -> Option<PacingRate> {
        let standing = self.standing.get();
        let octets = self.config.pacing_gain * self.cwnd;
        (!standing.is_zero()).then(|| PacingRate {
            rate: Rate::from_bytes_per_sec(octets / standing.as_secs_f64()),
            quantum: Some((LEAST_PACKETS * self.packet) as u64),
        })
    }

    fn take_recovery_probe(&mut self) -> bool {
        false
    }

    fn report(&self) -> Report {
        let state = if self.slow_start {
            "slow_start"
        } else if self.competing.is_some() {
            "competitive"
        } else {
            "congestion_avoidance"
        };
        Report::new(state, self.limit)
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        self.window.max_datagram_size = octets.max(1);
        self.packet = self.window.max_datagram_size as f64;
        // RFC 9002 §7.2, as other controllers.
        self.cwnd = match self.limit {
            Limit::InitialWindow => self.window.initial_window() as f64,
            _ => self.cwnd.max(LEAST_PACKETS * self.packet),
        };
    }

    fn clone_box(&self) -> BoxedController {
        Box::new(self.clone())
    }
}

#[cfg(test)]
#[path = "copa_tests.rs"]
mod tests;

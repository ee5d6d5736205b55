//! BBRv1, as Linux has it since 4.9 (`net/ipv4/tcp_bbr.c`): the bandwidth and the round-trip time
//! without a queue, from which pacing rate and window follow. No loss changes the model. The names
//! of Linux's functions and fields stand in brackets.
//!
//! Linux counts packets and shares of 256, here are octets and real numbers. Not modelled: the time
//! at which the pacer lets the next packet go, for which Linux corrects the octets in flight (up to
//! one burst of a millisecond), and the allowance for offload beyond three bursts.

mod config;
mod phases;
mod policer;
#[cfg(test)]
mod tests;

pub use config::Bbr1Config;

use super::bbr::BwSample;
use super::{BoxedController, ControllerEntry, WindowBasis, WindowConfig};
use crate::cc::filter::WindowedMax;
use crate::cc::{
    Acked, CongestionEvent, ConnectionEvent, EcnCapability, EndAcks, Lost, Needs, PacingRate,
    RecoveryPeriod, Report, RetransmissionTimeout, RoundCounter, Rtt, Sent, WindowController,
};
use crate::event::{Limit, ModelState, RateLimit};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::Rate;
use policer::{Change, Policer};

/// The registry's entry.
pub(super) const ENTRY: ControllerEntry = ControllerEntry {
    name: "bbr1",
    doc: "BBRv1 (Linux tcp_bbr)",
    rules: &[&["undo_spurious"]],
    make: |config| Box::new(Bbr1::new(config)),
};

/// CYCLE_LEN: phases of ProbeBW.
const PHASES: u64 = 8;
/// bbr_cycle_rand: the phases in which ProbeBW may begin, all but that which drains.
const FIRST_PHASES: u64 = 7;
/// bbr_min_tso_rate in octets per second: below it a burst may be one packet.
const ONE_PACKET_RATE: f64 = 150_000.0;
/// The default of sk_pacing_shift: a burst is what the pacing rate sends in 1/1024 s.
const BURSTS_PER_S: f64 = 1024.0;
/// The largest burst: GSO_LEGACY_MAX_SIZE less the largest TCP header.
const LARGEST_BURST: f64 = 65_536.0 - 1.0 - 320.0;
/// Bursts of room in the window (bbr_quantization_budget).
const BURSTS_OF_ROOM: u64 = 3;
/// bbr_extra_acked_win_rtts: rounds of each of the two intervals of the maximum.
const AGGREGATION_ROUNDS: u32 = 5;
/// bbr_extra_acked_max_us: the most octets beyond the bandwidth, as a time of it.
const AGGREGATION_TIME: Duration = Duration::from_millis(100);
/// bbr_ack_epoch_acked_reset_thresh in packets.
const EPOCH_PACKETS: u64 = 1 << 20;
/// The window grows freely until so many packets were delivered (TCP_INIT_CWND).
const INITIAL_PACKETS: u64 = 10;
/// The round-trip time used before the first sample.
const NOMINAL_RTT: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Octets acknowledged beyond the bandwidth (bbr_update_ack_aggregation): the maximum of this and
/// the last interval.
#[derive(Clone, Copy, Debug, Default)]
struct Aggregation {
    most: [u64; 2],
    rounds: u32,
    epoch_start: Instant,
    epoch_acked: u64,
}

/// The controller's answer to losses: the window, not the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    None,
    /// Packets leave as others arrive, for a round; then the window grows again. Since this time.
    Fast(Instant),
    /// After a timeout at this time (TCP_CA_Loss).
    Loss(Instant),
}

/// BBRv1.
#[derive(Clone, Debug)]
pub struct Bbr1 {
    config: Bbr1Config,
    window: WindowBasis,
    /// The packet size in octets.
    mss: u64,
    rng: Rng,
    mode: Mode,
    rounds: RoundCounter,
    round_start: bool,
    max_bw: WindowedMax<BwSample>,
    policer: Policer,
    min_rtt: Option<Duration>,
    min_rtt_stamp: Instant,
    aggregation: Aggregation,
    /// full_bw in octets per second, full_bw_cnt and full_bw_reached.
    full_bw: f64,
    full_bw_count: u32,
    full_bw_reached: bool,
    /// The phase of ProbeBW, and its beginning (cycle_mstamp).
    phase: u64,
    phase_start: Instant,
    /// When ProbeRTT may end, once the flight is small, and whether it has had a round.
    probe_rtt_done: Option<Instant>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    recovery: Recovery,
    period: RecoveryPeriod,
    packet_conservation: bool,
    cwnd: u64,
    prior_cwnd: u64,
    ssthresh: Option<u64>,
    /// Octets per second.
    pacing_rate: f64,
    has_started: bool,
    has_seen_rtt: bool,
    limit: Limit,
    delivered: u64,
    lost: u64,
    bytes_in_flight: u64,
    persistent_congestion_at: Option<Instant>,
}

impl Bbr1 {
    /// A controller at its initial window.
    pub fn new(config: &WindowConfig) -> Self {
        let mut bbr = Self {
            config: config.constants.bbr1,
            window: config.basis(),
            mss: config.max_datagram_size.max(1),
            rng: Rng::stream(config.seed, "bbr1"),
            mode: Mode::Startup,
            rounds: RoundCounter::default(),
            round_start: false,
            max_bw: WindowedMax::default(),
            policer: Policer::default(),
            min_rtt: None,
            min_rtt_stamp: Instant::ZERO,
            aggregation: Aggregation::default(),
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_reached: false,
            phase: 0,
            phase_start: Instant::ZERO,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            recovery: Recovery::None,
            period: RecoveryPeriod::default(),
            packet_conservation: false,
            cwnd: config.initial_window(),
            prior_cwnd: 0,
            ssthresh: None,
            pacing_rate: 0.0,
            has_started: false,
            has_seen_rtt: false,
            limit: Limit::InitialWindow,
            delivered: 0,
            lost: 0,
            bytes_in_flight: 0,
            persistent_congestion_at: None,
        };
        bbr.init_pacing_rate(Rtt::default());
        bbr
    }

    /// The bandwidth in octets per second (bbr_bw): that of a policer, if one was found.
    fn bw(&self) -> f64 {
        self.policer
            .rate()
            .unwrap_or_else(|| self.max_bw.get().rate)
    }

    /// The gains of pacing rate and window (bbr_update_gains).
    fn gains(&self) -> (f64, f64) {
        let config = &self.config;
        match self.mode {
            Mode::Startup => (config.high_gain, config.high_gain),
            Mode::Drain => (config.drain_gain, config.high_gain),
            Mode::ProbeBw => {
                let pacing = match self.phase {
                    _ if self.policer.rate().is_some() => 1.0,
                    0 => config.probe_gain,
                    1 => config.probe_drain_gain,
                    _ => 1.0,
                };
                (pacing, config.cwnd_gain)
            }
            Mode::ProbeRtt => (1.0, 1.0),
        }
    }

    /// bbr_init_pacing_rate_from_rtt.
    fn init_pacing_rate(&mut self, rtt: Rtt) {
        if self.has_seen_rtt {
            return;
        }
        self.has_seen_rtt = !rtt.smoothed.is_zero();
        let rtt = if self.has_seen_rtt {
            rtt.smoothed
        } else {
            NOMINAL_RTT
        };
        let bw = self.cwnd as f64 / rtt.as_secs_f64();
        self.pacing_rate = self.config.high_gain * bw * (1.0 - self.config.pacing_margin);
    }

    /// bbr_set_pacing_rate.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw() * (1.0 - self.config.pacing_margin);
        if rate > 0.0 && (self.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// The octets that may leave at once (bbr_tso_segs_goal).
    fn burst(&self) -> u64 {
        let octets = (self.pacing_rate / BURSTS_PER_S).min(LARGEST_BURST) as u64;
        let least = if self.pacing_rate < ONE_PACKET_RATE {
            1
        } else {
            2
        };
        (octets / self.mss).max(least) * self.mss
    }

    /// bbr_bdp.
    fn bdp(&self, bw: f64, gain: f64) -> u64 {
        self.min_rtt.map_or(INITIAL_PACKETS * self.mss, |min_rtt| {
            let packets = gain * bw * min_rtt.as_secs_f64() / self.mss as f64;
            libm::ceil(packets) as u64 * self.mss
        })
    }

    /// bbr_quantization_budget: room for bursts at the sender and the receiver, an even number of
    /// packets, and two more while the path is probed.
    fn with_room(&self, octets: u64) -> u64 {
        let packets = octets.div_ceil(self.mss) + BURSTS_OF_ROOM * self.burst() / self.mss;
        let even = packets.next_multiple_of(2);
        let probing = self.mode == Mode::ProbeBw && self.phase == 0;
        (even + 2 * u64::from(probing)) * self.mss
    }

    /// bbr_inflight.
    fn inflight(&self, bw: f64, gain: f64) -> u64 {
        self.with_room(self.bdp(bw, gain))
    }

    fn cwnd_min(&self) -> u64 {
        self.config.cwnd_min_target * self.mss
    }

    /// bbr_save_cwnd.
    fn save_cwnd(&mut self) {
        let is_reduced = self.recovery != Recovery::None || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if is_reduced {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    /// The recovery or the loss is over: the window is what it was
    /// (bbr_set_cwnd_to_recover_or_restore).
    fn end_recovery(&mut self) {
        self.recovery = Recovery::None;
        self.packet_conservation = false;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// bbr_set_cwnd.
    fn set_cwnd(&mut self, acks: &EndAcks, newly_lost: u64, gain: f64) {
        self.cwnd = self.cwnd.saturating_sub(newly_lost).max(self.mss);
        if let Recovery::Fast(since) | Recovery::Loss(since) = self.recovery
            && acks.newest_sent_at > since
        {
            self.end_recovery();
        }
        self.limit = Limit::SlowStart;
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(acks.bytes_in_flight + acks.newly_acked);
            self.limit = Limit::Recovery;
        } else {
            let target = self.with_room(self.bdp(self.bw(), gain) + self.room_for_aggregation());
            let grown = self.cwnd + acks.newly_acked;
            if self.full_bw_reached {
                self.cwnd = grown.min(target);
                if target <= grown {
                    self.limit = Limit::MaxInflight;
                }
            } else if self.cwnd < target || self.delivered < INITIAL_PACKETS * self.mss {
                self.cwnd = grown;
            }
            if self.cwnd <= self.cwnd_min() {
                self.cwnd = self.cwnd_min();
                self.limit = Limit::MinimumWindow;
            }
        }
        if self.mode == Mode::ProbeRtt && self.cwnd >= self.cwnd_min() {
            self.cwnd = self.cwnd_min();
            self.limit = Limit::ProbeRtt;
        }
    }
}

impl WindowController for Bbr1 {
    fn needs(&self) -> Needs {
        Needs {
            delivery_rate: true,
            end_acks: true,
            window_in_recovery: true,
            filled_window: true,
            // Linux's BBRv1 has no response to marks.
            ecn: Some(EcnCapability::NotEct),
            ..Needs::NONE
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        if !self.has_started {
            self.has_started = true;
            self.min_rtt = (!sent.rtt.min.is_zero()).then_some(sent.rtt.min);
            self.min_rtt_stamp = sent.now;
            self.aggregation.epoch_start = sent.now;
        }
        self.init_pacing_rate(sent.rtt);
        // bbr_cwnd_event, CA_EVENT_TX_START.
        if sent.bytes_in_flight <= sent.bytes && sent.app_limited {
            self.idle_restart = true;
            (self.aggregation.epoch_start, self.aggregation.epoch_acked) = (sent.now, 0);
            match self.mode {
                Mode::ProbeBw => self.set_pacing_rate(1.0),
                Mode::ProbeRtt => self.check_probe_rtt_done(sent.now),
                Mode::Startup | Mode::Drain => {}
            }
        }
        self.bytes_in_flight = sent.bytes_in_flight;
    }

    fn on_ack(&mut self, _: &Acked) {}

    fn on_lost(&mut self, _: &Lost) {}

    fn on_end_acks(&mut self, acks: &EndAcks) -> bool {
        let prior_in_flight = self.bytes_in_flight;
        self.bytes_in_flight = acks.bytes_in_flight;
        self.delivered = acks.rate.total_delivered;
        self.lost += acks.newly_lost;
        self.init_pacing_rate(acks.rtt);
        self.update_bw(acks, acks.newly_lost);
        self.update_aggregation(acks);
        self.update_phase(acks, (prior_in_flight, acks.newly_lost));
        self.check_full_bw(acks);
        self.check_drain(acks);
        self.update_min_rtt(acks);
        let (pacing_gain, cwnd_gain) = self.gains();
        self.set_pacing_rate(pacing_gain);
        if self.persistent_congestion_at == Some(acks.now) {
            self.cwnd = self.window.minimum_window();
            self.limit = Limit::PersistentCongestion;
        } else {
            self.set_cwnd(acks, acks.newly_lost, cwnd_gain);
        }
        self.mode == Mode::ProbeRtt
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent) -> bool {
        let begins = self.period.begins(event);
        if begins && !event.ecn && !matches!(self.recovery, Recovery::Loss(_)) {
            self.save_cwnd();
            self.recovery = Recovery::Fast(event.now);
            self.packet_conservation = true;
            self.rounds.start(self.delivered);
            self.cwnd = event.bytes_in_flight.max(self.mss);
            self.limit = Limit::Recovery;
        }
        begins
    }

    fn on_persistent_congestion(&mut self, now: Instant) {
        self.save_cwnd();
        self.recovery = Recovery::Loss(now);
        self.persistent_congestion_at = Some(now);
        self.cwnd = self.window.minimum_window();
        self.limit = Limit::PersistentCongestion;
    }

    /// bbr_set_state with TCP_CA_Loss.
    fn on_retransmission_timeout(&mut self, timeout: &RetransmissionTimeout) {
        self.save_cwnd();
        self.recovery = Recovery::Loss(timeout.now);
        self.packet_conservation = false;
        self.full_bw = 0.0;
        self.cwnd = self.mss;
        self.limit = Limit::Timeout;
    }

    /// bbr_undo_cwnd.
    fn on_spurious_congestion_event(&mut self, now: Instant) -> bool {
        self.full_bw = 0.0;
        self.full_bw_count = 0;
        self.policer.reset(now, self.delivered, self.lost);
        self.end_recovery();
        true
    }

    fn on_connection_event(&mut self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::HandshakeLoss => self.cwnd = self.mss,
            // Pacing bounds the packets that leave after an idle time.
            ConnectionEvent::IdleRestart => {}
            ConnectionEvent::SlowReceiver => self.full_bw_reached = true,
        }
    }

    fn window(&self) -> u64 {
        self.cwnd
    }

    fn pacing(&self) -> Option<PacingRate> {
        Some(PacingRate {
            rate: Rate::from_bytes_per_sec(self.pacing_rate),
            quantum: Some(self.burst()),
        })
    }

    fn take_recovery_probe(&mut self) -> bool {
        false
    }

    fn report(&self) -> Report {
        let state = match self.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "probe_bw",
            Mode::ProbeRtt => "probe_rtt",
        };
        let sample = self.max_bw.get();
        let policer = self.policer.rate();
        Report {
            ssthresh: self.ssthresh,
            rate_limited_by: Some(if policer.is_some() {
                RateLimit::Path
            } else {
                sample.limited_by
            }),
            model: Some(ModelState {
                max_bw: Rate::from_bytes_per_sec(sample.rate),
                bw_shortterm: policer.map(Rate::from_bytes_per_sec),
                inflight_shortterm: None,
                inflight_longterm: None,
                extra_acked: self.room_for_aggregation(),
                full_bw_count: self.full_bw_count,
            }),
            ..Report::new(state, self.limit)
        }
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        self.mss = octets.max(1);
        self.window.max_datagram_size = self.mss;
        self.cwnd = match self.limit {
            Limit::InitialWindow => self.window.initial_window(),
            _ => self.cwnd.max(self.cwnd_min()),
        };
    }

    fn clone_box(&self) -> BoxedController {
        Box::new(self.clone())
    }
}

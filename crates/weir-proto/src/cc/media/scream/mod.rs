//! SCReAMv2, Self-Clocked Rate Adaptation for Multimedia
//! (draft-ietf-ccwg-rfc8298bis-screamv2): a reference window from losses, marks and queueing delay
//! ([`window`]), from which the target rate of the encoder and the pacing follow ([`rate`]). Octets
//! in flight may exceed the window, up to
//!
//!   send_wnd = ref_wnd · ref_wnd_overhead - bytes_in_flight
//!
//! The window reacts at most once in min(VIRTUAL_RTT, s_rtt), so it needs frequent reports: the
//! draft has one for each frame, or one in 40 ms.
//!
//! Does not model what the draft has as optional: the filter of delay jitter (REDUCE_JITTER), the
//! compensation of clock drift, the policer of link losses, the guard against undershoot, the
//! target delay that rises beside loss-based flows; nor the reordering window, for a packet that a
//! report has as missing is lost. Octets are those of the payload.

mod config;
mod rate;
#[cfg(test)]
mod tests;
mod window;

pub use config::ScreamConfig;

use super::control::{MediaController, PacketOutcome, PacketReport, Report};
use super::loss_events::LossEvents;
use crate::cc::filter::WindowedMin;
use crate::cc::rtt::RttEstimator;
use crate::event::{Limit, MediaState, RateState};
use crate::time::{Duration, Instant};
use crate::units::Rate;
use rate::MediaRate;
use std::collections::VecDeque;
use window::{Feedback, ReferenceWindow};

/// The octets in flight.
#[derive(Clone, Debug, Default)]
struct InFlight {
    /// Numbers and octets of the packets above the highest that was acknowledged.
    packets: VecDeque<(u64, u32)>,
    /// bytes_in_flight.
    octets: u64,
    /// max_bytes_in_flight and max_bytes_in_flight_prev.
    most: [u64; 2],
    /// When the current round trip began.
    round: Instant,
}

impl InFlight {
    fn on_sent(&mut self, sequence: u64, octets: u32) {
        self.packets.push_back((sequence, octets));
        self.octets += u64::from(octets);
        self.most[0] = self.most[0].max(self.octets);
    }

    /// Returns the octets of the packets up to `sequence`, lost ones included.
    fn acknowledge(&mut self, sequence: u64) -> u64 {
        let mut acked = 0;
        while let Some((_, octets)) = self.packets.pop_front_if(|(number, _)| *number <= sequence) {
            acked += u64::from(octets);
        }
        self.octets -= acked;
        acked
    }

    /// Begins a new round trip if one has passed.
    fn renew(&mut self, now: Instant, rtt: Duration) {
        if now.since(self.round) >= rtt {
            self.most = [self.octets, self.most[0]];
            self.round = now;
        }
    }

    fn forget(&mut self) {
        self.packets.clear();
        self.octets = 0;
    }
}

/// The controller of one flow, at the sender.
#[derive(Clone, Debug)]
pub struct Scream {
    config: ScreamConfig,
    window: ReferenceWindow,
    rate: MediaRate,
    in_flight: InFlight,
    rtt: RttEstimator,
    /// The least delay in nanoseconds, with the offset between the two clocks.
    base_delay: WindowedMin<i64>,
    /// qdelay.
    qdelay: Duration,
    /// The shares of lost and of marked packets in the last report.
    loss_ratio: f64,
    loss_events: LossEvents,
    last_report: Option<Instant>,
    /// The rate that the last report acknowledged, in bit/s.
    acked_rate: f64,
    limit: Limit,
}

impl Scream {
    /// A controller before its first packet; `is_l4s` is IS_L4S.
    pub fn new(config: ScreamConfig, is_l4s: bool) -> Self {
        Self {
            window: ReferenceWindow::new(&config, is_l4s),
            rate: MediaRate::new(&config),
            in_flight: InFlight::default(),
            rtt: RttEstimator::default(),
            base_delay: WindowedMin::default(),
            qdelay: Duration::ZERO,
            loss_ratio: 0.0,
            loss_events: LossEvents::default(),
            last_report: None,
            acked_rate: 0.0,
            limit: Limit::MinimumMediaRate,
            config,
        }
    }

    /// The queueing delay of the newest packet, as in RFC 6817 §3.4.2.
    fn measure_qdelay(&mut self, packets: &[PacketReport]) -> Option<Duration> {
        let window = self.config.base_delay_window.as_nanos();
        let mut newest = None;
        for packet in packets {
            let PacketOutcome::Received { at: Some(at), .. } = packet.outcome else {
                continue;
            };
            let [arrival, sent] = [at.as_nanos(), packet.sent.as_nanos()].map(|n| n as i64);
            let delay = arrival.saturating_sub(sent);
            self.base_delay
                .update(window, packet.sent.as_nanos(), delay);
            newest = Some(delay);
        }
        let above = newest?.saturating_sub(self.base_delay.get()).max(0);
        self.qdelay = Duration::from_nanos(above as u64);
        Some(self.qdelay)
    }

    fn clip(&mut self, limit: Limit) {
        let rate = self.rate.target();
        self.limit = if rate >= self.config.max_rate as f64 {
            Limit::MaximumMediaRate
        } else if rate <= self.config.min_rate as f64 {
            Limit::MinimumMediaRate
        } else {
            limit
        };
    }

    fn update_rate(&mut self) {
        if let Some(rtt) = self.rtt.smoothed() {
            self.rate.update(&self.config, self.window.octets(), rtt);
        }
    }
}

impl MediaController for Scream {
    fn on_sent(&mut self, _now: Instant, sequence: u64, bytes: u32) {
        self.in_flight.on_sent(sequence, bytes);
    }

    fn on_frame(&mut self, now: Instant, bytes: u64, waited: Duration) {
        let frame = [bytes as f64, waited.as_secs_f64()];
        self.rate.on_frame(&self.config, now, frame);
    }

    fn on_report(&mut self, report: &Report<'_>) {
        let now = report.now;
        let last = self.last_report.replace(now);
        if let Some(sample) = report.rtt {
            self.rtt.on_sample(now, sample);
        }
        let rtt = self.rtt.smoothed();
        self.loss_events
            .on_report(report.packets, rtt.unwrap_or_default());
        let (mut highest, mut units, mut marked_octets, mut lost) = (None, [0_u64; 2], 0, 0_u64);
        for packet in report.packets {
            match packet.outcome {
                PacketOutcome::Lost => lost += 1,
                PacketOutcome::Received { marked, .. } => {
                    highest = highest.max(Some(packet.sequence));
                    units[0] += 1;
                    units[1] += u64::from(marked);
                    marked_octets += u64::from(marked) * u64::from(packet.bytes);
                }
            }
        }
        self.loss_ratio = lost as f64 / report.packets.len().max(1) as f64;
        let acked = highest.map_or(0, |highest| self.in_flight.acknowledge(highest));
        let since = last.map_or(0.0, |last| now.since(last).as_secs_f64());
        if since > 0.0 {
            self.acked_rate = acked as f64 * 8.0 / since;
        }
        let qdelay = self.measure_qdelay(report.packets);
        let feedback = Feedback {
            now,
            rtt,
            qdelay,
            acked: [acked, marked_octets],
            units,
            is_loss: lost > 0,
            in_flight: self.in_flight.most,
            may_grow: self.rate.target() < self.config.max_rate as f64,
        };
        let limit = self.window.on_report(&self.config, &feedback);
        self.in_flight.renew(now, rtt.unwrap_or_default());
        self.update_rate();
        self.clip(limit.unwrap_or(self.limit));
    }

    // What was in flight counts as lost, so that the window lets packets out again.
    fn on_feedback_timeout(&mut self) {
        self.window.halve(&self.config);
        self.in_flight.forget();
        self.update_rate();
        self.clip(Limit::NofeedbackHalving);
    }

    fn feedback_timeout(&self) -> Duration {
        self.config.feedback_timeout
    }

    // A packet that is larger than the window leaves if nothing is in flight.
    fn may_send(&self, bytes: u32) -> bool {
        let window = self.window.octets() * self.config.window_overhead;
        let octets = self.in_flight.octets;
        octets == 0 || (octets + u64::from(bytes)) as f64 <= window
    }

    fn target_rate(&self, _buffered: u64) -> Rate {
        Rate::from_bps(self.rate.target())
    }

    fn send_rate(&self, _buffered: u64) -> Rate {
        Rate::from_bps(self.rate.pacing(&self.config))
    }

    fn loss_events(&self) -> u64 {
        self.loss_events.count()
    }

    fn count_loss_events_from(&mut self, at: Instant) {
        self.loss_events.count_from(at);
    }

    fn smoothed_rtt(&self) -> Duration {
        self.rtt.get().smoothed
    }

    fn state(&self, buffered: u64, packet_bytes: u32) -> RateState {
        let rtt = self.rtt.get();
        let send_rate = self.send_rate(buffered);
        RateState {
            allowed_rate: self.target_rate(buffered),
            equation_rate: None,
            receive_rate: Rate::from_bps(self.acked_rate),
            loss_event_rate: self.loss_ratio,
            rtt: rtt.latest,
            smoothed_rtt: rtt.smoothed,
            inter_packet_interval: send_rate.time_for(u64::from(packet_bytes)),
            segment_size: packet_bytes,
            state: match self.limit {
                _ if self.last_report.is_none() => "no_feedback_yet",
                Limit::LossReduction | Limit::MarkReduction | Limit::DelayReduction => "decrease",
                _ => "increase",
            },
            limit: self.limit,
            media: Some(MediaState {
                target_rate: self.target_rate(buffered),
                send_rate,
                queue_delay: self.qdelay,
                congestion_signal: Duration::from_secs_f64(self.window.qdelay()),
                marking_ratio: self.window.alpha(),
                buffered_bytes: buffered,
            }),
        }
    }
}

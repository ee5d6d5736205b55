//! What tests of the controllers share.

use super::control::{MediaController, PacketOutcome, PacketReport, Report};
use crate::event::{Limit, MediaState, RateState};
use crate::time::{Duration, Instant};
use crate::units::Rate;
use std::sync::{Arc, Mutex};

pub(super) fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

pub(super) fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1e-3)
}

/// A packet of `bytes` that was sent at this time; `delay` is `None` if it was lost.
pub(super) fn packet_of(bytes: u32, sequence: u64, sent: u64, delay: Option<u64>) -> PacketReport {
    let arrival = delay.map(|delay| Duration::from_millis(sent + delay));
    PacketReport {
        sequence,
        sent: at(sent),
        bytes,
        outcome: arrival.map_or(PacketOutcome::Lost, |arrival| PacketOutcome::Received {
            at: Some(arrival),
            marked: false,
        }),
    }
}

/// A report as a controller got it: when, made when, its sample, and each packet's number, octets,
/// time of arrival in microseconds (`None` if it was lost) and mark.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) now: Instant,
    pub(crate) made_at: Duration,
    pub(crate) rtt: Option<Duration>,
    pub(crate) packets: Vec<(u64, u32, Option<u64>, bool)>,
}

/// A controller with a constant rate that keeps what it is told.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    pub(crate) rate: Rate,
    pub(crate) told: Arc<Mutex<Vec<Told>>>,
    /// Frames with the wait of the first packet, and reports that did not come in time.
    pub(crate) frames: Arc<Mutex<Vec<(u64, Duration)>>>,
    pub(crate) timeouts: Arc<Mutex<u64>>,
}

impl Recorder {
    pub(crate) fn of(bits_per_s: f64) -> Self {
        Self {
            rate: Rate::from_bps(bits_per_s),
            told: Arc::default(),
            frames: Arc::default(),
            timeouts: Arc::default(),
        }
    }

    pub(crate) fn told(&self) -> Vec<Told> {
        self.told.lock().unwrap().clone()
    }
}

impl MediaController for Recorder {
    fn on_sent(&mut self, _now: Instant, _sequence: u64, _bytes: u32) {}

    fn on_frame(&mut self, _now: Instant, bytes: u64, waited: Duration) {
        self.frames.lock().unwrap().push((bytes, waited));
    }

    fn on_report(&mut self, report: &Report<'_>) {
        let packet = |packet: &PacketReport| {
            let (at, marked) = match packet.outcome {
                PacketOutcome::Lost => (None, false),
                PacketOutcome::Received { at, marked } => (at, marked),
            };
            let micros = at.map(Duration::as_micros);
            (packet.sequence, packet.bytes, micros, marked)
        };
        self.told.lock().unwrap().push(Told {
            now: report.now,
            made_at: report.made_at,
            rtt: report.rtt,
            packets: report.packets.iter().map(packet).collect(),
        });
    }

    fn on_feedback_timeout(&mut self) {
        *self.timeouts.lock().unwrap() += 1;
    }

    fn feedback_timeout(&self) -> Duration {
        Duration::from_millis(500)
    }

    fn may_send(&self, _bytes: u32) -> bool {
        true
    }

    fn target_rate(&self, _buffered: u64) -> Rate {
        self.rate
    }

    fn send_rate(&self, _buffered: u64) -> Rate {
        self.rate
    }

    fn loss_events(&self) -> u64 {
        7
    }

    fn count_loss_events_from(&mut self, _at: Instant) {}

    fn smoothed_rtt(&self) -> Duration {
        Duration::ZERO
    }

    fn state(&self, buffered: u64, packet_bytes: u32) -> RateState {
        RateState {
            allowed_rate: self.rate,
            equation_rate: None,
            receive_rate: self.rate,
            loss_event_rate: 0.0,
            rtt: Duration::ZERO,
            smoothed_rtt: Duration::ZERO,
            inter_packet_interval: Duration::ZERO,
            segment_size: packet_bytes,
            state: "recorded",
            limit: Limit::None,
            media: Some(MediaState {
                buffered_bytes: buffered,
                ..MediaState::default()
            }),
        }
    }
}

//! A controller for the tests of transports: it returns the values of a script and logs the
//! transport's calls, a line each with times in milliseconds.

use super::WindowController;
use super::window::BoxedController;
use super::{
    Acked, CongestionEvent, ConnectionEvent, EndAcks, Lost, Needs, PacingRate, Report,
    RetransmissionTimeout, Sent,
};
use crate::event::Limit;
use crate::time::{Duration, Instant};
use crate::units::Rate;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The values that the controller returns, and the log of calls to it.
#[derive(Debug, Default)]
pub struct Script {
    pub window: u64,
    pub ssthresh: Option<u64>,
    /// Rate and quantum.
    pub pacing: Option<(Rate, u64)>,
    pub limits_samples: bool,
    pub acks_in_recovery: bool,
    pub log: Vec<String>,
}

/// The controller; copies share one script.
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Mutex<Script>>);

impl Recorder {
    pub fn of_window(window: u64) -> Self {
        let recorder = Self::default();
        recorder.script().window = window;
        recorder
    }

    pub fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the calls logged since the last call.
    pub fn take_calls(&self) -> Vec<String> {
        std::mem::take(&mut self.script().log)
    }

    /// Like [`take_calls`](Self::take_calls), but returns only the lines that contain `word`.
    pub fn take_calls_of(&self, word: &str) -> Vec<String> {
        let mut lines = self.take_calls();
        lines.retain(|line| line.contains(word));
        lines
    }

    fn note(&self, line: String) {
        self.script().log.push(line);
    }
}

fn ms(at: Instant) -> u64 {
    span(at.since(Instant::ZERO))
}

fn span(time: Duration) -> u64 {
    time.as_micros() / 1000
}

fn flag(is_set: bool, name: &str) -> String {
    if is_set {
        format!(" {name}")
    } else {
        String::new()
    }
}

impl WindowController for Recorder {
    fn needs(&self) -> Needs {
        Needs {
            delivery_rate: true,
            end_acks: true,
            acks_in_recovery: self.script().acks_in_recovery,
            ..Needs::NONE
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.note(format!(
            "{} sent {} of {}{}",
            ms(sent.now),
            sent.bytes,
            sent.bytes_in_flight,
            flag(sent.app_limited, "limited"),
        ));
    }

    fn on_ack(&mut self, acked: &Acked) {
        self.note(format!(
            "{} acked {} of {} from {}{}",
            ms(acked.now),
            acked.bytes,
            acked.bytes_in_flight,
            ms(acked.sent_at),
            flag(acked.app_limited, "limited"),
        ));
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.note(format!(
            "{} lost {} from {}: of {}, {} since, {} delivered{}{}",
            ms(lost.now),
            lost.bytes,
            ms(lost.sent_at),
            lost.tx_in_flight,
            lost.lost_since_sent,
            lost.delivered,
            flag(lost.app_limited, "limited"),
            flag(lost.continues_range, "continues"),
        ));
    }

    fn on_end_acks(&mut self, acks: &EndAcks) -> bool {
        self.note(format!(
            "{} end {} in {}, {} lost, {} marked, {} in flight, newest {}, rtt {:?}, rate {}{}",
            ms(acks.now),
            acks.newly_acked,
            acks.acked_packets,
            acks.newly_lost,
            acks.ecn_ce,
            acks.bytes_in_flight,
            ms(acks.newest_sent_at),
            acks.rtt_sample.map(span),
            acks.rate.delivered,
            flag(acks.rate.app_limited, "limited"),
        ));
        self.script().limits_samples
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent) -> bool {
        self.note(format!(
            "{} event from {}: {} lost, {} in flight, {:?} outstanding{}",
            ms(event.now),
            ms(event.sent_at),
            event.lost_bytes,
            event.bytes_in_flight,
            event.flight_size,
            flag(event.ecn, "ecn"),
        ));
        true
    }

    fn on_persistent_congestion(&mut self, now: Instant) {
        self.note(format!("{} persistent", ms(now)));
    }

    fn on_retransmission_timeout(&mut self, timeout: &RetransmissionTimeout) {
        self.note(format!(
            "{} timeout from {}: {:?} outstanding{}",
            ms(timeout.now),
            ms(timeout.sent_at),
            timeout.flight_size,
            flag(timeout.repeated, "repeated"),
        ));
    }

    fn on_connection_event(&mut self, event: ConnectionEvent) {
        let line = match event {
            ConnectionEvent::IdleRestart => "idle",
            ConnectionEvent::HandshakeLoss => "handshake loss",
            ConnectionEvent::SlowReceiver => "slow start left",
        };
        self.note(line.to_owned());
    }

    fn on_spurious_congestion_event(&mut self, now: Instant) -> bool {
        self.note(format!("{} spurious", ms(now)));
        true
    }

    fn window(&self) -> u64 {
        self.script().window
    }

    fn pacing(&self) -> Option<PacingRate> {
        let pacing = self.script().pacing;
        pacing.map(|(rate, quantum)| PacingRate {
            rate,
            quantum: Some(quantum),
        })
    }

    fn take_recovery_probe(&mut self) -> bool {
        false
    }

    fn report(&self) -> Report {
        Report {
            ssthresh: self.script().ssthresh,
            ..Report::new("scripted", Limit::None)
        }
    }

    fn set_max_datagram_size(&mut self, _: u64) {}

    fn clone_box(&self) -> BoxedController {
        Box::new(self.clone())
    }
}

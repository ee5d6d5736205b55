//! A controller whose windows a module computes: what the calls of a transport are to Linux's TCP.
//!
//! Not known here, and taken as: the acknowledgement's delay (none), the pacer's next time (the
//! present), and packets, which are octets divided by the segment size.

use super::Module;
use super::process::{Answer, Connection, Event, ca_state, kind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use weir_proto::cc::window::{BoxedController, WindowConfig};
use weir_proto::cc::{
    Acked, CongestionEvent, ConnectionEvent, EcnCapability, EndAcks, Lost, Needs, PacingRate,
    Report, RetransmissionTimeout, Rtt, Sent, WindowController,
};
use weir_proto::event::Limit;
use weir_proto::time::{Duration, Instant};
use weir_proto::units::Rate;

/// TCP_INFINITE_SSTHRESH.
const INFINITE_SSTHRESH: i64 = 0x7fff_ffff;
/// The default of sk_pacing_shift: a burst is what the pacing rate sends in 1/1024 s.
const PACING_SHIFT: u32 = 10;
/// The largest burst in octets: GSO_LEGACY_MAX_SIZE less the largest TCP header.
const LARGEST_BURST: i64 = 65_536 - 1 - 320;
/// BBR_UNIT: gains are shares of it.
const BBR_UNIT: i64 = 256;

/// What is known of a connection beside its process.
#[derive(Clone, Copy, Debug)]
struct ConnectionState {
    /// The packet size in octets.
    mss: u64,
    /// The first window in packets.
    initial_window: u64,
    seed: u64,
    rtt: Rtt,
    sent_octets: u64,
    in_flight: u64,
    last_sent: Instant,
    /// The time of the last event.
    now: Instant,
    /// Delivered octets divided by the packet size.
    delivered: u64,
    /// Packets lost since the last acknowledgement.
    losses: i64,
    /// The window limited the sender.
    is_cwnd_limited: bool,
    /// When the last reduction began: what was sent until then belongs to it.
    recovery_start: Option<Instant>,
    /// The transport acknowledged a packet outside of that reduction.
    has_recovered: bool,
    limit: Limit,
    /// The last answer.
    answer: Answer,
}

/// The controller. Its connection begins with the first packet: a receiver has none.
#[derive(Debug)]
pub struct KernelController {
    module: Arc<Module>,
    connection: Option<Connection>,
    known: ConnectionState,
}

impl KernelController {
    pub fn new(module: Arc<Module>, config: &WindowConfig) -> Self {
        let mss = config.max_datagram_size.max(1);
        let initial_window = (config.initial_window() / mss).max(1);
        let known = ConnectionState {
            mss,
            initial_window,
            seed: config.seed,
            rtt: Rtt::default(),
            sent_octets: 0,
            in_flight: 0,
            last_sent: Instant::ZERO,
            now: Instant::ZERO,
            delivered: 0,
            losses: 0,
            is_cwnd_limited: true,
            recovery_start: None,
            has_recovered: false,
            limit: Limit::InitialWindow,
            answer: Answer {
                cwnd: initial_window as i64,
                ssthresh: INFINITE_SSTHRESH,
                ..Answer::default()
            },
        };
        Self {
            module,
            connection: None,
            known,
        }
    }

    /// An event at this time with the fields of the socket.
    fn event(&mut self, kind: i64, now: Instant) -> Event {
        let known = &mut self.known;
        known.now = now;
        let in_flight = known.packets(known.in_flight);
        Event {
            kind,
            now_ns: now.as_nanos() as i64,
            in_flight,
            packets_out: in_flight,
            snd_una: known.sent_octets.saturating_sub(known.in_flight) as i64,
            snd_nxt: known.sent_octets as i64,
            srtt_us: micros(known.rtt.smoothed),
            min_rtt_us: micros(known.rtt.min),
            limited: i64::from(known.is_cwnd_limited),
            rtt_us: -1,
            ..Event::default()
        }
    }

    /// Reports an event and keeps the answer. After a fault the last answer stays.
    fn report_event(&mut self, event: Event) {
        if self.module.health.has_failed.load(Ordering::Relaxed) {
            return;
        }
        let answered = self.connect(&event).and_then(|()| match &self.connection {
            Some(connection) => connection.ask(event).map(Some),
            None => Ok(None),
        });
        match answered {
            Ok(Some(answer)) => self.known.answer = answer,
            Ok(None) => {}
            Err(what) => self.module.fail(&what),
        }
    }

    /// Makes the connection before its first event.
    fn connect(&mut self, first: &Event) -> Result<(), String> {
        if self.connection.is_none() {
            let new = Event {
                kind: kind::NEW,
                now_ns: first.now_ns,
                mss: self.known.mss as i64,
                cwnd: self.known.initial_window as i64,
                seed: self.known.seed as i64,
                ecn: i64::from(self.module.needs_ecn),
                srtt_us: first.srtt_us,
                min_rtt_us: first.min_rtt_us,
                ..Event::default()
            };
            let (connection, _) = self.module.connect(new)?;
            self.connection = Some(connection);
        }
        Ok(())
    }

    /// The reduction is over.
    fn end_recovery(&mut self, now: Instant) {
        self.known.has_recovered = false;
        if self.known.answer.ca_state != ca_state::OPEN {
            let event = self.event(kind::OPEN, now);
            self.report_event(event);
        }
    }

    /// The limit that an acknowledgement leaves.
    fn limit_now(&self) -> Limit {
        let answer = &self.known.answer;
        match (answer.ca_state, self.mode()) {
            (_, Some("probe_rtt")) => Limit::ProbeRtt,
            (ca_state::CWR | ca_state::RECOVERY, _) => Limit::Recovery,
            (_, Some("probe_bw" | "drain")) => Limit::MaxInflight,
            _ if answer.cwnd < answer.ssthresh => Limit::SlowStart,
            _ => Limit::CongestionAvoidance,
        }
    }

    /// The state of BBR, by its gains; `None` for other modules.
    fn mode(&self) -> Option<&'static str> {
        let answer = &self.known.answer;
        match (answer.pacing_gain, answer.cwnd_gain) {
            (0, _) => None,
            (_, BBR_UNIT) => Some("probe_rtt"),
            (gain, _) if gain > 2 * BBR_UNIT => Some("startup"),
            (gain, _) if gain < BBR_UNIT / 2 => Some("drain"),
            _ => Some("probe_bw"),
        }
    }
}

impl ConnectionState {
    /// Octets in flight as packets, the last one perhaps short.
    fn packets(&self, octets: u64) -> i64 {
        octets.div_ceil(self.mss) as i64
    }
}

/// A time in microseconds.
fn micros(time: Duration) -> i64 {
    time.as_micros() as i64
}

impl WindowController for KernelController {
    fn needs(&self) -> Needs {
        let own_control = self.module.own_control;
        Needs {
            delivery_rate: true,
            end_acks: true,
            window_in_recovery: own_control,
            filled_window: own_control,
            ecn: self.module.needs_ecn.then_some(EcnCapability::Ect0),
            ..Needs::NONE
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        let known = &mut self.known;
        known.sent_octets += sent.bytes;
        known.in_flight = sent.bytes_in_flight;
        known.rtt = sent.rtt;
        let last_sent = std::mem::replace(&mut known.last_sent, sent.now);
        // The hooks of Linux see the first packet of a flight only.
        if sent.bytes_in_flight <= sent.bytes || self.connection.is_none() {
            let event = self.event(kind::SENT, sent.now);
            self.report_event(Event {
                last_sent_ns: last_sent.as_nanos() as i64,
                app_limited: i64::from(sent.app_limited),
                ..event
            });
        }
    }

    fn on_ack(&mut self, acked: &Acked) {
        let known = &mut self.known;
        known.is_cwnd_limited = !acked.app_limited;
        known.has_recovered |= known
            .recovery_start
            .is_some_and(|since| acked.sent_at > since);
    }

    fn on_lost(&mut self, _: &Lost) {
        self.known.losses += 1;
    }

    fn on_end_acks(&mut self, acks: &EndAcks) -> bool {
        self.known.rtt = acks.rtt;
        if self.known.has_recovered {
            self.end_recovery(acks.now);
        }
        let known = &mut self.known;
        let prior_in_flight = known.packets(known.in_flight);
        known.in_flight = acks.bytes_in_flight;
        let total = (acks.rate.total_delivered / known.mss).max(known.delivered);
        let acked = total - std::mem::replace(&mut known.delivered, total);
        let prior_delivered = acks.rate.prior_delivered / known.mss;
        let has_rate = acks.rate.delivery_rate.is_some();
        let losses = std::mem::take(&mut known.losses);
        let was_open = known.answer.ca_state == ca_state::OPEN;
        let event = self.event(kind::ACK, acks.now);
        self.report_event(Event {
            acked: acked as i64,
            losses,
            ce: acks.ecn_ce as i64,
            rtt_us: acks.rtt_sample.map_or(-1, micros),
            prior_in_flight,
            delivered: total.saturating_sub(prior_delivered) as i64,
            interval_us: if has_rate {
                micros(acks.rate.interval)
            } else {
                0
            },
            prior_delivered: prior_delivered as i64,
            rs_app_limited: i64::from(acks.rate.app_limited),
            ..event
        });
        let known = &mut self.known;
        // CDG begins a reduction by itself.
        if was_open && known.answer.ca_state != ca_state::OPEN {
            known.recovery_start = Some(acks.now);
        }
        self.known.limit = self.limit_now();
        self.known.answer.app_limited != 0
    }

    fn on_congestion_event(&mut self, congestion: &CongestionEvent) -> bool {
        let known = &self.known;
        let begins = known
            .recovery_start
            .is_none_or(|since| congestion.sent_at > since);
        if begins {
            self.end_recovery(congestion.now);
            self.known.recovery_start = Some(congestion.now);
        }
        // Losses after a mark change the state and not the window.
        let is_after_mark = self.known.answer.ca_state == ca_state::CWR && !congestion.ecn;
        if begins || is_after_mark {
            let kind = if congestion.ecn {
                kind::MARK
            } else {
                kind::LOSS
            };
            let event = self.event(kind, congestion.now);
            let in_flight = self.known.packets(congestion.bytes_in_flight);
            self.report_event(Event {
                in_flight,
                packets_out: in_flight,
                ..event
            });
            self.known.limit = Limit::Recovery;
        }
        begins
    }

    fn on_persistent_congestion(&mut self, now: Instant) {
        self.on_retransmission_timeout(&RetransmissionTimeout {
            now,
            ..RetransmissionTimeout::default()
        });
        self.known.limit = Limit::PersistentCongestion;
    }

    fn on_retransmission_timeout(&mut self, timeout: &RetransmissionTimeout) {
        self.known.recovery_start = Some(timeout.now);
        self.known.has_recovered = false;
        let event = self.event(kind::RTO, timeout.now);
        self.report_event(Event {
            in_flight: 0,
            packets_out: 0,
            repeated: i64::from(timeout.repeated),
            ..event
        });
        self.known.limit = Limit::Timeout;
    }

    fn on_spurious_congestion_event(&mut self, now: Instant) -> bool {
        self.known.recovery_start = None;
        self.known.has_recovered = false;
        let event = self.event(kind::UNDO, now);
        self.report_event(event);
        true
    }

    fn on_connection_event(&mut self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::HandshakeLoss => {
                self.connection = None;
                self.known.initial_window = 1;
                self.known.answer.cwnd = 1;
            }
            ConnectionEvent::IdleRestart if self.connection.is_some() => {
                let cwnd = self.known.initial_window as i64;
                let event = self.event(kind::IDLE, self.known.now);
                self.report_event(Event { cwnd, ..event });
            }
            ConnectionEvent::IdleRestart | ConnectionEvent::SlowReceiver => {}
        }
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        self.known.mss = octets.max(1);
        if self.connection.is_some() {
            let event = self.event(kind::MSS, self.known.now);
            let mss = self.known.mss as i64;
            self.report_event(Event { mss, ..event });
        }
    }

    fn window(&self) -> u64 {
        (self.known.answer.cwnd.max(1) as u64).saturating_mul(self.known.mss)
    }

    fn pacing(&self) -> Option<PacingRate> {
        let answer = &self.known.answer;
        if answer.paced == 0 {
            return None;
        }
        let mss = self.known.mss as i64;
        let burst = (answer.pacing_rate >> PACING_SHIFT).min(LARGEST_BURST) / mss;
        Some(PacingRate {
            rate: Rate::from_bytes_per_sec(answer.pacing_rate as f64),
            quantum: Some(burst.max(answer.burst).max(1).saturating_mul(mss) as u64),
        })
    }

    fn take_recovery_probe(&mut self) -> bool {
        false
    }

    fn report(&self) -> Report {
        let answer = &self.known.answer;
        let state = match answer.ca_state {
            ca_state::CWR | ca_state::RECOVERY => "recovery",
            _ if answer.cwnd < answer.ssthresh => "slow_start",
            _ => "congestion_avoidance",
        };
        let is_finite = answer.ssthresh < INFINITE_SSTHRESH;
        let mss = self.known.mss;
        Report {
            ssthresh: is_finite.then(|| (answer.ssthresh.max(0) as u64).saturating_mul(mss)),
            ..Report::new(self.mode().unwrap_or(state), self.known.limit)
        }
    }

    fn clone_box(&self) -> BoxedController {
        let has_failed = self.module.health.has_failed.load(Ordering::Relaxed);
        let connection = self.connection.as_ref().filter(|_| !has_failed);
        let copied = connection.map(Connection::copy).transpose();
        let connection = copied.unwrap_or_else(|what| {
            self.module.fail(&what);
            None
        });
        Box::new(Self {
            module: Arc::clone(&self.module),
            connection,
            known: self.known,
        })
    }
}

//! The published loopback experiment without a simulator: writes of 22 octets every 97.78 ms over a
//! path with a round-trip time of 50 µs, of which the sender measures only 3 µs.

use super::{Ccid3Receiver, Ccid3Sender};
use crate::cc::tfrc::Profile;
use crate::dccp::ccid::{CcidReceiver, CcidSender, SendTime};
use crate::dccp::wire::{Options, Packet, PacketType, SeqNum};
use crate::event::{Event, EventMask, Events, Limit, RateState};
use crate::packet::{Ecn, Payload};
use crate::time::{Duration, Instant};

const PAYLOAD: u32 = 22;
const LINES: u64 = 93;

/// The path and the delays of the host.
struct Path {
    handshake: Duration,
    /// From handing over to the recorded time of sending.
    stamp: Duration,
    /// From handing over to the arrival at the receiver.
    forward: Duration,
    /// From handing over to the arrival of the feedback.
    turn_around: Duration,
}

const LOOPBACK: Path = Path {
    handshake: Duration::from_micros(63),
    stamp: Duration::from_micros(47),
    forward: Duration::from_micros(20),
    turn_around: Duration::from_micros(50),
};

/// One line of dccp_probe: the state at a write.
#[derive(Clone, Copy, Debug)]
struct Line {
    at: Instant,
    state: RateState,
}

struct Run {
    sender: Ccid3Sender,
    receiver: Ccid3Receiver,
    events: Events,
    seq: SeqNum,
    queued: u32,
    state: Option<RateState>,
    path: Path,
}

impl Run {
    fn new(profile: &Profile, path: Path) -> Self {
        let mut events = Events::default();
        events.set_mask(EventMask::CONTROLLER);
        let mut sender = Ccid3Sender::new(profile.clone(), 16_436);
        sender.on_handshake_rtt(Instant::ZERO, path.handshake);
        Self {
            sender,
            receiver: Ccid3Receiver::new(profile.clone()),
            events,
            seq: SeqNum::new(1),
            queued: 0,
            state: None,
            path,
        }
    }

    fn observe(&mut self) {
        for (_, event) in self.events.drain() {
            if let Event::Rate(state) = event {
                self.state = Some(state);
            }
        }
    }

    /// Sends the packets that may leave; returns the next time to try again.
    fn send(&mut self, now: Instant) -> Option<Instant> {
        while self.queued > 0 {
            if let SendTime::At(at) = self.sender.send_time(now, PAYLOAD) {
                return Some(at);
            }
            self.queued -= 1;
            let mut packet = Packet::data(self.seq, Payload::of_len(PAYLOAD));
            self.seq = self.seq.next();
            self.sender.on_handover(now, &mut packet, &mut self.events);
            self.deliver(now, &packet);
        }
        None
    }

    /// Delivers a packet to the receiver and its feedback to the sender, without other events in
    /// between.
    fn deliver(&mut self, now: Instant, packet: &Packet) {
        self.receiver.on_packet(
            now + self.path.forward,
            packet,
            Ecn::NotEct,
            &mut Events::default(),
        );
        self.sender
            .on_transmitted(now + self.path.stamp, packet.seq);
        let arrived = now + self.path.forward;
        if self.receiver.wants_ack(arrived) {
            let mut options = Options::new();
            self.receiver
                .on_ack_sent(arrived, SeqNum::default(), PacketType::Ack, &mut options);
            let mut ack = Packet::new_ack(SeqNum::new(1), packet.seq);
            ack.options = options;
            let back = now + self.path.turn_around;
            self.sender.on_ack(back, &ack, &mut self.events);
        }
    }

    fn lines(mut self) -> Vec<Line> {
        let write = |k: u64| {
            Instant::ZERO + Duration::from_micros(43_800) + Duration::from_micros(97_780) * k
        };
        let mut lines = Vec::new();
        let mut retry: Option<Instant> = None;
        for k in 0..LINES {
            let at = write(k);
            loop {
                let timer = self.sender.poll_timeout();
                let due = [timer, retry].into_iter().flatten().min();
                let Some(due) = due.filter(|due| *due <= at) else {
                    break;
                };
                if retry == Some(due) {
                    retry = self.send(due);
                } else {
                    self.sender.handle_timeout(due, &mut self.events);
                }
                self.observe();
            }
            self.sender.on_write(at, PAYLOAD, &mut self.events);
            self.observe();
            lines.push(Line {
                at,
                state: self.state.expect("the sender has traced its state"),
            });
            self.queued += 1;
            retry = self.send(at);
            self.observe();
        }
        lines
    }
}

fn lines(profile: &Profile, path: Path) -> Vec<Line> {
    Run::new(profile, path).lines()
}

fn mbps(line: &Line) -> f64 {
    line.state.allowed_rate.as_bps() / 1e6
}

fn close(measured: f64, published: f64, tolerance: f64) {
    assert!(
        (measured - published).abs() <= tolerance,
        "{measured} is not {published}"
    );
}

#[test]
fn the_round_trip_time_falls_in_24_steps() {
    let lines = lines(&Profile::linux_2008(), LOOPBACK);
    let micros: Vec<u64> = lines
        .iter()
        .map(|line| line.state.smoothed_rtt.as_micros())
        .collect();
    let golden = [
        63, 57, 51, 46, 41, 37, 33, 30, 27, 24, 21, 19, 17, 15, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3,
    ];
    assert_eq!(micros[..25], golden);
    assert!(micros[25..].iter().all(|rtt| *rtt == 3));
}

#[test]
fn the_rate_climbs_to_its_published_peak() {
    let lines = lines(&Profile::linux_2008(), LOOPBACK);
    for (k, published) in [
        (0, 11.17),
        (1, 12.35),
        (2, 3.45),
        (8, 6.52),
        (9, 13.04),
        (10, 26.07),
        (11, 37.05),
        (24, 234.67),
    ] {
        close(mbps(&lines[k]), published, 0.006);
    }
    // s/R until 0.826 s, W_init/R from 1.022 s on.
    for (k, line) in lines.iter().enumerate().take(25).skip(1) {
        let rtt = line.state.smoothed_rtt.as_secs_f64();
        let packets = mbps(line) * 1e6 * rtt / (8.0 * f64::from(PAYLOAD));
        let (per_rtt, limit) = match k {
            2..=8 => (1.0, Limit::OnePacketPerRtt),
            9 => (24.0 / 27.0 * 2.0, Limit::SlowStart),
            10 => (21.0 / 27.0 * 4.0, Limit::SlowStart),
            // The rule for the first feedback, and from line 11 on the rule for idle senders.
            _ => (4.0, Limit::InitialWindow),
        };
        close(packets, per_rtt, 0.001);
        assert_eq!(line.state.limit, limit, "line {k}");
    }
    close(lines[8].at.as_secs_f64(), 0.826, 0.001);
    close(lines[10].at.as_secs_f64(), 1.022, 0.001);
    close(lines[24].at.as_secs_f64(), 2.391, 0.001);
    assert_eq!(lines[24].state.inter_packet_interval, Duration::ZERO);
}

#[test]
fn without_feedback_the_rate_falls_to_its_minimum() {
    let lines = lines(&Profile::linux_2008(), LOOPBACK);
    for (k, published) in [(25, 117.33), (26, 58.67), (27, 29.33)] {
        close(mbps(&lines[k]), published, 0.01);
        assert_eq!(lines[k].state.limit, Limit::NofeedbackHalving);
    }
    close(lines[27].at.as_secs_f64(), 2.684, 0.001);
    let kbps: Vec<f64> = lines.iter().map(|line| mbps(line) * 1e3).collect();
    let at = |value: f64| kbps.iter().position(|rate| (rate - value).abs() < 0.01);
    // The sixteenth and seventeenth halvings; s/X exceeds 50 ms and lengthens the timer.
    let (sixteenth, seventeenth) = (at(3.58), at(1.79));
    close(lines[sixteenth.expect("3.58")].at.as_secs_f64(), 3.95, 0.05);
    close(
        lines[seventeenth.expect("1.79")].at.as_secs_f64(),
        4.05,
        0.05,
    );
    let after = &kbps[seventeenth.expect("1.79")..];
    let repeats = after.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(repeats > after.len() / 2, "{repeats} of {}", after.len());
    let last = kbps.last().copied().unwrap_or_default();
    assert!((0.00275..0.2).contains(&last), "{last}");
}

#[test]
fn statistics_are_the_published_ones() {
    let lines = lines(&Profile::linux_2008(), LOOPBACK);
    let statistics = |values: Vec<f64>| {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        (mean, (squares / (n - 1.0)).sqrt())
    };
    let micros = |line: &Line| line.state.smoothed_rtt.as_micros() as f64;
    let (mean, deviation) = statistics(lines.iter().map(micros).collect());
    close(mean, 8.3, 0.05);
    close(deviation, 12.5, 0.1);
    let received = |line: &Line| line.state.receive_rate.as_bytes_per_sec();
    let (mean, deviation) = statistics(lines.iter().map(received).collect());
    close(mean, 219.0, 1.0);
    close(deviation, 32.5, 0.2);
}

#[test]
fn a_minimum_round_trip_time_of_4_microseconds_keeps_the_rate() {
    let profile = Profile {
        rtt_min: Duration::from_micros(4),
        ..Profile::linux_2008()
    };
    let lines = lines(&profile, LOOPBACK);
    let last = lines.last().expect("lines");
    assert_eq!(last.state.smoothed_rtt.as_micros(), 4);
    for line in &lines[30..] {
        close(mbps(line), 176.0, 0.01);
        assert_eq!(line.state.limit, Limit::InitialWindow);
    }
}

#[test]
fn a_longer_path_keeps_the_rate() {
    for millis in [1, 2] {
        let rtt = Duration::from_millis(millis);
        let path = Path {
            handshake: rtt,
            stamp: Duration::from_micros(47),
            forward: rtt / 2,
            turn_around: rtt + Duration::from_micros(50),
        };
        let lines = lines(&Profile::linux_2008(), path);
        for line in &lines[2..] {
            assert!(line.state.smoothed_rtt >= rtt - Duration::from_micros(10));
            assert!(mbps(line) * 1e6 >= 176.0 / rtt.as_secs_f64() * 0.99);
            assert_ne!(line.state.limit, Limit::NofeedbackHalving);
        }
    }
}

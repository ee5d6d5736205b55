//! Two ends of a DCCP connection over a path with a bottleneck: the negotiated CCIDs and their
//! throughput.

use std::collections::VecDeque;
use weir_proto::cc::tfrc::{Oscillation, Profile};
use weir_proto::dccp::{Ccid, Config, Connection, State};
use weir_proto::endpoint::{Endpoint, WriteError};
use weir_proto::packet::{Body, HostId, Packet, Payload};
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// Octets of payload that the application writes.
const PIECE: u32 = 1000;

/// A link with a drop-tail queue.
struct Line {
    bits_per_second: u64,
    delay: Duration,
    limit: usize,
    loss: f64,
    /// Of packets without data.
    ack_loss: f64,
    rng: Rng,
    free_at: Instant,
    leaving: VecDeque<Instant>,
    wire: VecDeque<(Instant, Packet)>,
}

impl Line {
    fn send(&mut self, now: Instant, packet: Packet) {
        while self.leaving.front().is_some_and(|&at| at <= now) {
            self.leaving.pop_front();
        }
        let Body::Dccp(body) = &packet.body else {
            return;
        };
        let loss = if body.kind.carries_data() {
            self.loss
        } else {
            self.ack_loss
        };
        let lost = loss > 0.0 && self.rng.chance(loss);
        if lost || self.leaving.len() >= self.limit {
            return;
        }
        let nanos = u64::from(packet.size) * 8 * 1_000_000_000 / self.bits_per_second;
        self.free_at = self.free_at.max(now) + Duration::from_nanos(nanos);
        self.leaving.push_back(self.free_at);
        self.wire.push_back((self.free_at + self.delay, packet));
    }
}

struct Path {
    now: Instant,
    ends: [Connection; 2],
    lines: [Line; 2],
    /// The ends that write as much as possible.
    greedy: [bool; 2],
    delivered: [u64; 2],
}

impl Path {
    fn new(configs: [Config; 2], bits_per_second: u64, delay: Duration, loss: f64) -> Self {
        let [client, server] = configs;
        let line = |name| Line {
            bits_per_second,
            delay,
            limit: 50,
            loss,
            ack_loss: 0.0,
            rng: Rng::stream(7, name),
            free_at: Instant::from_nanos(0),
            leaving: VecDeque::new(),
            wire: VecDeque::new(),
        };
        let mut path = Self {
            now: Instant::from_nanos(1_000_000),
            ends: [Connection::client(client), Connection::server(server)],
            lines: [line("there"), line("back")],
            greedy: [true, false],
            delivered: [0; 2],
        };
        path.ends[0].connect(path.now);
        path
    }

    fn settle(&mut self) {
        loop {
            let mut quiet = true;
            for end in 0..2 {
                while self.greedy[end] {
                    match self.ends[end].write(self.now, Payload::of_len(PIECE)) {
                        Ok(()) => quiet = false,
                        Err(WriteError::Blocked | WriteError::Closed) => break,
                        Err(error) => panic!("{error:?}"),
                    }
                }
                while let Some(packet) = self.ends[end].poll_transmit(self.now) {
                    quiet = false;
                    self.ends[end].transmitted(self.now, packet.id);
                    self.lines[end].send(self.now, packet);
                }
                while self.ends[end].poll_event().is_some() {}
                while let Some(piece) = self.ends[end].read(self.now) {
                    self.delivered[end] += u64::from(piece.len());
                }
            }
            if quiet {
                return;
            }
        }
    }

    fn run(&mut self, span: Duration) {
        let until = self.now + span;
        self.settle();
        loop {
            let arrivals = self
                .lines
                .iter()
                .filter_map(|line| line.wire.front().map(|(at, _)| *at));
            let timers = self.ends.iter().filter_map(Endpoint::poll_timeout);
            let next = arrivals.chain(timers).min().unwrap_or(Instant::FAR_FUTURE);
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            for end in 0..2 {
                if self.ends[end].poll_timeout().is_some_and(|at| at <= next) {
                    self.ends[end].handle_timeout(next);
                }
                while let Some((_, mut packet)) =
                    self.lines[1 - end].wire.pop_front_if(|(at, _)| *at <= next)
                {
                    self.ends[end].handle(next, &mut packet);
                }
            }
            self.settle();
        }
    }
}

fn configs(change: impl Fn(usize, &mut Config)) -> [Config; 2] {
    [0, 1].map(|end| {
        let mut config = Config {
            local: HostId(end as u32),
            remote: HostId(1 - end as u32),
            initial_sequence: 1000 * (end as u64 + 1),
            ..Config::default()
        };
        change(end, &mut config);
        config
    })
}

fn tfrc(profile: Profile) -> Ccid {
    Ccid::Tfrc(Box::new(profile))
}

/// Every pair of CCIDs, one for each direction, carries data both ways.
#[test]
fn each_direction_has_its_own_ccid() {
    for (there, back) in [(2, 2), (2, 3), (3, 2), (3, 3)] {
        let ccid = |number| {
            if number == 2 {
                Ccid::TcpLike
            } else {
                tfrc(Profile::rfc5348())
            }
        };
        let configs = configs(|end, config| {
            let [send, receive] = if end == 0 {
                [there, back]
            } else {
                [back, there]
            };
            config.send_ccid = ccid(send);
            config.receive_ccid = ccid(receive);
        });
        let mut path = Path::new(configs, 2_000_000, Duration::from_millis(10), 0.0);
        path.greedy = [true, true];
        path.run(Duration::from_secs(100));
        for end in 0..2 {
            let share = path.delivered[end] as f64 * 8.0 / 100.0 / 2e6;
            // Acknowledgements queue behind the data of the other direction, so neither direction
            // uses all of its link.
            assert!(
                share > 0.4,
                "{there} there, {back} back, end {end}: {share}"
            );
        }
    }
}

/// The ends require different CCIDs for both directions: each falls back to CCID 2.
#[test]
fn without_agreement_both_use_ccid_2() {
    let configs = configs(|end, config| {
        if end == 0 {
            config.send_ccid = tfrc(Profile::rfc5348());
            config.receive_ccid = tfrc(Profile::rfc5348());
        }
    });
    let mut path = Path::new(configs, 2_000_000, Duration::from_millis(10), 0.0);
    path.greedy = [true, true];
    path.run(Duration::from_secs(10));
    assert_eq!(
        path.ends.each_ref().map(Connection::state),
        [State::Open; 2]
    );
    assert!(
        path.delivered.iter().all(|&octets| octets > 1_000_000),
        "{:?}",
        path.delivered
    );
}

/// RFC 4341 §6.1: lost acknowledgements raise the Ack Ratio, which feature negotiation tells the
/// receiver; it then acknowledges more rarely.
#[test]
fn a_receiver_of_ccid_2_follows_the_ack_ratio_that_its_sender_announces() {
    let data_packets_per_ack = |ack_loss| {
        let configs = configs(|_, config| {
            config.send_ccid = Ccid::TcpLike;
            config.receive_ccid = Ccid::TcpLike;
        });
        let mut path = Path::new(configs, 10_000_000, Duration::from_millis(20), 0.0);
        path.run(Duration::from_secs(1));
        path.lines[1].ack_loss = ack_loss;
        path.run(Duration::from_secs(10));
        let counts = |path: &Path| path.ends[1].statistics();
        let before = counts(&path);
        path.run(Duration::from_secs(10));
        let after = counts(&path);
        let data = after.data_packets_received - before.data_packets_received;
        data as f64 / (after.packets_sent - before.packets_sent) as f64
    };
    let (clean, lossy) = (data_packets_per_ack(0.0), data_packets_per_ack(0.1));
    assert!((1.8..2.2).contains(&clean), "{clean}");
    assert!(lossy > 4.0, "{lossy}");
}

#[test]
fn ccid_3_fills_a_bottleneck() {
    for (name, profile) in [
        ("rfc5348", Profile::rfc5348()),
        ("linux-mainline", Profile::linux_mainline()),
    ] {
        let configs = configs(|_, config| {
            config.send_ccid = tfrc(profile.clone());
            config.receive_ccid = tfrc(profile.clone());
        });
        let mut path = Path::new(configs, 10_000_000, Duration::from_millis(10), 0.0);
        path.run(Duration::from_secs(10));
        let before = path.delivered[1];
        path.run(Duration::from_secs(60));
        let share = (path.delivered[1] - before) as f64 * 8.0 / 60.0 / 1e7;
        assert!(share >= 0.8, "{name}: {share}");
    }
}

/// RFC 5348 §3.1 with t_RTO = 4 R, b = 1, in octets per second.
fn equation(p: f64, rtt: f64) -> f64 {
    let loss = (2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    f64::from(PIECE) / (rtt * loss)
}

#[test]
fn ccid_3_has_the_throughput_of_the_equation() {
    let profile = Profile {
        oscillation: Oscillation::Off,
        ..Profile::rfc5348()
    };
    for loss in [0.005, 0.01, 0.02, 0.05] {
        let configs = configs(|_, config| {
            config.send_ccid = tfrc(profile.clone());
            config.receive_ccid = tfrc(profile.clone());
        });
        let mut path = Path::new(configs, 1_000_000_000, Duration::from_millis(50), loss);
        path.run(Duration::from_secs(60));
        let [before, events] = [
            path.ends[0].statistics().data_packets_sent,
            path.ends[1].statistics().loss_events,
        ];
        path.run(Duration::from_secs(2000));
        let sent = (path.ends[0].statistics().data_packets_sent - before) as f64;
        let events = (path.ends[1].statistics().loss_events - events) as f64;
        let rate = sent * f64::from(PIECE) / 2000.0;
        let ratio = rate / equation(events / sent, 0.1);
        assert!((0.9..1.1).contains(&ratio), "loss {loss}: {ratio}");
    }
}

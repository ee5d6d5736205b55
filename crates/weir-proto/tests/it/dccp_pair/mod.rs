//! Two ends of a DCCP connection with a link each way between them.

mod bottleneck;
mod endings;
mod injection;
mod send_times;

use std::collections::VecDeque;
use weir_proto::cc::tfrc::Profile;
use weir_proto::dccp::{Ccid, Config, Connection, State, wire::PacketType};
use weir_proto::endpoint::{CloseReason, Endpoint, EndpointEvent, WriteError};
use weir_proto::packet::{Body, Ecn, HostId, Packet, Payload};
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

const ONE_WAY: Duration = Duration::from_millis(10);

/// Returns true if a packet of an end is lost; may change the packet.
type Drops = Box<dyn FnMut(usize, &mut Packet) -> bool>;

/// One direction of the path.
struct Link {
    delay: Duration,
    /// Its rate in bits per second, and the packets that its queue holds; `None` without a queue.
    queue: Option<(u64, usize)>,
    free_at: Instant,
    leaving: VecDeque<Instant>,
    wire: VecDeque<(Instant, Packet)>,
}

impl Link {
    fn new(delay: Duration, queue: Option<(u64, usize)>) -> Self {
        Self {
            delay,
            queue,
            free_at: Instant::ZERO,
            leaving: VecDeque::new(),
            wire: VecDeque::new(),
        }
    }

    fn send(&mut self, now: Instant, packet: Packet) {
        let mut left = now;
        if let Some((rate_bps, limit)) = self.queue {
            while self.leaving.pop_front_if(|at| *at <= now).is_some() {}
            if self.leaving.len() >= limit {
                return;
            }
            let nanos = u64::from(packet.size) * 8 * 1_000_000_000 / rate_bps;
            self.free_at = self.free_at.max(now) + Duration::from_nanos(nanos);
            self.leaving.push_back(self.free_at);
            left = self.free_at;
        }
        self.wire.push_back((left + self.delay, packet));
    }
}

struct Pair {
    now: Instant,
    ends: [Connection; 2],
    links: [Link; 2],
    drops: Drops,
    log: Vec<(usize, PacketType)>,
    /// The times of sending of the packets in the log.
    sent_at: Vec<Instant>,
    news: [Vec<EndpointEvent>; 2],
    delivered: Vec<u32>,
    /// Octets that each end has read.
    octets: [u64; 2],
    to_write: VecDeque<u32>,
    /// The ends that write pieces of this size as fast as they can.
    greedy: [Option<u32>; 2],
}

fn config(local: u32, remote: u32) -> Config {
    Config {
        local: HostId(local),
        remote: HostId(remote),
        initial_sequence: u64::from(local) * 1_000_000 + (1 << 48) - 1_000_050,
        ..Config::default()
    }
}

impl Pair {
    fn new(change: impl Fn(&mut Config)) -> Self {
        let mut configs = [config(0, 1), config(1, 0)];
        configs.iter_mut().for_each(&change);
        Self::over([(); 2].map(|()| Link::new(ONE_WAY, None)), configs)
    }

    fn over(links: [Link; 2], [client, server]: [Config; 2]) -> Self {
        Self {
            now: Instant::from_nanos(1_000_000),
            ends: [Connection::client(client), Connection::server(server)],
            links,
            drops: Box::new(|_, _| false),
            log: Vec::new(),
            sent_at: Vec::new(),
            news: Default::default(),
            delivered: Vec::new(),
            octets: [0; 2],
            to_write: VecDeque::new(),
            greedy: [None; 2],
        }
    }

    fn connected() -> Self {
        let mut pair = Self::new(|_| ());
        pair.ends[0].connect(pair.now);
        pair.run(Duration::from_millis(500));
        assert_eq!(pair.states(), [State::Open, State::Open]);
        pair
    }

    fn states(&self) -> [State; 2] {
        [self.ends[0].state(), self.ends[1].state()]
    }

    fn flush(&mut self) {
        loop {
            let mut quiet = true;
            while let Some(&len) = self.to_write.front() {
                match self.ends[0].write(self.now, Payload::of_len(len)) {
                    Ok(()) => {
                        self.to_write.pop_front();
                    }
                    Err(WriteError::Blocked | WriteError::Closed) => break,
                    Err(error) => panic!("{error:?}"),
                }
            }
            for end in 0..2 {
                while let Some(len) = self.greedy[end] {
                    match self.ends[end].write(self.now, Payload::of_len(len)) {
                        Ok(()) => quiet = false,
                        Err(WriteError::Blocked | WriteError::Closed) => break,
                        Err(error) => panic!("{error:?}"),
                    }
                }
                while let Some(mut packet) = self.ends[end].poll_transmit(self.now) {
                    quiet = false;
                    self.ends[end].transmitted(self.now, packet.id);
                    let Body::Dccp(body) = &packet.body else {
                        panic!()
                    };
                    self.log.push((end, body.kind));
                    self.sent_at.push(self.now);
                    if !(self.drops)(end, &mut packet) {
                        self.links[end].send(self.now, packet);
                    }
                }
                while let Some(news) = self.ends[end].poll_event() {
                    quiet = false;
                    self.news[end].push(news);
                }
                while let Some(piece) = self.ends[end].read(self.now) {
                    self.delivered.push(piece.len());
                    self.octets[end] += u64::from(piece.len());
                }
            }
            if quiet {
                return;
            }
        }
    }

    fn run(&mut self, span: Duration) {
        let until = self.now + span;
        self.flush();
        while self.go_to_next_event(until) {
            self.process_events();
        }
    }

    /// Advances to the next event, if it occurs by then; false without an event.
    fn go_to_next_event(&mut self, until: Instant) -> bool {
        let first = |link: &Link| link.wire.front().map(|(at, _)| *at);
        let arrivals = self.links.iter().filter_map(first);
        let timers = self.ends.iter().filter_map(Endpoint::poll_timeout);
        let next = arrivals.chain(timers).min().unwrap_or(Instant::FAR_FUTURE);
        if next > until {
            self.now = until;
            return false;
        }
        assert!(next >= self.now, "a timer in the past");
        self.now = next;
        true
    }

    /// Processes the events that are due now.
    fn process_events(&mut self) {
        let next = self.now;
        for end in 0..2 {
            if self.ends[end].poll_timeout().is_some_and(|at| at <= next) {
                self.ends[end].handle_timeout(next);
            }
            let wire = &mut self.links[end].wire;
            while let Some((_, mut packet)) = wire.pop_front_if(|(at, _)| *at <= next) {
                self.ends[1 - end].handle(next, &mut packet);
            }
        }
        self.flush();
    }
}

#[test]
fn opens_with_request_response_ack() {
    use PacketType::{Ack, Request, Response};
    let mut pair = Pair::new(|_| ());
    pair.ends[0].connect(pair.now);
    pair.run(Duration::from_millis(35));
    assert_eq!(pair.log[..3], [(0, Request), (1, Response), (0, Ack)]);
    assert_eq!(pair.states(), [State::PartOpen, State::Open]);
    assert_eq!(
        pair.news,
        [[EndpointEvent::Connected], [EndpointEvent::Connected]]
    );
}

#[test]
fn the_first_data_acknowledges_and_opens_both_sides() {
    let mut pair = Pair::new(|_| ());
    pair.ends[0].connect(pair.now);
    pair.run(Duration::from_millis(21));
    pair.to_write.push_back(100);
    pair.run(Duration::from_millis(500));
    assert_eq!(pair.log[3], (0, PacketType::DataAck));
    assert_eq!(pair.delivered, [100]);
    assert_eq!(pair.states(), [State::Open, State::Open]);
}

#[test]
fn a_lost_request_is_repeated_after_one_second_until_the_timeout() {
    let mut pair = Pair::new(|_| ());
    pair.drops = Box::new(|_, _| true);
    pair.ends[0].connect(pair.now);
    pair.run(Duration::from_millis(999));
    assert_eq!(pair.log.len(), 1);
    pair.run(Duration::from_millis(2));
    assert_eq!(pair.log.len(), 2);
    pair.run(Duration::from_secs(300));
    assert_eq!(pair.news[0], [EndpointEvent::Closed(CloseReason::TimedOut)]);
    assert_eq!(pair.states()[0], State::Closed);
}

#[test]
fn the_client_closes_and_waits() {
    let mut pair = Pair::connected();
    pair.ends[0].close(pair.now);
    pair.run(Duration::from_secs(1));
    assert_eq!(pair.states(), [State::TimeWait, State::Closed]);
    assert_eq!(
        pair.news[0].last(),
        Some(&EndpointEvent::Closed(CloseReason::Finished))
    );
    assert_eq!(
        pair.news[1].last(),
        Some(&EndpointEvent::Closed(CloseReason::Finished))
    );
    pair.run(Duration::from_secs(240));
    assert_eq!(pair.states()[0], State::Closed);
}

#[test]
fn the_server_asks_the_client_to_close() {
    let mut pair = Pair::connected();
    pair.ends[1].close(pair.now);
    pair.run(Duration::from_secs(1));
    assert!(pair.log.contains(&(1, PacketType::CloseReq)));
    assert_eq!(pair.states(), [State::TimeWait, State::Closed]);
}

#[test]
fn a_peer_that_does_not_receive_is_reset() {
    let mut pair = Pair::connected();
    pair.drops = Box::new(|end, _| end == 1);
    pair.ends[0].close(pair.now);
    pair.run(Duration::from_secs(600));
    assert_eq!(pair.states()[0], State::Closed);
    assert_eq!(
        pair.news[0].last(),
        Some(&EndpointEvent::Closed(CloseReason::TimedOut))
    );
}

#[test]
fn a_wrong_service_is_refused() {
    let mut pair = Pair::new(|config| config.service_code = config.local.0);
    pair.ends[0].connect(pair.now);
    pair.run(Duration::from_secs(1));
    assert_eq!(pair.news[0], [EndpointEvent::Closed(CloseReason::Reset(8))]);
    assert_eq!(pair.states()[1], State::Listen);
}

#[test]
fn delivers_each_packet_once_across_the_wrap_of_numbers() {
    for (loss, short) in [(0.0, false), (0.02, false), (0.02, true)] {
        let mut pair = Pair::new(|config| config.short_sequence_numbers = short);
        let mut rng = Rng::stream(1, "loss");
        pair.drops = Box::new(move |_, packet| {
            let Body::Dccp(body) = &packet.body else {
                panic!()
            };
            body.kind == PacketType::Data && rng.chance(loss)
        });
        pair.ends[0].connect(pair.now);
        pair.to_write.extend((0..5000_u32).map(|n| 100 + n % 1000));
        pair.run(Duration::from_secs(600));
        assert!(pair.to_write.is_empty());
        let share = pair.delivered.len() as f64 / 5000.0;
        assert!((share - (1.0 - loss)).abs() < 0.01, "{share} {loss}");
        if loss == 0.0 {
            assert!(
                pair.delivered
                    .iter()
                    .enumerate()
                    .all(|(n, &len)| len == 100 + n as u32 % 1000)
            );
        }
        let statistics = pair.ends[0].statistics();
        let found = statistics.packets_lost as f64 / 5000.0;
        assert!((found - loss).abs() < 0.012, "lost {found} of {loss}");
    }
}

#[test]
fn ccid_2_keeps_its_window_below_the_model_of_its_loss_rate() {
    // sqrt(3/2p) packets per round trip without timeouts: 12.2 packets in 20 ms at 1 %.
    let mut pair = Pair::new(|config| config.ack_ratio = 1);
    let mut rng = Rng::stream(2, "loss");
    pair.drops = Box::new(move |_, packet| {
        let Body::Dccp(body) = &packet.body else {
            panic!()
        };
        body.kind == PacketType::Data && rng.chance(0.01)
    });
    pair.ends[0].connect(pair.now);
    pair.to_write.extend(std::iter::repeat_n(1000, 200_000));
    pair.run(Duration::from_secs(100));
    let per_round_trip = pair.delivered.len() as f64 / 100.0 * 0.02;
    assert!((9.0..14.0).contains(&per_round_trip), "{per_round_trip}");
}

/// The packets that arrive in ten seconds without loss from a sender of nonces; `known` if the
/// receiver can read them.
fn delivered_with_nonces(ccid: &Ccid, known: bool) -> usize {
    let mut pair = Pair::new(|config| {
        (config.ecn, config.ecn_nonces, config.nonce_seed) = (true, true, 3);
        (config.send_ccid, config.receive_ccid) = (ccid.clone(), ccid.clone());
    });
    pair.drops = Box::new(move |end, packet| {
        if end == 0 && !known && packet.ip.ecn == Ecn::Ect1 {
            packet.ip.ecn = Ecn::Ect0;
        }
        false
    });
    pair.ends[0].connect(pair.now);
    pair.to_write.extend(std::iter::repeat_n(1000, 20_000));
    pair.run(Duration::from_secs(10));
    pair.delivered.len()
}

#[test]
fn a_receiver_that_cannot_read_the_nonces_gets_much_less() {
    for ccid in [Ccid::TcpLike, Ccid::Tfrc(Box::new(Profile::rfc5348()))] {
        let honest = delivered_with_nonces(&ccid, true);
        let liar = delivered_with_nonces(&ccid, false);
        assert_eq!(honest, 20_000, "{ccid:?}");
        assert!(liar < honest / 4, "{liar} {ccid:?}");
    }
}

#[test]
fn data_fills_the_mtu_and_is_acknowledged_apart() {
    // 1500 octets hold 20 of IP and 16 of Data; Data Checksum takes 6 more, padded to 8.
    for (data_checksum, payload) in [(false, 1464), (true, 1456)] {
        for ccid in [Ccid::TcpLike, Ccid::Tfrc(Box::new(Profile::rfc5348()))] {
            let mut pair = Pair::new(|config| {
                config.data_checksum = data_checksum;
                (config.send_ccid, config.receive_ccid) = (ccid.clone(), ccid.clone());
            });
            assert_eq!(pair.ends[0].max_payload(), payload);
            let sizes = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
            let seen = std::rc::Rc::clone(&sizes);
            pair.drops = Box::new(move |_, packet| {
                seen.borrow_mut().push(packet.size);
                false
            });
            pair.ends[0].connect(pair.now);
            pair.to_write.extend([payload; 500]);
            pair.run(Duration::from_secs(60));
            assert_eq!(pair.delivered, [payload; 500]);
            assert_eq!(pair.states(), [State::Open, State::Open]);
            let sizes = sizes.borrow();
            assert_eq!(sizes.iter().filter(|&&size| size == 1500).count(), 500);
            assert!(sizes.iter().all(|&size| size <= 1500));
            // The client's Ack is a Sync, which the server answers.
            assert_eq!(
                pair.log[2..4],
                [(0, PacketType::Sync), (1, PacketType::SyncAck)]
            );
            assert!(!pair.log.contains(&(0, PacketType::DataAck)));
        }
    }
}

#[test]
fn a_datagram_that_fills_the_mtu_leaves_after_the_losses_of_the_handshake() {
    for lost in 0..6 {
        let mut pair = Pair::new(|_| ());
        let mut count = 0;
        pair.drops = Box::new(move |_, _| {
            count += 1;
            count == lost + 1
        });
        pair.ends[0].connect(pair.now);
        pair.run(Duration::from_millis(21));
        // After the Response, so that the Ack has left already.
        pair.to_write.extend([1464, 100, 1464]);
        pair.run(Duration::from_secs(20));
        let mut delivered = pair.delivered.clone();
        delivered.dedup();
        assert!(delivered.len() >= 2, "{lost}: {delivered:?}");
        assert_eq!(pair.states(), [State::Open, State::Open], "{lost}");
    }
}

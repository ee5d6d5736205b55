//! One connection, or two over a path of 50 ms, against RFC 4340.

use super::*;
use crate::dccp::wire::{DccpOption, PacketType};
use crate::packet::{Body, Ecn};
use std::num::NonZeroU32;

const DELAY: Duration = Duration::from_millis(50);

pub(super) fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

pub(super) fn dccp(packet: &Packet) -> &wire::Packet {
    match &packet.body {
        Body::Dccp(body) => body,
        _ => panic!("not a DCCP packet"),
    }
}

pub(super) fn config(changes: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config {
        initial_sequence: 1000,
        remote: HostId(1),
        ..Config::default()
    };
    changes(&mut config);
    config
}

/// All packets that leave now.
fn leaving(end: &mut Connection, now: Instant) -> Vec<Packet> {
    let mut sent = Vec::new();
    while let Some(packet) = end.poll_transmit(now) {
        end.transmitted(now, packet.id);
        sent.push(packet);
    }
    sent
}

/// Returns false for a packet of this end that the path loses.
pub(super) type Carry = Box<dyn FnMut(usize, Instant, &mut Packet) -> bool>;

/// The client (0) and the server (1).
pub(super) struct Path {
    pub(super) now: Instant,
    pub(super) ends: [Connection; 2],
    flying: VecDeque<(Instant, usize, Packet)>,
    /// The packets that left, by sender.
    sent: [Vec<Packet>; 2],
    /// The delay from one end to the other.
    delay: Duration,
    carry: Carry,
}

impl Path {
    /// Two ends with this configuration, connected.
    fn new(config: &Config) -> Self {
        let ends = [
            Connection::client(config.clone()),
            Connection::server(config.clone()),
        ];
        let mut path = Self::between(ends, DELAY, Box::new(|_, _, _| true));
        path.run(1000);
        assert_eq!(path.states(), [State::Open; 2]);
        path
    }

    /// A path between these ends; the client connects.
    pub(super) fn between(ends: [Connection; 2], delay: Duration, carry: Carry) -> Self {
        let mut path = Self {
            now: Instant::ZERO,
            ends,
            flying: VecDeque::new(),
            sent: [Vec::new(), Vec::new()],
            delay,
            carry,
        };
        path.ends[0].connect(path.now);
        path
    }

    pub(super) fn states(&self) -> [State; 2] {
        [0, 1].map(|end: usize| self.ends[end].state())
    }

    /// Lets this many milliseconds pass.
    fn run(&mut self, millis: u64) {
        self.run_until(self.now + Duration::from_millis(millis));
    }

    pub(super) fn run_until(&mut self, end: Instant) {
        loop {
            for from in [0, 1] {
                for mut packet in leaving(&mut self.ends[from], self.now) {
                    let arrives = (self.carry)(from, self.now, &mut packet);
                    self.sent[from].push(packet.clone());
                    if arrives {
                        let at = self.now + self.delay;
                        self.flying.push_back((at, 1 - from, packet));
                    }
                }
            }
            let arrival = self.flying.front().map(|(at, ..)| *at);
            let timers = [0, 1].map(|end: usize| self.ends[end].poll_timeout());
            let next = earliest(&[arrival, timers[0], timers[1]]);
            let Some(next) = next.filter(|next| *next <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            while let Some((_, to, mut packet)) =
                self.flying.pop_front_if(|(at, ..)| *at <= self.now)
            {
                self.ends[to].handle(self.now, &mut packet);
            }
            for end in &mut self.ends {
                end.handle_timeout(self.now);
            }
        }
    }

    /// The client writes a datagram of this size.
    fn write(&mut self, octets: u32) -> Result<(), WriteError> {
        self.ends[0].write(self.now, Payload::of_len(octets))
    }

    fn read(&mut self) -> Vec<u32> {
        let server = &mut self.ends[1];
        std::iter::from_fn(|| server.read(Instant::ZERO))
            .map(|payload| payload.len())
            .collect()
    }
}

#[test]
fn a_datagram_leaves_room_for_the_options_of_data() {
    // 1500 less 20 of IP and 16 of the header of Data; Data Checksum has 6 octets and RTT Estimate
    // 5, together in words of four (RFC 4340 §9.3, RFC 6323 §3.2).
    let tells_rtt = Profile {
        rtt_option: RttOption::Send,
        ..Profile::rfc5348()
    };
    for (checksum, profile, most) in [
        (false, Profile::rfc5348(), 1464),
        (true, Profile::rfc5348(), 1456),
        (false, tells_rtt.clone(), 1456),
        (true, tells_rtt, 1452),
    ] {
        let config = config(|config| {
            config.data_checksum = checksum;
            config.send_ccid = Ccid::Tfrc(Box::new(profile));
        });
        assert_eq!(config.max_payload(), most);
        assert_eq!(Connection::client(config).max_payload(), most);
    }
}

#[test]
fn the_ccids_are_those_that_were_agreed_on() {
    // RFC 4340 §10: CCID 2 until another is agreed on.
    let tfrc = config(|config| {
        config.send_ccid = Ccid::Tfrc(Box::new(Profile::rfc5348()));
        config.receive_ccid = Ccid::Tfrc(Box::new(Profile::rfc5348()));
    });
    let ccids = |end: &Connection| (end.send_ccid(), end.receive_ccid());
    assert_eq!(ccids(&Connection::client(tfrc.clone())), (2, 2));
    let path = Path::new(&tfrc);
    assert_eq!(path.ends.each_ref().map(ccids), [(3, 3); 2]);
}

#[test]
fn what_one_end_sends_is_what_the_other_counts() {
    let mut path = Path::new(&config(|_| ()));
    assert!(!path.ends[1].has_event() || path.ends[1].poll_event().is_some());
    for _ in 0..4 {
        path.write(700).expect("there is room");
        path.run(300);
    }
    assert!(path.ends[1].has_event());
    assert_eq!(path.read(), [700; 4]);
    for (from, to) in [(0, 1), (1, 0)] {
        let (sent, came) = (path.ends[from].statistics(), path.ends[to].statistics());
        let octets = path.sent[from].iter().map(|sent| dccp(sent).wire_len());
        assert_eq!(sent.packets_sent, path.sent[from].len() as u64);
        assert_eq!(sent.bytes_sent, octets.map(u64::from).sum::<u64>());
        assert_eq!(came.packets_received, sent.packets_sent);
        assert_eq!(path.ends[to].packets_received(), sent.packets_sent);
        assert_eq!(came.bytes_received, sent.bytes_sent);
        assert_eq!(came.data_packets_received, sent.data_packets_sent);
    }
    let server = path.ends[1].statistics();
    assert_eq!(
        (server.data_packets_received, server.payload_received),
        (4, 2800)
    );
    let data = path.sent[0].iter().map(dccp);
    let data = data.filter(|packet| packet.kind.carries_data());
    let octets: u32 = data.map(wire::Packet::wire_len).sum();
    assert_eq!(server.data_bytes_received, u64::from(octets));
    while path.ends[1].poll_event().is_some() {}
    assert!(!path.ends[1].has_event());
}

#[test]
fn the_send_queue_has_its_places_and_gives_back_what_is_not_wanted() {
    for (places, held) in [(3, 3), (1, 1), (0, 1)] {
        let mut path = Path::new(&config(|config| config.send_queue = places));
        for number in 1..=held {
            assert!(!path.ends[0].send_queue_is_full());
            assert_eq!(path.write(number), Ok(()));
        }
        assert!(path.ends[0].send_queue_is_full());
        assert_eq!(path.write(9), Err(WriteError::Blocked));
        let left = path.ends[0].discard_unsent(|payload| payload.len() == 1);
        assert_eq!(left, held as usize - 1);
        path.run(500);
        assert_eq!(path.read(), [1]);
    }
}

#[test]
fn only_a_client_that_was_never_connected_sends_a_request_and_one() {
    let mut client = Connection::client(config(|_| ()));
    client.connect(at(0));
    client.connect(at(0));
    let sent = leaving(&mut client, at(0));
    let kinds: Vec<_> = sent.iter().map(|packet| dccp(packet).kind).collect();
    assert_eq!(kinds, [PacketType::Request]);
    client.close(at(1));
    assert_eq!(
        (client.state(), client.poll_timeout()),
        (State::Closed, None)
    );
    let mut server = Connection::server(config(|_| ()));
    server.connect(at(0));
    assert_eq!(server.state(), State::Listen);
    server.close(at(1));
    for end in [&mut client, &mut server] {
        assert_eq!(end.state(), State::Closed);
        let told = end.poll_event();
        assert_eq!(told, Some(EndpointEvent::Closed(CloseReason::Finished)));
        end.connect(at(2));
        assert_eq!(end.state(), State::Closed, "it is over");
        assert_eq!(leaving(end, at(2)), []);
    }
}

#[test]
fn data_is_taken_between_the_handshake_and_the_close() {
    let mut client = Connection::client(config(|_| ()));
    let data = || Payload::of_len(10);
    assert_eq!(client.write(at(0), data()), Err(WriteError::Closed));
    let mut path = Path::new(&config(|_| ()));
    assert_eq!(path.write(1465), Err(WriteError::TooLarge(1464)));
    // The window is full before the queue is empty: the connection is still open, and then closes.
    for _ in 0..5 {
        assert_eq!(path.write(10), Ok(()));
    }
    path.ends[0].close(path.now);
    assert_eq!(path.states()[0], State::Open);
    assert_eq!(path.write(10), Err(WriteError::Closed));
    assert!(!path.ends[0].is_lingering());
    path.run(1000);
    // RFC 4340 §8.3: the endpoint that receives the Reset holds TIMEWAIT.
    assert_eq!(path.states(), [State::TimeWait, State::Closed]);
    assert!(path.ends[0].is_lingering() && !path.ends[1].is_lingering());
    assert_eq!(path.read(), [10; 5]);
}

/// The times in milliseconds and the types of all packets of an endpoint that receives none, until
/// it sends no more; and the last packet.
fn alone(end: &mut Connection, mut now: Instant) -> (Vec<(u64, PacketType)>, Packet) {
    let (begin, mut sent) = (now, Vec::new());
    let mut last = None;
    loop {
        for packet in leaving(end, now) {
            sent.push((now.since(begin).as_micros() / 1000, dccp(&packet).kind));
            last = Some(packet);
        }
        let Some(next) = end.poll_timeout() else {
            break;
        };
        now = next;
        end.handle_timeout(now);
    }
    (sent, last.expect("it has sent something"))
}

#[test]
fn a_request_is_repeated_with_backoff_and_given_up_with_a_reset() {
    // RFC 4340 §8.1.1: after one second first, 64 seconds apart at most; code 2, Aborted, after
    // three minutes.
    let mut client = Connection::client(config(|_| ()));
    client.connect(at(0));
    let (sent, last) = alone(&mut client, at(0));
    let requests = [0, 1, 3, 7, 15, 31, 63, 127].map(|s| (s * 1000, PacketType::Request));
    let (last_sent, repeated) = sent.split_last().expect("a Reset");
    assert_eq!(repeated, requests);
    assert_eq!(*last_sent, (180_000, PacketType::Reset));
    let reset = dccp(&last);
    assert_eq!(
        (reset.reset_code(), reset.reset_data()),
        (Some(2), Some([0; 3]))
    );
    assert_eq!(reset.ack(), Some(SeqNum::default()));
    assert_eq!(client.statistics().timeouts, 7);
}

#[test]
fn a_close_is_repeated_after_two_round_trips_and_given_up_after_four_lifetimes() {
    // RFC 4340 §8.3: the round-trip time of the handshake is 100 ms; 4 MSL are 8 s here.
    let mut path = Path::new(&config(|config| {
        config.max_segment_lifetime = Duration::from_secs(2);
    }));
    path.ends[0].close(path.now);
    let (sent, last) = alone(&mut path.ends[0], path.now);
    let closes = [0, 200, 600, 1400, 3000, 6200].map(|millis| (millis, PacketType::Close));
    let (last_sent, repeated) = sent.split_last().expect("a Reset");
    assert_eq!(repeated, closes);
    assert_eq!(*last_sent, (8000, PacketType::Reset));
    let reset = dccp(&last);
    assert_eq!(
        (reset.reset_code(), reset.reset_data()),
        (Some(2), Some([0; 3]))
    );
}

#[test]
fn resets_without_a_connection_are_an_eighth_of_a_second_apart() {
    // RFC 4340 §7.5.4 allows eight Syncs a second; the same limit applies to Resets.
    let mut server = Connection::server(config(|_| ()));
    let stray = wire::Packet::data(SeqNum::new(7), Payload::of_len(1));
    let answers = [0, 124, 125, 249, 250].map(|now| {
        let size = IpHeader::V4_OCTETS + stray.wire_len();
        let mut packet = Packet::new(size, Body::Dccp(stray.clone()));
        server.handle(at(now), &mut packet);
        leaving(&mut server, at(now)).len()
    });
    assert_eq!(answers, [1, 0, 1, 0, 1]);
}

#[test]
fn data_alone_is_capable_of_ecn_if_that_is_wanted() {
    // RFC 4340 §12.2.
    for (ecn, codepoint) in [(true, Ecn::Ect0), (false, Ecn::NotEct)] {
        let mut path = Path::new(&config(|config| config.ecn = ecn));
        path.write(100).expect("there is room");
        path.run(500);
        for packet in path.sent.iter().flatten() {
            let carries = dccp(packet).kind.carries_data();
            let expected = if carries { codepoint } else { Ecn::NotEct };
            assert_eq!(packet.ip.ecn, expected);
        }
    }
}

#[test]
fn short_numbers_are_on_acknowledgements_of_a_server_once_they_are_agreed_on() {
    // RFC 4340 §7.6.1: Data, Ack and DataAck may have them, if Allow Short Seqnos is one. The
    // feature is the server's to decide (§6.3.1), which is the first to send them and the last to
    // accept them.
    for short in [true, false] {
        let mut path = Path::new(&config(|config| {
            config.short_sequence_numbers = short;
            config.initial_sequence = 0x1_00ff_ffff;
        }));
        // The Changes and their Confirms are on packets of data.
        for _ in 0..3 {
            path.write(100).expect("there is room");
            path.run(500);
        }
        path.sent = [Vec::new(), Vec::new()];
        for _ in 0..3 {
            path.write(100).expect("there is room");
            path.run(500);
        }
        path.ends[0].close(path.now);
        path.run(500);
        assert_eq!(path.read(), [100; 6]);
        for (from, packets) in path.sent.iter().enumerate() {
            for packet in packets.iter().map(dccp) {
                let is_short = short && from == 1 && packet.kind.may_be_short();
                assert_eq!(packet.extended, !is_short, "{packet:?}");
            }
        }
    }
}

#[test]
fn a_request_alone_is_filled_up() {
    for (octets, found) in [(0, None), (100, Some(100)), (102, Some(104))] {
        let path = Path::new(&config(|config| config.request_octets = octets));
        for packet in path.sent.iter().flatten().map(dccp) {
            let is_request = packet.kind == PacketType::Request;
            let padding = packet.options.iter().filter(|&o| o == DccpOption::Padding);
            if is_request && let Some(found) = found {
                assert_eq!(packet.wire_len(), found);
            } else {
                assert_eq!(padding.count(), 0);
            }
        }
    }
}

/// The result for data that is damaged at this octet behind the header, with this coverage: the
/// packets that count as received, the datagrams that are read, and whether Data Dropped is
/// reported.
fn damaged(beyond: i64, coverage: u8, checksum: bool) -> (u64, usize, bool) {
    let mut path = Path::new(&config(|config| {
        config.checksum_coverage = coverage;
        config.data_checksum = checksum;
    }));
    let before = path.ends[1].packets_received();
    path.write(100).expect("there is room");
    let mut packet = leaving(&mut path.ends[0], path.now).remove(0);
    let header = i64::from(IpHeader::V4_OCTETS) + dccp(&packet).header_len() as i64;
    packet.damaged_at = NonZeroU32::new((header + beyond) as u32);
    path.ends[1].handle(path.now, &mut packet);
    let came = path.ends[1].packets_received() - before;
    path.run(1000);
    let reports = path.sent[1]
        .iter()
        .flat_map(|sent| dccp(sent).options.iter());
    let reports = reports.filter(|option| matches!(option, DccpOption::DataDropped(_)));
    let is_reported = reports.count() > 0;
    (came, path.read().len(), is_reported)
}

#[test]
fn damage_beyond_the_coverage_is_delivered_unless_a_data_checksum_finds_it() {
    // RFC 4340 §9.2: CsCov 1 is the header, 3 two words of data; §9.3: with Data Checksum the data
    // is dropped and the packet is not.
    for (beyond, coverage, checksum, found) in [
        (99, 0, false, (0, 0, false)),
        (-1, 1, false, (0, 0, false)),
        (0, 1, false, (1, 1, false)),
        (7, 3, false, (0, 0, false)),
        (8, 3, false, (1, 1, false)),
        (8, 3, true, (1, 0, true)),
    ] {
        let case = (beyond, coverage, checksum);
        assert_eq!(damaged(beyond, coverage, checksum), found, "{case:?}");
    }
}

#[test]
fn a_coverage_beyond_the_payload_covers_all() {
    // RFC 4340 §9.2: CsCov 3 covers the header and 8 octets of payload; a Data packet has 16
    // octets of header here, and IP 20.
    for (octets, end) in [(8, 20 + 16 + 8), (100, 20 + 16 + 8), (7, u32::MAX)] {
        let mut packet = wire::Packet::data(SeqNum::new(1), Payload::of_len(octets));
        packet.cscov = 3;
        assert_eq!(input::covered_end(&packet), end, "{octets}");
    }
}

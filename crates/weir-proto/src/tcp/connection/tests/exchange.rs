//! Two ends with a wire between them: whole connections, segment by segment, as RFC 9293 §3.5 and
//! §3.6 draw them, with the counters and traces of both ends.

use super::*;
use crate::endpoint::Statistics;
use crate::event::{PacketContent, PacketType};

/// Half of the round-trip time.
const DELAY: u64 = 50;

/// A client and a server; the segments that `drops` selects by direction and index are lost.
pub(super) struct Exchange {
    pub(super) ends: [Connection; 2],
    wire: Vec<(Instant, usize, Packet)>,
    now: u64,
    sent: [u32; 2],
    drops: fn(usize, u32) -> bool,
    /// Each segment that left: time, direction, flags, sequence number, acknowledgement, octets.
    pub(super) log: Vec<String>,
}

fn flags(flags: u16) -> String {
    let named = [
        (flag::SYN, 'S'),
        (flag::FIN, 'F'),
        (flag::RST, 'R'),
        (flag::ACK, '.'),
    ];
    let set = named.iter().filter(|(bit, _)| flags & bit != 0);
    set.map(|(_, name)| *name).collect()
}

impl Exchange {
    pub(super) fn new(config: &Config) -> Self {
        let ends = [
            Connection::client(*config, controller(config, "newreno")),
            Connection::server(*config, controller(config, "newreno")),
        ];
        let mut exchange = Self {
            ends,
            wire: Vec::new(),
            now: 0,
            sent: [0; 2],
            drops: |_, _| false,
            log: Vec::new(),
        };
        for end in &mut exchange.ends {
            end.events().expect("it traces").set_mask(EventMask::ALL);
        }
        exchange
    }

    pub(super) fn send(&mut self) {
        for end in 0..2 {
            while let Some(packet) = self.ends[end].poll_transmit(at(self.now)) {
                let Body::Tcp(tcp) = &packet.body else {
                    panic!("not TCP")
                };
                self.sent[end] += 1;
                let is_lost = (self.drops)(end, self.sent[end]);
                let sacks = tcp.sack.as_slice().iter();
                let sacks: Vec<String> = sacks
                    .map(|(start, end)| format!(" {start}-{end}"))
                    .collect();
                let sacks = sacks.concat();
                self.log.push(format!(
                    "{} {} {} {} {} {}{sacks}{}",
                    self.now,
                    [">", "<"][end],
                    flags(tcp.flags),
                    tcp.seq,
                    tcp.ack,
                    tcp.payload_len,
                    if is_lost { " lost" } else { "" },
                ));
                if !is_lost {
                    self.wire.push((at(self.now + DELAY), 1 - end, packet));
                }
            }
        }
    }

    /// Runs until this time, in milliseconds.
    pub(super) fn run(&mut self, until: u64) {
        loop {
            self.send();
            let timers = self.ends.iter().filter_map(Endpoint::poll_timeout);
            let arrivals = self.wire.iter().map(|(arrives, ..)| *arrives);
            let next = timers.chain(arrivals).min().unwrap_or(Instant::FAR_FUTURE);
            if next > at(until) {
                self.now = until;
                return;
            }
            self.now = next.as_nanos().div_ceil(1_000_000);
            let (due, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.wire)
                .into_iter()
                .partition(|(arrives, ..)| *arrives <= at(self.now));
            self.wire = rest;
            for (_, end, mut packet) in due {
                self.ends[end].handle(at(self.now), &mut packet);
                self.send();
            }
            for end in &mut self.ends {
                end.handle_timeout(at(self.now));
            }
        }
    }

    pub(super) fn write(&mut self, octets: u32) {
        let written = self.ends[0].write(at(self.now), Payload::of_len(octets));
        assert_eq!(written, Ok(()));
    }

    pub(super) fn events(&mut self, end: usize) -> Vec<EndpointEvent> {
        std::iter::from_fn(|| {
            let has_event = self.ends[end].has_event();
            let event = self.ends[end].poll_event();
            assert_eq!(has_event, event.is_some());
            event
        })
        .collect()
    }

    pub(super) fn read(&mut self, end: usize) -> u64 {
        let now = at(self.now);
        std::iter::from_fn(|| self.ends[end].read(now))
            .map(|payload| u64::from(payload.len()))
            .sum()
    }

    /// The rows of packets: `s` or `r`, number, octets, content.
    fn rows(&mut self, end: usize) -> Vec<String> {
        let row = |event: Event| match event {
            Event::Sent {
                number,
                size,
                content,
                packet_type: PacketType::None,
            } => Some(('s', number, size, content)),
            Event::Received {
                number,
                size,
                content,
                packet_type: PacketType::None,
            } => Some(('r', number, size, content)),
            _ => None,
        };
        let rows = self.ends[end].events().expect("it traces").drain();
        rows.filter_map(|(_, event)| row(event))
            .map(|(way, number, size, content)| {
                let content = match content {
                    PacketContent::Data => "data",
                    PacketContent::Retransmission => "again",
                    PacketContent::Control => "control",
                    PacketContent::Acknowledgement => "ack",
                };
                format!("{way} {number} {size} {content}")
            })
            .collect()
    }
}

pub(super) fn config(rules: &str) -> Config {
    Config {
        segment_size: MSS as u32,
        ..Config::named(rules).expect("a preset")
    }
}

/// The lines of a text.
fn lines(text: &str) -> Vec<&str> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect()
}

#[test]
fn a_whole_connection_is_counted_and_traced_at_both_ends() {
    let mut exchange = Exchange::new(&config("linux"));
    exchange.ends[0].connect(at(0));
    exchange.ends[0].connect(at(0)); // A second call has no effect.
    exchange.run(100);
    assert_eq!(exchange.events(0), [EndpointEvent::Connected]);
    exchange.write(2500);
    exchange.ends[0].close(at(100));
    let after_close = exchange.ends[0].write(at(100), Payload::of_len(1));
    assert_eq!(after_close, Err(WriteError::Closed));
    exchange.run(170);
    assert_eq!(
        exchange.events(1),
        [EndpointEvent::Connected, EndpointEvent::Readable]
    );
    assert_eq!(exchange.read(1), 2500);
    exchange.run(5000);
    // RFC 9293 §3.5 and §3.6: SYN and FIN take a number each. The second segment is acknowledged
    // at once (RFC 5681 §4.2), the FIN too, with the server's own.
    assert_eq!(
        exchange.log,
        lines(
            "0 > S 0 0 0
            50 < S. 0 1 0
            100 > . 1 1 0
            100 > . 1 1 1000
            100 > . 1001 1 1000
            100 > . 2001 1 500
            100 > F. 2501 1 0
            150 < . 1 2001 0
            150 < F. 1 2502 0
            200 > . 2502 2 0"
        )
    );
    let closed = [EndpointEvent::Closed(CloseReason::Finished)];
    assert_eq!([exchange.events(0), exchange.events(1)], [closed; 2]);
    assert_eq!(exchange.ends[0].poll_timeout(), None);
    // A header has 20 octets, that of a SYN 12 more: maximum segment size, window scale and SACK
    // permitted, with the padding of the last word. Offsets count from the first octet of data.
    assert_eq!(
        exchange.rows(0),
        lines(
            "s 0 32 control
            r 0 32 control
            s 0 20 ack
            s 0 1020 data
            s 1000 1020 data
            s 2000 520 data
            s 2500 20 control
            r 2000 20 ack
            r 0 20 control
            s 1 20 ack"
        )
    );
    assert_eq!(
        exchange.rows(1),
        lines(
            "r 0 32 control
            s 0 32 control
            r 0 20 ack
            r 0 1020 data
            r 1000 1020 data
            s 2000 20 ack
            r 2000 520 data
            r 2500 20 control
            s 0 20 control
            r 1 20 ack"
        )
    );
}

#[test]
fn each_segment_and_octet_is_counted_once() {
    let mut exchange = Exchange::new(&config("linux"));
    exchange.ends[0].connect(at(0));
    exchange.run(100);
    exchange.write(2500);
    exchange.ends[0].close(at(100));
    exchange.run(5000);
    let [client, server] = exchange.ends.each_ref().map(Endpoint::statistics);
    // 32 + 20 + 1020 + 1020 + 520 + 20 + 20 octets in seven segments, and 32 + 20 + 20 in three.
    let expected = Statistics {
        packets_sent: 7,
        bytes_sent: 2652,
        data_packets_sent: 3,
        packets_received: 3,
        bytes_received: 72,
        smoothed_rtt: MS(100),
        ..Statistics::default()
    };
    assert_eq!(client, expected);
    let expected = Statistics {
        packets_sent: 3,
        bytes_sent: 72,
        packets_received: 7,
        bytes_received: 2652,
        data_packets_received: 3,
        data_bytes_received: 2560,
        payload_received: 2500,
        smoothed_rtt: MS(100),
        ..Statistics::default()
    };
    assert_eq!(server, expected);
}

/// Losses of a handshake or of the end, the segments that leave until five seconds and from then
/// on, and the expiries at both ends.
type Loss = (
    &'static str,
    fn(usize, u32) -> bool,
    [&'static str; 2],
    [u64; 2],
);

/// A handshake without a loss.
const HANDSHAKE: &str = "0 > S 0 0 0
        50 < S. 0 1 0
        100 > . 1 1 0";

/// RFC 5681 §3.1: a handshake with a loss leaves one segment; the single one is acknowledged after
/// 40 ms.
const ONE_BY_ONE: &str = "5000 > . 1 1 1000
        5090 < . 1 1001 0
        5140 > . 1001 1 500
        5140 > F. 1501 1 0
        5190 < F. 1 1502 0
        5240 > . 1502 2 0";

/// 1500 octets are written at five seconds, and the client closes.
const LOSSES: [Loss; 5] = [
    (
        // RFC 6298 §2.1: the SYN is sent again after a second.
        "the SYN",
        |end, place| end == 0 && place == 1,
        [
            "0 > S 0 0 0 lost
        1000 > S 0 0 0
        1050 < S. 0 1 0
        1100 > . 1 1 0",
            ONE_BY_ONE,
        ],
        [1, 0],
    ),
    (
        // The server answers the second SYN too; the client acknowledges both answers.
        "the SYN-ACK",
        |end, place| end == 1 && place == 1,
        [
            "0 > S 0 0 0
        50 < S. 0 1 0 lost
        1000 > S 0 0 0
        1050 < S. 0 1 0
        1050 < S. 0 1 0
        1100 > . 1 1 0
        1100 > . 1 1 0",
            ONE_BY_ONE,
        ],
        [1, 1],
    ),
    (
        // The client is open, so it answers the second SYN-ACK with an acknowledgement.
        "the last segment of the handshake",
        |end, place| end == 0 && place == 2,
        [
            "0 > S 0 0 0
        50 < S. 0 1 0
        100 > . 1 1 0 lost
        1050 < S. 0 1 0
        1100 > . 1 1 0",
            "5000 > . 1 1 1000
        5000 > . 1001 1 500
        5000 > F. 1501 1 0
        5050 < . 1 1501 0
        5050 < F. 1 1502 0
        5100 > . 1502 2 0",
        ],
        [0, 1],
    ),
    (
        // The FIN waits at the server for the data before it.
        "data before the FIN",
        |end, place| end == 0 && place == 4,
        [
            HANDSHAKE,
            "5000 > . 1 1 1000
        5000 > . 1001 1 500 lost
        5000 > F. 1501 1 0
        5050 < . 1 1001 0
        6100 > . 1001 1 500
        6150 < F. 1 1502 0
        6200 > . 1502 2 0",
        ],
        [1, 0],
    ),
    (
        // RFC 6298 §5.3: the acknowledgement of all data at 5100 ms starts the timer again.
        "the FIN",
        |end, place| end == 0 && place == 5,
        [
            HANDSHAKE,
            "5000 > . 1 1 1000
        5000 > . 1001 1 500
        5000 > F. 1501 1 0 lost
        5050 < . 1 1501 0
        6100 > F. 1501 1 0
        6150 < F. 1 1502 0
        6200 > . 1502 2 0",
        ],
        [1, 0],
    ),
];

#[test]
fn what_is_lost_of_handshake_and_end_is_sent_again() {
    for (what, drops, log, timeouts) in LOSSES {
        let mut exchange = Exchange::new(&config("rfc"));
        exchange.drops = drops;
        exchange.ends[0].connect(at(0));
        exchange.run(5000);
        assert_eq!(exchange.events(0), [EndpointEvent::Connected], "{what}");
        exchange.write(1500);
        exchange.ends[0].close(at(5000));
        exchange.run(100_000);
        assert_eq!(exchange.log, lines(&log.join("\n")), "{what}");
        let expired = exchange
            .ends
            .each_ref()
            .map(|end| end.statistics().timeouts);
        assert_eq!(expired, timeouts, "{what}");
        assert_eq!(exchange.read(1), 1500);
        let last = [0, 1].map(|end| exchange.events(end).pop());
        let closed = Some(EndpointEvent::Closed(CloseReason::Finished));
        assert_eq!(last, [closed; 2], "{what}");
    }
}

#[test]
fn a_peer_that_never_answers_ends_the_connection_after_r2() {
    // RFC 6298 §5.5: the RTO doubles from one second (§2.1) to its maximum of sixty (§2.5).
    // RFC 9293 §3.8.3: R2 is MAX_EXPIRIES, 15; the next expiry ends the connection.
    let seconds = [
        0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303, 363, 423, 483, 543, 603,
    ];
    let mut exchange = Exchange::new(&config("rfc"));
    exchange.drops = |_, _| true;
    exchange.ends[0].connect(at(0));
    exchange.run(2_000_000);
    let syn = |second: &u32| format!("{} > S 0 0 0 lost", 1000 * second);
    assert_eq!(exchange.log, seconds.iter().map(syn).collect::<Vec<_>>());
    let timed_out = EndpointEvent::Closed(CloseReason::TimedOut);
    assert_eq!(exchange.events(0), [timed_out]);
    let backoff = |(_, event): (Instant, Event)| match event {
        Event::Timeout { backoff } => Some(backoff),
        _ => None,
    };
    let events = exchange.ends[0].events().expect("it traces").drain();
    let backoffs: Vec<u32> = events.filter_map(backoff).collect();
    assert_eq!(backoffs, (0..15).collect::<Vec<_>>());

    // The same for data: the first segment at 6140 ms, an RTO after the acknowledgement before it.
    let mut exchange = Exchange::new(&config("rfc"));
    exchange.drops = |end, place| end == 0 && place > 3;
    exchange.ends[0].connect(at(0));
    exchange.run(5000);
    exchange.write(1500);
    exchange.run(2_000_000);
    let again: Vec<String> = exchange.log.split_off(6);
    let data = |second: &u32| format!("{} > . 1001 1 500 lost", 5140 + 1000 * second);
    assert_eq!(again, seconds[1..].iter().map(data).collect::<Vec<_>>());
    assert_eq!(exchange.events(0).pop(), Some(timed_out));
    let counted = exchange.ends[0].statistics();
    assert_eq!((counted.timeouts, counted.packets_retransmitted), (15, 15));
    let retransmissions = exchange.rows(0);
    let retransmissions = retransmissions.iter().filter(|row| row.ends_with("again"));
    assert_eq!(retransmissions.count(), 15);
}

#[test]
fn a_reset_or_a_close_before_the_handshake_ends_the_connection() {
    for (is_open, reason) in [
        (false, CloseReason::Finished),
        (true, CloseReason::Reset(0)),
    ] {
        let mut exchange = Exchange::new(&config("linux"));
        exchange.ends[0].connect(at(0));
        if is_open {
            exchange.run(100);
            exchange.events(0);
            let reset = TcpPacket {
                flags: flag::RST,
                ..segment(0, &[])
            };
            exchange.ends[0].handle(at(100), &mut packet(reset.clone()));
            // A second one arrives at a closed connection.
            exchange.ends[0].handle(at(101), &mut packet(reset));
        } else {
            exchange.ends[0].close(at(10));
            exchange.ends[0].close(at(11));
        }
        assert_eq!(exchange.events(0), [EndpointEvent::Closed(reason)]);
        assert_eq!(exchange.ends[0].poll_timeout(), None);
        assert!(exchange.ends[0].poll_transmit(at(200)).is_none());
        exchange.ends[0].connect(at(300));
        assert!(exchange.ends[0].poll_transmit(at(300)).is_none());
    }
}

#[test]
fn without_sack_each_round_trip_repairs_one_segment() {
    // RFC 6582 §3.2: the third duplicate sends the second segment again, the partial
    // acknowledgement of 3001 at 300 ms the fourth. The first two duplicates allow new segments
    // (RFC 3042).
    let mut exchange = Exchange::new(&Config {
        sack: false,
        ..config("linux")
    });
    exchange.drops = |end, place| end == 0 && (place == 4 || place == 6);
    exchange.ends[0].connect(at(0));
    exchange.run(100);
    exchange.write(14_000);
    exchange.ends[0].close(at(100));
    exchange.run(10_000);
    let later = lines(
        "200 > . 10001 1 1000
        200 > . 11001 1 1000
        200 > . 12001 1 1000
        200 > . 13001 1 1000
        200 > F. 14001 1 0
        200 > . 1001 1 1000
        250 < . 1 1001 0
        250 < . 1 1001 0
        250 < . 1 1001 0
        250 < . 1 1001 0
        250 < . 1 1001 0
        250 < . 1 3001 0
        300 > . 3001 1 1000
        350 < F. 1 14002 0
        400 > . 14002 2 0",
    );
    assert_eq!(exchange.log[20..], later);
    let [client, server] = exchange.ends.each_ref().map(Endpoint::statistics);
    assert_eq!((client.packets_lost, client.packets_retransmitted), (2, 2));
    assert_eq!((client.loss_events, client.timeouts), (1, 0));
    assert_eq!(server.payload_received, 14_000);
    let rows = exchange.rows(0);
    let again: Vec<&String> = rows.iter().filter(|row| row.ends_with("again")).collect();
    assert_eq!(again, ["s 1000 1020 again", "s 3000 1020 again"]);
}

/// Data from the peer by hand: offset and octets.
fn data(start: u64, octets: u32) -> TcpPacket {
    TcpPacket {
        seq: wrap(0, start),
        payload_len: octets,
        ..segment(0, &[])
    }
}

#[test]
fn arrivals_out_of_order_are_reported_in_blocks() {
    // RFC 2018 §4: the block of the latest arrival first. RFC 2883 §4: a duplicate before it, also
    // one below the acknowledgement. Each leaves at once (RFC 5681 §4.2).
    let arrivals = [
        (2000, 1000),
        (5000, 1000),
        (5000, 1000),
        (0, 2000),
        (0, 1000),
    ];
    let with_duplicates = [
        "1 2001-3001",
        "1 5001-6001 2001-3001",
        "1 5001-6001 5001-6001 2001-3001",
        "3001 5001-6001",
        "3001 1-1001 5001-6001",
    ];
    let without = [
        "1 2001-3001",
        "1 5001-6001 2001-3001",
        "1 5001-6001 2001-3001",
        "3001 5001-6001",
        "3001 5001-6001",
    ];
    let none = ["1", "1", "1", "3001", "3001"];
    for (rules, sack, expected) in [
        ("linux", true, with_duplicates),
        ("rfc", true, without),
        ("linux", false, none),
    ] {
        let mut exchange = Exchange::new(&Config {
            sack,
            ..config(rules)
        });
        exchange.ends[0].connect(at(0));
        exchange.run(150);
        exchange.events(1);
        let mut replies = Vec::new();
        for (start, octets) in arrivals {
            exchange.log.clear();
            let mut arriving = packet(data(start, octets));
            exchange.ends[1].handle(at(150), &mut arriving);
            exchange.send();
            for line in &exchange.log {
                let words: Vec<&str> = line.split(' ').collect();
                let reply = [&words[4..5], &words[6..]].concat().join(" ");
                replies.push(reply);
            }
        }
        assert_eq!(replies, expected, "{rules} {sack}");
        let counted = exchange.ends[1].statistics();
        assert_eq!(counted.data_packets_received, 5);
        assert_eq!(counted.payload_received, 3000);
        assert_eq!(exchange.events(1), [EndpointEvent::Readable]);
        assert_eq!(exchange.read(1), 3000);
    }
}

#[test]
fn data_beyond_the_window_is_answered_and_not_taken() {
    // RFC 9293 §3.10.7.4: an unacceptable segment is answered with an acknowledgement.
    let config = Config {
        receive_buffer: 4000,
        ..config("linux")
    };
    for (start, octets, taken) in [
        (3000, 1000, 0),
        (3001, 1000, 0),
        (0, 4000, 4000),
        (0, 4001, 0),
    ] {
        let mut exchange = Exchange::new(&config);
        exchange.ends[0].connect(at(0));
        exchange.run(150);
        exchange.log.clear();
        exchange.ends[1].handle(at(150), &mut packet(data(start, octets)));
        exchange.send();
        let blocks = if start == 3000 { " 3001-4001" } else { "" };
        let ack = 1 + taken;
        let expected = format!("150 < . 1 {ack} 0{blocks}");
        if taken == 0 {
            assert_eq!(exchange.log, [expected], "{start} {octets}");
        }
        assert_eq!(exchange.ends[1].statistics().payload_received, taken);
    }
}

#[test]
fn one_segment_is_acknowledged_after_the_delay() {
    // RFC 1122 §4.2.3.2: at once with the second, else after `max_ack_delay`, 40 ms.
    let mut exchange = Exchange::new(&config("linux"));
    exchange.ends[0].connect(at(0));
    exchange.run(150);
    exchange.log.clear();
    exchange.ends[1].handle(at(150), &mut packet(data(0, 1000)));
    exchange.send();
    assert!(exchange.log.is_empty());
    assert_eq!(exchange.ends[1].poll_timeout(), Some(at(190)));
    exchange.ends[1].handle_timeout(at(189));
    exchange.send();
    assert!(exchange.log.is_empty());
    exchange.ends[1].handle_timeout(at(190));
    exchange.send();
    assert_eq!(exchange.log, ["150 < . 1 1001 0"]);
    exchange.ends[1].handle(at(191), &mut packet(data(1000, 1000)));
    exchange.ends[1].handle(at(191), &mut packet(data(2000, 1000)));
    exchange.send();
    assert_eq!(exchange.log[1], "150 < . 1 3001 0");
    // A damaged segment is ignored (RFC 9293 §3.1).
    let mut damaged = packet(data(3000, 1000));
    damaged.damaged_at = std::num::NonZeroU32::new(50);
    let before = exchange.ends[1].statistics();
    exchange.ends[1].handle(at(192), &mut damaged);
    assert_eq!(exchange.ends[1].statistics(), before);
}

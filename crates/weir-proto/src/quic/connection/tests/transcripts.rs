//! Whole conversations, packet by packet: the packets, their times, and the calls to the
//! controller.

use super::*;
use crate::cc::WindowController;
use crate::cc::recorder::Recorder;
use crate::endpoint::Statistics;
use crate::packet::Packet;
use std::sync::{Arc, Mutex};

const MDS: u64 = 1200;

/// Frames in a few words: `ack 0..2`, `stream 0+1000`.
fn words(frame: &Frame) -> String {
    match frame {
        Frame::Ack(ack) => {
            let ranges = ack
                .ranges()
                .map(|range| format!("{}..{}", range.smallest, range.largest));
            let ranges: Vec<_> = ranges.collect();
            format!("ack {} after {}", ranges.join(" "), ack.delay)
        }
        Frame::Stream(StreamFrame {
            offset, len, fin, ..
        }) => {
            format!("stream {offset}+{len}{}", if *fin { " fin" } else { "" })
        }
        Frame::Crypto { offset, len } => format!("crypto {offset}+{len}"),
        Frame::Padding(octets) => format!("padding {octets}"),
        Frame::ConnectionClose {
            code, frame_type, ..
        } => {
            format!("close {code} {frame_type:?}")
        }
        other => format!("{other:?}"),
    }
}

fn line(side: Side, packet: &Packet) -> String {
    let Body::Quic(quic) = &packet.body else {
        panic!("a QUIC endpoint sends QUIC");
    };
    let frames: Vec<_> = quic.frames.iter().map(words).collect();
    format!(
        "{} {}{} {}, {}",
        match side {
            Side::Client => "client",
            Side::Server => "server",
        },
        match quic.space {
            SpaceId::Initial => "initial ",
            SpaceId::Data => "",
        },
        quic.number,
        packet.size - 28,
        frames.join(", "),
    )
}

/// A pair over 5 ms each way that records every packet. The packets with the numbers in `lost`,
/// counted from 0 over both sides, are lost.
struct Conversation {
    pair: Pair,
    recorder: Recorder,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Conversation {
    fn new(config: Config, lost: &[usize]) -> Self {
        let mut pair = Pair::new(config);
        pair.delay = millis(5);
        let recorder = Recorder::of_window(100 * MDS);
        pair.client.needs = recorder.needs();
        pair.client.controller = Box::new(recorder.clone());
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (noted, lost) = (Arc::clone(&lines), lost.to_vec());
        let mut count = 0;
        pair.drop = Box::new(move |side, packet| {
            let is_lost = lost.contains(&count);
            count += 1;
            let end = if is_lost { ", lost" } else { "" };
            noted.lock().unwrap().push(line(side, packet) + end);
            is_lost
        });
        Self {
            pair,
            recorder,
            lines,
        }
    }

    /// The packets that left in this time, each line with its time in milliseconds.
    fn run(&mut self, millis_: u64) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..=millis_ {
            self.pair.exchange();
            let at = self.pair.now.since(Instant::ZERO).as_micros() / 1000;
            let lines = std::mem::take(&mut *self.lines.lock().unwrap());
            all.extend(lines.into_iter().map(|line| format!("{at} {line}")));
            self.pair.run_for(millis(1));
        }
        all
    }
}

fn small() -> Config {
    let mut config = Config::named("rfc9002").unwrap();
    config.max_datagram_size = Some(MDS as u32);
    config
}

fn talk(config: Config, lost: &[usize]) -> Conversation {
    let mut talk = Conversation::new(config, lost);
    talk.pair.client.connect(Instant::ZERO);
    talk
}

/// After the handshake, at 101 ms: the round-trip time is 10 ms and its variation 5 ms.
fn open(config: Config, lost: &[usize]) -> Conversation {
    let mut talk = talk(config, lost);
    talk.run(100);
    talk.recorder.take_calls();
    talk
}

impl Conversation {
    fn write(&mut self, side: Side, octets: u32) {
        let now = self.pair.now;
        let written = self.pair.end(side).write(now, Payload::of_len(octets));
        assert_eq!(written, Ok(()));
    }
}

#[test]
fn a_handshake_is_acknowledged_and_padded_as_the_rfc_says() {
    // RFC 9000 §14.1: all Initial datagrams of a client and those of a server that elicit
    // acknowledgements have 1200 octets. RFC 9002 §6.2.2: the first PTO is 999 ms, then twice that.
    let mut talk = talk(small(), &[0, 2]);
    assert_eq!(
        talk.run(4000),
        [
            "0 client initial 0 1200, crypto 0+300, padding 853, lost",
            "999 client initial 1 1200, crypto 0+300, padding 853",
            "1004 server initial 0 1200, ack 1..1 after 0, crypto 0+300, padding 848, lost",
            "2003 server initial 1 1200, crypto 0+300, padding 853",
            "2008 client initial 2 1200, ack 1..1 after 0, padding 1152",
            "2997 client initial 3 1200, crypto 0+300, padding 853",
            "3002 server initial 2 48, ack 1..3 after 0",
        ]
    );
    let found = talk.pair.client.statistics();
    assert_eq!(
        found,
        Statistics {
            packets_sent: 4,
            bytes_sent: 4800,
            // The acknowledgement of packet 2 elicits none.
            control_packets_sent: 3,
            packets_received: 2,
            bytes_received: 1248,
            packets_lost: 1,
            timeouts: 2,
            loss_events: 1,
            smoothed_rtt: millis(10),
            ..Statistics::default()
        }
    );
    // RFC 9002 §2: a packet with PADDING is in flight, though it elicits no acknowledgement; the
    // server's last acknowledgement leaves none in flight.
    assert_eq!(
        talk.recorder.take_calls(),
        [
            "0 sent 1200 of 1200",
            "999 sent 1200 of 2400",
            "2008 sent 1200 of 3600",
            "2997 sent 1200 of 4800 limited",
            "3007 lost 1200 from 0: of 1200, 1200 since, 0 delivered",
            "3007 event from 0: 1200 lost, 3600 in flight, None outstanding",
            "3007 acked 1200 of 3600 from 2997 limited",
            "3007 acked 1200 of 2400 from 2008 limited",
            "3007 acked 1200 of 1200 from 999 limited",
            "3007 end 3600 in 3, 1200 lost, 0 marked, 0 in flight, newest 2997, rtt Some(10), \
             rate 3600 limited",
        ]
    );
}

#[test]
fn a_loss_is_found_by_the_packet_threshold_and_sent_again() {
    // RFC 9002 §6.1.1: three packets later. RFC 9000 §13.2.1: the server acknowledges at once
    // packets out of order, and every other packet; a single packet after max_ack_delay, in units
    // of 8 µs.
    let mut talk = open(small(), &[4]);
    talk.write(Side::Client, 8000);
    assert_eq!(
        talk.run(100),
        [
            "101 client 0 1200, stream 0+1172",
            "101 client 1 1200, stream 1172+1170, lost",
            "101 client 2 1200, stream 2342+1170",
            "101 client 3 1200, stream 3512+1170",
            "101 client 4 1200, stream 4682+1170",
            "101 client 5 1200, stream 5852+1170",
            "101 client 6 1008, stream 7022+978",
            "106 server 0 33, ack 2..2 0..0 after 0",
            "106 server 1 33, ack 2..4 0..0 after 0",
            "106 server 2 33, ack 2..6 0..0 after 0",
            "111 client 7 1200, stream 1172+1170",
            "141 server 3 34, ack 2..7 0..0 after 3125",
        ]
    );
    assert_eq!(
        talk.recorder.take_calls()[7..],
        [
            "111 acked 1200 of 8208 from 101 limited",
            "111 acked 1200 of 7008 from 101 limited",
            "111 end 2400 in 2, 0 lost, 0 marked, 5808 in flight, newest 101, rtt Some(10), \
             rate 2400 limited",
            "111 lost 1200 from 101: of 3600, 1200 since, 3600 delivered limited",
            "111 event from 101: 1200 lost, 4608 in flight, None outstanding",
            "111 acked 1200 of 4608 from 101 limited",
            "111 acked 1200 of 3408 from 101 limited",
            "111 end 2400 in 2, 1200 lost, 0 marked, 2208 in flight, newest 101, rtt Some(10), \
             rate 4800 limited",
            "111 sent 1200 of 3408 limited",
            "111 acked 1008 of 3408 from 101 limited",
            "111 acked 1200 of 2400 from 101 limited",
            "111 end 2208 in 2, 0 lost, 0 marked, 1200 in flight, newest 101, rtt Some(10), \
             rate 7008 limited",
            "146 acked 1200 of 1200 from 111 limited",
            "146 end 1200 in 1, 0 lost, 0 marked, 0 in flight, newest 111, rtt Some(35), \
             rate 3408 limited",
        ]
    );
}

#[test]
fn probes_repeat_the_oldest_data_and_the_timeout_doubles() {
    // RFC 9002 §6.2.1: 10 + 4 · 5 + 25 ms, then twice that; §6.2.4: two packets each time. When an
    // acknowledgement comes, packets 1 to 3 are three and more behind (§6.1.1).
    let mut talk = open(small(), &[4, 5, 6, 7]);
    talk.write(Side::Client, 2000);
    assert_eq!(
        talk.run(500),
        [
            "101 client 0 1200, stream 0+1172",
            "101 client 1 858, stream 1172+828, lost",
            "131 server 0 32, ack 0..0 after 3125, lost",
            "156 client 2 1200, stream 0+1172, lost",
            "156 client 3 1200, stream 0+1172, lost",
            "266 client 4 1200, stream 0+1172",
            "266 client 5 1200, stream 0+1172",
            "271 server 1 33, ack 4..4 0..0 after 0",
            "276 client 6 858, stream 1172+828",
            "281 server 2 33, ack 4..6 0..0 after 0",
        ]
    );
    assert_eq!(
        talk.recorder.take_calls(),
        [
            "101 sent 1200 of 2400 limited",
            "101 sent 858 of 3258 limited",
            "156 sent 1200 of 4458 limited",
            "156 sent 1200 of 5658 limited",
            "266 sent 1200 of 6858 limited",
            "266 sent 1200 of 8058 limited",
            "276 lost 858 from 101: of 3258, 858 since, 1200 delivered limited",
            "276 lost 1200 from 156: of 4458, 2058 since, 1200 delivered limited continues",
            "276 lost 1200 from 156: of 5658, 3258 since, 1200 delivered limited continues",
            "276 event from 156: 3258 lost, 3600 in flight, None outstanding",
            "276 acked 1200 of 3600 from 266 limited",
            "276 acked 1200 of 2400 from 101 limited",
            "276 end 2400 in 2, 3258 lost, 0 marked, 1200 in flight, newest 266, rtt Some(10), \
             rate 2400 limited",
            "276 sent 858 of 2058 limited",
            "286 acked 858 of 2058 from 276 limited",
            "286 acked 1200 of 1200 from 266 limited",
            "286 end 2058 in 2, 0 lost, 0 marked, 0 in flight, newest 276, rtt Some(10), \
             rate 2058 limited",
        ]
    );
    let found = talk.pair.client.statistics();
    assert_eq!(
        found,
        Statistics {
            packets_sent: 9,
            bytes_sent: 10_116,
            data_packets_sent: 7,
            control_packets_sent: 1,
            packets_received: 3,
            bytes_received: 1266,
            packets_lost: 3,
            packets_retransmitted: 5,
            timeouts: 2,
            loss_events: 1,
            smoothed_rtt: millis(10),
            ..Statistics::default()
        }
    );
    let arrived = talk.pair.server.statistics();
    assert_eq!((arrived.payload_received, arrived.loss_events), (2000, 0));
}

#[test]
fn credit_is_given_as_data_is_read() {
    // RFC 9000 §4.1: a sender without credit sends DATA_BLOCKED or STREAM_DATA_BLOCKED (§19.12,
    // §19.13); §4.2: the maxima are the octets read plus the windows of 3000 and 2500 octets.
    let mut config = small();
    config.flow_control.initial_max_data = 3000;
    config.flow_control.initial_max_stream_data = 2500;
    let mut talk = open(config, &[]);
    talk.pair.reads = false;
    talk.write(Side::Client, 6000);
    assert_eq!(
        talk.run(100),
        [
            "101 client 0 1200, stream 0+1172",
            "101 client 1 1200, stream 1172+1170",
            "101 client 2 188, stream 2342+158",
            "101 client 3 30, StreamDataBlocked { id: 0, limit: 2500 }",
            "106 server 0 31, ack 0..1 after 0",
            "106 server 1 31, ack 0..3 after 0",
        ]
    );
    talk.pair.reads = true;
    assert_eq!(
        talk.run(200),
        [
            "202 server 2 33, MaxData(5500), MaxStreamData { id: 0, maximum: 5000 }",
            "207 client 4 1200, ack 0..2 after 0, stream 2500+1165",
            "207 client 5 1200, stream 3665+1170",
            "207 client 6 195, stream 4835+165",
            "207 client 7 30, StreamDataBlocked { id: 0, limit: 5000 }",
            "212 server 3 38, ack 0..5 after 0, MaxData(7835), MaxStreamData { id: 0, maximum: 7335 }",
            "212 server 4 35, ack 0..7 after 0, MaxStreamData { id: 0, maximum: 7500 }",
            "217 client 8 1035, ack 2..3 after 0, stream 5000+1000",
            "242 client 9 32, ack 2..4 after 3125",
            "247 server 5 31, ack 8..9 after 0",
        ]
    );
    let found = talk.pair.client.statistics();
    let sent = (found.packets_sent, found.data_packets_sent);
    // The two of the handshake, of which one elicits an acknowledgement; of the ten of the Data
    // space, two that report missing credit, and one with an acknowledgement alone.
    assert_eq!((sent, found.control_packets_sent), ((12, 7), 3));
    assert_eq!(found.packets_retransmitted, 0);
}

#[test]
fn a_mark_is_a_congestion_event_without_a_loss() {
    // RFC 9000 §13.2.1: Congestion Experienced is acknowledged at once; RFC 9002 §7.1.
    let mut config = small();
    config.ecn = true;
    let mut talk = open(config, &[]);
    talk.write(Side::Client, 500);
    assert_eq!(
        talk.run(50),
        [
            "101 client 0 528, stream 0+500",
            "131 server 0 35, ack 0..0 after 3125",
        ]
    );
    talk.pair.mark_next = true;
    talk.write(Side::Client, 500);
    assert_eq!(
        talk.run(50),
        [
            "152 client 1 530, stream 500+500",
            "157 server 1 34, ack 0..1 after 0",
        ]
    );
    assert_eq!(
        talk.recorder.take_calls(),
        [
            "101 sent 528 of 1728 limited",
            "136 acked 528 of 528 from 101 limited",
            "136 end 528 in 1, 0 lost, 0 marked, 0 in flight, newest 101, rtt Some(35), \
             rate 528 limited",
            "152 sent 530 of 530 limited",
            "162 event from 152: 0 lost, 530 in flight, None outstanding ecn",
            "162 acked 530 of 530 from 152 limited",
            "162 end 530 in 1, 0 lost, 1 marked, 0 in flight, newest 152, rtt Some(10), \
             rate 530 limited",
        ]
    );
    let found = talk.pair.client.statistics();
    assert_eq!((found.loss_events, found.packets_lost), (1, 0));
    // The second mark counts as one more, whatever the total count is.
    talk.pair.mark_next = true;
    talk.write(Side::Client, 500);
    talk.run(50);
    let ends = talk.recorder.take_calls_of("end");
    assert!(ends.iter().all(|line| line.contains(" 1 marked")) && ends.len() == 1);
}

#[test]
fn a_client_that_closes_answers_each_packet_and_then_is_silent() {
    // RFC 9000 §10.2: three PTO of 10 + 4 · 5 + 25 ms; §10.2.1: packets are answered with
    // CONNECTION_CLOSE; §10.2.3: in an Initial packet it is that of the transport.
    let mut talk = open(small(), &[]);
    talk.write(Side::Server, 3000);
    let now = talk.pair.now;
    talk.pair.client.close(now);
    let over = now + millis(3 * 55);
    assert_eq!(talk.pair.client.poll_timeout(), Some(over));
    talk.pair
        .client
        .handle_timeout(over - Duration::from_nanos(1));
    assert_eq!(talk.pair.client.state, State::Closing(over));
    assert_eq!(
        talk.run(300),
        [
            "101 client initial 2 47, close 0 Some(0)",
            "101 server 0 1200, stream 0+1172",
            "101 server 1 1200, stream 1172+1170",
            "101 server 2 688, stream 2342+658",
            "106 client initial 3 47, close 0 Some(0)",
            "106 client initial 4 47, close 0 Some(0)",
            "106 client initial 5 47, close 0 Some(0)",
        ]
    );
    let states = (talk.pair.client.state, talk.pair.server.state);
    assert_eq!(states, (State::Closed, State::Draining));
    // A packet that arrives then is not counted.
    assert_eq!(talk.pair.client.statistics().packets_received, 1);
}

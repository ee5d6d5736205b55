//! Single segments: SYNs out of place, options of the peer, segments of one octet, and whole
//! connections that end in two steps.

use super::exchange::{Exchange, config};
use super::*;
use crate::cc::recorder::Recorder;
use crate::event::PacketContent;

/// A SYN with these flags and options of the peer.
fn syn(flags: u16, mss: u16, window_scale: u8, sack_permitted: bool) -> Packet {
    let syn = SynOptions {
        mss,
        window_scale,
        sack_permitted,
    };
    packet(TcpPacket {
        seq: 0,
        flags,
        syn: Some(syn),
        ..segment(0, &[])
    })
}

fn usual_syn(flags: u16) -> Packet {
    syn(flags, MSS as u16, 10, true)
}

fn client() -> Connection {
    let config = config("linux");
    Connection::client(config, controller(&config, "newreno"))
}

#[test]
fn a_syn_counts_only_where_it_belongs() {
    // RFC 9293 §3.10.7.2 to §3.10.7.4; without simultaneous open.
    let config = config("linux");
    let mut server = Connection::server(config, controller(&config, "newreno"));
    server.handle(at(0), &mut usual_syn(flag::SYN | flag::ACK));
    assert_eq!(server.state, State::Listen);
    server.handle(at(0), &mut usual_syn(flag::SYN));
    assert_eq!(server.state, State::SynReceived);
    assert!(server.poll_transmit(at(0)).is_some());
    server.handle(at(1), &mut usual_syn(flag::SYN | flag::ACK));
    assert!(server.poll_transmit(at(1)).is_none());

    let mut client = client();
    client.connect(at(0));
    let syn = client.poll_transmit(at(0)).expect("a SYN");
    assert_eq!((syn.id, syn.size), (1, 20 + 32));
    client.handle(at(100), &mut usual_syn(flag::SYN));
    assert_eq!(client.state, State::SynSent);
    client.handle(at(100), &mut usual_syn(flag::SYN | flag::ACK));
    assert_eq!(client.state, State::Established);
    let ack = client.poll_transmit(at(100)).expect("an acknowledgement");
    assert_eq!((ack.id, ack.size), (2, 20 + 20));
    client.handle(at(101), &mut usual_syn(flag::SYN));
    assert!(client.poll_transmit(at(101)).is_none());
}

#[test]
fn the_options_of_the_syn_of_the_peer_are_bounded() {
    // RFC 7323 §2.3: a shift above 14 counts as 14. RFC 2018 §2: no SACK without permission.
    let mut sender = client();
    sender.connect(at(0));
    sender.poll_transmit(at(0));
    sender.handle(at(100), &mut syn(flag::SYN | flag::ACK, 0, 15, false));
    assert_eq!((sender.config.segment_size, sender.sack), (1, false));
    let mut opens = segment(0, &[]);
    opens.window = 4;
    sender.handle(at(101), &mut packet(opens));
    assert_eq!(sender.peer_window, 4 << 14);
    // RFC 7323 §2.2: the window of a SYN is not scaled.
    let config = Config {
        receive_buffer: 60_000,
        ..config("linux")
    };
    let mut client = Connection::client(config, controller(&config, "newreno"));
    client.connect(at(0));
    let Some(Body::Tcp(syn)) = client.poll_transmit(at(0)).map(|packet| packet.body) else {
        panic!("not TCP")
    };
    assert_eq!(syn.window, 60_000);
}

#[test]
fn a_segment_of_one_octet_is_one() {
    let recorder = Recorder::of_window(4 * MSS);
    let mut bench = Bench::open_of(config("linux"), Box::new(recorder.clone()), false);
    bench.sender.events.set_mask(EventMask::PACKET);
    bench.sender.unsent = 1;
    let sent = bench.sender.poll_transmit(at(100)).expect("a segment");
    assert_eq!((sent.id, sent.size), (2, 20 + 20 + 1));
    assert_eq!(bench.sender.statistics().data_packets_sent, 1);
    let first = bench.sender.events.drain().next().expect("a row").1;
    let Event::Sent {
        number,
        size,
        content,
        ..
    } = first
    else {
        panic!("{first:?}")
    };
    assert_eq!((number, size, content), (0, 21, PacketContent::Data));
    recorder.take_calls();
    let acknowledged = TcpPacket {
        ack: wrap(0, 1),
        ..segment(0, &[])
    };
    bench.receive(at(200), acknowledged);
    let acked = recorder.take_calls_of("acked");
    assert_eq!(acked, ["200 acked 1 of 1 from 100 limited"]);
    // After a rest, one more.
    assert_eq!(bench.sent(200), []);
    assert_eq!(bench.sender.poll_timeout(), None);
    bench.sender.unsent = 1;
    assert_eq!(bench.sent(201).len(), 1);

    let mut exchange = Exchange::new(&config("linux"));
    exchange.ends[0].connect(at(0));
    exchange.run(100);
    exchange.write(1);
    exchange.run(1000);
    let expected = [EndpointEvent::Connected, EndpointEvent::Readable];
    assert_eq!(exchange.events(1), expected);
    assert_eq!(exchange.read(1), 1);
}

#[test]
fn a_fin_may_come_with_data_and_before_the_other_ends() {
    // RFC 9293 §3.10.7.4: the FIN follows the data of its segment.
    let mut exchange = Exchange::new(&config("linux"));
    exchange.ends[0].connect(at(0));
    exchange.run(150);
    let last = TcpPacket {
        flags: flag::ACK | flag::FIN,
        payload_len: 1000,
        ..segment(0, &[])
    };
    exchange.log.clear();
    exchange.ends[1].handle(at(150), &mut packet(last));
    exchange.send();
    assert_eq!(exchange.log, ["150 < F. 1 1002 0"]);

    // RFC 9293 §3.6: an end that has sent its FIN still receives.
    let mut exchange = Exchange::new(&config("linux"));
    exchange.ends[0].connect(at(0));
    exchange.run(150);
    let written = exchange.ends[1].write(at(150), Payload::of_len(30_000));
    assert_eq!(written, Ok(()));
    exchange.ends[0].close(at(150));
    exchange.run(260);
    assert!(exchange.ends[0].fin.acknowledged && !exchange.ends[0].fin.received);
    exchange.run(5000);
    assert_eq!(exchange.read(0), 30_000);
    let closed = EndpointEvent::Closed(CloseReason::Finished);
    for end in 0..2 {
        assert_eq!(exchange.events(end).pop(), Some(closed), "{end}");
    }
}

#[test]
fn a_silent_peer_is_waited_for_at_least_100_seconds() {
    // RFC 9293 §3.8.3: R2 is at least 100 s, here from the first expiry at 5 s on.
    let config = Config {
        rto_initial: Duration::from_secs(5),
        rto_max: Duration::from_secs(5),
        ..config("linux")
    };
    let mut client = Connection::client(config, controller(&config, "newreno"));
    client.connect(at(0));
    let mut last = at(0);
    while client.state != State::Closed {
        last = client.poll_timeout().expect("a timer");
        client.handle_timeout(last);
    }
    assert_eq!(last, at(105_000));
}

#[test]
fn the_presets_have_the_timers_of_their_models() {
    // ns-2: `rtxcur_init_` is 3 s, `minrto_` 0.2 s, `maxrto_` 60 s, and the sink acknowledges every
    // segment.
    let ns2 = Config::named("ns2-sack1").expect("a preset");
    let times = [ns2.rto_initial, ns2.rto_min, ns2.rto_max];
    assert_eq!(times, [MS(3000), MS(200), MS(60_000)]);
    assert_eq!(ns2.ack_every, 1);
    let mut exchange = Exchange::new(&config("ns2-sack1"));
    exchange.ends[0].connect(at(0));
    exchange.run(100);
    exchange.write(1000);
    exchange.run(150);
    assert_eq!(exchange.log.last().expect("a line"), "150 < . 1 1001 0");
}

#[test]
fn a_probe_waits_a_second_without_a_round_trip_time() {
    // RFC 8985 §7.2: PTO is 1 s if SRTT is unknown, as after a lost SYN.
    let mut bench = Bench::open("linux", true);
    assert_eq!(bench.sent(1100), [0]);
    assert_eq!(bench.expire(), 2100);
    assert_eq!(bench.sent(2100), [1]);
    assert_eq!(bench.sender.statistics().timeouts, 1, "that of the SYN");
}

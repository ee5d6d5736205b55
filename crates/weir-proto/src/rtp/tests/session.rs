//! One end of a session step by step: its counters, its rows in traces and its timers.

use super::*;
use crate::endpoint::Statistics;
use crate::event::{PacketContent, PacketType};

/// A session that records all events.
fn session(config: Config) -> Session {
    let mut session = Session::new(config);
    let events = session.events().expect("it traces");
    events.set_mask(EventMask::ALL);
    session
}

fn config(controller: Controller) -> Config {
    Config {
        controller,
        ..Config::default()
    }
}

/// An end that is connected and has this many payloads of 100 octets waiting since 0 ms.
fn waiting(controller: Controller, payloads: u32) -> Session {
    let mut sender = session(config(controller));
    sender.connect(at(0));
    for _ in 0..payloads {
        sender.write(at(0), Payload::of_len(100)).expect("room");
    }
    sender
}

fn packets(end: &mut Session, now: u64) -> Vec<NetPacket> {
    std::iter::from_fn(|| end.poll_transmit(at(now))).collect()
}

fn rows(end: &mut Session) -> Vec<Event> {
    let events = end.events().expect("it traces").drain();
    events.map(|(_, event)| event).collect()
}

fn numbers(rows: &[Event]) -> Vec<(u64, u32, PacketContent)> {
    let row = |event: &Event| match *event {
        Event::Sent {
            number,
            size,
            content,
            packet_type: PacketType::None,
        }
        | Event::Received {
            number,
            size,
            content,
            packet_type: PacketType::None,
        } => Some((number, size, content)),
        _ => None,
    };
    rows.iter().filter_map(row).collect()
}

/// The rates of the controller in a trace, in bit/s.
fn rates(rows: &[Event]) -> Vec<f64> {
    let rate = |event: &Event| match event {
        Event::Rate(state) => Some(state.allowed_rate.as_bps()),
        _ => None,
    };
    rows.iter().filter_map(rate).collect()
}

fn endpoint_events(end: &mut Session) -> Vec<EndpointEvent> {
    std::iter::from_fn(|| {
        let has_event = end.has_event();
        let event = end.poll_event();
        assert_eq!(has_event, event.is_some());
        event
    })
    .collect()
}

#[test]
fn each_packet_is_counted_once_and_has_its_row_at_both_ends() {
    let mut sender = waiting(Controller::Uncontrolled, 3);
    let mut receiver = session(config(Controller::Uncontrolled));
    let sent = packets(&mut sender, 0);
    assert_eq!(sent.iter().map(|p| p.id).collect::<Vec<_>>(), [0, 1, 2]);
    for packet in sent {
        receiver.handle(at(1), &mut packet.clone());
    }
    // Twelve octets of header (RFC 3550 §5.1) and 100 of payload.
    let both = |s: Statistics| {
        (
            s.packets_sent,
            s.bytes_sent,
            s.packets_received,
            s.bytes_received,
        )
    };
    assert_eq!(both(sender.statistics()), (3, 336, 0, 0));
    assert_eq!(sender.statistics().data_packets_sent, 3);
    assert_eq!(both(receiver.statistics()), (0, 0, 3, 336));
    let media = receiver.statistics();
    assert_eq!(
        (
            media.data_packets_received,
            media.data_bytes_received,
            media.payload_received
        ),
        (3, 336, 300)
    );
    let (sent, received) = (rows(&mut sender), rows(&mut receiver));
    let first = numbers(&sent)[0].0;
    let expected = [0, 1, 2].map(|n| (first + n, 112, PacketContent::Data));
    assert_eq!(numbers(&sent), expected);
    assert_eq!(numbers(&received), expected);
    assert_eq!(
        endpoint_events(&mut receiver),
        [
            EndpointEvent::Connected,
            EndpointEvent::Readable,
            EndpointEvent::Readable,
            EndpointEvent::Readable
        ]
    );
    // RFC 8888 §3.1: 8 octets of header, 8 of the block, 3 metrics of 2 and 2 of padding, 4 of the
    // timestamp, which is 101 ms · 65536 Hz = 6619.1.
    for (report, millis) in [(0, 101), (1, 201)] {
        receiver.handle_timeout(at(millis));
        let mut reports = packets(&mut receiver, millis);
        assert_eq!(reports.len(), 1);
        let rows = numbers(&rows(&mut receiver));
        let octets = if report == 0 { 28 } else { 24 };
        assert_eq!(rows, [(report, octets, PacketContent::Acknowledgement)]);
        sender.handle(at(millis + 1), &mut reports[0]);
        // One more packet, so that there is another report.
        sender.write(at(102), Payload::of_len(100)).expect("room");
        for mut packet in packets(&mut sender, 102) {
            receiver.handle(at(103), &mut packet);
        }
        drop(receiver.events().expect("it traces").drain());
    }
    assert_eq!(both(receiver.statistics()), (2, 52, 5, 560));
    assert_eq!(both(sender.statistics()), (5, 560, 2, 52));
    let reports = numbers(&rows(&mut sender));
    let of_reports = |row: &&(u64, u32, PacketContent)| row.2 == PacketContent::Acknowledgement;
    let reports: Vec<_> = reports.iter().filter(of_reports).collect();
    assert_eq!((reports[0].0, reports[0].1), (6619, 28));
    assert_eq!(sender.statistics().packets_lost, 0);
}

#[test]
fn without_a_report_the_rate_is_halved_once_and_again_only_for_what_is_sent_later() {
    // RFC 8888 §5: the rate is reduced without feedback; `feedback_timeout` is 500 ms.
    for (sent_again, next) in [(false, None), (true, Some(at(1000)))] {
        let mut config = Config::default();
        config.constants.nada.min_rate = 1000;
        let mut sender = session(config);
        sender.connect(at(0));
        sender.write(at(0), Payload::of_len(10)).expect("room");
        assert_eq!(packets(&mut sender, 0).len(), 1);
        if sent_again {
            sender.write(at(300), Payload::of_len(10)).expect("room");
            assert_eq!(packets(&mut sender, 300).len(), 1);
        }
        rows(&mut sender);
        assert_eq!(sender.poll_timeout(), Some(at(500)));
        sender.handle_timeout(at(499));
        assert_eq!(sender.statistics().timeouts, 0);
        sender.handle_timeout(at(500));
        assert_eq!(sender.statistics().timeouts, 1);
        assert_eq!(sender.poll_timeout(), next);
        let rows = rows(&mut sender);
        assert!(matches!(rows[0], Event::Timeout { backoff: 0 }));
        assert_eq!(rates(&rows).len(), 1, "the new rate has its row");
    }
    // Without a controller no timer waits for reports.
    let mut sender = waiting(Controller::Uncontrolled, 1);
    packets(&mut sender, 0);
    assert_eq!(sender.poll_timeout(), None);
    sender.handle_timeout(at(600));
    assert_eq!(sender.statistics().timeouts, 0);
}

#[test]
fn a_closed_end_waits_for_no_report() {
    let mut sender = waiting(Controller::Nada, 1);
    sender.close(at(0));
    assert_eq!(packets(&mut sender, 0).len(), 1);
    assert_eq!(sender.poll_timeout(), None);
    // Neither an arriving packet nor a call opens it again.
    let mut peer = waiting(Controller::Uncontrolled, 1);
    let mut packet = packets(&mut peer, 0).remove(0);
    endpoint_events(&mut sender);
    sender.handle(at(1), &mut packet);
    sender.connect(at(1));
    assert_eq!(endpoint_events(&mut sender), [EndpointEvent::Readable]);
}

#[test]
fn an_end_is_connected_once() {
    let mut sender = session(config(Controller::Nada));
    sender.connect(at(0));
    sender.connect(at(1));
    assert_eq!(endpoint_events(&mut sender), [EndpointEvent::Connected]);
    // RFC 8698 §4.1: RMIN, 150 kbit/s, at each time.
    assert_eq!(rates(&rows(&mut sender)), [150e3, 150e3]);
    sender.close(at(2));
    assert_eq!(
        endpoint_events(&mut sender),
        [EndpointEvent::Closed(CloseReason::Finished)]
    );
    // A session that never was open does not report an end.
    let mut sender = session(config(Controller::Nada));
    sender.close(at(0));
    assert_eq!(endpoint_events(&mut sender), []);
}

#[test]
fn each_report_has_a_row_of_the_rate_and_of_its_round_trip() {
    let mut sender = waiting(Controller::Nada, 1);
    let mut receiver = session(config(Controller::Nada));
    let mut packet = packets(&mut sender, 0).remove(0);
    receiver.handle(at(25), &mut packet);
    receiver.handle_timeout(at(125));
    let mut report = packets(&mut receiver, 125).remove(0);
    rows(&mut sender);
    sender.handle(at(150), &mut report);
    assert_eq!(sender.poll_timeout(), None, "nothing is on its way");
    let rows = rows(&mut sender);
    assert_eq!(rates(&rows).len(), 1);
    let rtt = rows.iter().find_map(|event| match event {
        Event::Rtt(rtt) => Some(*rtt),
        _ => None,
    });
    // 150 ms less the 102/1024 s that the receiver kept it (100 ms are 102.4).
    let kept = Duration::from_nanos(102 * 1_000_000_000 / 1024);
    let expected = Duration::from_millis(150).saturating_sub(kept);
    assert_eq!(rtt, Some(expected));
    assert_eq!(sender.statistics().smoothed_rtt, expected);
}

#[test]
fn a_loss_is_counted_as_one_packet_and_one_event() {
    let mut sender = waiting(Controller::Nada, 0);
    let mut receiver = session(config(Controller::Nada));
    for n in 0..10 {
        let now = 40 * n;
        sender.write(at(now), Payload::of_len(100)).expect("room");
        for mut packet in packets(&mut sender, now) {
            if n != 4 {
                receiver.handle(at(now + 1), &mut packet);
            }
        }
    }
    rows(&mut sender);
    receiver.handle_timeout(at(400));
    let mut report = packets(&mut receiver, 400).remove(0);
    sender.handle(at(401), &mut report);
    let counted = sender.statistics();
    assert_eq!((counted.packets_lost, counted.loss_events), (1, 1));
    assert_eq!(counted.packets_late, 0);
    let rows = rows(&mut sender);
    let lost = |event: &Event| match *event {
        Event::Lost { size, trigger, .. } => Some((size, trigger)),
        _ => None,
    };
    let lost: Vec<_> = rows.iter().filter_map(lost).collect();
    assert_eq!(lost, [(112, LossTrigger::Reported)]);
}

#[test]
fn the_bound_of_a_session_is_reported() {
    let bound = |end: &mut Session| {
        let bound = |event: Event| match event {
            Event::Blocked(bound) => Some(bound),
            _ => None,
        };
        rows(end).into_iter().filter_map(bound).next_back()
    };
    // At RMIN and 5 % more 100 octets take 5.08 ms: the second payload waits for its time.
    let mut sender = waiting(Controller::Nada, 2);
    assert_eq!(packets(&mut sender, 0).len(), 1);
    let target = sender.media_target().expect("NADA");
    assert_eq!(target.buffered_bytes, 100);
    assert_eq!(bound(&mut sender), Some(SndLim::Rate));
    assert_eq!(packets(&mut sender, 5).len(), 0);
    assert_eq!(packets(&mut sender, 6).len(), 1);
    assert_eq!(bound(&mut sender), Some(SndLim::Application));
    sender.close(at(7));
    packets(&mut sender, 7);
    assert_eq!(bound(&mut sender), Some(SndLim::Nothing));
}

#[test]
fn writes_have_rows_with_their_octets_and_room_is_reported_once() {
    let mut sender = session(Config {
        send_queue: 1,
        ..config(Controller::Uncontrolled)
    });
    sender.connect(at(0));
    endpoint_events(&mut sender);
    assert_eq!(sender.write(at(0), Payload::of_len(7)), Ok(()));
    assert_eq!(
        sender.write(at(0), Payload::of_len(8)),
        Err(WriteError::Blocked)
    );
    let written = |event: &Event| match *event {
        Event::Write(len) => Some(len),
        _ => None,
    };
    let rows = rows(&mut sender);
    assert_eq!(rows.iter().filter_map(written).collect::<Vec<_>>(), [7]);
    packets(&mut sender, 0);
    assert_eq!(endpoint_events(&mut sender), [EndpointEvent::Writable]);
    assert_eq!(sender.write(at(1), Payload::of_len(8)), Ok(()));
    packets(&mut sender, 1);
    assert_eq!(endpoint_events(&mut sender), [], "no write was refused");
}

#[test]
fn ends_differ_by_their_seed_and_take_no_other_stream() {
    let mut sender = waiting(Controller::Uncontrolled, 1);
    let mut other = session(Config {
        seed: 7,
        ..config(Controller::Uncontrolled)
    });
    other.connect(at(0));
    other.write(at(0), Payload::of_len(50)).expect("room");
    let [mut packet, mut stranger] = [&mut sender, &mut other].map(|end| packets(end, 0).remove(0));
    let stream = |packet: &NetPacket| match &packet.body {
        Body::Rtp(Packet::Media(media)) => (media.ssrc, media.payload_type, media.sequence),
        _ => panic!("it is media"),
    };
    let (ssrc, payload_type, sequence) = stream(&packet);
    assert_ne!(ssrc, stream(&stranger).0);
    // RFC 3551 §3: 96 is the first dynamic type. A first number below 2^15 leaves the receiver
    // that misses it time until the numbers wrap.
    assert_eq!(payload_type, 96);
    assert!((1..1 << 15).contains(&sequence), "{sequence}");
    let mut receiver = session(config(Controller::Uncontrolled));
    receiver.handle(at(1), &mut packet);
    receiver.handle(at(2), &mut stranger);
    assert_eq!(receiver.statistics().packets_received, 1);
    receiver.handle_timeout(at(101));
    let mut report = packets(&mut receiver, 101).remove(0);
    // The report is about the first stream only: the packet of the other stream stays in flight.
    other.handle(at(102), &mut report);
    let rows = rows(&mut other);
    assert!(!rows.iter().any(|event| matches!(event, Event::Rtt(_))));
}

#[test]
fn a_full_window_holds_packets_until_a_report_is_missed() {
    let mut sender = session(config(Controller::Scream));
    sender.connect(at(0));
    for _ in 0..12 {
        sender.write(at(0), Payload::of_len(1000)).expect("room");
    }
    // SCReAM's window is 3000 octets at first, of which three times as many may be in flight.
    let sent: usize = (0..480).map(|now| packets(&mut sender, now).len()).sum();
    assert_eq!(sent, 9);
    let bounds: Vec<_> = rows(&mut sender)
        .into_iter()
        .filter_map(|event| match event {
            Event::Blocked(bound) => Some(bound),
            _ => None,
        })
        .collect();
    assert_eq!(bounds, [SndLim::Rate, SndLim::Window]);
    assert_eq!(sender.poll_timeout(), Some(at(500)));
    sender.handle_timeout(at(500));
    assert_eq!(packets(&mut sender, 500).len(), 1);
}

#[test]
fn frames_that_wait_lower_the_target_of_scream() {
    let mut sender = session(config(Controller::Scream));
    let mut receiver = session(config(Controller::Scream));
    sender.connect(at(0));
    for k in 0..=10 {
        sender
            .write(at(20 * k), Payload::of_len(375))
            .expect("room");
    }
    let mut sent = packets(&mut sender, 219);
    receiver.handle(at(225), &mut sent[0]);
    receiver.handle_timeout(at(325));
    let mut reports = packets(&mut receiver, 325);
    sender.handle(at(330), &mut reports[0]);
    // The kth frame finds one that waits for 20 k ms: rate_adjust_factor is 0.5, its most. Frames
    // have the size for 150 kbit/s. MSS is a third of the window, which counts as 0.2.
    let rtt = sender.statistics().smoothed_rtt.as_secs_f64();
    let expected = 8.0 * 3000.0 / rtt * 0.8 / 1.02 / 1.7;
    let target = sender.media_target().expect("SCReAM").rate.as_bps();
    assert!(
        (target / expected - 1.0).abs() < 1e-9,
        "{target} {expected}"
    );
}

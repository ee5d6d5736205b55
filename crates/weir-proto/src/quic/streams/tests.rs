//! Streams: reassembly in any order, retransmission, taking turns and flow control.

use super::*;
use proptest::prelude::*;

const CONFIG: FlowControlConfig = FlowControlConfig {
    initial_max_data: 100_000,
    initial_max_stream_data: 50_000,
    max_data_threshold: 0.5,
    max_stream_data_threshold: 0.5,
    announce_at_once: false,
    max_streams: 10,
};

fn frame(id: u64, offset: u64, len: u32) -> StreamFrame {
    StreamFrame {
        id,
        offset,
        len,
        fin: false,
    }
}

proptest! {
    #[test]
    fn a_stream_is_reassembled_from_frames_in_any_order(
        cuts in prop::collection::btree_set(1_u64..5000, 0..40),
        seed in any::<u64>(),
    ) {
        let mut bounds: Vec<u64> = std::iter::once(0).chain(cuts).collect();
        bounds.push(5000);
        let mut frames: Vec<StreamFrame> = bounds
            .windows(2)
            .map(|pair| frame(0, pair[0], (pair[1] - pair[0]) as u32))
            .collect();
        let mut rng = crate::rng::Rng::stream(seed, "shuffle");
        for at in (1..frames.len()).rev() {
            frames.swap(at, rng.below(at as u64 + 1) as usize);
        }
        let mut streams = Streams::new(Role::Server, CONFIG);
        let (mut new, mut read) = (0, 0);
        for frame in &frames {
            new += streams.on_stream_frame(frame).unwrap();
            // A duplicate has no new octets.
            prop_assert_eq!(streams.on_stream_frame(frame).unwrap(), 0);
            read += streams.read(u64::MAX);
        }
        prop_assert_eq!(new, 5000);
        prop_assert_eq!(read, 5000);
    }

    #[test]
    fn lost_data_is_sent_again_until_all_is_acknowledged(
        total in 1_u64..20_000,
        seed in any::<u64>(),
    ) {
        let mut rng = crate::rng::Rng::stream(seed, "loss");
        let mut sender = Streams::new(Role::Client, CONFIG);
        let mut receiver = Streams::new(Role::Server, CONFIG);
        sender.write(0, total);
        sender.finish();
        let mut read = 0;
        for _ in 0..10_000 {
            let room = 20 + rng.below(1200) as u32;
            let Some(frame) = sender.next_frame(room) else { break };
            prop_assert!(Frame::Stream(frame).len(true) <= room);
            if rng.chance(0.3) {
                sender.on_lost(&frame);
                continue;
            }
            receiver.on_stream_frame(&frame).unwrap();
            read += receiver.read(u64::MAX);
            sender.on_acked(&frame);
        }
        prop_assert_eq!(read, total);
        prop_assert!(sender.all_sent());
        prop_assert_eq!(sender.unsent(), 0);
    }
}

#[test]
fn streams_take_turns() {
    let mut streams = Streams::new(Role::Client, CONFIG);
    for (id, octets) in [(0, 3000), (4, 0), (8, 3000)] {
        streams.write(id, octets);
    }
    let order: Vec<u64> = (0..4)
        .map(|_| streams.next_frame(500).unwrap().id)
        .collect();
    assert_eq!(order, [0, 8, 0, 8]);
}

#[test]
fn each_stream_and_the_connection_have_their_own_flow_control() {
    let mut streams = Streams::new(Role::Client, CONFIG);
    for id in [0, 4, 8] {
        streams.write(id, 60_000);
    }
    let mut sent = [0, 0, 0];
    while let Some(frame) = streams.next_frame(1200) {
        sent[frame.id as usize / 4] += u64::from(frame.len);
    }
    assert_eq!(sent.iter().sum::<u64>(), 100_000);
    assert!(sent.iter().all(|octets| *octets <= 50_000));
    assert_eq!(
        streams.next_blocked_frame(),
        Some(Frame::DataBlocked(100_000))
    );
    streams
        .on_flow_control_frame(&Frame::MaxData(200_000))
        .unwrap();
    while streams.next_frame(1200).is_some() {}
    let blocked: Vec<Frame> = std::iter::from_fn(|| streams.next_blocked_frame()).collect();
    let expected = [0, 4, 8].map(|id| Frame::StreamDataBlocked { id, limit: 50_000 });
    assert_eq!(blocked, expected);
    let update = Frame::MaxStreamData {
        id: 4,
        maximum: 55_000,
    };
    streams.on_flow_control_frame(&update).unwrap();
    assert_eq!(streams.next_frame(1200).unwrap().id, 4);
}

#[test]
fn the_maximum_is_raised_as_the_application_reads_and_repeated_if_lost() {
    let mut streams = Streams::new(Role::Server, CONFIG);
    streams.on_stream_frame(&frame(0, 0, 30_000)).unwrap();
    assert_eq!(streams.next_max_frame(), None);
    streams.read(25_000);
    let renewed = Frame::MaxStreamData {
        id: 0,
        maximum: 75_000,
    };
    assert_eq!(streams.next_max_frame(), Some(renewed.clone()));
    assert_eq!(streams.next_max_frame(), None);
    streams.on_flow_control_frame_lost(&renewed);
    assert_eq!(streams.next_max_frame(), Some(renewed.clone()));
    // A sender that is blocked below the announced maximum has not received it.
    let blocked = |limit| Frame::StreamDataBlocked { id: 0, limit };
    streams.on_flow_control_frame(&blocked(75_000)).unwrap();
    assert_eq!(streams.next_max_frame(), None);
    streams.on_flow_control_frame(&blocked(50_000)).unwrap();
    assert_eq!(streams.next_max_frame(), Some(renewed));
}

#[test]
fn directions_of_streams_are_respected() {
    let mut server = Streams::new(Role::Server, CONFIG);
    // Stream 3 is unidirectional from the server, stream 2 from the client.
    assert!(server.write(3, 10));
    assert!(!server.write(2, 10));
    assert_eq!(
        server.on_stream_frame(&frame(3, 0, 1)).unwrap_err().code,
        0x5
    );
    assert!(server.on_stream_frame(&frame(2, 0, 1)).is_ok());
    let credit = Frame::MaxStreamData { id: 2, maximum: 1 };
    assert_eq!(server.on_flow_control_frame(&credit).unwrap_err().code, 0x5);
}

#[test]
fn the_low_bits_of_an_id_tell_the_directions() {
    // RFC 9000 §2.1: 0 and 1 are bidirectional, 2 carries data of the client, 3 of the server.
    for (role, sends, receives) in [
        (
            Role::Client,
            [true, true, true, false],
            [true, true, false, true],
        ),
        (
            Role::Server,
            [true, true, false, true],
            [true, true, true, false],
        ),
    ] {
        let mut streams = Streams::new(role, CONFIG);
        assert_eq!([0, 1, 2, 3].map(|id| streams.write(id, 1)), sends);
        let accepted = [0, 1, 2, 3].map(|id| streams.on_stream_frame(&frame(id, 0, 1)).is_ok());
        assert_eq!(accepted, receives);
    }
}

#[test]
fn streams_with_a_gap_at_the_front_are_not_read() {
    let mut streams = Streams::new(Role::Server, CONFIG);
    streams.on_stream_frame(&frame(0, 1, 5)).unwrap();
    assert!(!streams.is_readable());
    assert_eq!(streams.read(10), 0);
    streams.on_stream_frame(&frame(4, 0, 1)).unwrap();
    assert!(streams.is_readable());
    assert_eq!(streams.read(10), 1);
    assert!(!streams.is_readable());
}

#[test]
fn a_sender_is_blocked_by_the_stream_or_by_the_connection() {
    // RFC 9000 §4.1: either limit blocks, and is reported until the peer has received the report.
    let config = FlowControlConfig {
        initial_max_data: 100,
        initial_max_stream_data: 60,
        ..CONFIG
    };
    let mut streams = Streams::new(Role::Client, config);
    let of_stream = Frame::StreamDataBlocked { id: 0, limit: 60 };
    let of_connection = Frame::DataBlocked(100);
    for (id, octets, sent, report) in [(0, 61, 60, of_stream), (4, 41, 40, of_connection)] {
        streams.write(id, octets);
        assert!(!streams.is_blocked() && !streams.blocked_frame_needed());
        assert_eq!(streams.next_frame(1200), Some(frame(id, 0, sent)));
        for _ in 0..2 {
            assert!(streams.is_blocked() && streams.blocked_frame_needed());
            assert_eq!(streams.next_blocked_frame(), Some(report.clone()));
            assert!(!streams.blocked_frame_needed());
            assert_eq!(streams.next_blocked_frame(), None);
            streams.on_flow_control_frame_lost(&report);
        }
        assert_eq!(streams.next_blocked_frame(), Some(report));
    }
    // The last octet of each limit.
    for (update, id, offset) in [
        (Frame::MaxData(102), 4, 40),
        (Frame::MaxStreamData { id: 0, maximum: 61 }, 0, 60),
    ] {
        assert!(streams.is_blocked());
        streams.on_flow_control_frame(&update).unwrap();
        assert!(!streams.is_blocked());
        assert_eq!(streams.next_frame(1200), Some(frame(id, offset, 1)));
    }
    assert!(!streams.is_blocked());
}

#[test]
fn the_receive_window_is_the_smallest_credit_beyond_what_is_acknowledged() {
    let config = FlowControlConfig {
        initial_max_data: 100,
        initial_max_stream_data: 60,
        ..CONFIG
    };
    let mut streams = Streams::new(Role::Client, config);
    assert_eq!(streams.receive_window(), 100);
    streams.write(0, 60);
    streams.write(4, 40);
    assert_eq!(streams.receive_window(), 60);
    // min(100 - 0, 60 - 0, 60 - 0): octets after a gap do not count.
    streams.on_acked(&frame(0, 1, 29));
    assert_eq!(streams.receive_window(), 60);
    // min(100 - 30, 60 - 30, 60 - 0)
    streams.on_acked(&frame(0, 0, 1));
    assert_eq!(streams.receive_window(), 30);
    // min(100 - 40, 60 - 30, 60 - 10)
    streams.on_acked(&frame(4, 0, 10));
    assert_eq!(streams.receive_window(), 30);
    // min(100 - 40, 85 - 30, 60 - 10), then min(100 - 40, 85 - 30, 200 - 10), then of 200 - 30.
    for (id, maximum, window) in [(0, 85, 50), (4, 200, 55), (0, 200, 60)] {
        let update = Frame::MaxStreamData { id, maximum };
        streams.on_flow_control_frame(&update).unwrap();
        assert_eq!(streams.receive_window(), window);
    }
}

#[test]
fn a_stream_sends_and_is_blocked_at_the_first_octet() {
    for (written, stream_credit, connection_credit, sends, blocked) in [
        (0, 0, 1, false, false),
        (0, 1, 1, false, false),
        (1, 0, 1, false, true),
        (1, 1, 0, false, false),
        (1, 1, 1, true, false),
    ] {
        let mut stream = SendStream::new(0, stream_credit);
        stream.write(written);
        assert_eq!(stream.has_stream_data(connection_credit), sends);
        assert_eq!(stream.is_blocked(), blocked);
    }
}

#[test]
fn a_stream_is_done_once_its_data_and_its_end_are_acknowledged() {
    let mut stream = SendStream::new(0, 100);
    stream.write(10);
    let (data, _) = stream.next_frame(100, 100).unwrap();
    assert_eq!(data, frame(0, 0, 10));
    stream.on_acked(&frame(0, 0, 5));
    assert!(!stream.is_done());
    stream.on_acked(&data);
    assert!(!stream.is_done(), "not finished");
    stream.finish();
    assert!(!stream.is_done(), "its end is not sent");
    let (end, _) = stream.next_frame(100, 100).unwrap();
    assert_eq!((end.offset, end.len, end.fin), (10, 0, true));
    assert!(!stream.is_done(), "its end is not acknowledged");
    stream.on_acked(&end);
    assert!(stream.is_done());
    // Its end is acknowledged first.
    let mut stream = SendStream::new(0, 100);
    stream.write(10);
    stream.next_frame(100, 100).unwrap();
    stream.finish();
    let (end, _) = stream.next_frame(100, 100).unwrap();
    stream.on_acked(&end);
    assert!(!stream.is_done());
}

#[test]
fn what_is_acknowledged_late_is_not_sent_again() {
    // RFC 9000 §13.3: data is sent again until it is acknowledged.
    let mut stream = SendStream::new(0, 100);
    stream.write(10);
    let (data, _) = stream.next_frame(100, 100).unwrap();
    stream.on_lost(&data);
    assert!(stream.has_stream_data(0));
    stream.on_acked(&data);
    assert!(!stream.has_stream_data(0));
    assert_eq!(stream.next_frame(100, 100), None);
}

#[test]
fn the_end_of_a_stream_is_sent_again_if_its_frame_is_lost() {
    let mut stream = SendStream::new(0, 100);
    stream.write(10);
    stream.finish();
    // Type and id take two octets, an offset one more.
    let (first, _) = stream.next_frame(2 + 5, 100).unwrap();
    let (second, _) = stream.next_frame(3 + 5, 100).unwrap();
    assert_eq!(first, frame(0, 0, 5));
    let last = StreamFrame {
        fin: true,
        ..frame(0, 5, 5)
    };
    assert_eq!(second, last);
    // The loss of the first frame does not repeat the end.
    stream.on_lost(&first);
    assert_eq!(stream.next_frame(100, 0), Some((first, 0)));
    assert_eq!(stream.next_frame(100, 0), None);
    // The data of the second is acknowledged in another frame, its end is not.
    stream.on_acked(&frame(0, 5, 5));
    stream.on_lost(&second);
    let end = StreamFrame {
        fin: true,
        ..frame(0, 10, 0)
    };
    assert_eq!(stream.next_frame(100, 0), Some((end, 0)));
    stream.on_acked(&end);
    stream.on_lost(&second);
    assert_eq!(stream.next_frame(100, 0), None);
}

#[test]
fn the_final_size_of_a_stream_does_not_change() {
    // RFC 9000 §4.5: a FINAL_SIZE_ERROR (0x6) if it changes or data exceeds it.
    let last = |offset, len| StreamFrame {
        fin: true,
        ..frame(0, offset, len)
    };
    for (before, then, error) in [
        (last(0, 10), last(0, 10), None),
        (last(0, 10), frame(0, 5, 5), None),
        (last(0, 10), frame(0, 10, 1), Some(0x6)),
        (last(0, 10), last(0, 9), Some(0x6)),
        (last(0, 10), last(0, 11), Some(0x6)),
        (frame(0, 0, 10), last(10, 0), None),
        (frame(0, 0, 10), last(0, 9), Some(0x6)),
    ] {
        let mut streams = Streams::new(Role::Server, CONFIG);
        streams.on_stream_frame(&before).unwrap();
        let code = streams.on_stream_frame(&then).err().map(|error| error.code);
        assert_eq!(code, error, "{before:?} {then:?}");
    }
}

#[test]
fn the_gaps_of_a_stream_are_bounded() {
    // RFC 9000 §21.7: 65536 single octets with a gap before each, then an INTERNAL_ERROR (0x1).
    let config = FlowControlConfig {
        initial_max_data: 1 << 20,
        initial_max_stream_data: 1 << 20,
        ..CONFIG
    };
    let mut streams = Streams::new(Role::Server, config);
    for octet in 1..=65_536 {
        assert_eq!(streams.on_stream_frame(&frame(0, 2 * octet, 1)), Ok(1));
    }
    let error = streams.on_stream_frame(&frame(0, 2 * 65_537, 1));
    assert_eq!(error.unwrap_err().code, 0x1);
}

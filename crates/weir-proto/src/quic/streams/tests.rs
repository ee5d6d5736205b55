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
    streams.write(0, 3000);
    streams.write(4, 3000);
    let order: Vec<u64> = (0..4)
        .map(|_| streams.next_frame(500).unwrap().id)
        .collect();
    assert_eq!(order, [0, 4, 0, 4]);
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

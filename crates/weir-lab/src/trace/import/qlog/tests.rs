//! What is sent, acknowledged and lost: figures worked by hand.

use super::record::{APPLICATION, Frames, HANDSHAKE, INITIAL, Packet, Space, StreamOctets};
use super::sent::{CONTROL, DATA, NewlyAcked, RETRANSMISSION, SentPackets};
use weir_proto::time::Instant;

/// A packet with octets of stream 0.
fn packet(space: Space, number: u64, size: u32, octets: Option<(u64, u64)>) -> Packet {
    let streams = octets.map(|(offset, length)| StreamOctets {
        stream: 0,
        offset,
        length,
    });
    Packet {
        number: Some(number),
        space,
        type_name: "1RTT",
        size: Some(size),
        frames: Some(Frames {
            streams: streams.into_iter().collect(),
            ack_eliciting: true,
            ..Frames::default()
        }),
        is_probe: false,
    }
}

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

#[test]
fn acknowledged_octets_count_once_and_lost_packets_leave_the_flight() {
    let mut sent = SentPackets::default();
    let app = |number, octets| packet(APPLICATION, number, 100, octets);
    assert_eq!(
        sent.on_sent(at(0), &packet(INITIAL, 0, 1200, None)),
        CONTROL
    );
    assert_eq!(sent.on_sent(at(100), &app(0, Some((0, 80)))), DATA);
    assert_eq!(sent.on_sent(at(200), &app(1, Some((80, 80)))), DATA);
    assert_eq!(sent.in_flight(), 1400);
    assert_eq!(sent.on_lost(APPLICATION, 0), Some(100));
    assert_eq!(sent.on_lost(APPLICATION, 0), Some(100));
    assert_eq!(sent.in_flight(), 1300, "a loss counts once");
    // Octets 40 to 120, of which none is new.
    assert_eq!(
        sent.on_sent(at(300), &app(2, Some((40, 80)))),
        RETRANSMISSION
    );
    let newly = sent.on_acked(APPLICATION, &[(1, 2)]);
    // 120 octets of the stream: 40 to 160. The Initial packet leaves with its keys.
    let expected = NewlyAcked {
        packets: 2,
        octets: 200,
        data: 120,
        largest_sent_at: Some(at(300)),
    };
    assert_eq!(newly, expected);
    assert_eq!(sent.in_flight(), 0);
    // The loss was spurious: 40 further octets, and no sample, because 2 is not new.
    let late = sent.on_acked(APPLICATION, &[(0, 2)]);
    assert_eq!(
        (late.packets, late.data, late.largest_sent_at),
        (1, 40, None)
    );
    assert_eq!(
        sent.on_acked(APPLICATION, &[(0, u64::MAX)]),
        NewlyAcked::default()
    );
    assert_eq!(sent.on_lost(HANDSHAKE, 7), None);
}

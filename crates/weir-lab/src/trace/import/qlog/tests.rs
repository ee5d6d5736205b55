//! The parts of the reader whose figures are worked by hand.

use super::intervals::{Happened, length_of};
use super::record::{APPLICATION, Frames, HANDSHAKE, INITIAL, Packet, Space, StreamOctets};
use super::rtt::RttEstimate;
use super::sent::{CONTROL, DATA, Newly, RETRANSMISSION, SentPackets};

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

#[test]
fn acknowledged_octets_count_once_and_lost_packets_leave_the_flight() {
    let mut sent = SentPackets::default();
    let app = |number, octets| packet(APPLICATION, number, 100, octets);
    assert_eq!(sent.on_sent(0.0, &packet(INITIAL, 0, 1200, None)), CONTROL);
    assert_eq!(sent.on_sent(0.1, &app(0, Some((0, 80)))), DATA);
    assert_eq!(sent.on_sent(0.2, &app(1, Some((80, 80)))), DATA);
    assert_eq!(sent.in_flight(), 1400);
    assert_eq!(sent.on_lost(APPLICATION, 0), Some(100));
    assert_eq!(sent.on_lost(APPLICATION, 0), Some(100));
    assert_eq!(sent.in_flight(), 1300, "a loss counts once");
    // Octets 40 to 120, of which none is new.
    assert_eq!(sent.on_sent(0.3, &app(2, Some((40, 80)))), RETRANSMISSION);
    let newly = sent.on_acked(APPLICATION, &[(1, 2)]);
    // 120 octets of the stream: 40 to 160. The Initial packet leaves with its keys.
    let expected = Newly {
        packets: 2,
        octets: 200,
        data: 120,
        largest_sent_s: Some(0.3),
    };
    assert_eq!(newly, expected);
    assert_eq!(sent.in_flight(), 0);
    // The loss was spurious: 40 further octets, and no sample, because 2 is not new.
    let late = sent.on_acked(APPLICATION, &[(0, 2)]);
    assert_eq!(
        (late.packets, late.data, late.largest_sent_s),
        (1, 40, None)
    );
    assert_eq!(
        sent.on_acked(APPLICATION, &[(0, u64::MAX)]),
        Newly::default()
    );
    assert_eq!(sent.on_lost(HANDSHAKE, 7), None);
}

/// RFC 9002 §5.3: 50 ms with a delay of 10 ms, the smallest being 45 ms: 40 would be below it.
#[test]
fn the_delay_of_an_acknowledgement_is_not_taken_below_the_smallest_sample() {
    let mut rtt = RttEstimate::default();
    rtt.on_sample(0.045, 0.020);
    assert_eq!(rtt.adjusted_s, Some(0.045));
    rtt.on_sample(0.050, 0.010);
    assert_eq!(rtt.adjusted_s, Some(0.050));
    rtt.on_sample(0.065, 0.010);
    let adjusted = rtt.adjusted_s.unwrap();
    assert!((adjusted - 0.055).abs() < 1e-12);
    // 0.045, then 7/8 of it + 0.050/8, then 7/8 of that + 0.055/8.
    let smoothed = rtt.smoothed_s.unwrap();
    assert!((smoothed - 0.046_796_875).abs() < 1e-9, "{smoothed}");
    rtt.on_sample(f64::NAN, 0.0);
    rtt.on_sample(-1.0, 0.0);
    assert_eq!(rtt.adjusted_s, Some(adjusted));
}

#[test]
fn intervals_have_round_lengths_and_a_number_that_a_plot_can_show() {
    let lengths = [
        (4.0, 0.02),
        (5.828, 0.02),
        (0.298, 0.001),
        (26.7, 0.1),
        (100.0, 0.5),
    ];
    for (duration, expected) in lengths {
        let length = length_of(duration);
        assert!((length - expected).abs() < 1e-12, "{duration}: {length}");
    }
    for exponent in -90..90 {
        let duration = 10_f64.powf(f64::from(exponent) / 10.0);
        let rows = (duration / length_of(duration)).ceil();
        assert!((199.0..=501.0).contains(&rows), "{duration}: {rows}");
    }
}

/// 500 octets in the second of 200 intervals of 20 ms are 4000 bits in 0.02 s: 200 kbit/s. What
/// happens at the end of the last interval belongs to it.
#[test]
fn what_happens_is_counted_in_its_interval() {
    let happened = Happened {
        data: vec![(0.02, 300), (0.039, 200)],
        lost: vec![(4.0, 3)],
        arrived: vec![(0.0, 1), (4.0, 1)],
    };
    let table = happened.table(4.0, true).unwrap();
    assert_eq!(table.rows(), 200);
    let goodput = table.numbers("goodput_bps").unwrap();
    assert!(
        (goodput[1] - 200_000.0).abs() < 1e-6 && goodput[0] == 0.0,
        "{goodput:?}"
    );
    let lost = table.as_numbers("packets_lost").unwrap();
    assert_eq!((lost[199], lost.iter().sum::<f64>()), (3.0, 3.0));
    let arrived = table.as_numbers("packets_received").unwrap();
    assert_eq!((arrived[0], arrived[199]), (1.0, 1.0));
    assert!(happened.table(0.0, true).is_none());
    let without = happened.table(4.0, false).unwrap();
    assert!(without.numbers("goodput_bps").is_none());
}

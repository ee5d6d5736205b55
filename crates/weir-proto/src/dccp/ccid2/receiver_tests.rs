//! When the receiver of CCID 2 sends acknowledgements, and their contents.

use super::*;
use crate::payload::Payload;
use crate::time::Duration;

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn data(number: u64) -> Packet {
    Packet::data(SeqNum::new(number), Payload::of_len(1000))
}

/// A receiver at which these data packets arrived at one time.
fn receiver(ack_ratio: u16, numbers: &[u64]) -> Ccid2Receiver {
    let mut receiver = Ccid2Receiver::new(ack_ratio);
    for &number in numbers {
        receiver.on_packet(at(0), &data(number), Ecn::NotEct, &mut Events::default());
    }
    receiver
}

/// The options of an acknowledgement with this number.
fn acknowledge(receiver: &mut Ccid2Receiver, now: Instant, number: u64) -> Options {
    let mut options = Options::new();
    receiver.on_ack_sent(now, SeqNum::new(number), PacketType::Ack, &mut options);
    options
}

fn elapsed(options: &Options) -> Option<u32> {
    options.iter().find_map(|option| match option {
        DccpOption::ElapsedTime(units) => Some(units),
        _ => None,
    })
}

#[test]
fn a_ratio_of_zero_is_one() {
    // RFC 4340 §11.3: an Ack Ratio of zero is not allowed.
    assert!(receiver(0, &[1]).wants_ack(at(0)));
    let mut later = receiver(5, &[]);
    later.set_ack_ratio(0);
    later.on_packet(at(0), &data(1), Ecn::NotEct, &mut Events::default());
    assert!(later.wants_ack(at(0)));
}

#[test]
fn fewer_packets_than_the_ratio_are_acknowledged_after_the_longest_delay() {
    // RFC 4340 §11.3 leaves the delay to the receiver: 200 ms.
    let receiver = receiver(3, &[1, 2]);
    assert_eq!(receiver.poll_timeout(), Some(at(200_000)));
    for (now, wants) in [(0, false), (199_999, false), (200_000, true)] {
        assert_eq!(receiver.wants_ack(at(now)), wants, "{now}");
    }
}

#[test]
fn the_elapsed_time_is_that_since_the_newest_packet_came_first_in_ten_microseconds() {
    // RFC 4340 §13.2.
    for (now, units) in [(9, None), (10, Some(1)), (1_239, Some(123))] {
        let mut receiver = receiver(1, &[1, 3]);
        assert_eq!(elapsed(&acknowledge(&mut receiver, at(now), 70)), units);
    }
    let mut receiver = receiver(1, &[1, 3]);
    for late in [2, 3] {
        receiver.on_packet(at(500), &data(late), Ecn::NotEct, &mut Events::default());
    }
    assert_eq!(elapsed(&acknowledge(&mut receiver, at(600), 70)), Some(60));
    let mut none = Ccid2Receiver::new(1);
    assert_eq!(elapsed(&acknowledge(&mut none, at(600), 70)), None);
}

#[test]
fn what_an_acknowledged_acknowledgement_reported_is_not_reported_again() {
    // RFC 4340 §11.4.2.
    let cells = |options: &Options| {
        options.iter().find_map(|option| match option {
            DccpOption::AckVector { cells, .. } => Some(cells.to_vec()),
            _ => None,
        })
    };
    let mut receiver = receiver(1, &[1, 3]);
    let first = acknowledge(&mut receiver, at(0), 70);
    assert_eq!(cells(&first), Some(vec![0x00, 0xc0, 0x00]));
    receiver.on_ack_of_ack(SeqNum::new(70));
    let second = acknowledge(&mut receiver, at(0), 71);
    assert_eq!(cells(&second), Some(vec![0x00]));
}

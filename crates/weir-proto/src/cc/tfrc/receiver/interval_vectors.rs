//! The receiver's loss intervals against values worked by hand: the interval before the first loss,
//! the lengths that feedback reports, and which losses belong to the link.

use super::vectors::{at, data, received};
use super::*;
use crate::cc::tfrc::wireless_extensions::WirelessRules;
use crate::cc::tfrc::{SmallPackets, response};

/// f(p) after packets of these octets at these times in milliseconds. Feedback is sent for the
/// first packet if `feedback` is set, and for no other packet.
fn response_after(
    profile: Profile,
    rtt: Duration,
    octets: u32,
    feedback: bool,
    packets: &[(i64, u64)],
) -> f64 {
    let mut receiver = Receiver::new(profile);
    receiver.on_rtt_estimate(rtt);
    for (n, &(seq, millis)) in packets.iter().enumerate() {
        let packet = ArrivedPacket {
            payload: Some(octets),
            ..data(seq, 0)
        };
        receiver.on_packet(at(millis), &packet, |_| {});
        if n == 0 && feedback {
            receiver.take_feedback(at(millis));
        }
    }
    assert_eq!(receiver.loss_events(), 1);
    response(receiver.loss_event_rate())
}

#[test]
fn the_first_interval_is_made_of_the_rate_that_its_revision_names() {
    let (slow, fast) = (Duration::from_secs(10), Duration::from_millis(100));
    let (rfc3448, rfc5348) = (Profile::rfc3448, Profile::rfc5348);
    // f(p) = s/(R·X).
    for (profile, rtt, octets, feedback, packets, expected) in [
        // RFC 3448 §6.3.1, without a measurement X is at least an octet per second, 1/(10·1).
        (
            rfc3448(),
            slow,
            1,
            false,
            [(0, 0), (2, 1), (3, 2), (4, 3)],
            0.1,
        ),
        // Three octets in 10 s since the feedback: 1/(10·0.3).
        (
            rfc3448(),
            slow,
            1,
            true,
            [(0, 0), (2, 4000), (3, 8000), (4, 10_000)],
            1.0 / 3.0,
        ),
        // RFC 5348 §6.3.1: 3000 octets in 100 ms, 1000/(0.1·30 000).
        (
            rfc5348(),
            fast,
            1000,
            true,
            [(0, 0), (2, 20), (3, 30), (4, 40)],
            1.0 / 3.0,
        ),
        // Half a packet in 10 s, which is more than three octets in 400 s.
        (
            rfc5348(),
            slow,
            1,
            true,
            [(0, 0), (2, 200_000), (3, 300_000), (4, 400_000)],
            2.0,
        ),
    ] {
        let found = response_after(profile, rtt, octets, feedback, &packets);
        assert!((found / expected - 1.0).abs() < 1e-6, "{packets:?} {found}");
    }
}

#[test]
fn the_first_interval_of_small_packets_allows_for_their_headers() {
    // RFC 4828 §3: X = X(1460)·s/(s + H), here half a nominal packet per round trip (RFC 5348
    // §6.3.1), so that f = 2·s/(s + 36): 36 octets give 1, no octets count as one.
    let profile = Profile {
        small_packets: Some(SmallPackets::CCID4),
        ..Profile::rfc5348()
    };
    for (payload, expected) in [(Some(36), 1.0), (None, 2.0 / 37.0)] {
        let mut receiver = Receiver::new(profile.clone());
        receiver.on_rtt_estimate(Duration::from_millis(100));
        for seq in [0, 2, 3, 4] {
            let packet = ArrivedPacket {
                payload,
                ..data(seq, 0)
            };
            receiver.on_packet(at(1), &packet, |_| {});
        }
        assert_eq!(receiver.loss_events(), 1);
        let found = response(receiver.loss_event_rate());
        assert!((found / expected - 1.0).abs() < 1e-6, "{found}");
    }
}

#[test]
fn an_open_interval_that_becomes_short_is_reported_at_once() {
    // RFC 4828 §3, RFC 5348 §6.1: R grows from 1 ms to 1 s, so that an interval of 100 ms becomes
    // short; the open interval no longer counts, and p increases.
    let mut receiver = Receiver::new(Profile {
        small_packets: Some(SmallPackets::CCID4),
        ..Profile::rfc5348()
    });
    receiver.on_rtt_estimate(Duration::from_millis(1));
    for seq in (0..100_i64).filter(|seq| *seq != 5) {
        receiver.on_packet(at(seq.unsigned_abs()), &data(seq, 0), |_| {});
        if receiver.loss_events() == 1 && seq < 10 {
            receiver.intervals = LossIntervals::new(&receiver.profile);
            let before = ReportedInterval::default();
            receiver.intervals.on_first_loss(before, 10.0, 1.0);
        }
        receiver.take_feedback(at(seq.unsigned_abs()));
    }
    assert!(receiver.loss_event_rate() < 0.05);
    receiver.on_packet(at(100), &data(100, 0), |_| {});
    assert!(!receiver.wants_feedback());
    receiver.on_rtt_estimate(Duration::from_secs(1));
    receiver.on_packet(at(101), &data(101, 0), |_| {});
    assert!(receiver.wants_feedback());
    assert!((receiver.loss_event_rate() - 0.1).abs() < 1e-12);
}

/// The reported intervals, newest first: lossless length, loss length, data length, drop count.
fn reported(receiver: &Receiver) -> Vec<[u32; 4]> {
    let row = |i: ReportedInterval| {
        [
            i.lossless_length,
            i.loss_length,
            i.data_length,
            i.drop_count,
        ]
    };
    receiver.reported_intervals().map(row).collect()
}

#[test]
fn intervals_are_counted_from_the_first_packet() {
    // RFC 4342 §8.6. Packets 10 to 20; then without 15; then with 16 as no data packet.
    assert_eq!(reported(&Receiver::new(Profile::rfc5348())), [[0, 0, 0, 0]]);
    let all: Vec<_> = (10..=20).map(|seq| (seq, 0)).collect();
    let receiver = received(Profile::rfc5348(), &all);
    assert_eq!(
        (reported(&receiver), receiver.skip()),
        (vec![[11, 0, 0, 0]], 0)
    );
    for (non_data, open) in [(false, [5, 1, 6, 1]), (true, [5, 1, 5, 1])] {
        let mut receiver = Receiver::new(Profile::rfc5348());
        for seq in (10..=20).filter(|seq| *seq != 15) {
            let packet = ArrivedPacket {
                payload: (seq != 16 || !non_data).then_some(1000),
                ndp: u64::from(seq == 17 && non_data),
                ..data(seq, 0)
            };
            receiver.on_packet(at(1), &packet, |_| {});
        }
        let rows = reported(&receiver);
        assert_eq!((rows[0], rows[1][0], rows.len()), (open, 5, 2));
    }
}

#[test]
fn packets_above_a_hole_are_skipped() {
    // RFC 4342 §8.6.1, Skip Length: 10 and 11 are in an interval; 12 is missing, not yet lost.
    for (above, skip) in [(13, 2), (14, 3), (99, 3)] {
        let receiver = received(Profile::rfc5348(), &[(10, 0), (11, 0), (above, 0)]);
        let lossless = u32::try_from(above - 10 + 1 - skip).expect("positive");
        assert_eq!(i64::from(receiver.skip()), skip, "{above}");
        assert_eq!(reported(&receiver), [[lossless, 0, 0, 0]], "{above}");
    }
}

#[test]
fn a_mark_is_an_interval_of_one_lost_packet() {
    // RFC 5348 §5.1: the marked packet 10 counts as lost. First no packet follows it, then 11 to 14
    // do.
    let mut receiver = Receiver::new(Profile::rfc5348());
    for seq in 0..=10 {
        let packet = ArrivedPacket {
            marked: seq == 10,
            ..data(seq, 0)
        };
        receiver.on_packet(at(1), &packet, |_| {});
    }
    // The marked packet has arrived nevertheless.
    assert_eq!(receiver.packets_lost(), 0);
    let rows = reported(&receiver);
    assert_eq!((rows[0], rows[1][0]), ([0, 1, 1, 1], 10));
    for seq in 11..=14 {
        receiver.on_packet(at(2), &data(seq, 0), |_| {});
    }
    assert_eq!(reported(&receiver)[0], [4, 1, 5, 1]);
}

#[test]
fn the_drop_count_has_24_bits() {
    // RFC 5622 §8.7: 2^24 packets are lost, then one in another loss event.
    let next = (1 << 24) + 1;
    let mut packets = vec![(0, 0), (next, 0), (next + 1, 0), (next + 2, 0)];
    let receiver = received(Profile::rfc5348(), &packets);
    assert_eq!(receiver.packets_lost(), 1 << 24);
    assert_eq!(reported(&receiver)[0][3], 0xff_ffff);
    packets.extend([(next + 3, 5), (next + 5, 5), (next + 6, 5), (next + 7, 5)]);
    let receiver = received(Profile::rfc5348(), &packets);
    assert_eq!(reported(&receiver)[1][3], 0xff_ffff);
}

#[test]
fn biaz_takes_a_gap_of_the_lost_packets_time_for_an_error_of_the_link() {
    // n losses are random if (n + 1)·T <= gap < (n + 2)·T, where T = 10 ms is the least time
    // between two packets. A packet that is late by reordering affects only the packet after it.
    let profile = Profile {
        wireless: WirelessRules {
            discriminator: LossDiscriminator::Biaz,
            ..WirelessRules::default()
        },
        ..Profile::rfc5348()
    };
    let micros = |micros: u64| at(5) + Duration::from_micros(micros);
    for (lost, gap, events) in [
        (1, 19_999, 1),
        (1, 20_000, 0),
        (1, 29_999, 0),
        (1, 30_000, 1),
        (2, 29_999, 1),
        (2, 30_000, 0),
        (2, 39_999, 0),
        (2, 40_000, 1),
    ] {
        let mut receiver = Receiver::new(profile.clone());
        let order = [(0, 0), (1, 10_000), (3, 20_000), (2, 20_001), (4, 30_001)];
        for (seq, time) in order {
            receiver.on_packet(micros(time), &data(seq, 0), |_| {});
        }
        for after in 0..3_i64 {
            let time = 30_001 + gap + 10_000 * after.unsigned_abs();
            receiver.on_packet(micros(time), &data(5 + lost + after, 0), |_| {});
        }
        assert_eq!(receiver.loss_events(), events, "{lost} {gap}");
        assert_eq!(receiver.packets_lost(), lost.unsigned_abs());
    }
}

//! Loss detection: tables of thresholds and the RFC's example.

use super::*;
use crate::quic::wire::{AckRange, OlderRanges};
use std::sync::Arc;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn sent(times: &[u64]) -> SentPackets {
    sent_with(PACKET_THRESHOLD, times)
}

fn sent_with(packet_threshold: u32, times: &[u64]) -> SentPackets {
    let mut packets = SentPackets::new(packet_threshold);
    for time in times {
        let mut packet = SentPacket::new(at(*time), 1200);
        packet.ack_eliciting = true;
        packets.push(packet, None);
    }
    packets
}

fn ack(ranges: &[(u64, u64)]) -> Ack {
    let (smallest, largest) = ranges[0];
    let older: Vec<_> = ranges[1..]
        .iter()
        .map(|&(smallest, largest)| AckRange { smallest, largest })
        .collect();
    Ack {
        largest,
        smallest,
        delay: 0,
        older: (!older.is_empty()).then(|| Arc::new(OlderRanges::new(smallest, older))),
        rest: None,
    }
}

fn rtt(millis: u64) -> RttEstimator {
    let mut rtt = RttEstimator::default();
    rtt.on_sample(at(0), Duration::from_millis(millis));
    rtt
}

fn numbers(lost: &[LostPacket]) -> Vec<(PacketNumber, LossTrigger)> {
    lost.iter()
        .map(|lost| (lost.number, lost.trigger))
        .collect()
}

#[test]
fn timeouts_follow_the_round_trip_time() {
    // RFC 9002 §6.2.1, PROBE_TIMEOUT; §6.1.2, GRANULARITY; §6.2.2, INITIAL_RTT.
    let ms = Duration::from_millis;
    let mut rtt = RttEstimator::default();
    assert_eq!(rtt.timeout(&PROBE_TIMEOUT, 0), ms(999));
    rtt.on_delayed_sample(at(0), ms(100), ms(25));
    assert_eq!(rtt.timeout(&PROBE_TIMEOUT, 0), ms(300));
    rtt.on_delayed_sample(at(0), ms(140), ms(20));
    assert_eq!(loss_delay(&rtt), Duration::from_micros(157_500));
}

#[test]
fn follows_the_table_of_thresholds() {
    // RFC 9002 §6.1.1, PACKET_THRESHOLD.
    use LossTrigger::{PacketThreshold, TimeThreshold};
    // Packets 0..=4 leave at 0, 1, 2, 3 and 4 ms; the round-trip time is 80 ms, so that the
    // time threshold is 90 ms.
    let cases = [
        ("two behind", vec![(2, 2)], 82, vec![], Some(90)),
        (
            "three behind",
            vec![(3, 3)],
            83,
            vec![(0, PacketThreshold)],
            Some(91),
        ),
        (
            "one behind, too old",
            vec![(1, 1)],
            90,
            vec![(0, TimeThreshold)],
            None,
        ),
        (
            "one behind, not old yet",
            vec![(1, 1)],
            89,
            vec![],
            Some(90),
        ),
        (
            "both",
            vec![(3, 3)],
            91,
            vec![(0, PacketThreshold), (1, TimeThreshold)],
            Some(92),
        ),
        (
            "nothing later acknowledged",
            vec![(0, 0)],
            500,
            vec![],
            None,
        ),
    ];
    for (name, ranges, now, expected, loss_time) in cases {
        let mut packets = sent(&[0, 1, 2, 3, 4]);
        packets.acknowledge(&ack(&ranges), &mut Vec::new()).unwrap();
        let mut lost = Vec::new();
        packets.detect_lost(at(now), &rtt(80), Duration::MAX, &mut lost);
        assert_eq!(numbers(&lost), expected, "{name}");
        assert_eq!(packets.loss_time(), loss_time.map(at), "{name}");
    }
}

#[test]
fn the_packet_threshold_is_a_setting() {
    // Before the time threshold: the packets that are `threshold` or more behind the last of five.
    for (threshold, expected) in [(1, 0..4), (2, 0..3), (3, 0..2), (4, 0..1), (5, 0..0)] {
        let mut packets = sent_with(threshold, &[0; 5]);
        packets
            .acknowledge(&ack(&[(4, 4)]), &mut Vec::new())
            .unwrap();
        let mut lost = Vec::new();
        packets.detect_lost(at(80), &rtt(80), Duration::MAX, &mut lost);
        let expected: Vec<_> = expected
            .map(|n| (n, LossTrigger::PacketThreshold))
            .collect();
        assert_eq!(numbers(&lost), expected, "{threshold}");
    }
}

#[test]
fn each_packet_is_acknowledged_once_and_the_largest_first() {
    let mut packets = sent(&[0, 0, 0, 0, 0]);
    let mut acked = Vec::new();
    let newly_acked = packets
        .acknowledge(&ack(&[(3, 4), (0, 1)]), &mut acked)
        .unwrap();
    let order = acked.clone();
    assert_eq!(order, [4, 3, 1, 0]);
    assert!(newly_acked.ack_eliciting && newly_acked.largest_sent_at.is_some());
    acked.clear();
    let newly_acked = packets.acknowledge(&ack(&[(0, 4)]), &mut acked).unwrap();
    assert_eq!(acked.len(), 1);
    assert_eq!(newly_acked.largest_sent_at, None);
    assert!(!packets.is_waiting());
}

#[test]
fn acknowledging_a_packet_that_was_not_sent_is_a_violation() {
    let mut packets = sent(&[0, 0]);
    for largest in [2, 3, u64::MAX] {
        let error = packets
            .acknowledge(&ack(&[(0, largest)]), &mut Vec::new())
            .unwrap_err();
        assert_eq!(error.code, 0xa);
    }
    let error = packets
        .acknowledge(&ack(&[(1, 0)]), &mut Vec::new())
        .unwrap_err();
    assert_eq!(error.code, 0x7);
}

#[test]
fn the_example_of_rfc_9002_establishes_persistent_congestion() {
    // RFC 9002 §7.6.1, PERSISTENT_THRESHOLD, and §7.6.3, in seconds: packets 1 to 9 leave at 0, 1,
    // 2, 3, 4, 5, 6, 8 and 12.
    let times = [0, 1000, 2000, 3000, 4000, 5000, 6000, 8000, 12_000];
    for (threshold, persistent) in [(6000, true), (7000, false)] {
        let mut packets = sent(&times);
        let mut rtt = RttEstimator::default();
        let mut lost = Vec::new();
        packets
            .acknowledge(&ack(&[(0, 0)]), &mut Vec::new())
            .unwrap();
        rtt.on_sample(at(200), Duration::from_millis(200));
        let after = Duration::from_millis(threshold);
        assert!(!packets.detect_lost(at(1200), &rtt, after, &mut lost));
        packets
            .acknowledge(&ack(&[(8, 8)]), &mut Vec::new())
            .unwrap();
        assert_eq!(
            packets.detect_lost(at(12_200), &rtt, after, &mut lost),
            persistent
        );
        assert_eq!(lost.len(), 7);
    }
}

#[test]
fn an_acknowledged_packet_in_between_means_no_persistent_congestion() {
    let mut packets = sent(&[1, 1000, 4000, 5000, 9000, 9001, 9002, 9003]);
    packets
        .acknowledge(&ack(&[(7, 7), (2, 2)]), &mut Vec::new())
        .unwrap();
    let mut lost = Vec::new();
    let after = Duration::from_millis(5500);
    assert!(!packets.detect_lost(at(9100), &rtt(100), after, &mut lost));
    assert_eq!(lost.len(), 4);
}

#[test]
fn only_losses_after_the_first_sample_count() {
    // RFC 9002 appendix B.8: only packets that were sent after the first sample. Those of 1 and 5 s
    // are lost by the packet threshold.
    for (first_sample, persistent) in [(999, true), (1000, false), (9100, false)] {
        let mut packets = sent(&[1000, 5000, 9001, 9002, 9003]);
        packets
            .acknowledge(&ack(&[(4, 4)]), &mut Vec::new())
            .unwrap();
        let mut rtt = RttEstimator::default();
        rtt.on_sample(at(first_sample), Duration::from_millis(97));
        let mut lost = Vec::new();
        assert_eq!(
            packets.detect_lost(at(9100), &rtt, Duration::from_secs(3), &mut lost),
            persistent,
            "{first_sample}"
        );
        assert_eq!(lost.len(), 2);
    }
}

#[test]
fn older_ranges_count_down_to_the_oldest_packet_in_memory() {
    // Packets 2 to 6 are in memory.
    for (ranges, expected) in [
        (vec![(6, 6), (4, 4), (2, 2)], vec![6, 4, 2]),
        (vec![(6, 6), (2, 2)], vec![6, 2]),
        (vec![(6, 6), (0, 3)], vec![6, 3, 2]),
        (vec![(6, 6), (4, 4), (0, 1)], vec![6, 4]),
    ] {
        let mut packets = sent(&[0; 7]);
        packets
            .acknowledge(&ack(&[(0, 1)]), &mut Vec::new())
            .unwrap();
        assert!(!packets.has_gap());
        packets.trim();
        assert_eq!(packets.base, 2);
        let mut acked = Vec::new();
        packets.acknowledge(&ack(&ranges), &mut acked).unwrap();
        assert_eq!(acked, expected);
    }
}

#[test]
fn the_time_threshold_runs_while_an_older_packet_is_in_flight() {
    // RFC 9002 §6.1.2: 9/8 of 80 ms after packet 0 was sent, until it is acknowledged.
    let mut packets = sent(&[0, 1, 2]);
    packets
        .acknowledge(&ack(&[(1, 1)]), &mut Vec::new())
        .unwrap();
    packets.detect_lost(at(81), &rtt(80), Duration::MAX, &mut Vec::new());
    assert!(packets.has_gap());
    assert_eq!(packets.loss_time(), Some(at(90)));
    packets
        .acknowledge(&ack(&[(0, 0)]), &mut Vec::new())
        .unwrap();
    assert!(!packets.has_gap());
    assert_eq!(packets.loss_time(), None);
}

#[test]
fn packets_that_are_not_in_flight_use_no_memory() {
    let mut packets = SentPackets::new(PACKET_THRESHOLD);
    for _ in 0..1000 {
        packets.skip();
    }
    assert_eq!(packets.next_number(), 1000);
    assert_eq!(packets.packets.len(), 0);
    assert_eq!(packets.octets_in_flight(), 0);
}

#[test]
fn packets_behind_one_in_flight_use_no_memory_until_another_is_in_flight() {
    let mut packets = sent(&[0]);
    for _ in 0..1000 {
        packets.skip();
    }
    assert_eq!((packets.next_number(), packets.packets.len()), (1001, 1));
    // The acknowledgement of a packet without data shows that the first one is lost.
    let mut acked = Vec::new();
    packets
        .acknowledge(&ack(&[(500, 500)]), &mut acked)
        .unwrap();
    assert!(acked.is_empty() && packets.has_gap());
    let mut lost = Vec::new();
    packets.detect_lost(at(10), &rtt(100), Duration::MAX, &mut lost);
    assert_eq!(numbers(&lost), [(0, LossTrigger::PacketThreshold)]);
    assert!(!packets.has_gap());
    packets.push(SentPacket::new(at(20), 1200), None);
    assert_eq!((packets.next_number(), packets.packets.len()), (1002, 1002));
    assert!(
        packets
            .acknowledge(&ack(&[(1002, 1002)]), &mut acked)
            .is_err()
    );
    packets
        .acknowledge(&ack(&[(1001, 1001)]), &mut acked)
        .unwrap();
    assert_eq!(acked, [1001]);
    assert!(!packets.has_gap());
    packets.trim();
    assert_eq!((packets.next_number(), packets.packets.len()), (1002, 0));
    // Without a packet in flight before them they are not even counted.
    packets.push(SentPacket::new(at(30), 1200), None);
    packets.skip();
    packets
        .acknowledge(&ack(&[(1002, 1002)]), &mut acked)
        .unwrap();
    assert!(!packets.has_gap());
    packets.trim();
    assert_eq!((packets.base, packets.skipped), (1004, 0));
}

#[test]
fn frames_to_send_again_come_back_in_order() {
    let stream = |id, offset, fin| {
        RetransmitFrame::Stream(StreamFrame {
            id,
            offset,
            len: 1000,
            fin,
        })
    };
    let credit = RetransmitFrame::FlowControl(Frame::MaxData(7));
    for expected in [
        vec![],
        vec![stream(0, 1 << 40, true)],
        // A stream number that needs more room.
        vec![stream(1 << 20, 5, false)],
        vec![stream(4, 5, false), credit.clone()],
        vec![credit, RetransmitFrame::Crypto, stream(0, 5, false)],
    ] {
        let mut frames = RetransmitFrames::default();
        for frame in &expected {
            frames.push(frame.clone());
        }
        let mut found = Vec::new();
        frames.for_each(|frame| found.push(frame.clone()));
        assert_eq!(found, expected);
        assert_eq!(frames.is_empty(), expected.is_empty());
    }
}

#[test]
fn a_record_is_small_and_has_a_snapshot_only_if_one_is_kept() {
    assert!(size_of::<SentPacket>() <= 40, "{}", size_of::<SentPacket>());
    assert!(sent(&[0, 1]).get(1).unwrap().1.is_none());
    let mut packets = SentPackets::new(PACKET_THRESHOLD);
    let snapshot = DeliverySnapshot {
        delivered: 5,
        ..DeliverySnapshot::default()
    };
    packets.push(SentPacket::new(at(2), 1200), Some(snapshot));
    packets.skip();
    packets.push(
        SentPacket::new(at(3), 1200),
        Some(DeliverySnapshot::default()),
    );
    assert_eq!(packets.get(0).unwrap().1, Some(&snapshot));
    packets
        .acknowledge(&ack(&[(0, 0)]), &mut Vec::new())
        .unwrap();
    assert!(!packets.has_gap());
    packets.trim();
    assert_eq!(
        packets.get(2).unwrap().1,
        Some(&DeliverySnapshot::default())
    );
}

//! The sender's history of its packets against reports written by hand.

use super::super::history::{History, Outcome, REMEMBERED};
use super::*;
use crate::cc::media::{PacketOutcome, PacketReport};
use crate::rtp::wire::{ArrivalOffset, Metric, ReportBlock};

const SSRC: u32 = 9;

/// A history whose first number is 1, with this many packets sent at zero.
fn history(packets: u64) -> History {
    let mut history = History::new(1);
    for id in 0..packets {
        history.on_sent(at(0), id, 100);
    }
    history
}

/// A report made at one second on the packets from `begin` on, which have waited 100 ms.
fn report(history: &mut History, begin: u64, received: &[bool]) -> Outcome {
    let metric = |received: &bool| {
        received.then_some(Metric {
            ecn: Ecn::NotEct,
            // 64 of 1024 offsets a second are 62.5 ms.
            offset: ArrivalOffset::Ticks(64),
        })
    };
    let feedback = CcFeedback {
        blocks: vec![ReportBlock {
            ssrc: SSRC,
            begin_seq: begin as u16,
            metrics: received.iter().map(metric).collect(),
        }],
        timestamp: 65_536,
        ..CcFeedback::default()
    };
    history.on_report(at(1100), SSRC, &feedback)
}

#[test]
fn the_time_of_sending_is_that_of_leaving_the_host() {
    // RFC 8888 §3: taken at the last opportunity before the packet leaves.
    let mut history = history(3);
    history.on_transmitted(at(10), 1);
    history.on_transmitted(at(20), 7);
    let outcome = report(&mut history, 1, &[true; 3]);
    let sent: Vec<Instant> = outcome.packets.iter().map(|packet| packet.sent).collect();
    assert_eq!(sent, [at(0), at(10), at(0)]);
    // It arrived 62.5 ms before the report, which the receiver made at one second.
    let arrived = PacketOutcome::Received {
        at: Some(Duration::from_micros(937_500)),
        marked: false,
    };
    assert!(
        outcome
            .packets
            .iter()
            .all(|packet| packet.outcome == arrived)
    );
    assert_eq!(outcome.made_at, Duration::from_secs(1));
    assert_eq!(outcome.rtt, Some(Duration::from_micros(1_037_500)));
    // The session passes on the times that the driver reports.
    let mut sender = Session::new(Config::default());
    sender.connect(at(0));
    sender.write(at(0), Payload::of_len(10)).expect("room");
    let mut packet = sender.poll_transmit(at(0)).expect("it leaves");
    sender.transmitted(at(40), packet.id);
    let mut receiver = Session::new(Config::default());
    receiver.handle(at(50), &mut packet);
    receiver.handle_timeout(at(150));
    let mut report = receiver.poll_transmit(at(150)).expect("a report");
    sender.handle(at(160), &mut report);
    // Of 120 ms the receiver kept it for 102/1024 s.
    let rtt = sender.statistics().smoothed_rtt;
    assert_eq!(rtt, Duration::from_nanos(120_000_000 - 99_609_375));
}

#[test]
fn only_congestion_experienced_is_a_mark() {
    // RFC 3168 §5: ECT(0) and ECT(1) say that the transport is ECN-capable.
    for (ecn, is_mark) in [
        (Ecn::NotEct, false),
        (Ecn::Ect0, false),
        (Ecn::Ect1, false),
        (Ecn::Ce, true),
    ] {
        let mut history = history(1);
        let metric = Metric {
            ecn,
            offset: ArrivalOffset::Ticks(64),
        };
        let feedback = CcFeedback {
            blocks: vec![ReportBlock {
                ssrc: SSRC,
                begin_seq: 1,
                metrics: vec![Some(metric)],
            }],
            timestamp: 65_536,
            ..CcFeedback::default()
        };
        let outcome = history.on_report(at(1100), SSRC, &feedback);
        let marked = |packet: &PacketReport| match packet.outcome {
            PacketOutcome::Received { marked, .. } => Some(marked),
            PacketOutcome::Lost => None,
        };
        let marks: Vec<_> = outcome.packets.iter().map(marked).collect();
        assert_eq!(marks, [Some(is_mark)], "{ecn:?}");
    }
}

#[test]
fn a_packet_that_arrived_is_not_missing_in_later_reports() {
    let mut history = history(2);
    assert_eq!(history.in_flight(), 2);
    assert_eq!(report(&mut history, 1, &[true, false]).packets.len(), 2);
    assert_eq!(history.in_flight(), 0);
    // A later report without the first packet, and one that lists it again: no packet is late or
    // new.
    for (received, late) in [([false, false], 0), ([true, false], 0), ([true, true], 1)] {
        let outcome = report(&mut history, 1, &received);
        assert_eq!((outcome.packets.len(), outcome.late), (0, late));
    }
}

#[test]
fn packets_far_below_a_report_are_forgotten() {
    let mut history = history(3000);
    assert_eq!(report(&mut history, 2991, &[true; 5]).packets.len(), 5);
    // In flight: five beyond the report, and those that are kept below it.
    let remembered = REMEMBERED as u64;
    assert_eq!(history.in_flight(), 5 + remembered);
    assert_eq!(history.next(), 3001);
    let first = 2991 - remembered;
    let outcome = report(&mut history, first - 1, &[true, true]);
    let known: Vec<u64> = outcome.packets.iter().map(|p| p.sequence).collect();
    assert_eq!(known, [first]);
}

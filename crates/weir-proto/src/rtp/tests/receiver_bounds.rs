//! The packets that the receiver keeps, and the number of packets that a report covers.

use super::super::receiver::{Accepted, REMEMBERED, Receiver};
use super::*;
use crate::rtp::wire::Metric;

const SSRC: u32 = 9;

fn receiver() -> Receiver {
    Receiver::new(Duration::from_millis(100))
}

fn metrics(receiver: &mut Receiver, millis: u64, octets: usize) -> Vec<Vec<Option<Metric>>> {
    let reports = receiver.report(at(millis), 1, octets);
    let metrics = reports.into_iter().map(|mut r| r.blocks.remove(0).metrics);
    metrics.collect()
}

#[test]
fn a_copy_without_a_mark_changes_nothing() {
    // RFC 8888 §3.1: a mark of any copy is reported; other codepoints of copies are not.
    for (first, second, reported) in [
        (Ecn::Ect0, Ecn::Ect0, Ecn::Ect0),
        (Ecn::Ect0, Ecn::Ect1, Ecn::Ect0),
        (Ecn::Ce, Ecn::Ect0, Ecn::Ce),
        (Ecn::Ect0, Ecn::Ce, Ecn::Ce),
    ] {
        let mut receiver = receiver();
        assert_eq!(
            receiver.on_packet(at(1), [SSRC, 5], first),
            Some(Accepted::New(5))
        );
        assert_eq!(
            receiver.on_packet(at(2), [SSRC, 5], second),
            Some(Accepted::Duplicate(5))
        );
        let ecn = metrics(&mut receiver, 101, 1000)[0][0].map(|metric| metric.ecn);
        assert_eq!(ecn, Some(reported));
        // The packet was reported: another copy is reported only if it adds a mark.
        receiver.on_packet(at(102), [SSRC, 5], second);
        assert_eq!(receiver.due(), None, "{first:?} {second:?}");
    }
}

#[test]
fn a_report_covers_at_most_a_quarter_of_the_numbers() {
    // RFC 8888 §3.1: 16,384 of them, the last of which is 20,000.
    let mut receiver = receiver();
    receiver.on_packet(at(1), [SSRC, 0], Ecn::NotEct);
    receiver.on_packet(at(2), [SSRC, 20_000], Ecn::NotEct);
    let reports = receiver.report(at(101), 1, 1 << 20);
    assert_eq!(reports.len(), 1);
    let block = &reports[0].blocks[0];
    assert_eq!((block.begin_seq, block.metrics.len()), (3617, 16_384));
    assert!(block.metrics[16_383].is_some());
}

#[test]
fn a_packet_with_room_for_none_has_one_metric() {
    // An MTU that is smaller than any report: each arrival is reported nevertheless.
    let mut receiver = receiver();
    for n in 0..3 {
        receiver.on_packet(at(1), [SSRC, n], Ecn::NotEct);
    }
    let counts: Vec<usize> = metrics(&mut receiver, 101, 20)
        .iter()
        .map(Vec::len)
        .collect();
    assert_eq!(counts, [1, 1, 1]);
}

#[test]
fn what_lies_far_below_the_highest_is_forgotten() {
    let mut receiver = receiver();
    let last = REMEMBERED as u32 - 1;
    for (n, copy) in [
        (last, Accepted::Duplicate(0)),
        // A number that is half of the number space below the highest.
        (last + 1, Accepted::New(0)),
    ] {
        receiver.on_packet(at(1), [SSRC, 0], Ecn::NotEct);
        receiver.on_packet(at(2), [SSRC, n], Ecn::NotEct);
        receiver.report(at(101), 1, 1000);
        let accepted = receiver.on_packet(at(102), [SSRC, 0], Ecn::NotEct);
        assert_eq!(accepted, Some(copy), "{n}");
    }
}

#[test]
fn first_numbers_are_in_the_lower_half_and_not_zero() {
    // RFC 3711 §3.3.1 advises a first number below 2^15, so that both ends count the same number of
    // wraps if the first packets are lost.
    let first = |seed| {
        let mut sender = Session::new(Config {
            seed,
            controller: Controller::Uncontrolled,
            ..Config::default()
        });
        sender.connect(at(0));
        sender.write(at(0), Payload::of_len(1)).expect("room");
        match sender.poll_transmit(at(0)).expect("it leaves").body {
            Body::Rtp(Packet::Media(media)) => media.sequence,
            _ => panic!("it is media"),
        }
    };
    let firsts = (0..300_000).map(first);
    let (least, most) = firsts.fold((u16::MAX, 0), |(least, most), first| {
        (least.min(first), most.max(first))
    });
    assert_eq!((least, most), (1, (1 << 15) - 1));
}

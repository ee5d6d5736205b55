//! Timers, samples and reports of the sender of CCID 2, worked by hand.

use super::super::tests::{Bench, RTT, SIZE};
use super::*;
use crate::cc::Rtt;
use crate::payload::Payload;

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A sender whose initial window of four packets, from number 100 on, is in flight.
fn in_flight() -> Bench {
    let mut bench = Bench::with(Ccid2Sender::new(SIZE, 2));
    assert_eq!(bench.fill(usize::MAX), [100, 101, 102, 103]);
    bench
}

/// Calls the timeout at this time.
fn time_out(bench: &mut Bench, now: Instant) {
    bench.sender.handle_timeout(now, &mut bench.events);
}

#[test]
fn the_timer_restarts_with_each_new_acknowledgement_while_packets_are_in_flight() {
    // RFC 6298 §5 with the least timeout of two delays of acknowledgements, 400 ms: the round-trip
    // time of 100 ms gives 100 + 4 · 50 at most.
    let mut bench = in_flight();
    let begin = bench.now;
    assert_eq!(bench.sender.poll_timeout(), Some(begin + MS(400)));
    bench.now = begin + RTT;
    bench.ack(100, &[0x00]);
    assert_eq!(bench.sender.poll_timeout(), Some(begin + MS(500)));
    // The same acknowledgement again does not restart the timer.
    bench.now = begin + MS(150);
    bench.ack(100, &[0x00]);
    assert_eq!(bench.sender.poll_timeout(), Some(begin + MS(500)));
    bench.ack(102, &[0x02]);
    assert_eq!(bench.sender.poll_timeout(), Some(begin + MS(550)));
    let state = bench.ack(103, &[0x03]);
    assert_eq!(bench.sender.poll_timeout(), None);
    assert_eq!((state.bytes_in_flight, state.delivered), (0, Some(4000)));
}

#[test]
fn each_packet_that_is_acknowledged_leaves_the_flight_once() {
    let mut bench = in_flight();
    let states = [(100, 0x00), (100, 0x00), (102, 0x02), (102, 0x00)];
    let found = states.map(|(number, cell)| {
        let state = bench.ack(number, &[cell]);
        (state.bytes_in_flight, state.delivered)
    });
    let expected = [(3000, 1000), (3000, 1000), (1000, 3000), (1000, 3000)];
    assert_eq!(
        found,
        expected.map(|(flight, octets)| (flight, Some(octets)))
    );
}

#[test]
fn a_timeout_comes_at_its_time_and_doubles_until_something_is_acknowledged() {
    // RFC 6298 §5.5 and §5.7.
    let mut bench = in_flight();
    let mut begin = bench.now;
    time_out(&mut bench, begin + MS(399));
    assert_eq!(bench.sender.losses(), LossCounts::default());
    for (timeouts, wait) in [(1, 400), (2, 800), (3, 1600)] {
        time_out(&mut bench, begin + MS(wait) + MS(1));
        assert_eq!(bench.sender.losses().timeouts, timeouts);
        assert_eq!(bench.sender.poll_timeout(), None);
        bench.now = begin + MS(wait) + MS(1);
        begin = bench.now;
        assert_eq!(bench.fill(usize::MAX).len(), 1, "a packet is the window");
        let next = Some(begin + MS(2 * wait));
        assert_eq!(bench.sender.poll_timeout(), next);
    }
    bench.now += RTT;
    bench.ack(106, &[0x00]);
    bench.fill(1);
    let next = Some(bench.now + MS(400));
    assert_eq!(bench.sender.poll_timeout(), next);
}

#[test]
fn a_connection_that_closes_has_no_timer() {
    let mut bench = in_flight();
    bench.sender.on_close();
    assert_eq!(bench.sender.poll_timeout(), None);
}

#[test]
fn loss_events_count_from_the_time_that_is_asked_for() {
    // Packets sent before do not count, neither with a loss nor with a timeout.
    for (later, events) in [(0, 1), (1, 0)] {
        let mut bench = in_flight();
        let from = bench.now + MS(later);
        bench.sender.count_loss_events_from(from);
        bench.ack(103, &[0x02]);
        let losses = bench.sender.losses();
        assert_eq!((losses.packets, losses.events), (1, events), "loss");

        let mut bench = in_flight();
        bench.sender.count_loss_events_from(bench.now + MS(later));
        let due = bench.now + MS(400);
        time_out(&mut bench, due);
        let losses = bench.sender.losses();
        assert_eq!((losses.packets, losses.events), (4, events), "timeout");
    }
}

#[test]
fn a_timeout_is_that_of_the_oldest_packet_that_waits() {
    let mut bench = Bench::with(Ccid2Sender::new(SIZE, 2));
    bench.fill(1);
    bench.now += RTT;
    bench.fill(1);
    bench.sender.count_loss_events_from(bench.now);
    bench.ack(100, &[0x00]);
    let due = bench.now + MS(500);
    time_out(&mut bench, due);
    assert_eq!(bench.sender.losses().events, 1);
}

#[test]
fn two_later_packets_are_no_loss_and_three_are() {
    // RFC 4341 §5, NUMDUPACK = 3.
    let mut bench = in_flight();
    bench.ack(101, &[0x00]);
    bench.ack(103, &[0x00]);
    assert_eq!(bench.sender.losses().packets, 0);
    bench.ack(103, &[0x02]);
    assert_eq!(bench.sender.losses().packets, 1);
}

#[test]
fn samples_begin_when_a_packet_has_left_and_end_without_what_the_receiver_held_it() {
    // RFC 4340 §13.2: Elapsed Time in units of ten microseconds. It may cover the whole time, not
    // more.
    for (held, sample) in [
        (0, Some(90)),
        (4000, Some(50)),
        (9000, Some(0)),
        (9001, None),
    ] {
        let mut bench = Bench::with(Ccid2Sender::new(SIZE, 2));
        for number in [100, 101] {
            let mut packet = Packet::data(SeqNum::new(number), Payload::of_len(SIZE));
            let now = bench.now;
            bench
                .sender
                .on_handover(now, &mut packet, &mut bench.events);
        }
        let left = bench.now + MS(10);
        bench.sender.on_transmitted(left, SeqNum::new(100));
        bench.sender.on_transmitted(left + MS(5), SeqNum::new(101));
        bench.now += RTT;
        bench.ack_with(100, &[DccpOption::ElapsedTime(held)]);
        assert_eq!(bench.samples, Vec::from_iter(sample), "{held}");
    }
}

#[test]
fn data_dropped_skips_the_packets_of_its_normal_blocks() {
    // RFC 4340 §11.7: 0x11 is 18 packets that were delivered, 0xa0 one with drop code 2.
    let mut bench = Bench::with(Ccid2Sender::new(SIZE, 2));
    (0..4).for_each(|_| {
        bench.round_trip();
    });
    let numbers = bench.fill(usize::MAX);
    let (first, last) = (numbers[0], numbers[19]);
    bench.ack_with(last, &[DccpOption::DataDropped(&[0x11, 0xa0])]);
    let sent = bench.sender.sent.iter();
    let dropped = sent.filter(|sent| sent.dropped_by_receiver);
    assert!(dropped.map(|sent| sent.seq.get()).eq([first + 1]));
}

#[test]
fn the_window_begins_anew_after_more_than_a_timeout_with_nothing_in_flight() {
    // RFC 4341 §5.1, RFC 5681 §4.1: 400 ms.
    for (idle, acknowledged, cwnd) in [(400, true, 6000), (401, true, 4000), (900, false, 6000)] {
        let mut bench = Bench::with(Ccid2Sender::new(SIZE, 2));
        bench.round_trip();
        let sent = bench.fill(2);
        let begin = bench.now;
        if acknowledged {
            bench.ack(sent[1], &[0x01]);
        }
        bench.now = begin + MS(idle);
        bench.sender.send_time(bench.now, SIZE);
        let state = bench.sender.window.state(0, Rtt::default());
        assert_eq!(state.cwnd, cwnd, "{idle} {acknowledged}");
    }
}

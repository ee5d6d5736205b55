//! The effects of timers: RACK's reordering timer, the probe of a tail, idle times, and the send
//! buffer.

use super::*;

#[test]
fn reordering_is_waited_for_a_quarter_of_the_least_round_trip() {
    // RFC 8985 §6.2: the window is min_RTT / 4 = 25 ms; a segment is lost when RTT and window have
    // passed since it was sent: 100 + 100 + 25 ms. Fewer than DupThresh segments are SACKed.
    let mut bench = Bench::open("linux", false);
    assert_eq!(bench.sent(100).len(), 10);
    bench.ack(200, 0, &[(2, 4)]);
    bench.sent(200);
    assert_eq!(bench.sender.statistics().packets_lost, 0);
    assert_eq!(bench.expire(), 225);
    let counted = bench.sender.statistics();
    assert_eq!((counted.packets_lost, counted.loss_events), (2, 1));
    assert_eq!(counted.timeouts, 0);
    // PRR allows the first one at once.
    assert_eq!(bench.sent(225), [0]);
    // The third SACK would have ended the wait.
    let mut bench = Bench::open("linux", false);
    bench.sent(100);
    bench.ack(200, 0, &[(2, 5)]);
    assert_eq!(bench.sender.statistics().packets_lost, 2);
}

#[test]
fn a_lost_retransmission_reduces_again_if_that_is_the_rule() {
    // RFC 5681 §4.3: a lost retransmission is a second indication of congestion.
    for (again, events) in [(false, 1), (true, 2)] {
        let mut bench = Bench::open("linux", false);
        bench.sender.config.rules.reduce_on_lost_retransmission = again;
        let (first, t) = bench.grow_to(16);
        bench.ack(t + 100, first, &[(first + 1, first + 5)]);
        assert_eq!(bench.sent(t + 100)[0], first);
        bench.ack(t + 110, first, &[(first + 1, first + 16)]);
        let new = bench.sent(t + 110);
        let (window, last) = (bench.window(), new[new.len() - 1]);
        assert!(last >= first + 16, "{new:?}");
        // The segments sent 10 ms after the retransmission have arrived.
        bench.ack(t + 210, first, &[(last, last + 1), (first + 1, first + 16)]);
        let counted = bench.sender.statistics();
        assert_eq!(
            (counted.loss_events, counted.packets_lost > 1),
            (events, true)
        );
        assert_eq!(bench.window() < window, again);
        assert_eq!(bench.sent(t + 210)[0], first);
    }
}

#[test]
fn a_probe_waits_for_a_delayed_acknowledgement_of_a_single_segment() {
    // RFC 8985 §7.2: PTO = 2 · SRTT, and with one segment in flight also the longest delay of its
    // acknowledgement, here 40 ms. With data to send the probe is new data.
    for (segments, due) in [(1, 340), (2, 300)] {
        let mut bench = Bench::open("linux", false);
        bench.sender.unsent = segments * MSS;
        assert_eq!(bench.sent(100).len() as u64, segments);
        assert_eq!(bench.expire(), due);
        bench.sender.unsent = 2 * MSS;
        assert_eq!(bench.sent(due)[0], segments);
        assert_eq!(bench.sender.statistics().packets_retransmitted, 0);
    }
}

#[test]
fn only_one_probe_is_in_flight() {
    // RFC 8985 §7.3: none before the last one is acknowledged; the RTO expires next.
    let mut bench = Bench::open("linux", false);
    bench.sender.unsent = 3 * MSS;
    bench.sent(100);
    assert_eq!(bench.expire(), 300);
    assert_eq!(bench.sent(300), [2]);
    assert_eq!(bench.sender.statistics().packets_retransmitted, 1);
    let next = bench.expire();
    assert_eq!(bench.sender.statistics().timeouts, 1, "{next}");
    // §7.4.2: the acknowledgement of the probe and a DSACK of it show that no segment was lost.
    for (sacks, events) in [(vec![(2, 3)], 0), (vec![], 0)] {
        let mut bench = Bench::open("linux", false);
        bench.sender.unsent = 3 * MSS;
        bench.sent(100);
        bench.expire();
        bench.sent(300);
        bench.ack(400, 3, &sacks);
        assert_eq!(bench.sender.statistics().loss_events, events);
        assert_eq!(bench.sender.probe.is_some(), sacks.is_empty());
    }
}

#[test]
fn an_idle_time_is_longer_than_the_timeout() {
    // RFC 5681 §4.1: "more than one retransmission timeout"; SRTT 100 ms, and Linux's variance
    // term is at least 200 ms.
    for (idle, is_restart) in [(300, false), (301, true)] {
        let mut bench = Bench::open("linux", false);
        let (_, t) = bench.grow_to(32);
        bench.sender.unsent = 0;
        let all = bench.sender.scoreboard.high_data() / MSS;
        bench.ack(t + 100, all, &[]);
        let window = bench.window() as usize;
        assert_eq!(bench.sender.timer.timeout(), MS(300));
        bench.sender.last_sent = at(t + 100);
        bench.sender.unsent = 100 * MSS;
        let count = bench.sent(t + 100 + idle).len();
        assert_eq!(count, if is_restart { 10 } else { window }, "{idle} ms");
    }
}

#[test]
fn the_application_is_notified_when_a_third_of_a_full_send_buffer_is_free() {
    // SO_SNDBUF: written and not acknowledged. Linux wakes the writer when a third is free.
    let mut bench = Bench::open("linux", false);
    bench.sender.config.send_buffer = 9000;
    bench.sender.unsent = 0;
    let write = |bench: &mut Bench, len| bench.sender.write(at(100), Payload::of_len(len));
    while bench.sender.poll_event().is_some() {}
    assert_eq!(write(&mut bench, 8999), Ok(()));
    assert_eq!(write(&mut bench, 1), Ok(()), "one octet is free");
    assert_eq!(write(&mut bench, 1), Err(WriteError::Blocked));
    assert_eq!(bench.sent(100).len(), 9);
    assert_eq!(write(&mut bench, 1), Err(WriteError::Blocked), "in flight");
    bench.ack(200, 2, &[]);
    assert_eq!(bench.sender.poll_event(), None, "7000 octets of 9000");
    bench.ack(201, 3, &[]);
    assert_eq!(bench.sender.poll_event(), Some(EndpointEvent::Writable));
    bench.ack(202, 4, &[]);
    assert_eq!(bench.sender.poll_event(), None);
    assert_eq!(write(&mut bench, 1), Ok(()));
}

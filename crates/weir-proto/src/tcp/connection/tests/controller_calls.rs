//! The calls of a sender to its controller, and the effect of the controller's pacing rate.

use super::*;
use crate::cc::recorder::Recorder;
use crate::units::Rate;

/// An open connection with this window in segments.
fn recorded(rules: &str, window: u64) -> (Bench, Recorder) {
    let recorder = Recorder::of_window(window * MSS);
    let config = Config::named(rules).expect("a preset");
    let bench = Bench::open_of(config, Box::new(recorder.clone()), false);
    (bench, recorder)
}

/// Segments of 1000 octets that leave at this time, with these numbers of segments in flight.
fn left(millis: u64, in_flight: RangeInclusive<u64>) -> Vec<String> {
    let line = |n| format!("{millis} sent 1000 of {n}000");
    in_flight.map(line).collect()
}

#[test]
fn each_call_reports_the_octets_in_flight_and_delivered() {
    let (mut bench, recorder) = recorded("linux", 4);
    assert_eq!(bench.sent(100), [0, 1, 2, 3]);
    assert_eq!(recorder.take_calls(), left(100, 1..=4));
    bench.ack(200, 2, &[]);
    assert_eq!(
        recorder.take_calls(),
        [
            "200 acked 2000 of 4000 from 100",
            "200 end 2000 in 2, 0 lost, 0 marked, 2000 in flight, newest 100, rtt Some(100), \
             rate 2000",
        ]
    );
    assert_eq!(bench.sent(200), [4, 5]);
    assert_eq!(recorder.take_calls(), left(200, 3..=4));
    // RFC 8985 §6.2: three segments are SACKed, so that the one before them is lost at once. When
    // it left 3000 octets were in flight; five segments have arrived. The sample is that of the
    // last segment that arrived: C.delivered was 2000 when it left.
    bench.ack(300, 2, &[(3, 6)]);
    assert_eq!(
        recorder.take_calls(),
        [
            "300 acked 3000 of 4000 from 200",
            "300 lost 1000 from 100: of 3000, 1000 since, 5000 delivered",
            "300 event from 100: 1000 lost, 0 in flight, None outstanding",
            "300 end 3000 in 3, 1000 lost, 0 marked, 0 in flight, newest 200, rtt Some(100), \
             rate 3000",
        ]
    );
    // RFC 6937 §3: below ssthresh as many as were delivered, three.
    assert_eq!(bench.sent(300), [2, 6, 7]);
    assert_eq!(recorder.take_calls(), left(300, 1..=3));
    // RFC 5681 §3.2: no growth; RFC 6298 §3: no sample of a retransmission.
    bench.ack(400, 6, &[]);
    assert_eq!(
        recorder.take_calls(),
        ["400 end 1000 in 1, 0 lost, 0 marked, 2000 in flight, newest 300, rtt None, rate 1000"]
    );
    assert_eq!(bench.sent(400), [8, 9]);
    assert_eq!(recorder.take_calls(), left(400, 3..=4));
}

#[test]
fn a_timeout_reports_all_segments_that_it_presumes_lost() {
    let (mut bench, recorder) = recorded("linux", 4);
    bench.sent(100);
    bench.ack(200, 2, &[]);
    assert_eq!(bench.sent(200), [4, 5]);
    recorder.take_calls();
    // RFC 8985 §7.2: a probe after two round trips, beyond the window, here new data.
    assert_eq!(bench.expire(), 400);
    assert_eq!(bench.sent(400), [6]);
    assert_eq!(recorder.take_calls(), left(400, 5..=5));
    // The RTO is 100 + 200 ms from the probe on. Segments 2 and 3 left with 3000 and 4000 octets in
    // flight, 4 and 5 with the same after two had arrived, and the probe with 5000.
    assert_eq!(bench.expire(), 700);
    assert_eq!(
        recorder.take_calls(),
        [
            "700 timeout from 100: None outstanding",
            "700 lost 1000 from 100: of 3000, 1000 since, 2000 delivered",
            "700 lost 1000 from 100: of 4000, 2000 since, 2000 delivered continues",
            "700 lost 1000 from 200: of 3000, 3000 since, 2000 delivered continues",
            "700 lost 1000 from 200: of 4000, 4000 since, 2000 delivered continues",
            "700 lost 1000 from 400: of 5000, 5000 since, 2000 delivered continues",
        ]
    );
    // RFC 5682 §3.1: the first segment again, then new data.
    assert_eq!(bench.sent(700), [2, 7, 8, 9]);
    assert_eq!(recorder.take_calls(), left(700, 1..=4));
    // RFC 6298 §5.5: twice 300 ms later it expires for the same segment; only the segments sent
    // since are newly presumed lost.
    assert_eq!(bench.expire(), 1300);
    assert_eq!(
        recorder.take_calls(),
        [
            "1300 timeout from 700: None outstanding repeated",
            "1300 lost 1000 from 700: of 2000, 1000 since, 2000 delivered continues",
            "1300 lost 1000 from 700: of 3000, 2000 since, 2000 delivered continues",
            "1300 lost 1000 from 700: of 4000, 3000 since, 2000 delivered continues",
        ]
    );
    let counted = bench.sender.statistics();
    assert_eq!((counted.timeouts, counted.loss_events), (2, 2));
}

#[test]
fn rfc_5681_takes_a_window_back_from_what_is_outstanding() {
    // Eq. 4: FlightSize, 5000 octets with the two of Limited Transmit less the one acknowledged.
    let (mut bench, recorder) = recorded("rfc", 4);
    bench.sent(100);
    bench.ack(200, 1, &[(2, 3)]);
    assert_eq!(bench.sent(200), [4, 5]);
    assert_eq!(
        recorder.take_calls_of("acked"),
        ["200 acked 1000 of 4000 from 100"]
    );
    bench.ack(300, 1, &[(2, 5)]);
    let calls = recorder.take_calls();
    assert_eq!(
        calls[1],
        "300 event from 100: 1000 lost, 1000 in flight, Some(5000) outstanding"
    );
    // SACKs acknowledge nothing cumulatively.
    assert!(
        calls.iter().all(|line| !line.contains("acked")),
        "{calls:?}"
    );
    // The single segment that was not delivered before the timeout, and FlightSize again.
    assert_eq!(bench.sent(300)[0], 1);
    let expired = bench.expire();
    let timeouts = recorder.take_calls_of("timeout");
    let outstanding = bench.sender.scoreboard.flight_size();
    assert_eq!(expired, 1300);
    assert_eq!(
        timeouts,
        [format!(
            "1300 timeout from 300: Some({outstanding}) outstanding"
        )]
    );
}

/// Paces a segment each millisecond, and two at once.
fn paced(window: u64) -> (Bench, Recorder) {
    let (bench, recorder) = recorded("linux", window);
    recorder.script().pacing = Some((Rate::from_bps(8e6), 2 * MSS));
    (bench, recorder)
}

fn bound(bench: &mut Bench, millis: u64) -> Option<SndLim> {
    bench.sent(millis);
    let events = bench.sender.events.drain();
    let bounds = events.filter_map(|(_, event)| match event {
        Event::Blocked(bound) => Some(bound),
        _ => None,
    });
    bounds.last()
}

#[test]
fn a_pacer_lets_out_a_quantum_and_then_its_rate() {
    let (mut bench, _) = paced(10);
    bench.sender.events.set_mask(EventMask::BOUND);
    assert_eq!(bench.sent(100), [0, 1]);
    assert_eq!(bound(&mut bench, 100), Some(SndLim::Pacer));
    for segment in 2..10 {
        let due = 99 + segment;
        assert_eq!(bench.sender.poll_timeout(), Some(at(due)));
        assert_eq!(bench.sent(due - 1), []);
        bench.sender.handle_timeout(at(due - 1));
        assert_eq!(bench.sender.poll_timeout(), Some(at(due)));
        bench.sender.handle_timeout(at(due));
        assert_eq!(bench.sender.paced_until, None);
        assert_eq!(bench.sent(due), [segment]);
    }
    // The window is full: the pacer does not hold a segment back.
    assert_eq!(bound(&mut bench, 110), Some(SndLim::Window));
    assert_eq!(bench.sender.poll_timeout(), Some(at(308)), "the probe");
    // RFC 8985 §7.3: the probe waits for neither.
    assert_eq!(bench.expire(), 308);
    assert_eq!(bench.sent(308), [10]);
}

#[test]
fn a_pacer_holds_nothing_back_without_data() {
    let (mut bench, _) = paced(10);
    bench.sender.unsent = 2 * MSS;
    assert_eq!(bench.sent(100), [0, 1]);
    assert_eq!(bench.sender.paced_until, None);
    for octets in [1, MSS] {
        bench.sender.unsent = octets;
        assert_eq!(bench.sent(100), []);
        assert_eq!(bench.sender.paced_until, Some(at(101)));
    }
    // Without a pacing rate no segment is held back.
    let (mut bench, recorder) = recorded("linux", 3);
    recorder.script().pacing = None;
    assert_eq!(bench.sent(100), [0, 1, 2]);
}

#[test]
fn a_lost_segment_waits_for_the_pacer_too() {
    let (mut bench, _) = paced(6);
    bench.sender.unsent = 6 * MSS;
    for now in 100..105 {
        bench.sent(now);
    }
    bench.ack(200, 0, &[(3, 6)]);
    assert_eq!(bench.sent(200), [0, 1]);
    assert_eq!(bench.sender.paced_until, Some(at(201)));
    assert_eq!(bench.sent(201), [2]);
    assert_eq!(bench.sender.paced_until, None);
}

#[test]
fn what_holds_data_back_is_named() {
    let (mut bench, recorder) = recorded("linux", 4);
    bench.sender.events.set_mask(EventMask::BOUND);
    bench.sender.unsent = 4 * MSS;
    assert_eq!(bound(&mut bench, 100), Some(SndLim::Application));
    bench.sender.unsent = 1;
    assert_eq!(bound(&mut bench, 101), Some(SndLim::Window));
    bench.sender.unsent = MSS;
    // RFC 9293 §3.8.6: the window allows a segment, the peer's window does not.
    recorder.script().window = 5 * MSS;
    bench.sender.peer_window = 4 * MSS;
    bench.sender.unsent = 1;
    assert_eq!(bound(&mut bench, 102), Some(SndLim::ReceiverCredit));
    bench.sender.unsent = MSS;
    bench.sender.peer_window = 5 * MSS;
    bench.sender.config.send_buffer = 5 * MSS;
    assert_eq!(bound(&mut bench, 103), Some(SndLim::Application));
    let more = bench.sender.write(at(104), Payload::of_len(1));
    assert_eq!(more, Err(WriteError::Blocked));
    assert_eq!(bound(&mut bench, 104), Some(SndLim::SendBuffer));
    bench.sender.blocked = false;
    bench.sender.close(at(105));
    assert_eq!(bound(&mut bench, 105), Some(SndLim::Nothing));
    // In a closing connection the data determines the bound: a lost segment waits for a window that
    // is too small.
    let (mut bench, recorder) = recorded("linux", 4);
    bench.sender.events.set_mask(EventMask::BOUND);
    bench.sender.unsent = 5 * MSS;
    bench.sender.close(at(100));
    assert_eq!(bound(&mut bench, 100), Some(SndLim::Window));
    recorder.script().window = 0;
    bench.sender.unsent = 0;
    assert_eq!(bound(&mut bench, 101), Some(SndLim::Nothing));
    bench.sender.scoreboard.mark_first_lost();
    assert_eq!(bound(&mut bench, 102), Some(SndLim::Window));
    bench.sender.state = State::Closed;
    assert_eq!(bound(&mut bench, 103), Some(SndLim::Nothing));
}

#[test]
fn idle_and_handshake_are_reported() {
    let (mut bench, recorder) = recorded("linux", 4);
    bench.sender.unsent = MSS;
    bench.sent(100);
    bench.ack(200, 1, &[]);
    // RFC 5681 §4.1: an RTO of 300 ms since the last segment, and only if there is data.
    assert_eq!(bench.sent(401), []);
    assert_eq!(recorder.take_calls_of("idle"), [""; 0]);
    bench.sender.unsent = 1;
    assert_eq!(bench.sent(401), [1]);
    assert_eq!(recorder.take_calls_of("idle"), ["idle"]);
    bench.sender.unsent = MSS;
    bench.sent(800);
    assert_eq!(
        recorder.take_calls_of("idle"),
        [""; 0],
        "not with data in flight"
    );
    // The application limited the segments sent before.
    bench.sender.unsent = 0;
    bench.sent(801);
    recorder.take_calls();
    bench.sender.unsent = MSS;
    bench.sent(801);
    assert_eq!(
        recorder.take_calls_of("sent"),
        ["801 sent 1000 of 2001 limited"]
    );
    // Before the first segment there is no idle time.
    let (mut bench, recorder) = recorded("linux", 4);
    assert_eq!(bench.sent(5000), [0, 1, 2, 3]);
    assert_eq!(recorder.take_calls_of("idle"), [""; 0]);
    let config = Config::named("linux").expect("a preset");
    for lost_syn in [false, true] {
        let recorder = Recorder::of_window(MSS);
        Bench::open_of(config, Box::new(recorder.clone()), lost_syn);
        assert_eq!(
            recorder.take_calls_of("handshake").len(),
            usize::from(lost_syn)
        );
    }
}

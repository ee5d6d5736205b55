//! The end of connections when the peer is silent, no longer exists, or closes at the same time
//! (RFC 4340 §8.1.1, §8.1.3, §8.1.5, §8.3).

use super::{Pair, config};
use weir_proto::dccp::{Connection, State, wire::PacketType};
use weir_proto::endpoint::{CloseReason, Endpoint, EndpointEvent};
use weir_proto::packet::{Body, Packet};
use weir_proto::time::{Duration, Instant};

const MSL: Duration = Duration::from_secs(120);

fn kind(packet: &Packet) -> PacketType {
    match &packet.body {
        Body::Dccp(body) => body.kind,
        _ => panic!("not a DCCP packet"),
    }
}

impl Pair {
    /// From now on no packet of this end arrives.
    fn silence(&mut self, silent: usize) {
        self.drops = Box::new(move |end, _| end == silent);
    }

    /// When an end sent packets of this type, in seconds since `from`.
    fn times(&self, end: usize, kind: PacketType, from: Instant) -> Vec<f64> {
        let sent = self.log.iter().zip(&self.sent_at);
        sent.filter(|(entry, _)| **entry == (end, kind))
            .map(|(_, at)| at.since(from).as_secs_f64())
            .collect()
    }

    fn last_event(&self, end: usize) -> Option<EndpointEvent> {
        self.news[end].last().copied()
    }
}

#[test]
fn a_close_without_an_answer_is_repeated_with_backoff_for_four_msl() {
    for (end, repeated) in [(0, PacketType::Close), (1, PacketType::CloseReq)] {
        let mut pair = Pair::connected();
        pair.silence(1 - end);
        let start = pair.now;
        pair.ends[end].close(pair.now);
        pair.run(MSL * 4);
        assert_eq!(pair.states()[end], State::Closed);
        let timed_out = EndpointEvent::Closed(CloseReason::TimedOut);
        assert_eq!(pair.last_event(end), Some(timed_out));
        let times = pair.times(end, repeated, start);
        assert_eq!(times[0], 0.0);
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps[0] >= 2.0 * 0.020, "two round trips: {gaps:?}");
        assert!(
            gaps.windows(2).all(|gaps| gaps[1] <= 2.0 * gaps[0] + 1e-6),
            "{gaps:?}"
        );
        assert_eq!(gaps.last(), Some(&64.0), "{gaps:?}");
        let aborted = pair.times(end, PacketType::Reset, start);
        assert_eq!(aborted, [MSL.as_secs_f64() * 4.0]);
    }
}

#[test]
fn a_client_whose_acknowledgements_are_lost_gives_up_after_four_msl() {
    let mut pair = Pair::new(|_| ());
    pair.ends[0].connect(pair.now);
    pair.run(Duration::from_millis(19));
    let start = pair.now;
    pair.silence(0);
    pair.run(MSL * 4 - Duration::from_millis(1));
    assert_eq!(pair.states()[0], State::PartOpen);
    pair.run(Duration::from_millis(2));
    assert_eq!(pair.states()[0], State::Closed);
    let times = pair.times(0, PacketType::Ack, start);
    assert!((times[1] - times[0] - 0.2).abs() < 1e-6, "{times:?}");
    // The server received nothing else: it answered one Request and sent nothing by a timer.
    assert_eq!(pair.times(1, PacketType::Response, start).len(), 1);
    assert_eq!(pair.states()[1], State::Closed);
}

#[test]
fn a_client_repeats_its_request_until_the_timeout_and_sends_a_reset() {
    for seconds in [5, 180] {
        let mut pair = Pair::new(|config| config.connect_timeout = Duration::from_secs(seconds));
        pair.silence(0);
        let start = pair.now;
        pair.ends[0].connect(pair.now);
        pair.run(Duration::from_secs(1000));
        let timed_out = EndpointEvent::Closed(CloseReason::TimedOut);
        assert_eq!(pair.last_event(0), Some(timed_out));
        let requests = pair.times(0, PacketType::Request, start);
        let expected = [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 127.0];
        let within = expected.iter().filter(|at| **at < seconds as f64).count();
        assert_eq!(requests, expected[..within]);
        let reset = pair.times(0, PacketType::Reset, start);
        assert_eq!(reset, [seconds as f64]);
    }
}

#[test]
fn time_wait_lasts_two_msl_and_sends_nothing() {
    let mut pair = Pair::connected();
    pair.ends[0].close(pair.now);
    pair.run(Duration::from_secs(1));
    let said = pair.log.len();
    assert_eq!(pair.states(), [State::TimeWait, State::Closed]);
    pair.run(MSL * 2 - Duration::from_secs(1));
    assert_eq!(pair.states()[0], State::TimeWait);
    pair.run(Duration::from_millis(20));
    assert_eq!(pair.states()[0], State::Closed);
    assert_eq!(pair.log.len(), said);
}

#[test]
fn both_ends_may_close_at_the_same_time() {
    // How much later the server closes, in milliseconds; the one-way delay is ten.
    for later in [0, 5, 9, 10, 11, 15, 20] {
        let mut pair = Pair::connected();
        pair.ends[0].close(pair.now);
        pair.run(Duration::from_millis(later));
        pair.ends[1].close(pair.now);
        pair.run(Duration::from_secs(2));
        assert_eq!(
            pair.states(),
            [State::TimeWait, State::Closed],
            "{later} ms"
        );
        for end in 0..2 {
            let finished = EndpointEvent::Closed(CloseReason::Finished);
            assert_eq!(pair.last_event(end), Some(finished), "{later} ms");
        }
    }
}

#[test]
fn a_close_that_is_lost_ten_times_ends_the_connection_in_good_order() {
    for (end, lost) in [
        (0, PacketType::Close),
        (1, PacketType::CloseReq),
        (1, PacketType::Reset),
    ] {
        let mut pair = Pair::connected();
        let mut left = 10;
        pair.drops = Box::new(move |from, packet| {
            let hit = from == end && kind(packet) == lost && left > 0;
            left -= i32::from(hit);
            hit
        });
        pair.ends[usize::from(lost == PacketType::CloseReq)].close(pair.now);
        pair.run(MSL);
        let open = pair.states().contains(&State::Open);
        assert!(!open, "{lost:?}: {:?}", pair.states());
        for end in 0..2 {
            let finished = EndpointEvent::Closed(CloseReason::Finished);
            assert_eq!(pair.last_event(end), Some(finished), "{lost:?}");
        }
    }
}

#[test]
fn packets_after_the_end_have_no_effect_and_cause_no_storm() {
    let mut pair = Pair::connected();
    let start = pair.now;
    pair.ends[0].close(pair.now);
    for _ in 0..3 {
        pair.run(Duration::from_secs(1));
        pair.ends[0].close(pair.now);
        pair.ends[1].close(pair.now);
    }
    let closed = |pair: &Pair, end: usize| {
        let closed = |news: &&EndpointEvent| matches!(news, EndpointEvent::Closed(_));
        pair.news[end].iter().filter(closed).count()
    };
    assert_eq!((closed(&pair, 0), closed(&pair, 1)), (1, 1));
    let resets = pair.times(1, PacketType::Reset, start).len();
    assert_eq!(resets, 1, "{:?}", pair.log);
}

#[test]
fn a_peer_without_the_connection_ends_it_within_a_few_round_trips() {
    for writes in [true, false] {
        let mut pair = Pair::connected();
        pair.to_write.push_back(500);
        pair.run(Duration::from_secs(1));
        // The host of the server restarts.
        pair.ends[1] = Connection::server(config(1, 0));
        if writes {
            pair.to_write.extend([500; 20]);
        } else {
            pair.ends[0].close(pair.now);
        }
        pair.run(Duration::from_secs(2));
        assert_eq!(pair.states()[0], State::TimeWait);
        let reason = match pair.last_event(0) {
            Some(EndpointEvent::Closed(reason)) => reason,
            other => panic!("{other:?}"),
        };
        let expected = if writes {
            CloseReason::Reset(3)
        } else {
            CloseReason::Finished
        };
        assert_eq!(reason, expected);
    }
}

#[test]
fn a_silent_peer_in_open_is_probed_and_dropped_unless_it_answers() {
    let minute = Duration::from_secs(60);
    for end in 0..2 {
        let mut pair = Pair::new(|config| config.keepalive = Some(minute));
        pair.ends[0].connect(pair.now);
        pair.run(Duration::from_secs(1));
        pair.run(Duration::from_secs(3600));
        assert_eq!(pair.states(), [State::Open, State::Open]);
        let asked: usize = (0..2)
            .map(|end| {
                pair.log
                    .iter()
                    .filter(|entry| **entry == (end, PacketType::Sync))
                    .count()
            })
            .sum();
        assert!(
            (59..=122).contains(&asked),
            "{asked} Syncs in an hour of silence"
        );
        pair.silence(1 - end);
        let start = pair.now;
        pair.run(Duration::from_secs(700));
        assert_eq!(pair.states()[end], State::Closed);
        let timed_out = EndpointEvent::Closed(CloseReason::TimedOut);
        assert_eq!(pair.last_event(end), Some(timed_out));
        let reset = pair.times(end, PacketType::Reset, start);
        let last = reset.last().copied().unwrap_or_default();
        assert!((480.0..=541.0).contains(&last), "{reset:?}");
    }
}

#[test]
fn without_keepalive_an_idle_connection_sends_nothing() {
    let mut pair = Pair::connected();
    let said = pair.log.len();
    pair.run(Duration::from_secs(86_400));
    assert_eq!(
        (pair.log.len(), pair.states()),
        (said, [State::Open, State::Open])
    );
}

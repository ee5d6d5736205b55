use super::super::traffic::Traffic;
use super::*;
use crate::keyed_tag::TAG_OCTETS;
use crate::test_protocol::timeouts::{REPEAT_INTERVAL, REQUEST_TIMEOUT};
use crate::test_protocol::{EndReason, ReceptionStats, Refusal, Report, TestStats};
use std::sync::{Arc, Mutex};

/// Two ends and a path with a delay of a millisecond each way.
struct Path {
    ends: [Session; 2],
    now: Instant,
    in_transit: [Vec<(Instant, Vec<u8>)>; 2],
    /// The number of messages sent, and which of them are lost.
    sent: usize,
    is_lost: fn(usize, &Message) -> bool,
}

const DELAY: Duration = Duration::from_millis(1);

fn config(reverse: bool) -> TestConfig {
    TestConfig {
        reverse,
        ecn: false,
        media: false,
        length: 125,
        // A datagram every millisecond.
        rate_bps: Some(1e6),
        duration: std::time::Duration::from_secs(1),
        ..TestConfig::default()
    }
}

impl Path {
    fn new(reverse: bool, is_lost: fn(usize, &Message) -> bool) -> Self {
        let now = Instant::from_nanos(1_000_000_000);
        let config = config(reverse);
        Self {
            ends: [
                Session::client(7, config, None, now),
                Session::server(7, config, now),
            ],
            now,
            in_transit: [Vec::new(), Vec::new()],
            sent: 0,
            is_lost,
        }
    }

    /// Runs until both ends have ended, or for `span`.
    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end && self.ends.iter().any(|end| end.end_reason().is_none()) {
            for side in [0, 1] {
                let mut out = Vec::new();
                while self.ends[side].write(self.now, &mut out) {
                    let octets = std::mem::take(&mut out);
                    let (_, message) = Message::read(&octets).expect("a message");
                    self.sent += 1;
                    if !(self.is_lost)(self.sent, &message) {
                        self.in_transit[1 - side].push((self.now + DELAY, octets));
                    }
                }
            }
            self.now += Duration::from_micros(100);
            for side in [0, 1] {
                let now = self.now;
                let due = self.in_transit[side].extract_if(.., |(at, _)| *at <= now);
                let due: Vec<_> = due.collect();
                for (_, octets) in due {
                    let (_, message) = Message::read(&octets).expect("a message");
                    self.ends[side].receive(now, message, octets.len(), false);
                }
            }
        }
    }

    fn stats(&self, side: usize) -> TestStats {
        self.ends[side].stats(self.now)
    }
}

#[test]
fn a_test_is_requested_sent_and_reported_in_both_directions() {
    for reverse in [false, true] {
        let mut path = Path::new(reverse, |_, _| false);
        path.run(Duration::from_secs(3));
        let [client, server] = [path.stats(0), path.stats(1)];
        assert_eq!(client.sends, !reverse);
        assert_eq!(client.received, server.received);
        let sender = if reverse { server } else { client };
        assert!(sender.complete && sender.sent == 1000, "{sender:?}");
        assert_eq!(sender.received.received, 1000);
        assert_eq!(sender.received.octets, 125_000);
        let rtt = sender.smoothed_rtt_s.expect("a sample");
        assert!((0.002..0.0025).contains(&rtt), "{rtt}");
        let ends = path.ends.iter().map(Session::end_reason);
        assert!(ends.eq([Some(EndReason::Done); 2]));
    }
}

#[test]
fn the_ends_agree_even_if_half_of_all_messages_are_lost() {
    for reverse in [false, true] {
        // The losses are not synchronised with the repeated messages.
        let mut path = Path::new(reverse, |sent, _| sent * 7 % 11 < 5);
        path.run(Duration::from_secs(20));
        let [client, server] = [path.stats(0), path.stats(1)];
        let (sender, receiver) = if reverse {
            (server, client)
        } else {
            (client, server)
        };
        let ended = path.ends.each_ref().map(Session::end_reason);
        assert!(sender.complete && receiver.complete, "{ended:?}");
        assert_eq!(sender.received, receiver.received);
        assert_eq!(sender.received.expected, sender.sent);
        let share = sender.received.lost() as f64 / sender.sent as f64;
        assert!((0.35..0.55).contains(&share), "{share}");
    }
}

#[test]
fn a_sender_stops_without_reports() {
    let mut path = Path::new(false, |sent, message| {
        sent > 10 && matches!(message, Message::Report(_))
    });
    path.ends[0].config.duration = std::time::Duration::from_mins(1);
    path.run(Duration::from_secs(20));
    assert_eq!(path.ends[0].end_reason(), Some(EndReason::TimedOut));
    let sent = path.stats(0).sent;
    assert!((4_000..6_000).contains(&sent), "{sent}");
}

#[test]
fn either_end_may_stop_and_both_know_what_was_received() {
    for side in [0, 1] {
        let mut path = Path::new(false, |_, _| false);
        path.run(Duration::from_millis(300));
        let now = path.now;
        path.ends[side].stop(now);
        path.run(Duration::from_secs(5));
        let [client, server] = [path.stats(0), path.stats(1)];
        assert!(client.complete && server.complete);
        assert!((250..320).contains(&client.sent), "{client:?}");
        assert_eq!(client.received.received, client.sent);
    }
}

#[test]
fn a_client_answers_a_challenge_at_once_and_times_out_without_an_answer() {
    let now = Instant::from_nanos(1);
    let mut client = Session::client(1, config(true), None, now);
    let mut out = Vec::new();
    assert!(client.write(now, &mut out) && !client.write(now, &mut Vec::new()));
    client.receive(now, Message::Challenge([3; TAG_OCTETS]), 29, false);
    out.clear();
    assert!(client.write(now, &mut out), "at once");
    let (_, message) = Message::read(&out).expect("a message");
    assert_eq!(
        message,
        Message::Request(config(true), Some([3; TAG_OCTETS].into()))
    );
    let later = now + REQUEST_TIMEOUT;
    assert!(!client.write(later, &mut Vec::new()));
    assert_eq!(client.end_reason(), Some(EndReason::TimedOut));
}

#[test]
fn a_slow_sender_keeps_its_receiver_alive_and_a_late_one_sends_no_burst() {
    let mut path = Path::new(false, |_, _| false);
    for end in &mut path.ends {
        // Nine seconds between datagrams.
        end.config.rate_bps = Some(1000.0 / 9.0);
        end.config.duration = std::time::Duration::from_secs(30);
    }
    path.run(Duration::from_secs(40));
    assert_eq!(path.stats(0).received.received, 4);

    let now = Instant::from_nanos(1);
    let mut sender = Session::server(1, config(true), now);
    let later = now + Duration::from_secs(2);
    sender.config.duration = std::time::Duration::from_secs(9);
    let mut written = 0;
    while sender.write(later, &mut Vec::new()) {
        written += 1;
    }
    // The answer to the Request, and a datagram.
    assert_eq!(written, 2);
    assert_eq!(sender.stats(later).limit, "host");
}

/// Forged values for a field of eight octets.
const LIES: [u64; 12] = [
    0,
    1,
    2,
    500,
    1001,
    1 << 32,
    1 << 60,
    1 << 63,
    u64::MAX,
    // NaN, infinity and -1e300 as 64-bit floats.
    0x7ff8_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0xfe37_e43c_8800_759c,
];

/// Octets before the first field: the magic number, the kind and the test's number.
const HEADER: usize = 13;

/// The forgeries of a message: each field with each forged value.
fn lies(message: Message) -> Vec<Message> {
    let mut octets = Vec::new();
    message.write(7, &mut octets);
    let fields = (HEADER..octets.len().saturating_sub(7)).step_by(8);
    let read = fields.flat_map(|at| {
        LIES.map(|lie| {
            let mut octets = octets.clone();
            octets[at..at + 8].copy_from_slice(&lie.to_be_bytes());
            Message::read(&octets).map(|(_, message)| message)
        })
    });
    read.flatten().chain([message]).collect()
}

/// Every message that an honest peer may send in a test with a thousand datagrams.
fn messages() -> Vec<Message> {
    let report = |last, frames| {
        Message::Report(Report {
            stats: ReceptionStats {
                received: 2,
                octets: 250,
                expected: 3,
                ..ReceptionStats::default()
            },
            last,
            frames,
            ..Report::default()
        })
    };
    let token = [3; TAG_OCTETS];
    vec![
        Message::Request(config(false), Some(token.into())),
        Message::Challenge(token),
        Message::Busy,
        Message::OtherMedia,
        Message::Alive,
        Message::Data {
            number: 3,
            sent_at: 3_000_000,
        },
        Message::End { sent: 10 },
        report(false, None),
        report(true, Some(FrameStats::default())),
        Message::Stop,
        Message::Refused(Refusal::Rate(1)),
    ]
}

/// One end of a test after 100 ms, over plain UDP or with other traffic, as client or server.
fn running([carries, is_client, reverse]: [bool; 3]) -> (Session, Instant) {
    let mut now = Instant::from_nanos(1_000_000_000);
    let mut end = if is_client {
        Session::client(7, config(reverse), None, now)
    } else {
        Session::server(7, config(reverse), now)
    };
    if carries {
        end.carry(&ticks(), now);
    }
    end.receive(now, Message::Alive, HEADER, false);
    for _ in 0..100 {
        now += Duration::from_millis(1);
        while end.write(now, &mut Vec::new()) {}
    }
    (end, now)
}

fn assert_possible(end: &Session, now: Instant, told: &[Message]) {
    let stats = end.stats(now);
    let received = &stats.received;
    let most = if stats.sends { stats.sent } else { 1002 };
    assert!(received.received <= received.expected, "{told:?} {stats:?}");
    assert!(received.expected <= most, "{told:?} {stats:?}");
    assert!(received.octets <= most * 125, "{told:?} {stats:?}");
    assert!(received.jitter.is_finite() && received.jitter >= 0.0);
    let times = stats.frames.map(|frames| frames.delay_s);
    for time in times.into_iter().flatten() {
        assert!(time.is_finite() && time >= 0.0, "{told:?} {stats:?}");
    }
    let rtt = stats.smoothed_rtt_s.unwrap_or_default();
    assert!((0.0..=20.0).contains(&rtt), "{told:?} {stats:?}");
}

#[test]
fn whatever_a_peer_claims_a_result_is_possible_and_the_test_ends() {
    let told: Vec<_> = messages().into_iter().flat_map(lies).collect();
    for kind in 0..8 {
        let flags = [kind & 1 != 0, kind & 2 != 0, kind & 4 != 0];
        let (_, start) = running(flags);
        for (at, first) in told.iter().enumerate() {
            // Each message, followed by another one.
            let second = told[at * 31 % told.len()];
            let (mut end, mut now) = running(flags);
            for message in [*first, second, *first] {
                end.receive(now, message, 125, true);
                while end.write(now, &mut Vec::new()) {}
                assert_possible(&end, now, &[*first, second]);
            }
            // The peer repeats its claim.
            while end.end_reason().is_none() {
                now += Duration::from_millis(50);
                assert!(now.since(start) < Duration::from_secs(12), "{first:?}");
                end.receive(now, second, 125, false);
                while end.write(now, &mut Vec::new()) {}
            }
            assert_possible(&end, now, &[*first, second]);
        }
    }
}

#[test]
fn a_claim_that_cannot_be_true_ends_the_test_with_an_error() {
    let is_implausible =
        |end: &Session| matches!(end.end_reason(), Some(EndReason::Implausible(_)));
    let claims = [
        (
            true,
            Message::Data {
                number: u64::MAX,
                sent_at: 0,
            },
        ),
        (true, Message::End { sent: u64::MAX }),
        (true, Message::End { sent: 1003 }),
        (
            false,
            Message::Report(Report {
                stats: ReceptionStats {
                    octets: 1 << 60,
                    ..ReceptionStats::default()
                },
                last: true,
                ..Report::default()
            }),
        ),
    ];
    for (reverse, message) in claims {
        for is_client in [true, false] {
            let (mut end, now) = running([false, is_client, reverse == is_client]);
            end.receive(now, message, 125, false);
            assert!(is_implausible(&end), "{message:?}");
            assert!(!end.stats(now).complete);
        }
    }
    // Fewer datagrams than were received.
    let (mut end, now) = running([false, true, true]);
    let data = Message::Data {
        number: 9,
        sent_at: 0,
    };
    end.receive(now, data, 125, false);
    end.receive(now, Message::End { sent: 9 }, 21, false);
    assert!(is_implausible(&end));
}

#[test]
fn a_server_that_only_challenges_gets_few_requests_and_no_test() {
    let start = Instant::from_nanos(1);
    for same in [true, false] {
        let mut client = Session::client(1, config(false), None, start);
        let (mut now, mut requests, mut last) = (start, 0_u64, None::<Instant>);
        while client.end_reason().is_none() {
            while client.write(now, &mut Vec::new()) {
                requests += 1;
                // Only the answer to the first Challenge is sent at once.
                let waits = last.is_none_or(|last| now.since(last) >= REPEAT_INTERVAL);
                assert!(waits || requests == 2, "{requests} after {last:?}");
                last = Some(now);
            }
            now += Duration::from_millis(1);
            let octet = if same { 1 } else { requests as u8 };
            client.receive(now, Message::Challenge([octet; TAG_OCTETS]), 29, false);
        }
        let late = Duration::from_millis(1);
        assert!(
            now.since(start) <= REQUEST_TIMEOUT + late,
            "the first Request's"
        );
        let (reason, most) = if same {
            // At 0 and 1 ms, and then every 200 ms until 10 s.
            (EndReason::TimedOut, 51)
        } else {
            (EndReason::Declined(Refusal::Challenges), 4)
        };
        assert_eq!(client.end_reason(), Some(reason));
        assert!(requests <= most, "{requests}");
    }
}

/// Traffic of a datagram every millisecond.
struct Ticks {
    began: Option<Instant>,
    sends: bool,
    counts: DataPathCounts,
}

impl DataPath for Ticks {
    fn begin(&mut self, _: &TestConfig, now: Instant) {
        self.began = Some(now);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let began = self.began.filter(|_| self.sends)?;
        Some(began + Duration::from_millis(self.counts.sent))
    }

    fn counts(&self, _: Instant) -> DataPathCounts {
        self.counts
    }

    /// The traffic lasts for the time of the test.
    fn is_done(&self) -> bool {
        false
    }

    fn newest(&self) -> Option<(Instant, u64)> {
        None
    }

    fn frames(&self, _: Instant) -> Option<FrameStats> {
        (!self.sends).then(|| FrameStats {
            frames: self.counts.received.received,
            ..FrameStats::default()
        })
    }
}

impl Traffic for Ticks {
    fn receive(&mut self, _: Instant, octets: &[u8], _: Ecn) {
        self.counts.received.received += 1;
        // The number of missing datagrams before it, if the datagram contains one.
        let missing = octets
            .strip_prefix(&[0xff])
            .and_then(|rest| rest.first_chunk());
        let missing = missing.map_or(0, |missing| u64::from_be_bytes(*missing));
        let expected = &mut self.counts.received.expected;
        *expected = expected.saturating_add(missing).saturating_add(1);
        self.counts.received.octets += octets.len() as u64;
    }

    fn write(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        let is_due = self.next_timeout().is_some_and(|due| due <= now);
        if is_due {
            out.extend([0x80; 100]);
            self.counts.sent += 1;
            self.counts.sent_octets += 100;
        }
        is_due
    }
}

fn ticks() -> TrafficFactory {
    Arc::new(|_, sends, _| -> SharedTraffic {
        Arc::new(Mutex::new(Ticks {
            began: None,
            sends,
            counts: DataPathCounts::default(),
        }))
    })
}

/// Runs a test that carries ticks until both ends have ended; each end receives those of the peer's
/// datagrams that `passes` accepts by the time since the start in milliseconds.
fn carry(reverse: bool, passes: fn(u64) -> bool) -> [Session; 2] {
    let start = Instant::from_nanos(1_000_000_000);
    let make = ticks();
    let mut ends = [
        Session::client(7, config(reverse), None, start),
        Session::server(7, config(reverse), start),
    ];
    for end in &mut ends {
        end.carry(&make, start);
    }
    for millis in 0..20_000 {
        let now = start + Duration::from_millis(millis);
        for side in [0, 1] {
            let mut octets = Vec::new();
            while ends[side].write(now, &mut octets) {
                let other = &mut ends[1 - side];
                if passes(millis) {
                    match Message::read(&octets) {
                        Some((_, message)) => other.receive(now, message, octets.len(), false),
                        None => other.receive_other(now, &octets, Ecn::NotEct),
                    }
                }
                octets.clear();
            }
        }
        if ends.iter().all(|end| end.end_reason().is_some()) {
            break;
        }
    }
    ends
}

#[test]
fn other_traffic_is_carried_and_both_ends_know_its_counts() {
    for reverse in [false, true] {
        let ends = carry(reverse, |_| true);
        let now = Instant::from_nanos(20_000_000_000);
        for end in &ends {
            let stats = end.stats(now);
            assert_eq!(end.end_reason(), Some(EndReason::Done));
            assert!(stats.complete);
            // A datagram every millisecond for a second.
            assert_eq!(
                (stats.received.received, stats.received.expected),
                (1000, 1000)
            );
            assert_eq!(stats.frames.map(|frames| frames.frames), Some(1000));
            let sent = if stats.sends { 1000 } else { 0 };
            assert_eq!((stats.sent, stats.sent_octets), (sent, 100 * sent));
        }
    }
}

#[test]
fn other_traffic_that_jumps_ahead_of_its_test_is_a_lie() {
    // A datagram of 125 octets every millisecond for a second: at most 1002.
    for (missing, is_lie) in [(1001_u64, false), (1002, true), (u64::MAX, true)] {
        let told: Vec<u8> = std::iter::once(0xff).chain(missing.to_be_bytes()).collect();
        for is_client in [true, false] {
            let (mut end, now) = running([true, is_client, is_client]);
            end.receive_other(now, &told, Ecn::NotEct);
            let is_implausible = matches!(end.end_reason(), Some(EndReason::Implausible(_)));
            assert_eq!(is_implausible, is_lie, "{missing}");
        }
    }
}

#[test]
fn both_ends_of_other_traffic_detect_a_dead_peer() {
    for reverse in [false, true] {
        let ends = carry(reverse, |millis| millis < 500);
        let ended = ends.each_ref().map(Session::end_reason);
        // The receiver detects the loss of the sender; the sender's time ends before it detects the
        // loss of the receiver.
        let [sender, receiver] = if reverse { [1, 0] } else { [0, 1] };
        assert_eq!(ended[receiver], Some(EndReason::TimedOut));
        assert_eq!(ended[sender], Some(EndReason::Done));
        let stats = ends[sender].stats(Instant::from_nanos(20_000_000_000));
        assert!(
            !stats.complete && stats.received.received < 510,
            "{stats:?}"
        );
    }
}

#[path = "lying_peer_tests.rs"]
mod lying_peer;

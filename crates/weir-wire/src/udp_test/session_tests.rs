use super::super::traffic::Traffic;
use super::*;
use crate::keyed_tag::TAG_OCTETS;
use std::sync::{Arc, Mutex};

/// Two ends and a path with a delay of a millisecond each way.
struct Path {
    ends: [Session; 2],
    now: Instant,
    in_transit: [Vec<(Instant, Vec<u8>)>; 2],
    /// How many messages have been sent, and which of them are lost.
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
        // A datagram each millisecond.
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
                Session::client(7, config, now),
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
        // The losses are not in step with the repeated messages.
        let mut path = Path::new(reverse, |sent, _| sent * 7 % 11 < 5);
        path.run(Duration::from_secs(20));
        let [client, server] = [path.stats(0), path.stats(1)];
        let (sender, receiver) = if reverse {
            (server, client)
        } else {
            (client, server)
        };
        assert!(sender.complete && receiver.complete);
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
    let mut client = Session::client(1, config(true), now);
    let mut out = Vec::new();
    assert!(client.write(now, &mut out) && !client.write(now, &mut Vec::new()));
    client.receive(now, Message::Challenge([3; TAG_OCTETS]), 29, false);
    out.clear();
    assert!(client.write(now, &mut out), "at once");
    let (_, message) = Message::read(&out).expect("a message");
    assert_eq!(
        message,
        Message::Request(config(true), Some([3; TAG_OCTETS]))
    );
    let later = now + REQUEST_TIMEOUT;
    assert!(!client.write(later, &mut Vec::new()));
    assert_eq!(client.end_reason(), Some(EndReason::TimedOut));
}

#[test]
fn a_slow_sender_keeps_its_receiver_alive_and_a_late_one_sends_no_burst() {
    let mut path = Path::new(false, |_, _| false);
    for end in &mut path.ends {
        // Nine seconds from one datagram to the next.
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

/// Traffic of a datagram each millisecond.
struct Ticks {
    began: Option<Instant>,
    sends: bool,
    counts: TrafficCounts,
}

impl Traffic for Ticks {
    fn begin(&mut self, now: Instant) {
        self.began = Some(now);
    }

    fn receive(&mut self, _: Instant, octets: &[u8], _: Ecn) {
        self.counts.received.received += 1;
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

    fn next_timeout(&self) -> Option<Instant> {
        let began = self.began.filter(|_| self.sends)?;
        Some(began + Duration::from_millis(self.counts.sent))
    }

    fn counts(&self) -> TrafficCounts {
        self.counts
    }

    fn frames(&self, _: Instant) -> Option<FrameStats> {
        (!self.sends).then(|| FrameStats {
            frames: self.counts.received.received,
            ..FrameStats::default()
        })
    }
}

/// Runs a test that carries ticks until both ends have ended; of the peer's datagrams each end gets
/// those that `passes` lets through, by the time since the beginning in milliseconds.
fn carry(reverse: bool, passes: fn(u64) -> bool) -> [Session; 2] {
    let start = Instant::from_nanos(1_000_000_000);
    let make: TrafficFactory = Arc::new(|_, sends, _| -> SharedTraffic {
        Arc::new(Mutex::new(Ticks {
            began: None,
            sends,
            counts: TrafficCounts::default(),
        }))
    });
    let mut ends = [
        Session::client(7, config(reverse), start),
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
            // A datagram each millisecond of a second.
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
fn both_ends_of_other_traffic_miss_a_dead_peer() {
    for reverse in [false, true] {
        let ends = carry(reverse, |millis| millis < 500);
        let ended = ends.each_ref().map(Session::end_reason);
        // The receiver misses the sender; the sender's time is over before it misses the receiver.
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

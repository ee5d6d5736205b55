//! Captures made by hand in which a connection stands still or waits, and what is said of them.

use super::{TestCapture, TestSegment};
use crate::diagnosis::{Explanation, Trace, explain};

fn explained(capture: &TestCapture) -> Explanation {
    explain(&Trace::of_import(&capture.read()))
}

fn kinds(capture: &TestCapture) -> Vec<&'static str> {
    let findings = explained(capture).findings;
    findings.iter().map(|finding| finding.kind).collect()
}

/// An open connection on which ten segments of 1000 octets were acknowledged after 40 ms each, the
/// last at 490 ms.
fn running() -> TestCapture {
    let mut capture = TestCapture::new();
    capture.open(99);
    for number in 0..10 {
        let (at, seq) = (50_000 + number * 40_000, 100 + number * 1000);
        capture.data(at, seq, 1000);
        capture.ack(at + 40_000, seq + 1000, 60_000, &[]);
    }
    capture
}

const NEXT: u32 = 10_100;

#[test]
fn a_window_that_stays_closed_is_found_with_its_probes() {
    let mut capture = running();
    capture.ack(460_000, NEXT, 0, &[]);
    for (probe, at) in [700_000, 1_300_000, 2_500_000].into_iter().enumerate() {
        capture.data(at, NEXT, 1);
        capture.ack(at + 40_000, NEXT, 0, &[]);
        assert_eq!(kinds(&capture)[0], "closed_window", "probe {probe}");
    }
    let closed = explained(&capture).findings.swap_remove(0);
    assert!(closed.severity > 0.75, "{}", closed.severity);
    let said: Vec<&str> = closed.chain.iter().map(|one| &*one.text).collect();
    assert_eq!(said[0], "3 probes of the window did not open it.");
    assert!(said[1].contains("still 0 bytes"), "{said:?}");
}

#[test]
fn a_window_that_opens_again_at_once_is_no_finding() {
    let mut capture = running();
    capture.ack(460_000, NEXT, 0, &[]);
    // 190 ms are less than the least time of a probe.
    capture.ack(650_000, NEXT, 60_000, &[]);
    let mut at = 660_000;
    for number in 0..10 {
        capture.data(at, NEXT + number * 1000, 1000);
        at += 40_000;
        capture.ack(at, NEXT + (number + 1) * 1000, 60_000, &[]);
    }
    assert_eq!(kinds(&capture), [""; 0]);
}

/// A window that is closed for 300 ms of a connection that goes on until `end`.
fn closed_once(end: u32) -> TestCapture {
    let mut capture = running();
    capture.ack(460_000, NEXT, 0, &[]);
    capture.ack(760_000, NEXT, 60_000, &[]);
    let (mut at, mut seq) = (770_000, NEXT);
    while at < end {
        capture.data(at, seq, 1000);
        (at, seq) = (at + 40_000, seq + 1000);
        capture.ack(at, seq, 60_000, &[]);
    }
    capture
}

#[test]
fn a_window_counts_as_closed_from_a_twentieth_of_the_time_on() {
    assert_eq!(kinds(&closed_once(5_400_000)), ["closed_window"]);
    assert_eq!(kinds(&closed_once(6_600_000)), [""; 0]);
}

#[test]
fn a_peer_that_falls_silent_is_a_black_hole() {
    let timeouts = [800_000, 1_300_000, 2_300_000];
    let silent = |timeouts: &[u32]| {
        let mut capture = running();
        capture.data(500_000, NEXT, 1000);
        for at in timeouts {
            capture.data(*at, NEXT, 1000);
        }
        capture
    };
    assert_eq!(kinds(&silent(&timeouts))[0], "black_hole");
    // Two timeouts prove nothing so early.
    assert!(!kinds(&silent(&timeouts[..2])).contains(&"black_hole"));
    let late = [800_000, 1_300_000, 7_000_000];
    assert_eq!(kinds(&silent(&late))[0], "black_hole");
    // Two do after five seconds without a segment of the peer, one does not.
    assert_eq!(kinds(&silent(&[800_000, 5_600_000]))[0], "black_hole");
    assert!(!kinds(&silent(&[800_000, 5_400_000])).contains(&"black_hole"));
    assert!(!kinds(&silent(&[5_600_000])).contains(&"black_hole"));
    // The peer answers after all.
    let mut answered = silent(&timeouts);
    answered.ack(2_340_000, NEXT + 1000, 60_000, &[]);
    assert!(!kinds(&answered).contains(&"black_hole"));
}

/// A request of 100 octets passes, then segments of 1000 do not, but the 50 octets after them do.
fn large_packets_vanish(first: u16) -> TestCapture {
    let mut capture = TestCapture::new();
    capture.open(99);
    let start = 100 + u32::from(first);
    capture.data(50_000, 100, first);
    capture.ack(90_000, start, 60_000, &[]);
    capture.data(100_000, start, 1000);
    capture.data(100_010, start + 1000, 1000);
    capture.data(100_020, start + 2000, 50);
    let tail = [(start + 2000, start + 2050)];
    capture.ack(140_000, start, 60_000, &tail);
    for at in [400_000, 900_000, 1_900_000] {
        capture.data(at, start, 1000);
        // A keep-alive of the peer's application: it lives.
        capture.ack(at + 45_000, start, 60_000, &tail);
    }
    capture
}

#[test]
fn large_packets_that_vanish_are_told_from_a_peer_that_is_silent() {
    let found = kinds(&large_packets_vanish(100));
    assert_eq!(found[0], "pmtu_black_hole", "{found:?}");
    assert!(!found.contains(&"black_hole"), "{found:?}");
    // A segment of that length was acknowledged before: it is not the length.
    let found = kinds(&large_packets_vanish(1000));
    assert!(!found.contains(&"pmtu_black_hole"), "{found:?}");
}

#[test]
fn retransmissions_of_a_capture_are_counted_in_octets() {
    let capture = |lost: u32| {
        let mut capture = TestCapture::new();
        capture.open(99);
        let mut at = 50_000;
        for number in 0..100 {
            let seq = 100 + number * 1000;
            // Every one of the lost is sent again after three duplicates.
            capture.data(at, seq, 1000);
            if number % 100 < lost {
                capture.data(at + 300_000, seq, 1000);
                at += 300_000;
            }
            at += 40_000;
            capture.ack(at, seq + 1000, 60_000, &[]);
        }
        capture
    };
    // 20 of 120 segments of 1000 octets, and 10 of 110: fewer than ten of 1500 octets.
    assert!(kinds(&capture(20)).contains(&"heavy_retransmission"));
    assert!(!kinds(&capture(10)).contains(&"heavy_retransmission"));
}

/// SYN, SYN/ACK after `path`, request after `client`, its acknowledgement after `path`, and the
/// answer after `server`; times in microseconds.
fn page(path: u32, client: u32, server: u32) -> TestCapture {
    let mut capture = TestCapture::new();
    let options = vec![2, 4, 3, 232, 4, 2, 1, 3, 3, 0, 1, 1];
    let segment = |micros, client, [seq, ack]: [u32; 2], flags: u8, payload| TestSegment {
        micros,
        client,
        seq,
        ack,
        flags,
        window: 60_000,
        payload,
        options: if flags & 2 == 0 {
            Vec::new()
        } else {
            options.clone()
        },
    };
    let mut at = 0;
    capture.add(&segment(at, true, [99, 0], 2, 0));
    at += path;
    capture.add(&segment(at, false, [499, 100], 0x12, 0));
    at += 70;
    capture.add(&segment(at, true, [100, 500], 0x10, 0));
    at += client;
    capture.add(&segment(at, true, [100, 500], 0x18, 300));
    at += path + 5000;
    capture.add(&segment(at, false, [500, 400], 0x10, 0));
    at += server;
    capture.add(&segment(at, false, [500, 400], 0x18, 900));
    capture
}

#[test]
fn a_slow_page_is_the_paths_the_clients_or_the_servers() {
    assert_eq!(kinds(&page(30_000, 100, 22_000)), [""; 0]);
    assert_eq!(kinds(&page(879_000, 300, 16_000)), ["long_path"]);
    assert_eq!(
        kinds(&page(24_000, 1_345_000, 16_000)),
        ["client_think_time"]
    );
    assert_eq!(kinds(&page(19_000, 200, 983_000)), ["slow_server"]);
    // A path of a continent is no finding, and neither is a server's wait of less than 800 ms or
    // of two round trips, or a client's of less than a second.
    assert_eq!(kinds(&page(19_000, 200, 780_000)), [""; 0]);
    assert_eq!(kinds(&page(19_000, 990_000, 10_000)), [""; 0]);
    assert_eq!(kinds(&page(390_000, 100, 16_000)), [""; 0]);
    assert_eq!(kinds(&page(450_000, 100, 890_000)), ["long_path"]);
}

/// The first octets of the answer to a request of 300 octets.
fn answer(capture: &mut TestCapture, micros: u32) {
    capture.add(&TestSegment {
        micros,
        seq: 1,
        ack: 400,
        flags: 0x18,
        window: 60_000,
        payload: 900,
        ..TestSegment::default()
    });
}

/// The request is lost and sent again after a second: the server is not slow.
#[test]
fn a_lost_request_is_no_slow_server() {
    let mut capture = TestCapture::new();
    capture.open(99);
    capture.data(50_000, 100, 300);
    capture.data(1_100_000, 100, 300);
    capture.ack(1_140_000, 400, 60_000, &[]);
    answer(&mut capture, 1_150_000);
    assert!(!kinds(&capture).contains(&"slow_server"));
}

/// The acknowledgement of a request comes 1 ms after it was sent again: the path takes 40 ms, as
/// the handshake shows.
#[test]
fn a_request_that_was_sent_again_does_not_shorten_the_path() {
    let mut capture = TestCapture::new();
    capture.open(99);
    capture.data(50_000, 100, 300);
    capture.data(250_000, 100, 300);
    capture.ack(251_000, 400, 60_000, &[]);
    answer(&mut capture, 1_000_000);
    let imported = capture.read();
    let turns = imported.flows[0].turns.as_ref().unwrap();
    let path = turns.numbers("path_s").unwrap();
    // SYN/ACK after 40 ms, its ACK after 1 µs, the request at once, the answer.
    assert_eq!(path.last(), Some(&0.04));
}

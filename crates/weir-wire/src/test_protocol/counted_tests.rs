use super::*;
use crate::fault::{Refusal, VERSION};
use crate::test_protocol::timeouts::{CLOSE_TIMEOUT, DRAIN_TIMEOUT, PEER_TIMEOUT, REQUEST_TIMEOUT};
use crate::test_protocol::{
    Admission, Admitting, Channel, EndReason, Message, Opening, ReceptionStats, Report, Secret,
    Sent,
};
use proptest::prelude::*;
use std::sync::Arc;
use weir_proto::time::Duration;

const LENGTH: u16 = 100;
const SENT: Sent = Sent {
    datagrams: 10,
    octets: 1000,
};
const START: Instant = Instant::from_nanos(1_000_000_000);

fn request() -> TestConfig {
    TestConfig {
        length: LENGTH,
        // A datagram every millisecond.
        rate_bps: Some(800_000.0),
        duration: std::time::Duration::from_secs(1),
        ..TestConfig::default()
    }
}

/// A server's end that sends or receives, after it has accepted the test; it has sent `sent`.
fn end(channel: Channel, sends: bool, sent: Sent) -> Session<Counted> {
    let request = TestConfig {
        reverse: sends,
        ..request()
    };
    let mut end = Session::<Counted>::new(0, Opening::Accept(request), channel, START);
    end.data.counts.sent = sent.datagrams;
    end.data.counts.sent_octets = sent.octets;
    assert_eq!(end.next_message(START), Some(Message::Alive));
    end
}

fn sender() -> Session<Counted> {
    end(Channel::Connection, true, SENT)
}

fn receiver() -> Session<Counted> {
    end(Channel::Connection, false, Sent::default())
}

fn report(received: u64, last: bool) -> Vec<u8> {
    let stats = ReceptionStats {
        received,
        octets: received * u64::from(LENGTH),
        expected: if last { 10 } else { received },
        ..ReceptionStats::default()
    };
    let report = Report {
        stats,
        last,
        ..Report::default()
    };
    Message::Report(report).to_octets()
}

/// A Report of a stream.
fn stream_report(octets: u64, last: bool) -> Message {
    let stats = ReceptionStats {
        octets,
        ..ReceptionStats::default()
    };
    Message::Report(Report {
        stats,
        last,
        ..Report::default()
    })
}

#[test]
fn a_sender_knows_what_arrived_by_the_newest_report_and_what_is_lost_by_the_last() {
    let mut sender = sender();
    assert!(!sender.stats(START).reported);
    for (datagram, received, complete) in [
        (report(0, false), 0, false),
        (report(7, false), 700, false),
        // A report that was overtaken.
        (report(3, false), 700, false),
        (report(8, true), 800, true),
    ] {
        sender.take_datagram(START, &datagram);
        let stats = sender.stats(START);
        assert!(stats.reported);
        assert_eq!(
            (stats.received.octets, stats.complete),
            (received, complete)
        );
        if complete {
            assert_eq!((stats.received.expected, stats.received.lost()), (10, 2));
        }
    }
    let mut sender = self::sender();
    assert!(sender.is_running());
    sender.take_datagram(START, &Message::Stop.to_octets());
    assert!(!sender.is_running());
    assert_eq!(sender.next_message(START), Some(Message::End { sent: 10 }));
}

#[test]
fn a_receiver_counts_data_and_answers_the_end_with_the_last_report() {
    let mut receiver = receiver();
    for _ in 0..3 {
        receiver.take_datagram(START, &[0x57; LENGTH as usize]);
    }
    let later = START + Duration::from_secs(1);
    let next = |receiver: &mut Session<Counted>| match receiver.next_message(later) {
        Some(Message::Report(report)) => {
            (report.last, report.stats.received, report.stats.expected)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(next(&mut receiver), (false, 3, 3));
    assert!(!receiver.stats(later).complete);
    let end = Message::End { sent: 5 }.to_octets();
    receiver.take_datagram(later, &end);
    assert_eq!(next(&mut receiver), (true, 3, 5));
    // A datagram that the End has overtaken; the End is repeated.
    receiver.take_datagram(later, &[0x57; LENGTH as usize]);
    receiver.take_datagram(later, &end);
    assert_eq!(next(&mut receiver), (true, 4, 5));
    let stats = receiver.stats(later);
    assert_eq!((stats.received.octets, stats.received.lost()), (400, 1));
    assert!(stats.complete);
    receiver.on_gone(later);
    assert_eq!(receiver.end_reason(), Some(EndReason::Done));
}

/// A sender whose data has ended and partly waits to be sent, and whose peer responds.
fn draining(left: impl Fn(u64) -> u64) -> Duration {
    let mut sender = sender();
    sender.data.is_done = true;
    for millis in 0..60_000 {
        let now = START + Duration::from_millis(millis);
        sender.on_packet(now);
        sender.data.counts.waiting = 100_000 - left(millis);
        sender.next_message(now);
        if sender.end_reason().is_some() {
            assert_eq!(sender.end_reason(), Some(EndReason::Done));
            return now.since(START);
        }
    }
    panic!("it does not end");
}

#[test]
fn a_sender_waits_while_data_leaves_and_an_end_that_waits_and_leaves_is_no_progress() {
    // Data is sent for a second. Then an End waits, is sent, and so does another one.
    let stalled = draining(|millis| match millis {
        0..=1000 => millis,
        _ if millis % 400 < 200 => 972,
        _ => 1000,
    });
    assert_eq!(stalled, Duration::from_secs(1) + CLOSE_TIMEOUT);
    // The time for data that continues to be sent is limited.
    assert_eq!(draining(|millis| millis), DRAIN_TIMEOUT);
}

#[test]
fn the_data_ends_when_it_has_left_and_not_with_the_last_end() {
    let mut sender = sender();
    sender.data.is_done = true;
    for millis in 0..2_500 {
        let now = START + Duration::from_millis(millis);
        sender.on_packet(now);
        // After a second each End waits for a while.
        sender.data.counts.waiting = match millis {
            0..1000 => 1000 - millis,
            _ if millis % 200 < 100 => 21,
            _ => 0,
        };
        if millis == 1000 {
            sender.data.counts.waiting = 0;
        }
        sender.next_message(now);
    }
    let now = START + Duration::from_millis(2_500);
    assert_eq!(sender.end_reason(), None);
    assert!((sender.stats(now).seconds - 1.0).abs() < 1e-9);
}

/// Forgeries of a message: any of its fields of eight octets is replaced by a small value, an edge
/// case, a 64-bit float, or any value.
fn forged_message(honest: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    /// Octets before the first field: the magic number, the kind and the test's number.
    const HEADER: usize = 13;
    let odd = [f64::NAN, f64::INFINITY, -1e300, -0.0];
    let value = prop_oneof![
        0_u64..20,
        (0_u32..64).prop_map(|bit| 1 << bit),
        prop::sample::select(odd.to_vec()).prop_map(f64::to_bits),
        (-1.0_f64..2.0).prop_map(f64::to_bits),
        Just(u64::MAX),
        any::<u64>(),
    ];
    let fields = prop::collection::vec(prop::option::of(value), 20);
    (prop::sample::select(honest), fields).prop_map(|(mut octets, fields)| {
        let places = octets[HEADER..].chunks_exact_mut(8).zip(fields);
        for (place, field) in places {
            if let Some(field) = field {
                place.copy_from_slice(&field.to_be_bytes());
            }
        }
        octets
    })
}

/// Every message that an honest peer may send in a test of ten datagrams, and data.
fn honest() -> Vec<Vec<u8>> {
    let data = Message::Data {
        number: 1,
        sent_at: 1,
    };
    vec![
        report(3, false),
        report(3, true),
        Message::End { sent: 10 }.to_octets(),
        data.to_octets(),
        Message::Request(request(), None).to_octets(),
        Message::Challenge(Default::default()).to_octets(),
        Message::Busy.to_octets(),
        Message::Alive.to_octets(),
        Message::OtherMedia.to_octets(),
        Message::Refused(Refusal::Rate(1)).to_octets(),
        Message::Stop.to_octets(),
        vec![0x57; LENGTH.into()],
    ]
}

fn is_implausible(end: &Session<Counted>) -> bool {
    matches!(end.end_reason(), Some(EndReason::Implausible(_)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn whatever_a_peer_claims_the_counts_are_possible(
        sends: bool,
        told in prop::collection::vec(forged_message(honest()), 1..12),
    ) {
        let mut end = if sends { sender() } else { receiver() };
        let mut has_reason = false;
        for datagram in &told {
            has_reason |= match Message::from_octets(datagram) {
                Some(Message::Report(report)) => sends && report.last,
                Some(Message::End { .. }) => !sends,
                _ => false,
            };
            end.take_datagram(START, datagram);
            let stats = end.stats(START);
            let received = stats.received;
            prop_assert!(!stats.complete || (has_reason && !is_implausible(&end)));
            let most = if sends { SENT.datagrams } else { 1002 };
            prop_assert!(received.received <= received.expected, "{:?}", received);
            prop_assert!(received.expected <= most, "{:?}", received);
            prop_assert!(received.octets <= most * u64::from(LENGTH));
            prop_assert!(received.jitter.is_finite() && received.jitter >= 0.0);
        }
    }

    #[test]
    fn whatever_a_receiver_of_a_stream_reports_it_has_no_more_than_was_written(
        told in prop::collection::vec(
            forged_message(vec![
                stream_report(900, false).to_octets(),
                stream_report(900, true).to_octets(),
                Message::End { sent: 1 }.to_octets(),
                Message::Stop.to_octets(),
            ]),
            1..12,
        ),
    ) {
        let written = Sent { datagrams: 0, octets: 1000 };
        let mut sender = end(Channel::Stream, true, written);
        let mut has_reason = false;
        for octets in &told {
            if let Some(Message::Report(report)) = Message::from_octets(octets) {
                has_reason |= report.last;
            }
            sender.take_octets(START, octets);
            let stats = sender.stats(START);
            prop_assert!(stats.received.octets <= 1000, "{:?}", stats);
            prop_assert!(stats.received.jitter.is_finite() && stats.received.jitter >= 0.0);
            prop_assert!(!stats.complete || (has_reason && !is_implausible(&sender)));
        }
    }
}

#[test]
fn a_claim_that_cannot_be_true_ends_the_test() {
    let lies = |mut end: Session<Counted>, told: &[Vec<u8>]| {
        for datagram in told {
            end.take_datagram(START, datagram);
        }
        assert!(!is_implausible(&end) || !end.stats(START).complete);
        is_implausible(&end)
    };
    let end_of = |sent| Message::End { sent }.to_octets();
    let data = vec![0x57; LENGTH.into()];
    assert!(lies(sender(), &[report(11, false)]));
    assert!(lies(receiver(), &[end_of(u64::MAX)]));
    assert!(lies(receiver(), &[vec![0x57; 101]]));
    assert!(lies(receiver(), &[data.clone(), data.clone(), end_of(1)]));
    assert!(lies(receiver(), &[end_of(1), data.clone(), data.clone()]));
    assert!(!lies(receiver(), &[end_of(2), data.clone(), data]));
    let unsent = || end(Channel::Stream, true, Sent::default());
    assert!(lies(unsent(), &[stream_report(1, false).to_octets()]));
    assert!(!lies(unsent(), &[stream_report(0, true).to_octets()]));
}

/// A server that waits for a Request, with a secret or without; clients that send no Request get
/// the test `default_test`.
fn admitting(secret: Option<&[u8]>, default_test: Option<TestConfig>) -> Session<Counted> {
    let admission = Admission {
        secret: secret.map(Secret::new),
        max_time: Some(std::time::Duration::from_secs(5)),
        ..Admission::default()
    };
    let admitting = Admitting {
        admission: Arc::new(admission),
        token: [3; 16],
        default_test,
    };
    Session::new(0, Opening::Admit(admitting), Channel::Connection, START)
}

/// Runs the exchange with a client that has this secret; returns how both have ended, if they have.
fn ask(
    server: &mut Session<Counted>,
    request: TestConfig,
    secret: Option<&[u8]>,
) -> [Option<EndReason>; 2] {
    let mut client = Session::<Counted>::new(
        0,
        Opening::Ask(request, secret.map(Secret::new)),
        Channel::Connection,
        START,
    );
    for _ in 0..4 {
        while let Some(message) = client.next_message(START) {
            server.take(START, &message);
        }
        while let Some(message) = server.next_message(START) {
            client.take(START, &message);
        }
    }
    assert_eq!(client.is_running(), server.is_running());
    [client.end_reason(), server.end_reason()]
}

#[test]
fn a_server_admits_clients_over_a_connection_or_reports_the_refusal() {
    let secret: &[u8] = b"a secret of some length";
    let mut server = admitting(Some(secret), None);
    let reversed = TestConfig {
        reverse: true,
        ..request()
    };
    assert_eq!(ask(&mut server, reversed, Some(secret)), [None; 2]);
    assert!(server.is_running() && server.is_sender());
    assert_eq!(server.config, reversed);
    let longer = TestConfig {
        duration: std::time::Duration::from_secs(6),
        ..request()
    };
    for (asked, with, refusal) in [
        (request(), None, Refusal::NoSecret),
        (request(), Some(&b"another one"[..]), Refusal::OtherSecret),
        (longer, Some(secret), Refusal::Time(5_000_000_000)),
    ] {
        let mut server = admitting(Some(secret), None);
        let expected = [EndReason::Declined(refusal), EndReason::Rejected(refusal)];
        assert_eq!(ask(&mut server, asked, with), expected.map(Some));
    }
    // A Request of another version.
    let mut server = admitting(None, None);
    let mut octets = Message::Request(request(), None).to_octets();
    octets[3] = b'2';
    assert!(server.take_octets(START, &octets));
    let refused = Refusal::OtherVersion(VERSION);
    assert_eq!(server.next_message(START), Some(Message::Refused(refused)));
    assert_eq!(server.end_reason(), Some(EndReason::Rejected(refused)));
}

#[test]
fn a_client_without_a_request_sends_without_limits_or_is_refused() {
    let default_test = TestConfig {
        length: 1400,
        duration: std::time::Duration::from_secs(5),
        ..TestConfig::default()
    };
    let late = START + REQUEST_TIMEOUT;
    for said in [true, false] {
        let on_packet = |server: &mut Session<Counted>| {
            if said {
                server.take_datagram(START, &[1; 2000]);
            }
            server.next_message(late);
        };
        let mut server = admitting(None, Some(default_test));
        on_packet(&mut server);
        if said {
            assert_eq!(server.stats(START).received.octets, 2000);
        } else {
            assert!(server.is_running());
            // This client does not expect Reports.
            let later = late + Duration::from_secs(1);
            server.on_packet(later);
            assert_eq!(server.next_message(later), None);
            server.on_gone(later);
            assert_eq!(server.end_reason(), Some(EndReason::Done));
        }
        let mut server = admitting(Some(b"a secret"), None);
        on_packet(&mut server);
        assert_eq!(server.end_reason(), Some(EndReason::NoRequest));
    }
}

#[test]
fn a_silent_peer_and_one_that_closes_are_detected_over_a_connection() {
    for sends in [true, false] {
        for channel in [Channel::Connection, Channel::Stream] {
            let sent = if sends { SENT } else { Sent::default() };
            let mut silent = end(channel, sends, sent);
            silent.config.duration = std::time::Duration::from_mins(1);
            let almost = START + PEER_TIMEOUT - Duration::from_nanos(1);
            silent.next_message(almost);
            assert!(silent.is_running());
            silent.next_message(START + PEER_TIMEOUT);
            assert_eq!(silent.end_reason(), Some(EndReason::TimedOut));

            let mut left = end(channel, sends, sent);
            left.on_gone(START);
            assert_eq!(left.end_reason(), Some(EndReason::EndedEarly));
        }
    }
    // Before the last Report the end is early; after it the test is done.
    for is_last in [false, true] {
        let mut sender = sender();
        sender.stop(START);
        sender.take_datagram(START, &report(8, is_last));
        sender.on_gone(START);
        let expected = if is_last {
            EndReason::Done
        } else {
            EndReason::EndedEarly
        };
        assert_eq!(sender.end_reason(), Some(expected));
    }
}

#[test]
fn a_stream_repeats_nothing() {
    let mut client =
        Session::<Counted>::new(0, Opening::Ask(request(), None), Channel::Stream, START);
    let mut asked = 0;
    for millis in 0..20_000 {
        let now = START + Duration::from_millis(millis);
        asked += u32::from(client.next_message(now).is_some());
    }
    assert_eq!((asked, client.end_reason()), (1, Some(EndReason::TimedOut)));
}

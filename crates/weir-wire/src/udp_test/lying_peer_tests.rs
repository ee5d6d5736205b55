//! A peer that sends arbitrary values in any field of any message, in any order and at any time.

use super::*;
use proptest::prelude::*;

/// A value of a field: close to an honest one, an edge case, or any value.
fn value() -> impl Strategy<Value = u64> {
    prop_oneof![
        0_u64..20,
        prop::sample::select(&LIES[..]),
        (0_u32..64).prop_map(|bit| 1 << bit),
        (-1.0_f64..2.0).prop_map(f64::to_bits),
        any::<u64>(),
    ]
}

/// A message with some of its fields replaced.
fn forged_message() -> impl Strategy<Value = Option<Message>> {
    let fields = prop::collection::vec(prop::option::of(value()), 20);
    (prop::sample::select(messages()), fields).prop_map(|(honest, fields)| {
        let mut octets = Vec::new();
        honest.write(7, &mut octets);
        let places = octets[HEADER..].chunks_exact_mut(8).zip(fields);
        for (place, field) in places {
            if let Some(field) = field {
                place.copy_from_slice(&field.to_be_bytes());
            }
        }
        Message::read(&octets).map(|(_, message)| message)
    })
}

/// The packets of a peer: messages, each with a time in milliseconds before it, a length and an ECN
/// mark or none, or a datagram of other traffic.
type Dialogue = Vec<(u64, Option<Message>, usize, bool)>;

fn dialogue() -> impl Strategy<Value = Dialogue> {
    let step = (0_u64..400, forged_message(), 0_usize..200, any::<bool>());
    prop::collection::vec(step, 1..16)
}

/// Writes due messages, at most 200, because at the highest rate more are due than there is time
/// for.
fn write_some(end: &mut Session, now: Instant) {
    for _ in 0..200 {
        if !end.write(now, &mut Vec::new()) {
            return;
        }
    }
}

/// Asserts that an end whose result is final has a reason for it.
fn assert_complete_with_reason(end: &Session, now: Instant, told: &Dialogue) {
    let stats = end.stats(now);
    if !stats.complete {
        return;
    }
    let is_implausible = matches!(end.end_reason(), Some(EndReason::Implausible(_)));
    let has_reason = told.iter().any(|(_, message, ..)| match message {
        Some(Message::Report(report)) => stats.sends && report.last,
        Some(Message::End { .. }) => !stats.sends,
        _ => false,
    });
    assert!(has_reason && !is_implausible, "{told:?} {stats:?}");
}

fn on_packet(end: &mut Session, start: Instant, told: &Dialogue) -> Instant {
    let mut now = start;
    for (after_ms, message, octets, marked) in told {
        now += Duration::from_millis(*after_ms);
        match message {
            Some(message) => end.receive(now, *message, *octets, *marked),
            None => end.receive_other(now, &vec![0x80; *octets], Ecn::Ce),
        }
        write_some(end, now);
        let _ = end.next_timeout();
    }
    now
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_fields_in_any_order_leave_a_possible_result(
        flags: [bool; 3],
        begun: bool,
        told in dialogue(),
    ) {
        let (mut end, mut now) = running(flags);
        if !begun {
            now = Instant::from_nanos(1_000_000_000);
            end = Session::client(7, config(flags[2]), None, now);
        }
        now = on_packet(&mut end, now, &told);
        let words: Vec<Message> = told.iter().filter_map(|(_, message, ..)| *message).collect();
        if !flags[0] || !begun {
            assert_possible(&end, now, &words);
        }
        assert_complete_with_reason(&end, now, &told);
        let received = end.stats(now).received;
        prop_assert!(received.reordered <= received.received);
    }

    #[test]
    fn a_test_of_any_request_keeps_to_it(request in forged_message(), told in dialogue()) {
        let Some(Message::Request(asked, _)) = request else { return Ok(()) };
        let start = Instant::from_nanos(1_000_000_000);
        let mut end = Session::server(7, asked, start);
        write_some(&mut end, start);
        let now = on_packet(&mut end, start, &told);
        let stats = end.stats(now);
        let most = if stats.sends { stats.sent } else { asked.most_datagrams() };
        let received = stats.received;
        prop_assert!(stats.sent <= asked.most_datagrams(), "{:?}", stats);
        prop_assert!(received.received <= received.expected, "{:?}", stats);
        prop_assert!(received.expected <= most, "{:?}", stats);
        let octets = most.saturating_mul(u64::from(asked.length));
        prop_assert!(received.octets <= octets, "{:?}", stats);
        prop_assert!(received.jitter.is_finite() && received.jitter >= 0.0);
        assert_complete_with_reason(&end, now, &told);
    }
}

#[test]
fn no_report_of_a_peer_that_has_lied_is_final() {
    for lies in [false, true] {
        // Without media, at a client that sends datagrams of 125 octets.
        let (mut end, now) = running([false, true, false]);
        let sent = end.stats(now).sent;
        let report = |received| {
            let stats = ReceptionStats {
                received,
                octets: 125 * received,
                expected: sent,
                ..ReceptionStats::default()
            };
            Message::Report(Report {
                stats,
                last: true,
                ..Report::default()
            })
        };
        end.receive(now, report(50), HEADER, false);
        assert!(end.stats(now).complete);
        let next = if lies { sent + 1 } else { sent };
        end.receive(now, report(next), HEADER, false);
        let is_implausible = matches!(end.end_reason(), Some(EndReason::Implausible(_)));
        assert_eq!((is_implausible, end.stats(now).complete), (lies, !lies));
    }
}

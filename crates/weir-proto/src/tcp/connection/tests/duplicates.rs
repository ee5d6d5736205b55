//! Loss recovery without SACK (RFC 6582), and DSACKs (RFC 2883).

use super::*;

/// A sender whose peer does not permit SACK.
fn without_sack(rules: &str) -> Bench {
    let mut bench = Bench::open(rules, false);
    bench.sender.sack = false;
    bench
}

#[test]
fn duplicates_lead_to_fast_recovery_and_partial_acknowledgements_through_it() {
    let mut bench = without_sack("rfc");
    let (first, t) = bench.grow_to(16);
    // RFC 3042 for the first two; the third sends the first segment again. ssthresh is half of the
    // window; RFC 6937 §3 allows ceil(delivered · 8/18) less what left, in octets: 1333 and 1777 of
    // 3 and 4 segments are less than a second segment, 2222 of five are one, and so on; from the
    // fourteenth on there are eight in the network, and one leaves for one.
    let new = |n: u64| vec![first + 16 + n];
    for duplicate in 1..=17 {
        let now = t + 100 + duplicate;
        bench.ack(now, first, &[]);
        let expected = match duplicate {
            1 => new(0),
            2 => new(1),
            3 => vec![first],
            7 => new(2),
            9 => new(3),
            11 => new(4),
            14.. => new(duplicate - 9),
            _ => vec![],
        };
        assert_eq!(bench.sent(now), expected, "duplicate {duplicate}");
        assert_eq!(bench.window(), if duplicate < 3 { 16.0 } else { 8.0 });
    }
    // RFC 6582 §3.2, step 3: a partial acknowledgement sends the next segment again. It stands for
    // two of the seventeen duplicates, beside the retransmission.
    bench.ack(t + 200, first + 3, &[]);
    assert_eq!(bench.sent(t + 200), [first + 3, first + 25]);
    assert_eq!(bench.sender.duplicate_acks, 15);
    bench.ack(t + 201, first + 3, &[]);
    assert_eq!(bench.sent(t + 201), [first + 26]);
    // Step 3, full acknowledgement: all of the 18 segments that were sent before.
    bench.ack(t + 300, first + 18, &[]);
    assert_eq!(bench.sender.recovery, Recovery::None);
    assert_eq!((bench.window(), bench.sender.duplicate_acks), (8.0, 0));
    assert_eq!(bench.sender.in_network(), 9 * MSS);
    let counted = bench.sender.statistics();
    assert_eq!((counted.packets_lost, counted.loss_events), (2, 1));
    assert_eq!(counted.packets_retransmitted, 2);
}

#[test]
fn a_partial_acknowledgement_delivers_what_no_duplicate_has_reported() {
    // RFC 6937 §2: the change of snd.una less a segment for each duplicate before. Of 20 segments 0
    // and 5 are lost; RecoverFS is 22 with the two of Limited Transmit. Behind the fifth duplicate
    // of the recovery 5 * 10 / 22 = 2.3 may have left, two whole ones. With the retransmission six
    // have arrived, 6 * 10 / 22 = 2.7, so that only segment 5 leaves, in any case (RFC 6582 §3.2);
    // were all five counted, 10 * 10 / 22 = 4.5 would let another out.
    let mut bench = without_sack("rfc");
    let (first, t) = bench.grow_to(20);
    let mut sent = Vec::new();
    for number in 1..=7 {
        bench.ack(t + number, first, &[]);
        let left = bench.sent(t + number);
        if number > 2 {
            sent.extend(left);
        }
    }
    assert_eq!((sent.len(), sent[0]), (2, first), "{sent:?}");
    bench.ack(t + 10, first + 5, &[]);
    assert_eq!(bench.sent(t + 10), [first + 5]);
}

#[test]
fn duplicates_count_in_a_row_only() {
    // RFC 5681 §3.2: the third in a row; §2: an acknowledgement with a new window or data is no
    // duplicate.
    let mut bench = without_sack("rfc");
    let (first, t) = bench.grow_to(16);
    let lost = |bench: &Bench| bench.sender.statistics().packets_lost;
    for _ in 0..2 {
        bench.ack(t + 100, first, &[]);
    }
    bench.ack(t + 101, first + 1, &[]);
    for _ in 0..2 {
        bench.ack(t + 102, first + 1, &[]);
    }
    assert_eq!(lost(&bench), 0);
    let mut smaller = segment(first + 1, &[]);
    smaller.window -= 1;
    bench.receive(at(t + 103), smaller);
    // The earlier window is a change again.
    bench.ack(t + 103, first + 1, &[]);
    let mut with_data = segment(first + 1, &[]);
    with_data.payload_len = 1;
    bench.receive(at(t + 103), with_data);
    assert_eq!(lost(&bench), 0);
    bench.ack(t + 104, first + 1, &[]);
    assert_eq!(lost(&bench), 1);
    // An acknowledgement below the highest is no duplicate either, and an acknowledgement of data
    // that was never sent is answered (RFC 9293 §3.10.7.4).
    bench.ack(t + 106, first, &[]);
    assert_eq!(bench.sender.duplicate_acks, 3);
    bench.ack(t + 107, first + 100, &[]);
    bench.sent(t + 107);
    assert_eq!(bench.sender.scoreboard.high_ack(), (first + 1) * MSS);
}

#[test]
fn duplicates_after_a_timeout_are_not_counted() {
    // RFC 6582 §4: the segments that the timeout sent again may have caused them.
    let mut bench = without_sack("rfc");
    let (first, _) = bench.grow_to(16);
    let now = bench.expire();
    bench.sent(now);
    for _ in 0..5 {
        bench.ack(now + 10, first, &[]);
    }
    let counted = bench.sender.statistics();
    assert_eq!((counted.packets_lost, counted.loss_events), (0, 1));
}

/// SACKs of segments relative to the first outstanding one.
type Sacks = &'static [(u64, u64)];

#[test]
fn a_recovery_is_taken_back_when_all_its_retransmissions_were_duplicates() {
    // Segments 0 and 5 are found lost and sent again. RFC 2883 §4: a first block below the
    // acknowledgement or within the second block is a duplicate; RFC 2883 §5, RFC 3708.
    let cases: [(Sacks, Sacks, bool); 8] = [
        (&[(5, 6), (1, 10)], &[(0, 1)], true),
        (&[(5, 6), (5, 10)], &[(0, 1)], true),
        (&[(5, 6), (1, 6)], &[(0, 1)], true),
        // One of the two only.
        (&[(1, 10)], &[(0, 1)], false),
        (&[(5, 6), (1, 10)], &[], false),
        // The second block does not hold the first.
        (&[(5, 6), (6, 10)], &[(0, 1)], false),
        (&[(5, 6), (1, 5)], &[(0, 1)], false),
        // A duplicate of a segment that was sent after the recovery began.
        (&[(5, 6), (1, 10)], &[(32, 33)], false),
    ];
    for (within, below, undone) in cases {
        let mut bench = Bench::open("linux", false);
        let (first, t) = bench.grow_to(32);
        let shift = |sacks: Sacks| -> Vec<(u64, u64)> {
            let shifted = sacks
                .iter()
                .map(|(start, end)| (first + start, first + end));
            shifted.collect()
        };
        bench.ack(t + 100, first, &shift(&[(1, 5), (6, 10)]));
        let mut sent = bench.sent(t + 100);
        bench.ack(t + 110, first, &shift(&[(6, 20), (1, 5)]));
        sent.extend(bench.sent(t + 110));
        let again: Vec<u64> = sent.into_iter().filter(|n| *n < first + 32).collect();
        assert_eq!(again, [first, first + 5]);
        assert!(bench.window() < 32.0);
        bench.ack(t + 120, first, &shift(within));
        bench.sent(t + 120);
        bench.ack(t + 130, first + 33, &shift(below));
        assert_eq!(bench.window() >= 32.0, undone, "{within:?} {below:?}");
    }
}

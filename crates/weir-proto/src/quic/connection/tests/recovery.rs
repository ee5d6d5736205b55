//! Probes, persistent congestion and reductions (RFC 9002 §6 and §7).

use super::*;

#[test]
fn probes_follow_the_doubling_timeout() {
    let mut pair = Pair::started(lossy_link("inet-2025", 1));
    let now = pair.now;
    pair.client.write(now, Payload::of_len(1000)).unwrap();
    pair.run_for(millis(100));
    // Smoothed 2 ms and variation 1 ms make a timeout of 2 + 4 + 25 ms.
    assert_eq!(pair.client.probe_timeout(), millis(31));
    pair.drop = Box::new(|_, _| true);
    let start = pair.now;
    pair.client.write(start, Payload::of_len(1000)).unwrap();
    pair.sizes.clear();
    pair.exchange();
    for (after, sent) in [(30, 1), (31, 2), (92, 2), (93, 3), (216, 3), (217, 4)] {
        pair.run_until(start + millis(after));
        assert_eq!(pair.sizes.len(), sent, "after {after} ms");
    }
    let statistics = pair.client.statistics();
    let counted = (statistics.timeouts, statistics.packets_retransmitted);
    assert_eq!(counted, (3, 3));
    pair.drop = Box::new(|_, _| false);
    pair.run_for(millis(500));
    assert_eq!(pair.server.statistics().payload_received, 2000);
    assert_eq!(pair.client.pto_count, 0);
}

#[test]
fn a_long_outage_is_persistent_congestion() {
    let mut pair = Pair::started(lossy_link("inet-2025", 1));
    pair.bulk = Some(Side::Client);
    pair.drop = periodic(51);
    pair.run_for(millis(500));
    pair.drop = Box::new(|_, _| true);
    pair.run_for(millis(1000));
    pair.drop = Box::new(|_, _| false);
    let client = &pair.client;
    assert!(client.controller.window() > 2 * 1252);
    while !pair.limits.contains(&Limit::PersistentCongestion) {
        pair.run_for(millis(1));
        assert!(pair.now < Instant::ZERO + Duration::from_secs(10));
    }
    assert_eq!(pair.smallest_window, 2 * 1252);
}

#[test]
fn whether_losses_or_acknowledgements_come_first_is_a_rule() {
    // Packet 0 is lost and 1 to 9 arrive. With losses first the window is half of 10 packets, and
    // the acknowledged packets belong to recovery. With acknowledgements first it grows to 19
    // packets in slow start and is then halved.
    for (losses_before_acks, window) in [(true, 5 * 1252), (false, 19 * 1252 / 2)] {
        let mut config = lossy_link("inet-2025", 1);
        config.rules.losses_before_acks = losses_before_acks;
        let mut client = client_with_a_window_sent(config);
        deliver(&mut client, data(0, ack(1, 9)));
        assert_eq!(client.controller.window(), window);
        assert_eq!(client.statistics().packets_lost, 1);
    }
}

#[test]
fn ten_packets_and_four_after_a_pause_leave_24_packets_or_20() {
    // draft-ietf-ccwg-ratelimited-increase §3.1: without a limit 24, with it 2 · maxFS = 20.
    // RFC 9002 §7.8: the second flight uses less than the window, which does not grow.
    for (growth, grown) in [
        (RateLimitedGrowth::Unlimited, 24),
        (RateLimitedGrowth::Flight, 20),
        (RateLimitedGrowth::Hold, 20),
    ] {
        let mut config = lossy_link("inet-2025", 1);
        config.rules.controller.rate_limited_growth = growth;
        let mut client = Connection::client(config);
        client.connect(Instant::ZERO);
        let (mut now, mut sent) = (Instant::ZERO, 0);
        // Packets of a flight, and the stream data that fills them.
        for (flight, octets, window) in [(10, 12_352, 20), (4, 4_940, grown)] {
            let written = client.write(now, Payload::of_len(octets));
            assert_eq!(written, Ok(()));
            let packets = std::iter::from_fn(|| client.poll_transmit(now));
            let sizes: Vec<u32> = packets.map(|packet| packet.size - 28).collect();
            assert_eq!(sizes, vec![1252; flight], "{growth:?}");
            let (number, last) = (u64::from(sent > 0), sent + flight as u64 - 1);
            let acknowledgement = data(number, ack(sent, last));
            let size = acknowledgement.len(&client.config.header);
            now += millis(5);
            client.receive(now, &acknowledgement, size, Ecn::NotEct);
            assert_eq!(client.controller.window(), window * 1252, "{growth:?}");
            now += millis(20);
            sent = last + 1;
        }
    }
}

#[test]
fn a_reduction_is_undone_when_the_lost_packets_are_acknowledged() {
    for (undo_spurious, window) in [(false, 5), (true, 10)] {
        let mut config = lossy_link("inet-2025", 1);
        config.rules.controller.undo_spurious = undo_spurious;
        let mut client = client_with_a_window_sent(config);
        deliver(&mut client, data(0, ack(2, 9)));
        assert_eq!(client.controller.window(), 5 * 1252);
        deliver(&mut client, data(1, ack(1, 9)));
        assert_eq!(
            client.controller.window(),
            5 * 1252,
            "one of two is still missing"
        );
        deliver(&mut client, data(2, ack(0, 9)));
        assert_eq!(client.controller.window(), window * 1252);
    }
}

#[test]
fn persistent_congestion_takes_three_probe_timeouts() {
    // RFC 9002 §7.6.1: two samples of 5 ms leave a variation of 1.875 ms, and three times 5 + 4 *
    // 1.875 + 25 ms are 112.5 ms between two lost packets. Packets 0 and 3, with 13 octets of
    // header and 2 or 4 of frame, grow the window in slow start. The window is half of 10 packets
    // and packet 0, or two packets (§7.6.2) and packet 3.
    for (between, window) in [(112, 6260 + 1015 / 2), (113, 2504 + 1017)] {
        let mut client = Connection::client(lossy_link("inet-2025", 1));
        client.connect(Instant::ZERO);
        let last = 10 + between;
        for (number, sent_at) in [0, 10, last, last + 20].into_iter().enumerate() {
            let sent_at = Instant::ZERO + millis(sent_at);
            client.write(sent_at, Payload::of_len(1000)).unwrap();
            assert!(client.poll_transmit(sent_at).is_some());
            // Packets 0 and 3 arrive.
            let number = number as u64;
            if number.is_multiple_of(3) {
                let acknowledgement = data(number, ack(number, number));
                let size = acknowledgement.len(&client.config.header);
                client.receive(sent_at + millis(5), &acknowledgement, size, Ecn::NotEct);
            }
        }
        assert_eq!(client.statistics().packets_lost, 2);
        assert_eq!(client.controller.window(), window, "{between}");
    }
}

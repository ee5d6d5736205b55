//! The measurements of the published experiments: periodic and random loss (50 packets in 7 round
//! trips).

use super::*;

/// The throughput in Mbit/s over whole cycles of 7 and of 8 round trips of 2 ms, after slow start.
fn measure(config: Config, drop: pair::Dropper) -> (f64, u64) {
    let mut pair = Pair::started(config);
    pair.bulk = Some(Side::Client);
    pair.drop = drop;
    pair.run_until(Instant::ZERO + Duration::from_secs(2));
    pair.largest_window = 0;
    let throughput = pair.throughput_over(millis(112) * 60);
    (throughput, pair.largest_window)
}

#[test]
fn periodic_loss_gives_fifty_packets_in_seven_round_trips() {
    let (throughput, window) = measure(lossy_link("inet-2025", 1), periodic(51));
    assert_eq!(window, 12_520);
    assert!((throughput / 35.7714 - 1.0).abs() < 0.001, "{throughput}");
}

#[test]
fn with_an_ack_for_every_other_packet_it_takes_eight_round_trips() {
    let (throughput, window) = measure(lossy_link("inet-2025", 2), periodic(51));
    assert_eq!(window, 12_520);
    assert!((throughput / 31.3 - 1.0).abs() < 0.001, "{throughput}");
}

#[test]
fn the_current_model_is_markedly_faster() {
    for (every, old) in [(1, 35.77), (2, 31.30)] {
        let (throughput, _) = measure(lossy_link("inet-now", every), periodic(51));
        println!("inet-now, every {every}: {throughput:.3} Mbit/s");
        assert!(throughput > old * 1.03, "{throughput}");
    }
}

#[test]
fn random_loss_of_the_same_rate_gives_a_higher_throughput() {
    for (every, old) in [(1, 35.77), (2, 31.30)] {
        let mut sum = 0.0;
        for seed in 1..=5 {
            let mut rng = Rng::stream(seed, "loss");
            let drop = Box::new(move |side, _: &Packet| side == Side::Client && rng.chance(0.02));
            sum += measure(lossy_link("inet-2025", every), drop).0;
        }
        println!("random 2 %, every {every}: mean {:.3} Mbit/s", sum / 5.0);
        assert!(sum / 5.0 > old * 1.05, "{}", sum / 5.0);
    }
}

#[test]
fn every_packet_is_full_while_there_is_data() {
    for preset in Config::NAMES {
        let mut pair = Pair::started(lossy_link(preset, 2));
        pair.bulk = Some(Side::Client);
        pair.drop = periodic(51);
        pair.run_for(millis(500));
        let full = pair.sizes.iter().filter(|size| **size == 1252).count();
        assert!(full > 500);
        assert_eq!(full, pair.sizes.len(), "{preset}");
    }
}

#[test]
fn the_codec_does_not_change_results() {
    let run = |codec| {
        let mut config = Config::named("rfc9002").unwrap();
        config.ecn = true;
        let mut pair = Pair::started(config);
        pair.codec = codec;
        pair.bulk = Some(Side::Client);
        pair.drop = periodic(17);
        pair.run_for(millis(800));
        (
            pair.client.statistics(),
            pair.server.statistics(),
            pair.octets_read,
        )
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn bundled_acknowledgements_cover_packets_that_need_none() {
    for bundle in [false, true] {
        let mut config = lossy_link("inet-2025", 1);
        config.bundle_acks = bundle;
        let mut pair = Pair::started(config);
        pair.bulk = Some(Side::Client);
        let mut drop = periodic(51);
        pair.drop = Box::new(move |side, packet| {
            let Body::Quic(quic) = &packet.body else {
                unreachable!("the pair sends QUIC");
            };
            let mut frames = quic.frames.iter();
            let has_ack = frames.any(|frame| matches!(frame, Frame::Ack(_)));
            assert!(bundle || side == Side::Server || !has_ack);
            drop(side, packet)
        });
        pair.run_for(millis(400));
        let received = &mut pair.server.spaces.data.received;
        let ranges = received.take_ack(pair.now).unwrap().ranges().count();
        // One range for each loss so far, up to the 32 that are kept, because packets with
        // acknowledgements alone are not acknowledged.
        assert_eq!(ranges, 32);
        assert_eq!(
            pair.client.spaces.data.received.has_unacked_others(),
            !bundle
        );
    }
}

#[test]
fn headers_have_the_sizes_of_their_presets() {
    let rfc = Config::default();
    assert_eq!(rfc.header.number_len, PacketNumberLen::Minimal);
    assert_eq!(rfc.header.overhead(SpaceId::Data, 1), 1 + 8 + 1 + 16);
    let inet = Config::named("inet-2025").unwrap();
    assert_eq!(inet.header.overhead(SpaceId::Data, 4), 13);
    assert_eq!(inet.rules, Rules::INET_2025);
    assert_eq!(
        inet.ack,
        AckPolicy {
            first_at_once: false,
            ..inet.ack
        }
    );
    assert!(
        size_of::<wire::Packet>() <= 64,
        "{}",
        size_of::<wire::Packet>()
    );
}

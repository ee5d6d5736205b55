//! The estimates of BBR against values worked by hand from draft-ietf-ccwg-bbr.

use super::super::tests::{MS, at};
use super::*;
use crate::cc::RateSample;

/// An acknowledgement with this sample of the rate in octets per second.
fn sampled(rate: Option<f64>, app_limited: bool) -> EndAcks {
    EndAcks {
        rate: RateSample {
            delivery_rate: rate.map(Rate::from_bytes_per_sec),
            app_limited,
            ..RateSample::default()
        },
        ..EndAcks::default()
    }
}

/// An acknowledgement at a time with a sample of the round-trip time.
fn timed(millis: u64, rtt: Option<u64>) -> EndAcks {
    EndAcks {
        now: at(millis),
        rtt_sample: rtt.map(MS),
        ..EndAcks::default()
    }
}

#[test]
fn nothing_is_known_before_the_first_sample() {
    // draft-bbr §5.2.1, OnInit with ResetCongestionSignals and InitRoundCounting.
    let model = Model::new();
    let rates = [model.max_bw, model.bw, model.bw_latest];
    assert_eq!(rates, [0.0; 3]);
    let counts = [
        model.cycle_count,
        model.inflight_latest,
        model.loss_round_delivered,
        u64::from(model.loss_ranges_in_round),
        model.extra_acked_delivered,
        model.extra_acked,
        model.delivered,
    ];
    assert_eq!(counts, [0; 7]);
    assert_eq!(model.bdp(), None);
}

#[test]
fn the_bandwidth_delay_product_is_the_rate_times_the_least_round_trip_time() {
    let mut model = Model::new();
    model.init(at(700), MS(100));
    model.bw = 1e6;
    assert_eq!(model.bdp(), Some(100_000.0));
    let stamps = [
        model.min_rtt_stamp,
        model.probe_rtt_min_stamp,
        model.extra_acked_interval_start,
    ];
    assert_eq!(stamps, [at(700); 3]);
    model.init(at(700), Duration::ZERO);
    assert_eq!(model.bdp(), None, "C.srtt of zero is none");
}

#[test]
fn a_round_that_is_started_ends_with_a_packet_that_left_after_it() {
    // draft-bbr §5.5.1: P.delivered >= next_round_delivered.
    let mut model = Model::new();
    model.delivered = 5000;
    model.start_round();
    for (prior_delivered, ends) in [(4999, false), (5000, true)] {
        let acks = EndAcks {
            rate: RateSample {
                prior_delivered,
                ..RateSample::default()
            },
            ..EndAcks::default()
        };
        assert_eq!(model.update_max_bw(&acks, &BbrConfig::default()), ends);
        assert_eq!(model.round_start, ends);
    }
}

/// A maximum of 1000 octets per second that has left the window, which has two cycles.
fn stale_maximum() -> Model {
    let mut model = Model::new();
    model.update_max_bw(&sampled(Some(1000.0), false), &BbrConfig::default());
    for _ in 0..3 {
        model.advance_max_bw_filter();
    }
    model
}

#[test]
fn a_sample_counts_if_it_has_a_rate_and_no_application_holds_it_below_the_maximum() {
    // draft-bbr §5.5.5, UpdateMaxBw: RS.delivery_rate > 0 and (>= max_bw or not app-limited).
    for (rate, app_limited, max_bw) in [
        (999.0, false, 999.0),
        (999.0, true, 1000.0),
        (1000.5, true, 1000.5),
        (0.5, false, 0.5),
        (0.0, false, 1000.0),
        (0.0, true, 1000.0),
    ] {
        let mut model = stale_maximum();
        model.update_max_bw(&sampled(Some(rate), app_limited), &BbrConfig::default());
        assert_eq!(model.max_bw, max_bw, "{rate} {app_limited}");
    }
    // A sample equal to the maximum is a new maximum, which stays when smaller samples follow.
    let mut model = stale_maximum();
    for (rate, app_limited) in [(1000.0, true), (500.0, false)] {
        model.update_max_bw(&sampled(Some(rate), app_limited), &BbrConfig::default());
        assert_eq!(model.max_bw, 1000.0);
    }
}

#[test]
fn the_maximum_holds_for_the_cycle_in_which_it_came_and_the_next() {
    // draft-bbr §2.11: BBR.MaxBwFilterLen = 2.
    let mut model = Model::new();
    let maxima = [1000.0, 500.0, 400.0].map(|rate| {
        model.update_max_bw(&sampled(Some(rate), false), &BbrConfig::default());
        model.advance_max_bw_filter();
        model.max_bw
    });
    assert_eq!(maxima, [1000.0, 1000.0, 500.0]);
}

#[test]
fn what_a_round_delivered_is_the_greatest_and_begins_anew_with_the_next() {
    // draft-bbr §5.5.10.3, UpdateLatestDeliverySignals and AdvanceLatestDeliverySignals.
    let acks = |rate: f64, delivered, prior_delivered| EndAcks {
        rate: RateSample {
            delivered,
            prior_delivered,
            total_delivered: 10_000,
            ..sampled(Some(rate), false).rate
        },
        ..EndAcks::default()
    };
    let mut model = Model::new();
    model.loss_round_delivered = 5000;
    model.loss_ranges_in_round = 3;
    for (rate, delivered, prior, latest, ranges) in [
        (2e5, 3000, 4999, (2e5, 3000), 3),
        (1e5, 2000, 4999, (2e5, 3000), 3),
        (1.5e5, 2500, 5000, (1.5e5, 2500), 0),
    ] {
        let acks = acks(rate, delivered, prior);
        model.update_latest_delivery_signals(&acks);
        model.advance_latest_delivery_signals(&acks);
        assert_eq!((model.bw_latest, model.inflight_latest), latest);
        assert_eq!(model.loss_ranges_in_round, ranges);
    }
    model.is_loss_in_round = true;
    model.reset_congestion_signals();
    assert_eq!((model.bw_latest, model.inflight_latest), (0.0, 0));
    assert!(!model.is_loss_in_round);
    // A sample that is not reliable has no rate.
    assert_eq!(delivery_rate(&sampled(None, false)), 0.0);
}

#[test]
fn each_round_with_a_loss_takes_three_tenths_from_the_short_term_bounds() {
    // draft-bbr §5.5.10.3, AdaptLowerBoundsFromCongestion: BBR.Beta = 0.7 of cwnd and max_bw, then
    // of the bounds; at least the latest delivery.
    let mut model = Model::new();
    model.max_bw = 1e6;
    for (inflight_latest, inflight, bw) in [
        (1000, 140_000, 7e5),
        (1000, 98_000, 4.9e5),
        (90_000, 90_000, 3.43e5),
    ] {
        model.loss_round_start = true;
        model.is_loss_in_round = true;
        model.inflight_latest = inflight_latest;
        model.adapt_lower_bounds(State::Cruise, 200_000, 0.7);
        assert!((model.bw_shortterm - bw).abs() < 1e-6);
        assert_eq!(model.inflight_shortterm, inflight);
        assert!(!model.is_loss_in_round);
    }
    model.reset_short_term();
    assert_eq!(model.bw_shortterm, f64::INFINITY);
    assert_eq!(model.inflight_shortterm, u64::MAX);
}

#[test]
fn acknowledgements_beyond_the_expected_are_counted_from_the_last_time_they_were_fewer() {
    // draft-bbr §5.5.9, UpdateACKAggregation, from 10 ms on: at 1 MB/s 2000 octets are expected in
    // 2 ms and 8000 in 8 ms, as many as arrived: the interval restarts. At 0.5 MB/s a millisecond
    // later 500 are expected, and 1000 + 7000 arrived.
    let mut model = Model::new();
    for (now, bw, newly_acked, extra, delivered) in [
        (10, 1e6, 5000, 5000, 5000),
        (12, 1e6, 3000, 6000, 8000),
        (18, 1e6, 1000, 6000, 1000),
        (19, 5e5, 7000, 7500, 8000),
        // At most the window of 9000.
        (19, 5e5, 9000, 9000, 17_000),
    ] {
        model.bw = bw;
        let acks = EndAcks {
            now: at(now),
            newly_acked,
            ..EndAcks::default()
        };
        model.update_ack_aggregation(&acks, 9000, 10);
        assert_eq!(model.extra_acked, extra, "{now} ms");
        assert_eq!(model.extra_acked_delivered, delivered, "{now} ms");
    }
}

#[test]
fn the_least_round_trip_time_is_replaced_after_ten_seconds_by_that_of_the_last_probes() {
    // draft-bbr §5.3.4.3, UpdateMinRTT: MinRTTFilterLen 10 s, ProbeRTTInterval 5 s, both to be
    // exceeded.
    let mut model = Model::new();
    model.init(at(0), Duration::ZERO);
    for (now, rtt, min_rtt, stamp) in [
        (50, None, None, 0),
        (100, Some(100), Some(100), 100),
        (200, Some(120), Some(100), 100),
        (300, Some(90), Some(90), 300),
        // More than 5 s later a longer sample counts for the probes.
        (5300, Some(120), Some(90), 300),
        (5301, Some(110), Some(90), 300),
        (10_300, Some(130), Some(90), 300),
        (10_301, Some(130), Some(110), 5301),
    ] {
        model.update_min_rtt(&timed(now, rtt), &BbrConfig::default());
        assert_eq!(model.min_rtt, min_rtt.map(MS), "{now} ms");
        assert_eq!(model.min_rtt_stamp, at(stamp), "{now} ms");
    }
}

#[test]
fn a_probe_that_finds_the_same_least_round_trip_time_leaves_its_time() {
    // draft-bbr §5.3.4.3: only a shorter sample is new.
    let mut model = Model::new();
    model.init(at(0), Duration::ZERO);
    for now in [100, 5101] {
        model.update_min_rtt(&timed(now, Some(90)), &BbrConfig::default());
        assert_eq!(model.min_rtt_stamp, at(100));
    }
    assert_eq!(model.probe_rtt_min_stamp, at(5101));
}

#[test]
fn samples_compare_by_their_rates_whatever_limited_them() {
    let sample = |rate, limited_by| BwSample { rate, limited_by };
    let [path, credit] = [RateLimit::Path, RateLimit::ReceiverCredit];
    assert_eq!(sample(1e6, path), sample(1e6, credit));
    assert_ne!(sample(1e6, path), sample(2e6, path));
    assert!(sample(1e6, path) < sample(2e6, credit));
}

#[test]
fn the_bandwidth_knows_what_limited_the_sample_that_it_came_from() {
    // draft-bbr §5.5.5: the greatest sample of this cycle and the last. 2 MB/s under the receiver's
    // credit is the estimate until a greater sample, or the second cycle after it.
    let mut model = Model::new();
    let config = BbrConfig::default();
    let take = |model: &mut Model, rate: f64, limited_by| {
        let acks = EndAcks {
            rate: RateSample {
                delivery_rate: Some(Rate::from_bytes_per_sec(rate)),
                limited_by,
                ..RateSample::default()
            },
            ..EndAcks::default()
        };
        model.update_max_bw(&acks, &config);
        model.bound_bw();
        model.bw_limited_by()
    };
    let (path, credit) = (RateLimit::Path, RateLimit::ReceiverCredit);
    assert_eq!(take(&mut model, 2e6, credit), credit);
    assert_eq!(take(&mut model, 1e6, path), credit);
    model.advance_max_bw_filter();
    assert_eq!(take(&mut model, 1e6, path), credit);
    // A bandwidth that losses have set (§5.5.10.3) is the path's.
    model.bw_shortterm = 1.5e6;
    assert_eq!(take(&mut model, 1e6, path), path);
    model.bw_shortterm = f64::INFINITY;
    model.advance_max_bw_filter();
    assert_eq!(take(&mut model, 1e6, path), path);
    assert_eq!(
        take(&mut model, 3e6, RateLimit::Application),
        RateLimit::Application
    );
}

use super::*;

const FASTEST: PhyRate = PhyRate(7);

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// A frame of a millisecond from the first station to the second.
fn frame(rate: PhyRate, octets: u32, start: Instant) -> Frame {
    Frame {
        standard: Standard::G,
        rate,
        octets,
        start,
        end: start + Duration::from_millis(1),
        from: 0,
        to: 1,
    }
}

/// An access point at the origin and a station at this distance.
fn channel(config: &ChannelConfig, metres: f64) -> Channel {
    let radio = |x| Radio {
        power_dbm: 15.0,
        place: Place { x, y: 0.0 },
    };
    Channel::new(config, &[radio(0.0), radio(metres)], 1, "test")
}

/// The share of 20,000 frames that arrive damaged.
fn failures(channel: &mut Channel, frame: &Frame) -> f64 {
    let frames = 20_000;
    let failed = (0..frames).filter(|_| channel.first_damage(frame).is_some());
    failed.count() as f64 / f64::from(frames)
}

/// A source that is active nearly all the time, at a place on the axis.
fn steady(power: Option<f64>, x: f64, heard: Audibility) -> ChannelConfig {
    let source = InterferenceConfig {
        until: Duration::from_secs(100),
        on: Duration::from_secs(1_000_000),
        off: Duration::from_nanos(1),
        heard,
        power,
        place: Place { x, y: 0.0 },
        ..InterferenceConfig::default()
    };
    ChannelConfig {
        interference: vec![source],
        ..ChannelConfig::default()
    }
}

#[test]
fn half_of_the_full_frames_fail_at_the_threshold() {
    let mut channel = channel(&ChannelConfig::with_snr_db(25.0), 1.0);
    let mut rate = |rate, octets| failures(&mut channel, &frame(PhyRate(rate), octets, at(0)));
    assert!((rate(7, 1500) - 0.5).abs() < 0.02);
    // 1 - 0.5^(100/1500) = 4.5 %.
    assert!((rate(7, 100) - 0.045).abs() < 0.01);
    assert!(rate(5, 1500) < 0.002);
}

#[test]
fn damage_is_as_likely_in_every_octet_of_a_frame_that_is_rarely_damaged() {
    let mut channel = channel(&ChannelConfig::with_snr_db(28.0), 1.0);
    let frame = frame(FASTEST, 1500, at(0));
    let damage: Vec<u32> = (0..50_000)
        .filter_map(|_| channel.first_damage(&frame))
        .collect();
    assert!(damage.len() > 1500 && damage.iter().all(|&octet| octet < 1500));
    let mean = f64::from(damage.iter().sum::<u32>()) / damage.len() as f64;
    assert!((mean - 740.0).abs() < 40.0, "{mean}");
}

#[test]
fn the_ratio_is_that_of_the_powers_at_the_receiver() {
    // 15 - 40 - 30 log10(10) = -55 dBm of signal; a source of -5 dBm at 1 m from the receiver gives
    // -45 dBm there, and 9 m from it -73.6: 18.6 dB, at which 1/(1 + e^0.6) = 0.35 of the frames at
    // 36 Mbit/s (18 dB) fail.
    let near = steady(Some(-5.0), 11.0, Audibility::AtReceivers);
    let mut at_listener = channel(&near, 10.0);
    assert_eq!(
        failures(&mut at_listener, &frame(PhyRate(0), 1500, at(1))),
        1.0
    );
    let far = steady(Some(-5.0), 19.0, Audibility::AtReceivers);
    let ratio = -55.0 + 45.0 + 30.0 * libm::log10(9.0);
    let expected = 1.0 / (1.0 + libm::exp(ratio - 18.0));
    let mut away = channel(&far, 10.0);
    let measured = failures(&mut away, &frame(PhyRate(5), 1500, at(1)));
    assert!((measured - expected).abs() < 0.02, "{measured} {expected}");
}

#[test]
fn a_station_that_moves_closer_hears_through_the_same_interference() {
    let mut config = steady(Some(15.0), 3.5, Audibility::AtReceivers);
    let place = Place { x: 0.25, y: 0.0 };
    let step = MoveConfig {
        at: Duration::from_millis(500),
        place,
    };
    config.moves = vec![(1, step)];
    let mut channel = channel(&config, 2.5);
    let mut failures = |start| failures(&mut channel, &frame(PhyRate(0), 1500, at(start)));
    assert_eq!(failures(499), 1.0);
    assert_eq!(failures(500), 0.0);
}

#[test]
fn a_given_ratio_of_a_station_takes_the_place_of_its_distance() {
    let entry = |station, snr| {
        let at = Duration::ZERO;
        (station, SignalConfig { at, snr })
    };
    let config = ChannelConfig {
        signal: vec![entry(None, 50.0), entry(Some(2), 5.0)],
        ..ChannelConfig::default()
    };
    let radio = Radio {
        power_dbm: 15.0,
        place: Place::default(),
    };
    let mut channel = Channel::new(&config, &[radio; 3], 1, "test");
    let mut to = |to| {
        let frame = Frame {
            to,
            ..frame(FASTEST, 1500, at(0))
        };
        failures(&mut channel, &frame)
    };
    assert_eq!((to(1), to(2)), (0.0, 1.0));
}

#[test]
fn a_burst_without_a_power_damages_what_it_meets_and_nothing_before() {
    let mut config = steady(None, 0.0, Audibility::AtReceivers);
    config.interference[0].from = Duration::from_micros(250);
    let mut channel = channel(&config, 1.0);
    // From a quarter of the frame on.
    let damage = channel.first_damage(&frame(FASTEST, 1000, at(0)));
    assert_eq!(damage, Some(250));
}

#[test]
fn stations_hear_interference_by_its_power_where_they_are() {
    // 15 dBm are attenuated to -62 dBm by 30 log10(d) = 37 dB: at 17.1 m.
    let config = steady(Some(15.0), 19.0, Audibility::ByPower);
    let mut channel = channel(&config, 2.5);
    let heard = channel.next_heard_burst(at(1)).expect("a burst");
    assert!(!channel.hears(0, &heard) && channel.hears(1, &heard));
    assert!(channel.next_heard_burst(at(1)).is_none(), "announced once");
}

use super::*;
use crate::packet_pool::fixture::packet_ref;
use crate::queue::{DropTailConfig, QueueConfig, QueueLimit};
use crate::wifi::SignalConfig;
use crate::wifi::timing::{PhyRate, Standard};
use crate::wifi::{Audibility, FixedRateConfig, InterferenceConfig, RateControlConfig};

fn full_size() -> PacketRef {
    packet_ref(0, 0, 1500)
}

fn hop(host: u32) -> Hop {
    Hop {
        from: HostId(host),
        to: HostId(0),
    }
}

fn fastest(standard: Standard) -> RateControlConfig {
    let rate = u64::from(standard.kbps(standard.fastest())) * 1_000;
    RateControlConfig::Fixed(FixedRateConfig { rate })
}

fn medium(standard: Standard, stations: u32, channel: ChannelConfig) -> Medium {
    medium_with(fastest(standard), standard, stations, channel)
}

fn medium_with(
    rate_control: RateControlConfig,
    standard: Standard,
    stations: u32,
    channel: ChannelConfig,
) -> Medium {
    let station = StationConfig {
        queue: QueueConfig::DropTail(DropTailConfig {
            limit: QueueLimit::Packets(10),
        }),
        rate_control,
        retry_limit: 1000,
        ..StationConfig::default()
    };
    let config = MediumConfig {
        name: "cell".to_owned(),
        phy: standard.into(),
        // Host 0 only receives packets.
        stations: (1..=stations)
            .chain([0])
            .map(|host| (HostId(host), station.clone()))
            .collect(),
        channel,
    };
    Medium::new(config, 1)
}

fn clear() -> ChannelConfig {
    ChannelConfig::default()
}

/// Keeps all stations saturated; returns packets delivered per second.
fn saturate(medium: &mut Medium, stations: u32, seconds: u64) -> f64 {
    let until = Instant::ZERO + Duration::from_secs(seconds);
    for host in 1..=stations {
        medium.handle(Instant::ZERO, hop(host), full_size());
        medium.handle(Instant::ZERO, hop(host), full_size());
    }
    let mut delivered = 0_u64;
    while let Some(now) = medium.poll_timeout().filter(|&at| at <= until) {
        medium.handle_timeout(now);
        while medium.poll_transmit().is_some() {
            delivered += 1;
        }
        for host in 1..=stations {
            let queued = medium.stations[host as usize - 1].packets();
            for _ in queued..2 {
                medium.handle(now, hop(host), full_size());
            }
        }
    }
    delivered as f64 / seconds as f64
}

/// Bianchi, Performance Analysis of the IEEE 802.11 Distributed Coordination Function, 2000,
/// equations 7, 9 and 13, solved by bisection; packets per second. A collision ends with EIFS.
fn bianchi(standard: Standard, n: u32) -> f64 {
    let w = f64::from(standard.min_window() + 1);
    let stages = libm::log2(f64::from(standard.max_window() + 1) / w);
    let tau_of = |p: f64| {
        let q = 2.0 * p;
        2.0 * (1.0 - q) / ((1.0 - q) * (w + 1.0) + p * w * (1.0 - libm::pow(q, stages)))
    };
    let (mut low, mut high) = (0.0, 0.9999);
    for _ in 0..200 {
        let p = f64::midpoint(low, high);
        let implied = 1.0 - libm::pow(1.0 - tau_of(p), f64::from(n - 1));
        if implied > p { low = p } else { high = p }
    }
    let tau = tau_of(f64::midpoint(low, high));
    let busy = 1.0 - libm::pow(1.0 - tau, f64::from(n));
    let success = f64::from(n) * tau * libm::pow(1.0 - tau, f64::from(n - 1)) / busy;
    let rate = standard.fastest();
    let phy = Phy::from(PhyConfig::from(standard));
    let data = standard.data_time(1500, rate) + phy.difs();
    let exchange = (data + phy.ack_time(rate)).as_secs_f64();
    let collision = (data + phy.eifs_without_difs()).as_secs_f64();
    let slot = standard.slot().as_secs_f64();
    let cycle = (1.0 - busy) * slot + busy * (success * exchange + (1.0 - success) * collision);
    busy * success / cycle
}

#[test]
fn saturation_throughput_agrees_with_bianchi_within_five_per_cent() {
    for standard in [Standard::B, Standard::G] {
        for n in [1, 2, 3, 5, 10, 15, 20] {
            let measured = saturate(&mut medium(standard, n, clear()), n, 20);
            let theory = bianchi(standard, n);
            let deviation = measured / theory - 1.0;
            println!(
                "{standard:?} {n:2}: {measured:.1} {theory:.1} {:+.2} %",
                deviation * 100.0
            );
            assert!(
                deviation.abs() < 0.05,
                "{standard:?} {n}: {measured} {theory}"
            );
        }
    }
}

#[test]
fn the_default_rate_control_keeps_the_throughput_of_contending_stations() {
    // Its start at the slowest rate and its sampling cost a few per cent.
    for n in 1..=10 {
        let config = RateControlConfig::default();
        let mut medium = medium_with(config, Standard::G, n, clear());
        let measured = saturate(&mut medium, n, 20);
        let share = measured / bianchi(Standard::G, n);
        println!("{n:2}: {measured:.1} {:+.2} %", (share - 1.0) * 100.0);
        assert!((0.8..1.03).contains(&share), "{n}: {share}");
    }
}

#[test]
fn aarf_takes_collisions_for_a_poor_signal() {
    let share = |n| {
        let mut medium = medium_with(RateControlConfig::Aarf, Standard::G, n, clear());
        saturate(&mut medium, n, 20) / bianchi(Standard::G, n)
    };
    let (alone, five) = (share(1), share(5));
    assert!(alone > 0.95 && five < 0.4, "{alone} {five}");
}

#[test]
fn the_air_time_of_a_station_is_never_more_than_the_time_that_has_passed() {
    let mut medium = medium(Standard::B, 1, clear());
    for packet in 0..3 {
        medium.handle(Instant::from_nanos(packet), hop(1), full_size());
    }
    while let Some(now) = medium.poll_timeout() {
        medium.handle_timeout(now);
        for later in [0, 1, 100_000, 700_000, 5_000_000] {
            let asked = now + Duration::from_nanos(later);
            let busy = medium.counters(asked, 0).link.busy;
            assert!(busy <= asked.since(Instant::ZERO), "{busy} at {asked}");
        }
    }
    // Three frames of 1309.1 us and acknowledgements of 258 us each.
    let end = Instant::ZERO + Duration::from_secs(1);
    let busy = medium.counters(end, 0).link.busy;
    assert_eq!(
        busy,
        Duration::from_nanos(3 * (192_000 + 1_117_091 + 258_000))
    );
}

#[test]
fn after_a_frame_that_no_station_could_read_the_others_wait_for_eifs() {
    let mut medium = medium(Standard::G, 3, ChannelConfig::with_snr_db(-50.0));
    medium.handle(Instant::ZERO, hop(1), full_size());
    let first = medium.poll_timeout().expect("a frame");
    medium.handle_timeout(first);
    let end = first + Standard::G.data_time(1500, Standard::G.fastest());
    medium.handle_timeout(end);
    let waits: Vec<_> = medium
        .stations
        .iter()
        .map(|s| s.idle_from.since(end))
        .collect();
    // The sender waits 10 + 9 + 24 us for its acknowledgement, the others 10 + 26 + 24; then DIFS.
    let micros = [43, 60, 60, 60].map(Duration::from_micros);
    assert_eq!(waits, micros);
}

#[test]
fn a_station_that_could_read_a_frame_waits_for_the_acknowledgement_that_does_not_come() {
    // Only the third station has a poor signal; the second receives a frame addressed to it.
    let mut channel = clear();
    let snr = |station, snr| {
        let at = Duration::ZERO;
        (Some(station), SignalConfig { at, snr })
    };
    channel.signal = vec![snr(2, -50.0)];
    let mut medium = medium(Standard::G, 3, channel);
    let to_third = Hop {
        from: HostId(1),
        to: HostId(3),
    };
    medium.handle(Instant::ZERO, to_third, full_size());
    let first = medium.poll_timeout().expect("a frame");
    medium.handle_timeout(first);
    let end = medium.poll_timeout().expect("its end");
    medium.handle_timeout(end);
    let waits: Vec<_> = medium
        .stations
        .iter()
        .map(|s| s.idle_from.since(end))
        .collect();
    // SIFS and an acknowledgement at 24 Mbit/s: 10 + 26 + 8 us.
    assert_eq!(waits, [43, 44, 60, 44].map(Duration::from_micros));
}

#[test]
fn a_frame_that_never_came_whole_is_delivered_damaged_if_the_receiver_wants_it() {
    let outcome = |damaged_frames| {
        // One dB below the threshold: the first 20 of 1500 octets are rarely damaged.
        let mut medium = medium(Standard::G, 2, ChannelConfig::with_snr_db(24.0));
        for station in &mut medium.stations {
            station.config.damaged_frames = damaged_frames;
            station.config.retry_limit = 2;
        }
        let to_second = Hop {
            from: HostId(1),
            to: HostId(2),
        };
        let (mut whole, mut damaged) = (0_u64, 0_u64);
        for packet in 0..1000 {
            let now = Instant::from_nanos(packet * 10_000_000);
            medium.handle(now, to_second, full_size());
            while let Some(now) = medium.poll_timeout() {
                medium.handle_timeout(now);
            }
            while let Some((_, packet)) = medium.poll_transmit() {
                match packet.damaged_at {
                    Some(octet) => {
                        assert!((20..1500).contains(&octet.get()), "{octet}");
                        damaged += 1;
                    }
                    None => whole += 1,
                }
            }
        }
        let counters = medium.counters(Instant::from_nanos(1 << 40), 0).link;
        assert_eq!(counters.packets_damaged, damaged);
        assert_eq!(counters.dropped_retry_limit, 1000 - whole - damaged);
        (whole, damaged)
    };
    // A share of 1/(1 + e^-1) = 0.73 fails, 0.53 twice; almost all of these have a copy with an
    // undamaged header.
    let (whole, damaged) = outcome(DamagedFrames::Deliver);
    assert!(
        (420..520).contains(&whole) && damaged > 450,
        "{whole} {damaged}"
    );
    assert_eq!(outcome(DamagedFrames::Drop).1, 0);
}

#[test]
fn a_lone_packet_on_a_quiet_medium_leaves_at_once() {
    let mut medium = medium(Standard::G, 1, clear());
    let now = Instant::ZERO + Duration::from_millis(1);
    medium.handle(now, hop(1), full_size());
    assert_eq!(medium.poll_timeout(), Some(now));
    medium.handle_timeout(now);
    let arrives = now + Standard::G.data_time(1500, Standard::G.fastest());
    assert_eq!(medium.poll_timeout(), Some(arrives));
    medium.handle_timeout(arrives);
    assert!(medium.poll_transmit().is_some());
}

#[test]
fn a_frame_is_given_up_after_its_last_retry() {
    let channel = ChannelConfig::with_snr_db(-50.0);
    let mut medium = medium(Standard::G, 1, channel);
    medium.stations[0].config.retry_limit = 7;
    medium.handle(Instant::ZERO, hop(1), full_size());
    while let Some(now) = medium.poll_timeout() {
        medium.handle_timeout(now);
        assert!(medium.poll_transmit().is_none());
    }
    let counters = medium.counters(Instant::ZERO, 0);
    assert_eq!((counters.frames, counters.link.dropped_retry_limit), (7, 1));
    assert_eq!(medium.stations[0].rate.rate(), PhyRate(7), "as fixed");
}

#[test]
fn no_station_sends_into_a_burst_that_it_hears() {
    let mut busy = clear();
    busy.interference = vec![InterferenceConfig {
        from: Duration::ZERO,
        until: Duration::from_secs(100),
        on: Duration::from_millis(5),
        off: Duration::from_millis(5),
        heard: Audibility::Everywhere,
        ..InterferenceConfig::default()
    }];
    let free = saturate(&mut medium(Standard::G, 1, clear()), 1, 20);
    let mut medium = medium(Standard::G, 1, busy);
    let half = saturate(&mut medium, 1, 20);
    assert!((0.4..0.5).contains(&(half / free)), "{half} of {free}");
    // Frames fail only when a burst begins during them: there are about 100 bursts per second.
    let counters = medium.counters(Instant::ZERO, 0);
    assert!(counters.failures < 2200, "{counters:?}");
}

#[test]
fn stations_send_into_a_burst_that_only_receivers_hear() {
    let mut busy = clear();
    busy.interference = vec![InterferenceConfig {
        from: Duration::ZERO,
        until: Duration::from_secs(100),
        on: Duration::from_millis(5),
        off: Duration::from_millis(5),
        heard: Audibility::AtReceivers,
        ..InterferenceConfig::default()
    }];
    let mut medium = medium(Standard::G, 1, busy);
    saturate(&mut medium, 1, 20);
    // During 5 ms about four frames fail, with contention windows that double; there are about 2000
    // bursts.
    let failures = medium.counters(Instant::ZERO, 0).failures;
    assert!(failures > 6000, "{failures}");
}

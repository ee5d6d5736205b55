use super::*;
use crate::packet_pool::fixture::packet_ref;
use crate::queue::{DropTailConfig, QueueConfig, QueueLimit};
use crate::wifi::timing::{PhyRate, Standard};
use crate::wifi::{Audibility, FixedRateConfig, InterferenceConfig, RateControlConfig};
use weir_proto::time::Duration;

fn full_size() -> PacketRef {
    packet_ref(0, 0, 1500)
}

fn hop(host: u32) -> Hop {
    Hop {
        from: HostId(host),
        to: HostId(0),
    }
}

fn medium(standard: Standard, stations: u32, channel: ChannelConfig) -> Medium {
    let fastest = u64::from(standard.kbps(standard.fastest())) * 1_000;
    let station = StationConfig {
        queue: QueueConfig::DropTail(DropTailConfig {
            limit: QueueLimit::Packets(10),
        }),
        mtu: 1500,
        rate_control: RateControlConfig::Fixed(FixedRateConfig { rate: fastest }),
        retry_limit: 1000,
    };
    let config = MediumConfig {
        name: "cell".to_owned(),
        phy: standard.into(),
        stations: (1..=stations).map(|host| (HostId(host), station)).collect(),
        channel,
    };
    Medium::new(config, 1)
}

fn clear() -> ChannelConfig {
    ChannelConfig::default()
}

/// Keeps all stations busy; returns packets delivered per second.
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
/// equations 7, 9 and 13, solved by bisection; packets per second.
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
    let exchange = standard.data_time(1500, rate) + phy.ack_time(rate) + phy.difs();
    let slot = standard.slot().as_secs_f64();
    busy * success / ((1.0 - busy) * slot + busy * exchange.as_secs_f64())
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
    assert_eq!(medium.stations[0].rate.rate(), PhyRate(7));
}

#[test]
fn nobody_sends_into_a_burst_that_can_be_heard() {
    let mut busy = clear();
    busy.interference = vec![InterferenceConfig {
        from: Duration::ZERO,
        until: Duration::from_secs(100),
        on: Duration::from_millis(5),
        off: Duration::from_millis(5),
        heard: Audibility::Everywhere,
    }];
    let free = saturate(&mut medium(Standard::G, 1, clear()), 1, 20);
    let mut medium = medium(Standard::G, 1, busy);
    let half = saturate(&mut medium, 1, 20);
    assert!((0.4..0.5).contains(&(half / free)), "{half} of {free}");
    // Frames fail only when a burst begins over them: about 100 bursts a second.
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
    }];
    let mut medium = medium(Standard::G, 1, busy);
    saturate(&mut medium, 1, 20);
    // In 5 ms some four frames fail, with windows that double; about 2000 bursts come.
    let failures = medium.counters(Instant::ZERO, 0).failures;
    assert!(failures > 6000, "{failures}");
}

//! Generates the random networks: wires, media, hosts, applications and flows.

use super::MILLISECOND;
use crate::common::{Log, PlainEndpoint, at, plain_flow};
use weir_net::ack_thinning::AckThinningConfig;
use weir_net::app::{App, AppConfig, AppEnvironment, Delivery};
use weir_net::class_delay::ClassDelayConfig;
use weir_net::ecn_faults::EcnFaultsConfig;
use weir_net::netem::Distribution;
use weir_net::outage::OutageConfig;
use weir_net::policer::PolicerConfig;
use weir_net::shaper::TokenBucketConfig;
use weir_net::wifi::{
    Audibility, ChannelConfig, DamagedFrames, InterferenceConfig, MediumConfig, Place,
    RateControlConfig, Standard, StationConfig,
};
use weir_net::{
    FlowConfig, HostTiming, LinkChange, LinkConfig, LossConfig, MediumId, NetemConfig, Network,
    QueueConfig, SendTimestamp,
};
use weir_proto::DurationRange;
use weir_proto::packet::{Dscp, FlowId, HostId};
use weir_proto::rng::Rng;
use weir_proto::time::Duration;

pub struct RandomNetwork {
    pub network: Network,
    pub links: Vec<LinkConfig>,
    pub flows: Vec<(FlowId, [Log; 2])>,
}

fn random_shaper(rng: &mut Rng) -> Option<TokenBucketConfig> {
    rng.chance(0.2).then(|| TokenBucketConfig {
        rate: 100_000 + rng.below(10_000_000),
        burst: 1500 + rng.below(10_000),
        overhead: 14,
        ..TokenBucketConfig::default()
    })
}

fn random_link(rng: &mut Rng, name: String, from: HostId, to: HostId) -> LinkConfig {
    LinkConfig {
        name,
        from,
        to,
        rate: rng.chance(0.8).then(|| 100_000 + rng.below(100_000_000)),
        delay: Duration::from_nanos(rng.below(5 * MILLISECOND)),
        mtu: rng.chance(0.3).then_some(1200),
        queue: QueueConfig::arbitrary(rng),
        shaper: random_shaper(rng),
        loss: LossConfig::arbitrary(rng),
        ..LinkConfig::default()
    }
}

fn random_netem(rng: &mut Rng) -> NetemConfig {
    let chance = |rng: &mut Rng| {
        if rng.chance(0.5) {
            0.2 * rng.uniform()
        } else {
            0.0
        }
    };
    NetemConfig {
        reorder: chance(rng),
        reorder_correlation: rng.uniform(),
        duplicate: chance(rng),
        duplicate_correlation: rng.uniform(),
        corrupt: chance(rng),
        corrupt_correlation: rng.uniform(),
        jitter: Duration::from_nanos(rng.below(3 * MILLISECOND)),
        jitter_correlation: rng.uniform(),
        distribution: [
            Distribution::Uniform,
            Distribution::Normal,
            Distribution::Pareto,
        ][rng.below(3) as usize],
        keep_order: rng.chance(0.3),
        reorder_gap: rng.below(6),
        slot: Duration::from_nanos(rng.below(2) * rng.below(4 * MILLISECOND)).into(),
        slot_packets: rng.below(2) * rng.below(5),
        slot_bytes: rng.below(2) * rng.below(4000),
        ecn: rng.chance(0.3),
        packet_overhead: (rng.below(2) * rng.below(60)) as u32,
        cell_size: (rng.below(2) * (10 + rng.below(90))) as u32,
        cell_overhead: rng.below(10) as u32,
    }
}

/// A link with all impairments.
fn impaired_link(rng: &mut Rng, name: String, from: HostId, to: HostId) -> LinkConfig {
    let mut rate_trace: Vec<u64> = (0..rng.below(20)).map(|_| 1 + rng.below(40)).collect();
    rate_trace.sort_unstable();
    let mut times: Vec<u64> = (0..rng.below(4)).map(|_| rng.below(300)).collect();
    times.sort_unstable();
    let changes = times.into_iter().map(|millis| LinkChange {
        at: Duration::from_millis(millis),
        rate: rng
            .chance(0.5)
            .then(|| rng.chance(0.8).then(|| 50_000 + rng.below(50_000_000))),
        delay: rng
            .chance(0.5)
            .then(|| Duration::from_nanos(rng.below(9 * MILLISECOND))),
        shaper_rate: rng.chance(0.5).then(|| 100_000 + rng.below(1_000_000)),
        loss: rng.chance(0.5).then(|| LossConfig::arbitrary(rng)),
        netem: rng.chance(0.5).then(|| random_netem(rng)),
    });
    let changes = changes.collect();
    LinkConfig {
        netem: if rng.chance(0.7) {
            random_netem(rng)
        } else {
            NetemConfig::default()
        },
        rate_trace: if rng.chance(0.3) {
            rate_trace.into()
        } else {
            [].into()
        },
        changes,
        policer: rng.chance(0.3).then(|| PolicerConfig {
            rate: 100_000 + rng.below(10_000_000),
            burst: 1500 + rng.below(10_000),
            overhead: 0,
        }),
        ack_thinning: rng.chance(0.3).then(|| AckThinningConfig {
            n: 1 + rng.below(5),
            ..AckThinningConfig::default()
        }),
        outages: (0..rng.below(3))
            .map(|_| OutageConfig::arbitrary(rng))
            .collect(),
        ecn_faults: if rng.chance(0.3) {
            EcnFaultsConfig::arbitrary(rng)
        } else {
            EcnFaultsConfig::default()
        },
        class_delays: (0..rng.below(3))
            .map(|_| ClassDelayConfig::arbitrary(rng))
            .collect(),
        ..random_link(rng, name, from, to)
    }
}

/// A cell that all hosts share, with queues, noise and interference.
fn random_cell(rng: &mut Rng, hosts: &[HostId]) -> MediumConfig {
    let station = |rng: &mut Rng| StationConfig {
        queue: QueueConfig::arbitrary(rng),
        mtu: [1200, 1500][rng.below(2) as usize],
        rate_control: [
            RateControlConfig::Minstrel,
            RateControlConfig::Arf,
            RateControlConfig::Aarf,
        ][rng.below(3) as usize],
        retry_limit: 1 + rng.below(7) as u32,
        power: 10.0 * rng.uniform(),
        place: random_place(rng),
        damaged_frames: [DamagedFrames::Drop, DamagedFrames::Deliver][rng.below(2) as usize],
    };
    MediumConfig {
        name: "cell".to_owned(),
        phy: [Standard::B, Standard::BShort, Standard::G][rng.below(3) as usize].into(),
        stations: hosts.iter().map(|&host| (host, station(rng))).collect(),
        channel: ChannelConfig {
            interference: vec![InterferenceConfig {
                from: Duration::ZERO,
                until: Duration::from_millis(200),
                on: Duration::from_millis(2),
                off: Duration::from_millis(10),
                heard: [
                    Audibility::Everywhere,
                    Audibility::AtReceivers,
                    Audibility::ByPower,
                ][rng.below(3) as usize],
                power: [None, Some(10.0)][rng.below(2) as usize],
                place: random_place(rng),
            }],
            ..if rng.chance(0.5) {
                ChannelConfig::with_snr_db(5.0 + 30.0 * rng.uniform())
            } else {
                ChannelConfig::default()
            }
        },
    }
}

fn random_place(rng: &mut Rng) -> Place {
    Place {
        x: 40.0 * rng.uniform(),
        y: 40.0 * rng.uniform(),
    }
}

fn random_timing(rng: &mut Rng) -> HostTiming {
    let mut delay = || Duration::from_nanos(rng.below(2) * rng.below(50_000));
    HostTiming {
        transmit_delay: delay(),
        receive_delay: delay(),
        stamp: [SendTimestamp::Handover, SendTimestamp::Transmitted][rng.below(2) as usize],
        timer_hz: [None, Some(1000)][rng.below(2) as usize],
        jitter: DurationRange {
            least: Duration::ZERO,
            most: Duration::from_nanos(rng.below(2) * rng.below(200_000)),
        },
    }
}

fn random_app(rng: &mut Rng) -> Box<dyn App + Send> {
    let environment = AppEnvironment {
        seed: rng.next_u64(),
        flow: "random",
        delivery: Delivery::Datagrams,
    };
    AppConfig::arbitrary(rng).build(environment).source
}

/// A ring of hosts with wires both ways, and flows between any two of them.
pub fn random_network(seed: u64) -> RandomNetwork {
    let mut rng = Rng::stream(seed, "network");
    let mut network = Network::new(seed);
    let hosts: Vec<_> = (0..2 + rng.below(5))
        .map(|n| network.add_host(&n.to_string(), random_timing(&mut rng)))
        .collect();
    let mut links = Vec::new();
    for (n, &from) in hosts.iter().enumerate() {
        let to = hosts[(n + 1) % hosts.len()];
        for (name, from, to) in [("right", from, to), ("left", to, from)] {
            let config = random_link(&mut rng, format!("{n}{name}"), from, to);
            network.add_link(config.clone()).expect("a valid link");
            links.push(config);
        }
    }
    let flows = (0..=rng.below(5))
        .map(|n| {
            let source = hosts[rng.below(hosts.len() as u64) as usize];
            let others: Vec<_> = hosts.iter().filter(|&&host| host != source).collect();
            let target = *others[rng.below(others.len() as u64) as usize];
            let receiver = PlainEndpoint {
                answer: rng.chance(0.5).then_some(40),
                ..PlainEndpoint::default()
            };
            let sender = PlainEndpoint::default();
            let logs = [sender.log.clone(), receiver.log.clone()];
            let config = FlowConfig {
                loss: LossConfig::arbitrary(&mut rng),
                start: at(rng.below(30 * MILLISECOND)),
                access_delay: Duration::from_nanos(rng.below(2) * rng.below(2 * MILLISECOND)),
                dscp: Dscp::new(rng.below(64) as u8),
                ..plain_flow(
                    &n.to_string(),
                    (source, target),
                    [sender, receiver],
                    random_app(&mut rng),
                )
            };
            (network.add_flow(config).expect("a valid flow"), logs)
        })
        .collect();
    RandomNetwork {
        network,
        links,
        flows,
    }
}

/// A chain of hosts with impaired wires, a cell at its end, and flows through both.
pub fn impaired_network(seed: u64) -> (RandomNetwork, MediumId, Vec<HostId>) {
    let mut rng = Rng::stream(seed, "impaired network");
    let mut network = Network::new(seed);
    let hosts: Vec<_> = (0..3 + rng.below(4))
        .map(|n| network.add_host(&n.to_string(), random_timing(&mut rng)))
        .collect();
    let mut links = Vec::new();
    let (wired, wireless) = hosts.split_at(1 + rng.below(hosts.len() as u64 - 2) as usize);
    for (n, pair) in hosts.windows(2).take(wired.len()).enumerate() {
        for (name, from, to) in [("right", pair[0], pair[1]), ("left", pair[1], pair[0])] {
            let config = impaired_link(&mut rng, format!("{n}{name}"), from, to);
            network.add_link(config.clone()).expect("a valid link");
            links.push(config);
        }
    }
    let cell = random_cell(&mut rng, wireless);
    let cell = network.add_medium(cell).expect("a valid medium");
    let flows = (0..=rng.below(5)).map(|n| {
        let (source, target) = loop {
            let mut any = || hosts[rng.below(hosts.len() as u64) as usize];
            let ends = (any(), any());
            if ends.0 != ends.1 {
                break ends;
            }
        };
        let receiver = PlainEndpoint {
            answer: rng.chance(0.5).then_some(40),
            ..PlainEndpoint::default()
        };
        let sender = PlainEndpoint::default();
        let logs = [sender.log.clone(), receiver.log.clone()];
        let app = random_app(&mut rng);
        let config = plain_flow(&n.to_string(), (source, target), [sender, receiver], app);
        (network.add_flow(config).expect("a valid flow"), logs)
    });
    let flows = flows.collect();
    let random = RandomNetwork {
        network,
        links,
        flows,
    };
    (random, cell, wireless.to_vec())
}

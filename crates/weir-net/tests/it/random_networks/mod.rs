//! Properties of random networks. A failure prints the seed; `WEIR_SEED=n` replays only that
//! network.

mod generator;

use crate::common::{self, EndpointAction, Log, PlainEndpoint, Recorder, at, plain_flow};
use generator::{impaired_network, random_network};
use std::collections::BTreeMap;
use weir_net::app::{Bulk, BulkConfig};
use weir_net::loss::RandomLossConfig;
use weir_net::{
    FlowConfig, FlowCounters, HostTiming, LinkConfig, LinkCounters, LossConfig, Network,
    QueueLimit, Side, simulate,
};
use weir_proto::DurationRange;
use weir_proto::event::{Event, EventMask, EventSource};
use weir_proto::packet::FlowId;
use weir_proto::time::{Duration, Instant};
use weir_proto::units::Probability;

const MILLISECOND: u64 = 1_000_000;

/// The seed of one network, printed if its test fails for any reason.
struct Replay(u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay this network alone: WEIR_SEED={}", self.0);
        }
    }
}

/// Checks a property with the network of each seed. Returns whether there were several networks; a
/// single one does not show properties of all of them together.
fn for_each_seed(mut property: impl FnMut(u64)) -> bool {
    let seeds = seeds();
    for &seed in &seeds {
        let _replay = Replay(seed);
        property(seed);
    }
    seeds.len() > 1
}

/// The seeds of the networks to check.
#[expect(
    clippy::disallowed_methods,
    reason = "a variable replays a failing seed"
)]
fn seeds() -> Vec<u64> {
    match std::env::var("WEIR_SEED") {
        Ok(seeds) => {
            let number = |text: &str| text.parse().expect("WEIR_SEED is n or n..m");
            match seeds.split_once("..") {
                Some((first, end)) => (number(first)..number(end)).collect(),
                None => vec![number(&seeds)],
            }
        }
        Err(_) => (1..=60).collect(),
    }
}

fn assert_link(seed: u64, config: &LinkConfig, c: &LinkCounters, earlier: &LinkCounters) {
    let what = format!("WEIR_SEED={seed} link {} at {}: {c:?}", config.name, c.at);
    let inside = c.packets_queued + c.packets_in_flight;
    let gone = c.packets_delivered + c.packets_dropped();
    assert_eq!(c.packets_in, gone + inside, "packets, {what}");
    let inside = c.bytes_queued + c.bytes_in_flight;
    let gone = c.bytes_delivered + c.bytes_dropped;
    assert_eq!(c.bytes_in, gone + inside, "octets, {what}");
    match config.queue.limit() {
        QueueLimit::Packets(limit) => assert!(c.max_packets_queued <= limit, "{what}"),
        QueueLimit::Bytes(limit) => assert!(c.max_bytes_queued <= limit, "{what}"),
    }
    if let Some(shaper) = config.shaper {
        let tokens = u128::from(shaper.burst) * 8 * 1_000_000_000
            + u128::from(shaper.rate) * u128::from(c.at.as_nanos());
        assert!(
            u128::from(c.bytes_delivered) * 8 * 1_000_000_000 <= tokens,
            "{what}"
        );
    }
    assert!(c.utilisation_since(earlier) <= 1.0, "{what}");
    if let Some(rate) = config.rate {
        // Never above its rate: delivered octets were transmitted before.
        let bits = u128::from(c.bytes_delivered) * 8 * 1_000_000_000;
        assert!(
            bits <= u128::from(rate) * u128::from(c.at.as_nanos()),
            "{what}"
        );
    }
}

fn assert_flow(seed: u64, flow: FlowId, c: &FlowCounters, in_links: u64) {
    let mut sent = 0;
    let mut gone = c.packets_dropped + c.packets_unreachable;
    for end in [c.sender, c.receiver] {
        sent += end.packets_sent;
        gone += end.packets_lost_at_socket
            + end.packets_in_transmit
            + end.packets_delivered
            + end.packets_in_receive;
    }
    assert!(
        sent >= gone && sent - gone <= in_links,
        "WEIR_SEED={seed} {flow:?}: sent {sent}, accounted for {gone}, in links {in_links}"
    );
}

/// Packets and octets inside the link: those that entered or were duplicated minus those that left.
fn inside(seed: u64, c: &LinkCounters) -> u64 {
    let packets = c.packets_queued + c.packets_in_flight;
    let (came, gone) = (
        c.packets_in + c.packets_duplicated,
        c.packets_delivered + c.packets_dropped(),
    );
    assert_eq!(came, gone + packets, "WEIR_SEED={seed} {c:?}");
    let (came, gone) = (
        c.bytes_in + c.bytes_duplicated,
        c.bytes_delivered + c.bytes_dropped,
    );
    assert_eq!(
        came,
        gone + c.bytes_queued + c.bytes_in_flight,
        "WEIR_SEED={seed} {c:?}"
    );
    packets
}

#[test]
fn packets_and_octets_are_conserved_through_every_element() {
    let mut seen = LinkCounters::default();
    let many = for_each_seed(|seed| {
        let (mut random, cell, stations) = impaired_network(seed);
        for step in 1..=40 {
            simulate(&mut random.network, at(step * 7_777_777), &mut ())
                .unwrap_or_else(|stuck| panic!("WEIR_SEED={seed}: {stuck}"));
            let mut all: Vec<LinkCounters> = Vec::new();
            for id in random.network.link_ids().collect::<Vec<_>>() {
                all.push(random.network.link_counters(id));
            }
            for &host in &stations {
                let counters = random.network.station_counters(cell, host);
                all.push(counters.expect("a station").link);
            }
            let under_way: u64 = all.iter().map(|c| inside(seed, c)).sum();
            assert_eq!(
                under_way,
                random.network.packets_in_network() as u64,
                "WEIR_SEED={seed}"
            );
            let created: u64 = all.iter().map(|c| c.packets_duplicated).sum();
            let (mut sent, mut gone) = (0, 0);
            for (flow, _) in &random.flows {
                let c = random.network.flow_counters(*flow);
                gone += c.packets_dropped + c.packets_unreachable;
                for end in [c.sender, c.receiver] {
                    sent += end.packets_sent - end.packets_in_transmit;
                    gone += end.packets_delivered + end.packets_in_receive;
                }
            }
            assert_eq!(
                sent + created,
                gone + under_way,
                "WEIR_SEED={seed} step {step}"
            );
            for c in &all {
                seen.packets_duplicated += c.packets_duplicated;
                seen.packets_damaged += c.packets_damaged;
                seen.packets_reordered += c.packets_reordered;
                seen.dropped_damaged += c.dropped_damaged;
                seen.dropped_outage += c.dropped_outage;
                seen.dropped_retry_limit += c.dropped_retry_limit;
            }
        }
    });
    let rare = [
        seen.packets_duplicated,
        seen.packets_damaged,
        seen.packets_reordered,
        seen.dropped_damaged,
        seen.dropped_outage,
        seen.dropped_retry_limit,
    ];
    assert!(
        !many || rare.iter().all(|&count| count > 0),
        "nothing happens: {seen:?}"
    );
}

/// Numbers and times of the packets that arrived.
fn arrivals(log: &Log) -> Vec<(u64, u64)> {
    let log = log.lock().expect("one thread");
    let received = log.iter().filter_map(|entry| match *entry {
        EndpointAction::Received { at, id, .. } => Some((at, id)),
        _ => None,
    });
    received.collect()
}

#[test]
fn packets_are_conserved_in_order_and_within_limits() {
    let mut delivered = 0;
    let many = for_each_seed(|seed| {
        let mut random = random_network(seed);
        let mut earlier = vec![LinkCounters::default(); random.links.len()];
        for step in 1..=40 {
            // An odd step, so that samples fall between events.
            simulate(&mut random.network, at(step * 7_777_777), &mut ())
                .unwrap_or_else(|stuck| panic!("WEIR_SEED={seed}: {stuck}"));
            let ids: Vec<_> = random.network.link_ids().collect();
            let mut sum = (0, 0);
            for (n, id) in ids.into_iter().enumerate() {
                let counters = random.network.link_counters(id);
                assert_link(seed, &random.links[n], &counters, &earlier[n]);
                sum.0 += counters.packets_queued + counters.packets_in_flight;
                sum.1 += counters.packets_dropped();
                earlier[n] = counters;
            }
            let under_way = random.network.packets_in_network();
            assert_eq!(
                under_way as u64, sum.0,
                "WEIR_SEED={seed}: packets in the network"
            );
            let mut dropped = 0;
            for (flow, _) in &random.flows {
                let counters = random.network.flow_counters(*flow);
                assert_flow(seed, *flow, &counters, sum.0);
                dropped += counters.packets_dropped;
            }
            assert_eq!(
                dropped, sum.1,
                "WEIR_SEED={seed}: drops by flow and by link"
            );
        }
        for (flow, logs) in &random.flows {
            for log in logs {
                let arrived = arrivals(log);
                delivered += arrived.len();
                assert!(
                    arrived
                        .windows(2)
                        .all(|w| w[0].0 <= w[1].0 && w[0].1 < w[1].1),
                    "WEIR_SEED={seed} {flow:?}: out of order"
                );
            }
        }
    });
    assert!(!many || delivered > 100, "the networks carry nothing");
}

#[test]
fn nothing_arrives_before_it_could() {
    for_each_seed(|seed| {
        let mut random = random_network(seed);
        let fastest = random.links.iter().map(|l| l.delay).min().expect("links");
        simulate(&mut random.network, at(300 * MILLISECOND), &mut ()).expect("not stuck");
        for (flow, logs) in &random.flows {
            let mut handed_over = Vec::new();
            for entry in logs[0].lock().expect("one thread").iter() {
                if let EndpointAction::HandedOver { at, id } = *entry {
                    assert_eq!(id, handed_over.len() as u64);
                    handed_over.push(at);
                }
            }
            for (arrived, id) in arrivals(&logs[1]) {
                let took = arrived - handed_over[id as usize];
                assert!(took >= fastest.as_nanos(), "WEIR_SEED={seed} {flow:?} {id}");
            }
        }
    });
}

/// The record of one run: its events and its counters.
fn history(
    seed: u64,
    mask: EventMask,
    steps: u64,
) -> (Recorder, Vec<LinkCounters>, Vec<Vec<EndpointAction>>) {
    let mut random = random_network(seed);
    let mut recorder = Recorder::default();
    random.network.set_mask(mask);
    for step in 1..=steps {
        let until = at(200 * MILLISECOND * step / steps);
        simulate(&mut random.network, until, &mut recorder).expect("not stuck");
    }
    let ids: Vec<_> = random.network.link_ids().collect();
    let counters = ids.into_iter().map(|id| random.network.link_counters(id));
    let counters = counters.collect();
    let logs = random.flows.iter().flat_map(|(_, logs)| logs);
    let logs = logs.map(|log| log.lock().expect("one thread").clone());
    (recorder, counters, logs.collect())
}

type Events = Vec<(Instant, Event)>;

/// The events of each source: a link that is not called at each change of its queue reports it
/// when it is called next, after later events of others.
fn by_source(recorder: Recorder) -> BTreeMap<EventSource, Events> {
    let mut sources: BTreeMap<EventSource, Events> = BTreeMap::new();
    for (at, source, event) in recorder.0 {
        sources.entry(source).or_default().push((at, event));
    }
    sources
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for_each_seed(|seed| {
        assert_eq!(
            history(seed, EventMask::ALL, 1),
            history(seed, EventMask::ALL, 1),
            "WEIR_SEED={seed}"
        );
    });
}

#[test]
fn watching_and_pausing_change_nothing_but_what_is_seen() {
    for_each_seed(|seed| {
        let (seen, counters, logs) = history(seed, EventMask::ALL, 1);
        let (unseen, unwatched, unwatched_logs) = history(seed, EventMask::NONE, 1);
        assert!(unseen.0.is_empty());
        assert_eq!(counters, unwatched, "WEIR_SEED={seed}");
        assert_eq!(logs, unwatched_logs, "WEIR_SEED={seed}");
        let (paused, paused_counters, paused_logs) = history(seed, EventMask::ALL, 97);
        assert_eq!(counters, paused_counters, "WEIR_SEED={seed}");
        assert_eq!(logs, paused_logs, "WEIR_SEED={seed}");
        let (seen, paused) = (by_source(seen), by_source(paused));
        assert_eq!(seen, paused, "WEIR_SEED={seed}");
        let in_order = |events: &Events| events.windows(2).all(|w| w[0].0 <= w[1].0);
        let in_order = seen.values().all(in_order);
        assert!(in_order, "WEIR_SEED={seed}: events out of order");
    });
}

#[test]
fn a_new_flow_does_not_change_the_random_numbers_of_another() {
    let run = |with_other: bool| {
        let mut network = Network::new(3);
        let jitter = DurationRange {
            least: Duration::ZERO,
            most: Duration::from_micros(100),
        };
        let timing = HostTiming {
            jitter,
            ..HostTiming::default()
        };
        let from = network.add_host("a", timing);
        let to = network.add_host("b", timing);
        let config = common::wire("l", from, to, None, Duration::from_millis(1));
        network.add_link(config).expect("a valid link");
        let app = || {
            Box::new(Bulk::new(BulkConfig {
                packet: 100,
                total: Some(100_000),
            }))
        };
        let lossy = |name, logged: PlainEndpoint| FlowConfig {
            loss: LossConfig::Random(RandomLossConfig {
                rate: Probability::clamped(0.1),
            }),
            ..plain_flow(name, (from, to), [PlainEndpoint::default(), logged], app())
        };
        if with_other {
            network
                .add_flow(lossy("other", PlainEndpoint::default()))
                .expect("a valid flow");
        }
        let (receiver, log) = PlainEndpoint::new();
        let flow = network
            .add_flow(lossy("one", receiver))
            .expect("a valid flow");
        simulate(&mut network, Instant::from_nanos(MILLISECOND * 9), &mut ()).expect("not stuck");
        let lost = network.flow_counters(flow).sender.packets_lost_at_socket;
        assert!((50..150).contains(&lost), "{lost}");
        assert_eq!(
            network.app_report(flow, Side::Sender).statistics.writes,
            1000
        );
        arrivals(&log)
    };
    assert_eq!(run(false), run(true));
}

//! Links that book ahead for each other yield the same run as links that are called for each
//! packet: the same packets at the same times in the same order, and the same counters at any time.

use crate::common::{EndpointAction, Log, PlainEndpoint, Recorder, millis, plain_flow, wire};
use std::collections::BTreeMap;
use weir_net::app::{Cbr, CbrConfig, OverflowPolicy};
use weir_net::{
    DropTailConfig, FlowCounters, Horizon, HostTiming, LinkChange, LinkConfig, LinkCounters,
    Network, QueueConfig, QueueLimit, simulate_to,
};

use weir_proto::event::{Event, EventMask, EventSource};
use weir_proto::packet::HostId;
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// Steps of a millisecond, after each of which all counters are read.
const STEPS: u64 = 120;

/// When links are traced, so that they are not on the fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Traced {
    Never,
    All,
    /// One link from this step on.
    OneFrom(u64),
}

/// The kind of all links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Links {
    Plain,
    /// Each with a delay, so that the network has windows.
    Delayed,
    /// With a future change, which prevents them from being plain.
    Queued,
}

/// The observable results of a run.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    /// After each step: the counters of links and flows, and packets in the network.
    states: Vec<(Vec<LinkCounters>, Vec<FlowCounters>, usize)>,
    logs: Vec<Vec<EndpointAction>>,
}

/// The changes of each link's queue in one step, and its drops.
type Reports = BTreeMap<EventSource, [Vec<(Instant, Event)>; 2]>;

/// One of few values, so that many events fall on the same instants.
fn one_of<T: Copy>(rng: &mut Rng, values: &[T]) -> T {
    values[rng.below(values.len() as u64) as usize]
}

/// A wire each way that drops packets because of a full queue and because of their size.
fn connect(network: &mut Network, rng: &mut Rng, links: Links, [a, b]: [HostId; 2]) {
    for [from, to] in [[a, b], [b, a]] {
        let name = format!("{}-{}", from.0, to.0);
        let rate = one_of(
            rng,
            &[None, Some(8_000_000), Some(16_000_000), Some(7_654_321)],
        );
        let least = u64::from(links == Links::Delayed);
        let delay = millis(one_of(rng, &[least, 1, 3]));
        let limit = one_of(rng, &[2, 4, 20]);
        let limit = if rng.chance(0.5) {
            QueueLimit::Packets(limit)
        } else {
            QueueLimit::Bytes(limit * 1000)
        };
        let link = LinkConfig {
            mtu: rng.chance(0.2).then_some(900),
            queue: QueueConfig::DropTail(DropTailConfig { limit }),
            changes: match links {
                Links::Plain | Links::Delayed => Vec::new(),
                Links::Queued => vec![LinkChange {
                    at: Duration::from_nanos(u64::MAX),
                    ..LinkChange::default()
                }],
            },
            ..wire(&name, from, to, rate, delay)
        };
        network.add_link(link).expect("a valid link");
    }
}

fn add_flow(network: &mut Network, rng: &mut Rng, ends: (HostId, HostId)) -> [Log; 2] {
    let receiver = PlainEndpoint {
        answer: rng.chance(0.5).then_some(500),
        ..PlainEndpoint::default()
    };
    let ends_of = [PlainEndpoint::default(), receiver];
    let logs = ends_of.each_ref().map(|end| end.log.clone());
    let app = Cbr::new(CbrConfig {
        packet: one_of(rng, &[500, 1000]),
        rate: one_of(rng, &[2_000_000, 4_000_000, 9_000_000]),
        offset: Duration::ZERO,
        count: None,
        when_blocked: OverflowPolicy::Skip,
    });
    let name = format!("{}", network.flow_ids().count());
    let config = weir_net::FlowConfig {
        start: network.now() + millis(rng.below(3)),
        ..plain_flow(&name, ends, ends_of, Box::new(app))
    };
    network.add_flow(config).expect("a valid flow");
    logs
}

/// Hosts of flows at a row of routers: sources with links of their own, shared ones, and links that
/// several flows cross. One more flow is added during the run. Also returns the number of events.
fn run(seed: u64, traced: Traced, links: Links) -> (Seen, u64) {
    run_links(seed, traced, links, (EventMask::STATE, &mut |_| {}))
}

/// As [`run`], with links of this kind that report events under a mask; `look` receives them after
/// each step.
fn run_links(
    seed: u64,
    traced: Traced,
    kind: Links,
    (mask, look): (EventMask, &mut dyn FnMut(&Recorder)),
) -> (Seen, u64) {
    let mut rng = Rng::stream(seed, "chains");
    let mut network = Network::new(seed);
    let host = |network: &mut Network| {
        let name = network.link_ids().count().to_string();
        network.add_host(&name, HostTiming::default())
    };
    let routers: Vec<_> = (0..2 + rng.below(3)).map(|_| host(&mut network)).collect();
    for pair in routers.windows(2) {
        connect(&mut network, &mut rng, kind, [pair[0], pair[1]]);
    }
    let mut ends = Vec::new();
    for _ in 0..2 + rng.below(4) {
        let [source, target] = [(); 2].map(|()| {
            let end = host(&mut network);
            let router = one_of(&mut rng, &routers);
            connect(&mut network, &mut rng, kind, [end, router]);
            end
        });
        ends.push((source, target));
    }
    let mut logs = Vec::new();
    for &ends in &ends {
        logs.extend(add_flow(&mut network, &mut rng, ends));
    }
    let links: Vec<_> = network.link_ids().collect();
    let one = network.source_of_link(one_of(&mut rng, &links));
    let late = (rng.below(STEPS), (ends[0].0, ends[1].1));
    if traced == Traced::All {
        for &link in &links {
            network.set_mask_of(network.source_of_link(link), mask);
        }
    }
    let (mut seen, mut events) = (Seen::default(), 0);
    let mut reported = Recorder::default();
    for step in 0..STEPS {
        if traced == Traced::OneFrom(step) {
            network.set_mask_of(one, mask);
        }
        if late.0 == step {
            logs.extend(add_flow(&mut network, &mut rng, late.1));
        }
        let horizon = Horizon {
            including: step % 3 > 0,
            ..Horizon::including(Instant::ZERO + millis(step))
        };
        // Some of the runs that are not traced pause often.
        let pauses = traced == Traced::Never && seed % 8 < 2;
        let most = if pauses { 1 + seed % 7 } else { u64::MAX };
        events += simulate_in_pieces(&mut network, horizon, most, &mut reported);
        look(&reported);
        reported.0.clear();
        let counters = links.iter().map(|&link| network.link_counters(link));
        let counters = counters.collect();
        let flows = network.flow_ids().map(|flow| network.flow_counters(flow));
        let flows = flows.collect();
        let inside = network.packets_in_network();
        seen.states.push((counters, flows, inside));
    }
    let taken = logs
        .iter()
        .map(|log| log.lock().expect("one thread").clone());
    seen.logs = taken.collect();
    (seen, events)
}

/// Runs up to the horizon in pieces of this many events; returns their number.
fn simulate_in_pieces(
    network: &mut Network,
    horizon: Horizon,
    max_events: u64,
    reported: &mut Recorder,
) -> u64 {
    let piece = Horizon {
        max_events,
        ..horizon
    };
    let mut events = 0;
    loop {
        let counters = simulate_to(network, piece, reported);
        let counters = counters.unwrap_or_else(|stuck| panic!("{stuck}"));
        events += counters.events;
        assert!(counters.now <= horizon.until, "{:?}", counters.now);
        if counters.finished {
            return events;
        }
    }
}

fn assert_same(seed: u64, traced: Traced, found: &Seen, expected: &Seen) {
    for (step, (found, expected)) in found.states.iter().zip(&expected.states).enumerate() {
        for (link, (found, expected)) in found.0.iter().zip(&expected.0).enumerate() {
            assert_eq!(
                found, expected,
                "seed {seed} {traced:?} step {step} link {link}"
            );
        }
        assert_eq!(found, expected, "seed {seed} {traced:?} step {step}");
    }
    assert!(found == expected, "seed {seed} {traced:?}: logs");
}

#[test]
fn booking_ahead_changes_nothing_but_the_number_of_events() {
    let (mut calls, mut chained, mut drops) = (0, 0, 0);
    // In the last three, packets of two flows leave a link at the same instant and then take
    // different routes.
    for links in [Links::Plain, Links::Delayed] {
        for seed in (1..=300).chain([842, 1698, 3763]) {
            let (expected, events) = run(seed, Traced::All, links);
            calls += events;
            for traced in [Traced::Never, Traced::OneFrom(seed % STEPS)] {
                let (found, events) = run(seed, traced, links);
                assert_same(seed, traced, &found, &expected);
                chained += if traced == Traced::Never { events } else { 0 };
            }
            let last = expected.states.last().expect("steps");
            drops += last
                .0
                .iter()
                .map(LinkCounters::packets_dropped)
                .sum::<u64>();
        }
    }
    assert!(drops > 10_000, "{drops} drops");
    assert!(10 * chained < 9 * calls, "{chained} of {calls} events");
}

/// The reports of each link in each step; packets are identified by the numbers of their senders.
fn reports_of_links(seed: u64, traced: Traced, links: Links) -> (Seen, Vec<Reports>) {
    let mut steps = Vec::new();
    let mut look = |reported: &Recorder| {
        let mut step = Reports::new();
        for (at, source, event) in &reported.0 {
            let of_source = step.entry(*source).or_default();
            let is_drop = matches!(event, Event::Drop { .. });
            of_source[usize::from(is_drop)].push((*at, *event));
        }
        steps.push(step);
    };
    let mask = EventMask::QUEUE.union(EventMask::DROP);
    let (seen, _) = run_links(seed, traced, links, (mask, &mut look));
    (seen, steps)
}

#[test]
fn traced_plain_links_report_what_links_with_queues_do() {
    let (mut changes, mut drops) = (0, 0);
    for seed in 1..=150 {
        for traced in [Traced::All, Traced::OneFrom(seed % STEPS)] {
            let (found, found_reports) = reports_of_links(seed, traced, Links::Plain);
            let (expected, expected_reports) = reports_of_links(seed, traced, Links::Queued);
            assert_same(seed, traced, &found, &expected);
            for (step, (found, expected)) in found_reports.iter().zip(&expected_reports).enumerate()
            {
                assert_eq!(found, expected, "seed {seed} {traced:?} step {step}");
            }
            let events = found_reports.iter().flat_map(BTreeMap::values);
            let events = events.flatten().flatten();
            for (_, event) in events {
                match event {
                    Event::Queue { .. } => changes += 1,
                    Event::Drop { number, .. } => {
                        assert!(number.is_some(), "a packet of the network");
                        drops += 1;
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(changes > 100_000, "{changes} changes");
    assert!(drops > 5_000, "{drops} drops");
}

/// Ten sources send over links of their own and one shared link to ten hosts. Runs the steps, each
/// of which may include the events at its end. Also returns the number of events.
fn dumbbell(traced: bool, steps: &[(u64, bool)]) -> (Vec<Vec<EndpointAction>>, u64) {
    let mut network = Network::new(1);
    let host = |network: &mut Network, name: &str| network.add_host(name, HostTiming::default());
    let [left, right] = ["left", "right"].map(|name| host(&mut network, name));
    let mut links = vec![(left, right, 50_000_000, 8), (right, left, 50_000_000, 8)];
    let mut logs = Vec::new();
    for flow in 0..10 {
        let name = format!("{flow}");
        let [source, target] = [(); 2].map(|()| host(&mut network, &name));
        // Packets of the flows with a short delay overtake others on their way to the shared link.
        let delay = 1 + 3 * (flow % 3);
        for (end, router) in [(source, left), (target, right)] {
            links.push((end, router, 100_000_000, delay));
            links.push((router, end, 100_000_000, delay));
        }
        let ends_of = [PlainEndpoint::default(), PlainEndpoint::default()];
        logs.extend(ends_of.each_ref().map(|end| end.log.clone()));
        let app = Cbr::new(CbrConfig {
            packet: 1000,
            rate: 4_000_000,
            offset: Duration::from_micros(130 * flow),
            count: None,
            when_blocked: OverflowPolicy::Skip,
        });
        network
            .add_flow(plain_flow(&name, (source, target), ends_of, Box::new(app)))
            .expect("a valid flow");
    }
    for (from, to, rate, delay) in links {
        let name = format!("{}-{}", from.0, to.0);
        let config = wire(&name, from, to, Some(rate), millis(delay));
        network.add_link(config).expect("a valid link");
    }
    if traced {
        network.set_mask(EventMask::STATE);
    }
    let mut events = 0;
    for &(until, including) in steps {
        let horizon = Horizon {
            including,
            ..Horizon::including(Instant::ZERO + millis(until))
        };
        let counters = simulate_to(&mut network, horizon, &mut ());
        events += counters.expect("the run goes on").events;
    }
    let logs = logs
        .iter()
        .map(|log| log.lock().expect("one thread").clone());
    (logs.collect(), events)
}

#[test]
fn one_event_serves_many_packets_where_ways_meet() {
    let (expected, calls) = dumbbell(true, &[(1000, true)]);
    let (found, events) = dumbbell(false, &[(1000, true)]);
    assert!(found == expected, "other packets at other times");
    // Five thousand packets: for each a timer and three arrivals, of which one remains.
    assert!((19_000..21_000).contains(&calls), "{calls}");
    assert!((9_500..11_000).contains(&events), "{events}");
}

#[test]
fn a_run_that_pauses_where_ways_meet_has_the_same_events() {
    let whole = dumbbell(false, &[(1000, true)]);
    let steps: Vec<_> = (1..=1000).map(|step| (step, step % 2 == 0)).collect();
    let paused = dumbbell(false, &steps);
    assert_eq!(whole.1, paused.1);
    assert!(whole.0 == paused.0, "other packets at other times");
}

/// The reports of a queue of two packets over a second, in steps of this length, and the number of
/// packets dropped. Packets arrive somewhat faster than they leave.
fn reports(step: Duration) -> (Recorder, u64) {
    let mut network = Network::new(1);
    let hosts = ["a", "b"].map(|name| network.add_host(name, HostTiming::default()));
    let link = LinkConfig {
        queue: QueueConfig::DropTail(DropTailConfig {
            limit: QueueLimit::Packets(2),
        }),
        ..wire("there", hosts[0], hosts[1], Some(8_000_000), millis(1))
    };
    let link = network.add_link(link).expect("a valid link");
    let back = wire("back", hosts[1], hosts[0], None, millis(1));
    network.add_link(back).expect("a valid link");
    let mask = EventMask::QUEUE.union(EventMask::DROP);
    network.set_mask_of(network.source_of_link(link), mask);
    let app = Cbr::new(CbrConfig {
        packet: 1000,
        rate: 9_000_000,
        offset: Duration::ZERO,
        count: None,
        when_blocked: OverflowPolicy::Skip,
    });
    let ends = [PlainEndpoint::default(), PlainEndpoint::default()];
    let flow = plain_flow("flow", (hosts[0], hosts[1]), ends, Box::new(app));
    network.add_flow(flow).expect("a valid flow");
    let mut recorder = Recorder::default();
    let mut until = Instant::ZERO;
    while until < Instant::ZERO + millis(1000) {
        until += step;
        simulate_to(&mut network, Horizon::including(until), &mut recorder).expect("progress");
    }
    let drops = network.link_counters(link).packets_dropped();
    (recorder, drops)
}

#[test]
fn a_traced_queue_reports_each_change_and_drop_however_the_run_is_divided() {
    let (whole, drops) = reports(millis(1000));
    let (divided, _) = reports(millis(8));
    assert!(whole == divided);
    assert!(drops > 50, "{drops}");
    let (mut before, mut changes) = (0, 0);
    let mut dropped = Vec::new();
    for (_, _, event) in &whole.0 {
        match *event {
            Event::Queue { packets, .. } => {
                assert!(packets.abs_diff(before) <= 1, "{before}, then {packets}");
                changes += 1;
                before = packets;
            }
            Event::Drop { number, .. } => dropped.push(number.expect("its sender gave it one")),
            _ => panic!("{event:?}"),
        }
    }
    assert!(changes > 1000, "{changes}");
    // The packets that were dropped, not those that reuse their places in the pool.
    assert_eq!(dropped.len() as u64, drops);
    assert!(dropped.is_sorted_by(|a, b| a < b), "{dropped:?}");
}

//! Hosts: the timing of their stacks, routes, schedules of flows, and runs without progress.

use crate::common::{
    EndpointAction, PlainEndpoint, Recorder, at, micros, millis, plain_flow, wire,
};
use weir_net::app::{Bulk, BulkConfig, Cbr, CbrConfig, OverflowPolicy, Sink};
use weir_net::loss::{PeriodicLossConfig, RandomLossConfig};
use weir_net::{
    FlowConfig, Horizon, HostTiming, LossConfig, Network, SendTimestamp, Side, SourceKind,
    simulate, simulate_to,
};
use weir_proto::DurationRange;
use weir_proto::event::{DropReason, Event, EventMask};
use weir_proto::packet::HostId;
use weir_proto::time::{Duration, Instant};
use weir_proto::units::Probability;

fn bulk(total: u64) -> Box<Bulk> {
    Box::new(Bulk::new(BulkConfig {
        packet: 1000,
        total: Some(total),
    }))
}

/// Two hosts with a wire each way, without a rate.
fn pair(stacks: (HostTiming, HostTiming), delay: Duration) -> (Network, HostId, HostId) {
    let mut network = Network::new(1);
    let server = network.add_host("server", stacks.0);
    let client = network.add_host("client", stacks.1);
    for (name, from, to) in [("up", server, client), ("down", client, server)] {
        network.add_link(wire(name, from, to, None, delay)).unwrap();
    }
    (network, server, client)
}

fn loopback(stamp: SendTimestamp) -> (Vec<EndpointAction>, Vec<EndpointAction>) {
    let server = HostTiming {
        transmit_delay: micros(47),
        stamp,
        ..HostTiming::default()
    };
    let (mut network, from, to) =
        pair((server, HostTiming::default()), Duration::from_nanos(1_500));
    let (sender, sent) = PlainEndpoint::new();
    let (receiver, received) = PlainEndpoint::new();
    let receiver = PlainEndpoint {
        answer: Some(40),
        ..receiver
    };
    network
        .add_flow(FlowConfig {
            start: at(1_000),
            ..plain_flow("stream", (from, to), [sender, receiver], bulk(1000))
        })
        .unwrap();
    simulate(&mut network, at(1_000_000), &mut ()).unwrap();
    (
        sent.lock().unwrap().clone(),
        received.lock().unwrap().clone(),
    )
}

#[test]
fn on_loopback_the_stamp_of_linux_hides_47_of_50_microseconds() {
    // Handed over at 1 us, on the wire at 48 us and reported as transmitted only then; it arrives
    // 1.5 us later and the response after another 1.5 us: 3 us after the timestamp, 50 us after the
    // write.
    let (sent, received) = loopback(SendTimestamp::Transmitted);
    assert_eq!(
        sent,
        [
            EndpointAction::HandedOver { at: 1_000, id: 0 },
            EndpointAction::Transmitted { at: 48_000, id: 0 },
            EndpointAction::Received {
                at: 51_000,
                id: 0,
                size: 40
            },
        ]
    );
    assert_eq!(
        received[0],
        EndpointAction::Received {
            at: 49_500,
            id: 0,
            size: 1000
        }
    );
    // With the time of the handover, the same round trip takes the actual 50 us.
    let (sent, _) = loopback(SendTimestamp::Handover);
    assert_eq!(sent[1], EndpointAction::Transmitted { at: 1_000, id: 0 });
    assert_eq!(
        sent[2],
        EndpointAction::Received {
            at: 51_000,
            id: 0,
            size: 40
        }
    );
}

#[test]
fn the_receiving_stack_takes_its_time_too() {
    let slow = HostTiming {
        receive_delay: micros(10),
        ..HostTiming::default()
    };
    let (mut network, from, to) = pair((HostTiming::default(), slow), millis(1));
    let (receiver, received) = PlainEndpoint::new();
    network
        .add_flow(plain_flow(
            "f",
            (from, to),
            [PlainEndpoint::default(), receiver],
            bulk(2500),
        ))
        .unwrap();
    simulate(&mut network, at(1_005_000), &mut ()).unwrap();
    let flow = network.flow_ids().next().unwrap();
    let counters = network.flow_counters(flow).receiver;
    assert_eq!(
        (counters.packets_in_receive, counters.packets_delivered),
        (3, 0)
    );
    simulate(&mut network, at(1_010_000), &mut ()).unwrap();
    let sizes: Vec<_> = received
        .lock()
        .unwrap()
        .iter()
        .map(|entry| match entry {
            EndpointAction::Received { at, size, .. } => (*at, *size),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        sizes,
        [(1_010_000, 1000), (1_010_000, 1000), (1_010_000, 500)]
    );
}

#[test]
fn timers_fire_at_ticks_and_applications_on_time() {
    let kernel = HostTiming {
        timer_hz: Some(250),
        ..HostTiming::default()
    };
    let (mut network, from, to) = pair((kernel, HostTiming::default()), millis(1));
    let (mut sender, log) = PlainEndpoint::new();
    sender.timers = [at(1), at(4_000_000), at(4_000_001)].into();
    network
        .add_flow(plain_flow(
            "f",
            (from, to),
            [sender, PlainEndpoint::default()],
            bulk(0),
        ))
        .unwrap();
    simulate(&mut network, at(100_000_000), &mut ()).unwrap();
    // The application's calls in between come before the timers are due and have no effect.
    let timer = |at| EndpointAction::Timer { at };
    assert_eq!(
        *log.lock().unwrap(),
        [timer(4_000_000), timer(4_000_000), timer(8_000_000)]
    );
}

#[test]
fn hosts_forward_and_count_what_they_cannot() {
    // a -> b -> c, back over d; no link leads to e.
    let mut network = Network::new(1);
    let hosts: Vec<_> = ["a", "b", "c", "d", "e"]
        .iter()
        .map(|name| network.add_host(name, HostTiming::default()))
        .collect();
    for (name, from, to) in [("ab", 0, 1), ("bc", 1, 2), ("cd", 2, 3), ("da", 3, 0)] {
        network
            .add_link(wire(name, hosts[from], hosts[to], None, millis(1)))
            .unwrap();
    }
    let (sender, log) = PlainEndpoint::new();
    let receiver = PlainEndpoint {
        answer: Some(40),
        ..PlainEndpoint::default()
    };
    let there = network
        .add_flow(plain_flow(
            "there",
            (hosts[0], hosts[2]),
            [sender, receiver],
            bulk(3000),
        ))
        .unwrap();
    let nowhere = network
        .add_flow(plain_flow(
            "nowhere",
            (hosts[0], hosts[4]),
            [PlainEndpoint::default(), PlainEndpoint::default()],
            bulk(2000),
        ))
        .unwrap();
    simulate(&mut network, at(1_000_000_000), &mut ()).unwrap();
    assert_eq!(
        log.lock().unwrap().last(),
        Some(&EndpointAction::Received {
            at: 4_000_000,
            id: 2,
            size: 40
        })
    );
    assert_eq!(network.flow_counters(there).packets_unreachable, 0);
    assert_eq!(network.flow_counters(nowhere).packets_unreachable, 2);
    assert_eq!(
        network
            .app_report(there, Side::Receiver)
            .statistics
            .bytes_read,
        3000
    );
}

#[test]
fn a_packet_without_hops_left_is_unreachable() {
    // The default time to live allows 64 links.
    for (links, arrived) in [(64, 1), (65, 0)] {
        let mut network = Network::new(1);
        let hosts: Vec<_> = (0..=links)
            .map(|n| network.add_host(&n.to_string(), HostTiming::default()))
            .collect();
        for pair in hosts.windows(2) {
            network
                .add_link(wire("hop", pair[0], pair[1], None, millis(1)))
                .unwrap();
        }
        let ends = (hosts[0], hosts[links]);
        let flow = network
            .add_flow(plain_flow("far", ends, Default::default(), bulk(1000)))
            .unwrap();
        simulate(&mut network, at(1_000_000_000), &mut ()).unwrap();
        let counters = network.flow_counters(flow);
        assert_eq!(
            counters.receiver.packets_delivered, arrived,
            "{links} links"
        );
        assert_eq!(counters.packets_unreachable, 1 - arrived, "{links} links");
    }
}

#[test]
fn a_loss_at_the_socket_is_seen_by_the_probe_only() {
    let (mut network, from, to) = pair(Default::default(), millis(1));
    let (sender, log) = PlainEndpoint::new();
    let flow = network
        .add_flow(FlowConfig {
            loss: LossConfig::Periodic(PeriodicLossConfig { every: 2 }),
            ..plain_flow(
                "f",
                (from, to),
                [sender, PlainEndpoint::default()],
                bulk(7000),
            )
        })
        .unwrap();
    network.set_mask(EventMask::DROP);
    let mut recorder = Recorder::default();
    simulate(&mut network, at(10_000_000), &mut recorder).unwrap();
    let counters = network.flow_counters(flow);
    assert_eq!(counters.sender.packets_sent, 7);
    assert_eq!(counters.sender.packets_lost_at_socket, 2);
    assert_eq!(counters.receiver.packets_delivered, 5);
    let transmitted = |entry: &&EndpointAction| matches!(entry, EndpointAction::Transmitted { .. });
    assert_eq!(log.lock().unwrap().iter().filter(transmitted).count(), 7);
    let source = network.source_of_flow(flow, Side::Sender).unwrap();
    let lost = |number: u64| Event::Drop {
        flow,
        number: Some(number),
        size: 1000,
        reason: DropReason::LossModel,
    };
    assert_eq!(
        recorder.0,
        [2, 5].map(|number| (Instant::ZERO, source, lost(number)))
    );
    assert_eq!(
        network.kind_of_source(source),
        Some(SourceKind::Flow(flow, Side::Sender))
    );
}

#[test]
fn flows_start_and_stop_when_they_should() {
    let (mut network, from, to) = pair(Default::default(), millis(1));
    let cbr = Cbr::new(CbrConfig {
        packet: 100,
        rate: 80_000,
        offset: millis(3),
        count: None,
        when_blocked: OverflowPolicy::Skip,
    });
    let flow = network
        .add_flow(FlowConfig {
            start: at(1_000_000_000),
            stop: Some(at(1_050_000_000)),
            ..plain_flow("f", (from, to), Default::default(), Box::new(cbr))
        })
        .unwrap();
    simulate(&mut network, at(5_000_000_000), &mut ()).unwrap();
    // Every 10 ms from 1.003 s on, closed at 1.05 s: five writes.
    let app = network.app_report(flow, Side::Sender).statistics;
    assert_eq!((app.writes, app.connected_at), (5, Some(at(1_000_000_000))));
    let sink = network.app_report(flow, Side::Receiver).statistics;
    assert_eq!(sink.first_read_at, Some(at(1_004_000_000)));
    assert_eq!(sink.last_read_at, Some(at(1_044_000_000)));
    assert!(network.app_done(flow, Side::Sender));
}

#[test]
fn an_endpoint_without_progress_is_named() {
    let (mut network, from, to) = pair(Default::default(), millis(1));
    let broken = PlainEndpoint {
        never_satisfied: true,
        timers: [at(7_000_000)].into(),
        ..PlainEndpoint::default()
    };
    network
        .add_flow(plain_flow(
            "good",
            (from, to),
            Default::default(),
            bulk(1000),
        ))
        .unwrap();
    network
        .add_flow(plain_flow(
            "bad",
            (from, to),
            [PlainEndpoint::default(), broken],
            bulk(1000),
        ))
        .unwrap();
    let stuck = simulate(&mut network, at(1_000_000_000), &mut ()).unwrap_err();
    assert_eq!(
        stuck.to_string(),
        "the run is stuck at 0.007000000 s: flow \"bad\" (receiver) is due again at once, \
         time after time, and sends nothing"
    );
}

#[test]
fn endless_traffic_at_one_instant_is_an_error() {
    // Two endpoints that respond to every response, over wires without rate and delay.
    let (mut network, from, to) = pair(Default::default(), Duration::ZERO);
    let echo = || PlainEndpoint {
        answer: Some(40),
        ..PlainEndpoint::default()
    };
    network
        .add_flow(plain_flow("echo", (from, to), [echo(), echo()], bulk(1000)))
        .unwrap();
    let stuck = simulate(&mut network, at(1), &mut ()).unwrap_err();
    assert_eq!(stuck.at, Instant::ZERO);
    assert!(stuck.to_string().contains("a million events"), "{stuck}");
    // A sender without congestion control, on a wire without a rate.
    let (mut network, from, to) = pair(Default::default(), millis(1));
    let app = Box::new(Bulk::new(BulkConfig {
        packet: 1000,
        total: None,
    }));
    let blast = PlainEndpoint {
        capacity: 10,
        ..PlainEndpoint::default()
    };
    network
        .add_flow(plain_flow(
            "blast",
            (from, to),
            [blast, PlainEndpoint::default()],
            app,
        ))
        .unwrap();
    let stuck = simulate(&mut network, at(1), &mut ()).unwrap_err();
    assert_eq!(stuck.element, "flow \"blast\" (sender)");
}

#[test]
fn a_sender_without_end_is_an_error_though_none_of_its_packets_leaves_its_host() {
    let slow = HostTiming {
        transmit_delay: millis(1),
        ..HostTiming::default()
    };
    let far = millis(200);
    let all_lost = LossConfig::Random(RandomLossConfig {
        rate: Probability::clamped(1.0),
    });
    for (transmit, access_delay, loss) in [
        (slow, Duration::ZERO, LossConfig::default()),
        (HostTiming::default(), far, LossConfig::default()),
        (HostTiming::default(), Duration::ZERO, all_lost),
    ] {
        let (mut network, from, to) = pair((transmit, HostTiming::default()), millis(1));
        let app = Box::new(Bulk::new(BulkConfig {
            packet: 1000,
            total: None,
        }));
        // Each packet makes room for the next one.
        let blast = PlainEndpoint {
            capacity: 10,
            ..PlainEndpoint::default()
        };
        let ends = [blast, PlainEndpoint::default()];
        network
            .add_flow(FlowConfig {
                access_delay,
                loss,
                ..plain_flow("blast", (from, to), ends, app)
            })
            .unwrap();
        let stuck = simulate(&mut network, at(1), &mut ()).unwrap_err();
        assert_eq!(stuck.element, "flow \"blast\" (sender)");
        let words = stuck.to_string();
        assert!(
            words.contains("a million packets in a millisecond"),
            "{words}"
        );
    }
}

#[test]
fn traffic_that_no_path_carries_is_an_error_though_time_goes_on() {
    // A packet every nanosecond, on a wire without a rate.
    let (mut network, from, to) = pair(Default::default(), millis(1));
    let app = Box::new(Cbr::new(CbrConfig {
        packet: 1,
        rate: 1_000_000_000_000_000,
        ..CbrConfig::default()
    }));
    network
        .add_flow(plain_flow("blast", (from, to), Default::default(), app))
        .unwrap();
    let stuck = simulate(&mut network, at(3_000_000), &mut ()).unwrap_err();
    assert_eq!(stuck.element, "flow \"blast\" (sender)");
    assert!(stuck.at < at(1_000_000), "{stuck}");
    assert!(
        stuck
            .to_string()
            .contains("a million packets in a millisecond"),
        "{stuck}"
    );
}

#[test]
fn a_run_in_pieces_of_any_number_of_events_is_the_same_run() {
    let counters = |most| {
        let (mut network, from, to) = pair(Default::default(), millis(1));
        let echo = PlainEndpoint {
            answer: Some(40),
            ..PlainEndpoint::default()
        };
        let ends = [PlainEndpoint::default(), echo];
        // A packet every 10 microseconds.
        let app = Box::new(Cbr::new(CbrConfig {
            packet: 1000,
            rate: 800_000_000,
            ..CbrConfig::default()
        }));
        let flow = plain_flow("echo", (from, to), ends, app);
        let flow = network.add_flow(flow).unwrap();
        let horizon = Horizon {
            max_events: most,
            ..Horizon::including(at(10_000_000))
        };
        let (mut events, mut calls) = (0, 0);
        loop {
            let counters = simulate_to(&mut network, horizon, &mut ()).unwrap();
            // A pause comes at the end of a window: a packet, its echo and a timer each 10 µs.
            assert!(counters.events <= most.saturating_add(300));
            events += counters.events;
            calls += 1;
            if counters.finished {
                assert_eq!(counters.now, at(10_000_000));
                return (network.flow_counters(flow), events, calls);
            }
        }
    };
    let (whole, events, once) = counters(u64::MAX);
    assert_eq!(once, 1);
    assert!(events > 100, "{events}");
    for most in [1, 7] {
        let (pieces, in_pieces, calls) = counters(most);
        assert_eq!((pieces, in_pieces), (whole, events));
        assert!(calls > 1);
    }
}

#[test]
fn an_event_at_an_excluded_end_is_left_for_the_next_call() {
    let (mut network, from, to) = pair(Default::default(), millis(1));
    let ends = [PlainEndpoint::default(), PlainEndpoint::default()];
    let flow = plain_flow("one", (from, to), ends, bulk(1000));
    let flow = network.add_flow(flow).unwrap();
    let until = at(1_000_000);
    let excluding = Horizon {
        including: false,
        ..Horizon::including(until)
    };
    let mut delivered = Vec::new();
    for horizon in [excluding, Horizon::including(until)] {
        let counters = simulate_to(&mut network, horizon, &mut ()).unwrap();
        assert_eq!((counters.now, counters.finished), (until, true));
        delivered.push(network.flow_counters(flow).receiver.packets_delivered);
    }
    assert!(delivered[0] == 0 && delivered[1] > 0, "{delivered:?}");
}

#[test]
fn impossible_links_and_flows_are_refused_with_a_reason() {
    let (mut network, from, to) = pair(Default::default(), millis(1));
    let mut refused = |config| network.add_link(config).unwrap_err().to_string();
    let good = || wire("l", from, to, None, millis(1));
    let mut zero_rate = good();
    zero_rate.rate = Some(0);
    assert_eq!(
        refused(zero_rate),
        "link \"l\": its rate is zero, expected at least 1 bit/s"
    );
    let mut zero_mtu = good();
    zero_mtu.mtu = Some(0);
    assert!(refused(zero_mtu).contains("MTU is zero"));
    let mut nowhere = good();
    nowhere.to = HostId(9);
    assert!(refused(nowhere).contains("does not exist"));
    let mut back = good();
    back.to = from;
    assert!(refused(back).contains("own host"));
    let same = plain_flow("f", (from, from), Default::default(), Box::new(Sink::new()));
    let refused = network.add_flow(same).unwrap_err().to_string();
    assert!(
        refused.contains("both ends are at the same host"),
        "{refused}"
    );
}

/// The arrival times of a burst's packets at a host with this jitter, for this seed.
fn jittered(seed: u64, most: Duration) -> Vec<u64> {
    let timing = HostTiming {
        jitter: DurationRange {
            least: Duration::ZERO,
            most,
        },
        ..HostTiming::default()
    };
    let mut network = Network::new(seed);
    let from = network.add_host("server", HostTiming::default());
    let to = network.add_host("client", timing);
    // A packet of 1000 octets every 80 us.
    let link = wire("up", from, to, Some(100_000_000), millis(1));
    network.add_link(link).unwrap();
    let (receiver, received) = PlainEndpoint::new();
    let ends = [PlainEndpoint::default(), receiver];
    let flow = plain_flow("f", (from, to), ends, bulk(1_000_000));
    network.add_flow(flow).unwrap();
    simulate(&mut network, at(1_000_000_000), &mut ()).unwrap();
    let log = received.lock().unwrap();
    let arrivals = log.iter().enumerate().map(|(n, entry)| match *entry {
        EndpointAction::Received { at, id, .. } if id == n as u64 => at,
        ref other => panic!("packet {n}: {other:?}"),
    });
    arrivals.collect()
}

#[test]
fn jitter_delays_each_packet_by_its_own_time_and_reorders_none() {
    let on_time = jittered(1, Duration::ZERO);
    let late = jittered(1, micros(40));
    assert_eq!((on_time.len(), late.len()), (1000, 1000));
    let delays: Vec<u64> = late.iter().zip(&on_time).map(|(l, o)| l - o).collect();
    // Packets are 80 us apart, so no packet waits for another.
    assert!(delays.iter().all(|&delay| delay <= 40_000));
    let mean = delays.iter().sum::<u64>() as f64 / 1000.0;
    // Uniform in 0..40 us: the standard error of the mean is 40/√12/√1000 = 0.37 us.
    assert!((mean - 20_000.0).abs() < 1_500.0, "{mean}");
    // Jitter larger than the distance between packets: `jittered` checks the order of their
    // numbers.
    let crowded = jittered(1, millis(1));
    assert!(crowded.windows(2).all(|pair| pair[0] <= pair[1]));
    assert_eq!(jittered(1, micros(40)), late);
    assert_ne!(jittered(2, micros(40)), late);
}

#[test]
fn an_access_link_delays_a_flow_both_ways_behind_the_stamp() {
    let (mut network, from, to) = pair(<(HostTiming, HostTiming)>::default(), millis(1));
    let (sender, sent) = PlainEndpoint::new();
    let receiver = PlainEndpoint {
        answer: Some(40),
        ..PlainEndpoint::default()
    };
    network
        .add_flow(FlowConfig {
            access_delay: millis(10),
            ..plain_flow("far", (from, to), [sender, receiver], bulk(1000))
        })
        .unwrap();
    simulate(&mut network, at(5_000_000), &mut ()).unwrap();
    let flow = network.flow_ids().next().unwrap();
    assert_eq!(network.flow_counters(flow).sender.packets_in_transmit, 1);
    simulate(&mut network, at(50_000_000), &mut ()).unwrap();
    // 10 ms of the access link and 1 ms of the wire, each way.
    assert_eq!(
        *sent.lock().unwrap(),
        [
            EndpointAction::HandedOver { at: 0, id: 0 },
            EndpointAction::Transmitted { at: 0, id: 0 },
            EndpointAction::Received {
                at: 22_000_000,
                id: 0,
                size: 40
            },
        ]
    );
}

//! Applications against an endpoint that blocks.

use crate::common::{EndpointAction, PlainEndpoint, at, millis, plain_flow, wire};
use weir_net::app::{App, Bulk, BulkConfig, Cbr, CbrConfig, OverflowPolicy};
use weir_net::{AppStatistics, HostTiming, Network, Side, simulate};

/// Runs an application over an endpoint; returns the times in ms at which packets were handed over,
/// and the statistics of the application.
fn run(
    app: Box<dyn App + Send>,
    mut sender: PlainEndpoint,
    until_ms: u64,
) -> (Vec<f64>, AppStatistics) {
    let log = sender.log.clone();
    sender.capacity = 1;
    let mut network = Network::new(1);
    let from = network.add_host("a", HostTiming::default());
    let to = network.add_host("b", HostTiming::default());
    network
        .add_link(wire("l", from, to, None, millis(1)))
        .unwrap();
    let flow = network
        .add_flow(plain_flow(
            "f",
            (from, to),
            [sender, PlainEndpoint::default()],
            app,
        ))
        .unwrap();
    simulate(&mut network, at(until_ms * 1_000_000), &mut ()).unwrap();
    let log = log.lock().unwrap();
    let times = log.iter().filter_map(|entry| match entry {
        EndpointAction::HandedOver { at, .. } => Some(*at as f64 / 1e6),
        _ => None,
    });
    (
        times.collect(),
        network.app_report(flow, Side::Sender).statistics,
    )
}

fn cbr(when_blocked: OverflowPolicy, count: Option<u64>) -> Box<Cbr> {
    // 100 octets at 80 kbit/s: every 10 ms.
    Box::new(Cbr::new(CbrConfig {
        packet: 100,
        rate: 80_000,
        offset: millis(0),
        count,
        when_blocked,
    }))
}

/// Sends its first packet at once and the others one by one at 25, 26, 27 … ms.
fn stalling() -> PlainEndpoint {
    PlainEndpoint {
        burst: Some(1),
        timers: (25..60).map(|ms| at(ms * 1_000_000)).collect(),
        ..PlainEndpoint::default()
    }
}

#[test]
fn a_stream_at_constant_rate_keeps_its_exact_interval() {
    // 22 octets at 1800 bit/s: 880/9 ms. The ninth interval ends at 880 ms exactly.
    let app = Cbr::new(CbrConfig {
        packet: 22,
        rate: 1800,
        offset: millis(5),
        count: None,
        when_blocked: OverflowPolicy::Shift,
    });
    let (times, statistics) = run(Box::new(app), PlainEndpoint::default(), 1_000);
    assert_eq!(times[0], 5.0);
    assert_eq!(times[1], 102.777_777);
    assert_eq!(times[9], 885.0);
    assert_eq!(statistics.writes, 11);
    assert_eq!(statistics.bytes_written, 242);
}

#[test]
fn a_skipping_stream_loses_what_it_cannot_write() {
    // The write of 0 ms is sent, that of 10 ms waits in the endpoint, that of 20 ms is skipped. At
    // 25 ms the endpoint sends the waiting packet; those of 30 and 40 ms are on time.
    let (times, statistics) = run(cbr(OverflowPolicy::Skip, Some(5)), stalling(), 100);
    assert_eq!(times, [0.0, 25.0, 30.0, 40.0]);
    assert_eq!((statistics.writes, statistics.writes_skipped), (4, 1));
}

#[test]
fn a_shifting_stream_sleeps_after_the_write_that_waited() {
    // The write of 20 ms waits until 25 ms and is sent at 26 ms; the next are due at 35 and 45 ms.
    let (times, statistics) = run(cbr(OverflowPolicy::Shift, Some(5)), stalling(), 100);
    assert_eq!(times, [0.0, 25.0, 26.0, 35.0, 45.0]);
    assert_eq!((statistics.writes, statistics.writes_delayed), (5, 1));
}

#[test]
fn a_stream_with_a_timetable_catches_up() {
    // As above, but the next writes are still due at 30 and 40 ms.
    let (times, statistics) = run(cbr(OverflowPolicy::CatchUp, Some(5)), stalling(), 100);
    assert_eq!(times, [0.0, 25.0, 26.0, 30.0, 40.0]);
    assert_eq!(statistics.writes_delayed, 1);
}

#[test]
fn bulk_fills_the_endpoint_whenever_there_is_room_and_closes_after_its_total() {
    let app = Bulk::new(BulkConfig {
        packet: 1000,
        total: Some(3_500),
    });
    let (times, statistics) = run(Box::new(app), stalling(), 100);
    assert_eq!(times, [0.0, 25.0, 26.0, 27.0]);
    assert_eq!((statistics.writes, statistics.bytes_written), (4, 3_500));
    assert!(statistics.closed.is_some());
}

#[test]
fn a_datagram_that_cannot_fit_ends_the_application() {
    let app = Bulk::new(BulkConfig {
        packet: 70_000,
        total: None,
    });
    let (times, statistics) = run(Box::new(app), PlainEndpoint::default(), 100);
    assert!(times.is_empty());
    assert_eq!(statistics.too_large, Some(60_000));
}

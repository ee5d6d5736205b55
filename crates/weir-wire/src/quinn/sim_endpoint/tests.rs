//! Two endpoints over a path of constant delay that loses packets by their number.

use super::super::CongestionControlAlgorithm;
use super::super::stack_api::{OWN_CONTROLLERS, STACK};
use super::*;
use weir_proto::endpoint::{Endpoint, WriteError};
use weir_proto::event::SndLim;

const DELAY: Duration = Duration::from_millis(20);

/// Every sent packet: time, end, number and size.
type Log = Vec<(Instant, usize, u64, u32)>;

struct Path {
    ends: [SimEndpoint; 2],
    now: Instant,
    /// Packets on the path: arrival time, end and packet.
    in_transit: VecDeque<(Instant, usize, Packet)>,
    /// Which of the client's packets are lost.
    losses: fn(u64) -> bool,
    log: Log,
    endpoint_events: [Vec<EndpointEvent>; 2],
    received: Vec<u8>,
    received_octets: u64,
    /// Octets that the client still has to write.
    to_write: u64,
}

impl Path {
    fn new(config: &SimConfig, seed: u64, losses: fn(u64) -> bool) -> Self {
        let client = SimEndpoint::client(config, seed).unwrap();
        let server = SimEndpoint::server(config, seed).unwrap();
        let mut path = Self {
            ends: [client, server],
            now: Instant::ZERO,
            in_transit: VecDeque::new(),
            losses,
            log: Log::new(),
            endpoint_events: Default::default(),
            received: Vec::new(),
            received_octets: 0,
            to_write: 0,
        };
        path.ends[0].connect(Instant::ZERO);
        path.flush();
        path
    }

    fn flush(&mut self) {
        for end in 0..2 {
            while let Some(endpoint_events) = self.ends[end].poll_event() {
                self.endpoint_events[end].push(endpoint_events);
            }
            while let Some(payload) = self.ends[end].read(self.now) {
                self.received_octets += u64::from(payload.len());
                self.received.extend_from_slice(payload.content().unwrap());
            }
        }
        while self.to_write > 0 {
            let len = self.to_write.min(15_000);
            if self.ends[0]
                .write(self.now, Payload::of_len(len as u32))
                .is_err()
            {
                break;
            }
            self.to_write -= len;
        }
        for end in 0..2 {
            while let Some(packet) = self.ends[end].poll_transmit(self.now) {
                self.log.push((self.now, end, packet.id, packet.size));
                if end == 1 || !(self.losses)(packet.id) {
                    self.in_transit
                        .push_back((self.now + DELAY, 1 - end, packet));
                }
            }
        }
    }

    fn run(&mut self, until: Instant) {
        loop {
            let arrival = self.in_transit.front().map(|(at, ..)| *at);
            let timers = self.ends.iter().filter_map(Endpoint::poll_timeout).min();
            let Some(at) = arrival.into_iter().chain(timers).min() else {
                break;
            };
            if at > until {
                break;
            }
            assert!(at >= self.now, "time runs forwards");
            self.now = at;
            while self
                .in_transit
                .front()
                .is_some_and(|(arrival, ..)| *arrival <= at)
            {
                if let Some((_, end, mut packet)) = self.in_transit.pop_front() {
                    self.ends[end].handle(at, &mut packet);
                }
            }
            for end in &mut self.ends {
                end.handle_timeout(at);
            }
            self.flush();
        }
        self.now = until;
    }
}

fn config(controller: &str) -> SimConfig {
    SimConfig::new(CongestionControlAlgorithm::named(controller).unwrap(), 1252)
}

fn seconds(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

#[test]
fn data_arrives_whole_in_spite_of_losses_and_the_connection_closes() {
    let mut path = Path::new(&config("newreno"), 1, |id| id % 50 == 49);
    path.run(seconds(1));
    assert!(path.endpoint_events[0].contains(&EndpointEvent::Connected));
    assert!(path.endpoint_events[1].contains(&EndpointEvent::Connected));
    let text: Vec<u8> = (0..40_000_u32).map(|at| (at % 251) as u8).collect();
    path.ends[0]
        .write(path.now, Payload::from_bytes(&text))
        .unwrap();
    path.to_write = 1_000_000;
    path.flush();
    path.run(seconds(30));
    assert_eq!(path.received_octets, 1_040_000);
    assert_eq!(path.received[..text.len()], text);
    path.ends[0].close(path.now);
    path.flush();
    path.run(seconds(31));
    let closed = EndpointEvent::Closed(CloseReason::Finished);
    assert_eq!(path.endpoint_events[0].last(), Some(&closed));
    assert_eq!(path.endpoint_events[1].last(), Some(&closed));
    let [sent, received] = [0, 1].map(|end| path.ends[end].statistics());
    assert_eq!(received.payload_received, 1_040_000);
    assert!(received.data_packets_received > 800, "{received:?}");
    assert!(sent.packets_lost > 15 && sent.loss_events > 5, "{sent:?}");
    assert!(sent.loss_events <= sent.packets_lost, "{sent:?}");
    let lost = (0..sent.packets_sent).filter(|id| id % 50 == 49).count() as u64;
    assert_eq!(received.packets_received, sent.packets_sent - lost);
    // Two delays and at most the receiver's 25 ms acknowledgement delay.
    assert!(
        sent.smoothed_rtt >= DELAY * 2 && sent.smoothed_rtt < DELAY * 4,
        "{sent:?}"
    );
    assert_eq!(
        path.ends[0].write(path.now, Payload::of_len(1)),
        Err(WriteError::Closed)
    );
}

#[test]
fn each_packet_that_the_stack_finds_lost_is_an_event_when_it_is_found() {
    // The packets with these numbers are lost: a single one, then a burst of three.
    let mut path = Path::new(&config("newreno"), 1, |id| {
        [100, 300, 301, 302].contains(&id)
    });
    path.to_write = 1_000_000;
    if let Some(events) = path.ends[0].events() {
        events.set_mask(EventMask::PACKET);
    }
    path.run(seconds(20));
    let mut lost = Vec::new();
    let mut sent = Vec::new();
    if let Some(events) = path.ends[0].events() {
        for (at, event) in events.drain() {
            match event {
                Event::Sent { number, size, .. } => sent.push((number, at, size)),
                Event::LostUnnamed { size } => lost.push((at, size)),
                _ => {}
            }
        }
    }
    assert_eq!(lost.len() as u64, path.ends[0].statistics().packets_lost);
    assert_eq!(lost.len(), 4);
    let of = |wanted: u64| sent.iter().find(|(number, ..)| *number == wanted).unwrap();
    assert_eq!(lost[0].1, of(100).2);
    // A round trip later, by the acknowledgement of later packets.
    let after = lost[0].0.since(of(100).1);
    assert!((DELAY * 2..DELAY * 4).contains(&after), "{after:?}");
    assert!(lost[1..].iter().all(|(at, _)| *at > of(302).1));
}

/// RFC 9000 §17.2 and §17.3: the first bit is the header's form, and the third and fourth are the
/// type of a long header (table 5: 0 Initial, 1 0-RTT, 2 Handshake, 3 Retry).
#[test]
fn a_datagram_has_the_type_of_its_first_packet() {
    for (first, expected) in [
        (0x40, PacketType::OneRtt),
        (0xc3, PacketType::Initial),
        (0xd0, PacketType::None),
        (0xe1, PacketType::Handshake),
        (0xf0, PacketType::None),
    ] {
        assert_eq!(packet_type(&[first, 0, 0]), expected, "{first:x}");
    }
    let mut path = Path::new(&config("newreno"), 1, |_| false);
    path.to_write = 100_000;
    if let Some(events) = path.ends[0].events() {
        events.set_mask(EventMask::PACKET);
    }
    path.run(seconds(5));
    let mut types = Vec::new();
    if let Some(events) = path.ends[0].events() {
        types.extend(events.drain().filter_map(|(_, event)| match event {
            Event::Sent { packet_type, .. } => Some(packet_type),
            _ => None,
        }));
    }
    assert_eq!(types.first(), Some(&PacketType::Initial));
    assert_eq!(types.last(), Some(&PacketType::OneRtt));
}

#[test]
fn small_writes_reach_the_stack_together() {
    // The stack iterates over all unacknowledged segments for each packet: writes of 10 octets must
    // not become segments of 10 octets.
    let mut path = Path::new(&config("newreno"), 1, |_| false);
    path.run(seconds(1));
    for at in 0..3_000_u32 {
        let octets: Vec<u8> = (at * 10..at * 10 + 10).map(|n| (n % 251) as u8).collect();
        let written = path.ends[0].write(path.now, Payload::from_bytes(&octets));
        assert_eq!(written, Ok(()));
    }
    let collected = path.ends[0].collected.len();
    assert_eq!(
        collected,
        30_000 - COLLECTED.next_multiple_of(10),
        "one segment so far"
    );
    // Collected data is sent with the next packet, and the rest before the end of the connection.
    path.ends[0].close(path.now);
    path.flush();
    assert!(path.ends[0].collected.is_empty());
    path.run(seconds(10));
    let text: Vec<u8> = (0..30_000_u32).map(|at| (at % 251) as u8).collect();
    assert!(path.received == text, "{} octets", path.received.len());
}

fn timeline(controller: &str, seed: u64) -> (Log, [Statistics; 2]) {
    let mut path = Path::new(&config(controller), seed, |id| id % 70 == 69);
    path.to_write = 2_000_000;
    path.run(seconds(20));
    let statistics = [0, 1].map(|end| path.ends[end].statistics());
    (path.log, statistics)
}

#[test]
fn the_same_seed_gives_the_same_timeline_under_every_controller() {
    for controller in CongestionControlAlgorithm::names() {
        let first = timeline(controller, 7);
        assert!(first.1[1].payload_received > 1_000_000, "{controller}");
        assert_eq!(first, timeline(controller, 7), "{controller}");
    }
}

#[test]
fn newreno_with_byte_counting_sends_the_same_packets_as_the_stacks_own() {
    use weir_proto::cc::window::{Increase, Rules, WindowConfig};
    let rules = Rules {
        increase: Increase::ByteCounting,
        ..Rules::RFC9002
    };
    let window = WindowConfig {
        rules,
        // The stack's NewReno starts with ten datagrams of 1200 octets, regardless of their size.
        initial_window: Some(12_000),
        ..WindowConfig::default()
    };
    let newreno = super::super::ControllerConfig::named("newreno").unwrap();
    let weir = SimConfig::new(
        CongestionControlAlgorithm::Weir(newreno.with_config(window)),
        1252,
    );
    // One loss: at a second one, Weir's controller resets the octets counted towards the next
    // increase and the stack's does not.
    let run = |config: &SimConfig| {
        let mut path = Path::new(config, 7, |id| id == 199);
        path.to_write = 3_000_000;
        path.run(seconds(20));
        (path.log, path.ends[0].statistics())
    };
    let (weir, weir_stats) = run(&weir);
    let own_newreno = format!("{STACK}-newreno");
    assert_eq!(OWN_CONTROLLERS[0].0, own_newreno);
    let (own, own_stats) = run(&config(&own_newreno));
    assert_eq!(weir_stats.loss_events, 1);
    assert!(weir_stats.packets_sent > 2400, "{weir_stats:?}");
    assert_eq!(weir_stats, own_stats);
    assert_eq!(weir, own);
}

#[test]
fn a_server_that_receives_nothing_more_is_limited_by_anti_amplification() {
    let config = SimConfig {
        idle_timeout: None,
        ..config("cubic")
    };
    // Only the first packet of the client arrives.
    let mut path = Path::new(&config, 1, |id| id > 0);
    path.ends[1].events().unwrap().set_mask(EventMask::BOUND);
    path.run(seconds(100));
    let statistics = path.ends[1].statistics();
    assert!(statistics.bytes_sent >= 3 * statistics.bytes_received);
    let bounds: Vec<_> = path.ends[1].events.drain().collect();
    let (since, last) = *bounds.last().expect("a bound");
    assert_eq!(last, Event::Blocked(SndLim::AntiAmplification));
    assert!(since < seconds(5), "95 of 100 seconds: {bounds:?}");
}

/// The probe timeouts of the client: time, and number of consecutive ones before.
fn timeouts(path: &mut Path) -> Vec<(Instant, u32)> {
    let events = path.ends[0].events.drain();
    let timeouts = events.filter_map(|(at, event)| match event {
        Event::Timeout { backoff } => Some((at, backoff)),
        _ => None,
    });
    timeouts.collect()
}

#[test]
fn a_client_whose_packets_are_lost_shows_each_probe_timeout_at_its_time() {
    let config = SimConfig {
        idle_timeout: None,
        ..config("cubic")
    };
    let mut path = Path::new(&config, 1, |id| id >= 100);
    path.ends[0].events().unwrap().set_mask(EventMask::TIMEOUT);
    path.to_write = 10_000_000;
    path.run(seconds(20));
    let timeouts = timeouts(&mut path);
    let in_row: Vec<u32> = timeouts.iter().map(|(_, in_row)| *in_row).collect();
    assert!(
        in_row.len() >= 6 && in_row.iter().copied().eq(0..in_row.len() as u32),
        "{in_row:?}"
    );
    assert_eq!(path.ends[0].statistics().timeouts, in_row.len() as u64);
    // RFC 9002 §6.2.1 and §6.2.4: the time until the next one doubles, and at each two datagrams
    // are sent. noq lets it grow by at most two seconds.
    let growth = match STACK {
        "noq" => Duration::from_secs(2),
        _ => Duration::MAX,
    };
    let gap = |at: usize| timeouts[at + 1].0.since(timeouts[at].0);
    for at in 0..timeouts.len() - 2 {
        assert_eq!(gap(at + 1), gap(at) + gap(at).min(growth));
    }
    for (timeout, _) in timeouts {
        let sent = path.log.iter();
        let sent = sent.filter(|(at, end, ..)| (*at, *end) == (timeout, 0));
        assert_eq!(sent.count(), 2, "{timeout:?}");
    }
}

#[test]
fn losses_that_acknowledgements_show_are_no_timeouts() {
    let mut path = Path::new(&config("cubic"), 1, |id| id % 50 == 30);
    path.ends[0].events().unwrap().set_mask(EventMask::TIMEOUT);
    path.to_write = 500_000;
    path.run(seconds(10));
    assert_eq!(path.received_octets, 500_000);
    assert!(path.ends[0].statistics().packets_lost > 5);
    assert_eq!(timeouts(&mut path), []);
}

#[test]
fn window_events_contain_the_octets_in_flight() {
    let mut path = Path::new(&config("cubic"), 1, |id| id == 100);
    for end in &mut path.ends {
        end.events().unwrap().set_mask(EventMask::ALL);
    }
    path.to_write = 500_000;
    path.run(seconds(10));
    let events: Vec<_> = path.ends[0].events.drain().collect();
    let windows: Vec<WindowState> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Window(state) => Some(*state),
            _ => None,
        })
        .collect();
    assert_eq!(windows[0].cwnd, 12_520);
    // After a reduction more octets are in flight than the window.
    let growing = windows.iter().filter(|window| window.state == "slow_start");
    assert!(growing.clone().count() > 10);
    assert!(
        growing
            .clone()
            .all(|window| window.bytes_in_flight <= window.cwnd)
    );
    let most = windows.iter().map(|state| state.bytes_in_flight).max();
    assert!(most > Some(30_000), "{most:?}");
    for state in ["slow_start", "recovery", "congestion_avoidance"] {
        assert!(
            windows.iter().any(|window| window.state == state),
            "{state}"
        );
    }
    let last = windows.last().unwrap();
    assert_eq!(last.bytes_in_flight, 0, "everything was acknowledged");
    assert!(last.ssthresh.is_some() && last.rtt >= DELAY * 2);
    assert_eq!(last.smoothed_rtt, path.ends[0].statistics().smoothed_rtt);
    // The smoothed time differs from a sample while samples change: those of quinn do, because its
    // first flight leaves at once; those of noq are all alike here.
    let differs = |window: &WindowState| window.smoothed_rtt != window.rtt;
    assert_eq!(windows.iter().any(differs), STACK == "quinn");
    let samples = events
        .iter()
        .filter(|(_, event)| matches!(event, Event::Rtt(_)));
    assert!(samples.count() > 50);
}

#[test]
fn a_connection_without_an_answer_times_out() {
    let mut path = Path::new(&config("newreno"), 1, |_| true);
    path.run(seconds(60));
    assert_eq!(
        path.endpoint_events[0],
        [EndpointEvent::Closed(CloseReason::TimedOut)]
    );
    assert_eq!(path.ends[0].poll_timeout(), None);
}

#[test]
fn a_damaged_datagram_is_dropped() {
    let mut path = Path::new(&config("newreno"), 1, |_| false);
    for (_, _, packet) in &mut path.in_transit {
        packet.damaged_at = std::num::NonZeroU32::new(40);
    }
    path.run(Instant::ZERO + DELAY);
    assert_eq!(path.ends[1].statistics().packets_received, 0);
    path.run(seconds(5));
    assert!(
        path.endpoint_events[0].contains(&EndpointEvent::Connected),
        "it is sent again"
    );
}

/// The congestion events after packets of one flight were marked, and the windows of the trace.
fn marked(controller: &str, ecn: bool) -> (bool, u64, Vec<u64>) {
    let config = SimConfig {
        ecn,
        ..config(controller)
    };
    let mut path = Path::new(&config, 1, |_| false);
    path.ends[0].events().unwrap().set_mask(EventMask::ALL);
    path.run(seconds(1));
    path.to_write = 200_000;
    path.flush();
    let mut marked = 0;
    for (_, end, packet) in &mut path.in_transit {
        if *end == 1 && packet.ip.ecn == Ecn::Ect0 {
            packet.ip.ecn = Ecn::Ce;
            marked += 1;
        }
    }
    path.run(seconds(5));
    assert_eq!(path.ends[0].statistics().packets_lost, 0);
    let windows = path.ends[0].events.drain();
    let windows = windows.filter_map(|(_, event)| match event {
        Event::Window(state) => Some(state.cwnd),
        _ => None,
    });
    let windows = windows.collect();
    (marked > 0, path.ends[0].statistics().loss_events, windows)
}

#[test]
fn congestion_marks_reach_the_controller_unless_ecn_is_off() {
    let run = |controller, ecn| {
        let (marked, events, _) = marked(controller, ecn);
        (marked, events)
    };
    assert_eq!(run("newreno", true), (true, 1));
    assert_eq!(run("newreno", false), (false, 0));
    // draft-bbr §3.7: a controller that does not react to marks must not claim ECN.
    assert_eq!(run("bbr", true), (false, 0));
}

#[test]
fn the_marks_of_a_flight_halve_the_window_once() {
    for controller in ["newreno", OWN_CONTROLLERS[0].0] {
        let (marked, events, windows) = marked(controller, true);
        assert_eq!((marked, events), (true, 1), "{controller}");
        let down: Vec<_> = windows.windows(2).filter(|w| w[1] < w[0]).collect();
        let [[before, after]] = down[..] else {
            panic!("{controller}: {down:?}");
        };
        // RFC 9002 §7.3.2: half of the window, which the acknowledgement that brings the marks has
        // let grow before by what it acknowledges: the flight, of at most ten packets.
        assert!(
            (*before..=before + 10 * 1252).contains(&(after * 2)),
            "{controller}: from {before} to {after}"
        );
    }
}

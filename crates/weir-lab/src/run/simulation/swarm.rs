//! Random scenarios: every transport, queue, application and impairment with unusual values, and
//! with short durations, small queues and low rates. Each scenario is parsed, runs with a limit of
//! events and ends; its packets are conserved, and a second run equals the first.
//!
//! A failure prints the seed; `WEIR_SEED=n` runs that scenario alone, `WEIR_SEED=n..m` others.

use super::{RunOptions, Scope, Simulation};
use crate::run::network::TracedLink;
use crate::run::{RunError, TraceLevel};
use crate::scenario::{Scenario, parse};
use std::collections::BTreeSet;
use std::fmt::Write;
use weir_net::Side;
use weir_proto::rng::Rng;

/// The limit of events of a run.
const EVENTS: u64 = 20_000;

const DELAYS: [&str; 8] = [
    "0s",
    "0s",
    "1ns",
    "1us",
    "3ms",
    "40ms",
    "700ms",
    "1ms..30ms",
];
const RATES: [&str; 9] = [
    "unlimited",
    "unlimited",
    "1bit",
    "9kbit",
    "128kbit",
    "2Mbit",
    "100Mbit",
    "10Gbit",
    "900Gbit",
];
const MTUS: [u32; 8] = [68, 99, 576, 1280, 1500, 1500, 1500, 65_535];
const SHORT: [&str; 7] = ["0s", "1ns", "1us", "1ms", "9ms", "100ms", "1s"];
const PERIODS: [&str; 4] = ["1us", "1ms", "30ms", "2s"];
const FRACTIONS: [&str; 5] = ["0.0", "0.001", "0.05", "0.5", "1.0"];

/// The text of one scenario, generated from a seed.
struct Words {
    rng: Rng,
    text: String,
    /// The smallest MTU of all links.
    mtu: u32,
}

impl Words {
    fn of<T: Copy>(&mut self, words: &[T]) -> T {
        words[self.rng.below(words.len() as u64) as usize]
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.rng.chance(probability)
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn queue(&mut self) -> String {
        let limit = self.of(&[1_u32, 2, 3, 20, 1000]);
        let ecn = self.chance(0.5);
        match self.rng.below(6) {
            0 => format!("{{ kind = \"droptail\", limit = {limit} }}"),
            1 => format!("{{ kind = \"droptail\", limit = \"{}b\" }}", limit * 100),
            2 => {
                let time = self.of(&SHORT);
                format!(
                    "{{ kind = \"red\", limit = 30000, min = 1, max = {}, packet_time = \"{time}\", \
                     ecn = {ecn} }}",
                    2 + limit * 10
                )
            }
            3 | 4 => {
                let (kind, target) = (self.of(&["codel", "fq_codel"]), self.of(&SHORT));
                let interval = self.of(&PERIODS);
                format!(
                    "{{ kind = \"{kind}\", limit = {limit}, target = \"{target}\", \
                     interval = \"{interval}\", ecn = {ecn} }}"
                )
            }
            _ => {
                let (target, burst) = (self.of(&SHORT), self.of(&SHORT));
                let period = self.of(&["1ms", "15ms", "1h"]);
                format!(
                    "{{ kind = \"pie\", limit = {limit}, target = \"{target}\", \
                     tupdate = \"{period}\", max_burst = \"{burst}\", ecn = {ecn} }}"
                )
            }
        }
    }

    fn loss(&mut self) -> String {
        let rate = self.of(&FRACTIONS);
        match self.rng.below(5) {
            0 => format!("{{ kind = \"random\", rate = {rate} }}"),
            1 => "{ kind = \"periodic\", rate = 0.1 }".to_owned(),
            2 => format!("{{ kind = \"gilbert\", to_bad = {rate}, to_good = 0.3 }}"),
            3 => "{ kind = \"trace\", drops = [0, 1, 2, 7, 30, 31] }".to_owned(),
            _ => "{ kind = \"none\" }".to_owned(),
        }
    }

    fn netem(&mut self) -> String {
        let (jitter, share) = (self.of(&SHORT), self.of(&["0.0", "0.1", "0.9"]));
        let distribution = self.of(&["uniform", "normal", "pareto"]);
        let keep = self.chance(0.3);
        format!(
            "{{ jitter = \"{jitter}\", distribution = \"{distribution}\", reorder = {share}, \
             duplicate = {share}, corrupt = {share}, keep_order = {keep} }}"
        )
    }

    /// Writes keys of a link or of one of its directions.
    fn direction(&mut self) {
        let (rate, delay, mtu) = (
            self.of(&RATES),
            self.of(&DELAYS),
            self.mtu.max(self.of(&[0, 0, 65_535])),
        );
        let (queue, loss) = (self.queue(), self.loss());
        self.line(&format!(
            "rate = \"{rate}\"\ndelay = \"{delay}\"\nmtu = {mtu}"
        ));
        self.line(&format!("queue = {queue}"));
        if self.chance(0.4) {
            self.line(&format!("loss = {loss}"));
        }
        if self.chance(0.3) {
            let netem = self.netem();
            self.line(&format!("netem = {netem}"));
        }
        if self.chance(0.15) {
            let trace = self.of(&["[1]", "[0, 0, 3]", "[20]", "[5, 5, 5, 900]"]);
            self.line(&format!("rate_trace = {trace}"));
        }
        if self.chance(0.2) {
            let burst = self.of(&[1_u32, 100, 1600, 100_000]);
            self.line(&format!(
                "shaper = {{ kind = \"tbf\", rate = \"1Mbit\", burst = {burst}, limit = \"20kB\" }}"
            ));
        }
    }

    fn changes(&mut self, link: &str) {
        for at in ["1ns", "50ms", "51ms", "900ms"] {
            if self.chance(0.15) {
                let (rate, delay, loss) = (self.of(&RATES), self.of(&DELAYS[..7]), self.loss());
                self.line(&format!(
                    "[[{link}]]\nat = \"{at}\"\nrate = \"{rate}\"\ndelay = \"{delay}\"\n\
                     loss = {loss}"
                ));
            }
        }
    }

    fn hosts(&mut self, hosts: &[&str]) {
        for host in hosts {
            if self.chance(0.3) {
                let (down, up) = (self.of(&SHORT[..5]), self.of(&SHORT[..5]));
                let jitter = self.of(&["0s", "0s..1us", "0s..5ms"]);
                let (stamp, hz) = (
                    self.of(&["handover", "transmitted"]),
                    self.of(&["\"ideal\"", "1", "250", "1000000000"]),
                );
                self.line(&format!(
                    "[[host]]\nname = \"{host}\"\ntransmit_delay = \"{down}\"\n\
                     receive_delay = \"{up}\"\njitter = \"{jitter}\"\nstamp = \"{stamp}\"\n\
                     timer_hz = {hz}"
                ));
            }
        }
    }

    fn wifi(&mut self, from: &str, to: &str) {
        let standard = self.of(&["b", "b_short", "g"]);
        self.line(&format!(
            "[[wifi]]\nname = \"cell\"\nstandard = \"{standard}\""
        ));
        if self.chance(0.3) {
            let slot = self.of(&["1us", "20us", "1ms"]);
            self.line(&format!("slot = \"{slot}\"\nmin_window = 1"));
        }
        for host in [from, to] {
            let (queue, retries, x) = (
                self.queue(),
                self.of(&[1_u32, 7, 255]),
                self.of(&[0_u32, 10, 200]),
            );
            let control = self.of(&["minstrel", "arf", "aarf"]);
            self.line(&format!(
                "[[wifi.station]]\nhost = \"{host}\"\nretry_limit = {retries}\nx = {x}\n\
                 queue = {queue}\nrate_control = {{ kind = \"{control}\" }}"
            ));
        }
        if self.chance(0.4) {
            let (on, off) = (self.of(&PERIODS), self.of(&PERIODS));
            let heard = self.of(&["everywhere", "at_receivers", "by_power"]);
            self.line(&format!(
                "[[wifi.interference]]\nfrom = \"0s\"\nuntil = \"1s\"\non = \"{on}\"\n\
                 off = \"{off}\"\nheard = \"{heard}\"\npower = 10.0"
            ));
        }
    }

    /// A tunnel over any transport that can carry it.
    fn tunnel(&mut self, from: &str, to: &str) {
        let ecn = self.chance(0.5);
        let buffer = self.of(&[1, 3000, 65_536]);
        let (mode, transport) = match self.rng.below(if self.mtu < 1280 { 3 } else { 6 }) {
            0 => (
                "stream",
                format!("kind = \"tcp\", send_buffer = {buffer}, ecn = {ecn}"),
            ),
            1 => ("datagram", "kind = \"udp\"".to_owned()),
            2 => (
                "datagram",
                format!("kind = \"dccp\", ccid = 2, ecn = {ecn}"),
            ),
            3 => (
                "stream",
                format!("kind = \"quic\", send_queue_limit = {buffer}, ecn = {ecn}"),
            ),
            _ => {
                let lifetime = self.of(&["none", "0s", "5ms"]);
                let queue = self.of(&[1, 2, 50]);
                (
                    "datagram",
                    format!(
                        "kind = \"quic\", controller = \"cubic\", ecn = {ecn}, \
                         datagram_queue = {queue}, datagram_lifetime = \"{lifetime}\""
                    ),
                )
            }
        };
        let (queue, overhead) = (self.queue(), self.of(&[0, 2, 30]));
        self.line(&format!(
            "[[tunnel]]\nname = \"vpn\"\nbetween = [\"{from}\", \"{to}\"]\nmode = \"{mode}\"\n\
             transport = {{ {transport} }}\nqueue = {queue}\noverhead = {overhead}"
        ));
    }

    fn transport(&mut self) -> String {
        let ecn = self.chance(0.3);
        let kinds = if self.mtu < 1280 { 5 } else { 8 };
        match self.rng.below(kinds) {
            0..=2 => {
                let ccid = self.of(&[2, 3, 3, 4]);
                let profile = self.of(&["rfc3448", "linux-2008", "linux-mainline", "rfc5348"]);
                let queue = self.of(&[1, 5, 1000]);
                format!(
                    "{{ kind = \"dccp\", ccid = {ccid}, profile = \"{profile}\", \
                     send_queue = {queue}, ecn = {ecn} }}"
                )
            }
            3 | 4 => {
                let controller = self.of(&["newreno", "cubic", "tfrc"]);
                let rules = self.of(&["linux", "rfc", "ns2-sack1"]);
                let buffer = self.of(&[1, 100, 1000, 1461, 2919, 65_536, 6_000_000]);
                let send = self.of(&[1, 3000, 4_000_000]);
                let sack = self.chance(0.8);
                format!(
                    "{{ kind = \"tcp\", controller = \"{controller}\", rules = \"{rules}\", \
                     receive_buffer = {buffer}, send_buffer = {send}, sack = {sack}, ecn = {ecn} }}"
                )
            }
            5 | 6 => {
                let controller = self.of(&["newreno", "cubic", "tfrc"]);
                let rules = self.of(&["inet-2025", "inet-now", "rfc9002"]);
                let every = self.of(&[1, 2, 1000]);
                let credit = self.of(&[1, 1000, 6_000_000]);
                format!(
                    "{{ kind = \"quic\", controller = \"{controller}\", rules = \"{rules}\", \
                     ack_every = {every}, initial_max_stream_data = {credit}, ecn = {ecn} }}"
                )
            }
            _ => "{ kind = \"udp\" }".to_owned(),
        }
    }

    fn app(&mut self, datagrams: bool, greedy: bool) -> String {
        let mut packet = self.of(&[1, 10, 40, 500, 1000, 1400]);
        if datagrams {
            packet = packet.min(self.mtu.saturating_sub(68)).max(1);
        }
        let rate = self.of(&["1bit", "64kbit", "2Mbit", "50Mbit", "900000Gbit"]);
        match if greedy {
            self.rng.below(7)
        } else {
            3 + self.rng.below(3)
        } {
            0 | 1 => format!("{{ kind = \"bulk\", packet = {packet} }}"),
            2 => {
                let total = self.of(&[1, 1000, 100_000]);
                format!("{{ kind = \"bulk\", packet = {packet}, total = {total} }}")
            }
            3 | 4 => {
                let (blocked, offset) = (self.of(&["skip", "shift", "catch_up"]), self.of(&SHORT));
                format!(
                    "{{ kind = \"cbr\", packet = {packet}, rate = \"{rate}\", \
                     when_blocked = \"{blocked}\", offset = \"{offset}\" }}"
                )
            }
            5 => {
                let (on, off) = (self.of(&PERIODS), self.of(&SHORT));
                let lengths = self.of(&["exponential", "constant", "pareto"]);
                format!(
                    "{{ kind = \"on_off\", packet = {packet}, rate = \"{rate}\", on = \"{on}\", \
                     off = \"{off}\", lengths = \"{lengths}\" }}"
                )
            }
            _ => "{ kind = \"audio\", playout = \"100ms\" }".to_owned(),
        }
    }

    fn size(&mut self) -> String {
        let bytes = self.of(&[1_u32, 100, 3000, 90_000]);
        match self.rng.below(4) {
            0 => format!("{{ kind = \"exponential\", mean = {bytes} }}"),
            1 => format!("{{ kind = \"pareto\", mean = {bytes} }}"),
            2 => "{ kind = \"hadoop\" }".to_owned(),
            _ => format!("{{ kind = \"constant\", bytes = {bytes} }}"),
        }
    }

    fn arrivals(&mut self) -> String {
        let (rate, size) = (self.of(&[1, 50, 2000]), self.size());
        if self.chance(0.3) {
            return "{ kind = \"list\", transfers = [[0, 1], [0, 5000], [0.05, 70000]] }"
                .to_owned();
        }
        format!("{{ kind = \"poisson\", per_second = {rate}, size = {size} }}")
    }

    /// Requests and responses over a stream.
    fn request(&mut self) -> String {
        let (request, response) = (self.size(), self.size());
        let (think, lengths) = (
            self.of(&SHORT),
            self.of(&["exponential", "constant", "pareto"]),
        );
        let count = self.of(&["1", "20", "\"endless\""]);
        format!(
            "{{ kind = \"request\", request = {request}, response = {response}, \
             think = \"{think}\", think_times = \"{lengths}\", count = {count} }}"
        )
    }

    fn flow(&mut self, number: u64, hosts: &[&str]) {
        let (mut from, mut to) = (hosts[0], hosts[hosts.len() - 1]);
        if self.chance(0.3) {
            (from, to) = (to, from);
        }
        let transport = self.transport();
        let udp = transport.contains("udp");
        let datagrams = udp || transport.contains("dccp");
        let app = if !datagrams && self.chance(0.2) {
            self.request()
        } else {
            self.app(datagrams, !udp)
        };
        let (start, access) = (
            self.of(&["0s", "1ns", "20ms", "0s..50ms"]),
            self.of(&DELAYS),
        );
        let (count, stop) = (self.of(&[1, 1, 3]), self.of(&["never", "100ms"]));
        self.line(&format!(
            "[[flow]]\nname = \"f{number}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             transport = {transport}\napp = {app}\nstart = \"{start}\"\ncount = {count}\n\
             stop = \"{stop}\""
        ));
        if self.chance(0.3) {
            let loss = self.loss();
            self.line(&format!("loss = {loss}\naccess_delay = \"{access}\""));
        }
        let endless = app.contains("bulk") && !app.contains("total") && !udp;
        if endless && self.chance(0.3) {
            let arrivals = self.arrivals();
            self.line(&format!("arrivals = {arrivals}"));
        }
    }
}

/// The text of a random scenario.
fn random_text(seed: u64) -> String {
    let mut words = Words {
        rng: Rng::stream(seed, "swarm"),
        text: String::new(),
        mtu: 0,
    };
    words.mtu = words.of(&MTUS);
    let duration = words.of(&["200ms", "1s", "3s", "40s"]);
    let warmup = words.of(&["0s", "0s", "1ns", "50ms", "100ms"]);
    let codec = words.chance(0.3);
    words.line(&format!(
        "[run]\nduration = \"{duration}\"\nwarmup = \"{warmup}\"\nseed = {seed}\ncodec = {codec}"
    ));
    let hosts: &[&str] = words.of(&[&["a", "b"], &["a", "b", "c"], &["a", "b", "c", "d"]]);
    words.hosts(hosts);
    let cell = words.chance(0.3);
    for (n, pair) in hosts.windows(2).enumerate() {
        if cell && n == 0 {
            words.wifi(pair[0], pair[1]);
            continue;
        }
        words.line(&format!(
            "[[link]]\nname = \"l{n}\"\nbetween = [\"{}\", \"{}\"]",
            pair[0], pair[1]
        ));
        words.direction();
        words.changes("link.change");
        if words.chance(0.4) {
            words.line("[link.backward]");
            words.direction();
        }
    }
    if words.chance(0.4) {
        let last = 1 + words.rng.below(hosts.len() as u64 - 1) as usize;
        words.tunnel(hosts[0], hosts[last]);
    }
    for number in 0..=words.rng.below(3) {
        words.flow(number, hosts);
    }
    words.text
}

/// Sent packets and copies equal the sum of packets that arrived, were dropped or are in transit.
fn assert_conserved(run: &mut Simulation, what: &str) {
    let network = &mut run.sim.network;
    let mut created = 0;
    let mut under_way = 0;
    for (_, link) in &run.sim.links {
        let counters = match *link {
            TracedLink::Link(id) => network.link_counters(id),
            TracedLink::Station(id, host) => {
                network.station_counters(id, host).expect("a station").link
            }
            TracedLink::Tunnel(id, side) => network.tunnel_counters(id, side),
        };
        created += counters.packets_duplicated;
        let inside = counters.packets_queued + counters.packets_in_flight;
        let came = counters.packets_in + counters.packets_duplicated;
        let gone = counters.packets_delivered + counters.packets_dropped();
        assert_eq!(came, gone + inside, "{what}: {counters:?}");
        under_way += inside;
    }
    assert_eq!(under_way, network.packets_in_network() as u64, "{what}");
    let (mut sent, mut gone) = (0, 0);
    let gone_flows = network.retired_counters();
    sent += gone_flows.packets_sent;
    gone += gone_flows.packets_lost_at_socket + gone_flows.packets_delivered;
    for flow in network.flow_ids() {
        let counters = network.flow_counters(flow);
        gone += counters.packets_dropped + counters.packets_unreachable;
        for end in [counters.sender, counters.receiver] {
            sent += end.packets_sent;
            gone += end.packets_lost_at_socket + end.packets_in_transmit;
            gone += end.packets_delivered + end.packets_in_receive;
        }
        let delivered = network.statistics(flow, Side::Receiver).payload_received;
        let written = network.app_report(flow, Side::Sender).statistics;
        // Each of three hops may duplicate a datagram.
        let most = written.bytes_written.saturating_mul(8);
        assert!(delivered <= most, "{what}: {delivered} of {most}");
    }
    assert_eq!(sent + created, gone + under_way, "{what}");
}

/// The result of a run: its summary or its error, and its number of events.
fn outcome(scenario: &Scenario, seed: u64) -> (Result<String, RunError>, u64) {
    let options = RunOptions {
        trace: [TraceLevel::Summary, TraceLevel::Full][(seed % 2) as usize],
        packets: seed % 4 == 1,
        max_events: Some(EVENTS),
        ..RunOptions::default()
    };
    let mut run = match Simulation::new(scenario, &options, Scope::Whole) {
        Ok(run) => run,
        Err(error) => return (Err(error), 0),
    };
    let end = run.end();
    let advanced = run.advance(&options, end);
    let events = run.events;
    // A window of a network of plain links is not divided.
    let within = events <= EVENTS || matches!(advanced, Err(RunError::TooManyEvents { .. }));
    assert!(within, "{events}");
    match advanced {
        Ok(()) => {}
        Err(error @ (RunError::TooManyEvents { .. } | RunError::Stuck(_))) => {
            if matches!(error, RunError::TooManyEvents { .. }) {
                assert_conserved(&mut run, &error.to_string());
            }
            return (Err(error), events);
        }
        Err(error) => panic!("{error}"),
    }
    assert_conserved(&mut run, "at the end");
    let summary = run.finish().summary;
    for (name, flow) in &summary.flows {
        let p = flow.loss_event_rate;
        assert!((0.0..=1.0).contains(&p), "{name}: {p}");
    }
    let mut text = format!("{summary:?}");
    let _ = write!(text, " {events}");
    (Ok(text), events)
}

/// Prints the scenario of a failing test.
struct Replay<'a>(u64, &'a str);

impl Drop for Replay<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "WEIR_SEED={} replays this scenario alone:\n{}",
                self.0, self.1
            );
        }
    }
}

fn seeds() -> std::ops::Range<u64> {
    let number = |text: &str| text.parse().expect("WEIR_SEED is n or n..m");
    match std::env::var("WEIR_SEED") {
        Ok(seeds) => match seeds.split_once("..") {
            Some((first, end)) => number(first)..number(end),
            None => number(&seeds)..number(&seeds) + 1,
        },
        Err(_) => 1..151,
    }
}

#[test]
fn random_scenarios_end_conserve_packets_and_run_alike_twice() {
    let (mut ended, mut bounded, mut stuck, mut refused) = (0, 0, 0, 0);
    let mut reasons = BTreeSet::new();
    let seeds = seeds();
    for seed in seeds.clone() {
        let text = random_text(seed);
        let _replay = Replay(seed, &text);
        let scenario = match parse(&text, "swarm") {
            Ok(scenario) => scenario,
            Err(error) => {
                refused += 1;
                reasons.insert(error.message);
                continue;
            }
        };
        let _ = scenario.estimate().and_then(|estimate| estimate.warning());
        let resolved = parse(&scenario.resolved_toml(), "resolved").expect("it is valid");
        assert_eq!(resolved, scenario);
        let first = outcome(&scenario, seed);
        assert_eq!(outcome(&resolved, seed), first);
        match first.0 {
            Ok(_) => ended += 1,
            Err(RunError::TooManyEvents { .. }) => bounded += 1,
            Err(error) => {
                eprintln!("WEIR_SEED={seed}: {error}\n{text}");
                stuck += 1;
            }
        }
    }
    let counts = format!("{ended} ended, {bounded} bounded, {stuck} stuck, {refused} refused");
    eprintln!("{counts}");
    if std::env::var_os("WEIR_SEED").is_some() {
        eprintln!("{reasons:#?}");
    }
    if seeds.end - seeds.start > 100 {
        let tried = seeds.end - seeds.start;
        assert!(ended * 4 > tried && refused * 2 < tried, "{counts}");
    }
}

//! Entries with a `count`, and transfers over separate connections.

use crate::fixture::{run_text, traced};
use crate::run::*;
use crate::scenario::{self, ScenarioError};

fn full(text: &str) -> RunOutput {
    run_text(text, &traced())
}

const INCAST: &str = r#"
run = { duration = "3s" }
host = [{ name = "sender", count = 20 }]
link = [
    { name = "rack", count = 20, between = ["sender", "switch"], rate = "1Gbit", delay = "0s..50us" },
    { name = "port", between = ["switch", "sink"], rate = "100Mbit", delay = "10us" },
]

[[flow]]
name = "answer"
count = 20
from = "sender"
to = "sink"
transport = { kind = "tcp" }
app = { kind = "bulk", total = "20kB" }
"#;

#[test]
fn several_hosts_links_and_flows_are_one_entry() {
    let output = full(INCAST);
    let scenario = &output.scenario;
    assert_eq!((scenario.links.len(), scenario.flows.len()), (21, 20));
    assert_eq!(scenario.links[6].between, ["sender-7", "switch"]);
    assert_eq!(scenario.flows[19].from, "sender-20");
    // Each link of the entry draws its own delay.
    assert_eq!(output.summary.drawn.len(), 40);
    let group = &output.summary.groups["answer"];
    assert_eq!((group.flows, group.completed), (20, 20));
    assert_eq!(group.members[2], "answer-3");
    // 400 kB over 100 Mbit/s take 32 ms, plus headers.
    let slowest = group.completion_time_s.unwrap().max;
    assert!((0.032..0.3).contains(&slowest), "{group:?}");
    // The resolved scenario gives the same run.
    let again = full(&scenario.resolved_toml());
    assert_eq!(again.scenario, *scenario);
    assert_eq!(again.summary, output.summary);
}

#[test]
fn flows_that_ended_in_the_warm_up_are_no_zeros_of_their_group() {
    let all = full(INCAST).summary;
    let late = INCAST.replace("duration = \"3s\"", "duration = \"3s\", warmup = \"30ms\"");
    let late = full(&late).summary;
    let group = &late.groups["answer"];
    assert!((1..20).contains(&group.active), "{group:?}");
    assert!(group.goodput_bps.min > 0.0, "{group:?}");
    let [of_group, of_all] = [group.jain_index, late.totals.jain_index].map(Option::unwrap);
    assert!(of_group > 1.0 / group.active as f64, "{group:?}");
    assert!((of_group - of_all).abs() < 1e-12, "{of_all}");
    // The completion time is that of the whole flow.
    let times = |summary: &Summary| summary.groups["answer"].completion_time_s;
    assert_eq!((group.flows, group.completed), (20, 20));
    assert_eq!(times(&late), times(&all));
}

#[test]
fn counts_must_fit_each_other() {
    let wrong = |from: &str, to: &str| -> ScenarioError {
        assert!(INCAST.contains(from), "{from}");
        scenario::parse(&INCAST.replace(from, to), "test.toml").unwrap_err()
    };
    for (from, to, message) in [
        (
            "\"rack\", count = 20",
            "\"rack\", count = 7",
            "7 links cannot join 20 hosts",
        ),
        (
            "\"port\", between",
            "\"port\", count = 2, between",
            "the same two hosts",
        ),
        (
            "name = \"answer\"\ncount = 20",
            "name = \"answer\"",
            "stands for 20 hosts",
        ),
        (
            "from = \"sender\"",
            "from = \"sende\"",
            "there is no host \"sende\"",
        ),
        (
            "{ name = \"sender\", count = 20 }",
            "{ name = \"sender\", count = 20 }, { name = \"sender-3\" }",
            "two hosts called \"sender-3\"",
        ),
        (
            "count = 20 }]",
            "count = 20000 }]",
            "expected 1 to 10000 hosts",
        ),
    ] {
        let told = wrong(from, to);
        assert!(told.message.contains(message), "{to}: {told}");
        assert!(told.line > 1, "{told}");
    }
}

#[test]
fn a_station_belongs_to_one_host() {
    let text = |station: &str| {
        format!(
            "run = {{ duration = \"1s\" }}\nhost = [{{ name = \"laptop\", count = 3 }}]\n\
             [[link]]\nname = \"wire\"\ncount = 3\nbetween = [\"laptop\", \"switch\"]\ndelay = \"1ms\"\n\
             [[wifi]]\nname = \"air\"\n[[wifi.station]]\nhost = \"switch\"\n\
             [[wifi.station]]\nhost = \"{station}\"\n\
             [[flow]]\nname = \"f\"\nfrom = \"laptop-1\"\nto = \"switch\"\n\
             transport = {{ kind = \"tcp\" }}\n"
        )
    };
    let told = scenario::parse(&text("laptop"), "test.toml").unwrap_err();
    assert_eq!(
        told.to_string(),
        "test.toml:13:8: host: \"laptop\" stands for 3 hosts; name one of them, \"laptop-1\", in a \
         station of its own"
    );
    full(&text("laptop-1"));
}

/// Transfers over a wire of 10 Mbit/s.
fn transfers(arrivals: &str, seed: u64, transport: &str) -> RunOutput {
    full(&transfers_text(arrivals, seed, transport))
}

fn transfers_text(arrivals: &str, seed: u64, transport: &str) -> String {
    format!(
        "[run]\nduration = \"20s\"\nseed = {seed}\n\n[[link]]\nname = \"wire\"\n\
         between = [\"a\", \"b\"]\nrate = \"10Mbit\"\ndelay = \"5ms\"\n\n[[flow]]\nname = \"web\"\n\
         from = \"a\"\nto = \"b\"\ntransport = {{ kind = \"{transport}\" }}\narrivals = {arrivals}\n"
    )
}

#[test]
fn poisson_arrivals_make_connections_of_their_own() {
    for transport in ["tcp", "quic", "dccp"] {
        let size = "{ kind = \"exponential\", mean = \"20kB\" }";
        let arrivals = format!("{{ kind = \"poisson\", per_second = 20, size = {size} }}");
        let output = transfers(&arrivals, 1, transport);
        let web = &output.summary.transfers["web"];
        // 400 ± 20 transfers of 20 kB ± 1 kB, of which the last may not complete.
        assert!((320..480).contains(&web.transfers), "{transport}: {web:?}");
        assert!(web.completed + 8 >= web.transfers, "{transport}: {web:?}");
        let size = web.size_bytes.unwrap();
        assert!((16e3..24e3).contains(&size.mean), "{transport}: {size:?}");
        let time = web.completion_time_s.unwrap();
        assert!(time.min > 0.01 && time.p50 < 1.0, "{transport}: {time:?}");
        let offered = size.mean * web.transfers as f64 * 8.0 / 20.0;
        let share = web.goodput_bps / offered;
        assert!((0.97..=1.0).contains(&share), "{transport}: {share}");
        assert_eq!(output.summary.totals.flows, web.transfers);
        let table = &output.transfers[0].table;
        assert_eq!(table.rows() as u64, web.transfers);
        let starts = table.numbers("start_s").unwrap();
        assert!(starts.windows(2).all(|pair| pair[0] <= pair[1]));
    }
}

#[test]
fn arrivals_and_sizes_are_those_of_the_seed_and_not_of_the_network() {
    let arrivals =
        "{ kind = \"poisson\", per_second = 5, size = { kind = \"pareto\", mean = \"9kB\" } }";
    let columns = |output: &RunOutput| {
        let table = &output.transfers[0].table;
        let column = |name| table.as_numbers(name).unwrap().into_owned();
        (column("start_s"), column("size_bytes"))
    };
    let tcp = columns(&transfers(arrivals, 1, "tcp"));
    assert_eq!(tcp, columns(&transfers(arrivals, 1, "quic")));
    assert_ne!(tcp, columns(&transfers(arrivals, 2, "tcp")));
}

#[test]
fn a_listed_transfer_takes_what_the_path_takes() {
    let output = transfers(
        "{ kind = \"list\", transfers = [[0.5, 1000], [1, 125000]] }",
        1,
        "tcp",
    );
    let table = &output.transfers[0].table;
    assert_eq!(table.numbers("start_s").unwrap(), [0.5, 1.0]);
    let times = table.numbers("completion_time_s").unwrap();
    // A handshake and one propagation delay; 100 ms of transmission and some round trips of slow
    // start.
    assert!((times[0] - 0.016).abs() < 0.001, "{times:?}");
    assert!((0.11..0.2).contains(&times[1]), "{times:?}");
    let again = full(&output.scenario.resolved_toml());
    assert_eq!(again.summary, output.summary);
}

#[test]
fn only_one_flow_is_traced_if_only_one_is_asked_for() {
    let text = r#"
        run = { duration = "2s" }
        link = [{ name = "wire", between = ["a", "b"], rate = "2Mbit", delay = "5ms" }]
        [[flow]]
        name = "first"
        from = "a"
        to = "b"
        transport = { kind = "tcp" }
        [[flow]]
        name = "second"
        from = "a"
        to = "b"
        transport = { kind = "dccp", ccid = 3 }
    "#;
    let scenario = scenario::parse(text, "two.toml").unwrap();
    let full = traced();
    let all = run(&scenario, &full).unwrap();
    for (place, name) in ["first", "second"].into_iter().enumerate() {
        let options = RunOptions {
            traced_flow: Some(name),
            ..full
        };
        let one = run(&scenario, &options).unwrap();
        assert_eq!(one.summary.flows, all.summary.flows);
        let [flow] = one.flows.as_slice() else {
            panic!("{} flows", one.flows.len());
        };
        assert!(flow.table.rows() > 10, "{name}");
        assert_eq!(flow.name, name);
        assert_eq!(flow.table, all.flows[place].table);
        assert_eq!(flow.writes, all.flows[place].writes);
        assert!(one.links.is_empty() && flow.intervals.is_none());
    }
}

/// The sizes of transfers and their start times: several at once, some at the end of the warm-up;
/// the last transfer does not complete.
const LISTED: [(f64, u64); 6] = [
    (0.0, 900),
    (0.0, 50_000),
    (0.3, 1),
    (0.3, 70_000),
    (0.5, 20_000),
    (0.9, 3_000_000),
];

#[test]
fn arrivals_are_the_same_run_as_flows_that_are_there_from_the_start() {
    let network = "[run]\nduration = \"1s\"\nwarmup = \"300ms\"\n\n[[link]]\nname = \"wire\"\n\
                   between = [\"a\", \"b\"]\nrate = \"10Mbit\"\ndelay = \"5ms\"\n";
    for transport in ["tcp", "quic", "dccp"] {
        let flow = |name: &str| {
            format!(
                "\n[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\ntransport = \
                 {{ kind = \"{transport}\" }}\nloss = {{ kind = \"random\", rate = 0.01 }}\n"
            )
        };
        let pairs = LISTED.map(|(at, size)| format!("[{at:?}, {size}]"));
        let arrivals = format!(
            "arrivals = {{ kind = \"list\", transfers = [{}] }}",
            pairs.join(",")
        );
        let single = |(number, (at, size)): (usize, (f64, u64))| {
            let flow = flow(&format!("web-{}", number + 1));
            format!("{flow}start = \"{at}s\"\napp = {{ kind = \"bulk\", total = {size} }}\n")
        };
        let singles: String = LISTED.into_iter().enumerate().map(single).collect();
        let (web, beside) = (flow("web"), flow("beside"));
        let together = full(&format!("{network}{web}{arrivals}\n{beside}"));
        let apart = full(&format!("{network}{singles}{beside}"));
        let events = |output: &RunOutput| output.summary.run.events;
        assert_eq!(events(&together), events(&apart), "{transport}");
        assert_eq!(together.links, apart.links, "{transport}");
        let beside = |output: &RunOutput| output.summary.flows["beside"].clone();
        assert_eq!(beside(&together), beside(&apart), "{transport}");
        let table = &together.transfers[0].table;
        let times = table.numbers("completion_time_s").unwrap();
        for (number, time) in (1..).zip(times) {
            let flow = &apart.summary.flows[&format!("web-{number}")];
            let expected = flow.completion_time_s;
            assert_eq!(Some(*time).filter(|s| !s.is_nan()), expected, "{transport}");
        }
        assert!(times[5].is_nan() && !times[0].is_nan(), "{transport}");
        let web = &together.summary.transfers["web"];
        let singles = || (1..=6).map(|number| &apart.summary.flows[&format!("web-{number}")]);
        let received: u64 = singles().map(|flow| flow.packets_received).sum();
        assert_eq!(web.packets_received, received, "{transport}");
        let extremes = |of: fn(&FlowSummary) -> Option<Distribution>| {
            let found = singles().filter_map(of);
            found.fold([f64::INFINITY, 0.0_f64], |[min, max], one| {
                [min.min(one.min), max.max(one.max)]
            })
        };
        let found = |of: Option<Distribution>| of.map(|one| [one.min, one.max]);
        for (together, apart) in [
            (web.one_way_delay_s, extremes(|flow| flow.one_way_delay_s)),
            (web.queueing_delay_s, extremes(|flow| flow.queueing_delay_s)),
            (web.jitter_s, extremes(|flow| flow.jitter_s)),
            (web.rtt_s, extremes(|flow| flow.rtt_s)),
        ] {
            assert_eq!(found(together), Some(apart), "{transport}");
        }
        compare_intervals(&together, &apart);
        compare_bounds(&together, &apart);
    }
}

/// The bounds of transfers have the same times together as in separate flows, with one difference:
/// a connection ends when its last octet is delivered, and a flow ends with the run.
fn compare_bounds(together: &RunOutput, apart: &RunOutput) {
    let web = &together.summary.transfers["web"];
    let singles = || {
        let named = (1..).map(|number| &apart.summary.flows[&format!("web-{number}")]);
        LISTED.into_iter().zip(named)
    };
    let alive: f64 = singles().map(|(_, flow)| flow.active_s).sum();
    assert_eq!(web.bound_share.len(), 9);
    for (bound, share) in &web.bound_share {
        let held = singles().map(|((start, _), flow)| {
            let recorded = 1.0 - start.max(0.3);
            let after = match bound.as_str() {
                "nothing" => recorded - flow.active_s,
                _ => 0.0,
            };
            flow.bound_share[bound] * recorded - after
        });
        let (found, held) = (share * alive, held.sum::<f64>());
        assert!((found - held).abs() < 1e-9, "{bound}: {found} {held}");
    }
    assert!(web.bound_share["nothing"] < 0.9, "{web:?}");
}

#[test]
fn what_is_traced_changes_nothing_that_transfers_say_of_their_senders() {
    let size = "{ kind = \"pareto\", mean = \"20kB\" }";
    let arrivals = format!("{{ kind = \"poisson\", per_second = 20, size = {size} }}");
    for transport in ["tcp", "quic", "dccp"] {
        let text = transfers_text(&arrivals, 1, transport);
        let of = |trace| {
            let options = RunOptions {
                trace,
                ..RunOptions::default()
            };
            run_text(&text, &options).summary.transfers["web"].clone()
        };
        let full = of(TraceLevel::Full);
        assert_eq!(full, of(TraceLevel::Summary), "{transport}");
        let web = of(TraceLevel::Counters);
        assert_eq!((web.rtt_s, web.bound_share.len()), (None, 0));
        assert_eq!(web.packets_sent, full.packets_sent);
        // A round trip and the transmission of a packet in each direction.
        let rtt = full.rtt_s.expect("samples");
        assert!((0.01..0.012).contains(&rtt.min), "{transport}: {rtt:?}");
    }
}

#[test]
fn a_connection_that_waits_to_be_removed_is_not_alive() {
    let shares = |starts: std::ops::Range<u32>| {
        let pairs = starts.map(|start| format!("[{:?}, 50000]", f64::from(start) / 8.0));
        let pairs: Vec<_> = pairs.collect();
        let arrivals = format!("{{ kind = \"list\", transfers = [{}] }}", pairs.join(", "));
        let web = transfers(&arrivals, 1, "tcp").summary.transfers["web"].clone();
        let longest = web.completion_time_s.expect("complete").max;
        assert!(longest < 0.125, "one after the other: {longest}");
        web.bound_share
    };
    // More than the 64 open connections at which the first is removed, each like the first.
    let (one, many) = (shares(0..1), shares(0..150));
    assert!((0.1..0.9).contains(&one["window"]), "{one:?}");
    for (bound, share) in one {
        assert!((share - many[&bound]).abs() < 1e-9, "{bound}: {share}");
    }
}

/// Interval values of transfers together are the sums, or the maxima, of the separate flows.
fn compare_intervals(together: &RunOutput, apart: &RunOutput) {
    let together = together.transfers[0].intervals.as_ref().unwrap();
    let column = |table: &Table, name| table.as_numbers(name).unwrap().into_owned();
    for name in ["packets_received", "goodput_bps", "one_way_delay_max_s"] {
        let apart = apart.flows.iter().filter(|flow| flow.name != "beside");
        let apart = apart.map(|flow| column(flow.intervals.as_ref().unwrap(), name));
        let apart: Vec<Vec<f64>> = apart.collect();
        for (row, found) in column(together, name).into_iter().enumerate() {
            let values = apart.iter().map(|one| one[row]);
            let values = values.filter(|one| !one.is_nan());
            let expected = match name {
                "one_way_delay_max_s" => values.fold(f64::NAN, f64::max),
                _ => values.sum(),
            };
            let is_near = (found - expected).abs() <= 1e-9 * expected.abs();
            let is_none = found.is_nan() && expected.is_nan();
            assert!(is_near || is_none, "{name} {row}: {found} {expected}");
        }
    }
}

#[test]
fn transfers_that_are_done_are_removed_and_keep_their_numbers() {
    let size = "{ kind = \"constant\", bytes = 1000 }";
    let arrivals = format!("{{ kind = \"poisson\", per_second = 100, size = {size} }}");
    // A client of DCCP stays in TIMEWAIT for minutes.
    for transport in ["tcp", "quic", "dccp"] {
        let text = transfers_text(&arrivals, 1, transport);
        let scenario = scenario::parse(&text, "test.toml").unwrap();
        let options = RunOptions::default();
        let mut run = Simulation::new(&scenario, &options, Scope::Whole).unwrap();
        let mut most = 0;
        for millis in (0..=20_000).step_by(10) {
            let until = Instant::ZERO + weir_proto::time::Duration::from_millis(millis);
            run.advance(&options, until).unwrap();
            let open = run.sim.network.open_flows();
            assert_eq!(run.recorder.connections.open_connections(), open);
            most = most.max(open);
        }
        // A few connections are alive at a time; finished ones are removed once 64 are open.
        assert!((64..80).contains(&most), "{transport}: {most} connections");
        let web = &run.finish().summary.transfers["web"];
        assert!(
            web.completed > 1800 && web.completed + 10 > web.transfers,
            "{web:?}"
        );
        let packets = web.packets_sent as f64 / web.completed as f64;
        assert!((3.0..9.0).contains(&packets), "{transport}: {packets} each");
    }
}

#[test]
fn requests_take_their_round_trips_and_what_the_path_takes() {
    let run = |transport: &str, app: &str| {
        let text = format!(
            "[run]\nduration = \"20s\"\n\n[[link]]\nname = \"wire\"\nbetween = [\"server\", \
             \"client\"]\nrate = \"10Mbit\"\ndelay = \"20ms\"\n\n[[flow]]\nname = \"page\"\n\
             from = \"server\"\nto = \"client\"\ntransport = {{ kind = \"{transport}\" }}\n\
             app = {{ kind = \"request\", {app} }}\n"
        );
        full(&text)
    };
    for transport in ["tcp", "quic"] {
        let app = "count = 50, think = \"100ms\", think_times = \"constant\", \
                   response = { kind = \"constant\", bytes = 5000 }";
        let output = run(transport, app);
        let flow = &output.summary.flows["page"];
        let page = flow.requests.expect("its application is that");
        assert_eq!((page.requests, page.completed), (50, 50), "{transport}");
        assert_eq!(
            [page.request_bytes_mean, page.response_bytes_mean],
            [300.0, 5000.0]
        );
        // A round trip of 40 ms, 5.3 kB at 10 Mbit/s, and headers.
        let time = page.completion_time_s.expect("all are complete");
        assert!(time.min > 0.044 && time.p95 < 0.05, "{transport}: {time:?}");
        // The server closes after the last response, which completes the flow's transfer.
        assert_eq!(flow.ended, None, "{transport}");
        let whole = flow.completion_time_s.expect("complete");
        let expected = 0.04 + 50.0 * time.mean + 49.0 * 0.1;
        assert!(
            (whole - expected).abs() < 0.05,
            "{transport}: {whole}, {expected}"
        );
        let table = output.flows[0].requests.as_ref().unwrap();
        assert_eq!(table.rows(), 50);
    }
    // Sizes of a distribution depend only on the seed: they are the same over every transport.
    let sizes = |transport| {
        let app = "response = { kind = \"exponential\", mean = \"20kB\" }, count = 100";
        let output = run(transport, app);
        let table = output.flows[0].requests.as_ref().unwrap();
        table.as_numbers("response_bytes").unwrap().into_owned()
    };
    assert_eq!(sizes("tcp"), sizes("quic"));
}

#[test]
fn requests_of_a_group_are_those_of_all_its_flows() {
    let output = full(
        "[run]\nduration = \"5s\"\nwarmup = \"1s\"\n\n[[link]]\nname = \"wire\"\n\
         between = [\"server\", \"client\"]\nrate = \"10Mbit\"\ndelay = \"20ms\"\n\n\
         [[flow]]\nname = \"page\"\ncount = 12\nfrom = \"server\"\nto = \"client\"\n\
         transport = { kind = \"tcp\" }\napp = { kind = \"request\", think = \"200ms\" }\n",
    );
    let summary = &output.summary;
    let of_flows = || summary.flows.values().filter_map(|flow| flow.requests);
    let group = summary.groups["page"].requests.expect("all have requests");
    let sum = |of: fn(&RequestSummary) -> u64| of_flows().map(|one| of(&one)).sum::<u64>();
    assert!(group.completed > 50, "{group:?}");
    assert_eq!(group.requests, sum(|one| one.requests));
    assert_eq!(group.completed, sum(|one| one.completed));
    let times = group.completion_time_s.expect("some are complete");
    let longest = of_flows().filter_map(|one| Some(one.completion_time_s?.max));
    assert_eq!(times.max, longest.fold(0.0, f64::max));
}

#[test]
fn requests_need_a_stream_and_distributions_that_are_some() {
    let error = |transport: &str, app: &str| -> ScenarioError {
        let text = format!(
            "[run]\nduration = \"1s\"\n\n[[link]]\nname = \"wire\"\nbetween = [\"a\", \"b\"]\n\
             rate = \"1Mbit\"\n\n[[flow]]\nname = \"page\"\nfrom = \"a\"\nto = \"b\"\n\
             transport = {{ kind = \"{transport}\" }}\napp = {{ kind = \"request\"{app} }}\n"
        );
        scenario::parse(&text, "test.toml").unwrap_err()
    };
    let datagrams = error("dccp", "");
    assert!(datagrams.message.contains("lost datagram"), "{datagrams}");
    let cdf = ", response = { kind = \"cdf\", cdf = [[1000, 0.5]] }";
    let wrong = error("tcp", cdf);
    assert!(wrong.message.contains("the last share is 0.5"), "{wrong}");
}

#[test]
fn drops_behind_arrivals_have_the_name_of_their_flow() {
    let text = "[run]\nduration = \"2s\"\n\n[[link]]\nname = \"wire\"\nbetween = [\"a\", \"b\"]\n\
                rate = \"10Mbit\"\ndelay = \"5ms\"\nloss = { kind = \"periodic\", rate = 0.02 }\n";
    let flow = |name: &str, keys: &str| {
        format!(
            "\n[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\n\
             transport = {{ kind = \"tcp\" }}\n{keys}"
        )
    };
    let arrivals = "arrivals = { kind = \"list\", transfers = [[0, 9000], [1, 9000]] }\n";
    let text = format!("{text}{}{}", flow("web", arrivals), flow("beside", ""));
    let options = RunOptions {
        packets: true,
        ..traced()
    };
    let output = run_text(&text, &options);
    let packets = output.packets.expect("they were asked for");
    let columns = ["event", "flow"].map(|name| packets.words(name).unwrap());
    let dropped = columns[0].iter().zip(columns[1]);
    let dropped = dropped.filter(|(event, _)| &***event == "dropped");
    let of_flow = dropped.filter(|(_, flow)| &***flow == "beside");
    assert!(of_flow.count() > 10);
}

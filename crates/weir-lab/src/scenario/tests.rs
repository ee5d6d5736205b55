use super::overrides::{grid, parse_seeds, parse_set};
use super::*;
use proptest::prelude::*;
use weir_net::loss::PeriodicLossConfig;
use weir_net::{DropTailConfig, LossConfig, QueueConfig, QueueLimit, SendTimestamp};
use weir_proto::cc::tfrc::{Oscillation, Profile};
use weir_proto::cc::window::SendGate;
use weir_proto::settings::shortened;
use weir_proto::time::Duration;

const SMALL: &str = r#"
[run]
duration = "10s"

[[link]]
name = "wire"
between = ["a", "b"]
rate = "10Mbit"
delay = "5ms"

[[flow]]
name = "f"
from = "a"
to = "b"
transport = { kind = "quic" }
"#;

/// Every key at least once, each with a value other than its default.
pub(super) const LARGE: &str = r#"
[run]
duration = "1min"
warmup = "1.5s"
seed = 7
codec = true

[[host]]
name = "server"
transmit_delay = "10us"
stamp = "handover"
receive_delay = "5us"
timer_hz = 1000
handshake_delay = "15us"

[[link]]
name = "bottleneck"
between = ["server", "client"]
rate = "1Mbit"
delay = "5ms"
mtu = 1280
queue = { kind = "droptail", limit = "30000b" }
loss = { kind = "gilbert", to_bad = "1%", to_good = 0.3 }
backward = { rate = "64kbit", queue = { kind = "droptail", limit = 10 }, loss = { kind = "none" } }

[[flow]]
name = "stream"
from = "server"
to = "client"
transport = { kind = "dccp", ccid = 3, profile = "linux-2008", tfrc = { oscillation = "increase-only", rtt_min = "4us", send_ahead = "half-granularity", discounting = 0.5, idle_rule = "window-counter", idle_round_trips = 3, initial_rtt = "undefined", rtt_max = "unlimited", timer_tick = "ideal" }, sequence_window = 500 }
app = { kind = "cbr", packet = 22, rate = "1800bit", offset = "44ms", count = 93, when_blocked = "skip" }
loss = { kind = "periodic", rate = 0.02 }
start = "1s"
stop = "30s"

[[flow]]
name = "bulk"
count = 3
from = "client"
to = "server"
transport = { kind = "quic", controller = "cubic", rules = "inet-2025", overrides = { send_gate = "strict", undo_spurious = true }, cubic = { c = 0.5 }, ack_every = 1, max_ack_delay = "10ms", max_datagram_size = 1252, initial_max_data = "1MiB", header = { tag = 8, packet_number = "2" }, idle_timeout = "30s", ack_ranges = 64 }
app = { kind = "bulk", packet = 1000, total = "10MB" }
loss = { kind = "trace", drops = [3, 17] }
"#;

#[test]
fn says_what_the_file_says() {
    let scenario = parse(LARGE, "large.toml").unwrap();
    assert_eq!(scenario.run.warmup, Duration::from_millis(1500));
    let names: Vec<&str> = scenario.hosts.iter().map(|h| h.name.as_str()).collect();
    assert_eq!(names, ["server", "client"]);
    assert_eq!(scenario.hosts[0].timing.stamp, SendTimestamp::Handover);
    assert_eq!(scenario.hosts[0].timing.timer_hz, Some(1000));
    let link = &scenario.links[0];
    assert_eq!(
        (link.forward.rate, link.backward.rate),
        (Some(1_000_000), Some(64_000))
    );
    assert_eq!(link.backward.delay, Duration::from_millis(5).into());
    let limit = |limit| QueueConfig::DropTail(DropTailConfig { limit });
    assert_eq!(link.forward.queue, limit(QueueLimit::Bytes(30_000)));
    assert_eq!(link.backward.queue, limit(QueueLimit::Packets(10)));
    let Transport::Dccp(dccp) = &scenario.flows[0].transport else {
        panic!("not DCCP");
    };
    let expected = Profile {
        oscillation: Oscillation::IncreaseOnly,
        rtt_min: Duration::from_micros(4),
        ..dccp.tfrc.clone()
    };
    assert_eq!(dccp.tfrc, expected);
    assert_eq!(
        dccp.tfrc.nofeedback_min,
        Profile::linux_2008().nofeedback_min
    );
    assert_eq!(
        scenario.flows[0].loss,
        LossConfig::Periodic(PeriodicLossConfig { every: 50 })
    );
    let Transport::Quic(quic) = &scenario.flows[1].transport else {
        panic!("not QUIC");
    };
    assert_eq!(quic.config.rules.send_gate, SendGate::Strict);
    assert!(!quic.config.rules.recovery_probe, "inet-2025 has none");
    let names: Vec<String> = scenario.flows[1].names().collect();
    assert_eq!(names, ["bulk-1", "bulk-2", "bulk-3"]);
    assert!(names.iter().all(|name| scenario.flows[1].is_named(name)));
    for other in [
        "bulk", "bulk-0", "bulk-4", "bulk-01", "bulk-+1", "bulk-", "bulk1", "alone",
    ] {
        assert!(!scenario.flows[1].is_named(other), "{other}");
    }
    let name = scenario.flows[0].name.clone();
    assert!(scenario.flows[0].is_named(&name));
    assert!(!scenario.flows[0].is_named(&format!("{name}-1")));
}

#[test]
fn fills_in_every_default_and_reads_its_own_output() {
    for text in [SMALL, LARGE] {
        let scenario = parse(text, "small.toml").unwrap();
        let resolved = scenario.resolved_toml();
        let again = parse(&resolved, "resolved.toml").unwrap();
        assert_eq!(again, scenario);
        assert_eq!(again.resolved_toml(), resolved);
        assert_eq!(again.content_hash(), scenario.content_hash());
    }
}

#[test]
fn every_preset_survives_being_written_out() {
    for name in Profile::NAMES {
        let kind = format!("kind = \"dccp\", profile = \"{name}\"");
        let text = SMALL.replace("kind = \"quic\"", &kind);
        let scenario = parse(&text, "profile.toml").unwrap();
        let again = parse(&scenario.resolved_toml(), "resolved.toml").unwrap();
        let Transport::Dccp(dccp) = &again.flows[0].transport else {
            panic!("not DCCP");
        };
        assert_eq!(Some(&dccp.tfrc), Profile::named(name).as_ref());
    }
}

fn with(arguments: &[&str]) -> Result<Scenario, ScenarioError> {
    let mut overrides = Vec::new();
    for argument in arguments {
        overrides.extend(parse_set(argument)?);
    }
    parse_with(LARGE, "large.toml", &overrides)
}

#[test]
fn overrides_reach_everything_by_name() {
    let scenario = with(&[
        "run.seed=9",
        "link.bottleneck.rate=2Mbit",
        "link.bottleneck.forward.mtu=1400",
        "flow.stream.transport.tfrc.oscillation=off",
        "flow.stream.loss={ kind = \"random\", rate = 0.1 }",
        "flow.bulk.count=2",
        "host.client.timer_hz=250",
    ])
    .unwrap();
    assert_eq!(scenario.run.seed, 9);
    assert_eq!(scenario.links[0].forward.rate, Some(2_000_000));
    assert_eq!(scenario.links[0].backward.rate, Some(64_000));
    assert_eq!(scenario.links[0].forward.mtu, 1400);
    let Transport::Dccp(dccp) = &scenario.flows[0].transport else {
        panic!("not DCCP");
    };
    assert_eq!(dccp.tfrc.oscillation, Oscillation::Off);
    assert!(matches!(scenario.flows[0].loss, LossConfig::Random(_)));
    assert_eq!(scenario.flows[1].count, 2);
    assert_eq!(scenario.hosts[1].timing.timer_hz, Some(250));
}

#[test]
fn a_word_alone_stands_for_the_table_of_its_kind() {
    let link = "queue = { kind = \"codel\" }";
    let text = |queue: &str| {
        let rate = format!("rate = \"9Mbit\"\n{link}");
        let text = whole(&rate, "controller = \"cubic\"", "kind = \"bulk\"");
        assert!(text.contains(link), "{text}");
        text.replace(link, queue)
    };
    let table = resolved(&text(link), &[]).unwrap();
    assert_eq!(resolved(&text("queue = \"codel\""), &[]).unwrap(), table);
    let name = &parse(&text(link), "path.toml").unwrap().links[0].name;
    let queue = format!("link.{name}.queue");
    let plain = text("queue = { kind = \"droptail\", limit = 100 }");
    assert_eq!(resolved(&plain, &[(&queue, "codel")]).unwrap(), table);
    // A key of the kind that the word has named.
    let target = format!("{queue}.target");
    let both = resolved(&text("queue = \"codel\""), &[(&target, "7ms")]).unwrap();
    assert!(both.contains("target = \"7ms\""), "{both}");
    let wrong = resolved(&text("queue = \"coddle\""), &[]).unwrap_err();
    let wrong = wrong.to_string();
    assert!(wrong.contains("there is no \"coddle\""), "{wrong}");
}

#[test]
fn a_star_names_all_entries_of_a_list() {
    let set = |path: &str| {
        let value = Override {
            path: path.to_owned(),
            value: "3s".to_owned(),
        };
        parse_with(LARGE, "large.toml", &[value])
    };
    let all = set("flow.*.start").unwrap();
    assert!(all.flows.len() > 1);
    for flow in &all.flows {
        let one = set(&format!("flow.{}.start", flow.name)).unwrap();
        let same = one.flows.iter().find(|other| other.name == flow.name);
        assert_eq!(
            Some(flow.start),
            same.map(|same| same.start),
            "{}",
            flow.name
        );
    }
    let error = set("wifi.*.startt").unwrap_err().to_string();
    assert!(error.contains("startt"), "{error}");
}

#[test]
fn overrides_reach_elements_of_inner_lists() {
    let text = r#"
[run]
duration = "1s"
[[wifi]]
name = "air"
station = [{ host = "a" }, { host = "b" }]
interference = [
    { from = "0s", until = "1s", on = "1ms", off = "1ms" },
    { from = "0s", until = "1s", on = "2ms", off = "2ms" },
]
[[flow]]
name = "f"
from = "a"
to = "b"
app = { kind = "bulk" }
transport = { kind = "tcp" }
"#;
    let set = |path: &str, value: &str| {
        let value = Override {
            path: path.to_owned(),
            value: value.to_owned(),
        };
        parse_with(text, "air.toml", &[value])
    };
    let air = set("wifi.air.interference.1.on", "7ms").unwrap();
    let on: Vec<_> = air.wifi[0]
        .interference
        .iter()
        .map(|burst| burst.on)
        .collect();
    assert_eq!(on, [Duration::from_millis(1), Duration::from_millis(7)]);
    let air = set("wifi.air.station.b.retry_limit", "4").unwrap();
    let limits: Vec<_> = air.wifi[0]
        .stations
        .iter()
        .map(|station| station.config.retry_limit)
        .collect();
    assert_eq!(limits, [7, 4]);
    let error = set("wifi.air.interference.2.on", "7ms").unwrap_err();
    assert!(
        error.message.contains("interference has no element \"2\""),
        "{error}"
    );
    assert_eq!(error.help.as_deref(), Some("write a number from 0 to 1"));
    let error = set("wifi.air.station.c.retry_limit", "4").unwrap_err();
    assert_eq!(
        error.help.as_deref(),
        Some("write a, b, a number from 0 to 1")
    );
}

#[test]
fn wrong_overrides_are_shown_where_they_stand() {
    for (argument, column, message, help) in [
        (
            "flow.steam.start=1s",
            6,
            "the scenario has no flow \"steam\"",
            "did you mean \"stream\"?",
        ),
        (
            "flow.stream.start=1",
            19,
            "start: expected a duration",
            "write \"5ms\"",
        ),
        (
            "flow.stream.transport.tfrc.osculation=off",
            39,
            "unknown key \"osculation\"",
            "did you mean \"oscillation\"?",
        ),
        (
            "run.duration.x=1s",
            5,
            "\"duration\" is the text",
            "last name",
        ),
        ("flow.stream=1", 6, "the path ends", "flow.stream.KEY"),
        ("flow=1", 1, "is a list", "flow.NAME.KEY"),
        ("link.bottleneck.rate=10mbps", 22, "ambiguous", "Mbit"),
        (
            "seed=9",
            6,
            "unknown key \"seed\" in the scenario",
            "keys here: expect, run",
        ),
    ] {
        let error = with(&[argument]).unwrap_err();
        assert_eq!(error.file, format!("--set {}", shortened(argument)));
        assert_eq!((error.line, error.column), (1, column), "{error}");
        assert!(error.message.contains(message), "{error}");
        assert!(
            error.help.clone().unwrap_or_default().contains(help),
            "{error}"
        );
    }
    for argument in ["", "x", "=1", "a..b=1", "run.seed=", "run.seed=1,,2"] {
        parse_set(argument).unwrap_err();
    }
}

#[test]
fn a_path_of_very_many_names_is_an_error() {
    for names in [17, 100_000] {
        let error = with(&[&format!("{}=1", vec!["run"; names].join("."))]).unwrap_err();
        assert_eq!(error.message, "the path has more than 16 names");
    }
}

#[test]
fn grids_combine_every_value_with_every_seed() {
    let axes = [
        parse_set("flow.stream.transport.tfrc.oscillation=off,full").unwrap(),
        parse_set("flow.stream.loss={ kind = \"trace\", drops = [1, 2] }").unwrap(),
    ];
    let runs = grid(&axes, &parse_seeds("1..3").unwrap()).unwrap();
    assert_eq!(runs.len(), 6);
    let texts: Vec<String> = runs[1].iter().map(Override::text).collect();
    assert_eq!(texts[0], "flow.stream.transport.tfrc.oscillation=off");
    assert_eq!(texts[2], "run.seed=2");
    let hashes: std::collections::BTreeSet<String> = runs
        .iter()
        .map(|run| parse_with(LARGE, "l", run).unwrap().content_hash())
        .collect();
    assert_eq!(hashes.len(), 6, "each run has a name of its own");
    assert_eq!(parse_seeds("5").unwrap(), [5]);
    for wrong in ["3..1", "a..b", "", "1..1000000000", "-1..2"] {
        parse_seeds(wrong).unwrap_err();
    }
}

#[test]
fn files_beyond_the_limit_are_refused_by_size() {
    let text = "#".repeat(MAX_OCTETS + 1);
    let error = parse(&text, "huge.toml").unwrap_err();
    assert!(error.message.contains("at most 16777216"), "{error}");
    let deep = format!("x = {}", "{ a = ".repeat(100_000));
    parse(&deep, "deep.toml").unwrap_err();
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse(&String::from_utf8_lossy(&bytes), "random.toml");
    }

    #[test]
    fn no_damage_to_a_good_file_makes_the_reader_panic(
        at in 0..LARGE.len(),
        length in 0..40_usize,
        put in "[ -~\\n€]{0,12}",
    ) {
        let mut text = LARGE.to_owned();
        text.replace_range(at..(at + length).min(LARGE.len()), &put);
        if let Err(error) = parse(&text, "damaged.toml") {
            prop_assert!(!error.message.is_empty());
            prop_assert!(error.source.get(error.span.clone()).is_some());
        }
    }

    #[test]
    fn no_override_makes_the_reader_panic(path in "[a-z.]{0,30}", value in "[ -~€]{0,30}") {
        let value = Override { path, value };
        let _ = parse_with(LARGE, "large.toml", &[value]);
    }
}

/// A flow over a link, with these keys of the link, of TCP and of the application.
fn whole(link: &str, transport: &str, app: &str) -> String {
    format!(
        "[run]\nduration = \"1s\"\n[[link]]\nname = \"l\"\nbetween = [\"a\", \"b\"]\n{link}\n\
         [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
         transport = {{ kind = \"tcp\", {transport} }}\napp = {{ {app} }}\n"
    )
}

#[test]
fn settings_that_would_keep_a_run_from_advancing_are_refused() {
    let (tcp, bulk) = ("sack = true", "kind = \"bulk\"");
    let burst =
        |on: &str| format!("kind = \"on_off\", rate = \"1Mbit\", on = \"{on}\", off = \"0s\"");
    let table = [
        (
            whole("queue = { kind = \"pie\", tupdate = \"0ns\" }", tcp, bulk),
            "from 1ms",
        ),
        (
            whole("queue = { kind = \"pie\", tupdate = \"1ns\" }", tcp, bulk),
            "from 1ms",
        ),
        (
            whole("queue = { kind = \"codel\", interval = \"0s\" }", tcp, bulk),
            "from 1us",
        ),
        (
            whole(
                "queue = { kind = \"fq_codel\", interval = \"1ns\" }",
                tcp,
                bulk,
            ),
            "from 1us",
        ),
        (whole("", "rto_max = \"0s\"", bulk), "from 1ms"),
        (whole("", "rto_initial = \"1us\"", bulk), "from 1ms"),
        (whole("", tcp, &burst("1ns")), "from 1us"),
        (whole("", tcp, &burst("0s")), "from 1us"),
    ];
    for (text, bound) in table {
        let error = parse(&text, "test.toml").expect_err(&text).to_string();
        assert!(error.contains("expected a duration"), "{error}");
        assert!(error.contains(bound), "{error}");
    }
    // The load of short bursts is known: one write for each, however short it is.
    let app = burst("1us").replace("off = \"0s\"", "off = \"1us\"");
    let text = whole("", tcp, &app).replace("\"1s\"\n[[link]]", "\"8h\"\n[[link]]");
    let error = parse(&text, "test.toml")
        .expect_err("too many writes")
        .to_string();
    assert!(error.contains("would write"), "{error}");
}

#[test]
fn what_a_run_would_crawl_or_stop_at_has_its_place() {
    let (tcp, bulk) = ("sack = true", "kind = \"bulk\"");
    let dccp = |rule: &str| {
        whole("", "RTO", bulk).replace("\"tcp\", RTO", &format!("\"dccp\", tfrc = {{ {rule} }}"))
    };
    for (rule, bound) in [
        ("rtt_max = \"3ns\"", "from 1ms"),
        ("rtt_max = \"1us\"", "from 1ms"),
        ("wireless.equation_rtt_max = \"1us\"", "from 1ms"),
        ("initial_rtt = \"1ns\"", "from 1us"),
        ("unusable_rtt = \"0s\"", "from 1us"),
    ] {
        let error = parse(&dccp(rule), "test.toml").expect_err(rule).to_string();
        let there = "test.toml:11:";
        assert!(error.starts_with(there) && error.contains(bound), "{error}");
    }
    // 10^9 rows of one flow; the limit is 10^8.
    let text = whole("", tcp, bulk).replace("\"1s\"", "\"1s\"\ninterval = \"1ns\"");
    let error = parse(&text, "test.toml").expect_err("too many rows");
    assert!(
        error.to_string().starts_with("test.toml:3:12: interval: "),
        "{error}"
    );
    // A last time that overflows in nanoseconds, and one beyond the maximum duration of a run.
    for time in [u64::MAX >> 1, 366 * 86_400_000 + 1] {
        let text = whole(&format!("rate_trace = [1, {time}]"), tcp, bulk);
        let error = parse(&text, "test.toml").expect_err("too late").to_string();
        assert!(error.contains("more than a year"), "{error}");
    }
    // 3 octets at 100 Gbit/s are 4.2 million writes in a millisecond.
    for app in [
        "kind = \"cbr\"",
        "kind = \"on_off\", on = \"7ms\", off = \"1s\"",
    ] {
        let app = format!("{app}, packet = 3, rate = \"100Gbit\"");
        let text = whole("", "RTO", &app).replace("\"tcp\", RTO", "\"rtp\"");
        let error = parse(&text, "test.toml").expect_err(&text).to_string();
        assert!(error.contains("are 4166667 in a millisecond"), "{error}");
    }
    let text = whole("", "RTO", bulk).replace("\"tcp\", RTO", "\"rtp\", controller = \"none\"");
    let error = parse(&text, "test.toml").expect_err(&text).to_string();
    assert!(
        error.contains("RTP without a controller takes as much"),
        "{error}"
    );
    let text = whole("", tcp, bulk).replace("\"1s\"", "\"1s\"\nmax_memory = 1000");
    let error = parse(&text, "test.toml").expect_err(&text).to_string();
    assert!(error.contains("max_memory: expected 1048576"), "{error}");
}

/// The resolved text of a scenario with these overrides.
fn resolved(text: &str, set: &[(&str, &str)]) -> Result<String, ScenarioError> {
    let set = set.iter().map(|(path, value)| Override {
        path: (*path).to_owned(),
        value: (*value).to_owned(),
    });
    let set: Vec<Override> = set.collect();
    let scenario = parse_with(text, "path.toml", &set);
    scenario.map(|scenario| scenario.resolved_toml())
}

#[test]
fn a_number_alone_is_random_loss() {
    let table = resolved(
        SMALL,
        &[
            ("link.wire.loss.kind", "random"),
            ("link.wire.loss.rate", "1%"),
        ],
    );
    let table = table.unwrap();
    for value in ["1%", "0.01", "1e-2"] {
        assert_eq!(
            resolved(SMALL, &[("link.wire.loss", value)]).unwrap(),
            table
        );
        let quoted = format!("\"5ms\"\nloss = \"{value}\"");
        let text = SMALL.replace("\"5ms\"", &quoted);
        assert_eq!(resolved(&text, &[]).unwrap(), table);
    }
    for (loss, said) in [
        ("2", "rate: \"2\" does not lie between 0 and 1"),
        ("\"101%\"", "rate: "),
        ("\"some\"", "there is no \"some\" here"),
        ("true", "must be a table"),
    ] {
        let text = SMALL.replace("\"5ms\"", &format!("\"5ms\"\nloss = {loss}"));
        let error = parse(&text, "test.toml").expect_err(loss).to_string();
        assert!(
            error.starts_with("test.toml:10:8: ") && error.contains(said),
            "{error}"
        );
    }
    // A queue has no such number.
    let text = SMALL.replace("\"5ms\"", "\"5ms\"\nqueue = 5");
    let error = parse(&text, "test.toml").expect_err("a table").to_string();
    assert!(error.contains("must be a table"), "{error}");
}

#[test]
fn media_without_an_application_is_video() {
    let with = |app: &str| SMALL.replace("\"quic\" }", &format!("\"rtp\" }}{app}"));
    let video = resolved(&with("\napp = \"video\""), &[]).unwrap();
    assert_eq!(resolved(&with(""), &[]).unwrap(), video);
    let bulk = resolved(&with("\napp = \"bulk\""), &[]).unwrap();
    assert_ne!(bulk, video);
    // A resolved scenario names its application.
    assert_eq!(resolved(&bulk, &[]).unwrap(), bulk);
}

#[test]
fn words_of_linux_are_understood_and_what_is_not_here_has_a_nearest() {
    let with = |controller: &str| {
        let transport = format!("{{ kind = \"tcp\", controller = \"{controller}\" }}");
        SMALL.replace("{ kind = \"quic\" }", &transport)
    };
    let reno = resolved(&with("reno"), &[]).unwrap();
    assert_eq!(reno, resolved(&with("newreno"), &[]).unwrap());
    let queue = resolved(SMALL, &[("link.wire.queue", "pfifo")]).unwrap();
    assert_eq!(
        queue,
        resolved(SMALL, &[("link.wire.queue", "droptail")]).unwrap()
    );
    for (word, nearest) in [("vegas", "copa"), ("bbr2", "bbr")] {
        let error = parse(&with(word), "test.toml").expect_err(word).to_string();
        let said = format!("Weir has no {word}; the nearest is \"{nearest}\", which");
        assert!(error.contains(&said), "{error}");
    }
}

#[test]
fn a_rate_trace_is_bounded_and_one_from_elsewhere_is_warned_of() {
    let text = |file: &str| {
        format!(
            "[run]\nduration = \"1s\"\n[[link]]\nname = \"l\"\nbetween = [\"a\", \"b\"]\n\
             rate_trace = \"{file}\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
             transport = {{ kind = \"tcp\" }}\n"
        )
    };
    let device = parse(&text("/dev/zero"), "here/test.toml").expect_err("endless");
    assert_eq!(
        device.to_string(),
        "here/test.toml:6:14: rate_trace: cannot read \"/dev/zero\": it is a device, expected a regular \
         file; name a file beside the scenario"
    );
    let folder = std::env::temp_dir().join(format!("weir-rate-trace-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("inside")).expect("a folder");
    let long = "7\n".repeat(1_000_001);
    std::fs::write(folder.join("long"), long).expect("a file");
    std::fs::write(folder.join("inside/short"), "2\n5\n9\n").expect("a file");
    let named = |scenario: &str| folder.join(scenario).display().to_string();
    let error = parse(&text("long"), &named("test.toml")).expect_err("too long");
    assert!(
        error.to_string().contains("more than 1000000 times"),
        "{error}"
    );
    let beside = parse(&text("inside/short"), &named("test.toml")).expect("beside");
    assert_eq!(beside.outside, Vec::<String>::new());
    assert_eq!(*beside.links[0].forward.rate_trace.millis, [2, 5, 9]);
    std::fs::create_dir_all(folder.join("other")).expect("a folder");
    let outside = parse(&text("../inside/short"), &named("other/test.toml")).expect("outside");
    // The warning is reported once for both directions of the link.
    assert_eq!(outside.outside.len(), 1);
    assert!(outside.outside[0].contains("outside the scenario's folder"));
    std::fs::remove_dir_all(folder).expect("removed");
}

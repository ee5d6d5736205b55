use super::*;
use crate::scenario::parse;

/// Two flows over a path for which no rule reports a finding.
const CLEAN: &str = r#"
[run]
duration = "120s"
[[host]]
name = "server"
jitter = "0s..1ms"
[[link]]
name = "bottleneck"
between = ["server", "client"]
rate = "10Mbit"
delay = "10ms"
queue = { kind = "droptail", limit = 30 }
[[flow]]
name = "stream"
count = 2
from = "server"
to = "client"
transport = { kind = "quic", controller = "newreno" }
start = "0s..1s"
"#;

/// The rules that report findings, and their messages.
fn found(text: &str) -> Vec<(&'static str, String)> {
    let findings = lint(&parse(text, "lint.toml").expect("a valid scenario"));
    let words = findings.iter().map(|one| (one.rule, one.to_string()));
    words.collect()
}

const JITTER: &str = "jitter = \"0s..1ms\"\n";
const START: &str = "start = \"0s..1s\"\n";
const SMALL_JITTER: &str = "delay = \"10ms\"\nnetem = { jitter = \"200us\", keep_order = true }";
const UNUSED: &str = "[[link]]\nname = \"spare\"\nbetween = [\"x\", \"y\"]\n\
                      loss = { kind = \"random\", rate = 0.1 }\n[[host]]\nname = \"x\"\njitter = \"0s..1ms\"\n";
const QUEUE: &str = "queue = { kind = \"droptail\", limit = 30 }";
const POLICER: &str = "policer = { kind = \"police\", rate = \"5Mbit\", burst = 12499 }";
const SHAPER: &str = "shaper = { kind = \"tbf\", rate = \"10Mbit\", burst = 5000, limit = 50000 }";
const SLOWER: &str = "change = [{ at = \"60s\", rate = \"1Mbit\" }]";
const WARMED: &str = "\"120s\"\nwarmup = \"60s\"";
const RARE_BURSTS: &str =
    "delay = \"10ms\"\nloss = { kind = \"gilbert\", to_bad = 0.0015, to_good = 0.06 }";
const DELAY: &str = "delay = \"10ms\"";
const LONG: &str = "delay = \"100ms\"";
const NEWRENO: &str = "kind = \"quic\", controller = \"newreno\"";

/// Replacements in `CLEAN`, the rule that then reports a finding, and a part of its text.
type Case = (
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static str,
);

#[rustfmt::skip]
const CASES: &[Case] = &[
    // No setting is random; with an AQM there are no phase effects.
    (&[(JITTER, ""), (START, ""), (QUEUE, "queue = { kind = \"codel\" }")], "seeds", "each seed gives the same run"),
    // Start times are random, the timing of single packets is not. 1500 octets take 1.2 ms.
    (&[(JITTER, "")], "phase", "2 flows share a drop-tail queue"),
    (&[(JITTER, "")], "phase", "0s..1200us"),
    // A jitter of less than half of that causes no reordering.
    (&[(JITTER, "jitter = \"0s..1ns\"\n")], "phase", "time varies by half of what"),
    (&[(JITTER, ""), (DELAY, SMALL_JITTER)], "phase", "0s..1200us"),
    // A link that no flow uses, and a host at which no flow ends.
    (&[(JITTER, ""), (START, UNUSED), (QUEUE, "queue = { kind = \"codel\" }")], "seeds", "each seed gives the same run"),
    (&[(QUEUE, "policer = { kind = \"police\", rate = \"5Mbit\", burst = 1513, overhead = 14 }")], "queue", "policer.burst [queue]: 1513 bytes are less than a packet of 1514"),
    (&[(QUEUE, "queue = { kind = \"codel\", limit = 3 }")], "queue", "hold 3 of the 10 packets"),
    (&[("120s", "99s"), (NEWRENO, "kind = \"quic\", controller = \"bbr\"")], "duration", "19.8 times the interval of BBR's ProbeRTT"),
    (&[("120s", "99s"), (NEWRENO, "kind = \"dccp\", ccid = 2, controller = \"copa\"")], "duration", "9.9 times the window of Copa's minimum RTT"),
    (&[("120s", "2s"), (NEWRENO, "kind = \"rtp\""), (START, "app = { kind = \"video\" }\n")], "duration", "4.0 times the observation window of NADA"),
    // The chain is in its bad state for 0.1 / (0.1 + 0.5) of the packets.
    (&[(DELAY, "delay = \"10ms\"\nloss = { kind = \"gilbert\", to_bad = 0.1, to_good = 0.5 }")], "assumptions", "a loss of 16.667 %"),
    (&[("limit = 30", "limit = \"1000b\"")], "queue", "1000 bytes are less than a packet"),
    (&[("limit = 30", "limit = 5")], "queue", "hold 5 of the 10 packets"),
    // 10 Mbit/s over 200 ms are 167 packets; two flows need that over √2.
    (&[(DELAY, LONG)], "queue", "write at least 118 packets"),
    // CUBIC needs 3/7 of it.
    (&[(DELAY, LONG), ("newreno", "cubic")], "queue", "write at least 51 packets"),
    // With a full queue the RTT is 56 ms, in which each flow has 23 packets: a cycle of 12 round
    // trips.
    (&[("120s", "8s")], "duration", "a cycle of NewReno"),
    (&[("120s", "20s"), (NEWRENO, "kind = \"dccp\"")], "duration", "loss intervals of TFRC"),
    (&[(DELAY, "delay = \"10ms\"\nnetem = { jitter = \"2ms\" }")], "reordering", "2ms is more than the 1200us"),
    (&[(DELAY, "delay = \"10ms\"\nloss = { kind = \"random\", rate = 0.05 }")], "assumptions", "timeouts rule"),
    (&[(DELAY, "delay = \"10ms\"\nloss = { kind = \"random\", rate = 0.0001 }")], "assumptions", "would allow"),
    (&[(DELAY, "delay = \"10ms\"\nloss = { kind = \"random\", rate = 0.01 }"), (NEWRENO, "kind = \"tcp\", receive_buffer = \"8000b\"")], "assumptions", "receive buffer of 8000 bytes"),
    (&[(DELAY, "delay = \"10ms\"\nrate_trace = [1, 2]")], "unused", "link.bottleneck.rate [unused]: the link sends by its rate_trace"),
    (&[(DELAY, "delay = \"10ms\"\nchange = [{ at = \"120s\", rate = \"1Mbit\" }]")], "unused", "after the run of 120s"),
    (&[(NEWRENO, "kind = \"tcp\", cubic = { c = 1.0 }")], "unused", "flow.stream.transport.cubic [unused]: these are constants of cubic, and the controller is newreno"),
    (&[(NEWRENO, "kind = \"quinn\", controller = \"quinn-cubic\", cubic = { beta = 0.5 }")], "unused", "the controller is quinn-cubic"),
    (&[(NEWRENO, "kind = \"dccp\", ccid = 2, bbr = { beta = 0.5 }")], "unused", "the controller is rfc4341"),
    (&[(NEWRENO, "kind = \"quic\", controller = \"bbr\", copa = { delta = 0.1 }")], "unused", "constants of copa"),
    (&[(NEWRENO, "kind = \"quic\", controller = \"prague\", overrides = { hystart_plus_plus = true }")], "unused", "overrides.hystart_plus_plus [unused]: the controller prague does not follow"),
    (&[(NEWRENO, "kind = \"tcp\", controller = \"bbr\", overrides = { rate_limited_growth = \"flight\" }")], "unused", "the controller bbr does not follow"),
    (&[(NEWRENO, "kind = \"quic\", controller = \"cubic\", media = \"datagrams\"")], "unused", "transport.controller [unused]: NADA alone says when datagrams leave, and the window of cubic is not used"),
    (&[(NEWRENO, "kind = \"quinn\", overrides = { pto_probes = 1 }")], "unused", "overrides.pto_probes [unused]: quinn does not follow"),
    (&[(NEWRENO, "kind = \"quinn\", overrides = { undo_spurious = true }")], "unused", "overrides.undo_spurious [unused]: quinn does not follow"),
    // 10 Mbit/s over 20 ms are 25,000 bytes for two flows; 10,000 each 20 ms are 4 Mbit/s.
    (&[(NEWRENO, "kind = \"tcp\", receive_buffer = 10000")], "credit", "flow.stream.transport.receive_buffer [credit]: 10000 bytes a round trip are 4.0000 Mbit/s at most"),
    (&[(NEWRENO, "kind = \"tcp\", send_buffer = 10000")], "credit", "write at least 12500"),
    (&[(NEWRENO, "kind = \"quic\", initial_max_stream_data = 10000")], "credit", "transport.initial_max_stream_data"),
    (&[(NEWRENO, "kind = \"quic\", initial_max_data = 10000")], "credit", "transport.initial_max_data"),
    (&[(NEWRENO, "kind = \"quinn\", stream_window = 10000")], "credit", "transport.stream_window"),
    // 5 Mbit/s over 20 ms are 12,500 bytes: cases are a policer's burst below it, a send buffer of
    // 3000 bytes below half of it, and a bucket whose queue and burst are below the 176,777 bytes
    // that two flows need of 10 Mbit/s over 200 ms.
    (&[(QUEUE, "policer = { kind = \"police\", rate = \"5Mbit\", burst = 4000 }")], "queue", "link.bottleneck.policer.burst [queue]: 4000 bytes are 0.32 of the 12500"),
    (&[(QUEUE, POLICER), (NEWRENO, "kind = \"quic\", controller = \"bbr\"")], "queue", "12499 bytes are 1.00 of the 12500"),
    (&[(QUEUE, "backward = { policer = { kind = \"police\", rate = \"5Mbit\", burst = 4000 } }"), ("from = \"server\"\nto = \"client\"", "from = \"client\"\nto = \"server\"")], "queue", "link.bottleneck.policer.burst"),
    (&[(QUEUE, "policer = { kind = \"police\", rate = \"5Mbit\", burst = 90000 }"), (NEWRENO, "kind = \"tcp\", send_buffer = 3000")], "credit", "write at least 6250"),
    (&[(QUEUE, SHAPER), (DELAY, LONG)], "queue", "shaper.limit [queue]: 55000 bytes are 0.31 of the 176777"),
    (&[(QUEUE, "shaper = { kind = \"tbf\", rate = \"10Mbit\", burst = 5000, latency = \"6ms\" }")], "queue", "link.bottleneck.shaper.latency"),
    // The rate during the measured time counts: 1 Mbit/s for the last half.
    (&[(QUEUE, SLOWER), ("\"120s\"", WARMED), (NEWRENO, "kind = \"tcp\", send_buffer = 1000")], "credit", "write at least 1250"),
    // 0.94^12 = 0.48 for two connections; a chain that stays in its bad state is reported too.
    (&[(DELAY, RARE_BURSTS)], "bursts", "bursts of 16.7 packets"),
    (&[(DELAY, "delay = \"10ms\"\nloss = { kind = \"gilbert\", to_bad = 0.0015, to_good = 0.0 }")], "bursts", "bursts without end"),
    (&[(START, "loss = { kind = \"gilbert\", to_bad = 0.001, to_good = 0.3 }\n")], "bursts", "flow.stream.loss [bursts]: bursts of 3.3 packets"),
    (&[(DELAY, "delay = \"10ms\"\nchange = [{ at = \"10s\", loss = { kind = \"gilbert\", to_bad = 0.001, to_good = 0.05 } }]")], "bursts", "bursts of 20.0 packets"),
    (&[(DELAY, "delay = \"10ms\"\noutage = [{ at = \"120s\", duration = \"1s\" }]")], "unused", "an outage at 120s comes after the run"),
    // RFC 5622 §5: 1400 octets each 10 ms are 1.12 Mbit/s, of a share of 5 Mbit/s.
    (&[(NEWRENO, "kind = \"dccp\", ccid = 4")], "interval", "packets of 1400 bytes are 1.1200 Mbit/s at most, where the flow's share of its path is 5.0000 Mbit/s"),
    (&[(NEWRENO, "kind = \"quinn\", controller = \"prague\"")], "marks", "prague takes marks for losses"),
    (&[(NEWRENO, "kind = \"quic\", controller = \"bbr\", ecn = true")], "marks", "bbr has no answer to marks"),
    (&[(NEWRENO, "kind = \"tcp\", controller = \"bbr\", ecn = true")], "marks", "its packets are Not-ECT"),
    (&[(NEWRENO, "kind = \"dccp\", ccid = 2, controller = \"bbr\", ecn = true")], "marks", "a queue drops them"),
];

#[test]
fn each_rule_finds_what_it_is_for() {
    for (changes, rule, words) in CASES {
        let text = changes.iter().fold(CLEAN.to_owned(), |text, (old, new)| {
            assert!(text.contains(old), "{old}");
            text.replace(old, new)
        });
        let findings = found(&text);
        let mut hits = findings.iter();
        let hit = hits.any(|(by, text)| by == rule && text.contains(words));
        assert!(hit, "{changes:?}: {findings:#?}");
    }
}

#[test]
fn a_sound_scenario_has_no_findings() {
    assert_eq!(found(CLEAN), []);
    // Jitter that keeps the order, a token bucket with its own queue, and an application-limited
    // flow.
    let kept = CLEAN.replace(
        "delay = \"10ms\"",
        "delay = \"10ms\"\nnetem = { jitter = \"2ms\", keep_order = true }",
    );
    assert_eq!(found(&kept), []);
    for sound in [
        r#"kind = "quinn", controller = "bbr""#,
        r#"kind = "quic", controller = "prague""#,
        r#"kind = "quic", controller = "newreno", ecn = true"#,
    ] {
        assert_eq!(found(&CLEAN.replace(NEWRENO, sound)), [], "{sound}");
    }
}

#[test]
fn policers_and_buckets_belong_to_the_rate_of_a_path() {
    // 5 Mbit/s over 20 ms are 12,500 bytes, 6250 for each of the flows; at the wire's rate it would
    // be twice that.
    let policed = |burst: u32, transport: &str| {
        let policer =
            format!("policer = {{ kind = \"police\", rate = \"5Mbit\", burst = {burst} }}");
        let text = CLEAN.replace(QUEUE, &policer).replace(NEWRENO, transport);
        found(&text)
    };
    let bucket = "shaper = { kind = \"tbf\", rate = \"5Mbit\", burst = 3000, limit = 20000 }";
    assert_eq!(policed(12_500, NEWRENO), []);
    assert_eq!(policed(12_500, "kind = \"tcp\", send_buffer = 6250"), []);
    let bucket = CLEAN.replace(QUEUE, bucket).replace("..1ms", "..2ms");
    assert_eq!(found(&bucket), []);
    // Controllers with an equation or a target rate have no window.
    assert_eq!(policed(4000, "kind = \"dccp\"").len(), 0);
    // A policer with a rate above the wire's never drops.
    let idle = "policer = { kind = \"police\", rate = \"20Mbit\", burst = 4000 }";
    assert_eq!(
        found(&CLEAN.replace(QUEUE, &format!("{QUEUE}\n{idle}"))),
        []
    );
    // The policer of the other direction drops none of the data packets.
    let back = format!(
        "{QUEUE}\nbackward = {{ {} }}",
        POLICER.replace("12499", "4000")
    );
    assert_eq!(found(&CLEAN.replace(QUEUE, &back)), []);
    // Of two links the policed one is the bottleneck, although its wire is faster.
    let far = "name = \"far\"\nbetween = [\"client\", \"home\"]\nrate = \"1Gbit\"\n";
    let text = CLEAN.replace("to = \"client\"", "to = \"home\"");
    let text = format!("{text}[[link]]\n{far}{POLICER}\n");
    let words = found(&text);
    let [(rule, finding)] = words.as_slice() else {
        panic!("{words:#?}");
    };
    assert_eq!(*rule, "queue");
    assert!(finding.contains("link.far.policer.burst"), "{finding}");
}

#[test]
fn a_flow_that_its_credit_holds_needs_no_queue_and_has_no_cycle() {
    // 100 ms, a queue of 30 packets and 8 s are too little for a growing window.
    let text = CLEAN.replace(DELAY, LONG).replace("120s", "8s");
    let rules = |text: &str| -> Vec<_> { found(text).iter().map(|(rule, _)| *rule).collect() };
    assert_eq!(rules(&text), ["queue", "duration"]);
    let held = text.replace(NEWRENO, "kind = \"tcp\", receive_buffer = 65536");
    assert_eq!(rules(&held), ["credit"]);
    // A buffer sufficient for the flow's share of the path.
    let enough = text.replace(NEWRENO, "kind = \"tcp\", receive_buffer = 125000");
    assert_eq!(rules(&enough), ["queue", "duration"]);
}

#[test]
fn transfers_that_the_path_does_not_carry_are_found() {
    // For each of the two flows: 9000 octets 70 times a second are 5.04 Mbit/s, of 10 Mbit/s.
    let text = |per_second: u32| {
        let size = "{ kind = \"constant\", bytes = 9000 }";
        format!(
            "{CLEAN}arrivals = {{ kind = \"poisson\", per_second = {per_second}, size = {size} }}\n"
        )
    };
    assert_eq!(found(&text(69)), []);
    let findings = found(&text(70));
    let [("load", words)] = findings.as_slice() else {
        panic!("{findings:?}");
    };
    assert!(
        words.starts_with("flow.stream.arrivals [load]: transfers of 10.0800 Mbit/s on average")
    );
    assert!(words.ends_with("let 0.99 of them come, or less"), "{words}");
}

#[test]
fn arrivals_are_chance_and_have_no_steady_state() {
    let text = |arrivals: &str| {
        let text = CLEAN.replace(JITTER, "").replace(START, "");
        format!("{}arrivals = {arrivals}\n", text.replace("120s", "5s"))
    };
    let poisson =
        "{ kind = \"poisson\", per_second = 9, size = { kind = \"constant\", bytes = 9000 } }";
    assert_eq!(found(&text(poisson)), []);
    let list = "{ kind = \"list\", transfers = [[0, 9000]] }";
    let rules: Vec<_> = found(&text(list)).iter().map(|(rule, _)| *rule).collect();
    assert_eq!(rules, ["seeds"]);
}

#[test]
fn arf_in_a_cell_of_several_stations_is_found() {
    let rules = |rate_control: &str, stations: &[&str]| {
        let station = |host: &&str| {
            format!("[[wifi.station]]\nhost = \"{host}\"\nrate_control = {rate_control}\n")
        };
        let stations: String = stations.iter().map(station).collect();
        found(&format!(
            "[run]\nduration = \"1s\"\n[[wifi]]\nname = \"air\"\n{stations}[[flow]]\nname = \"f\"\n\
             from = \"a\"\nto = \"b\"\ntransport = {{ kind = \"tcp\" }}\n"
        ))
    };
    let aarf = r#"{ kind = "aarf" }"#;
    let findings = rules(aarf, &["a", "b", "c"]);
    assert!(findings[0].1.contains("minstrel"), "{findings:?}");
    assert_eq!(rules(aarf, &["a", "b"]), []);
    assert_eq!(rules(r#"{ kind = "minstrel" }"#, &["a", "b", "c"]), []);
}

#[test]
fn rules_have_names_of_their_own() {
    let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), RULES.len());
}

#[test]
fn bursts_in_packets_are_short_where_packets_go_on_and_those_in_time_always() {
    let bursts = |loss: &str, more: &str| {
        let text = CLEAN.replace(DELAY, &format!("{DELAY}\nloss = {{ {loss} }}")) + more;
        found(&text).iter().any(|(rule, _)| *rule == "bursts")
    };
    let gilbert = |to_bad, to_good, in_bad| {
        format!(
            "kind = \"gilbert\", to_bad = {to_bad}, to_good = {to_good}, loss_in_bad = {in_bad}"
        )
    };
    let long = gilbert(0.0015, 0.06, 1.0);
    assert!(bursts(&long, ""));
    for short in [
        // 0.8^12 = 0.07; (0.94 * 0.8)^12 = 0.03; a chain that is never bad.
        gilbert(0.0015, 0.2, 1.0),
        gilbert(0.0015, 0.06, 0.8),
        gilbert(0.0, 0.06, 1.0),
        r#"kind = "gilbert_time", mean_good = "1s", mean_bad = "100ms""#.to_owned(),
        r#"kind = "random", rate = 0.01"#.to_owned(),
    ] {
        assert!(!bursts(&short, ""), "{short}");
    }
    // A call, or transfers, on the same path advance the chain.
    let other = "[[flow]]\nname = \"other\"\nfrom = \"server\"\nto = \"client\"\n";
    let call = "transport = { kind = \"udp\" }\napp = { kind = \"audio\" }\n";
    let web = "transport = { kind = \"tcp\" }\narrivals = { kind = \"poisson\", per_second = 5, \
               size = { kind = \"constant\", bytes = 9000 } }\n";
    for steps in [call, web] {
        assert!(!bursts(&long, &format!("{other}{steps}")), "{steps}");
    }
    // On another path they do not.
    let elsewhere = format!(
        "[[link]]\nname = \"side\"\nbetween = [\"x\", \"y\"]\n{}{call}",
        other.replace("server", "x").replace("client", "y")
    );
    assert!(bursts(&long, &elsewhere));
}

use super::*;
use crate::scenario::parse;

/// Two flows over a path that no rule complains of.
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

/// The rules that find something, and what they say.
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
const DELAY: &str = "delay = \"10ms\"";
const LONG: &str = "delay = \"100ms\"";
const NEWRENO: &str = "kind = \"quic\", controller = \"newreno\"";

/// Replacements in `CLEAN`, the rule that then finds something, and a part of what it says.
type Case = (
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static str,
);

#[rustfmt::skip]
const CASES: &[Case] = &[
    // Nothing is drawn, and with an AQM nothing locks.
    (&[(JITTER, ""), (START, ""), (QUEUE, "queue = { kind = \"codel\" }")], "seeds", "each seed gives the same run"),
    // Starts are drawn, the times of single packets are not. 1500 octets take 1.2 ms.
    (&[(JITTER, "")], "phase", "2 flows share a drop-tail queue"),
    (&[(JITTER, "")], "phase", "0s..1200us"),
    // A jitter of less than half of that is none.
    (&[(JITTER, "jitter = \"0s..1ns\"\n")], "phase", "time varies by half of what"),
    (&[(JITTER, ""), (DELAY, SMALL_JITTER)], "phase", "0s..1200us"),
    // A link that no flow uses, and a host at which none ends.
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
    // 10 Mbit/s over 200 ms are 167 packets; two flows need that over the root of 2.
    (&[(DELAY, LONG)], "queue", "write at least 118 packets"),
    // CUBIC needs 3/7 of it.
    (&[(DELAY, LONG), ("newreno", "cubic")], "queue", "write at least 51 packets"),
    // A full queue makes 56 ms, in which each flow has 23 packets: a cycle of 12 round trips.
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
    // 10 Mbit/s over 20 ms are 25,000 bytes for two flows; 10,000 each 20 ms are 4 Mbit/s.
    (&[(NEWRENO, "kind = \"tcp\", receive_buffer = 10000")], "credit", "flow.stream.transport.receive_buffer [credit]: 10000 bytes a round trip are 4.0000 Mbit/s at most"),
    (&[(NEWRENO, "kind = \"tcp\", send_buffer = 10000")], "credit", "write at least 12500"),
    (&[(NEWRENO, "kind = \"quic\", initial_max_stream_data = 10000")], "credit", "transport.initial_max_stream_data"),
    (&[(NEWRENO, "kind = \"quic\", initial_max_data = 10000")], "credit", "transport.initial_max_data"),
    (&[(NEWRENO, "kind = \"quinn\", stream_window = 10000")], "credit", "transport.stream_window"),
    // RFC 5622 §5: 1400 octets each 10 ms are 1.12 Mbit/s of two flows' 10 Mbit/s.
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
    // Jitter that keeps the order, a queue of its own for a token bucket, and a thin stream.
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
fn a_flow_that_its_credit_holds_needs_no_queue_and_has_no_cycle() {
    // 100 ms, a queue of 30 packets and 8 s are too little for a window that grows.
    let text = CLEAN.replace(DELAY, LONG).replace("120s", "8s");
    let rules = |text: &str| -> Vec<_> { found(text).iter().map(|(rule, _)| *rule).collect() };
    assert_eq!(rules(&text), ["queue", "duration"]);
    let held = text.replace(NEWRENO, "kind = \"tcp\", receive_buffer = 65536");
    assert_eq!(rules(&held), ["credit"]);
    // All that its share of the path takes.
    let enough = text.replace(NEWRENO, "kind = \"tcp\", receive_buffer = 125000");
    assert_eq!(rules(&enough), ["queue", "duration"]);
}

#[test]
fn transfers_that_the_path_does_not_carry_are_found() {
    // Each of the two: 9000 octets 70 times a second are 5.04 Mbit/s, of 10 Mbit/s.
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

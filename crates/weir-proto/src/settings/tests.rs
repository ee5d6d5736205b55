use super::*;
use crate::time::Duration;
use crate::{keywords, kinds, settings};
use proptest::prelude::*;

keywords! {
    /// When it drops.
    #[derive(Default)]
    enum Drop {
        /// At the end.
        #[default]
        Tail = "tail",
        /// At the beginning,
        /// which is early.
        Head = "head",
    }

    /// How exact timers are.
    enum Tick {
        /// To the nanosecond.
        Ideal = "ideal",
        /// Ticks a second.
        Hz(u32) => count(1..=1000, "hertz"),
    }

    /// How early a packet leaves.
    enum Ahead {
        /// By half of it.
        Half = "half",
        /// By a quarter.
        Quarter = "quarter",
        /// By this long.
        Constant(Duration) => natural(),
    }
}

settings! {
    /// Limits.
    #[derive(Clone, Debug, PartialEq)]
    struct Limits {
        /// The most packets.
        packets: u32 = 1000 => count(1..=100_000, "packets"),
        /// The most bytes; "any" for as many as there are.
        size: Option<u64> as "bytes" => or_word("any", bytes(1..=1_000_000)),
    }
}

settings! {
    /// A queue of a link.
    #[derive(Clone, Debug, PartialEq)]
    struct Queue {
        /// The rate: that at which it drains. Required.
        rate: u64 [required] => bit_rate(),
        /// A set of limits.
        preset: &'static str = "large" => named(presets),
        /// Its limits.
        limits: Limits [flatten],
        /// Its place.
        place: usize [internal],
        /// How exact it is.
        tick: Tick = Tick::Ideal,
        /// How early.
        ahead: Ahead = Ahead::Half,
        /// Explicit congestion notification.
        ecn: bool = true,
        /// Where it drops.
        drop: Drop,
        /// Only with a tick; the least share.
        share: f64 = 0.5 => fraction(),
        /// Limits of its classes.
        class: Vec<Limits>,
        /// Limits of the rest.
        rest: Limits,
        /// What it loses.
        loss: Loss,
        /// What it loses later.
        later: Option<Loss> => or_kind("same", "As before."),
    }
    preset preset = |queue: &mut Queue, name: &str| {
        queue.limits.packets = if name == "small" { 10 } else { 1000 };
    };
    normalise = |queue: &mut Queue| if queue.tick == Tick::Ideal {
        queue.share = 0.5;
    };
}

fn presets() -> Vec<Keyword> {
    let doc = "Its limits.";
    ["small", "large"].map(|word| Keyword { word, doc }).into()
}

settings! {
    /// Losses by chance.
    #[derive(Clone, Debug, PartialEq)]
    struct Chance {
        /// The share that is lost.
        rate: f64 [required] => fraction(),
    }
}

kinds! {
    /// What is lost.
    #[derive(Clone, Debug, Default, PartialEq)]
    enum Loss {
        /// Nothing is lost.
        #[default]
        None = "none",
        /// Each packet with the same probability.
        Random(Box<Chance>) = "random",
    }
}

/// A table from keys with values.
fn table(entries: &[(&str, Raw)]) -> Table {
    let mut table = Table::default();
    for (at, (key, raw)) in entries.iter().enumerate() {
        table.put(key, raw.clone());
        let place = |end| Place {
            source: 1,
            start: 10 * at,
            end,
        };
        let entry = &mut table.entries[at];
        entry.place = place(10 * at + 3);
        entry.value.place = place(10 * at + 9);
    }
    table
}

fn text(text: &str) -> Raw {
    Raw::Text(text.to_owned())
}

fn loss(entries: &[(&str, Raw)]) -> Raw {
    Raw::Table(table(entries))
}

fn queue(entries: &[(&str, Raw)]) -> (Queue, Vec<String>) {
    let mut queue = Queue::default();
    let findings = read(&mut queue, &table(entries), "the queue");
    let told = |finding: Finding| match finding.diagnostic.help {
        Help::Text(help) => format!("{}; {help}", finding.diagnostic.message),
        Help::Words { what, known, .. } => {
            format!("{}; {what} {}", finding.diagnostic.message, known.join(" "))
        }
    };
    (queue, findings.into_iter().map(told).collect())
}

fn rate() -> (&'static str, Raw) {
    ("rate", text("1Mbit"))
}

#[test]
fn a_table_becomes_a_struct() {
    let (queue, wrong) = queue(&[
        rate(),
        ("bytes", text("64kB")),
        ("tick", Raw::Integer(250)),
        ("ahead", text("1ms")),
        ("ecn", text("off")),
        ("drop", text("head")),
        ("share", text("20%")),
        ("preset", text("small")),
        (
            "loss",
            loss(&[("kind", text("random")), ("rate", Raw::Float(0.1))]),
        ),
        ("later", loss(&[("kind", text("none"))])),
    ]);
    assert_eq!(wrong, [""; 0]);
    assert_eq!((queue.rate, queue.limits.size), (1_000_000, Some(64_000)));
    assert_eq!((queue.tick, queue.share), (Tick::Hz(250), 0.2));
    assert_eq!(queue.ahead, Ahead::Constant(Duration::from_millis(1)));
    assert_eq!((queue.ecn, queue.drop), (false, Drop::Head));
    assert_eq!((queue.preset, queue.limits.packets), ("small", 10));
    assert_eq!(queue.loss, Loss::Random(Box::new(Chance { rate: 0.1 })));
    assert_eq!(queue.later, Some(Loss::None));
}

#[test]
fn what_the_table_says_comes_on_top_of_its_preset() {
    let packets = ("packets", Raw::Integer(7));
    let (queue, _) = queue(&[packets, ("preset", text("small")), rate()]);
    assert_eq!(queue.limits.packets, 7);
}

/// A key with a wrong value, and the beginning of the message about it.
fn wrong_values() -> Vec<(&'static str, Raw, &'static str)> {
    vec![
        (
            "rats",
            text("1Mbit"),
            "unknown key \"rats\" in the queue; keys here rate preset packets",
        ),
        (
            "rate",
            Raw::Integer(1),
            "rate: expected a rate in quotes, found the number 1; write",
        ),
        (
            "rate",
            text("0bit"),
            "rate: \"0bit\" is less than 1 bit per second",
        ),
        (
            "packets",
            Raw::Integer(0),
            "packets: expected 1 to 100000 packets, found 0; write a",
        ),
        (
            "bytes",
            Raw::Integer(0),
            "bytes: expected 1 to 1000000 bytes, found 0; write a whole \
                                    number of bytes without quotes, or \"any\"",
        ),
        (
            "bytes",
            text("2MB"),
            "bytes: expected 1 to 1000000 bytes, found 2000000",
        ),
        (
            "tick",
            text("x"),
            "tick: expected 1 to 1000 hertz, found the text \"x\"; write a whole \
                             number of hertz without quotes, or \"ideal\"",
        ),
        (
            "ahead",
            text("soon"),
            "ahead: \"soon\" is not a duration; a duration, or one of: half, \
                                 quarter",
        ),
        (
            "drop",
            text("heat"),
            "drop: there is no \"heat\" here; expected one of tail head",
        ),
        (
            "drop",
            Raw::Integer(1),
            "drop: expected a word in quotes, found the number 1; write one \
                                   of tail, head",
        ),
        ("ecn", text("yes"), "ecn: expected true or false"),
        (
            "share",
            Raw::Float(1.5),
            "share: \"1.5\" does not lie between 0 and 1",
        ),
    ]
}

/// The same for keys whose values are tables.
fn wrong_tables() -> Vec<(&'static str, Raw, &'static str)> {
    vec![
        (
            "rest",
            Raw::Integer(1),
            "[rest] must be a table, found the number 1",
        ),
        (
            "class",
            loss(&[]),
            "\"class\" must be a list of tables, found a table; write [[class]]",
        ),
        (
            "class",
            Raw::Array(vec![Raw::Boolean(true).into()]),
            "[[class]] must be a table, found",
        ),
        (
            "loss",
            loss(&[]),
            "[loss] has no \"kind\"; kind: one of none, random",
        ),
        (
            "loss",
            loss(&[("kind", text("some"))]),
            "kind: there is no \"some\" here; kinds none",
        ),
        (
            "loss",
            loss(&[("kind", Raw::Integer(1))]),
            "kind: expected a word, found the number 1",
        ),
        (
            "loss",
            loss(&[("kind", text("random"))]),
            "[loss] has no \"rate\"; rate: the share that",
        ),
        (
            "later",
            loss(&[("kind", text("x"))]),
            "kind: there is no \"x\" here; kinds same none",
        ),
    ]
}

#[test]
fn an_error_is_reported_with_a_correct_example() {
    for (key, raw, expected) in wrong_values().into_iter().chain(wrong_tables()) {
        let entries = [rate(), (key, raw)];
        let wrong = if key == "rate" {
            queue(&entries[1..]).1
        } else {
            queue(&entries).1
        };
        assert_eq!(wrong.len(), 1, "{key}: {wrong:?}");
        assert!(wrong[0].starts_with(expected), "{}\n{expected}", wrong[0]);
    }
    let (_, wrong) = queue(&[]);
    assert_eq!(
        wrong,
        ["the queue has no \"rate\"; rate: the rate: that at which it drains"]
    );
}

#[test]
fn places_are_those_of_the_key_or_of_its_value() {
    let wrong = table(&[("rate", Raw::Boolean(true)), ("rats", Raw::Boolean(true))]);
    let findings = read(&mut Queue::default(), &wrong, "the queue");
    let places: Vec<_> = findings
        .iter()
        .map(|f| (f.place.start, f.place.end))
        .collect();
    assert_eq!(places, [(0, 9), (10, 13)]);
}

#[test]
fn a_value_of_the_same_kind_keeps_what_a_second_table_leaves_out() {
    let (first, _) = queue(&[
        rate(),
        (
            "loss",
            loss(&[("kind", text("random")), ("rate", Raw::Float(0.1))]),
        ),
    ]);
    let mut both = first.clone();
    let again = table(&[rate(), ("loss", loss(&[("kind", text("random"))]))]);
    read(&mut both, &again, "the queue");
    assert_eq!(both, first);
}

#[test]
fn every_key_is_described_with_its_default_and_its_presets() {
    let described = describe(&Queue::default());
    assert_eq!(plain_doc(described.doc), "A queue of a link.");
    let keys: Vec<&str> = described.fields.iter().map(|field| field.key).collect();
    let expected = "rate preset packets bytes tick ahead ecn drop share class rest loss later";
    assert_eq!(keys, expected.split(' ').collect::<Vec<_>>());
    let field = |key| {
        described
            .fields
            .iter()
            .find(|field| field.key == key)
            .unwrap()
    };
    assert_eq!(field("rate").presence, Presence::Required);
    assert_eq!(field("rate").default, None);
    assert_eq!(field("bytes").default, Some(text("any")));
    assert_eq!(field("rest").default, None);
    let Kind::Keywords(words) = &field("drop").kind else {
        panic!("{:?}", field("drop").kind);
    };
    assert_eq!(plain_doc(words[1].doc), "At the beginning, which is early.");
    let Kind::Variants(kinds) = &field("later").kind else {
        panic!("{:?}", field("later").kind);
    };
    let words: Vec<&str> = kinds.iter().map(|variant| variant.keyword.word).collect();
    assert_eq!(words, ["same", "none", "random"]);
    let packets = |at: usize| {
        described.presets[at]
            .table
            .get("packets")
            .unwrap()
            .value
            .raw
            .clone()
    };
    assert_eq!(
        (packets(0), packets(1)),
        (Raw::Integer(10), Raw::Integer(1000))
    );
}

/// A written table as a parser would give it.
fn parsed(table: Table) -> Table {
    let parse = |raw| match raw {
        Raw::Table(table) => Raw::Table(parsed(table)),
        Raw::Tables(tables) => {
            let tables = tables
                .into_iter()
                .map(|table| Raw::Table(parsed(table)).into());
            Raw::Array(tables.collect())
        }
        other => other,
    };
    let mut table = table;
    for entry in &mut table.entries {
        entry.value.raw = parse(entry.value.raw.clone());
    }
    table
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        rate in 1..=1_000_000_000_000_000_u64,
        packets in 1..=100_000_u32,
        size in proptest::option::of(1..=1_000_000_u64),
        hz in proptest::option::of(1..=1000_u32),
        ahead in proptest::option::of(0..=1_000_000_000_000_u64),
        share in 0.0..=1.0,
        losses in proptest::option::of(0.0..=1.0),
    ) {
        let limits = Limits { packets, size };
        let queue = Queue {
            rate,
            preset: "small",
            limits: limits.clone(),
            tick: hz.map_or(Tick::Ideal, Tick::Hz),
            ahead: ahead.map_or(Ahead::Quarter, |t| Ahead::Constant(Duration::from_nanos(t))),
            ecn: false,
            drop: Drop::Head,
            share: if hz.is_some() { share } else { 0.5 },
            class: vec![limits.clone(), Limits::default()],
            rest: limits,
            loss: losses.map_or(Loss::None, |rate| Loss::Random(Box::new(Chance { rate }))),
            later: losses.map(|_| Loss::None),
            ..Queue::default()
        };
        let mut again = Queue::default();
        let findings = read(&mut again, &parsed(write(&queue)), "the queue");
        prop_assert_eq!(findings, []);
        prop_assert_eq!(again, queue);
    }
}

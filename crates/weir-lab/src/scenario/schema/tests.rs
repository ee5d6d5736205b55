use super::super::document::Document;
use super::super::overrides::{Override, applied};
use super::super::tests::LARGE;
use super::super::{Scenario, parse};
use super::*;
use jsonschema::Validator;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use weir_proto::settings::{Spanned, Table, read};
use weir_proto::time::Duration;
use weir_proto::units;

fn validator() -> Validator {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .build(&schema())
        .expect("the schema is one")
}

/// A parsed value as JSON; `None` if JSON cannot represent it.
fn json(value: &Spanned) -> Option<Json> {
    Some(match &value.raw {
        Raw::Array(list) => Json::Array(list.iter().map(json).collect::<Option<_>>()?),
        Raw::Table(table) => json_table(table)?,
        Raw::Float(number) if !number.is_finite() => return None,
        Raw::Other(_) => return None,
        raw => json_of(raw),
    })
}

fn json_table(table: &Table) -> Option<Json> {
    let entry =
        |entry: &weir_proto::settings::KeyValue| Some((entry.key.clone(), json(&entry.value)?));
    table
        .entries
        .iter()
        .map(entry)
        .collect::<Option<Map<_, _>>>()
        .map(Json::Object)
}

/// The error of the reader for single keys of a document, without relations between keys.
fn refused(document: &Document) -> Option<String> {
    let findings = read(&mut Scenario::default(), &document.root, "the scenario");
    let first = findings.into_iter().next()?;
    Some(first.diagnostic.message)
}

/// True for an error in the size of text with a unit, or in the order of a list, which no pattern
/// can express.
fn is_beyond_a_schema(message: &str) -> bool {
    let beyond = [
        "is less than 1 bit per second",
        "is more than 1000 Tbit",
        " bytes, found ",
        "is too large",
        "is longer than 100 years",
        "comes after",
        "has no length",
        "not a whole number of packets",
        "never happens",
        "expected a duration from",
        "carries no datagrams of a tunnel",
        "carries no stream of a tunnel",
        "a datagram of the outer connection has room for",
    ];
    beyond.iter().any(|part| message.contains(part))
}

fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            files.extend(toml_files(&path));
        } else if path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn every_scenario_and_what_it_resolves_to_is_valid() {
    let validator = validator();
    let mut seen = 0;
    for path in toml_files(&folder("../../experiments")) {
        let name = path.display().to_string();
        let text = fs::read_to_string(&path).expect("the file can be read");
        let Ok(scenario) = parse(&text, &name) else {
            continue;
        };
        for text in [text, scenario.resolved_toml()] {
            let document = Document::parse(&text, &name).expect("it was parsed before");
            let value = json_table(&document.root).expect("it has JSON's values");
            let error = validator.iter_errors(&value).next();
            assert!(error.is_none(), "{name}: {error:?}");
        }
        seen += 1;
    }
    assert!(seen > 5);
    for text in [
        LARGE.to_owned(),
        parse(LARGE, "large").expect("it is right").resolved_toml(),
    ] {
        let document = Document::parse(&text, "large").expect("it is TOML");
        let value = json_table(&document.root).expect("it has JSON's values");
        assert!(validator.is_valid(&value));
    }
}

/// Invalid scenarios that the schema accepts: the error is in the size of a quantity with a unit,
/// or in the relation between keys.
const CROSS_CHECKS: &[&str] = &[
    "07-rate-of-zero",
    "09-missing-host",
    "14-infinite",
    "16-packet-larger-than-mtu",
    "17-warmup-too-long",
    "24-shaper-without-limit",
    "26-two-of-a-name",
    "27-no-way",
    "28-link-to-itself",
    "30-loop-flow",
    "37-no-flow",
    "39-starts-too-late",
    "40-stops-before-start",
    "41-periodic-not-whole",
    "42-unused-host",
    "43-endless-run",
    "44-too-many-writes",
    "60-wifi-station-twice",
    "61-wifi-no-such-rate",
    "62-wifi-signal-host",
    "63-wifi-signal-order",
    "64-wifi-interference",
    "65-wifi-heard",
    "67-bulk-over-udp",
    "68-fec-too-small",
    "69-on-off-never-on",
    "70-audio-too-large",
    "72-rate-trace-order",
    "73-rate-trace-missing",
    "74-change-order",
    "75-change-no-shaper",
    "80-range-backwards",
    "82-range-starts-too-late",
    "83-jitter-without-range",
    "84-expectation-of-no-measure",
    "84-pie-period",
    "85-endless-rate-trace",
    "85-expectation-of-no-flow",
    "86-expectation-without-unit",
    "87-flow-from-several-hosts",
    "88-links-do-not-fit-hosts",
    "89-too-many-transfers",
    "90-distribution-without-end",
    "91-transfers-with-a-total",
    "92-window-controller-of-tfrc",
    "93-last-of-several-stops-before-start",
    "94-class-of-a-station-without-its-parent",
    "95-tunnel-mtu-beyond-a-datagram",
    "95-tunnel-of-a-transport-without-datagrams",
    "96-handover-of-tcp",
    "96-tunnel-named-like-a-flow",
    "96-tunnel-to-no-host",
    "97-handover-without-a-way",
    "97-packet-larger-than-a-tunnel",
    "97-tunnel-inside-a-tunnel",
    "98-tunnel-to-its-own-host",
    "98-tunnel-without-room-for-quic",
];

#[test]
fn a_bad_scenario_is_invalid_unless_only_its_keys_contradict_each_other() {
    let validator = validator();
    let mut accepted = Vec::new();
    for path in toml_files(&folder("tests/bad-scenarios")) {
        let name = path
            .file_stem()
            .expect("a file has a name")
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&path).expect("the file can be read");
        let Ok(document) = Document::parse(&text, &name) else {
            continue;
        };
        if json_table(&document.root).is_some_and(|value| validator.is_valid(&value)) {
            accepted.push(name);
        }
    }
    assert_eq!(accepted, CROSS_CHECKS);
}

#[test]
fn a_word_alone_is_a_table_only_of_a_kind_that_needs_no_key() {
    let validator = validator();
    let valid = |queue: Json, loss: Json| {
        let link = json!({ "name": "l", "between": ["a", "b"], "queue": queue, "loss": loss });
        validator.is_valid(&json!({ "run": { "duration": "1s" }, "link": [link] }))
    };
    assert!(valid(json!("codel"), json!("none")));
    assert!(!valid(json!("coddle"), json!("none")));
    // A random loss needs its rate.
    assert!(!valid(json!("codel"), json!("random")));
}

/// Octets that the schema has at most. A controller with a constant or a queue takes 1,300; the
/// words that stand alone for tables of their kind take 2,000 in all. The classes of HTB and the
/// names of codepoints, which a flow and a class have, are larger. The constants of BBRv1, GCC and
/// SCReAMv2 take 15,000, noq and tunnels, whose transports have defaults of their own, 10,000, and
/// media over QUIC with Rapid Start 3,000.
const LIMIT: usize = 278_000;

#[test]
fn the_schema_is_small_and_names_its_definitions() {
    let schema = schema();
    let text = serde_json::to_string_pretty(&schema).expect("it is JSON");
    // A table is written once for each set of its defaults: the single rules of QUIC twice, because
    // the preset of QUIC paces and that of quinn does not.
    let octets = text.len();
    assert!(
        octets < LIMIT,
        "{octets} octets of {LIMIT}: raise it with the reason, or shorten"
    );
    for name in ["queue", "queue.red", "tfrc", "duration"] {
        assert!(schema["$defs"][name].is_object(), "{name}");
    }
    for definition in schema["$defs"].as_object().into_iter().flatten() {
        for (key, property) in definition.1["properties"].as_object().into_iter().flatten() {
            let described = property["description"]
                .as_str()
                .is_some_and(|text| !text.is_empty());
            assert!(described || key == "kind", "{} {key}", definition.0);
        }
    }
    let tfrc = &schema["$defs"]["tfrc"]["properties"]["oscillation"];
    assert_eq!(tfrc["default"], "full");
    assert_eq!(schema["$defs"]["run"]["required"], json!(["duration"]));
}

/// A key by its path for `--set`, the overrides it needs before it, and its possible values.
#[derive(Clone, Debug)]
struct Leaf {
    before: Vec<Override>,
    path: String,
    kind: Kind,
}

fn set(path: &str, value: &str) -> Override {
    Override {
        path: path.to_owned(),
        value: value.to_owned(),
    }
}

/// A typical value of a required key, as TOML.
fn example(kind: &Kind) -> String {
    match kind {
        Kind::Fraction => "0.5".to_owned(),
        Kind::Quantity(quantity) => format!("{:?}", quantity.examples[0]),
        Kind::Duration { min, .. } => format!("\"{min}\""),
        Kind::Bytes { min, .. } | Kind::Integer { min, .. } => min.to_string(),
        Kind::Number { min, .. } => format!("{min:?}"),
        Kind::List { of, .. } if matches!(**of, Kind::List { .. }) => "[[1, 1]]".to_owned(),
        Kind::List { .. } => "[1]".to_owned(),
        Kind::AnyOf(kinds) if !kinds.is_empty() => example(&kinds[kinds.len() - 1]),
        other => panic!("no required key is of this kind: {other:?}"),
    }
}

/// Every key below a table.
fn leaves(path: &str, before: &[Override], table: &TableKind, all: &mut Vec<Leaf>) {
    for field in &table.fields {
        let path = format!("{path}{}", field.key);
        match &field.kind {
            Kind::Table(inner) => leaves(&format!("{path}."), before, inner, all),
            Kind::Tables(_) => {}
            Kind::Variants(variants) => {
                for Variant { keyword, table, .. } in variants {
                    let required = table
                        .fields
                        .iter()
                        .filter(|f| f.presence == Presence::Required);
                    let required = required.map(|f| format!(", {} = {}", f.key, example(&f.kind)));
                    let keys: String = required.collect();
                    let value = format!("{{ kind = \"{}\"{keys} }}", keyword.word);
                    let before = [before, &[set(&path, &value)]].concat();
                    leaves(&format!("{path}."), &before, table, all);
                }
            }
            kind => all.push(Leaf {
                before: before.to_vec(),
                path,
                kind: kind.clone(),
            }),
        }
    }
}

const BASE: &str = r#"
[run]
duration = "10s"

[[host]]
name = "a"

[[link]]
name = "wire"
between = ["a", "b"]

[[link]]
name = "tunnelled"
between = ["d", "e"]

[[tunnel]]
name = "vpn"
between = ["d", "e"]
transport = { kind = "quic" }

[[wifi]]
name = "air"

[[wifi.station]]
host = "c"

[[flow]]
name = "f"
from = "a"
to = "b"
transport = { kind = "udp" }
"#;

fn all_leaves() -> Vec<Leaf> {
    let mut all = Vec::new();
    for field in describe(&Scenario::default()).fields {
        match (field.key, &field.kind) {
            (key, Kind::Table(table)) => leaves(&format!("{key}."), &[], table, &mut all),
            (key, Kind::Tables(table)) => {
                let name = match key {
                    "host" => "a",
                    "link" => "wire",
                    "wifi" => "air",
                    "tunnel" => "vpn",
                    _ => "f",
                };
                leaves(&format!("{key}.{name}."), &[], table, &mut all);
                let station = table.fields.iter().find(|field| field.key == "station");
                if let Some(Kind::Tables(table)) = station.map(|field| &field.kind) {
                    leaves("wifi.air.station.c.", &[], table, &mut all);
                }
            }
            // Its text has a grammar that a schema cannot express.
            ("expect", _) => {}
            other => panic!("{other:?}"),
        }
    }
    all
}

fn near_range(quantity: &'static Quantity) -> Vec<String> {
    let ranges = [
        "0s..1s",
        "5ms..5ms",
        " 1ms .. 2ms ",
        "1ms...2s",
        "1.ms..2.s",
        "..1s",
        "1s..",
        "..",
        "0..1s",
        "1ms..2ms..3ms",
        "1ms-2ms",
        "-0s..1s",
    ];
    let mut values = near(&Kind::Quantity(quantity));
    values.extend(ranges.map(|range| format!("\"{range}\"")));
    values
}

/// Values near the limits of a kind, and others.
fn near(kind: &Kind) -> Vec<String> {
    match kind {
        Kind::Integer { min, max, .. } | Kind::Bytes { min, max } => {
            let near = [
                min.wrapping_sub(1),
                *min,
                min + 1,
                max - 1,
                *max,
                max.saturating_add(1),
            ];
            near.map(|number| (number as i64).to_string()).into()
        }
        Kind::Number { min, max, .. } => [*min, min - 0.001, *max, max + 0.001]
            .map(|number| format!("{number:?}"))
            .into(),
        Kind::Fraction => [
            "0",
            "1",
            "-0.001",
            "1.001",
            "\"100%\"",
            "\"100.01%\"",
            "\"-0%\"",
            "\"1e-3\"",
        ]
        .map(str::to_owned)
        .into(),
        Kind::Quantity(quantity) => quantity
            .unit_words()
            .flat_map(|unit| {
                [
                    "5{}", "5 {}", "0.5{}", "5.{}", ".5{}", "+5{}", "-5{}", " 5{} ", "5e1{}",
                    "5E-1{}", "5e{}", "5e+{}", ".{}", "{}", "5{}x", "1.2.3{}",
                ]
                .map(|text| format!("\"{}\"", text.replace("{}", unit)))
            })
            .collect(),
        Kind::Duration { min, max } => {
            let just = Duration::from_nanos(1);
            let mut values = near(&Kind::Quantity(&units::DURATION));
            let near = [min.saturating_sub(just), *min, *max, *max + just];
            values.extend(near.map(|duration| format!("\"{duration}\"")));
            values
        }
        Kind::Range(quantity) => near_range(quantity),
        Kind::Keywords(keywords) => keywords
            .iter()
            .flat_map(|keyword| {
                [
                    format!("\"{}\"", keyword.word),
                    format!("\"{}x\"", keyword.word),
                ]
            })
            .collect(),
        Kind::AnyOf(kinds) => kinds.iter().flat_map(near).collect(),
        Kind::List { .. } => ["[]", "[1]", "[1, 2]", "[-1]", "[\"a\"]", "[\"a\", \"b\"]"]
            .map(str::to_owned)
            .into(),
        _ => Vec::new(),
    }
}

/// Values that most keys reject.
const OTHERS: [&str; 18] = [
    "true",
    "\"on\"",
    "\"off\"",
    "\"\"",
    "\"a\"",
    "\"-a\"",
    "\"5ms\"",
    "\"5Mbit\"",
    "\"5kB\"",
    "\"5\"",
    "\"5mbps\"",
    "3",
    "-3",
    "0.25",
    "[]",
    "{}",
    "{ kind = \"none\" }",
    "\"0ms\"",
];

fn agree(validator: &Validator, leaf: &Leaf, value: &str) {
    let sets = [leaf.before.as_slice(), &[set(&leaf.path, value)]].concat();
    let document = Document::parse(BASE, "base").expect("it is TOML");
    let document = applied(document, &sets).expect("the path exists");
    let Some(value) = json_table(&document.root) else {
        return;
    };
    let (valid, refused) = (validator.is_valid(&value), refused(&document));
    let beyond = refused.as_deref().is_some_and(is_beyond_a_schema);
    assert!(
        valid == refused.is_none() || (valid && beyond),
        "{} after {:?}: the schema says {valid}, the reader {refused:?}",
        sets[sets.len() - 1].text(),
        leaf.before
    );
}

#[test]
fn reader_and_schema_agree_on_every_key() {
    let validator = validator();
    let leaves = all_leaves();
    assert!(leaves.len() > 200, "{}", leaves.len());
    for leaf in &leaves {
        let near = near(&leaf.kind);
        for value in near.iter().map(String::as_str).chain(OTHERS) {
            agree(&validator, leaf, value);
        }
    }
}

proptest! {
    #[test]
    fn reader_and_schema_agree_on_any_quantity(
        sign in "[-+ ]?", number in "[0-9]{0,3}[.]?[0-9]{0,3}", exponent in "([eE][-+]?[0-9])?",
        unit in "[ ]?(ns|us|ms|s|min|h|bit|kbit|Mbit|b|kB|MiB|%|x)?", at in 0..4_usize,
    ) {
        let text = format!("\"{sign}{number}{exponent}{unit}\"");
        let leaves = all_leaves();
        let paths = [
            "link.wire.delay",
            "link.wire.rate",
            "link.wire.mtu",
            "link.wire.netem.jitter",
        ];
        let leaf = leaves.iter().find(|leaf| leaf.path == paths[at]).expect("there is such a key");
        agree(&validator(), leaf, &text);
    }
}

//! The rules of the arrows: which room may know which.

use super::Breach;
use crate::lexed::Source;
use crate::token::{paths, tokens};

const PROTO: &str = "crates/weir-proto/src/";
const NET: &str = "crates/weir-net/src/";
const TRACE: &str = "crates/weir-lab/src/trace/";
const UNITS: &str = "crates/weir-proto/src/units.rs";

const TRANSPORTS: [&str; 3] = ["dccp", "quic", "tcp"];

/// The files of proto that name all transports.
const CROSSROADS: [&str; 3] = ["event.rs", "lib.rs", "packet.rs"];

/// The files of net that know endpoints; every other one is a stage.
const ENDPOINTS: [&str; 5] = [
    "agent.rs",
    "app/",
    "bench.rs",
    "packet_pool.rs",
    "network.rs",
];

/// Which manifests must not name which crates.
const ARROWS: [(&str, &[&str]); 4] = [
    (
        "crates/weir-proto/Cargo.toml",
        &["weir-net", "weir-lab", "weir-wire"],
    ),
    ("crates/weir-net/Cargo.toml", &["weir-lab", "weir-wire"]),
    ("crates/weir-lab/Cargo.toml", &["weir-wire"]),
    ("crates/weir-wire/Cargo.toml", &["weir-lab"]),
];

const PARSERS: [&str; 4] = [
    "parse_duration",
    "parse_rate",
    "parse_size",
    "parse_probability",
];

/// In proto no transport imports another, and the controllers import none.
pub fn transports_stay_apart(source: &Source) -> Vec<Breach> {
    let Some(inner) = source.path.strip_prefix(PROTO) else {
        return Vec::new();
    };
    if CROSSROADS.contains(&inner) {
        return Vec::new();
    }
    let room = inner.split(['/', '.']).next().unwrap_or_default();
    let tokens = tokens(source.numbered());
    paths(&tokens)
        .iter()
        .filter_map(|path| {
            let outer = ["crate", "super", "self", "weir_proto"];
            let named = path.words.iter().find(|word| !outer.contains(word))?;
            let foreign = TRANSPORTS.contains(named) && *named != room;
            let message = format!("{room} must not know {named}");
            foreign.then(|| Breach::new(&source.path, path.line, message))
        })
        .collect()
}

/// In net only the hosts' side looks into packets; a stage reads `ip` and `size`.
pub fn stages_leave_the_body_alone(source: &Source) -> Vec<Breach> {
    let Some(inner) = source.path.strip_prefix(NET) else {
        return Vec::new();
    };
    if ENDPOINTS.iter().any(|known| inner.starts_with(known)) {
        return Vec::new();
    }
    tokens(source.shipped())
        .into_iter()
        .filter(|token| ["body", "Body"].contains(&token.text))
        .map(|token| {
            Breach::new(
                &source.path,
                token.line,
                "a stage must not look into the body",
            )
        })
        .collect()
}

/// The crates of file formats are named in the trace's room only; tests may build files.
pub fn formats_stay_in_the_trace(source: &Source) -> Vec<Breach> {
    if source.path.starts_with(TRACE) {
        return Vec::new();
    }
    let tokens = tokens(source.shipped());
    paths(&tokens)
        .iter()
        .filter_map(|path| {
            let name = path.words.first()?;
            let format =
                ["arrow", "flate2", "parquet"].contains(name) || name.starts_with("arrow_");
            let message = format!("{name} is a file format, known only below {TRACE}");
            format.then(|| Breach::new(&source.path, path.line, message))
        })
        .collect()
}

/// Values with units are parsed in one place.
pub fn units_are_parsed_once(source: &Source) -> Vec<Breach> {
    if source.path == UNITS {
        return Vec::new();
    }
    tokens(source.numbered())
        .windows(2)
        .filter_map(|window| {
            let [keyword, name] = window else { return None };
            let again = keyword.text == "fn" && PARSERS.contains(&name.text);
            let message = format!("{} belongs to {UNITS} alone", name.text);
            again.then(|| Breach::new(&source.path, name.line, message))
        })
        .collect()
}

/// The same arrows between the crates, read from the manifests.
pub fn arrows_between_crates(path: &str, text: &str) -> Vec<Breach> {
    let Some((_, forbidden)) = ARROWS.iter().find(|(manifest, _)| *manifest == path) else {
        return Vec::new();
    };
    let mut breaches = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let code = line.split('#').next().unwrap_or_default();
        for name in forbidden.iter().filter(|name| code.contains(**name)) {
            breaches.push(Breach::new(
                path,
                index + 1,
                format!("must not depend on {name}"),
            ));
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::found;

    #[test]
    fn a_transport_that_knows_another_is_found() {
        for (file, text) in [
            ("dccp/mod.rs", "use crate::quic::Packet;"),
            ("quic/ack.rs", "use crate::{dccp, time::Instant};"),
            ("quic/wire/mod.rs", "use super::super::dccp::state::State;"),
            ("cc/mod.rs", "fn f(p: crate::dccp::Packet) {}"),
            ("node.rs", "use crate::quic;"),
            ("tcp.rs", "quic::Packet::new()"),
        ] {
            let path = format!("{PROTO}{file}");
            assert_eq!(
                found(transports_stay_apart, &path, text),
                [1],
                "{file}: {text}"
            );
        }
    }

    #[test]
    fn own_rooms_crossroads_and_plain_words_pass() {
        for (file, text) in [
            ("dccp/mod.rs", "use crate::dccp::wire;"),
            ("packet.rs", "use crate::{dccp, quic};"),
            (
                "quic/mod.rs",
                "//! Unlike crate::dccp.\nif let Body::Quic(quic) = body { quic.len() }",
            ),
            ("cc/mod.rs", "let dccp = 1;"),
        ] {
            let path = format!("{PROTO}{file}");
            assert!(
                found(transports_stay_apart, &path, text).is_empty(),
                "{file}: {text}"
            );
        }
    }

    #[test]
    fn only_endpoints_look_into_the_body() {
        let rule = stages_leave_the_body_alone;
        for text in [
            "packet.body",
            "let Packet { body, .. } = p;",
            "Body::Other(x)",
        ] {
            assert_eq!(
                found(rule, "crates/weir-net/src/link.rs", text),
                [1],
                "{text}"
            );
            assert!(found(rule, "crates/weir-net/src/app/bulk.rs", text).is_empty());
            assert!(found(rule, "crates/weir-net/src/link/tests.rs", text).is_empty());
        }
        assert!(found(rule, "crates/weir-net/src/link.rs", "// its body\np.size").is_empty());
    }

    #[test]
    fn formats_are_known_to_the_trace_only() {
        let rule = formats_stay_in_the_trace;
        for text in [
            "use arrow_array::Array;",
            "use flate2;",
            "parquet::file::x()",
        ] {
            assert_eq!(
                found(rule, "crates/weir-lab/src/run/mod.rs", text),
                [1],
                "{text}"
            );
            assert!(found(rule, "crates/weir-lab/src/trace/folder.rs", text).is_empty());
        }
        let harmless = "path.join(\"packets.parquet\"); let arrow = 1;";
        assert!(found(rule, "crates/weir-lab/src/run/mod.rs", harmless).is_empty());
    }

    #[test]
    fn a_second_parser_of_units_is_found() {
        let text = "pub fn parse_rate(text: &str) {}";
        assert_eq!(
            found(units_are_parsed_once, "crates/weir/src/main.rs", text),
            [1]
        );
        assert!(found(units_are_parsed_once, UNITS, text).is_empty());
        assert!(
            found(
                units_are_parsed_once,
                "crates/weir/src/main.rs",
                "parse_rate(x)"
            )
            .is_empty()
        );
    }

    #[test]
    fn lab_and_wire_do_not_depend_on_each_other() {
        let bad = "[dependencies]\nweir-wire.workspace = true\n";
        let breaches = arrows_between_crates("crates/weir-lab/Cargo.toml", bad);
        assert_eq!(
            breaches
                .iter()
                .map(|breach| breach.line)
                .collect::<Vec<_>>(),
            [2]
        );
        assert_eq!(
            arrows_between_crates("crates/weir-wire/Cargo.toml", "weir-lab = \"1\"").len(),
            1
        );
        let good = "# not weir-wire\nweir-net.workspace = true\n";
        assert!(arrows_between_crates("crates/weir-lab/Cargo.toml", good).is_empty());
    }
}

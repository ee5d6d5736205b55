//! Which crate and module may depend on which: the rules of `docs/ARCHITECTURE.md`.

use super::Violation;
use crate::modules::Crate;
use crate::source::Source;
use crate::tree::TextFile;

const PROTO: &str = "crates/weir-proto/src/";
const NET: &str = "crates/weir-net/src/";
const RUN: &str = "crates/weir-lab/src/run/";
const TRACE: &str = "crates/weir-lab/src/trace/";
const UNITS: &str = "crates/weir-proto/src/units.rs";

const TRANSPORTS: [&str; 4] = ["dccp", "quic", "rtp", "tcp"];

/// The files of weir-proto that may refer to all transports.
const NAME_ALL_TRANSPORTS: [&str; 3] = ["event.rs", "lib.rs", "packet.rs"];

/// The files and folders of weir-net that may read the body of a packet. CAKE's filter of
/// acknowledgements decides on TCP headers, of which `ack_facts.rs` makes the facts.
const READ_BODIES: [&str; 6] = [
    "ack_facts.rs",
    "agent.rs",
    "app/",
    "bench/",
    "packet_pool.rs",
    "network.rs",
];

/// Crates of file formats, which may be used below `TRACE` only.
const FORMATS: [&str; 4] = ["arrow_array", "arrow_schema", "flate2", "parquet"];

/// Functions that parse a value with its unit; they are defined in `UNITS` only.
const PARSERS: [&str; 4] = [
    "parse_duration",
    "parse_rate",
    "parse_size",
    "parse_probability",
];

/// The permitted dependencies of the crates without I/O: none of them reaches outside of the
/// program. weir-wasm converts what weir-lab decides. Dependencies of tests are not restricted.
const ALLOWED: [(&str, &[&str]); 3] = [
    (
        "crates/weir-proto/Cargo.toml",
        &["libm", "rand_core", "rand_xoshiro", "smallvec"],
    ),
    ("crates/weir-net/Cargo.toml", &["libm", "weir-proto"]),
    (
        "crates/weir-wasm/Cargo.toml",
        &[
            "serde",
            "serde_json",
            "wasm-bindgen",
            "weir-lab",
            "weir-proto",
        ],
    ),
];

/// Crates on which a crate must not depend, even in tests.
const FORBIDDEN: [(&str, &str); 2] = [
    ("crates/weir-lab/Cargo.toml", "weir-wire"),
    ("crates/weir-wire/Cargo.toml", "weir-lab"),
];

/// A crate on which none depends: it is the end of what a page loads.
const LEAF: &str = "weir-wasm";

/// The macros of PyO3 and wasm-bindgen expand to unsafe code, so the Python package and the module
/// for browsers have their own lints; a tool that stands outside of the workspace has none.
const OWN_LINTS: [&str; 3] = [
    "python/Cargo.toml",
    "crates/weir-wasm/Cargo.toml",
    "scripts/wasm-bindgen/Cargo.toml",
];
/// The Python package passes Arrow data in memory to other libraries and writes no files.
const PYTHON: &str = "python/src/";

/// The rules for the dependencies of a crate, and that it uses the lints of the workspace, which
/// forbid unsafe code.
pub fn manifest(file: &TextFile) -> Vec<Violation> {
    let path = file.path.as_str();
    if !path.ends_with("/Cargo.toml") {
        return Vec::new();
    }
    let table: toml::Table = file.text.parse().unwrap_or_default();
    let mut violations = Vec::new();
    let lints = table.get("lints").and_then(|lints| lints.get("workspace"));
    if !OWN_LINTS.contains(&path) && lints.and_then(toml::Value::as_bool) != Some(true) {
        violations.push(Violation::new(path, 1, "no [lints] workspace = true"));
    }
    for (is_for_tests, name) in dependencies(&table) {
        let start = file.text.lines().position(|line| line.starts_with(name));
        let line = start.map_or(1, |index| index + 1);
        let mut report = |message: String| violations.push(Violation::new(path, line, message));
        let allowed = ALLOWED.iter().find(|(manifest, _)| *manifest == path);
        if let Some((_, allowed)) = allowed
            && !is_for_tests
            && !allowed.contains(&name)
        {
            let allowed = allowed.join(", ");
            report(format!("must not depend on {name}, only on {allowed}"));
        }
        if FORBIDDEN.contains(&(path, name)) || name == LEAF {
            report(format!("must not depend on {name}"));
        }
    }
    violations
}

/// The names of all dependencies, including those of single platforms, and whether they are for
/// tests only.
fn dependencies(manifest: &toml::Table) -> Vec<(bool, &str)> {
    let platforms = manifest.get("target").and_then(toml::Value::as_table);
    let platforms = platforms.into_iter().flat_map(toml::Table::values);
    let tables = platforms
        .filter_map(toml::Value::as_table)
        .chain([manifest]);
    let kinds = tables
        .flatten()
        .filter(|(kind, _)| kind.ends_with("dependencies"));
    kinds
        .filter_map(|(kind, table)| Some((kind.starts_with("dev"), table.as_table()?)))
        .flat_map(|(is_for_tests, table)| {
            table.keys().map(move |name| (is_for_tests, name.as_str()))
        })
        .collect()
}

/// The rules for references between the files of a crate, and to other crates.
pub fn in_crate(unit: &Crate) -> Vec<Violation> {
    let references = unit.references();
    let inside = references.iter().filter_map(|((from, to), line)| {
        let [from, to] = [from, to].map(|module| unit.files[module].path.as_str());
        let message = format!("must not refer to {to}");
        is_forbidden(from, to).then(|| Violation::new(from, *line, message))
    });
    let formats = unit.outside().filter_map(|(source, name, line)| {
        let may_know = source.path.starts_with(TRACE) || source.path.starts_with(PYTHON);
        let is_foreign = FORMATS.contains(&name) && !may_know;
        let message = format!("{name} is a file format, known only below {TRACE}");
        is_foreign.then(|| Violation::new(&source.path, line, message))
    });
    inside.chain(formats).collect()
}

/// Files of runs must not depend on those of traces; in weir-proto only a transport itself and the
/// files that name all transports may refer to it.
fn is_forbidden(from: &str, to: &str) -> bool {
    if let (Some(from), Some(to)) = (from.strip_prefix(PROTO), to.strip_prefix(PROTO)) {
        let [user, used] = [from, to].map(|path| path.split(['/', '.']).next());
        let is_transport = used.is_some_and(|used| TRANSPORTS.contains(&used));
        return is_transport && user != used && !NAME_ALL_TRANSPORTS.contains(&from);
    }
    from.starts_with(RUN) && to.starts_with(TRACE)
}

/// The rules for single words in a file.
pub fn in_source(source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    let file = source.path.strip_prefix(NET);
    let is_stage =
        file.is_some_and(|file| !READ_BODIES.iter().any(|known| file.starts_with(known)));
    let mut previous = "";
    for token in &source.tokens {
        let name = token.text.as_str();
        let line = token.start.line;
        let mut report = |message: String| {
            violations.push(Violation::new(&source.path, line, message));
        };
        if is_stage && ["body", "Body"].contains(&name) && !source.is_test(line) {
            report("a link, queue or loss model must not read the body of a packet".to_owned());
        }
        if previous == "fn" && PARSERS.contains(&name) && source.path != UNITS {
            report(format!("{name} is defined in {UNITS} alone"));
        }
        previous = name;
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{lines, sources};

    /// The lines that break a rule in a file beside one of each transport.
    fn crate_lines(path: &str, text: &str) -> Vec<usize> {
        let mut files = vec![
            ("crates/weir-proto/src/dccp/wire.rs", "pub struct Packet;"),
            ("crates/weir-proto/src/quic/mod.rs", "pub struct Packet;"),
            ("crates/weir-proto/src/tcp.rs", "pub struct Segment;"),
            ("crates/weir-proto/src/dccp/mod.rs", "pub use wire::Packet;"),
            ("crates/weir-proto/src/lib.rs", "pub use tcp::Segment;"),
        ];
        files.retain(|(known, _)| *known != path);
        files.push((path, text));
        let sources = sources(&files);
        let crates = Crate::all(&sources);
        let found = crates.iter().flat_map(in_crate);
        let here = found.filter(|violation| violation.path == path);
        here.map(|violation| violation.line).collect()
    }

    #[test]
    fn a_transport_that_knows_another_is_found() {
        for (file, text) in [
            ("dccp/state.rs", "use crate::quic::Packet;"),
            ("quic/ack.rs", "use crate::dccp as d; type A = d::Packet;"),
            ("quic/ack.rs", "use super::super::dccp::wire::Packet;"),
            ("cc/mod.rs", "fn f(p: crate::dccp::Packet) {}"),
            ("cc/mod.rs", "use crate::Segment;"),
            ("node.rs", "use crate::quic::Packet;"),
            ("dccp/state.rs", "fn f() { m!(crate::quic::Packet) }"),
        ] {
            let path = format!("{PROTO}{file}");
            assert_eq!(crate_lines(&path, text), [1], "{file}: {text}");
        }
    }

    #[test]
    fn own_modules_and_the_files_of_all_transports_pass() {
        for (file, text) in [
            ("dccp/state.rs", "use crate::dccp::wire;"),
            ("packet.rs", "use crate::{dccp::Packet, quic::Frame};"),
            (
                "quic/ack.rs",
                "//! Unlike crate::dccp.\nfn f(dccp: u8) { dccp.len() }",
            ),
            (
                "cc/mod.rs",
                "#[cfg(test)]\nmod tests { use crate::dccp::Packet; }",
            ),
        ] {
            let path = format!("{PROTO}{file}");
            assert!(crate_lines(&path, text).is_empty(), "{file}: {text}");
        }
    }

    #[test]
    fn a_run_that_knows_a_trace_is_found() {
        let [run, trace] = [RUN, TRACE].map(|folder| format!("{folder}mod.rs"));
        let text = "pub struct A; use crate::{run, trace}; type B = (run::A, trace::A);";
        let sources = sources(&[(run.as_str(), text), (trace.as_str(), text)]);
        let found: Vec<Violation> = Crate::all(&sources).iter().flat_map(in_crate).collect();
        assert_eq!(
            found,
            [Violation::new(
                &run,
                1,
                format!("must not refer to {trace}")
            )]
        );
    }

    #[test]
    fn formats_are_known_to_the_trace_only() {
        let run = "crates/weir-lab/src/run/mod.rs";
        for text in [
            "use arrow_array::Array;",
            "use flate2;",
            "fn f() { parquet::file::x() }",
        ] {
            assert_eq!(crate_lines(run, text), [1], "{text}");
            assert!(crate_lines("crates/weir-lab/src/trace/folder.rs", text).is_empty());
        }
        let harmless = "fn f() { path.join(\"packets.parquet\"); let arrow = 1; }";
        assert!(crate_lines(run, harmless).is_empty());
    }

    #[test]
    fn only_hosts_read_bodies() {
        for text in [
            "fn f() { packet.body }",
            "fn f() { let Packet { body, .. } = p; }",
            "fn f() { Body::Other(x) }",
        ] {
            let found = |file| lines(in_source, &format!("{NET}{file}"), text);
            assert_eq!(found("link.rs"), [1], "{text}");
            assert!(found("app/bulk.rs").is_empty());
            assert!(found("link/tests.rs").is_empty());
        }
        let harmless = "// its body\nfn f() { p.size }";
        assert!(lines(in_source, &format!("{NET}link.rs"), harmless).is_empty());
    }

    #[test]
    fn a_second_parser_of_units_is_found() {
        let text = "pub fn parse_rate(text: &str) {}";
        let other = "crates/weir/src/main.rs";
        assert_eq!(lines(in_source, other, text), [1]);
        assert!(lines(in_source, UNITS, text).is_empty());
        assert!(lines(in_source, other, "fn f() { parse_rate(x) }").is_empty());
    }

    fn manifest_lines(path: &str, text: &str) -> Vec<usize> {
        let text = format!("lints.workspace = true\n{text}");
        manifest(&TextFile::new(path, text))
            .iter()
            .map(|found| found.line)
            .collect()
    }

    #[test]
    fn a_dependency_that_is_not_allowed_is_found() {
        let proto = "crates/weir-proto/Cargo.toml";
        for entry in ["getrandom.workspace = true", "mio = \"1\"", "tokio={}"] {
            let text = format!("[dependencies]\nlibm = \"0.2\"\n{entry}\n");
            assert_eq!(manifest_lines(proto, &text), [4], "{entry}");
            let platform = text.replace("[dep", "[target.'cfg(unix)'.dep");
            assert_eq!(manifest_lines(proto, &platform), [4], "{entry}");
            let tests = text.replace("dependencies", "dev-dependencies");
            assert!(manifest_lines(proto, &tests).is_empty(), "{entry}");
            assert!(manifest_lines("crates/weir-lab/Cargo.toml", &text).is_empty());
        }
        let table = "[dependencies.mio]\nversion = \"1\"\n";
        assert_eq!(manifest_lines(proto, table).len(), 1);
    }

    #[test]
    fn lab_and_wire_do_not_depend_on_each_other() {
        for (path, name) in FORBIDDEN {
            let text = format!("[dev-dependencies]\n{name}.workspace = true\n");
            assert_eq!(manifest_lines(path, &text), [3]);
        }
        let text = "# not weir-wire\n[dependencies]\nweir-net.workspace = true\n";
        assert!(manifest_lines("crates/weir-lab/Cargo.toml", text).is_empty());
    }

    #[test]
    fn the_module_for_browsers_depends_on_the_laboratory_and_none_on_it() {
        let wasm = "crates/weir-wasm/Cargo.toml";
        let text = "[dependencies]\nweir-lab.workspace = true\nweir-net.workspace = true\n";
        assert_eq!(manifest_lines(wasm, text), [4]);
        let text = "[dependencies]\nweir-wasm.workspace = true\n";
        assert_eq!(manifest_lines("crates/weir/Cargo.toml", text), [3]);
    }

    #[test]
    fn a_crate_without_the_lints_of_the_workspace_is_found() {
        let file = |text: &str| TextFile::new("crates/a/Cargo.toml", text.to_owned());
        assert_eq!(manifest(&file("[package]\nname = \"a\"\n")).len(), 1);
        assert_eq!(manifest(&file("[lints]\nworkspace = false\n")).len(), 1);
        assert!(manifest(&file("[lints]\nworkspace = true\n")).is_empty());
    }
}

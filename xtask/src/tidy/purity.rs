//! The protocols and the network know no clock, file, socket, thread, environment, hash order or
//! platform float: the same input must give the same bytes on every machine.

use super::Breach;
use crate::lexed::Source;
use crate::token::{paths, tokens};

const PURE_ROOMS: [&str; 2] = ["crates/weir-proto/src/", "crates/weir-net/src/"];

/// Modules of the standard library that reach out of the program.
const OUTSIDE: [&str; 6] = ["env", "fs", "io", "net", "process", "thread"];

/// Float functions whose last bit differs between platforms; `libm` has them all.
const PLATFORM_FLOATS: [&str; 27] = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "exp",
    "exp2", "exp_m1", "hypot", "ln", "ln_1p", "log", "log10", "log2", "powf", "powi", "sin",
    "sin_cos", "sinh", "tan", "tanh", "mul_add",
];

/// All that the pure rooms may build on; none of it reaches out of the program either.
const FOUNDATIONS: [(&str, &[&str]); 2] = [
    (
        "crates/weir-proto/Cargo.toml",
        &["libm", "rand_core", "rand_xoshiro", "smallvec"],
    ),
    ("crates/weir-net/Cargo.toml", &["libm", "weir-proto"]),
];

/// A pure room depends on nothing that has not been looked at; its tests are free.
pub fn foundations_are_known(path: &str, text: &str) -> Vec<Breach> {
    let Some((_, known)) = FOUNDATIONS.iter().find(|(manifest, _)| *manifest == path) else {
        return Vec::new();
    };
    let mut counts = false;
    let mut breaches = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let code = line.split('#').next().unwrap_or_default().trim();
        // An entry of the table of dependencies, or a table of its own for one of them.
        let mut entry = code;
        if let Some(head) = code.strip_prefix('[') {
            let head = head.trim_end_matches(']');
            let (table, own) = head.split_once("dependencies").unwrap_or_default();
            counts = head.contains("dependencies") && !table.ends_with("dev-");
            entry = own.trim_start_matches('.');
        }
        let name = entry.split(['.', '=', ' ']).next().unwrap_or_default();
        if counts && !name.is_empty() && !known.contains(&name) {
            let message = format!(
                "{name} is not among the foundations of a pure room: {}",
                known.join(", ")
            );
            breaches.push(Breach::new(path, index + 1, message));
        }
        if code.starts_with('[') && !entry.is_empty() {
            counts = false;
        }
    }
    breaches
}

pub fn check(source: &Source) -> Vec<Breach> {
    if !PURE_ROOMS.iter().any(|room| source.path.starts_with(room)) {
        return Vec::new();
    }
    let tokens = tokens(source.shipped());
    let mut breaches = Vec::new();
    for path in paths(&tokens) {
        if let Some(what) = impure_path(&path.words) {
            breaches.push(Breach::new(&source.path, path.line, what));
        }
    }
    for window in tokens.windows(3) {
        let [before, name, after] = window else {
            continue;
        };
        if before.text == "." && after.text == "(" && PLATFORM_FLOATS.contains(&name.text) {
            breaches.push(Breach::new(
                &source.path,
                name.line,
                platform_float(name.text),
            ));
        }
    }
    for token in &tokens {
        if ["HashMap", "HashSet"].contains(&token.text) {
            let message = format!(
                "{} has no fixed order, use BTreeMap, BTreeSet or Vec",
                token.text
            );
            breaches.push(Breach::new(&source.path, token.line, message));
        }
    }
    breaches
}

fn impure_path(words: &[&str]) -> Option<String> {
    match words {
        ["std", "time", "Duration", ..] => None,
        ["std", "time", ..] => Some("std::time is a wall clock, use weir_proto::time".to_owned()),
        ["std", module, ..] if OUTSIDE.contains(module) => Some(format!(
            "std::{module} reaches outside, and this room must not"
        )),
        ["f64" | "f32", function] if PLATFORM_FLOATS.contains(function) => {
            Some(platform_float(function))
        }
        _ => None,
    }
}

fn platform_float(function: &str) -> String {
    format!("{function} differs between platforms, use libm")
}

#[cfg(test)]
mod tests {
    use super::{check, foundations_are_known};
    use crate::tidy::found;

    const FILE: &str = "crates/weir-proto/src/cc/mod.rs";

    #[test]
    fn clocks_files_threads_and_hash_order_are_found() {
        for text in [
            "use std::time::Instant;",
            "use std::{fmt, fs};",
            "let t = std::time::SystemTime::now();",
            "std::thread::sleep(x);",
            "use std::net::UdpSocket;",
            "let seed = std::env::var(\"X\");",
            "fn f(map: &HashMap<u8, u8>) {}",
            "use std::collections::{BTreeMap, HashSet};",
        ] {
            assert_eq!(found(check, FILE, text), [1], "{text}");
        }
    }

    #[test]
    fn platform_floats_are_found() {
        for text in [
            "x.powf(2.0)",
            "2.0_f64.ln()",
            "y\n    .exp()",
            "f64::powi(x, 2)",
        ] {
            assert_eq!(found(check, FILE, text).len(), 1, "{text}");
        }
    }

    #[test]
    fn pure_code_passes() {
        for text in [
            "use crate::time::Instant;",
            "libm::exp(x.sqrt())",
            "use std::time::Duration;",
            "// std::fs is not for us",
            "let x = \"std::fs\"; self.log = 1;",
            "#[cfg(test)]\nmod tests {\n    use std::fs;\n}",
        ] {
            assert!(found(check, FILE, text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_foundation_that_nobody_has_looked_at_is_found() {
        let lines = |path: &str, text: &str| -> Vec<usize> {
            let breaches = foundations_are_known(path, text);
            breaches.into_iter().map(|breach| breach.line).collect()
        };
        let proto = "crates/weir-proto/Cargo.toml";
        for entry in ["getrandom.workspace = true", "mio = \"1\"", "tokio={}"] {
            let text = format!("[dependencies]\nlibm = \"0.2\"\n{entry}\n");
            assert_eq!(lines(proto, &text), [3], "{entry}");
            let text = text.replace("[dep", "[target.'cfg(unix)'.dep");
            assert_eq!(lines(proto, &text), [3], "{entry}");
            let text = text.replace("dependencies", "dev-dependencies");
            assert!(lines(proto, &text).is_empty(), "{entry}");
        }
        assert_eq!(lines(proto, "[dependencies.mio]\nversion = \"1\"\n"), [1]);
        let known = "[dependencies]\n# for logarithms\nlibm.workspace = true\n\n[lints]\nx = 1\n";
        assert!(lines(proto, known).is_empty());
        let lab = "[dependencies]\nserde = \"1\"\n";
        assert!(lines("crates/weir-lab/Cargo.toml", lab).is_empty());
    }

    #[test]
    fn other_rooms_and_tests_are_free() {
        for path in [
            "crates/weir-lab/src/run/mod.rs",
            "crates/weir-net/src/link/tests.rs",
        ] {
            assert!(found(check, path, "use std::fs;").is_empty(), "{path}");
        }
    }
}

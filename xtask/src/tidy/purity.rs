//! The protocols and the network know no clock, file, socket, thread, environment, hash order or
//! platform float: the same input must give the same bytes on every machine.

use super::Breach;
use crate::source::Source;
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
    use super::check;
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
    fn other_rooms_and_tests_are_free() {
        for path in [
            "crates/weir-lab/src/run/mod.rs",
            "crates/weir-net/src/link/tests.rs",
        ] {
            assert!(found(check, path, "use std::fs;").is_empty(), "{path}");
        }
    }
}

//! The chores of the workspace: `cargo xtask tidy | rfc | ci`.
//!
//! `tidy` holds the rules that no compiler knows, `rfc` shows which sections of which RFC are
//! cited by code and by tests, `ci` runs everything that a change must pass.
#![forbid(unsafe_code)]

mod ci;
mod citation;
mod lexed;
mod licence;
mod modules;
mod output;
mod rfc;
#[allow(dead_code)]
mod source;
mod tidy;
mod token;
mod tree;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask <tidy|rfc|ci>
  tidy  report each breach of the house rules as path:line: message
  rfc   list the RFC sections that code and tests cite
  ci    run the format check, clippy, the tests, tidy and the check of the fuzz targets";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["tidy"] => tidy::run(&tree::root()),
        ["rfc"] => rfc::run(&tree::root()),
        ["ci"] => ci::run(&tree::root()),
        ["help" | "--help" | "-h"] => {
            output::line(USAGE);
            Ok(true)
        }
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

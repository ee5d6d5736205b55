//! The tasks of the workspace, `cargo xtask TASK`.
//!
//! `tidy` checks the repository rules that rustfmt, clippy and cargo-deny cannot check, `rfc` lists
//! the RFC sections cited by code and by tests, and the constants of RFCs that no vector names,
//! `mutants` changes code to check whether tests fail, `notices` writes the licences of the
//! command's dependencies, `verdicts` compares the published experiments with other seeds, `ci`
//! runs `test.sh`.
#![forbid(unsafe_code)]

mod citation;
mod modules;
mod mutants;
mod notices;
mod output;
mod rfc;
mod source;
mod tidy;
mod tree;
mod vectors;
mod verdicts;

use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask <tidy|rfc|mutants|notices|verdicts|ci>
  tidy      report each violation of the repository rules as path:line: message
  rfc       list the RFC sections that code and tests cite, and constants without a vector
  mutants [FOLDER…] [--only TEXT]
            change the numbers and operators of the controllers and queues, one at a time, and tell
            which changes the tests do not notice (minutes)
  notices   write crates/weir/THIRD-PARTY-NOTICES; with --check, compare it
  verdicts  reproduce the experiments under other seeds and compare every verdict (minutes)
  ci        run ./test.sh: formatting, lints, tidy and all tests";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["tidy"] => tidy::run(&tree::root()),
        ["rfc"] => rfc::run(&tree::root()),
        ["notices"] => notices::run(&tree::root(), false),
        ["notices", "--check"] => notices::run(&tree::root(), true),
        ["mutants", arguments @ ..] => mutants::run(&tree::root(), arguments),
        ["verdicts"] => verdicts::run(&tree::root()),
        ["ci"] => ci(),
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

/// Runs `test.sh`, which contains the list of all checks.
fn ci() -> Result<bool, String> {
    let status = Command::new("./test.sh").current_dir(tree::root()).status();
    let status = status.map_err(|error| format!("./test.sh: {error}"))?;
    Ok(status.success())
}

//! The verb `bench` alone: `cargo run --release -p weir --example bench -- bench --help`.

use clap::Parser;
use std::process::ExitCode;

#[path = "../src/verbs/bench.rs"]
mod bench;

#[derive(Parser)]
enum Verb {
    Bench(bench::BenchArgs),
}

fn main() -> ExitCode {
    let Verb::Bench(args) = Verb::parse();
    match bench::run(&args, &mut std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

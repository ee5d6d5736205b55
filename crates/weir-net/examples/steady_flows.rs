//! Runs one network of the speed measurement and prints its counters: a small program for
//! profilers.
//!
//! `steady_flows TRANSPORT TOPOLOGY FLOWS SECONDS`, for example `steady_flows quic dumbbell 10 5`:
//! that many seconds of virtual time after the warm-up. `scripts/instructions.sh` runs it.
#![allow(
    clippy::disallowed_methods,
    reason = "a program reads its arguments; the library does not"
)]

use std::process::ExitCode;
use weir_net::bench::{Bench, Topology, Transport, warm_up};
use weir_proto::time::Duration;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("{wrong}");
            ExitCode::from(2)
        }
    }
}

fn run(words: &[String]) -> Result<String, String> {
    let [transport, topology, flows, seconds] = words else {
        return Err("usage: steady_flows quic|tcp|dccp dumbbell|one-link FLOWS SECONDS".to_owned());
    };
    let transport = Transport::ALL
        .into_iter()
        .find(|one| one.name() == transport);
    let transport = transport.ok_or("unknown transport")?;
    let topology = Topology::ALL.into_iter().find(|one| one.name() == topology);
    let topology = topology.ok_or("unknown topology")?;
    let number = |word: &String| {
        word.parse::<u32>()
            .map_err(|error| format!("{word}: {error}"))
    };
    let (flows, seconds) = (number(flows)?, number(seconds)?);
    let mut bench = Bench::of(transport, topology, flows).map_err(|error| error.to_string())?;
    bench
        .run(warm_up(flows))
        .map_err(|stuck| stuck.to_string())?;
    let time = Duration::from_secs(u64::from(seconds));
    let counts = bench.run(time).map_err(|stuck| stuck.to_string())?;
    Ok(format!(
        "data_packets {} packets {} dropped {} events {} utilisation {:.4}",
        counts.data_packets, counts.packets, counts.dropped, counts.events, counts.utilisation
    ))
}

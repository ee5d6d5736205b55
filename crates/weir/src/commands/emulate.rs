//! `weir emulate`: a simulated link between real programs, in real time. Either a UDP relay from
//! one port to another, which needs no privileges, or a network namespace for a program, all of
//! whose packets pass the link.

use super::runs::read_scenario;
use crate::arguments;
use crate::exit::Failure;
use crate::terminal;
use clap::Args;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;
use weir_lab::scenario::{Scenario, link_scenario, parse};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The link, in the words of tc: "rate 1mbit delay 25ms 2ms loss 0.1% limit 50",
    /// "tbf rate 1000kbit buffer 10000 limit 30000", "delay 20ms fq_codel", "mahimahi FILE"
    #[arg(long, value_name = "WORDS", required_unless_present = "scenario")]
    link: Option<String>,
    /// The link's other direction, if it differs: from the server, or to the program
    #[arg(long, value_name = "WORDS", requires = "link")]
    back: Option<String>,
    /// In place of --link: the network of a scenario, between the hosts of its first flow
    #[arg(long, value_name = "FILE", conflicts_with = "link")]
    scenario: Option<PathBuf>,
    /// Relay: the address and port to listen at; port 0 for any
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    #[arg(requires = "to", conflicts_with = "program")]
    listen: Option<SocketAddr>,
    /// Relay: the server's address and port
    #[arg(long, value_name = "ADDRESS", value_parser = address, conflicts_with = "program")]
    to: Option<SocketAddr>,
    /// Seed of losses and jitter
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Relay: end after so long: seconds, or with a unit
    #[arg(short, long, value_name = "TIME", value_parser = arguments::time)]
    #[arg(conflicts_with = "program")]
    time: Option<Duration>,
    /// Write what comes and leaves as pcapng
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Program: show the rate, queue and drops of the link each second; a relay shows them anyway
    #[arg(long, requires = "program")]
    live: bool,
    /// The program and its arguments
    #[arg(last = true)]
    program: Vec<String>,
}

/// An address with a port; a name such as `localhost:5201` is resolved.
fn address(word: &str) -> Result<SocketAddr, String> {
    let expected = "expected an address and a port, such as 192.0.2.1:5201 or [::1]:5201";
    let mut found = word
        .to_socket_addrs()
        .map_err(|error| match word.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => error.to_string(),
            _ => expected.to_owned(),
        })?;
    // A name may have IPv6 and IPv4 addresses; a relay needs only one, and IPv4 is preferred.
    let first = found.next().ok_or_else(|| expected.to_owned())?;
    Ok(found
        .find(|address| address.is_ipv4() && first.is_ipv6())
        .unwrap_or(first))
}

fn scenario(arguments: &Arguments) -> Result<Scenario, Failure> {
    if let Some(file) = &arguments.scenario {
        let mut scenario = parse(&read_scenario(file)?, &file.display().to_string())?;
        scenario.run.seed = arguments.seed;
        return Ok(scenario);
    }
    let link = arguments.link.as_deref().unwrap_or_default();
    let back = arguments.back.as_deref();
    link_scenario(link, back, arguments.seed).map_err(|error| Failure::Usage(error.to_string()))
}

/// Emulates until Ctrl-C, or until the program ends.
#[cfg(target_os = "linux")]
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let scenario = scenario(arguments)?;
    terminal::detail(|| scenario.resolved_toml());
    let emulation = crate::emulation::Emulation {
        scenario,
        time: arguments.time,
        pcap: arguments.pcap.clone(),
        live: arguments.live,
    };
    match (arguments.to, arguments.program.as_slice()) {
        (Some(to), _) if to.port() == 0 => {
            let message = format!("--to {to}: port 0 is no server's");
            Err(Failure::Usage(message))
        }
        (Some(to), []) => emulation.relay(arguments.listen, to),
        (None, [program, words @ ..]) => emulation.program(program, words),
        _ => {
            let message = "expected --to ADDRESS for a relay, or -- and a program";
            Err(Failure::Usage(message.to_owned()))
        }
    }
}

/// Emulation needs system calls of Linux.
#[cfg(not(target_os = "linux"))]
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    scenario(arguments)?;
    let message = "emulation needs Linux; `weir run` simulates such a link";
    Err(Failure::Unavailable(message.to_owned()))
}

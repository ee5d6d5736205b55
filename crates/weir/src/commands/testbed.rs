//! `weir testbed SCENARIO`: the scenario's endpoints on real sockets, its hosts network
//! namespaces, its token buckets the kernel's, everything else of its links the simulator's in
//! real time. Gives the folder that `weir run` gives.

use super::run::{scenarios, text};
use crate::exit::Failure;
use crate::interrupt::interrupt_flag;
use crate::terminal;
use clap::Args;
use std::path::PathBuf;
use weir_lab::scenario::{Override, Scenario};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The scenario, TOML
    scenario: PathBuf,
    /// Change a value, or several in turn: flow.stream.transport.tfrc.oscillation=off,full
    #[arg(long = "set", value_name = "PATH=VALUE[,VALUE…]")]
    set: Vec<String>,
    /// Where the folders of the runs go
    #[arg(long, short, default_value = "results")]
    out: PathBuf,
    /// Write what the hosts send and receive as pcapng, each host an interface; one run only
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// One JSON document with the summaries
    #[arg(long)]
    pub json: bool,
}

/// Runs the scenario, or one for each combination of values, one after the other.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let scenarios = scenarios(&arguments.scenario, &arguments.set, None)?;
    if arguments.pcap.is_some() && scenarios.len() > 1 {
        let message = "--pcap takes one run, and these values make several";
        return Err(Failure::Usage(message.to_owned()));
    }
    // Before a run takes its time.
    std::fs::create_dir_all(&arguments.out).map_err(|error| {
        let folder = arguments.out.display();
        Failure::Failed(format!("cannot create \"{folder}\": {error}"))
    })?;
    let stop = interrupt_flag()?;
    let mut documents = Vec::new();
    for (number, (overrides, scenario)) in scenarios.iter().enumerate() {
        let seconds = scenario.run.duration.as_secs_f64();
        let count = scenarios.len();
        terminal::status(&format!("run {}/{count}: {seconds} s", number + 1));
        let changed: Vec<_> = overrides.iter().map(Override::text).collect();
        if !arguments.json {
            let changed = changed.iter().map(|change| format!("{change}\n"));
            terminal::print(&changed.collect::<String>())?;
        }
        let mut document = one(arguments, scenario, &stop)?;
        let set = overrides.iter();
        let set = set.map(|one| (one.path.clone(), one.value.clone().into()));
        document["set"] = serde_json::Value::Object(set.collect());
        documents.push(document);
        if stop.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
    }
    if arguments.json {
        let document = serde_json::json!({ "runs": documents });
        terminal::print(&format!("{document:#}\n"))?;
    }
    if stop.load(std::sync::atomic::Ordering::Relaxed) {
        return Err(Failure::Interrupted);
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn one(
    _: &Arguments,
    _: &Scenario,
    _: &std::sync::atomic::AtomicBool,
) -> Result<serde_json::Value, Failure> {
    let message = "network namespaces need Linux; `weir run` simulates the same scenario";
    Err(Failure::Unavailable(message.to_owned()))
}

#[cfg(target_os = "linux")]
fn one(
    arguments: &Arguments,
    scenario: &Scenario,
    stop: &std::sync::atomic::AtomicBool,
) -> Result<serde_json::Value, Failure> {
    use weir_lab::trace::{RunFolder, name_of};
    let output = crate::testbed::run(scenario, arguments.pcap.as_deref(), stop)?;
    // What was cut short shall not take the place of a whole run.
    let interrupted = stop.load(std::sync::atomic::Ordering::Relaxed);
    let ending = if interrupted { "-interrupted" } else { "" };
    let name = format!("{}-testbed{ending}", name_of(scenario));
    let path = arguments.out.join(name);
    RunFolder::write(&output, &path)?;
    let folder = path.display().to_string();
    if !arguments.json {
        terminal::print(&text(&output.summary, &folder))?;
    }
    let summary = serde_json::to_value(&output.summary).unwrap_or_default();
    Ok(serde_json::json!({ "folder": folder, "summary": summary }))
}

//! `weir run SCENARIO`: one run, or one for each combination of `--set` values and seeds.

use crate::exit::Failure;
use crate::interrupt::interrupt_flag;
use crate::quinn;
use crate::terminal;
use clap::Args;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use weir_lab::run::{RunError, RunOptions, RunOutput, Summary, TraceLevel, run as simulate};
use weir_lab::scenario::Scenario;
use weir_lab::scenario::overrides::{self, Override};
use weir_lab::trace::{RunFolder, name_of};
use weir_proto::units::{Rate, format_rate};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The scenario, TOML
    scenario: PathBuf,
    /// Change a value, or several in turn: flow.stream.transport.tfrc.oscillation=off,full
    #[arg(long = "set", value_name = "PATH=VALUE[,VALUE…]")]
    set: Vec<String>,
    /// Run once for each seed: 1..20
    #[arg(long, value_name = "SEEDS")]
    seeds: Option<String>,
    /// Where the folders of the runs go
    #[arg(long, short, default_value = "results")]
    out: PathBuf,
    /// Keep every packet too
    #[arg(long)]
    packets: bool,
    /// Keep the summary only
    #[arg(long, conflicts_with = "packets")]
    summary_only: bool,
    /// One JSON document with the summaries
    #[arg(long)]
    pub json: bool,
}

/// Runs the scenario.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let scenarios = scenarios(
        &arguments.scenario,
        &arguments.set,
        arguments.seeds.as_deref(),
    )?;
    let cancel = interrupt_flag()?;
    let mut documents = Vec::new();
    for (number, (overrides, scenario)) in scenarios.iter().enumerate() {
        let what = format!("run {}/{}", number + 1, scenarios.len());
        let output = one(arguments, scenario, (&what, &cancel))?;
        let path = arguments.out.join(name_of(scenario));
        RunFolder::write(&output, &path)?;
        if arguments.json {
            let summary = serde_json::to_value(&output.summary).unwrap_or_default();
            let folder = path.display().to_string();
            let set: serde_json::Map<_, _> = overrides
                .iter()
                .map(|one| (one.path.clone(), one.value.clone().into()))
                .collect();
            documents.push(serde_json::json!({
                "folder": folder, "set": set, "summary": summary,
            }));
        } else {
            let changed: Vec<_> = overrides.iter().map(Override::text).collect();
            let changed = changed.iter().map(|change| format!("{change}\n"));
            let summary = text(&output.summary, &path.display().to_string());
            terminal::print(&(changed.collect::<String>() + &summary))?;
        }
    }
    if arguments.json {
        let document = serde_json::json!({ "runs": documents });
        terminal::print(&format!("{document:#}\n"))?;
    }
    Ok(())
}

/// Each scenario with what was changed in it; all are checked before the first one runs.
pub fn scenarios(
    path: &Path,
    set: &[String],
    seeds: Option<&str>,
) -> Result<Vec<(Vec<Override>, Scenario)>, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    let axes = set.iter().map(|set| overrides::parse_set(set));
    let axes = axes.collect::<Result<Vec<_>, _>>()?;
    let seeds = match seeds {
        Some(seeds) => overrides::parse_seeds(seeds)?,
        None => Vec::new(),
    };
    let runs = overrides::grid(&axes, &seeds)?;
    let parse = |run: Vec<_>| overrides::parse_with(&text, &name, &run).map(|s| (run, s));
    Ok(runs.into_iter().map(parse).collect::<Result<_, _>>()?)
}

fn one(
    arguments: &Arguments,
    scenario: &Scenario,
    (what, cancel): (&str, &AtomicBool),
) -> Result<RunOutput, Failure> {
    let bar = terminal::progress(100, what);
    let progress = |reached: weir_proto::time::Instant, end: weir_proto::time::Instant| {
        bar.set_position((reached.as_secs_f64() / end.as_secs_f64().max(1e-9) * 100.0) as u64);
    };
    let options = RunOptions {
        trace: if arguments.summary_only {
            TraceLevel::Summary
        } else {
            TraceLevel::Full
        },
        packets: arguments.packets,
        progress: Some(&progress),
        cancel: Some(cancel),
        tap: None,
        registry: quinn::registry(),
    };
    let output = simulate(scenario, &options);
    bar.finish_and_clear();
    output.map_err(|error| match error {
        RunError::Cancelled(_) => Failure::Interrupted,
        error => Failure::Failed(error.to_string()),
    })
}

/// A summary for people.
pub fn text(summary: &Summary, folder: &str) -> String {
    let rate = |bps: f64| format_rate(Rate::from_bps(bps));
    let mut text = String::new();
    for (name, flow) in &summary.flows {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "{name}: {} throughput, {} goodput, {} of {} packets lost",
            rate(flow.throughput_bps),
            rate(flow.goodput_bps),
            flow.packets_lost,
            flow.packets_sent,
        );
        if let Some(rtt) = &flow.rtt_s {
            let _ = write!(
                text,
                ", round trip {:.6} s (max {:.6} s)",
                rtt.mean, rtt.max
            );
        }
        if let Some(ended) = &flow.ended {
            let _ = write!(text, ", ended early: {ended}");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{folder}");
    text
}

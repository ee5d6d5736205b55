//! What `run` and `testbed` share: a scenario with changed values, and the folders and summaries of
//! its runs.

use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::terminal;
use clap::Args;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use weir_lab::run::{RunOutput, Summary};
use weir_lab::scenario::Scenario;
use weir_lab::scenario::overrides::{self, Override};
use weir_lab::trace::RunFolder;
use weir_proto::units::{Rate, format_rate};

/// The arguments that `run` and `testbed` have.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// The scenario, TOML
    scenario: PathBuf,
    /// Change a value, or several in turn: flow.stream.transport.tfrc.oscillation=off,full
    #[arg(long = "set", value_name = "PATH=VALUE[,VALUE…]")]
    set: Vec<String>,
    /// Where the folders of the runs go
    #[arg(long, short, default_value = "results")]
    pub out: PathBuf,
    #[command(flatten)]
    output: JsonOutput,
}

/// A scenario with the values that were changed in it.
pub struct PlannedRun {
    pub overrides: Vec<Override>,
    pub scenario: Scenario,
}

impl RunArguments {
    /// A run for each combination of values and seeds; all are checked before the first one starts.
    pub fn plan(&self, seeds: Option<&str>) -> Result<Vec<PlannedRun>, Failure> {
        let name = self.scenario.display().to_string();
        let text = read_scenario(&self.scenario)?;
        let axes = self.set.iter().map(|set| overrides::parse_set(set));
        let axes = axes.collect::<Result<Vec<_>, _>>()?;
        let seeds = match seeds {
            Some(seeds) => overrides::parse_seeds(seeds)?,
            None => Vec::new(),
        };
        let mut runs = Vec::new();
        for overrides in overrides::grid(&axes, &seeds)? {
            let scenario = overrides::parse_with(&text, &name, &overrides)?;
            runs.push(PlannedRun {
                overrides,
                scenario,
            });
        }
        Ok(runs)
    }
}

/// The text of a scenario's file.
pub fn read_scenario(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

/// The results of all runs of a command.
pub struct RunResults<'a> {
    arguments: &'a RunArguments,
    documents: Vec<Value>,
}

impl<'a> RunResults<'a> {
    /// None yet.
    pub const fn new(arguments: &'a RunArguments) -> Self {
        Self {
            arguments,
            documents: Vec::new(),
        }
    }

    /// Writes a run into the folder with this name, and prints its summary or keeps it for the
    /// document.
    pub fn add(
        &mut self,
        overrides: &[Override],
        output: &RunOutput,
        name: &str,
    ) -> Result<(), Failure> {
        let path = self.arguments.out.join(name);
        RunFolder::write(output, &path)?;
        let folder = path.display().to_string();
        if !self.arguments.output.json {
            let changed = overrides.iter().map(|change| change.text() + "\n");
            let text = changed.collect::<String>() + &summary_text(&output.summary, &folder);
            return Ok(terminal::print(&text)?);
        }
        let set = overrides.iter();
        let set = set.map(|one| (one.path.clone(), one.value.clone().into()));
        self.documents.push(json!({
            "folder": folder,
            "set": set.collect::<Map<_, _>>(),
            "summary": serde_json::to_value(&output.summary).unwrap_or_default(),
        }));
        Ok(())
    }

    /// Prints the document of all runs, if it is wanted.
    pub fn finish(self) -> Result<(), Failure> {
        let document = json!({ "runs": self.documents });
        self.arguments.output.print(&document)
    }
}

/// A summary for people.
fn summary_text(summary: &Summary, folder: &str) -> String {
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
        if let Some(again) = &flow.retransmissions {
            let _ = write!(
                text,
                ", {} retransmitted, {} timeouts",
                again.packets, again.timeouts
            );
        }
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

//! `weir lint SCENARIO`: settings that are valid but probably not intended.

use super::runs::{FindingDocument, read_scenario};
use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::terminal;
use crate::text_table::text_table;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use std::path::PathBuf;
use weir_lab::lint::{Purpose, RULES, lint_for};
use weir_lab::scenario::overrides;

/// The arguments of the command.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weir lint path.toml
  weir lint path.toml --set link.bottleneck.queue.limit=20 --deny")]
pub struct Arguments {
    /// The scenario, TOML; `-` reads standard input
    #[arg(required_unless_present = "rules")]
    scenario: Option<PathBuf>,
    /// Change a value first: link.bottleneck.queue.limit=20
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Also say if nothing is drawn, so that seeds make no difference
    #[arg(long)]
    seeds: bool,
    /// Exit with 3 if something is found
    #[arg(long)]
    deny: bool,
    /// List the rules
    #[arg(long)]
    rules: bool,
    #[command(flatten)]
    output: JsonOutput,
}

/// Prints a line for each finding.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Some(path) = arguments.scenario.as_ref().filter(|_| !arguments.rules) else {
        return list_rules(arguments.output);
    };
    let name = path.display().to_string();
    let text = read_scenario(path)?;
    let mut changes = Vec::new();
    for set in &arguments.set {
        // The last of several values takes precedence, like the last of several `--set`.
        changes.extend(overrides::parse_set(set)?);
    }
    let purpose = if arguments.seeds {
        Purpose::Seeds
    } else {
        Purpose::OneRun
    };
    let findings = lint_for(&overrides::parse_with(&text, &name, &changes)?, purpose);
    if arguments.output.json {
        arguments.output.print(&LintDocument::Findings {
            findings: findings.iter().map(FindingDocument::of).collect(),
        })?;
    } else {
        let lines = findings
            .iter()
            .map(|finding| format!("{name}: {finding}\n"));
        terminal::print(&lines.collect::<String>())?;
    }
    match findings.len() {
        0 => Ok(()),
        n if arguments.deny => Err(Failure::ExpectationFailed(format!(
            "{n} finding{} of weir lint",
            if n == 1 { "" } else { "s" }
        ))),
        _ => Ok(()),
    }
}

/// What `weir lint --json` prints.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LintDocument<'a> {
    /// What was found in a scenario.
    Findings { findings: Vec<FindingDocument<'a>> },
    /// With `--rules`: all rules.
    Rules { rules: Vec<RuleDocument> },
}

/// A rule of `weir lint`.
#[derive(Serialize, JsonSchema)]
pub struct RuleDocument {
    name: &'static str,
    /// What it finds.
    doc: &'static str,
}

fn list_rules(output: JsonOutput) -> Result<(), Failure> {
    if output.json {
        let rules = RULES.iter().map(|rule| RuleDocument {
            name: rule.name,
            doc: rule.doc,
        });
        return output.print(&LintDocument::Rules {
            rules: rules.collect(),
        });
    }
    let rows = RULES.iter().map(|rule| vec![rule.name, rule.doc]);
    Ok(terminal::print(&text_table(
        &rows.collect::<Vec<_>>(),
        "<",
    ))?)
}

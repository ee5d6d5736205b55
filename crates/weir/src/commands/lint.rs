//! `weir lint SCENARIO`: settings that are valid but probably not intended.

use super::runs::read_scenario;
use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::terminal;
use crate::text_table::text_table;
use clap::Args;
use serde_json::json;

use std::path::PathBuf;
use weir_lab::lint::{RULES, lint};
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
    let findings = lint(&overrides::parse_with(&text, &name, &changes)?);
    if arguments.output.json {
        arguments.output.print(&json!({ "findings": findings }))?;
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

fn list_rules(output: JsonOutput) -> Result<(), Failure> {
    if output.json {
        let rules = RULES
            .iter()
            .map(|rule| json!({ "name": rule.name, "doc": rule.doc }));
        let rules: Vec<_> = rules.collect();
        return output.print(&json!({ "rules": rules }));
    }
    let rows = RULES.iter().map(|rule| vec![rule.name, rule.doc]);
    Ok(terminal::print(&text_table(
        &rows.collect::<Vec<_>>(),
        "<",
    ))?)
}

//! Helpers for tests: scenarios and outputs from text and tables.

use crate::run::{FlowTrace, RunOptions, RunOutput, Summary, TraceLevel, run};
use crate::scenario::parse;
use crate::table::{Column, Table, Values};

/// Options that trace flows and links but not packets.
pub(crate) fn traced() -> RunOptions<'static> {
    RunOptions {
        trace: TraceLevel::Full,
        ..RunOptions::default()
    }
}

/// Runs this scenario.
pub(crate) fn run_text(text: &str, options: &RunOptions<'_>) -> RunOutput {
    let scenario = parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, options).unwrap_or_else(|error| panic!("{error}"))
}

/// The flow `stream` from `server` to `client` over the link `wire`, with these keys of `[run]`, of
/// the link and of the flow.
pub(crate) fn stream_over(run: &str, link: &str, flow: &str) -> String {
    format!(
        r#"
[run]
{run}

[[link]]
name = "wire"
between = ["server", "client"]
{link}

[[flow]]
name = "stream"
from = "server"
to = "client"
{flow}
"#
    )
}

/// A table of these columns.
pub(crate) fn table(columns: &[(&str, Values)]) -> Table {
    let columns = columns.iter().map(|(name, values)| Column {
        name: (*name).to_owned(),
        values: values.clone(),
    });
    Table {
        columns: columns.collect(),
    }
}

/// The output of a run of flows with these names and traces.
pub(crate) fn output_of(flows: &[(&str, Table)]) -> RunOutput {
    let text = stream_over(
        "duration = \"1s\"",
        "delay = \"1ms\"",
        "transport = { kind = \"tcp\" }",
    );
    let flows = flows.iter();
    let flows = flows.map(|(name, table)| FlowTrace::new((*name).to_owned(), table.clone()));
    RunOutput {
        scenario: parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}")),
        summary: Summary::default(),
        flows: flows.collect(),
        links: Vec::new(),
        transfers: Vec::new(),
        delays: None,
        packets: None,
        stages: None,
    }
}

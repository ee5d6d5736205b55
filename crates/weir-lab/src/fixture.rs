//! What tests run: scenarios from text.

use crate::run::{RunOptions, RunOutput, TraceLevel, run};
use crate::scenario::parse;

/// Flows and links are traced, packets are not.
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

//! Arguments that several commands have, and the parsers of their values.

use crate::exit::Failure;
use crate::terminal;
use clap::Args;
use serde_json::{Value, json};
use std::time::Duration;
use weir_proto::units;

/// `--json`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct JsonOutput {
    /// One JSON document on stdout, and nothing else there: the result or table, the summaries, or
    /// the files written
    #[arg(long)]
    pub json: bool,
}

impl JsonOutput {
    /// Prints the document if it is wanted.
    pub fn print(self, document: &Value) -> Result<(), Failure> {
        if self.json {
            terminal::print(&format!("{document:#}\n"))?;
        }
        Ok(())
    }
}

/// Prints the names of files that were written, or a document with them.
pub fn print_files(output: JsonOutput, files: &[String]) -> Result<(), Failure> {
    if output.json {
        return output.print(&json!({ "files": files }));
    }
    Ok(terminal::print(&format!("{}\n", files.join("\n")))?)
}

/// A time: seconds as a number, or with a unit.
pub fn time(text: &str) -> Result<Duration, String> {
    let seconds = match text.parse::<f64>() {
        Ok(seconds) => seconds,
        Err(_) => units::parse_duration(text)
            .map_err(|error| error.to_string())?
            .as_secs_f64(),
    };
    if !(0.0..=86_400.0).contains(&seconds) {
        return Err(format!("expected at most a day, found {text}"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// A rate in bits per second.
pub fn rate(text: &str) -> Result<f64, String> {
    let bps = units::parse_rate(text)
        .map_err(|error| error.to_string())?
        .as_bps();
    if bps < 1.0 {
        return Err("expected at least 1 bit per second".to_owned());
    }
    Ok(bps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_have_a_unit() {
        assert_eq!(time("10"), Ok(Duration::from_secs(10)));
        assert_eq!(time("250ms"), Ok(Duration::from_millis(250)));
        assert!(time("-1").is_err() && time("1e9").is_err() && time("soon").is_err());
        assert!(rate("10Mbit").is_ok() && rate("10").is_err());
    }
}

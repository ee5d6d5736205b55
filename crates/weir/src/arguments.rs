//! Arguments shared by several commands, and the parsers of their values.

use crate::exit::Failure;
use crate::terminal;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;
use weir_lab::json::versioned;
use weir_proto::units;

/// `--json`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct JsonOutput {
    /// One JSON document on stdout, and nothing else there: the result or table, the summaries, or
    /// the files written
    #[arg(short = 'J', long)]
    pub json: bool,
}

impl JsonOutput {
    /// Prints the document with its version if `--json` is given.
    pub fn print(self, document: &impl Serialize) -> Result<(), Failure> {
        if self.json {
            terminal::print(&versioned(document))?;
        }
        Ok(())
    }
}

/// The files that a command has written.
#[derive(Serialize, JsonSchema)]
pub struct FilesDocument<'a> {
    files: &'a [String],
}

/// Prints the names of written files, or a document with them.
pub fn print_files(output: JsonOutput, files: &[String]) -> Result<(), Failure> {
    if output.json {
        return output.print(&FilesDocument { files });
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
        return Err(format!(
            "expected 0 to a day, in seconds or with a unit, found {text}"
        ));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// The maximum rate of a test, in bits per second.
const MAX_RATE_BPS: f64 = 1e12;

/// A rate in bits per second: in the notation of tc and of scenarios (`7Mbit`), or in that of
/// iperf, whose prefixes are decimal in either case (`7m`, `7M`, `7000k`, `1.5g`, `7000000`).
pub fn rate(text: &str) -> Result<f64, String> {
    let bps = match iperf_rate(text) {
        Some(bps) => bps,
        None => units::parse_rate(text)
            .map_err(|error| error.to_string())?
            .as_bps(),
    };
    if !(1.0..=MAX_RATE_BPS).contains(&bps) {
        return Err(format!("expected 1 bit to 1 Tbit per second, found {text}"));
    }
    Ok(bps)
}

/// A number with at most one letter after it; `None` for anything else.
fn iperf_rate(text: &str) -> Option<f64> {
    let (number, scale) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (text.get(..at)?, 1e3),
        (at, 'm' | 'M') => (text.get(..at)?, 1e6),
        (at, 'g' | 'G') => (text.get(..at)?, 1e9),
        (at, 't' | 'T') => (text.get(..at)?, 1e12),
        _ => (text, 1.0),
    };
    let plain = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = number.parse().ok().filter(|_| plain)?;
    Some(number * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_have_a_unit() {
        assert_eq!(time("10"), Ok(Duration::from_secs(10)));
        assert_eq!(time("250ms"), Ok(Duration::from_millis(250)));
        assert!(time("-1").is_err() && time("1e9").is_err() && time("soon").is_err());
    }

    #[test]
    fn rates_are_tcs_words_or_iperfs() {
        for (text, bps) in [
            ("7m", 7e6),
            ("7M", 7e6),
            ("7000k", 7e6),
            ("7000K", 7e6),
            ("1.5g", 1.5e9),
            ("1T", 1e12),
            ("7000000", 7e6),
            ("7Mbit", 7e6),
            ("7000kbit", 7e6),
            ("7mbit", 7e6),
            ("300bit", 300.0),
        ] {
            assert_eq!(rate(text), Ok(bps), "{text}");
        }
        for text in [
            "", "m", "-7m", "1e3m", "7x", "7 mm", "0", "0m", "2T", ".", "nan", "inf",
        ] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}

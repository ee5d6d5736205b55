//! `rate_trace = …`: the times at which a link may send, from a file or a list.

use std::sync::Arc;
use weir_net::OCTETS_PER_OPPORTUNITY;
use weir_proto::settings::{Diagnostic, Kind, Raw, Reader, Spanned, Value};
use weir_proto::units::Rate;

/// Delivery opportunities of 1504 octets each, as in mahimahi.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateTrace {
    /// The file of the trace, until it is read.
    pub file: Option<String>,
    /// Times in milliseconds, in order; empty without a trace. Shared, because a trace may be long.
    pub millis: Arc<[u64]>,
}

impl RateTrace {
    /// The mean rate over its period; `None` without a trace.
    pub fn mean_rate(&self) -> Option<Rate> {
        let period = self.millis.last().filter(|&&period| period > 0)?;
        let bits = self.millis.len() as f64 * f64::from(OCTETS_PER_OPPORTUNITY) * 8.0;
        Some(Rate::from_bps(bits * 1e3 / *period as f64))
    }
}

impl Value for RateTrace {
    fn read(&mut self, value: &Spanned, reader: &mut Reader<'_>) -> Result<(), Diagnostic> {
        if let Raw::Text(file) = &value.raw {
            self.file = Some(file.clone());
            return Ok(());
        }
        let mut millis: Vec<u64> = Vec::new();
        millis.read(value, reader).map_err(|wrong| {
            let help = "write the name of a file, or a list of milliseconds such as [2, 5, 9]";
            Diagnostic::new(wrong.message, help)
        })?;
        check(&millis)?;
        self.millis = millis.into();
        Ok(())
    }

    fn write(&self) -> Raw {
        self.millis.to_vec().write()
    }

    fn kind(&self) -> Kind {
        let list = Vec::<u64>::new().kind();
        Kind::AnyOf(vec![Kind::Text("the name of a file"), list])
    }
}

/// The maximum number of opportunities of a trace. A trace repeats, so longer ones are seldom
/// needed, and the resolved scenario of a run lists them all.
const MAX_OPPORTUNITIES: usize = 1_000_000;

/// The maximum time: no run is longer than a year.
const MAX_MILLIS: u64 = 366 * 86_400_000;

/// The times are in order, and the last one, the period, is above zero and at most a year.
fn check(millis: &[u64]) -> Result<(), Diagnostic> {
    let help = "write times in order, the last above zero, such as [2, 5, 9]";
    for pair in millis.windows(2) {
        if let [before, after] = pair
            && after < before
        {
            let message = format!("{after} ms comes after {before} ms");
            return Err(Diagnostic::new(message, help));
        }
    }
    match millis.last() {
        Some(&last) if last > MAX_MILLIS => Err(Diagnostic::new(
            format!("{last} ms is more than a year, {MAX_MILLIS} ms"),
            "write earlier times: a trace repeats when it ends",
        )),
        Some(0) => Err(Diagnostic::new(
            "the last time is 0 ms, so that the trace has no length",
            help,
        )),
        _ => Ok(()),
    }
}

/// The times of a file, one on each line; comments begin with `#`.
///
/// # Errors
/// The invalid line, and the expected format.
pub fn parse(file: &str, text: &str) -> Result<Vec<u64>, Diagnostic> {
    let mut millis = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let Ok(time) = line.parse::<u64>() else {
            let message = format!("{file}:{}: expected a number of milliseconds", number + 1);
            let help = "write one whole number per line";
            return Err(Diagnostic::new(message, help));
        };
        if millis.len() == MAX_OPPORTUNITIES {
            let message = format!("{file} has more than {MAX_OPPORTUNITIES} times");
            return Err(Diagnostic::new(
                message,
                "cut it: a trace repeats when it ends",
            ));
        }
        millis.push(time);
    }
    if millis.is_empty() {
        let message = format!("{file} has no line with a time");
        return Err(Diagnostic::new(message, "write one per line"));
    }
    check(&millis)?;
    Ok(millis)
}

//! Lines of a log, with their numbers and a bound on their length; and flows of a log by their
//! ends.

use super::{ImportError, Imported, ImportedFlow};
use std::collections::BTreeMap;
use std::io::{BufRead, Read};

/// The longest line; a log with a longer one is no log of text.
const MAX_LINE_OCTETS: u64 = 1 << 20;
/// The number of flows of a log whose tables are kept.
const MAX_FLOWS: usize = 1024;

/// The lines of a log.
pub(super) struct Lines<R> {
    reader: R,
    number: u64,
    octets: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) const fn new(reader: R) -> Self {
        Self {
            reader,
            number: 0,
            octets: Vec::new(),
        }
    }

    /// The number of the last line, from 1.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// The next line without its end; `None` at the end of the log.
    pub(super) fn next(&mut self) -> Result<Option<String>, ImportError> {
        self.octets.clear();
        let mut part = (&mut self.reader).take(MAX_LINE_OCTETS + 1);
        if part.read_until(b'\n', &mut self.octets)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.octets.len() as u64 > MAX_LINE_OCTETS {
            return Err(self.damaged(format!("more than {MAX_LINE_OCTETS} octets")));
        }
        let line = String::from_utf8_lossy(&self.octets);
        Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
    }

    /// The error for what is wrong in the last line.
    pub(super) fn damaged(&self, message: String) -> ImportError {
        damaged(self.number, message)
    }
}

/// The error for what is wrong in a line.
pub(super) fn damaged(line: u64, message: String) -> ImportError {
    ImportError::Damaged {
        place: format!("line {line}"),
        message,
    }
}

/// A time in seconds.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let time: f64 = text.parse().ok()?;
    (0.0..f64::INFINITY).contains(&time).then_some(time)
}

/// Lines that a reader did not understand: their number, and the first.
#[derive(Debug, Default)]
pub(super) struct Unread {
    count: u64,
    first: Option<(u64, String)>,
}

impl Unread {
    pub(super) fn add(&mut self, number: u64, line: &str) {
        self.count += 1;
        self.first
            .get_or_insert_with(|| (number, line.chars().take(60).collect()));
    }

    /// A sentence about them, if there are any.
    pub(super) fn remark(&self) -> Option<String> {
        let (number, line) = self.first.as_ref()?;
        let count = self.count;
        Some(format!(
            "{count} lines are not of this format and are left out, the first is line {number}: \
             {line:?}"
        ))
    }

    /// The error of a log without any flow.
    pub(super) fn no_flow(&self, expected: &str) -> ImportError {
        match &self.first {
            Some((number, line)) => {
                ImportError::Unknown(format!("line {number} is {line:?}, expected {expected}"))
            }
            None => ImportError::NoFlow(format!("no line of it is {expected}")),
        }
    }
}

/// The flows of a log by their ends, in the order of their first lines.
#[derive(Debug)]
pub(super) struct FlowsByEnds<T> {
    flows: BTreeMap<String, (usize, T)>,
    /// Lines of flows beyond the limit.
    beyond: u64,
}

impl<T> Default for FlowsByEnds<T> {
    fn default() -> Self {
        Self {
            flows: BTreeMap::new(),
            beyond: 0,
        }
    }
}

impl<T: Default> FlowsByEnds<T> {
    /// The flow of these ends; `None` beyond the limit.
    pub(super) fn entry(&mut self, ends: String) -> Option<&mut T> {
        let number = self.flows.len();
        if number >= MAX_FLOWS && !self.flows.contains_key(&ends) {
            self.beyond += 1;
            return None;
        }
        let entry = self.flows.entry(ends);
        Some(&mut entry.or_insert_with(|| (number, T::default())).1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// A sentence about what is beyond the limit, if there is any: `lines are of flows`.
    pub(super) fn remark(&self, what: &str) -> Option<String> {
        let beyond = self.beyond;
        (beyond > 0).then(|| format!("{beyond} {what} beyond the first {MAX_FLOWS}"))
    }

    /// The ends of the flows, and the flows.
    pub(super) fn in_order(self) -> Vec<(String, T)> {
        let mut flows: Vec<_> = self.flows.into_iter().collect();
        flows.sort_by_key(|(_, (number, _))| *number);
        let flows = flows.into_iter().map(|(ends, (_, flow))| (ends, flow));
        flows.collect()
    }
}

/// The end of the last row of all flows.
pub(super) fn set_duration(imported: &mut Imported) {
    let last = |flow: &ImportedFlow| flow.trace.table.numbers("time_s")?.last().copied();
    let ends = imported.flows.iter().filter_map(last);
    imported.duration_s = ends.fold(0.0, f64::max);
}

//! What an explanation consists of: findings, the rows that prove them, and remedies.

use super::statistic::Statistic;
use crate::scenario::Override;
use schemars::JsonSchema;
use serde::Serialize;

/// A kind of pathology: its definition, its source and its name.
#[derive(Debug)]
pub struct Pathology {
    /// Its name in JSON and in tests, such as `standing_queue`.
    pub kind: &'static str,
    /// Its title for people.
    pub title: &'static str,
    /// When it is found, with all thresholds.
    pub definition: &'static str,
    /// Where the literature describes it.
    pub citation: &'static str,
    /// Columns of flows without which it stays unknown.
    pub needs: &'static [&'static str],
}

/// A number that an explanation is based on, with the place where it is found again.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Evidence {
    /// The table, such as `flows/stream`; `summary` and `scenario` for what stands there, `derived`
    /// for what was counted over several tables.
    pub table: String,
    /// The column; of `summary` and `scenario` the path of the value, of `derived` its name.
    pub column: String,
    /// The first and the last row, counted from 0; none outside of tables.
    pub rows: Option<[usize; 2]>,
    /// The time from the first row to the end of the last, in seconds.
    pub span_s: Option<[f64; 2]>,
    /// What was computed of the column over these rows.
    pub statistic: Option<Statistic>,
    /// The number, in the unit at the end of the column's name.
    pub value: f64,
}

/// A sentence with the numbers in it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Statement {
    /// The sentence.
    pub text: String,
    /// The numbers in it, in their order.
    pub evidence: Vec<Evidence>,
}

/// A change of the scenario that should end a pathology.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Remedy {
    /// What it is, in words.
    pub text: String,
    /// The settings, as `--set` takes them; none where there is no scenario.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "Vec<String>")]
    pub set: Vec<Override>,
    /// Whether the sender, the receiver or the network changes.
    pub place: RemedyPlace,
}

/// Who has to change for a remedy; in the order in which remedies are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemedyPlace {
    /// The sender.
    Sender,
    /// The receiver.
    Receiver,
    /// The network.
    Network,
}

/// Something that went wrong, with its proof.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// The kind, from [`Pathology::kind`].
    pub kind: &'static str,
    /// The title of the kind.
    pub title: &'static str,
    /// The flow or the link that it is found at.
    pub subject: String,
    /// Other flows at which it is found too: less severe ones of the same entry of the scenario, or
    /// in the same queue.
    pub also: Vec<String>,
    /// How much it matters, from 0 to 1: the share of time or capacity that it costs.
    pub severity: f64,
    /// What is seen.
    pub symptom: Statement,
    /// Why it is so, step by step.
    pub chain: Vec<Statement>,
    /// The span in which it is seen, in seconds.
    pub span_s: [f64; 2],
    /// What should end it.
    pub remedies: Vec<Remedy>,
    /// The source of the definition.
    pub citation: &'static str,
    /// The kind of a finding of the same explanation that explains this one.
    pub caused_by: Option<&'static str>,
}

fn as_text<S: serde::Serializer>(set: &[Override], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(set.iter().map(Override::text))
}

impl Statement {
    /// A sentence in which each `{}` is the next number.
    pub(super) fn new(pattern: &str, evidence: Vec<Evidence>) -> Self {
        let mut text = String::with_capacity(pattern.len());
        let mut numbers = evidence.iter();
        let mut parts = pattern.split("{}");
        text.extend(parts.next());
        for part in parts {
            text.extend(numbers.next().map(Evidence::shown));
            text.push_str(part);
        }
        Self { text, evidence }
    }
}

impl Remedy {
    /// The settings as options of the command between these marks; nothing without a setting.
    pub(super) fn options(&self, before: &str, after: &str) -> String {
        let set = self.set.iter();
        let set = set.map(|set| format!("--set '{}'", set.text()));
        let options = set.collect::<Vec<_>>().join(" ");
        if options.is_empty() {
            options
        } else {
            format!("{before}{options}{after}")
        }
    }
}

impl Evidence {
    /// A number of the scenario or the summary.
    pub(super) fn given(table: &str, path: impl Into<String>, value: f64) -> Self {
        Self {
            table: table.to_owned(),
            column: path.into(),
            rows: None,
            span_s: None,
            statistic: None,
            value,
        }
    }

    /// The number for people, in a unit that fits it.
    pub fn shown(&self) -> String {
        match &self.statistic {
            Some(Statistic::ShareOf(_)) => percent(self.value),
            Some(Statistic::Variation) => number(self.value),
            Some(Statistic::CountOf(_) | Statistic::EntriesOf(_)) => format!("{}", self.value),
            Some(Statistic::Length) => seconds(self.value),
            _ => in_unit_of(&self.column, self.value),
        }
    }
}

/// A value in the unit that its column's name ends with.
fn in_unit_of(column: &str, value: f64) -> String {
    let column = column.rsplit('.').next().unwrap_or(column);
    if column.ends_with("_bps") {
        scaled(value, "bit/s")
    } else if column.ends_with("_bytes") || column == "bytes_in_flight" {
        scaled(value, "bytes")
    } else if column.ends_with("_s") {
        seconds(value)
    } else if ["loss_event_rate", "utilisation"].contains(&column) || column.ends_with("_share") {
        percent(value)
    } else {
        number(value)
    }
}

/// Seconds in the unit in which they have one to three digits before the point.
fn seconds(value: f64) -> String {
    let (factor, unit) = match value.abs() {
        above if above >= 1.0 => (1.0, "s"),
        above if above >= 1e-3 => (1e3, "ms"),
        above if above >= 1e-6 => (1e6, "µs"),
        above if above > 0.0 => (1e9, "ns"),
        _ => (1.0, "s"),
    };
    format!("{} {unit}", number(value * factor))
}

fn scaled(value: f64, unit: &str) -> String {
    let (factor, prefix) = match value.abs() {
        above if above >= 1e9 => (1e-9, "G"),
        above if above >= 1e6 => (1e-6, "M"),
        above if above >= 1e3 => (1e-3, "k"),
        _ => (1.0, ""),
    };
    format!("{} {prefix}{unit}", number(value * factor))
}

fn percent(value: f64) -> String {
    format!("{} %", number(value * 100.0))
}

/// Three significant digits, without an exponent.
fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = libm::floor(libm::log10(value.abs()));
    let decimals = (2.0 - digits).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        let text = text.trim_end_matches('0').trim_end_matches('.');
        text.to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_their_unit() {
        let shown = |column: &str, value: f64| Evidence::given("summary", column, value).shown();
        assert_eq!(shown("rtt_s", 0.044), "44 ms");
        assert_eq!(shown("rtt_s", 0.005), "5 ms");
        assert_eq!(shown("rtt_s", 0.000_003), "3 µs");
        assert_eq!(shown("rtt_s", 1.2345), "1.23 s");
        assert_eq!(shown("allowed_rate_bps", 12_345_678.0), "12.3 Mbit/s");
        assert_eq!(shown("cwnd_bytes", 1200.0), "1.2 kbytes");
        assert_eq!(shown("loss_event_rate", 0.0001), "0.01 %");
        assert_eq!(shown("drops", 1234.0), "1234");
        assert_eq!(shown("drops", 0.0), "0");
    }

    #[test]
    fn a_statement_has_its_numbers_in_their_places() {
        let evidence = vec![
            Evidence::given("summary", "a_s", 0.5),
            Evidence::given("summary", "b_bps", 1e6),
        ];
        let said = Statement::new("{} passed at {}.", evidence);
        assert_eq!(said.text, "500 ms passed at 1 Mbit/s.");
    }
}

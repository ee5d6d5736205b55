//! Numbers of the trace of a run, which the cases of suites compare.
//!
//! Of a flow: `flow.NAME.COLUMN.TAKE` of the rows of a column, where TAKE is `first`, `last`,
//! `min`, `max` or `mean` over time, and `flow.NAME.goodput_bps` of the octets delivered. Of a
//! state, with `during STATE`: `visits`, their number; `entry_s.TAKE`, when they begin;
//! `duration_s.TAKE`, of those that have ended; `time_share`; and `followed_by.STATE`, how often a
//! state whose name begins so comes directly after it.
//!
//! The value may be a multiple of the link's rate (`0.95 link`), of another (`0.95 of 35Mbit`), of
//! the bandwidth-delay product (`2 bdp`) or of the round-trip time (`1.5 rtt`) of the path.
//! Behind it stand `during STATE`, `visit N` for one of its visits, and `from TIME`, `until TIME`,
//! where `trigger` is the moment of the case's change: `until trigger + 200ms`.

use super::number::unknown;
use crate::run::columns::MODEL_COLUMNS;
use weir_proto::settings::{Diagnostic, shortened};
use weir_proto::time::Duration;
use weir_proto::units::{self, Rate};

/// The words that a case knows.
#[derive(Clone, Debug)]
pub(crate) struct CaseWords {
    /// The name of the flow under test.
    pub(crate) flow: String,
    /// The columns of a flow that are numbers, each with its unit.
    pub(crate) columns: Vec<(&'static str, &'static str)>,
    /// The states of a controller.
    pub(crate) states: Vec<&'static str>,
    /// True if the case has a moment at which something changes.
    pub(crate) has_trigger: bool,
}

/// A moment of a run: a time, or one before or after the moment at which something changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    At(Duration),
    AfterTrigger(Duration),
    BeforeTrigger(Duration),
}

impl Moment {
    pub(crate) fn parse(text: &str, has_trigger: bool) -> Result<Self, Diagnostic> {
        let Some(rest) = text.strip_prefix("trigger") else {
            return Ok(Self::At(units::parse_duration(text)?));
        };
        if !has_trigger {
            let help = "write [case.trigger] with state and otherwise";
            return Err(Diagnostic::new("the case has no trigger", help));
        }
        let by = |text: &str| match text.trim() {
            "" => Ok(Duration::ZERO),
            by => units::parse_duration(by),
        };
        match rest.trim().strip_prefix('-') {
            Some(earlier) => Ok(Self::BeforeTrigger(by(earlier)?)),
            None => Ok(Self::AfterTrigger(by(rest.trim().trim_start_matches('+'))?)),
        }
    }

    fn scale(&mut self, ratio: Ratio) {
        let (Self::At(time) | Self::AfterTrigger(time) | Self::BeforeTrigger(time)) = self;
        *time = time.mul_f64(ratio.time);
    }

    /// The time of the run.
    pub(crate) fn time(self, trigger: Duration) -> Duration {
        match self {
            Self::At(time) => time,
            Self::AfterTrigger(by) => trigger + by,
            Self::BeforeTrigger(by) => trigger.saturating_sub(by),
        }
    }
}

/// By how much a path differs from the one for which a case is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratio {
    pub(crate) rate: f64,
    pub(crate) time: f64,
}

/// What is taken of several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    First,
    Last,
    Min,
    Max,
    /// Over time.
    Mean,
}

const TAKES: [(&str, Take); 5] = [
    ("first", Take::First),
    ("last", Take::Last),
    ("min", Take::Min),
    ("max", Take::Max),
    ("mean", Take::Mean),
];

/// A number of the trace of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TraceMeasure {
    /// Of a column with this unit.
    Column(&'static str, &'static str, Take),
    /// The rate at which octets are delivered.
    Goodput,
    /// How often a state is visited.
    Visits,
    /// When a state begins.
    Entry(Take),
    /// How long a visit lasts.
    Duration(Take),
    /// The share of the time that is spent in a state.
    TimeShare,
    /// How often a state whose name begins so follows.
    FollowedBy(String),
}

impl TraceMeasure {
    /// Reads the words that name it; `None` if they begin as those of a number of the summary.
    pub(super) fn parse(path: &str, words: &CaseWords) -> Option<Result<Self, Diagnostic>> {
        let of_flow = path.strip_prefix("flow.")?;
        let Some(rest) = of_flow
            .strip_prefix(&*words.flow)
            .and_then(|r| r.strip_prefix('.'))
        else {
            let name = of_flow.split('.').next().unwrap_or_default();
            let message = format!("there is no flow \"{}\" under test", shortened(name));
            let help = format!("write flow.{}", words.flow);
            return Some(Err(Diagnostic::new(message, help)));
        };
        let (name, last) = rest.rsplit_once('.').unwrap_or((rest, ""));
        let take = TAKES.iter().find(|(word, _)| *word == last);
        let column = words.columns.iter().find(|(column, _)| *column == name);
        let taken = |make: fn(Take) -> Self| match take {
            Some((_, take)) => Ok(make(*take)),
            None => Err(no_take(name, last)),
        };
        Some(match (name, last) {
            ("goodput_bps", "") => Ok(Self::Goodput),
            ("visits", "") => Ok(Self::Visits),
            ("time_share", "") => Ok(Self::TimeShare),
            ("entry_s", _) => taken(Self::Entry),
            ("duration_s", _) => taken(Self::Duration),
            ("followed_by", next) => {
                match check_state(next, words, |known, next| known.starts_with(next)) {
                    Ok(()) => Ok(Self::FollowedBy(next.to_owned())),
                    Err(wrong) => Err(wrong),
                }
            }
            _ => match (column, take) {
                (Some((column, unit)), Some((_, take))) => Ok(Self::Column(column, unit, *take)),
                (Some(_), None) => Err(no_take(name, last)),
                (None, _) => {
                    // The rest is a number of the summary, or nothing.
                    return super::Quantity::parse(path.split([' ', '/']).next()?)
                        .err()
                        .map(|_| Err(no_column(if take.is_some() { name } else { rest }, words)));
                }
            },
        })
    }

    /// The unit of its values.
    pub(super) fn unit(&self) -> &'static str {
        match self {
            Self::Column(_, unit, _) => unit,
            Self::Goodput => "bit/s",
            Self::Entry(_) | Self::Duration(_) => "s",
            Self::Visits | Self::TimeShare | Self::FollowedBy(_) => "",
        }
    }

    /// True for a column that only a controller which reports its model of the path has.
    pub(crate) fn is_of_model(&self) -> bool {
        matches!(self, Self::Column(column, ..) if MODEL_COLUMNS.contains(column))
    }

    pub(super) const fn needs_state(&self) -> bool {
        !matches!(self, Self::Column(..) | Self::Goodput)
    }
}

fn no_take(name: &str, last: &str) -> Diagnostic {
    let message = if last.is_empty() {
        format!("{name}: nothing says which of its values counts")
    } else {
        format!("{name}: there is no \"{}\"", shortened(last))
    };
    unknown(
        message,
        last,
        "expected one of",
        TAKES.map(|(word, _)| word).to_vec(),
    )
}

fn no_column(name: &str, words: &CaseWords) -> Diagnostic {
    let message = format!("a flow has no measure \"{}\"", shortened(name));
    let of_states = [
        "goodput_bps",
        "visits",
        "entry_s",
        "duration_s",
        "time_share",
        "followed_by",
    ];
    let columns = words.columns.iter().map(|(column, _)| *column);
    unknown(
        message,
        name,
        "measures",
        of_states.into_iter().chain(columns).collect(),
    )
}

fn check_state(
    state: &str,
    words: &CaseWords,
    is: fn(&'static str, &str) -> bool,
) -> Result<(), Diagnostic> {
    if !state.is_empty() && words.states.iter().any(|known| is(known, state)) {
        return Ok(());
    }
    let message = format!("there is no state \"{}\"", shortened(state));
    Err(unknown(message, state, "states", words.states.clone()))
}

/// When a number of the trace counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct When {
    pub(crate) during: Option<String>,
    /// Which visit of the state, from 1 on.
    pub(crate) visit: Option<usize>,
    pub(crate) from: Option<Moment>,
    pub(crate) until: Option<Moment>,
}

const CLAUSES: [&str; 4] = ["during", "visit", "from", "until"];

impl When {
    pub(super) fn scale(&mut self, ratio: Ratio) {
        for moment in [&mut self.from, &mut self.until].into_iter().flatten() {
            moment.scale(ratio);
        }
    }

    /// Splits the words behind the last sign into the value and when it counts.
    pub(super) fn split<'a>(
        text: &'a str,
        words: &CaseWords,
    ) -> Result<(&'a str, Self), Diagnostic> {
        let mut clauses: Vec<(&str, usize)> = Vec::new();
        let mut at = 0;
        for word in text.split(' ') {
            if CLAUSES.contains(&word) {
                clauses.push((word, at));
            }
            at += word.len() + 1;
        }
        let value = clauses.first().map_or(text, |(_, at)| &text[..*at]).trim();
        let mut when = Self::default();
        for (number, (word, at)) in clauses.iter().enumerate() {
            let end = clauses.get(number + 1).map_or(text.len(), |(_, at)| *at);
            let of = text[at + word.len()..end].trim();
            match *word {
                "during" => {
                    check_state(of, words, |known, state| known == state)?;
                    when.during = Some(of.to_owned());
                }
                "visit" => {
                    let number = of.parse().ok().filter(|number| *number > 0);
                    let number = number.ok_or_else(|| {
                        let message = format!("\"{}\" is no number of a visit", shortened(of));
                        Diagnostic::new(message, "write visit 1 for the first")
                    })?;
                    when.visit = Some(number);
                }
                "from" => when.from = Some(Moment::parse(of, words.has_trigger)?),
                _ => when.until = Some(Moment::parse(of, words.has_trigger)?),
            }
        }
        Ok((value, when))
    }
}

/// What a value is a multiple of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reference {
    /// The bottleneck's rate at the beginning.
    Link,
    /// Another rate, with its words.
    Rate(Rate, String),
    /// The bandwidth-delay product.
    Bdp,
    /// The round-trip time without a queue.
    Rtt,
}

impl Reference {
    /// Splits a value into the number and what it is a multiple of.
    pub(super) fn split<'a>(
        text: &'a str,
        unit: &str,
    ) -> Result<(&'a str, Option<Self>), Diagnostic> {
        let (number, word) = text.split_once(' ').unwrap_or((text, ""));
        let (reference, needs) = match word.trim() {
            "link" => (Self::Link, "bit/s"),
            "bdp" => (Self::Bdp, "bytes"),
            "rtt" => (Self::Rtt, "s"),
            word => match word.strip_prefix("of ") {
                Some(rate) => {
                    let rate = rate.trim();
                    (
                        Self::Rate(units::parse_rate(rate)?, rate.to_owned()),
                        "bit/s",
                    )
                }
                None => return Ok((text, None)),
            },
        };
        if needs == unit {
            return Ok((number, Some(reference)));
        }
        let message = format!(
            "\"{}\" is in {needs}, the number in {}",
            shortened(word),
            match unit {
                "" => "no unit",
                unit => unit,
            }
        );
        Err(Diagnostic::new(
            message,
            "write link for bit/s, bdp for bytes, rtt for s",
        ))
    }

    /// How a multiple is written.
    pub(crate) fn unit(&self) -> String {
        match self {
            Self::Link => " of the link".to_owned(),
            Self::Rate(_, words) => format!(" of {words}"),
            Self::Bdp => " BDP".to_owned(),
            Self::Rtt => " RTT".to_owned(),
        }
    }
}

//! Numbers of the trace of a run, for the cases of suites.
//!
//! For a flow: `flow.NAME.COLUMN.TAKE` of the rows of a column, where TAKE is `first`, `last`,
//! `min`, `max` or `mean` over time, and `flow.NAME.goodput_bps` of the delivered octets. For a
//! state, with `during STATE`: `visits`, their number; `entry_s.TAKE`, their start times;
//! `duration_s.TAKE`, the durations of those that have ended; `time_share`; and
//! `followed_by.STATE`, the number of times that a state whose name begins with STATE comes
//! directly after it.
//!
//! The value may be a multiple of the link's rate (`0.95 link`), of another rate (`0.95 of
//! 35Mbit`), of the bandwidth-delay product (`2 bdp`) or of the round-trip time (`1.5 rtt`) of the
//! path. The value may be followed by `during STATE`, by `visit N` for one of its visits, and by
//! `from TIME` and `until TIME`, where `trigger` is the moment of the case's change: `until trigger
//! + 200ms`.

use super::number::unknown;
use weir_proto::settings::{Diagnostic, shortened};
use weir_proto::time::Duration;
use weir_proto::units::{self, Rate};

/// The names that a case may use.
#[derive(Clone, Debug)]
pub(crate) struct CaseWords {
    /// The name of the flow under test.
    pub(crate) flow: String,
    /// The numeric columns of a flow, each with its unit.
    pub(crate) columns: Vec<(&'static str, &'static str)>,
    /// The states of a controller.
    pub(crate) states: Vec<&'static str>,
    /// True if the case has a moment at which a setting changes.
    pub(crate) has_trigger: bool,
}

/// A moment of a run: a time, or an offset from the moment at which a setting changes.
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

    /// The time since the start of the run.
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

/// The number computed from several values.
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
    /// A column with this unit.
    Column(&'static str, &'static str, Take),
    /// The rate of delivery.
    Goodput,
    /// The number of visits to a state.
    Visits,
    /// The start time of a visit.
    Entry(Take),
    /// The duration of a visit.
    Duration(Take),
    /// The share of the time in a state.
    TimeShare,
    /// The number of times that a state follows whose name begins with this.
    FollowedBy(String),
}

impl TraceMeasure {
    /// Reads its name; `None` for a number of the summary.
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
                    // Otherwise it must be a number of the summary.
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

/// The time over which a number of the trace is computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct When {
    pub(crate) during: Option<String>,
    /// The visit to the state, counted from 1.
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

    /// Splits the text after the last operator into the value and the condition on time.
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

/// The reference of which a value is a multiple.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reference {
    /// The bottleneck's initial rate.
    Link,
    /// Another rate, with its text.
    Rate(Rate, String),
    /// The bandwidth-delay product.
    Bdp,
    /// The base round-trip time.
    Rtt,
}

impl Reference {
    /// Splits a value into the number and its reference.
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

    /// The text of the reference.
    pub(crate) fn unit(&self) -> String {
        match self {
            Self::Link => " of the link".to_owned(),
            Self::Rate(_, words) => format!(" of {words}"),
            Self::Bdp => " BDP".to_owned(),
            Self::Rtt => " RTT".to_owned(),
        }
    }
}

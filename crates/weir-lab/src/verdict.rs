//! Verdicts: on a number compared with the bounds of a document, a case or an expectation, on a
//! controller compared with others, or on one set of runs compared with another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A verdict, in the terms of the judged item.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A number of a document: measured within its tolerance.
    Agrees,
    /// A statement of a document: measured inside the bound that it implies.
    Holds,
    /// A guard of our own: inside its bound.
    Checked,
    /// A check or a case of a suite holds.
    Passed,
    /// Outside its tolerance, with an explanation whose evidence holds.
    Explained,
    /// Within its tolerance in some variants of what a document leaves open, outside in others.
    Undetermined,
    /// Outside its tolerance; or two sides whose difference is significant.
    Differs,
    /// A check or a case of a suite does not hold.
    Failed,
    /// The measure cannot be observed with this controller.
    #[serde(rename = "not-observable")]
    NotObservable,
    /// A case is about states of BBR, and the controller behaves otherwise and names none.
    #[serde(rename = "not-bbr")]
    NotBbr,
    /// A case says nothing of this path.
    #[serde(rename = "out-of-range")]
    OutOfRange,
    /// Measured in real time on a machine that was too busy: not judged.
    Busy,
    /// A number from which other rows are derived: measured, not judged.
    Quantity,
    /// A condition of a document: set, not judged.
    Input,
    /// A condition that we fitted or chose: set, not judged.
    Parameter,
    /// Better than the other, significantly.
    Better,
    /// Worse than the other, significantly.
    Worse,
    /// Not significantly different from the other.
    Alike,
    /// A measure shown beside others that is not judged.
    Shown,
    /// No value in half of the runs or more, while the other has one.
    Missing,
    /// Two sides: equal values in each pair.
    Equal,
    /// Two sides: the values differ, but the difference is not significant.
    Indistinct,
    /// Two sides: the values of the only pair differ, so that significance is unknown.
    OnePair,
}

/// The outcome of a verdict, independent of what was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The requirement is met.
    Holds,
    /// The requirement is not met.
    Fails,
    /// Neither can be concluded, or it makes no difference.
    Open,
    /// Nothing was judged.
    NotJudged,
}

impl Verdict {
    /// The words in tables.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Holds => "holds",
            Self::Checked => "checked",
            Self::Passed => "passed",
            Self::Explained => "explained",
            Self::Undetermined => "undetermined",
            Self::Differs => "differs",
            Self::Failed => "failed",
            Self::NotObservable => "not observable",
            Self::NotBbr => "not BBR",
            Self::OutOfRange => "out of range",
            Self::Busy => "busy",
            Self::Quantity => "quantity",
            Self::Input => "input",
            Self::Parameter => "parameter",
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Alike => "alike",
            Self::Shown => "",
            Self::Missing => "no value",
            Self::Equal => "equal",
            Self::Indistinct => "within chance",
            Self::OnePair => "differs in one pair",
        }
    }

    /// The outcome of this verdict.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Agrees
            | Self::Holds
            | Self::Checked
            | Self::Passed
            | Self::Better
            | Self::Equal => Outcome::Holds,
            Self::Differs | Self::Failed | Self::Worse | Self::Missing | Self::OnePair => {
                Outcome::Fails
            }
            Self::Explained
            | Self::Undetermined
            | Self::NotObservable
            | Self::NotBbr
            | Self::Busy
            | Self::Alike
            | Self::Indistinct => Outcome::Open,
            Self::OutOfRange | Self::Quantity | Self::Input | Self::Parameter | Self::Shown => {
                Outcome::NotJudged
            }
        }
    }
}

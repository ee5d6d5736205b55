//! What came of a judgement: of a number against the bounds that a document, a case or an
//! expectation sets, of a controller beside others, or of one set of runs beside another.

use serde::Serialize;

/// A verdict, in the word of what is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
    /// Outside its tolerance; or two sides that differ by more than chance explains.
    Differs,
    /// A check or a case of a suite does not hold.
    Failed,
    /// The controller does not show what is measured.
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
    /// A number that other rows are made of: measured, not judged.
    Quantity,
    /// A condition of a document: set, not judged.
    Input,
    /// A condition that we fitted or chose: set, not judged.
    Parameter,
    /// Better than each of the others.
    Good,
    /// Worse than each of the others.
    Bad,
    /// Between the others, or not told apart from one of them.
    Alike,
    /// A measure beside others that is not judged.
    Shown,
    /// No value where others have one, in half of the runs or more.
    Missing,
    /// Two sides: each pair has the same value.
    Equal,
    /// Two sides: the values differ, no more than chance explains.
    Indistinct,
    /// Two sides: the values of the only pair differ, which says nothing about chance.
    OnePair,
}

/// What a verdict comes to, whatever was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it must be.
    Holds,
    /// Not as it must be.
    Fails,
    /// Neither can be said, or it makes no difference.
    Open,
    /// There was nothing to judge.
    NotJudged,
}

impl Verdict {
    /// The words of tables.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Holds => "holds",
            Self::Checked => "checked",
            Self::Passed => "passed",
            Self::Explained => "explained",
            Self::Differs => "differs",
            Self::Failed => "failed",
            Self::NotObservable => "not observable",
            Self::NotBbr => "not BBR",
            Self::OutOfRange => "out of range",
            Self::Busy => "busy",
            Self::Quantity => "quantity",
            Self::Input => "input",
            Self::Parameter => "parameter",
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Alike => "alike",
            Self::Shown => "",
            Self::Missing => "no value",
            Self::Equal => "equal",
            Self::Indistinct => "within chance",
            Self::OnePair => "differs in one pair",
        }
    }

    /// What it comes to.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Agrees
            | Self::Holds
            | Self::Checked
            | Self::Passed
            | Self::Good
            | Self::Equal => Outcome::Holds,
            Self::Differs | Self::Failed | Self::Bad | Self::Missing | Self::OnePair => {
                Outcome::Fails
            }
            Self::Explained
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

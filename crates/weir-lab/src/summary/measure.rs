//! Numbers of a summary declared once: a struct's fields with their units, directions and labels,
//! from which its file, `expect`, the columns of tables of runs and comparisons follow.

use serde::{Deserialize, Serialize};

/// Which direction of a measure users want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Better {
    /// More is better.
    #[serde(rename = "more")]
    Higher,
    /// Less is better.
    #[serde(rename = "less")]
    Lower,
    /// Nearer to one is better: a share of equals.
    #[serde(rename = "one")]
    One,
    /// It depends on the question.
    #[default]
    #[serde(rename = "shown")]
    Neither,
}

/// How `expect` knows a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    InItsUnit,
    /// In its unit, which is not written.
    WithoutUnit,
    /// Not at all.
    No,
}

/// A number that comparisons or sweeps show: where it stands below the field, such as `mean`, or
/// nothing for the field itself; its label, or nothing for one that only the tables of sweeps
/// have; and its rank among all of them.
pub(super) type Shown = (&'static str, &'static str, u32);

/// The keys of a map that are known.
pub(super) type Keys = fn() -> Vec<&'static str>;

/// What a field of the summary is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Number,
    Word,
    /// A struct of its own.
    Part(&'static [Measure]),
    /// No measure.
    Names,
}

/// A field of the summary, as it is declared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    pub(super) kind: Kind,
    /// `None` for that of the whole that it is a number of.
    pub(super) unit: Option<&'static str>,
    pub(super) better: Option<Better>,
    pub(super) shown: &'static [Shown],
    /// Of a map what its keys are, and all of them if they are known.
    pub(super) keys: Option<(&'static str, Keys)>,
    pub(super) expected: Expected,
}

/// A measure with the unit of its whole, or a part with measures of its own.
pub(super) const fn of_whole() -> Measure {
    Measure {
        name: "",
        doc: "",
        kind: Kind::Names,
        unit: None,
        better: None,
        shown: &[],
        keys: None,
        expected: Expected::InItsUnit,
    }
}

/// A measure with a unit; empty for a share or an index.
pub(super) const fn unit(unit: &'static str) -> Measure {
    let mut measure = of_whole();
    measure.unit = Some(unit);
    measure
}

impl Measure {
    /// More of it is better.
    pub(super) const fn higher(mut self) -> Self {
        self.better = Some(Better::Higher);
        self
    }

    /// Less of it is better.
    pub(super) const fn lower(mut self) -> Self {
        self.better = Some(Better::Lower);
        self
    }

    pub(super) const fn shown(mut self, shown: &'static [Shown]) -> Self {
        self.shown = shown;
        self
    }

    /// A map of such numbers: what its keys are, and all of them if they are known.
    pub(super) const fn by(mut self, what: &'static str, keys: Keys) -> Self {
        self.keys = Some((what, keys));
        self
    }

    pub(super) const fn expected(mut self, expected: Expected) -> Self {
        self.expected = expected;
        self
    }
}

/// What can be a field of the summary.
pub(super) trait Measured {
    const KIND: Kind;
}

impl Measured for f64 {
    const KIND: Kind = Kind::Number;
}

impl Measured for u64 {
    const KIND: Kind = Kind::Number;
}

impl Measured for String {
    const KIND: Kind = Kind::Word;
}

impl Measured for Vec<String> {
    const KIND: Kind = Kind::Names;
}

impl<T: Measured> Measured for Option<T> {
    const KIND: Kind = T::KIND;
}

impl<T: Measured> Measured for std::collections::BTreeMap<String, T> {
    const KIND: Kind = T::KIND;
}

/// Declares a struct of the summary.
///
/// `pub FIELD: TYPE [or null] => MEASURE`: the documentation is also that of columns; the measure
/// is `unit("s")` with what [`Measure`] adds to it, and may be left out where there is no unit, as
/// for a part. Options and maps without a value are left out of files, or null with `[or null]`.
macro_rules! measures {
    ($(#[$($outer:tt)*])* pub struct $name:ident { $($fields:tt)* }) => {
        measures!(@field { [$(#[$($outer)*])* $name] [] [] } $($fields)*);
    };
    (@field $to:tt $(#[$($in:tt)*])* pub $field:ident: Option<$ty:ty> [or null] $($rest:tt)*) => {
        measures!(@add $to [$(#[$($in)*])*] $field (Option<$ty>) $($rest)*);
    };
    (@field $to:tt $(#[$($in:tt)*])* pub $field:ident: Option<$ty:ty> $($rest:tt)*) => {
        measures!(@add $to [
            $(#[$($in)*])* #[serde(default, skip_serializing_if = "Option::is_none")]
        ] $field (Option<$ty>) $($rest)*);
    };
    (@field $to:tt $(#[$($in:tt)*])* pub $field:ident: BTreeMap<$k:ty, $ty:ty> $($rest:tt)*) => {
        measures!(@add $to [
            $(#[$($in)*])* #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        ] $field (BTreeMap<$k, $ty>) $($rest)*);
    };
    (@field $to:tt $(#[$($in:tt)*])* pub $field:ident: $ty:ty $(=> $is:expr)?, $($rest:tt)*) => {
        measures!(@add $to [$(#[$($in)*])*] $field ($ty) $(=> $is)?, $($rest)*);
    };
    (
        @add { $head:tt [$($fields:tt)*] [$($known:tt)*] }
        [$($attributes:tt)*] $field:ident ($ty:ty) $(=> $measure:expr)?, $($rest:tt)*
    ) => {
        measures!(@field {
            $head
            [$($fields)* $($attributes)* pub $field: $ty,]
            [$($known)* { $($attributes)* $field ($ty) ($($measure)?) }]
        } $($rest)*);
    };
    (@field {
        [$(#[$($outer:tt)*])* $name:ident]
        [$($fields:tt)*]
        [$({ $(#[$($in:tt)*])* $field:ident ($ty:ty) ($($measure:expr)?) })*]
    }) => {
        $(#[$($outer)*])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $name { $($fields)* }

        impl $crate::summary::measure::Measured for $name {
            const KIND: $crate::summary::measure::Kind = {
                #[allow(unused_imports)]
                use $crate::summary::measure::{Expected, Kind, Measure, Measured, of_whole, unit};
                Kind::Part(&[$(Measure {
                    name: stringify!($field),
                    doc: weir_proto::settings_doc!($(#[$($in)*])*),
                    kind: <$ty as Measured>::KIND,
                    ..measures!(@measure $($measure)?)
                }),*])
            };
        }
    };
    (@measure) => { of_whole() };
    (@measure $measure:expr) => { $measure };
}
pub(super) use measures;

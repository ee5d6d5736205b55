//! Declarations of the numbers of a summary: a struct's fields with their units, directions and
//! labels, from which its file, `expect`, the columns of tables of runs and comparisons are
//! derived.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The direction of a measure that users prefer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Better {
    /// More is better.
    #[serde(rename = "more")]
    Higher,
    /// Less is better.
    #[serde(rename = "less")]
    Lower,
    /// Closer to one is better, as for a fairness index.
    #[serde(rename = "one")]
    One,
    /// It depends on the question.
    #[default]
    #[serde(rename = "shown")]
    Neither,
}

/// The form of a number in `expect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    InItsUnit,
    /// In its unit, without writing the unit.
    WithoutUnit,
    /// The number cannot be used.
    No,
}

/// A number that comparisons or sweeps show: its path below the field, such as `mean`, or an empty
/// path for the field itself; its label, which is empty if only the tables of sweeps have it; and
/// its rank.
pub(super) type Shown = (&'static str, &'static str, u32);

/// The known keys of a map.
pub(super) type Keys = fn() -> Vec<&'static str>;

/// The kind of a field of the summary.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Number,
    Word,
    /// A struct with its own fields.
    Part(&'static [Measure]),
    /// A field that is not a measure.
    Names,
}

/// The declaration of a field of the summary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    pub(super) kind: Kind,
    /// `None` for a number that has the unit of its parent.
    pub(super) unit: Option<&'static str>,
    pub(super) better: Option<Better>,
    pub(super) shown: &'static [Shown],
    /// For a map the placeholder of its keys, and the known keys.
    pub(super) keys: Option<(&'static str, Keys)>,
    pub(super) expected: Expected,
}

/// A measure with the unit of its parent, or a part with its own measures.
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
    /// Higher values are better.
    pub(super) const fn higher(mut self) -> Self {
        self.better = Some(Better::Higher);
        self
    }

    /// Lower values are better.
    pub(super) const fn lower(mut self) -> Self {
        self.better = Some(Better::Lower);
        self
    }

    pub(super) const fn shown(mut self, shown: &'static [Shown]) -> Self {
        self.shown = shown;
        self
    }

    /// A map of such numbers, with the placeholder of its keys and the known keys.
    pub(super) const fn by(mut self, what: &'static str, keys: Keys) -> Self {
        self.keys = Some((what, keys));
        self
    }

    pub(super) const fn expected(mut self, expected: Expected) -> Self {
        self.expected = expected;
        self
    }
}

/// The types of fields of the summary.
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
        #[derive(
            Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize,
            schemars::JsonSchema,
        )]
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

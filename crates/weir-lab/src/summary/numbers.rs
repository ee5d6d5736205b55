//! All numbers of the parts of a summary, with their paths, derived from the declarations.

use super::measure::{Better, Expected, Kind, Measure, Measured, Shown};
use super::{FlowSummary, GroupSummary, LinkSummary, Totals, TransferSummary};
use std::sync::LazyLock;
use weir_proto::settings::plain_doc;

/// The parts of a summary: the name of each, its key in the summary, and its fields.
pub(super) const PARTS: [(&str, &str, Kind); 5] = [
    ("flow", "flows", FlowSummary::KIND),
    ("transfers", "transfers", TransferSummary::KIND),
    ("link", "links", LinkSummary::KIND),
    ("group", "groups", GroupSummary::KIND),
    ("total", "totals", Totals::KIND),
];

/// The names of the parts.
pub(crate) fn parts() -> [&'static str; 5] {
    PARTS.map(|(name, ..)| name)
}

/// A number of a part, or a field that has numbers.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    /// The name of the part.
    pub(crate) part: &'static str,
    /// The key of the part in the summary.
    pub(crate) list: &'static str,
    /// Its path, with points.
    pub(crate) path: String,
    /// Its unit; empty for a share or an index.
    pub(crate) unit: &'static str,
    /// The direction that users prefer.
    pub(crate) better: Better,
    /// The forms in which comparisons and sweeps show it.
    pub(crate) shown: &'static [Shown],
    pub(super) measure: &'static Measure,
    /// Its description, without a full stop.
    pub(super) doc: String,
    /// True if it has a row in the dictionary, for itself or for all its numbers.
    pub(super) is_row: bool,
    expected: Expected,
}

static NUMBERS: LazyLock<Vec<Number>> = LazyLock::new(|| {
    let mut numbers = Vec::new();
    for (part, list, kind) in PARTS {
        walk([part, list], None, kind, &mut numbers);
    }
    numbers
});

/// All numbers of all parts, in the order of their declarations.
pub(crate) fn numbers() -> impl Iterator<Item = &'static Number> {
    NUMBERS.iter()
}

/// The numbers of a part that `expect` accepts.
pub(crate) fn expected_of(part: &str) -> impl Iterator<Item = &'static Number> {
    numbers().filter(move |number| number.part == part && number.expected != Expected::No)
}

fn walk(part: [&'static str; 2], whole: Option<&Number>, kind: Kind, numbers: &mut Vec<Number>) {
    let Kind::Part(measures) = kind else { return };
    for measure in measures {
        let number = Number::new(part, whole, measure);
        numbers.push(number.clone());
        for key in measure.keys.map_or_else(Vec::new, |(_, keys)| keys()) {
            numbers.push(Number {
                path: format!("{}.{key}", number.path),
                shown: &[],
                is_row: false,
                expected: measure.expected,
                ..number.clone()
            });
        }
        walk(part, Some(&number), measure.kind, numbers);
    }
}

impl Number {
    fn new(part: [&'static str; 2], whole: Option<&Self>, measure: &'static Measure) -> Self {
        let is_number = matches!(measure.kind, Kind::Number) && measure.keys.is_none();
        let is_one_of_whole = whole.is_some_and(|whole| whole.measure.unit.is_some());
        let doc = plain_doc(measure.doc);
        let doc = doc.trim_end_matches('.');
        let is_value = matches!(measure.kind, Kind::Number | Kind::Word);
        Self {
            part: part[0],
            list: part[1],
            path: match whole {
                Some(whole) => format!("{}.{}", whole.path, measure.name),
                None => measure.name.to_owned(),
            },
            unit: measure.unit.unwrap_or(whole.map_or("", |whole| whole.unit)),
            better: measure
                .better
                .unwrap_or(whole.map_or(Better::Neither, |whole| whole.better)),
            shown: measure.shown,
            measure,
            doc: match whole {
                Some(whole) if is_one_of_whole => format!("{doc}: {}", whole.doc),
                _ => doc.to_owned(),
            },
            is_row: measure.unit.is_some() || is_value && !is_one_of_whole,
            expected: match whole {
                Some(whole) if whole.measure.expected == Expected::No => Expected::No,
                _ if is_number => measure.expected,
                _ => Expected::No,
            },
        }
    }

    /// The unit in text: none for counts.
    pub(crate) fn written_unit(&self) -> &'static str {
        match self.unit {
            "bit/s" | "s" | "bytes" => self.unit,
            _ => "",
        }
    }

    /// The unit of the values in `expect`.
    pub(crate) fn expected_unit(&self) -> &'static str {
        match self.expected {
            Expected::WithoutUnit => "",
            Expected::InItsUnit | Expected::No => self.written_unit(),
        }
    }
}

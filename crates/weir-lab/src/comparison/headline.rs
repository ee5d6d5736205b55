//! The measures of a summary that tables show and that comparisons use.

pub use crate::summary::Better;

use crate::summary::numbers;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A measure that comparisons show and judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headline {
    /// Its JSON pointer below a flow, a link or another part of the summary, without the first
    /// slash.
    pub pointer: &'static str,
    /// Its label in tables.
    pub label: &'static str,
    /// Its unit; empty for counts and shares.
    pub unit: &'static str,
    /// The direction that users prefer.
    pub better: Better,
}

/// The measures of flows, transfers, groups, all flows together and links, in the order in which
/// comparisons and the tables of several seeds show them. A summary has only those that apply to
/// it.
pub static HEADLINE: LazyLock<Vec<Headline>> = LazyLock::new(|| {
    let labelled = SHOWN.iter().filter(|measure| !measure.label.is_empty());
    labelled.copied().collect()
});

/// The headline measures, followed by the measures without a label, which only the tables of sweeps
/// have.
pub(crate) static SHOWN: LazyLock<Vec<Headline>> = LazyLock::new(|| {
    let mut shown = BTreeMap::new();
    for number in numbers() {
        for (below, label, rank) in number.shown {
            let way = format!("{}/{below}", number.path.replace('.', "/"));
            // Several parts of the summary may have the same measure.
            shown.entry(*rank).or_insert_with(|| Headline {
                pointer: way.trim_end_matches('/').to_owned().leak(),
                label,
                unit: number.written_unit(),
                better: number.better,
            });
        }
    }
    shown.into_values().collect()
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Number;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_shown_has_a_rank_and_a_pointer_of_its_own() {
        let of =
            |number: &'static Number| number.shown.iter().map(|(below, ..)| (&number.path, below));
        let declared: BTreeSet<_> = numbers().flat_map(of).collect();
        assert_eq!(declared.len(), SHOWN.len());
        let pointers: BTreeSet<&str> = SHOWN.iter().map(|measure| measure.pointer).collect();
        assert_eq!(pointers.len(), SHOWN.len());
        // Measures without a label come last.
        let labelled = SHOWN.iter().position(|measure| measure.label.is_empty());
        assert_eq!(labelled, Some(HEADLINE.len()));
    }
}

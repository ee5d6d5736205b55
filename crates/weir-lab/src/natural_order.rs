//! Natural order of names: `f2` before `f10`.

use serde::{Serialize, Serializer};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The entries in the natural order of their names.
pub fn in_natural_order<'a, T>(
    named: impl IntoIterator<Item = (&'a String, &'a T)>,
) -> Vec<(&'a str, &'a T)> {
    let named = named.into_iter();
    let mut entries: Vec<_> = named.map(|(name, of)| (name.as_str(), of)).collect();
    entries.sort_by(|(a, _), (b, _)| natural_order(a, b));
    entries
}

/// Writes a map with its entries in the natural order of their names.
pub(crate) fn serialize<T: Serialize, S: Serializer>(
    named: &BTreeMap<String, T>,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(in_natural_order(named))
}

/// Compares names part by part: sequences of digits by their value, other parts by their
/// characters. Names that differ only in leading zeros are compared as text, so that only identical
/// names are equal.
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let equal = equal_parts(a, b);
    by_parts(&a[equal..], &b[equal..]).then_with(|| a.cmp(b))
}

/// Compares names part by part; equal if they differ only in leading zeros.
fn by_parts(mut left: &str, mut right: &str) -> Ordering {
    while !left.is_empty() && !right.is_empty() {
        let (first, rest_left) = part(left);
        let (second, rest_right) = part(right);
        let order = match (digits(first), digits(second)) {
            // Without leading zeros the longer number is the larger one.
            (Some(x), Some(y)) => x.len().cmp(&y.len()).then(x.cmp(y)),
            _ => first.cmp(second),
        };
        if order != Ordering::Equal {
            return order;
        }
        (left, right) = (rest_left, rest_right);
    }
    left.len().cmp(&right.len())
}

/// The length of the parts with which both names begin: up to the beginning of the first part that
/// may differ. Names of many flows have most of their characters in common.
fn equal_parts(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let common = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let Some(last) = a[..common].last() else {
        return 0;
    };
    let is_other = |octet: &u8| octet.is_ascii_digit() != last.is_ascii_digit();
    let before = a[..common].iter().rposition(is_other);
    before.map_or(0, |before| before + 1)
}

/// The first sequence of digits or of other characters, and the rest.
fn part(text: &str) -> (&str, &str) {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    let end = text.find(|c: char| c.is_ascii_digit() != is_number);
    text.split_at(end.unwrap_or(text.len()))
}

/// The digits of a number without leading zeros; `None` for other text.
fn digits(part: &str) -> Option<&str> {
    let is_number = part.starts_with(|c: char| c.is_ascii_digit());
    is_number.then(|| part.trim_start_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_numbers() {
        let mut names = [
            "tcp-10",
            "tcp-9",
            "f10",
            "f2",
            "f",
            "f02",
            "link.backward",
            "link",
            "f2b",
            "10",
            "9",
            "f18446744073709551617",
            "f18446744073709551616",
            "",
            "f-2",
            "fü",
            "fö2",
        ];
        names.sort_by(|a, b| natural_order(a, b));
        let sorted = [
            "",
            "9",
            "10",
            "f",
            "f02",
            "f2",
            "f2b",
            "f10",
            "f18446744073709551616",
            "f18446744073709551617",
            "f-2",
            "fö2",
            "fü",
            "link",
            "link.backward",
            "tcp-9",
            "tcp-10",
        ];
        assert_eq!(names, sorted);
        assert_eq!(natural_order("a1", "a1"), Ordering::Equal);
    }

    #[test]
    fn what_names_have_in_common_does_not_change_their_order() {
        let mut names = vec![String::new()];
        for length in 0..4 {
            let longest: Vec<_> = names
                .iter()
                .filter(|n| n.len() == length)
                .cloned()
                .collect();
            for name in longest {
                names.extend(["0", "2", "a", "-"].map(|next| format!("{name}{next}")));
            }
        }
        assert_eq!(names.len(), 341);
        for (a, b) in names.iter().flat_map(|a| names.iter().map(move |b| (a, b))) {
            let order = by_parts(a, b).then(a.cmp(b));
            assert_eq!(natural_order(a, b), order, "{a:?} and {b:?}");
        }
    }
}

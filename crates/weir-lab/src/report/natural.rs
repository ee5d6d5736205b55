//! The order in which people read names: `flow-2` before `flow-10`.

use std::cmp::Ordering;

/// A piece of a name: digits as their number, or other text.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Piece<'a> {
    Number(u128),
    Text(&'a str),
}

/// Compares names with their numbers taken as numbers.
pub fn by_name(a: &str, b: &str) -> Ordering {
    pieces(a).cmp(pieces(b)).then_with(|| a.cmp(b))
}

fn pieces(name: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let digits = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != digits);
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        let number = piece.parse().ok().filter(|_| digits);
        Some(number.map_or(Piece::Text(piece), Piece::Number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_compared_as_numbers() {
        let mut names = ["f10", "f2", "f2b", "a", "f02", "f1-10", "f1-9", "f"];
        names.sort_by(|a, b| by_name(a, b));
        assert_eq!(
            names,
            ["a", "f", "f1-9", "f1-10", "f02", "f2", "f2b", "f10"]
        );
    }
}

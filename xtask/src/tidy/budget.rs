//! A budget for the lines of code of each crate, outside of tests. Growth beyond it requires
//! removing code first, or a commit that changes the budget and gives the reason.

use std::collections::BTreeMap;

use super::Violation;
use super::layout::code_lines;
use crate::source::Source;

const BUDGETS: [(&str, usize); 6] = [
    ("weir-proto", 28_600),
    ("weir-net", 14_500),
    ("weir-wire", 8_700),
    ("weir-lab", 51_000),
    ("weir", 13_400),
    ("weir-wasm", 700),
];

pub fn check(sources: &[Source]) -> Vec<Violation> {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for source in sources {
        let of_crate = source.path.strip_prefix("crates/");
        if let Some((name, _)) = of_crate.and_then(|path| path.split_once("/src/")) {
            *lines.entry(name).or_default() += code_lines(source).len();
        }
    }
    let over = lines.into_iter().filter_map(|(name, lines)| {
        let (_, budget) = BUDGETS.into_iter().find(|(known, _)| *known == name)?;
        let message = format!(
            "{lines} lines of code in {name}, of a budget of {budget} (xtask/src/tidy/budget.rs)"
        );
        let root = format!("crates/{name}/src/lib.rs");
        (lines > budget).then(|| Violation::new(&root, 1, message))
    });
    over.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sources;

    #[test]
    fn a_crate_beyond_its_budget_is_found() {
        let (name, budget) = BUDGETS[4];
        let file = |lines: usize| "f!();\n// why\n".repeat(lines);
        let (first, second) = (
            format!("crates/{name}/src/a.rs"),
            format!("crates/{name}/src/b.rs"),
        );
        let of = |lines| check(&sources(&[(&first, &file(lines)), (&second, &file(1))]));
        assert!(of(budget - 1).is_empty());
        let found = of(budget);
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("of a budget"), "{}", found[0]);
        assert!(check(&sources(&[("xtask/src/a.rs", &file(budget + 1))])).is_empty());
    }
}

//! No cyclic references between modules of a crate.
//!
//! The graph has a node for each file and an edge for each reference from one file to another (see
//! `modules.rs`). Each strongly connected component of two files or more is a circle, with one
//! exception: a module and its descendants may refer to each other. So if one file of a component
//! is the ancestor of all the others, it is removed, and the rest is checked again.

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use super::Violation;
use crate::modules::{Crate, ModulePath, References};

type Graph<'a> = DiGraphMap<&'a ModulePath, ()>;

/// The circles inside one crate.
pub fn check(unit: &Crate) -> Vec<Violation> {
    let references = unit.references();
    let graph = references.keys().map(|(from, to)| (from, to)).collect();
    circles(&graph)
        .into_iter()
        .map(|circle| describe(&circle, &references, unit))
        .collect()
}

/// A line for the circle, and a line for each reference in it.
fn describe(circle: &[&ModulePath], references: &References, unit: &Crate) -> Violation {
    let path = |module: &ModulePath| unit.files[module].path.as_str();
    let mut message = format!("circle of {} modules:", circle.len());
    for ((from, to), line) in references {
        if circle.contains(&from) && circle.contains(&to) {
            message.extend([
                "\n    ",
                path(from),
                ":",
                &line.to_string(),
                " uses ",
                path(to),
            ]);
        }
    }
    Violation::new(path(circle[0]), 1, message)
}

/// The strongly connected components that are circles, each in the order of its modules.
fn circles<'a>(graph: &Graph<'a>) -> Vec<Vec<&'a ModulePath>> {
    let mut found = Vec::new();
    for mut component in tarjan_scc(graph) {
        component.sort_unstable();
        // The path of an ancestor is a prefix of those of its descendants, so it is sorted first.
        let top = component[0];
        if component.len() == 1 {
            continue;
        }
        if component.iter().all(|module| module.starts_with(top)) {
            let rest = &component[1..];
            let edges = graph.all_edges().map(|(from, to, ())| (from, to));
            let inner = edges.filter(|(from, to)| rest.contains(from) && rest.contains(to));
            found.extend(circles(&inner.collect()));
        } else {
            found.push(component);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sources;

    /// The circles in these files of one crate, each as its references.
    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<String> = files
            .iter()
            .map(|(name, _)| format!("crates/a/src/{name}"))
            .collect();
        let texts = files.iter().map(|(_, text)| *text);
        let files: Vec<(&str, &str)> = paths.iter().map(String::as_str).zip(texts).collect();
        let sources = sources(&files);
        let crates = Crate::all(&sources);
        let found = crates.iter().flat_map(check);
        found
            .map(|circle| circle.message.replace("crates/a/src/", ""))
            .collect()
    }

    #[test]
    fn two_siblings_that_use_each_other_are_found() {
        for (one, other) in [
            (
                "use crate::b::B; pub struct A;",
                "use super::a::A; pub struct B;",
            ),
            (
                "pub struct A(crate::b::B);",
                "use crate::{a, c}; pub struct B(a::A);",
            ),
            (
                "use crate::b::*; pub struct A(B);",
                "pub fn b() { m!(crate::a::A) } pub struct B;",
            ),
            (
                "use crate::c as d; fn a() { d::c() } fn b() { crate::b::b() }",
                "pub fn b() { super::a::a() }",
            ),
        ] {
            let files = [("a.rs", one), ("b.rs", other), ("c.rs", "pub fn c() {}")];
            let expected = ["circle of 2 modules:\n    a.rs:1 uses b.rs\n    b.rs:1 uses a.rs"];
            assert_eq!(circles(&files), expected, "{one} {other}");
        }
    }

    #[test]
    fn a_reexport_by_the_parent_hides_no_circle() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B as C;"),
            ("a.rs", "use crate::C; pub struct A;"),
            ("b.rs", "use super::A; pub struct B;"),
        ];
        assert_eq!(circles(&files).len(), 1);
    }

    #[test]
    fn a_circle_through_a_child_is_found_with_its_parent() {
        let files = [
            ("a/mod.rs", "use child::f; pub struct A;"),
            ("a/child.rs", "pub fn f(_: crate::b::B) {}"),
            ("b.rs", "pub struct B(crate::a::A);"),
        ];
        let found = circles(&files);
        assert!(found[0].starts_with("circle of 3 modules:"), "{found:?}");
    }

    #[test]
    fn a_module_and_its_descendants_may_use_each_other() {
        let files = [
            ("lib.rs", "use a::b::B; pub struct Root;"),
            ("a/mod.rs", "use b::B; use c::C; pub struct A;"),
            ("a/b.rs", "use super::{A, c::C}; pub struct B(crate::Root);"),
            ("a/c.rs", "use crate::a::A; pub struct C;"),
        ];
        assert!(circles(&files).is_empty(), "{:?}", circles(&files));
    }

    #[test]
    fn siblings_of_a_parent_that_they_use_are_still_found() {
        let files = [
            ("a/mod.rs", "use b::B; pub struct A;"),
            ("a/b.rs", "use super::{A, c::C}; pub struct B;"),
            ("a/c.rs", "use super::{A, b::B}; pub struct C;"),
        ];
        let expected = "circle of 2 modules:\n    a/b.rs:1 uses a/c.rs\n    a/c.rs:1 uses a/b.rs";
        assert_eq!(circles(&files), [expected]);
    }

    #[test]
    fn tests_documentation_and_names_of_modules_make_no_circle() {
        let other = "pub struct B;\n#[cfg(test)]\nmod tests { use crate::a::A; }";
        for one in [
            "//! Like [`crate::b::B`].\nuse crate::b; pub struct A;",
            "pub(in crate::b) struct A;",
            "pub struct A; fn f(b: u8) { b.b() }",
        ] {
            let back = format!("use crate::a::A; {other}");
            assert!(
                circles(&[("a.rs", one), ("b.rs", &back)]).is_empty(),
                "{one}"
            );
        }
        let forth = "use crate::b::B; pub struct A;";
        assert!(circles(&[("a.rs", forth), ("b.rs", other)]).is_empty());
        assert!(
            circles(&[
                ("a.rs", forth),
                ("b.rs", "pub struct B;"),
                ("b/tests.rs", "use crate::a::A;")
            ])
            .is_empty()
        );
    }

    #[test]
    fn a_function_with_the_name_of_an_imported_module_hides_neither() {
        let files = [
            ("a.rs", "use crate::b; pub fn c() { b::c() }"),
            ("b.rs", "use crate::c; pub fn c() -> c::C {}"),
            ("c.rs", "pub struct C; fn f() { crate::a::c() }"),
        ];
        assert_eq!(circles(&files).len(), 1);
    }
}

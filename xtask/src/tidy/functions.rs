//! The size of functions: at most 70 lines and five parameters.
//!
//! Lines count from `fn` to the closing bracket. A function that is a table, such as a `match` with
//! an arm for each key, may be longer if a comment on the line above `fn` gives the reason:
//! `// tidy: table, one arm for each key`. The receiver `self` does not count as a parameter; the
//! elements of a tuple count one by one. The parameters of a trait's methods count where the trait
//! is declared, because an implementation cannot change them.

use syn::visit::{self, Visit};
use syn::{Block, FnArg, Signature, Type};

use super::Violation;
use crate::source::Source;

const MAX_LINES: usize = 70;
const MAX_PARAMETERS: usize = 5;
const TABLE: &str = "// tidy: table, ";

pub fn check(source: &Source) -> Vec<Violation> {
    let mut visitor = Visitor {
        source,
        violations: Vec::new(),
        in_trait_impl: false,
    };
    visitor.visit_file(&source.tree);
    visitor.violations
}

struct Visitor<'a> {
    source: &'a Source,
    violations: Vec<Violation>,
    in_trait_impl: bool,
}

impl Visitor<'_> {
    fn report(&mut self, signature: &Signature, problem: &str) {
        let line = signature.fn_token.span.start().line;
        let message = format!("fn {} has {problem}", signature.ident);
        let violation = Violation::new(&self.source.path, line, message);
        self.violations.push(violation);
    }

    fn lines(&mut self, signature: &Signature, block: &Block) {
        let start = signature.fn_token.span.start().line;
        let lines = block.brace_token.span.close().end().line + 1 - start;
        let above = self.source.text.lines().nth(start.saturating_sub(2));
        let is_table = above.is_some_and(|line| line.trim().starts_with(TABLE));
        if lines > MAX_LINES && !is_table {
            let problem = format!("{lines} lines, expected at most {MAX_LINES}");
            self.report(signature, &problem);
        } else if lines <= MAX_LINES && is_table {
            let problem = format!("only {lines} lines: remove `{TABLE}…` above it");
            self.report(signature, &problem);
        }
    }
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.lines(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let outer = std::mem::replace(&mut self.in_trait_impl, item.trait_.is_some());
        visit::visit_item_impl(self, item);
        self.in_trait_impl = outer;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.lines(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.lines(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_signature(&mut self, signature: &'ast Signature) {
        let parameters = signature.inputs.iter().map(|input| match input {
            FnArg::Receiver(_) => 0,
            FnArg::Typed(input) => elements(&input.ty),
        });
        let count: usize = parameters.sum();
        if count > MAX_PARAMETERS && !self.in_trait_impl {
            let limit = format!("expected at most {MAX_PARAMETERS}, elements of tuples included");
            self.report(signature, &format!("{count} parameters, {limit}"));
        }
        visit::visit_signature(self, signature);
    }
}

/// One for a type, or the number of elements of a tuple, behind references too.
fn elements(of: &Type) -> usize {
    match of {
        Type::Tuple(tuple) => tuple.elems.iter().map(elements).sum(),
        Type::Reference(reference) => elements(&reference.elem),
        Type::Paren(inner) => elements(&inner.elem),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    fn function(lines: usize) -> String {
        format!("fn f() {{\n{}}}\n", "g();\n".repeat(lines - 2))
    }

    #[test]
    fn parameters_of_a_method_count_where_its_trait_is_declared() {
        let method = "fn f(a: A, b: B, c: C, d: D, e: E, f: F) {}";
        for (place, found) in [("trait T", true), ("impl S", true), ("impl T for S", false)] {
            let text = format!("{place} {{ {method} }}");
            assert_eq!(!lines(check, "a.rs", &text).is_empty(), found, "{place}");
        }
    }

    #[test]
    fn a_function_of_71_lines_is_found() {
        assert!(lines(check, "a.rs", &function(70)).is_empty());
        let long = function(71);
        assert_eq!(lines(check, "a.rs", &long), [1]);
        assert_eq!(lines(check, "a.rs", &format!("impl A {{\n{long}}}")), [2]);
        assert_eq!(lines(check, "a.rs", &format!("trait A {{\n{long}}}")), [2]);
        assert_eq!(lines(check, "a.rs", &format!("mod a {{\n{long}}}")), [2]);
    }

    #[test]
    fn a_table_says_why_it_is_long_and_only_if_it_is() {
        let marked = |mark: &str, count| format!("{mark}\n{}", function(count));
        assert!(lines(check, "a.rs", &marked("// tidy: table, one arm a key", 71)).is_empty());
        assert_eq!(lines(check, "a.rs", &marked("// tidy: table", 71)), [2]);
        assert_eq!(
            lines(check, "a.rs", &marked("// tidy: table, one arm a key", 70)),
            [2]
        );
    }

    #[test]
    fn a_sixth_parameter_is_found_in_a_tuple_too() {
        for text in [
            "fn f(a: A, b: B, c: C, d: D, e: E, g: G) {}",
            "fn f(a: A, b: B, c: C, d: D, (e, g): (E, G)) {}",
            "fn f(a: A, b: B, c: C, d: &mut (D, (E, G))) {}",
            "trait T { fn f(a: A, b: B, c: C, d: D, e: E, g: G); }",
        ] {
            assert_eq!(lines(check, "a.rs", text), [1], "{text}");
        }
        let five = "impl A { fn f(&self, a: A, b: B, c: C, d: (D, E)) {} }";
        assert!(lines(check, "a.rs", five).is_empty());
    }
}

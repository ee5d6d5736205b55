//! The size of functions: at most 70 lines and five parameters.
//!
//! Lines count from `fn` to the closing bracket. A function that is one table, such as a `match`
//! with an arm for each key, may be longer if a comment `// tidy: table` directly above it says
//! so. The receiver `self` does not count as a parameter; the elements of a tuple count one by one.

use syn::visit::{self, Visit};
use syn::{Block, FnArg, Signature, Type};

use super::Breach;
use crate::source::Source;

const MAX_LINES: usize = 70;
const MAX_PARAMETERS: usize = 5;
const TABLE: &str = "// tidy: table";

pub fn check(source: &Source) -> Vec<Breach> {
    let mut visitor = Visitor {
        source,
        breaches: Vec::new(),
    };
    visitor.visit_file(&source.file);
    visitor.breaches
}

struct Visitor<'a> {
    source: &'a Source,
    breaches: Vec<Breach>,
}

impl Visitor<'_> {
    fn report(&mut self, signature: &Signature, message: &str) {
        let line = signature.fn_token.span.start().line;
        let message = format!("fn {} has {message}", signature.ident);
        self.breaches
            .push(Breach::new(&self.source.path, line, message));
    }

    fn lines(&mut self, signature: &Signature, block: &Block) {
        let start = signature.fn_token.span.start().line;
        let end = block.brace_token.span.close().end().line;
        let lines = end + 1 - start;
        let above = self.source.text.lines().nth(start.saturating_sub(2));
        let is_table = above.is_some_and(|line| line.trim().starts_with(TABLE));
        if lines > MAX_LINES && !is_table {
            self.report(
                signature,
                &format!("{lines} lines, expected at most {MAX_LINES}"),
            );
        }
        if lines <= MAX_LINES && is_table {
            self.report(
                signature,
                &format!("only {lines} lines: remove `{TABLE}` above it"),
            );
        }
    }
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.lines(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
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
        let count: usize = signature
            .inputs
            .iter()
            .map(|input| match input {
                FnArg::Receiver(_) => 0,
                FnArg::Typed(input) => elements(&input.ty),
            })
            .sum();
        if count > MAX_PARAMETERS {
            let message = format!(
                "{count} parameters, expected at most {MAX_PARAMETERS}, elements of tuples included"
            );
            self.report(signature, &message);
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

//! Constants stated in an RFC, and the vectors that test them.
//!
//! A constant is a `const` whose documentation cites a section. A vector is a comment in a test of
//! the same crate that cites the section and names the constant: the numbers below it are
//! calculated by hand from the RFC. A citation does not prove that the test fails if the constant
//! changes; mutation testing does (`cargo xtask mutants`).

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Ident, Lit, Meta};

use crate::citation::{Section, head_rfc, line_sections};
use crate::source::Source;

/// A constant with the sections that its documentation cites.
#[derive(Debug)]
pub struct Constant {
    pub path: String,
    pub line: usize,
    pub name: String,
    pub sections: BTreeSet<Section>,
}

/// The constants that no vector names, in the order of the files.
pub fn unnamed(sources: &[Source]) -> Vec<Constant> {
    let vectors: Vec<Comment> = sources.iter().flat_map(comments).collect();
    let is_unnamed = |constant: &Constant| !vectors.iter().any(|vector| vector.names(constant));
    let constants = sources.iter().flat_map(constants);
    constants.filter(is_unnamed).collect()
}

/// The constants of a file that cite a section, outside tests.
fn constants(source: &Source) -> Vec<Constant> {
    let mut visitor = Visitor {
        source,
        default: head_rfc(source),
        found: Vec::new(),
    };
    visitor.visit_file(&source.tree);
    visitor.found
}

struct Visitor<'a> {
    source: &'a Source,
    default: Option<u32>,
    found: Vec<Constant>,
}

impl Visitor<'_> {
    fn constant(&mut self, name: &Ident, attributes: &[Attribute]) {
        let line = name.span().start().line;
        if self.source.is_test(line) {
            return;
        }
        let text = attributes.iter().filter_map(documentation);
        let sections = sections_of(text, self.default);
        if !sections.is_empty() {
            self.found.push(Constant {
                path: self.source.path.clone(),
                line,
                name: name.to_string(),
                sections,
            });
        }
    }
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.constant(&item.ident, &item.attrs);
        visit::visit_item_const(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.constant(&item.ident, &item.attrs);
        visit::visit_impl_item_const(self, item);
    }
}

/// The text of a documentation comment.
fn documentation(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else {
        return None;
    };
    match &meta.value {
        Expr::Lit(literal) if meta.path.is_ident("doc") => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

fn sections_of(
    lines: impl Iterator<Item = impl AsRef<str>>,
    default: Option<u32>,
) -> BTreeSet<Section> {
    let mut carried = None;
    let mut sections = BTreeSet::new();
    for line in lines {
        let (found, last) = line_sections(line.as_ref(), carried.or(default));
        sections.extend(found);
        // The RFC of a line applies to the rest of the comment.
        carried = last.or(carried);
    }
    sections
}

/// Adjacent lines of comment in a test.
struct Comment {
    folder: String,
    words: BTreeSet<String>,
    sections: BTreeSet<Section>,
}

impl Comment {
    fn names(&self, constant: &Constant) -> bool {
        self.folder == crate_of(&constant.path)
            && self.words.contains(&constant.name)
            && !self.sections.is_disjoint(&constant.sections)
    }
}

/// The folder of the crate that has this file.
fn crate_of(path: &str) -> String {
    path.split('/').take(2).collect::<Vec<_>>().join("/")
}

fn comments(source: &Source) -> Vec<Comment> {
    let default = head_rfc(source);
    let mut comments = Vec::new();
    let mut block: Vec<&str> = Vec::new();
    let end = source.text.lines().count() + 1;
    for (number, line) in source.lines().chain([(end, "")]) {
        let text = line.trim();
        if text.starts_with("//") && source.is_test(number) {
            block.push(text.trim_start_matches(['/', '!']));
        } else if !block.is_empty() {
            let text = block.join(" ");
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let words = text.split(|c: char| !is_name(c)).map(str::to_owned);
            comments.push(Comment {
                folder: crate_of(&source.path),
                words: words.collect(),
                // In one line, so that an RFC applies to everything after it.
                sections: sections_of([&text].into_iter(), default),
            });
            block.clear();
        }
    }
    comments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[(&str, &str)]) -> Vec<String> {
        let parsed = files.iter().map(|(path, text)| Source::new(path, text));
        let sources: Vec<Source> = parsed.collect::<Result<_, _>>().expect("valid Rust");
        let found = unnamed(&sources).into_iter();
        found.map(|constant| constant.name).collect()
    }

    const CODE: &str = "/// beta (RFC 9438 §4.6).\nconst BETA: f64 = 0.7;\n\
                        /// No section.\nconst OTHER: f64 = 1.0;\n";

    #[test]
    fn a_constant_without_a_vector_is_found() {
        assert_eq!(names(&[("crates/a/src/b.rs", CODE)]), ["BETA"]);
        let inside = "impl A {\n/// RFC 9438 §4.6\nconst BETA: f64 = 0.7;\n}\n";
        assert_eq!(names(&[("crates/a/src/b.rs", inside)]), ["BETA"]);
    }

    #[test]
    fn a_vector_cites_the_section_and_names_the_constant() {
        for (vector, found) in [
            ("// RFC 9438 §4.6, BETA: 100 becomes 70.", true),
            ("// RFC 9438 §4.6 and its\n// constant BETA.", true),
            ("// BETA (RFC 9438 §4.7)", false),
            ("// RFC 9438 §4.6: BETAS", false),
            ("// RFC 9438 §4.6\nfn f() {}\n// BETA", false),
        ] {
            let test = format!("#[cfg(test)]\nmod tests {{\n{vector}\n}}\n");
            let text = format!("{CODE}{test}");
            let open: &[&str] = if found { &[] } else { &["BETA"] };
            assert_eq!(names(&[("crates/a/src/b.rs", &text)]), open, "{vector}");
            let files = [("crates/a/src/b.rs", CODE), ("crates/a/tests/c.rs", &test)];
            assert_eq!(names(&files), open, "{vector}");
            let other_crate = [("crates/a/src/b.rs", CODE), ("crates/d/tests/c.rs", &test)];
            assert_eq!(names(&other_crate), ["BETA"]);
        }
        let outside = format!("{CODE}// RFC 9438 §4.6, BETA\n");
        assert_eq!(names(&[("crates/a/src/b.rs", &outside)]), ["BETA"]);
    }
}

//! The text of a file that contains all its mutants, each behind `crate::mutants::active(ID)`.
//!
//! Every mutant and every site is enclosed in two comments, `/*<m7*/ … /*m7>*/`, so that the place
//! of a compiler error identifies its mutant or site.

use std::collections::BTreeMap;
use std::ops::Range;

use super::sites::{Kind, Site};

/// The module that the mutated crate gets: which mutant is active, and greater constants.
pub const MODULE: &str = r#"
//! Switches of mutants.
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ACTIVE: OnceLock<u32> = OnceLock::new();
static REACHED: OnceLock<Option<String>> = OnceLock::new();
static SEEN: [AtomicBool; 1 << 16] = [const { AtomicBool::new(false) }; 1 << 16];

pub fn active(id: u32) -> bool {
    let reached = REACHED.get_or_init(|| std::env::var("MUTANTS_REACHED").ok());
    let seen = &SEEN[id as usize];
    if let Some(path) = reached && !seen.load(Relaxed) && !seen.swap(true, Relaxed) {
        use std::io::Write;
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        writeln!(file.unwrap(), "{id}").unwrap();
    }
    *ACTIVE.get_or_init(|| {
        std::env::var("MUTANT").ok().and_then(|id| id.parse().ok()).unwrap_or(u32::MAX)
    }) == id
}

pub trait Greater: Sized {
    fn greater(self) -> Self;
}
macro_rules! whole { ($($t:ty)*) => { $(impl Greater for $t {
    fn greater(self) -> Self { self.wrapping_add(1) } })* } }
macro_rules! fraction { ($($t:ty)*) => { $(impl Greater for $t {
    fn greater(self) -> Self { if self == 0.0 { 1.0 } else { self * 1.05 } } })* } }
whole!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 isize);
fraction!(f32 f64);
impl Greater for std::time::Duration {
    fn greater(self) -> Self { self + self / 20 + std::time::Duration::from_nanos(1) }
}
pub fn greater<T: Greater>(id: u32, value: T) -> T {
    if active(id) { value.greater() } else { value }
}
"#;

/// Numbers of compiled mutants, by site and index in the site.
pub type Numbers = BTreeMap<(usize, usize), usize>;

/// A change of the text: `text` replaces the octets of `range`. At the same octet, texts that close
/// a site precede texts that open one, and inner ones precede outer ones.
struct Edit {
    range: Range<usize>,
    opens: bool,
    order: isize,
    text: String,
}

/// The text of a file with those mutants of `sites` that have a number.
pub fn text<'a>(
    original: &str,
    sites: impl Iterator<Item = (usize, &'a Site)>,
    numbers: &Numbers,
) -> String {
    let mut edits = Vec::new();
    for (index, site) in sites {
        let of_site = |at: usize| numbers.get(&(index, at)).copied();
        let mutants: Vec<(usize, &str)> = (site.mutants.iter().enumerate())
            .filter_map(|(at, change)| Some((of_site(at)?, change.text.as_str())))
            .collect();
        if !mutants.is_empty() {
            let rewrite = Rewrite {
                file: original,
                site,
                mutants: &mutants,
                open: format!("/*<s{index}*/"),
                close: format!("/*s{index}>*/"),
            };
            for (opens, (range, text)) in rewrite.parts() {
                let order = index as isize * if opens { 1 } else { -1 };
                edits.push(Edit {
                    range,
                    opens,
                    order,
                    text,
                });
            }
        }
    }
    edits.sort_by_key(|edit| (edit.range.start, edit.opens, edit.order));
    let mut result = String::new();
    let mut at = 0;
    for edit in edits {
        result += &original[at..edit.range.start];
        result += &edit.text;
        at = edit.range.end;
    }
    result + &original[at..]
}

/// The smallest marked part of a text that contains this octet.
pub fn marked(text: &str, octet: usize) -> Option<Mark> {
    let mut open: Vec<(Mark, usize)> = Vec::new();
    let mut best: Option<(usize, Mark)> = None;
    for (start, comment) in comments(text) {
        if let Some(mark) = comment.strip_prefix('<').and_then(Mark::new) {
            open.push((mark, start));
        } else if let Some(mark) = comment.strip_suffix('>').and_then(Mark::new)
            && let Some(at) = open.iter().rposition(|(other, _)| *other == mark)
        {
            let (_, from) = open.remove(at);
            let size = start - from;
            if (from..start).contains(&octet) && best.is_none_or(|(smallest, _)| size < smallest) {
                best = Some((size, mark));
            }
        }
    }
    best.map(|(_, mark)| mark)
}

/// The content of a pair of comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Mutant(usize),
    Site(usize),
}

impl Mark {
    fn new(word: &str) -> Option<Self> {
        let (kind, number) = word.split_at_checked(1)?;
        let number = number.parse().ok()?;
        match kind {
            "m" => Some(Self::Mutant(number)),
            "s" => Some(Self::Site(number)),
            _ => None,
        }
    }
}

fn comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("/*").filter_map(|(start, _)| {
        let rest = &text[start + 2..];
        Some((start, &rest[..rest.find("*/")?]))
    })
}

fn active(id: usize) -> String {
    format!("crate::mutants::active({id})")
}

/// `if active(1) { a } else if active(2) { b } else { original }`.
fn choice(mutants: &[(usize, &str)], of: impl Fn(&str) -> String, original: &str) -> String {
    let branch = |(id, change): &(usize, &str)| {
        let (active, change) = (active(*id), of(change));
        format!("if {active} {{ /*<m{id}*/ {change} /*m{id}>*/ }} else ")
    };
    let branches: Vec<String> = mutants.iter().map(branch).collect();
    format!("{}{{ {original} }}", branches.concat())
}

type Part = (bool, (Range<usize>, String));

/// One site of a file with its compiled mutants.
struct Rewrite<'a> {
    file: &'a str,
    site: &'a Site,
    mutants: &'a [(usize, &'a str)],
    open: String,
    close: String,
}

impl Rewrite<'_> {
    /// The edits: whether each opens or closes, its range and its text.
    fn parts(&self) -> Vec<Part> {
        let Range { start, end } = self.site.range.clone();
        let (open, close) = (&self.open, &self.close);
        let first = self.mutants[0].0;
        let is_active = active(first);
        match &self.site.kind {
            Kind::Arithmetic { operator } => {
                self.infix(operator, "(match ((", "), (", &self.pair(operator))
            }
            Kind::Comparison { operator } => {
                self.infix(operator, "(match (&(", "), &(", &self.pair(operator))
            }
            Kind::And { operator } => {
                let between = format!(") != {is_active} {{ ");
                self.infix(
                    operator,
                    "(if (",
                    &between,
                    &format!(" }} else {{ {is_active} }})"),
                )
            }
            Kind::Or { operator } => {
                let between = format!(") == {is_active} {{ ");
                self.infix(
                    operator,
                    "(if (",
                    &between,
                    &format!(" }} else {{ !{is_active} }})"),
                )
            }
            Kind::Assignment { operator } => {
                let place = &self.file[start..operator.start];
                let was = format!("{place} {} r", &self.file[operator.clone()]);
                let pair = choice(self.mutants, |changed| format!("{place} {changed} r"), &was);
                let head = (true, (start..operator.end, format!("{open}(match (")));
                vec![
                    head,
                    (false, (end..end, format!(") {{ r => {pair} }}){close}"))),
                ]
            }
            Kind::Unary { operator } => {
                let was = format!("{}v", &self.file[operator.clone()]);
                let pair = choice(self.mutants, |_| "v".to_owned(), &was);
                let head = (true, (operator.clone(), format!("{open}(match (")));
                vec![
                    head,
                    (false, (end..end, format!(") {{ v => {pair} }}){close}"))),
                ]
            }
            Kind::Literal => {
                let text = choice(self.mutants, str::to_owned, &self.file[start..end]);
                vec![(true, (start..end, format!("{open}({text}){close}")))]
            }
            Kind::Constant => self.around(&format!("(crate::mutants::greater({first}, "), "))"),
            Kind::Function { body } => {
                let text = choice(self.mutants, |value| format!("return {value};"), "");
                vec![(true, (*body..*body, format!("{open}{text}{close}")))]
            }
            Kind::Arm { pattern_end } => {
                let text = format!("{open} if !{is_active}{close}");
                vec![(false, (*pattern_end..*pattern_end, text))]
            }
            Kind::Guard => {
                let head = choice(self.mutants, str::to_owned, "");
                self.around(&format!("({}", head.trim_end_matches('}')), "})")
            }
        }
    }

    fn around(&self, before: &str, after: &str) -> Vec<Part> {
        let Range { start, end } = self.site.range.clone();
        let before = (true, (start..start, format!("{}{before}", self.open)));
        vec![
            before,
            (false, (end..end, format!("{after}{}", self.close))),
        ]
    }

    fn infix(
        &self,
        operator: &Range<usize>,
        before: &str,
        between: &str,
        after: &str,
    ) -> Vec<Part> {
        let mut parts = self.around(before, after);
        parts.push((true, (operator.clone(), between.to_owned())));
        parts
    }

    /// The text after two operands that are bound to `l` and `r`.
    fn pair(&self, operator: &Range<usize>) -> String {
        let was = format!("l {} r", &self.file[operator.clone()]);
        let pair = choice(self.mutants, |operator| format!("l {operator} r"), &was);
        format!(")) {{ (l, r) => {pair} }})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::sites;
    use crate::source::Source;

    /// The text of a file with all its mutants, without marks.
    fn switched(text: &str) -> String {
        let source = Source::new("a.rs", text).expect("valid Rust");
        let sites = sites::find(&[&source], "");
        let mut numbers = Numbers::new();
        for (index, site) in sites.iter().enumerate() {
            for at in 0..site.mutants.len() {
                numbers.insert((index, at), numbers.len());
            }
        }
        let mut result = super::text(text, sites.iter().enumerate(), &numbers);
        syn::parse_str::<syn::File>(&result).expect("still Rust");
        while let Some(start) = result.find("/*") {
            let end = start + result[start..].find("*/").expect("ends") + 2;
            result.replace_range(start..end, "");
        }
        result = result.replace("crate::mutants::", "");
        result.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_kind_of_place_keeps_its_meaning_and_gets_its_mutants() {
        let table = [
            (
                "a + b",
                "(match ((a ), ( b)) { (l, r) => if active(0) { l - r } else if active(1) \
                 { l * r } else { l + r } })",
            ),
            (
                "a == b",
                "(match (&(a ), &( b)) { (l, r) => if active(0) { l != r } else { l == r } })",
            ),
            ("a && b", "(if (a ) != active(0) { b } else { active(0) })"),
            ("a || b", "(if (a ) == active(0) { b } else { !active(0) })"),
            (
                "a -= b;",
                "(match ( b) { r => if active(0) { a += r } else if active(1) { a /= r } else \
                 { a -= r } });",
            ),
            ("!a", "(match (a) { v => if active(0) { v } else { !v } })"),
            ("7u8", "(if active(0) { 8u8 } else { 7u8 })"),
            ("2.0", "(if active(0) { 2.1 } else { 2.0 })"),
            (
                "match a { B if c => d, E => f, _ => g }",
                "match a { B if (if active(0) { true } else if active(1) { false } else { c}) => d, \
                 E if !active(2) => f, _ => g }",
            ),
            ("let _ = a && let B = c;", "let _ = a && let B = c;"),
        ];
        for (text, expected) in table {
            let file = format!("fn f() -> impl Sized {{ {text} }}");
            let expected = format!("fn f() -> impl Sized {{ {expected} }}");
            let expected = expected.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(switched(&file), expected, "{text}");
        }
    }

    #[test]
    fn nested_places_open_from_without_and_close_from_within() {
        let text = switched("fn f() -> impl Sized { a < b && !c }");
        let inner = "if active(1) { l <= r } else if active(2) { l == r } else if active(3) \
                     { l > r } else { l < r }";
        let left = format!("(match (&(a ), &( b)) {{ (l, r) => {inner} }})");
        let right = "(match (c) { v => if active(4) { v } else { !v } })";
        let expected = format!(
            "fn f() -> impl Sized {{ (if ({left} ) != active(0) {{ {right} }} else {{ active(0) }}) }}"
        );
        assert_eq!(
            text,
            expected.split_whitespace().collect::<Vec<_>>().join(" ")
        );
    }

    #[test]
    fn results_and_constants_change_and_what_the_compiler_computes_does_not() {
        let text = switched("const A: u32 = 3; const fn b() -> u8 { 1 } fn f() -> bool { g(A) }");
        assert_eq!(
            text,
            "const A: u32 = 3; const fn b() -> u8 { 1 } fn f() -> bool {if active(0) { return true; } \
             else if active(1) { return false; } else { } g((greater(2, A))) }"
        );
        let tests = "#[cfg(test)] mod tests { fn f() -> bool { 1 + 1 == 3 } }";
        assert_eq!(switched(tests), tests);
    }

    #[test]
    fn an_error_belongs_to_the_smallest_marked_part() {
        let text = "/*<s1*/ a /*<m7*/ b /*m7>*/ /*<s2*/ c /*s2>*/ /*s1>*/ d";
        let at = |word: &str| marked(text, text.find(word).expect("there"));
        assert_eq!(at(" a "), Some(Mark::Site(1)));
        assert_eq!(at(" b "), Some(Mark::Mutant(7)));
        assert_eq!(at(" c "), Some(Mark::Site(2)));
        assert_eq!(at(" d"), None);
    }
}

//! Finds the places of a file to change, and their changes.

use std::collections::BTreeMap;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, Lit, Pat, ReturnType, Type, UnOp};

use super::Mutant;
use crate::source::Source;

/// One place with its changes.
pub struct Site {
    pub path: String,
    pub kind: Kind,
    /// The range in octets of the file.
    pub range: Range<usize>,
    pub mutants: Vec<Change>,
}

/// The replacement that one mutant of a site makes.
pub struct Change {
    pub mutant: Mutant,
    /// An operator, an expression, or nothing.
    pub text: String,
}

/// The kind of a place, which determines how its text is changed.
pub enum Kind {
    /// `left operator right` by value.
    Arithmetic { operator: Range<usize> },
    /// `left operator right` by reference.
    Comparison { operator: Range<usize> },
    /// `&&`.
    And { operator: Range<usize> },
    /// `||`.
    Or { operator: Range<usize> },
    /// `place operator= value`.
    Assignment { operator: Range<usize> },
    /// `!` or `-`.
    Unary { operator: Range<usize> },
    /// A number.
    Literal,
    /// A name of a constant that is a number.
    Constant,
    /// The result of a function, whose body starts at this octet.
    Function { body: usize },
    /// A match arm without a guard that another arm can replace; with the end of its pattern.
    Arm { pattern_end: usize },
    /// The guard of an arm.
    Guard,
}

/// The places of these files whose path, function and change contain `only`.
pub fn find(files: &[&Source], only: &str) -> Vec<Site> {
    let constants = constants(files);
    let mut sites = Vec::new();
    for source in files {
        let mut finder = Finder {
            source,
            constants: &constants,
            place: Vec::new(),
            sites,
        };
        finder.visit_file(&source.tree);
        sites = finder.sites;
    }
    for site in &mut sites {
        site.mutants
            .retain(|change| change.mutant.to_string().contains(only));
    }
    sites.retain(|site| !site.mutants.is_empty());
    sites
}

/// Constants that are numbers: the files and lines that declare each name.
type Constants = BTreeMap<String, Vec<(String, usize)>>;

fn constants(files: &[&Source]) -> Constants {
    struct Declared<'a>(&'a Source, Constants);
    impl Declared<'_> {
        fn add(&mut self, name: &syn::Ident, kind: &Type) {
            let line = name.span().start().line;
            if is_number(kind) && !self.0.is_test(line) {
                let place = (self.0.path.clone(), line);
                self.1.entry(name.to_string()).or_default().push(place);
            }
        }
    }
    impl<'ast> Visit<'ast> for Declared<'_> {
        fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
            self.add(&item.ident, &item.ty);
        }
        fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
            self.add(&item.ident, &item.ty);
        }
    }
    let mut all = Constants::new();
    for source in files {
        let mut declared = Declared(source, all);
        declared.visit_file(&source.tree);
        all = declared.1;
    }
    all
}

fn type_name(kind: &Type) -> String {
    match kind {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        Type::Tuple(tuple) if tuple.elems.is_empty() => Some("()".to_owned()),
        _ => None,
    }
    .unwrap_or_default()
}

const UNSIGNED: [&str; 6] = ["u8", "u16", "u32", "u64", "u128", "usize"];
const SIGNED: [&str; 5] = ["i8", "i16", "i32", "i64", "isize"];
const FRACTIONS: [&str; 2] = ["f32", "f64"];

fn is_number(kind: &Type) -> bool {
    let name = type_name(kind);
    let name = name.as_str();
    UNSIGNED.contains(&name)
        || SIGNED.contains(&name)
        || FRACTIONS.contains(&name)
        || name == "Duration"
}

struct Finder<'a> {
    source: &'a Source,
    constants: &'a Constants,
    place: Vec<String>,
    sites: Vec<Site>,
}

impl Finder<'_> {
    fn mutant(&self, line: usize, change: String) -> Mutant {
        let place = self.place.last().cloned().unwrap_or_default();
        let code = self.code(line);
        Mutant {
            path: self.source.path.clone(),
            line,
            place,
            change,
            code,
        }
    }

    fn code(&self, line: usize) -> String {
        self.source
            .text
            .lines()
            .nth(line - 1)
            .unwrap_or_default()
            .trim()
            .to_owned()
    }

    /// A site with one mutant for each word of `to`.
    fn push(&mut self, kind: Kind, at: proc_macro2::Span, from: &str, to: &[&str]) {
        let line = at.start().line;
        let change = |text: &&str| {
            let what = if text.is_empty() {
                format!("{from} left out")
            } else {
                format!("{from} made {text}")
            };
            Change {
                mutant: self.mutant(line, what),
                text: (*text).to_owned(),
            }
        };
        let mutants = to.iter().map(change).collect();
        let path = self.source.path.clone();
        self.sites.push(Site {
            path,
            kind,
            range: at.byte_range(),
            mutants,
        });
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        if signature.constness.is_some() {
            return;
        }
        self.place.push(signature.ident.to_string());
        let open = block.brace_token.span.open();
        let (from, to) = match &signature.output {
            ReturnType::Type(_, kind) => (type_name(kind), results(kind)),
            ReturnType::Default => ("()".to_owned(), vec!["()"]),
        };
        if !block.stmts.is_empty() && !to.is_empty() {
            let body = open.byte_range().end;
            let from = format!("result {from}");
            self.push(Kind::Function { body }, open, &from, &to);
        }
        visit::visit_block(self, block);
        self.place.pop();
    }

    fn binary(&mut self, expression: &syn::ExprBinary) {
        let operator = expression.op.span().byte_range();
        let (kind, to): (Kind, &[&str]) = match expression.op {
            BinOp::Add(_) => (Kind::Arithmetic { operator }, &["-", "*"]),
            BinOp::Sub(_) | BinOp::Mul(_) => (Kind::Arithmetic { operator }, &["+", "/"]),
            BinOp::Div(_) => (Kind::Arithmetic { operator }, &["*", "%"]),
            BinOp::Rem(_) => (Kind::Arithmetic { operator }, &["/", "+"]),
            BinOp::Shl(_) => (Kind::Arithmetic { operator }, &[">>"]),
            BinOp::Shr(_) => (Kind::Arithmetic { operator }, &["<<"]),
            BinOp::BitAnd(_) => (Kind::Arithmetic { operator }, &["|", "^"]),
            BinOp::BitOr(_) => (Kind::Arithmetic { operator }, &["&", "^"]),
            BinOp::BitXor(_) => (Kind::Arithmetic { operator }, &["&", "|"]),
            BinOp::Eq(_) => (Kind::Comparison { operator }, &["!="]),
            BinOp::Ne(_) => (Kind::Comparison { operator }, &["=="]),
            BinOp::Lt(_) => (Kind::Comparison { operator }, &["<=", "==", ">"]),
            BinOp::Gt(_) => (Kind::Comparison { operator }, &[">=", "==", "<"]),
            BinOp::Le(_) => (Kind::Comparison { operator }, &["<", ">"]),
            BinOp::Ge(_) => (Kind::Comparison { operator }, &[">", "<"]),
            BinOp::And(_) => (Kind::And { operator }, &["||"]),
            BinOp::Or(_) => (Kind::Or { operator }, &["&&"]),
            BinOp::AddAssign(_) => (Kind::Assignment { operator }, &["-=", "*="]),
            BinOp::SubAssign(_) | BinOp::MulAssign(_) => {
                (Kind::Assignment { operator }, &["+=", "/="])
            }
            BinOp::DivAssign(_) => (Kind::Assignment { operator }, &["*=", "%="]),
            BinOp::ShlAssign(_) => (Kind::Assignment { operator }, &[">>="]),
            BinOp::ShrAssign(_) => (Kind::Assignment { operator }, &["<<="]),
            BinOp::BitAndAssign(_) => (Kind::Assignment { operator }, &["|="]),
            BinOp::BitOrAssign(_) => (Kind::Assignment { operator }, &["&="]),
            _ => return visit::visit_expr_binary(self, expression),
        };
        let from = &self.source.text[expression.op.span().byte_range()];
        let is_assignment = matches!(kind, Kind::Assignment { .. });
        if !holds_let(&expression.left) && !holds_let(&expression.right) {
            self.push(kind, expression.span(), from, to);
        }
        if !is_assignment {
            self.visit_expr(&expression.left);
        }
        self.visit_expr(&expression.right);
    }
}

/// Possible results of a function of this type without its computation.
fn results(kind: &Type) -> Vec<&'static str> {
    let name = type_name(kind);
    match name.as_str() {
        "bool" => vec!["true", "false"],
        "()" => vec!["()"],
        "Option" => vec!["None"],
        "" | "Self" | "String" => Vec::new(),
        name if UNSIGNED.contains(&name) || SIGNED.contains(&name) => vec!["0", "1"],
        name if FRACTIONS.contains(&name) => vec!["0.0", "1.0"],
        _ => vec!["Default::default()"],
    }
}

/// Whether this part of a condition binds names, so that it is not a plain value.
fn holds_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => holds_let(&binary.left) || holds_let(&binary.right),
        _ => false,
    }
}

/// Whether an arm matches everything that the others do not.
fn takes_all(arm: &syn::Arm) -> bool {
    matches!(arm.pat, Pat::Wild(_))
}

/// The number plus one, or plus 5 %.
fn greater(literal: &Lit) -> Option<String> {
    match literal {
        Lit::Int(number) => {
            let value: u128 = number.base10_parse().ok()?;
            Some(format!("{}{}", value + 1, number.suffix()))
        }
        Lit::Float(number) => {
            let value: f64 = number.base10_parse().ok()?;
            let changed = if value == 0.0 { 1.0 } else { value * 1.05 };
            Some(format!("{changed:?}{}", number.suffix()))
        }
        _ => None,
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !self.source.is_test(item.span().start().line) {
            visit::visit_item(self, item);
        }
    }

    // Values computed at compile time cannot be switched.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_pat(&mut self, _: &'ast Pat) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}

    fn visit_expr_repeat(&mut self, expression: &'ast syn::ExprRepeat) {
        self.visit_expr(&expression.expr);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of = item
            .trait_
            .as_ref()
            .and_then(|(path, _)| path.segments.last());
        if of.is_none_or(|name| name.ident != "Debug") {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !self.source.is_test(item.span().start().line) {
            self.function(&item.sig, &item.block);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
    }

    fn visit_expr_binary(&mut self, expression: &'ast syn::ExprBinary) {
        self.binary(expression);
    }

    fn visit_expr_unary(&mut self, expression: &'ast syn::ExprUnary) {
        let operator = expression.op.span().byte_range();
        let from = match expression.op {
            UnOp::Not(_) => "!",
            UnOp::Neg(_) => "-",
            _ => return visit::visit_expr_unary(self, expression),
        };
        self.push(Kind::Unary { operator }, expression.span(), from, &[""]);
        self.visit_expr(&expression.expr);
    }

    fn visit_expr_lit(&mut self, expression: &'ast syn::ExprLit) {
        if let Some(changed) = greater(&expression.lit) {
            let from = self.source.text[expression.span().byte_range()].to_owned();
            self.push(Kind::Literal, expression.span(), &from, &[&changed]);
        }
    }

    fn visit_expr_path(&mut self, expression: &'ast syn::ExprPath) {
        let Some(name) = expression
            .path
            .segments
            .last()
            .map(|last| last.ident.to_string())
        else {
            return;
        };
        let Some(declared) = self.constants.get(&name) else {
            return;
        };
        let own = declared.iter().find(|(path, _)| *path == self.source.path);
        let Some((path, line)) = own.or(if declared.len() == 1 {
            declared.first()
        } else {
            None
        }) else {
            return;
        };
        let mutant = Mutant {
            path: path.clone(),
            line: *line,
            place: name.clone(),
            change: "made greater".to_owned(),
            code: format!("const {name}"),
        };
        let mutants = vec![Change {
            mutant,
            text: String::new(),
        }];
        let range = expression.span().byte_range();
        self.sites.push(Site {
            path: self.source.path.clone(),
            kind: Kind::Constant,
            range,
            mutants,
        });
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        self.visit_expr(&expression.expr);
        let may_lack_one = expression.arms.iter().any(takes_all);
        for arm in &expression.arms {
            match &arm.pat {
                Pat::Guard(syn::PatGuard { guard, .. }) if !holds_let(guard) => {
                    let from = &self.source.text[guard.span().byte_range()];
                    self.push(Kind::Guard, guard.span(), from, &["true", "false"]);
                    self.visit_expr(guard);
                }
                Pat::Guard(guarded) => self.visit_expr(&guarded.guard),
                _ if may_lack_one && !takes_all(arm) => {
                    let pattern_end = arm.pat.span().byte_range().end;
                    let from = &self.source.text[arm.pat.span().byte_range()];
                    let from = format!("arm {from}");
                    self.push(Kind::Arm { pattern_end }, arm.pat.span(), &from, &[""]);
                }
                _ => {}
            }
            self.visit_expr(&arm.body);
        }
    }
}

//! The modules of a crate and the references between their files, from `use` items and from the
//! paths in code, types, patterns and macro calls.
//!
//! A name is followed through `use` and `pub use` to the file that defines it, so that a re-export
//! by a parent module hides no reference. Attributes, documentation and code under `#[cfg(test)]`
//! are ignored, and so are methods and fields, which need no path.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::source::Source;

/// The names of modules from the crate's root down to this one; empty for the root.
pub type ModulePath = Vec<String>;

/// The referring and the referenced file, with the line of the first reference.
pub type References = BTreeMap<(ModulePath, ModulePath), usize>;

/// The files of one crate below its `src/`.
pub struct Crate<'a> {
    pub files: BTreeMap<ModulePath, &'a Source>,
    scopes: BTreeMap<ModulePath, Scope>,
}

/// The names in one module, a file or an inline one.
#[derive(Default)]
struct Scope {
    /// The module of the file that contains this one.
    file: ModulePath,
    /// The names of items defined here.
    items: Vec<String>,
    /// Names imported by `use`, with their full paths.
    imports: Vec<(String, Vec<String>)>,
    /// Modules and enums imported with a glob.
    globs: Vec<Vec<String>>,
    /// Every path written here, with its line.
    paths: Vec<(Vec<String>, usize)>,
}

/// The target of a path.
enum Target {
    Module(ModulePath),
    /// An item defined in the file of this module.
    Item(ModulePath),
}

/// The maximum number of re-exports of a name.
const MAX_REEXPORTS: usize = 8;

impl<'a> Crate<'a> {
    /// Every folder `src/` is a crate.
    pub fn all(sources: &'a [Source]) -> Vec<Self> {
        let folders: BTreeSet<&str> = sources
            .iter()
            .filter_map(|source| {
                let start = source.path.find("/src/")?;
                source.path.get(..start + "/src/".len())
            })
            .collect();
        let read = |folder| Self::read(folder, sources);
        folders.into_iter().map(read).collect()
    }

    fn read(folder: &str, sources: &'a [Source]) -> Self {
        let mut this = Self {
            files: BTreeMap::new(),
            scopes: BTreeMap::new(),
        };
        for source in sources.iter().filter(|source| !source.test) {
            let Some(path) = source.path.strip_prefix(folder) else {
                continue;
            };
            let file = module_path(path);
            let mut reader = Reader {
                source,
                file: &file,
                module: file.clone(),
                scopes: &mut this.scopes,
            };
            reader.scope();
            reader.visit_file(&source.tree);
            this.files.insert(file, source);
        }
        this
    }

    /// The references between different files. A path that ends at a module is not a reference, but
    /// the names used through it are.
    pub fn references(&self) -> References {
        let mut references = References::new();
        for (module, scope) in &self.scopes {
            for (path, line) in &scope.paths {
                if let Some(Target::Item(to)) = self.resolve(module, path, MAX_REEXPORTS)
                    && to != scope.file
                {
                    let first = references.entry((scope.file.clone(), to)).or_insert(*line);
                    *first = (*line).min(*first);
                }
            }
        }
        references
    }

    /// The first names of paths that lead out of the crate, with their files and lines.
    pub fn outside(&self) -> impl Iterator<Item = (&'a Source, &str, usize)> {
        self.scopes.iter().flat_map(move |(module, scope)| {
            let file = self.files[&scope.file];
            scope.paths.iter().filter_map(move |(path, line)| {
                let is_outside = self.resolve(module, path, MAX_REEXPORTS).is_none();
                is_outside.then_some((file, path.first()?.as_str(), *line))
            })
        })
    }

    /// The target of a path; `None` if it leads out of the crate.
    fn resolve(&self, module: &ModulePath, path: &[String], depth: usize) -> Option<Target> {
        let mut target = Target::Module(module.clone());
        for (index, name) in path.iter().enumerate() {
            let Target::Module(mut here) = target else {
                break;
            };
            let is_last = index + 1 == path.len();
            target = match name.as_str() {
                "crate" => Target::Module(Vec::new()),
                "self" => Target::Module(here),
                "super" => {
                    here.pop();
                    Target::Module(here)
                }
                name => match self.lookup(&here, name, is_last, depth) {
                    Some(found) => found,
                    None if index == 0 => return None,
                    // A macro or another crate defines it: it is attributed to the module itself.
                    None => Target::Item(self.scopes.get(&here)?.file.clone()),
                },
            };
        }
        Some(target)
    }

    /// The target of a name in a module. At the end of a path an item of this module takes
    /// precedence over an import: a function may have the name of an imported module.
    fn lookup(
        &self,
        module: &ModulePath,
        name: &str,
        is_last: bool,
        depth: usize,
    ) -> Option<Target> {
        let depth = depth.checked_sub(1)?;
        let child: ModulePath = module.iter().cloned().chain([name.to_owned()]).collect();
        if self.scopes.contains_key(&child) {
            return Some(Target::Module(child));
        }
        let scope = self.scopes.get(module)?;
        let item = scope.items.iter().any(|item| item == name);
        let item = item.then(|| Target::Item(scope.file.clone()));
        if is_last && item.is_some() {
            return item;
        }
        let mut imports = scope.imports.iter().filter(|(import, _)| import == name);
        let import = imports.find_map(|(_, path)| self.resolve(module, path, depth));
        import.or(item).or_else(|| {
            let mut globs = scope.globs.iter();
            globs.find_map(|glob| match self.resolve(module, glob, depth)? {
                Target::Module(from) => self.lookup(&from, name, is_last, depth),
                Target::Item(_) => None,
            })
        })
    }
}

/// `a/b.rs` and `a/b/mod.rs` are `a::b`; `lib.rs` and `main.rs` are the root.
fn module_path(path: &str) -> ModulePath {
    let names = path.trim_end_matches(".rs").split('/');
    let mut names: ModulePath = names.map(str::to_owned).collect();
    names.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
    names
}

/// Reads one file into the scopes of its modules.
struct Reader<'a> {
    source: &'a Source,
    file: &'a ModulePath,
    module: ModulePath,
    scopes: &'a mut BTreeMap<ModulePath, Scope>,
}

impl Reader<'_> {
    fn scope(&mut self) -> &mut Scope {
        let file = self.file;
        self.scopes
            .entry(self.module.clone())
            .or_insert_with(|| Scope {
                file: file.clone(),
                ..Scope::default()
            })
    }

    fn path(&mut self, path: Vec<String>, span: Span) {
        let line = span.start().line;
        if !self.source.is_test(line) {
            self.scope().paths.push((path, line));
        }
    }

    /// One branch of a `use` with the names before it.
    fn use_tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let joined = |name: &syn::Ident| {
            let mut path = prefix.to_vec();
            path.extend((name != "self").then(|| name.to_string()));
            path
        };
        match tree {
            syn::UseTree::Path(branch) => {
                let mut path = prefix.to_vec();
                path.push(branch.ident.to_string());
                self.use_tree(&path, &branch.tree);
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.use_tree(prefix, tree);
                }
            }
            syn::UseTree::Name(name) => {
                let path = joined(&name.ident);
                self.import(path.last().cloned(), path, name.ident.span());
            }
            syn::UseTree::Rename(rename) => {
                let name = rename.rename.to_string();
                self.import(Some(name), joined(&rename.ident), rename.ident.span());
            }
            syn::UseTree::Glob(glob) => {
                self.path(prefix.to_vec(), glob.star_token.spans[0]);
                self.scope().globs.push(prefix.to_vec());
            }
        }
    }

    fn import(&mut self, name: Option<String>, path: Vec<String>, span: Span) {
        self.path(path.clone(), span);
        self.scope().imports.extend(name.map(|name| (name, path)));
    }

    /// The paths in the tokens of a macro: words separated by two colons.
    fn tokens(&mut self, stream: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for tree in stream {
            match tree {
                TokenTree::Punct(sign) if sign.as_char() == ':' => colons += 1,
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        path.clear();
                    }
                    colons = 0;
                    path.push(name.to_string());
                    self.path(path.clone(), name.span());
                }
                TokenTree::Group(group) => {
                    colons = 0;
                    self.tokens(group.stream());
                }
                _ => colons = 0,
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let name = match item {
            syn::Item::Const(item) => Some(&item.ident),
            syn::Item::Enum(item) => Some(&item.ident),
            syn::Item::Fn(item) => Some(&item.sig.ident),
            syn::Item::Macro(item) => item.ident.as_ref(),
            syn::Item::Static(item) => Some(&item.ident),
            syn::Item::Struct(item) => Some(&item.ident),
            syn::Item::Trait(item) => Some(&item.ident),
            syn::Item::Type(item) => Some(&item.ident),
            _ => None,
        };
        let name = name.map(ToString::to_string);
        self.scope().items.extend(name);
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let Some((_, items)) = &item.content else {
            return;
        };
        self.module.push(item.ident.to_string());
        self.scope();
        for item in items {
            self.visit_item(item);
        }
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.use_tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let Some(first) = path.segments.first() {
            let names = path.segments.iter().map(|step| step.ident.to_string());
            self.path(names.collect(), first.ident.span());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        self.tokens(call.tokens.clone());
    }

    /// `pub(super)` and attributes are not references.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
}

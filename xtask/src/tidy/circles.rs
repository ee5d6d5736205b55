//! No circle of modules inside a crate.
//!
//! The graph has a node for each file and an edge for each reference from one file to another (see
//! `modules.rs`). Each strongly connected component of two files or more is a circle, with one
//! exception: a module may refer to its own descendants and they to it. So when one file of a
//! component is the ancestor of all the others, it is taken out, and the others are looked at again
//! without it.

use std::collections::BTreeSet;

use super::Breach;
use crate::modules::{Crate, ModulePath, Reference};
use crate::source::Source;

/// The circles of all crates of the workspace.
pub fn check(sources: &[Source]) -> Vec<Breach> {
    let folders: BTreeSet<&str> = sources
        .iter()
        .filter_map(|source| {
            let end = source.path.find("/src/")? + "/src/".len();
            source.path.get(..end)
        })
        .collect();
    folders
        .into_iter()
        .flat_map(|folder| in_crate(&Crate::read(folder, sources)))
        .collect()
}

fn in_crate(unit: &Crate) -> Vec<Breach> {
    let references = unit.references();
    let mut circles = Vec::new();
    collect(unit.files.keys().collect(), &references, &mut circles);
    circles
        .iter()
        .map(|circle| describe(circle, &references, unit))
        .collect()
}

/// One line for the circle, and one more for each reference in it.
fn describe(circle: &BTreeSet<&ModulePath>, references: &[Reference], unit: &Crate) -> Breach {
    let path = |module: &ModulePath| unit.files[module].path.as_str();
    let files: Vec<&str> = circle.iter().map(|module| path(module)).collect();
    let inner = references
        .iter()
        .filter(|reference| circle.contains(&reference.from) && circle.contains(&reference.to));
    let uses: Vec<String> = inner
        .map(|reference| {
            let (from, to) = (path(&reference.from), path(&reference.to));
            format!("\n    {from}:{} uses {to}", reference.line)
        })
        .collect();
    let message = format!("circle of {} modules:{}", circle.len(), uses.concat());
    Breach::new(files[0], 1, message)
}

/// Splits the modules into strongly connected components and keeps those that are circles.
fn collect<'a>(
    modules: BTreeSet<&'a ModulePath>,
    references: &[Reference],
    circles: &mut Vec<BTreeSet<&'a ModulePath>>,
) {
    let mut rest = modules.clone();
    while let Some(start) = rest.first().copied() {
        let forward = reachable(start, &modules, references, |r| (&r.from, &r.to));
        let backward = reachable(start, &modules, references, |r| (&r.to, &r.from));
        let mut component: BTreeSet<_> = forward.intersection(&backward).copied().collect();
        rest.retain(|module| !component.contains(module));
        let top = component
            .iter()
            .copied()
            .find(|top| component.iter().all(|module| module.starts_with(top)));
        match top {
            _ if component.len() == 1 => {}
            Some(top) => {
                component.remove(top);
                collect(component, references, circles);
            }
            None => circles.push(component),
        }
    }
}

/// The modules that can be reached from this one inside the set, itself included.
fn reachable<'a>(
    start: &'a ModulePath,
    modules: &BTreeSet<&'a ModulePath>,
    references: &[Reference],
    ends: fn(&Reference) -> (&ModulePath, &ModulePath),
) -> BTreeSet<&'a ModulePath> {
    let mut found = BTreeSet::from([start]);
    let mut open = vec![start];
    while let Some(module) = open.pop() {
        for reference in references {
            let (from, to) = ends(reference);
            if from == module
                && let Some(to) = modules.get(to)
                && found.insert(to)
            {
                open.push(to);
            }
        }
    }
    found
}

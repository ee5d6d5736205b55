//! Compiles a module of a kernel's source tree, unchanged, against the headers and with the stack
//! of `scripts/kernel-modules`, which this program contains. Nothing of the kernel is in it.

use super::PREFIX;
use crate::exit::Failure;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

macro_rules! files {
    ($($path:literal)+) => {
        &[$(($path, include_str!(concat!("../../kernel-modules/", $path)))),+]
    };
}

/// The files that are compiled with a module, by their paths.
pub const FILES: &[(&str, &str)] = files! {
    "include/asm/div64.h"
    "include/linux/btf.h"
    "include/linux/btf_ids.h"
    "include/linux/gfp.h"
    "include/linux/inet.h"
    "include/linux/inet_diag.h"
    "include/linux/jhash.h"
    "include/linux/kernel.h"
    "include/linux/list.h"
    "include/linux/math64.h"
    "include/linux/mm.h"
    "include/linux/module.h"
    "include/linux/random.h"
    "include/linux/sched/clock.h"
    "include/linux/skbuff.h"
    "include/linux/types.h"
    "include/linux/win_minmax.h"
    "include/net/tcp.h"
    "include/shim/kernel.h"
    "include/trace/events/tcp.h"
    "stack/driver.c"
    "stack/event.h"
    "stack/stack.c"
};

/// The options of the compiler; the kernel has those about aliasing and overflow too.
const OPTIONS: &[&str] = &[
    "-std=gnu17",
    "-O2",
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
    "-fno-builtin",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-ffp-contract=off",
];

/// The Reno of every kernel, the registry of modules.
const CONG: &str = "net/ipv4/tcp_cong.c";
/// The windowed maximum of BBR.
const MINMAX: &str = "lib/win_minmax.c";
/// Lines of the compiler's message that are shown.
const SHOWN_LINES: usize = 4;

/// A program that runs a module.
#[derive(Debug)]
pub struct Program {
    /// The module's name, of letters, digits, `-` and `_`.
    pub name: String,
    file: PathBuf,
    /// Removed with the program in it, if it was compiled here.
    _folder: Option<TempDir>,
}

impl Program {
    /// The program of this file: a module `.c` is compiled, another file is a program already.
    ///
    /// # Errors
    /// Status 2: a file or tree that is missing, or a module that does not compile; 4: no compiler;
    /// 1: the files cannot be written.
    pub fn of(path: &Path, tree: Option<&Path>) -> Result<Self, Failure> {
        let wrong = |what: &str| Failure::Usage(format!("{PREFIX}{}: {what}", path.display()));
        let file = fs::canonicalize(path).map_err(|error| wrong(&error.to_string()))?;
        if !file.is_file() {
            return Err(wrong(
                "it is no file; write kernel:TREE/net/ipv4/tcp_NAME.c",
            ));
        }
        let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        if path.extension() != Some(OsStr::new("c")) {
            return Ok(Self {
                name: plain(stem.strip_prefix("driver-").unwrap_or(stem)),
                file,
                _folder: None,
            });
        }
        let text = fs::read_to_string(&file).map_err(|error| wrong(&error.to_string()))?;
        let stem = stem.strip_prefix("tcp_").unwrap_or(stem);
        let Some(name) = registered(&text, stem) else {
            let help = "it names no tcp_congestion_ops (.name = \"…\")";
            return Err(wrong(help));
        };
        let tree = match tree {
            Some(tree) if tree.join(CONG).is_file() => tree,
            Some(tree) => {
                let what = format!(
                    "\"{}\" has no {CONG}, so it is no tree of Linux",
                    tree.display()
                );
                return Err(wrong(&what));
            }
            None => file
                .ancestors()
                .find(|above| above.join(CONG).is_file())
                .ok_or_else(|| {
                    wrong("it lies in no source tree of Linux; name one with --kernel-tree")
                })?,
        };
        let module = Source {
            file: &file,
            tree,
            text: &text,
            name: &name,
        };
        module.compile(&wrong)
    }

    /// Where it is.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

/// A module with its tree.
struct Source<'a> {
    file: &'a Path,
    tree: &'a Path,
    text: &'a str,
    /// The name under which it registers.
    name: &'a str,
}

impl Source<'_> {
    fn compile(&self, wrong: &dyn Fn(&str) -> Failure) -> Result<Program, Failure> {
        let cannot = |error: io::Error| {
            Failure::Failed(format!("cannot write files to compile a module: {error}"))
        };
        let folder = tempfile::Builder::new()
            .prefix("weir-kernel-")
            .tempdir()
            .map_err(cannot)?;
        write_files(folder.path()).map_err(cannot)?;
        let compiler = env::var("CC").ok().filter(|words| !words.trim().is_empty());
        let compiler = compiler.unwrap_or_else(|| "cc".to_owned());
        let mut words = compiler.split_whitespace();
        let file = folder.path().join(format!("driver-{}", plain(self.name)));
        let output = Command::new(words.next().unwrap_or("cc"))
            .args(words)
            .args(OPTIONS)
            .arg(format!(
                "-DKERNEL={}",
                self.kernel().ok_or_else(|| {
                    wrong("the tree's Makefile has no VERSION and PATCHLEVEL")
                })?
            ))
            .arg(format!("-DCA=\"{}\"", self.name))
            .arg("-I")
            .arg(folder.path().join("include"))
            .arg("-I")
            .arg(folder.path().join("stack"))
            .arg("-iquote")
            .arg(self.tree.join("net/ipv4"))
            .arg("-o")
            .arg(&file)
            .args(self.sources())
            .args(["stack/stack.c", "stack/driver.c"].map(|path| folder.path().join(path)))
            .output();
        let output = output.map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::Unavailable(format!(
                "no C compiler \"{compiler}\" to compile a module of Linux with; \
                 install one, or name one with the variable CC"
            )),
            _ => Failure::Failed(format!("cannot run \"{compiler}\": {error}")),
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let what = format!("it does not compile ({compiler}: {})", output.status);
            return Err(wrong(&format!("{what}{}", first_errors(&said))));
        }
        Ok(Program {
            name: plain(self.name),
            file,
            _folder: Some(folder),
        })
    }

    /// The module, what every module needs, and Vegas for one that builds on it.
    fn sources(&self) -> Vec<PathBuf> {
        let is_reno = self.name == "reno";
        let own = || self.file.to_owned();
        let cong = if is_reno { own() } else { self.tree.join(CONG) };
        let mut sources = vec![cong, self.tree.join(MINMAX)];
        sources.extend((!is_reno).then(own));
        let builds_on_vegas = self.text.contains("tcp_vegas.h") && self.name != "vegas";
        sources.extend(builds_on_vegas.then(|| self.tree.join("net/ipv4/tcp_vegas.c")));
        sources
    }

    /// The version of the tree's Makefile, times 100, plus the patch level.
    fn kernel(&self) -> Option<u32> {
        let makefile = fs::read_to_string(self.tree.join("Makefile")).ok()?;
        let value = |name: &str| {
            let values = makefile.lines().filter_map(|line| line.split_once('='));
            let mut values = values.filter(|(known, _)| known.trim() == name);
            values.next()?.1.trim().parse::<u32>().ok()
        };
        value("VERSION")?
            .checked_mul(100)?
            .checked_add(value("PATCHLEVEL")?)
    }
}

fn write_files(folder: &Path) -> io::Result<()> {
    for (path, text) in FILES {
        let path = folder.join(path);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

/// The name under which a module registers: that of its file, if it has an operation table of this
/// name, else the first name.
fn registered(text: &str, stem: &str) -> Option<String> {
    let fields = text.split(".name").skip(1);
    let names = fields.filter_map(|rest| {
        let value = rest
            .trim_start()
            .strip_prefix('=')?
            .trim_start()
            .strip_prefix('"')?;
        Some(value.split_once('"')?.0)
    });
    let names: Vec<&str> = names.collect();
    let of_file = names.iter().find(|name| **name == stem);
    of_file.or(names.first()).map(|name| (*name).to_owned())
}

/// A name with other characters replaced, for the registry of controllers and for files.
fn plain(name: &str) -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "-_".contains(*letter);
    let plain = |letter: char| if is_plain(&letter) { letter } else { '-' };
    let name: String = name.chars().take(32).map(plain).collect();
    if name.is_empty() {
        "module".to_owned()
    } else {
        name
    }
}

/// The first errors of a compiler's message, each on a line of its own.
fn first_errors(said: &str) -> String {
    let is_error = |line: &&str| line.contains("error") || line.contains("undefined");
    let mut lines: Vec<&str> = said.lines().filter(is_error).take(SHOWN_LINES).collect();
    if lines.is_empty() {
        lines = said.lines().take(SHOWN_LINES).collect();
    }
    lines.iter().flat_map(|line| ["\n  ", line]).collect()
}

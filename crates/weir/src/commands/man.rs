//! `weir man`: the manual pages, generated from the same declarations as `--help`.

use super::Cli;
use crate::arguments::{JsonOutput, print_files};
use crate::exit::Failure;
use crate::files::write_file;
use crate::terminal;
use clap::{Args, CommandFactory};
use clap_mangen::Man;
use std::path::PathBuf;

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Write weir.1 and a page for each command into this folder
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// With --out: the files written as one JSON document
    #[command(flatten)]
    output: JsonOutput,
}

/// Prints the page of `weir`, or writes all pages.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut cli = Cli::command();
    cli.build();
    let Some(folder) = &arguments.out else {
        return Ok(terminal::print(&page(cli)?)?);
    };
    let mut files = Vec::new();
    let pages = cli
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    for command in std::iter::once(&cli).chain(pages) {
        let name = command.get_display_name().unwrap_or("weir");
        let path = folder.join(format!("{name}.1"));
        write_file(&path, page(command.clone())?.as_bytes())?;
        files.push(path.display().to_string());
    }
    print_files(arguments.output, &files)
}

/// A page in roff.
fn page(command: clap::Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

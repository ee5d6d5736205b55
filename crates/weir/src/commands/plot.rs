//! `weir plot RUN`: every flow's trace as SVG and PNG, and one page with all of them.

use crate::arguments::{JsonOutput, print_files};
use crate::exit::Failure;
use crate::files::Files;
use crate::terminal;
use clap::Args;
use std::path::PathBuf;
use weir_lab::report::{self, NamedPlot};
use weir_lab::trace::RunFolder;

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder of a run
    run: PathBuf,
    /// Where the plots go; by default into the run's folder, below plots
    #[arg(long, short)]
    out: Option<PathBuf>,
    #[command(flatten)]
    output: JsonOutput,
}

/// Draws the plots.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = RunFolder::open(&arguments.run)?.load()?;
    let plots: Vec<NamedPlot> = report::plots_of(&output);
    if plots.is_empty() {
        let message = format!("{} holds no traces to draw", arguments.run.display());
        return Err(Failure::Usage(message));
    }
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| arguments.run.join("plots"));
    let mut files = Files::in_folder(&out)?;
    let bar = terminal::progress(plots.len() as u64, "drawing");
    for named in &plots {
        let svg = named.plot.svg();
        let png = report::png(&svg, 2.0).map_err(|error| Failure::Failed(error.to_string()))?;
        for (extension, bytes) in [("svg", svg.as_bytes()), ("png", &png)] {
            files.write(format!("{}.{extension}", named.name), bytes)?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let title = format!("Run {}", arguments.run.display());
    let page = report::page::plots_page(&title, &plots);
    files.write("index.html", page.as_bytes())?;
    print_files(arguments.output, &files.commit()?)
}

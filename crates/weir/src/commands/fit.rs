//! `weir fit FILE`: a scenario with the path that a trace shows, and how far its run is from the
//! trace.

use super::explain::simulate_within;
use super::plot::read_import;
use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::files::write_file;
use crate::terminal;
use crate::text_table::text_table;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use weir_lab::diagnosis::Trace;
use weir_lab::fit::{Figures, Fit, FitError, HEAD, Subject, fit};
use weir_lab::run::RunError;
use weir_lab::scenario::Scenario;
use weir_lab::trace::RunFolder;

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A trace of another program: qlog, a capture of TCP or DCCP, samples of ss, logs of
    /// tcp_probe, JSON of iperf3; or the folder of a run
    #[arg(value_name = "FILE")]
    trace: PathBuf,
    /// The scenario to write
    #[arg(long, short, value_name = "FILE", default_value = "path.toml")]
    out: PathBuf,
    /// The flow, if there are several; by default the one with most data
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
    /// The congestion controller of the traced sender, if the trace does not name it
    #[arg(long, value_name = "NAME")]
    controller: Option<String>,
    #[command(flatten)]
    output: JsonOutput,
}

/// What `weir fit --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct FitDocument<'a> {
    #[serde(flatten)]
    fit: &'a Fit,
    /// Goodput, median and 95th percentile of the round trip of the run over those of the trace,
    /// minus one.
    relative: [f64; 3],
    /// The files written.
    files: [String; 1],
}

/// Fits a path, writes it, and prints its parameters and its error.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    check_out(&arguments.out)?;
    let fit = if arguments.trace.is_dir() {
        let folder = RunFolder::open(&arguments.trace)?;
        let trace = Trace::of_folder(&folder)?;
        fitted(
            arguments,
            Subject::of_run(&trace, arguments.flow.as_deref()),
        )?
    } else {
        let imported = read_import(&arguments.trace)?;
        for remark in &imported.remarks {
            terminal::status(remark);
        }
        let trace = Trace::of_import(&imported);
        let subject = Subject::of_import(&imported, &trace, arguments.flow.as_deref());
        fitted(arguments, subject)?
    };
    write_file(&arguments.out, fit.toml.as_bytes())?;
    if arguments.output.json {
        return arguments.output.print(&FitDocument {
            fit: &fit,
            relative: fit.differences.relative(),
            files: [arguments.out.display().to_string()],
        });
    }
    terminal::print(&text(&fit))?;
    let (out, flow) = (arguments.out.display(), &fit.flow);
    terminal::status(&format!(
        "written: {out}; weir run {out} --set flow.{flow}.transport.controller=bbr says what another \
         controller would have done"
    ));
    Ok(())
}

fn fitted(arguments: &Arguments, subject: Result<Subject<'_>, FitError>) -> Result<Fit, Failure> {
    let failure = |error: FitError| match error {
        FitError::Run(RunError::Cancelled(_)) => Failure::Interrupted,
        FitError::Run(_) | FitError::Scenario(_) => Failure::Failed(error.to_string()),
        error => Failure::Usage(format!("{}: {error}", arguments.trace.display())),
    };
    let mut subject = subject.map_err(failure)?;
    if let Some(controller) = &arguments.controller {
        subject.controller = Some(controller.clone());
    }
    let runner = |scenario: &Scenario, most: u64| simulate_within(scenario, Some(most));
    fit(&subject, &runner).map_err(failure)
}

/// Fails if the file exists and `weir fit` did not write it, so that no other scenario is lost.
fn check_out(out: &Path) -> Result<(), Failure> {
    let is_own = match std::fs::read(out) {
        Ok(octets) => octets.starts_with(HEAD.as_bytes()),
        // What cannot be read, such as a folder, is found when it is written.
        Err(_) => true,
    };
    if is_own {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "\"{}\" is there and no file of `weir fit`, expected the name of a new file: --out FILE",
        out.display()
    )))
}

/// The parameters, the remarks and the error.
fn text(fit: &Fit) -> String {
    let mut rows = vec![
        ["parameter", "value", "found from"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for parameter in &fit.parameters {
        let (name, value) = (parameter.name.clone(), parameter.value.clone());
        rows.push(vec![name, value, parameter.how.clone()]);
    }
    let mut text = text_table(&rows, "<<<");
    text.push('\n');
    text.push_str(&text_table(&errors(fit), "<>>>>"));
    for remark in &fit.remarks {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{remark}");
    }
    text
}

/// The table of the error: the trace, the runs of the path, the difference and the range.
fn errors(fit: &Fit) -> Vec<Vec<String>> {
    let all = &fit.differences;
    let head = ["", "trace", "fitted", "difference", "range of runs"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let own = all.own_losses.map(|own| own.relative_to(&all.trace));
    let names = [
        "goodput in Mbit/s",
        "median round trip in ms",
        "95th percentile in ms",
    ];
    for (at, name) in names.into_iter().enumerate() {
        let of = |figures: &Figures| match at {
            0 => format!("{:.3}", figures.goodput_bps / 1e6),
            1 => format!("{:.2}", figures.rtt_p50_s * 1e3),
            _ => format!("{:.2}", figures.rtt_p95_s * 1e3),
        };
        let percent = |share: f64| format!("{:+.1} %", share * 100.0);
        let mut row = vec![name.to_owned(), of(&all.trace), of(&all.fitted)];
        row.push(percent(all.relative()[at]));
        let [least, most] = &all.range;
        row.push(if all.runs > 1 {
            format!("{} to {}", of(least), of(most))
        } else {
            String::new()
        });
        row.extend(own.map(|own| percent(own[at])));
        rows.push(row);
    }
    if own.is_some() {
        rows[0].push("with the trace's own losses".to_owned());
    }
    rows
}

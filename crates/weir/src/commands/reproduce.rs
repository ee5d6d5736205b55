//! `weir reproduce [NAME…]`: published experiments, measured against published.

use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::quinn;
use crate::terminal;
use clap::Args;
use std::fmt::Write;
use std::path::PathBuf;
use weir_lab::experiment::{
    Backends, ExperimentFiles, ExperimentResult, Reproduction, TestbedRunner, Verdict, reproduce,
};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Experiments by name, or folders with a published.toml; by default all that only simulate
    names: Vec<String>,
    /// Where the report goes
    #[arg(long, short, default_value = "reports")]
    out: PathBuf,
    #[command(flatten)]
    output: JsonOutput,
}

/// Runs the experiments and writes the report.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let sources = sources(&arguments.names)?;
    let bar = terminal::progress(0, "running");
    let backends = Backends {
        registry: quinn::registry(),
        testbed: testbed(&sources)?,
    };
    let result = reproduce(&sources, backends, &|progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
    });
    bar.finish_and_clear();
    let result = result.map_err(|error| Failure::Failed(error.to_string()))?;
    let page = result
        .write(&arguments.out)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    if arguments.output.json {
        terminal::print(&result.json())?;
    } else {
        terminal::print(&table(&result))?;
    }
    terminal::status(&format!("report: {}", page.display()));
    if result.holds() {
        return Ok(());
    }
    Err(Failure::ExpectationFailed(
        "some published values lie outside their tolerance".to_owned(),
    ))
}

fn sources(names: &[String]) -> Result<Vec<ExperimentFiles>, Failure> {
    let usage = |error: weir_lab::experiment::ExperimentError| Failure::Usage(error.to_string());
    if names.is_empty() {
        let mut sources = Vec::new();
        for name in ExperimentFiles::names() {
            let source = ExperimentFiles::embedded(name).map_err(usage)?;
            if source.needs_testbed().map_err(usage)? {
                terminal::status(&format!(
                    "not run: {name}, which takes real time and root; name it to run it"
                ));
            } else {
                sources.push(source);
            }
        }
        return Ok(sources);
    }
    let source = |name: &String| {
        let folder = PathBuf::from(name);
        if folder.join("published.toml").is_file() {
            ExperimentFiles::from_folder(&folder).map_err(usage)
        } else {
            ExperimentFiles::embedded(name).map_err(usage)
        }
    };
    names.iter().map(source).collect()
}

/// How to run what needs a testbed, if anything does.
fn testbed(
    sources: &[ExperimentFiles],
) -> Result<Option<&'static TestbedRunner<'static>>, Failure> {
    let mut needed = false;
    for source in sources {
        let needs = source.needs_testbed();
        needed |= needs.map_err(|error| Failure::Usage(error.to_string()))?;
    }
    if !needed {
        return Ok(None);
    }
    #[cfg(target_os = "linux")]
    {
        crate::testbed::check()?;
        Ok(Some(&|scenario| {
            let never = std::sync::atomic::AtomicBool::new(false);
            crate::testbed::run(scenario, None, &never).map_err(|failure| failure.message())
        }))
    }
    #[cfg(not(target_os = "linux"))]
    Err(Failure::Unavailable(
        "network namespaces need Linux; every other experiment runs here".to_owned(),
    ))
}

/// The rows of all experiments, and a line that sums each up.
fn table(result: &Reproduction) -> String {
    let mut text = String::new();
    for experiment in &result.experiments {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}: {}\n", experiment.name, experiment.title);
        rows(experiment, &mut text);
        let count = |verdict| experiment.count(verdict);
        let _ = writeln!(
            text,
            "\n{} agree, {} differ, {} explained{}\n",
            count(Verdict::Agrees),
            count(Verdict::Differs),
            count(Verdict::Explained),
            match count(Verdict::Busy) {
                0 => String::new(),
                busy => format!(", {busy} not judged: the machine was too busy"),
            },
        );
    }
    text
}

fn rows(experiment: &ExperimentResult, text: &mut String) {
    let cells: Vec<[String; 5]> = experiment
        .rows
        .iter()
        .map(|row| {
            [
                row.verdict.word().to_owned(),
                row.text.clone(),
                row.published_text(),
                row.measured_text(),
                row.deviation_text(),
            ]
        })
        .collect();
    let head = ["", "", "published", "measured", "deviation"].map(str::to_owned);
    let width = |column: usize| {
        let all = cells.iter().chain([&head]);
        all.map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let name_width = width(1).min(70);
    for row in [&head].into_iter().chain(&cells) {
        let [verdict, name, published, measured, deviation] = row;
        let name = shortened(name, name_width);
        let line = format!(
            "  {verdict:<verdicts$}  {name:<name_width$}  {published:>publisheds$}  \
             {measured:>measureds$}  {deviation:>deviations$}",
            verdicts = width(0),
            publisheds = width(2),
            measureds = width(3),
            deviations = width(4),
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// The text, or its beginning and an ellipsis; the page has it whole.
fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

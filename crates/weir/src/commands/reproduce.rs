//! `weir reproduce [NAME…]`: published experiments, measured and compared with the publication.

use super::reproduction_table::{all_rows, brief, overview};
use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::files::check_folder;
use crate::foreign;
use crate::interrupt::interrupt_flag;
use crate::mistaken;
use crate::terminal;
use clap::Args;
use indicatif::ProgressBar;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use weir_lab::experiment::{
    Backends, ExperimentError, ExperimentFiles, ExperimentResult, Options, Progress, Testbed,
    TestbedRunner, Watcher, reproduce,
};
use weir_lab::report::{ReportError, ReportFolder};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Experiments by name, or folders with a published.toml; by default all that only simulate
    names: Vec<String>,
    /// Where the report goes
    #[arg(long, short, default_value = "reports")]
    out: PathBuf,
    /// Added to every seed: other random numbers, which must not change a verdict
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    seed_offset: u32,
    /// Search for variants in which the required rows lie within their tolerances, by this [[scan]]
    /// of the experiment's published.toml
    #[arg(long, value_name = "NAME", requires = "names")]
    scan: Option<String>,
    #[command(flatten)]
    output: JsonOutput,
}

/// Runs the experiments and writes the report.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let sources = sources(&arguments.names)?;
    let bar = terminal::progress(0, "running");
    let cancel = interrupt_flag();
    let options = Options {
        backends: Backends {
            registry: foreign::registry(),
            testbed: testbed(&sources)?,
            cancel: Some(&cancel),
        },
        seed_offset: u64::from(arguments.seed_offset),
        scan: arguments.scan.as_deref(),
    };
    let failed = |error: ExperimentError| Failure::Failed(error.to_string());
    let unwritten = |error: ReportError| Failure::Failed(error.to_string());
    check_folder(&arguments.out)?;
    let folder = ReportFolder::create(&arguments.out).map_err(unwritten)?;
    let report = Report {
        bar: &bar,
        folder: &folder,
        failed: Mutex::new(None),
        cancel: &cancel,
    };
    let result = reproduce(&sources, options, &report);
    bar.finish_and_clear();
    let broken = report.failed.into_inner().unwrap_or_default();
    if let Some(error) = broken {
        folder.discard();
        return Err(unwritten(error));
    }
    if cancel.load(Ordering::Relaxed) {
        folder.discard();
        return Err(Failure::Interrupted);
    }
    let result = result.map_err(failed)?;
    let json = result.json();
    let page = match folder.page(&json, &result.html()) {
        Ok(page) => page,
        Err(error) => {
            folder.discard();
            return Err(unwritten(error));
        }
    };
    if arguments.output.json {
        terminal::print(&json)?;
    } else {
        if terminal::is_verbose() {
            terminal::print(&all_rows(&result))?;
        }
        terminal::print(&overview(&result))?;
    }
    terminal::status(&format!(
        "every row and plot: {} (rows here too with -v)",
        page.display()
    ));
    if result.holds() {
        return Ok(());
    }
    Err(Failure::ExpectationFailed(
        "some rows lie outside their tolerance".to_owned(),
    ))
}

/// Shows the progress of the reproduction, and writes the plots of each experiment when it is
/// complete.
struct Report<'a> {
    bar: &'a ProgressBar,
    folder: &'a ReportFolder,
    /// The first error of writing plots.
    failed: Mutex<Option<ReportError>>,
    /// Set by a signal.
    cancel: &'a AtomicBool,
}

impl Watcher for Report<'_> {
    fn progress(&self, progress: Progress) {
        self.bar.set_length(progress.total as u64);
        self.bar.set_position(progress.done as u64);
    }

    fn is_over(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
            || self.failed.lock().is_ok_and(|failed| failed.is_some())
    }

    fn finished(&self, experiment: &ExperimentResult) {
        if self.is_over() {
            return;
        }
        match self.folder.plots(&experiment.plots) {
            Ok(_) => self.bar.suspend(|| terminal::status(&brief(experiment))),
            Err(error) => {
                let failed = self.failed.lock();
                failed
                    .unwrap_or_else(PoisonError::into_inner)
                    .get_or_insert(error);
            }
        }
    }
}

fn sources(names: &[String]) -> Result<Vec<ExperimentFiles>, Failure> {
    let usage = |error: ExperimentError| Failure::Usage(error.to_string());
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
        if let Some(why) = mistaken::for_an_experiment(name) {
            Err(Failure::Usage(format!("{name}: {why}")))
        } else if folder.join("published.toml").is_file() {
            ExperimentFiles::from_folder(&folder).map_err(usage)
        } else {
            ExperimentFiles::embedded(name).map_err(usage)
        }
    };
    let sources = names.iter().map(source).collect::<Result<Vec<_>, _>>()?;
    // Their plots are distinguished by the experiment's name.
    for (number, source) in sources.iter().enumerate() {
        if sources[..number]
            .iter()
            .any(|other| other.name == source.name)
        {
            let message = format!(
                "two experiments are called \"{}\", expected each name once",
                source.name
            );
            return Err(Failure::Usage(message));
        }
    }
    Ok(sources)
}

/// The runner for the testbed, if an experiment needs it.
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
        Ok(Some(&|scenario, endpoints| {
            let stop = interrupt_flag();
            let output = match endpoints {
                Testbed::Sockets => crate::testbed::run(scenario, None, None, &stop),
                Testbed::KernelTcp => crate::kernel_testbed::run(scenario, None, &stop),
            };
            output.map_err(|failure| failure.message())
        }))
    }
    #[cfg(not(target_os = "linux"))]
    Err(Failure::Unavailable(
        "network namespaces need Linux; every other experiment runs here".to_owned(),
    ))
}

//! `weir evaluate CONTROLLER`: the evaluation that RFC 9743 describes, compared with other
//! controllers.

use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::files::check_folder;
use crate::foreign;
use crate::interrupt::writing;
use crate::kernel_module::{KernelModules, KernelTree};
use crate::terminal;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use weir_lab::candidate::Candidate;
use weir_lab::evaluation::{Evaluation, EvaluationError, Options, OwnPaths, Size, Suite, evaluate};
use weir_proto::units::{parse_duration, parse_rate};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The controller as TRANSPORT:NAME, with settings of the transport behind it; or as
    /// kernel:FILE a congestion control module of Linux (TREE/net/ipv4/tcp_NAME.c), over TCP
    controller: String,
    /// What it is compared with: controllers over the same transport (cubic), or with their own
    /// (tcp:bbr,rules=rfc) [default: cubic,newreno]
    #[arg(long, value_name = "CONTROLLER,…")]
    beside: Vec<String>,
    /// The result.json of an earlier evaluation: its controller is one more to compare with
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// How much of the suite: quick takes less than a minute on two cores, standard some minutes
    #[arg(long, default_value = "quick", value_parser = PossibleValuesParser::new(Size::NAMES))]
    size: String,
    /// Only these chapters of the suite
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    chapter: Vec<String>,
    /// Rates of the bottleneck in the chapters of paths, in place of the suite's
    #[arg(long, value_name = "RATE", value_delimiter = ',', value_parser = rate)]
    rate: Vec<String>,
    /// Round-trip times of the chapters of paths, in place of the suite's
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = round_trip)]
    rtt: Vec<String>,
    /// Buffers of the chapters of paths, in bandwidth-delay products, in place of the suite's
    #[arg(long, value_name = "BDP", value_delimiter = ',', value_parser = buffer)]
    buffer: Vec<f64>,
    /// Seeds of each case [default: 8 if the size is quick, else 20]
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=1000))]
    seeds: Option<u32>,
    /// When the exit status is 3: a safety limit is broken; or also a measure is worse
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    fail_on: FailOn,
    /// Where the page and the figures go
    #[arg(long, short, default_value = "evaluation")]
    out: PathBuf,
    #[command(flatten)]
    kernel_tree: KernelTree,
    #[command(flatten)]
    output: JsonOutput,
}

/// What makes the exit status 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// A safety limit is broken.
    #[default]
    Unsafe,
    /// A safety limit is broken, or a measure is worse than another controller's.
    Worse,
    /// Nothing.
    Nothing,
}

fn rate(text: &str) -> Result<String, String> {
    let rate = parse_rate(text).map_err(|error| error.to_string())?;
    if rate.as_bps() < 10_000.0 {
        return Err("expected at least 10kbit".to_owned());
    }
    Ok(text.to_owned())
}

fn round_trip(text: &str) -> Result<String, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if !(0.0001..=10.0).contains(&time.as_secs_f64()) {
        return Err("expected a time from 100us to 10s".to_owned());
    }
    Ok(text.to_owned())
}

fn buffer(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let number = number.filter(|number| (0.01..=1000.0).contains(number));
    number.ok_or_else(|| "expected a number from 0.01 to 1000, such as 0.5".to_owned())
}

/// Runs the suite and writes the page.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let size = Size::named(&arguments.size).unwrap_or_default();
    let own = OwnPaths {
        rates: arguments.rate.clone(),
        round_trips: arguments.rtt.clone(),
        buffers: arguments.buffer.clone(),
    };
    let suite = Suite::rfc9743().and_then(|suite| suite.sized(size, &own));
    let suite = suite.and_then(|suite| suite.only(&arguments.chapter));
    let suite = suite.map_err(failure)?;
    let usage = |error: weir_lab::candidate::CandidateError| Failure::Usage(error.to_string());
    let mut modules = KernelModules::new(&arguments.kernel_tree);
    let subject = modules.candidate(&arguments.controller)?;
    let subject = Candidate::parse(&subject).map_err(usage)?;
    let beside = modules.candidates(&arguments.beside)?;
    let beside = beside.iter().map(|text| subject.other(text));
    let beside = beside.collect::<Result<Vec<_>, _>>().map_err(usage)?;
    let baseline = arguments.baseline.as_deref().map(read_evaluation);
    let baseline = baseline.transpose()?;
    check_folder(&arguments.out)?;
    let bar = terminal::progress(0, "running");
    let progress = |done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    };
    let options = Options {
        registry: foreign::registry(),
        beside: (!beside.is_empty()).then_some(&beside),
        seeds: arguments.seeds.unwrap_or_default(),
        progress: Some(&progress),
        cancel: Some(modules.cancel()),
        ..Options::default()
    };
    let result = evaluate(&suite, &subject, &options);
    bar.finish_and_clear();
    modules.check()?;
    let mut evaluation = result.map_err(failure)?;
    if let Some(baseline) = baseline {
        let with = evaluation.with_stored(&baseline);
        evaluation = with.map_err(|error| Failure::Usage(error.to_string()))?;
    }
    let writing = writing();
    let page = evaluation.write(&arguments.out).map_err(failure)?;
    drop(writing);
    let text = if arguments.output.json {
        evaluation.json()
    } else {
        evaluation.text()
    };
    terminal::print(&text)?;
    terminal::status(&format!("page: {}", page.display()));
    verdict(&evaluation, arguments.fail_on)
}

/// Reads the `result.json` of an evaluation, or that of its folder.
pub fn read_evaluation(path: &Path) -> Result<Evaluation, Failure> {
    let file = if path.is_dir() {
        path.join("result.json")
    } else {
        path.to_owned()
    };
    let wrong = |error: String| Failure::Usage(format!("{}: {error}", file.display()));
    let text = std::fs::read_to_string(&file).map_err(|error| wrong(error.to_string()))?;
    Evaluation::from_json(&text).map_err(|error| wrong(error.to_string()))
}

/// The exit status that the evaluation asks for.
fn verdict(evaluation: &Evaluation, fail_on: FailOn) -> Result<(), Failure> {
    if fail_on != FailOn::Nothing && !evaluation.faults().is_empty() {
        return Err(Failure::ExpectationFailed(evaluation.safety()));
    }
    if fail_on == FailOn::Worse && evaluation.is_worse() {
        let message = "worse than another controller in some measure (--fail-on worse)";
        return Err(Failure::ExpectationFailed(message.to_owned()));
    }
    Ok(())
}

/// The exit status of an evaluation that cannot be made.
pub fn failure(error: EvaluationError) -> Failure {
    let message = error.to_string();
    match error {
        EvaluationError::Invalid(error) => Failure::Scenario(error),
        EvaluationError::Candidate(_) | EvaluationError::Chapter(_) => Failure::Usage(message),
        _ => Failure::Failed(message),
    }
}

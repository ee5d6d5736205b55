//! `weir export RUN --format csv|dccp-probe|qlog|pcapng|wav`.

use crate::arguments::{JsonOutput, print_files};
use crate::exit::Failure;
use crate::files::{Files, check_folder, write_with};
use crate::foreign;
use crate::interrupt::interrupt_flag;
use crate::terminal;
use clap::Args;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use weir_lab::run::RunError;
use weir_lab::trace::{CaptureOptions, Format, RunCaptureError, RunFolder, capture_run, export};
use weir_proto::time::Instant;

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder of a run
    run: PathBuf,
    /// csv, dccp-probe, qlog, qlog-0.3 (which qvis opens), wav (what the listener of audio
    /// hears) or pcapng, which makes the run again
    #[arg(long, short)]
    format: String,
    /// Where the files go, of pcapng the file; by default into the run's folder, below the
    /// format's name
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Of pcapng: only what this host sees; by default each host is an interface
    #[arg(long)]
    host: Option<String>,
    /// Of pcapng: keep so many bytes of each packet
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 0,
        hide_default_value = true
    )]
    snaplen: u32,
    #[command(flatten)]
    output: JsonOutput,
}

/// Writes the files.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let usage = |error: &dyn std::fmt::Display| Failure::Usage(error.to_string());
    let format = Format::named(&arguments.format).map_err(|error| usage(&error))?;
    let folder = RunFolder::open(&arguments.run)?;
    if format == Format::Pcapng {
        return capture(arguments, &folder);
    }
    if arguments.host.is_some() || arguments.snaplen > 0 {
        let message = "--host and --snaplen are of the format pcapng".to_owned();
        return Err(Failure::Usage(message));
    }
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| arguments.run.join(&arguments.format));
    // Checked first, because reading the traces takes time.
    check_folder(&out)?;
    let output = folder.load()?;
    let files = export(&output, format).map_err(|error| usage(&error))?;
    let mut written = Files::in_folder(&out)?;
    for file in files {
        written.write(&file.path, &file.content)?;
    }
    print_files(arguments.output, &written.commit()?)
}

/// Runs the scenario again and writes the packets at its hosts.
fn capture(arguments: &Arguments, folder: &RunFolder) -> Result<(), Failure> {
    let path = match &arguments.out {
        Some(path) => path.clone(),
        None => arguments.run.join("pcapng").join("packets.pcapng"),
    };
    if path.is_dir() {
        let message = format!(
            "\"{}\" is a folder, expected the name of a file",
            path.display()
        );
        return Err(Failure::Usage(message));
    }
    let cancel = interrupt_flag();
    let bar = terminal::progress(100, "running again");
    let progress = |reached: Instant, end: Instant| {
        bar.set_position((reached.as_secs_f64() / end.as_secs_f64().max(1e-9) * 100.0) as u64);
    };
    let options = CaptureOptions {
        host: arguments.host.as_deref(),
        snap_octets: arguments.snaplen,
        progress: Some(&progress),
        cancel: Some(&cancel),
        registry: foreign::registry(),
    };
    let packets = write_with(&path, |file| {
        let out = BufWriter::new(file);
        capture_run(folder.scenario(), folder.summary(), &options, out)
            .map_err(|error| capture_failure(error, &path))
    });
    bar.finish_and_clear();
    terminal::status(&format!("{} packets", packets?));
    print_files(arguments.output, &[path.display().to_string()])
}

fn capture_failure(error: RunCaptureError, path: &Path) -> Failure {
    match error {
        RunCaptureError::Write(error) => {
            Failure::Failed(format!("cannot write \"{}\": {error}", path.display()))
        }
        RunCaptureError::Run(RunError::Cancelled(_)) => Failure::Interrupted,
        RunCaptureError::NoSuchHost(..) | RunCaptureError::Measured => {
            Failure::Usage(error.to_string())
        }
        error => Failure::Failed(error.to_string()),
    }
}

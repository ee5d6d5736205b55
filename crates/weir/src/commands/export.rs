//! `weir export RUN --format csv|dccp-probe|pcapng`.

use crate::exit::Failure;
use crate::interrupt::interrupt_flag;
use crate::quinn;
use crate::terminal;
use clap::Args;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use weir_lab::run::RunError;
use weir_lab::trace::{CaptureOptions, Format, RunCaptureError, RunFolder, capture_run, export};
use weir_proto::time::Instant;

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder of a run
    run: PathBuf,
    /// csv, dccp-probe or pcapng, for which the run is made again
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
    /// One JSON document with the files written
    #[arg(long)]
    pub json: bool,
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
    let output = folder.load()?;
    let files = export(&output, format).map_err(|error| usage(&error))?;
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| arguments.run.join(&arguments.format));
    let mut written = Vec::new();
    for file in files {
        let path = out.join(&file.path);
        write_whole(&path, file.content.as_bytes())?;
        written.push(path.display().to_string());
    }
    tell(arguments, &written)
}

/// Says what was written.
fn tell(arguments: &Arguments, written: &[String]) -> Result<(), Failure> {
    if arguments.json {
        let document = serde_json::json!({ "files": written });
        return Ok(terminal::print(&format!("{document:#}\n"))?);
    }
    Ok(terminal::print(&format!("{}\n", written.join("\n")))?)
}

/// Runs the scenario again and writes what its hosts see.
fn capture(arguments: &Arguments, folder: &RunFolder) -> Result<(), Failure> {
    let path = match &arguments.out {
        Some(path) => path.clone(),
        None => arguments.run.join("pcapng").join("packets.pcapng"),
    };
    let cancel = interrupt_flag()?;
    let bar = terminal::progress(100, "running again");
    let progress = |reached: Instant, end: Instant| {
        bar.set_position((reached.as_secs_f64() / end.as_secs_f64().max(1e-9) * 100.0) as u64);
    };
    let options = CaptureOptions {
        host: arguments.host.as_deref(),
        snap_octets: arguments.snaplen,
        progress: Some(&progress),
        cancel: Some(&cancel),
        registry: quinn::registry(),
    };
    let packets = write_renamed(&path, |file| {
        let out = BufWriter::new(file);
        capture_run(folder.scenario(), folder.summary(), &options, out).map_err(capture_failure)
    });
    bar.finish_and_clear();
    terminal::status(&format!("{} packets", packets?));
    tell(arguments, &[path.display().to_string()])
}

fn capture_failure(error: RunCaptureError) -> Failure {
    match error {
        RunCaptureError::Run(RunError::Cancelled(_)) => Failure::Interrupted,
        RunCaptureError::NoSuchHost(..) | RunCaptureError::Measured => {
            Failure::Usage(error.to_string())
        }
        error => Failure::Failed(error.to_string()),
    }
}

/// Writes a file under a temporary name and renames it, so that it is whole or not there.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_renamed(path, |mut file| {
        file.write_all(bytes).map_err(|error| at(path, &error))
    })
}

fn at(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

/// Lets `write` fill a file under a temporary name, and renames it if that went well.
fn write_renamed<T>(
    path: &Path,
    write: impl FnOnce(File) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let failed = |error| at(path, &error);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    let file = File::create(&temporary).map_err(failed)?;
    let written = write(file);
    if written.is_err() {
        // What is there is not whole, and nobody asked for it.
        let _ = std::fs::remove_file(&temporary);
    } else {
        std::fs::rename(&temporary, path).map_err(failed)?;
    }
    written
}

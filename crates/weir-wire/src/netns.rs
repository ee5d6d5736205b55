//! Anonymous network namespaces. Each belongs to a thread of this process; the kernel removes it
//! when the process ends for any reason.
//!
//! The thread runs closures in the namespace, to open a socket or a device or to start a program. A
//! socket stays in its namespace, even if another thread uses it later.

use crate::error::Error;
use nix::sched::{CloneFlags, unshare};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::mpsc;

type Job = Box<dyn FnOnce() + Send>;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    jobs: mpsc::Sender<Job>,
    /// The id of its thread, by which other programs refer to it.
    tid: i32,
}

impl Namespace {
    /// Creates an empty namespace.
    ///
    /// # Errors
    /// [`Error::Privilege`] without root; [`Error::System`].
    pub fn new() -> Result<Self, Error> {
        let (jobs, work) = mpsc::channel::<Job>();
        let (ready, made) = mpsc::channel();
        let run_jobs = move || {
            let result = unshare(CloneFlags::CLONE_NEWNET);
            let thread = rustix::thread::gettid().as_raw_nonzero().get();
            let failed = result.is_err();
            let _ = ready.send(result.map(|()| thread));
            if !failed {
                for job in work {
                    job();
                }
            }
        };
        std::thread::Builder::new()
            .name("namespace".to_owned())
            .spawn(run_jobs)
            .map_err(|error| Error::System("start a thread".to_owned(), error))?;
        match made.recv() {
            Ok(Ok(tid)) => Ok(Self { jobs, tid }),
            Ok(Err(nix::errno::Errno::EPERM)) => {
                Err(Error::Privilege("making network namespaces needs root"))
            }
            Ok(Err(error)) => {
                let what = "make a network namespace".to_owned();
                Err(Error::System(what, error.into()))
            }
            Err(_) => Err(Error::Closed),
        }
    }

    /// Runs a closure in the namespace and waits for its result.
    ///
    /// # Errors
    /// [`Error::Closed`] if the closure panicked.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (done, result) = mpsc::channel();
        let job = Box::new(move || {
            // Fails only if the caller's thread has ended.
            let _ = done.send(job());
        });
        self.jobs.send(job).map_err(|_| Error::Closed)?;
        result.recv().map_err(|_| Error::Closed)
    }

    /// The id of the namespace's thread, which `ip` accepts as the namespace.
    pub const fn tid(&self) -> i32 {
        self.tid
    }

    /// Passes these lines to `ip -batch` in the namespace.
    ///
    /// # Errors
    /// [`Error::Tool`] if the program is missing or refuses a line.
    pub fn ip(&self, lines: &[String]) -> Result<(), Error> {
        self.batch("ip", lines)
    }

    /// Passes these lines to `tc -batch` in the namespace.
    ///
    /// # Errors
    /// As [`ip`](Self::ip).
    pub fn tc(&self, lines: &[String]) -> Result<(), Error> {
        self.batch("tc", lines)
    }

    fn batch(&self, program: &'static str, lines: &[String]) -> Result<(), Error> {
        if lines.is_empty() {
            return Ok(());
        }
        let lines = lines.to_owned();
        self.run(move || batch(program, &lines))?
    }

    /// Passes these lines to `ip -batch` in the namespace of the calling thread.
    ///
    /// # Errors
    /// As [`ip`](Self::ip).
    pub fn ip_here(lines: &[String]) -> Result<(), Error> {
        batch("ip", lines)
    }

    /// Sets a sysctl variable of the namespace, such as `net/ipv4/ip_forward`.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn sysctl(&self, variable: &str, value: &'static str) -> Result<(), Error> {
        let path = format!("/proc/sys/{variable}");
        let write = {
            let path = path.clone();
            move || std::fs::write(path, value)
        };
        self.run(write)?
            .map_err(|error| Error::System(format!("write {path}"), error))
    }
}

fn batch(program: &'static str, lines: &[String]) -> Result<(), Error> {
    let script = lines.join("\n") + "\n";
    let mut command = Command::new(program);
    command.args(["-batch", "-"]);
    output(program, &mut command, &script).map(drop)
}

/// Runs a program with this input; returns its output.
pub(crate) fn output(
    program: &'static str,
    command: &mut Command,
    input: &str,
) -> Result<String, Error> {
    let failed = |why: String| Error::Tool { program, why };
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                failed("it is not installed; it comes with iproute2".to_owned())
            }
            _ => failed(error.to_string()),
        })?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends early reports the reason on its own.
        let _ = stdin.write_all(input.as_bytes());
    }
    let done = child
        .wait_with_output()
        .map_err(|error| failed(error.to_string()))?;
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).trim().to_owned();
    if done.status.success() {
        Ok(text(&done.stdout))
    } else {
        Err(failed(text(&done.stderr)))
    }
}

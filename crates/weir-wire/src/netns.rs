//! Network namespaces without names: each belongs to a thread of this process, and is gone when
//! the process is, however it ends.
//!
//! What is to be done inside is handed to the thread: opening a socket or a device there, or
//! starting a program. A socket stays in its namespace wherever it is used afterwards.

use crate::error::Error;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

type Job = Box<dyn FnOnce() + Send>;

/// The signals that ask a process to end, held back from this one so that it can pass them on to
/// a program that it starts. Make it before any thread, which would get them instead.
#[derive(Clone, Copy, Debug)]
pub struct BlockedSignals(SigSet);

impl BlockedSignals {
    /// From now on they wait.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn block() -> std::io::Result<Self> {
        let set = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
        set.thread_block()?;
        Ok(Self(set))
    }

    /// Passes them on to a program until this process ends. A terminal gives Ctrl-C to both
    /// itself: that one is not passed on.
    ///
    /// # Errors
    /// If there can be no thread for it.
    pub fn forward_to(self, program: &Child) -> std::io::Result<()> {
        let id = i32::try_from(program.id()).map_err(std::io::Error::other)?;
        let pass = move || {
            while let Ok(signal) = self.0.wait() {
                if signal != Signal::SIGINT {
                    // It may have ended already.
                    let _ = kill(Pid::from_raw(id), signal);
                }
            }
        };
        let thread = std::thread::Builder::new().name("signals".to_owned());
        thread.spawn(pass).map(drop)
    }

    /// Starts a program that gets its signals as ever.
    ///
    /// # Errors
    /// What starting it gives.
    pub fn spawn(self, command: &mut Command) -> std::io::Result<Child> {
        self.0.thread_unblock()?;
        let started = command.spawn();
        self.0.thread_block()?;
        started
    }
}

/// A namespace.
#[derive(Debug)]
pub struct Namespace {
    jobs: mpsc::Sender<Job>,
    /// Its thread, by which other programs find it.
    tid: i32,
}

impl Namespace {
    /// Makes an empty namespace.
    ///
    /// # Errors
    /// [`Error::Privilege`] without the right to.
    pub fn new() -> Result<Self, Error> {
        let (jobs, work) = mpsc::channel::<Job>();
        let (ready, made) = mpsc::channel();
        let live = move || {
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
            .spawn(live)
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

    /// Does something inside and waits for it.
    ///
    /// # Errors
    /// [`Error::Closed`] if it panicked.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (done, result) = mpsc::channel();
        let job = Box::new(move || {
            // Nobody waits any more: then nobody misses it.
            let _ = done.send(job());
        });
        self.jobs.send(job).map_err(|_| Error::Closed)?;
        result.recv().map_err(|_| Error::Closed)
    }

    /// The thread that it belongs to: `ip` takes its number for the namespace.
    pub const fn tid(&self) -> i32 {
        self.tid
    }

    /// Gives these lines to `ip -batch`.
    ///
    /// # Errors
    /// [`Error::Tool`] if there is no such program, or it refuses one.
    pub fn ip(&self, lines: &[String]) -> Result<(), Error> {
        self.batch("ip", lines)
    }

    /// Gives these lines to `tc -batch`.
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

    /// Gives these lines to `ip -batch` in the namespace of the thread that calls.
    ///
    /// # Errors
    /// As [`ip`](Self::ip).
    pub fn ip_here(lines: &[String]) -> Result<(), Error> {
        batch("ip", lines)
    }

    /// Sets a variable of the namespace, such as `net/ipv4/ip_forward`.
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

/// What a program says to this input.
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
        // A program that ends early says why itself.
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

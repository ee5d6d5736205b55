//! Congestion control modules of Linux as candidates: `kernel:FILE`, where FILE is a
//! `net/ipv4/tcp_NAME.c` or a program that speaks the protocol of `scripts/kernel-modules`.
//!
//! The file is compiled unchanged, with the user's compiler and source tree, into a program that
//! reads events and answers windows. There are as many processes of it as processors; a thread
//! makes its connections in one of them. A connection depends only on its own events, unless the
//! module changes variables that its connections share, so that results do not depend on the number
//! of processes or threads. A process that ends, or that answers an error, ends the work of the
//! command, in a suite after its other cases: its controllers keep their last windows until then.

mod compile;
mod controller;
mod process;
#[cfg(test)]
mod tests;

use crate::exit::Failure;
use crate::interrupt::{was_interrupted, writing};
use clap::Args;
use compile::Program;
use controller::KernelController;
use process::{Answer, Connection, Event, Process, kind};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;
use weir_lab::candidate::Candidate;
use weir_proto::cc::window::{BoxedController, added};

/// What a candidate that is a module begins with.
const PREFIX: &str = "kernel:";

/// The options of commands whose candidates may be modules.
#[derive(Debug, Args)]
pub struct KernelTree {
    /// The source tree of Linux for a kernel:FILE.c that lies in none
    #[arg(long, value_name = "FOLDER")]
    kernel_tree: Option<PathBuf>,
}

/// The modules of a command.
#[derive(Debug, Default)]
pub struct KernelModules {
    tree: Option<PathBuf>,
    added: Vec<(PathBuf, String)>,
    health: Arc<Health>,
}

/// What went wrong with the processes of a command's modules.
#[derive(Debug, Default)]
struct Health {
    first_fault: Mutex<Option<String>>,
    has_failed: AtomicBool,
}

impl Health {
    fn fail(&self, message: String) {
        let fault = self.first_fault.lock();
        let mut fault = fault.unwrap_or_else(PoisonError::into_inner);
        fault.get_or_insert(message);
        self.has_failed.store(true, Ordering::Relaxed);
    }
}

/// A module whose processes run.
#[derive(Debug)]
struct Module {
    /// Its name in messages.
    name: String,
    processes: Vec<Arc<Process>>,
    /// It has the hook cong_control: it sets windows in recovery too.
    own_control: bool,
    needs_ecn: bool,
    health: Arc<Health>,
}

/// The number of threads that have made connections.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The number of this thread, by which it chooses a process.
    static THREAD: usize = THREADS.fetch_add(1, Ordering::Relaxed);
}

impl KernelModules {
    /// No modules yet.
    pub fn new(options: &KernelTree) -> Self {
        Self {
            tree: options.kernel_tree.clone(),
            ..Self::default()
        }
    }

    /// The candidate as the laboratory reads it: for `kernel:FILE[,SETTINGS]` the module is
    /// compiled, started and registered as `kernel-NAME`, and becomes `tcp:kernel-NAME[,SETTINGS]`;
    /// other texts stay as they are.
    ///
    /// # Errors
    /// Status 2: a file or tree that is missing, or a module that does not compile; 4: no compiler;
    /// 1: a program that cannot be started or does not speak the protocol.
    pub fn candidate(&mut self, text: &str) -> Result<String, Failure> {
        let Some(rest) = text.strip_prefix(PREFIX) else {
            return Ok(text.to_owned());
        };
        let (path, settings) = rest
            .split_once(',')
            .map_or((rest, None), |(path, settings)| (path, Some(settings)));
        let name = self.add(Path::new(path))?;
        let settings = settings.map(|settings| format!(",{settings}"));
        Ok(format!("tcp:{name}{}", settings.unwrap_or_default()))
    }

    /// The candidates of several texts, each with commas between them.
    ///
    /// # Errors
    /// Those of [`candidate`](Self::candidate).
    pub fn candidates(&mut self, texts: &[String]) -> Result<Vec<String>, Failure> {
        let texts = texts.iter().flat_map(|text| Candidate::list(text));
        texts.map(|text| self.candidate(&text)).collect()
    }

    /// Registers the module of this file; returns its name in the registry.
    fn add(&mut self, path: &Path) -> Result<String, Failure> {
        if let Some((_, name)) = self.added.iter().find(|(known, _)| known == path) {
            return Ok(name.clone());
        }
        // The temporary folder must not outlive the command. A running program needs no file.
        let writing = writing();
        let program = Program::of(path, self.tree.as_deref())?;
        let name = self.unused(&program.name);
        let module = Module::start(&name, program.file(), &self.health)?;
        drop(program);
        drop(writing);
        let module = Arc::new(module);
        let made = move |config: &_| {
            Box::new(KernelController::new(Arc::clone(&module), config)) as BoxedController
        };
        let doc = format!("Linux's module {}", path.display());
        added::add(&name, &doc, Arc::new(made))
            .map_err(|error| Failure::Usage(format!("{PREFIX}{}: {error}", path.display())))?;
        self.added.push((path.to_owned(), name.clone()));
        Ok(name)
    }

    /// A name that no other file of this command has.
    fn unused(&self, name: &str) -> String {
        let mut names = (1..).map(|number| match number {
            1 => format!("kernel-{name}"),
            _ => format!("kernel-{name}-{number}"),
        });
        let is_free = |name: &String| self.added.iter().all(|(_, known)| known != name);
        names.find(is_free).unwrap_or_default()
    }

    /// Set once a process has failed, so that the runs end.
    pub fn cancel(&self) -> &AtomicBool {
        &self.health.has_failed
    }

    /// Fails if a process has ended or has answered an error since the beginning: then no result
    /// counts.
    pub fn check(&self) -> Result<(), Failure> {
        let fault = self.health.first_fault.lock();
        match &*fault.unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            // Ctrl-C at a terminal ends the processes too.
            Some(_) if was_interrupted() => Err(Failure::Interrupted),
            Some(fault) => Err(Failure::Failed(fault.clone())),
        }
    }
}

impl Module {
    /// Starts processes and asks one what the module needs.
    fn start(name: &str, program: &Path, health: &Arc<Health>) -> Result<Self, Failure> {
        let count = available_parallelism().map_or(1, NonZeroUsize::get);
        let processes = (0..count).map(|_| Process::start(program).map(Arc::new));
        let processes = processes.collect::<Result<Vec<_>, _>>().map_err(|error| {
            let help =
                "expected a module tcp_NAME.c, or a program of scripts/kernel-modules/build.sh";
            Failure::Failed(format!(
                "cannot start \"{}\": {error}; {help}",
                program.display()
            ))
        })?;
        let mut module = Self {
            name: name.to_owned(),
            processes,
            own_control: false,
            needs_ecn: false,
            health: Arc::clone(health),
        };
        // DCTCP becomes Reno without ECN.
        let first = Event {
            kind: kind::NEW,
            mss: 1448,
            cwnd: 10,
            ecn: 1,
            ..Event::default()
        };
        let connected = module.connect(first);
        let (_, answer) = connected.map_err(|what| Failure::Failed(format!("{name}: {what}")))?;
        module.own_control = answer.own_control != 0;
        module.needs_ecn = answer.needs_ecn != 0;
        Ok(module)
    }

    /// Makes a connection in the process of this thread, or in another if that is full.
    fn connect(&self, event: Event) -> Result<(Connection, Answer), String> {
        let thread = THREAD.with(|thread| *thread);
        let count = self.processes.len();
        for process in self
            .processes
            .iter()
            .cycle()
            .skip(thread % count)
            .take(count)
        {
            if let Some(connected) = process.connect(event)? {
                return Ok(connected);
            }
        }
        Err(process::too_many())
    }

    fn fail(&self, what: &str) {
        self.health.fail(format!("{}: {what}", self.name));
    }
}

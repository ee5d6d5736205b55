//! SIGINT (Ctrl-C), SIGTERM and SIGHUP: what each command does when it is asked to end.
//!
//! A command whose work can be ended in good order [answers](interrupt_flag) itself: it looks at a
//! flag, or its tasks wait for an [`Interrupt`]. Any other ends at once, unless it is
//! [writing](writing) files, which it then completes or drops first. Whichever way, the exit status
//! is 128 and the number of the signal.

use crate::terminal;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// SIGINT's number, as of a system without signals too.
const INTERRUPT: u8 = 2;

/// How long the message of a command that ends at once may wait for its streams.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// The signals of the process and what they find: facts about it, like its standard streams.
struct Signals {
    /// The number of the first one; zero before.
    first: AtomicU8,
    flag: Arc<AtomicBool>,
    sender: watch::Sender<bool>,
    /// Parts of the command that answer themselves, or write files. Locked for good once the
    /// process ends.
    answering: Mutex<u32>,
    /// Says that the command was ended.
    report: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

static SIGNALS: LazyLock<Signals> = LazyLock::new(|| Signals {
    first: AtomicU8::new(0),
    flag: Arc::default(),
    sender: watch::channel(false).0,
    answering: Mutex::new(0),
    report: OnceLock::new(),
});

/// Answers signals from now on; `report` says that the command was ended.
pub fn listen(report: impl Fn() + Send + Sync + 'static) {
    let _ = SIGNALS.report.set(Box::new(report));
    if let Err(error) = catch() {
        // The system ends the process by the signal then.
        terminal::notice(&format!("weir: signals cannot be caught: {error}"));
    }
}

#[cfg(unix)]
fn catch() -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use std::sync::Once;
    static ONCE: Once = Once::new();
    let mut caught = Ok(());
    ONCE.call_once(|| {
        let signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]);
        caught = signals.and_then(|mut signals| {
            let wait = move || {
                for number in signals.forever() {
                    arrived(u8::try_from(number).unwrap_or(INTERRUPT));
                }
            };
            let thread = std::thread::Builder::new().name("signals".to_owned());
            thread.spawn(wait).map(drop)
        });
    });
    caught
}

#[cfg(not(unix))]
fn catch() -> Result<(), ctrlc::Error> {
    match ctrlc::set_handler(|| arrived(INTERRUPT)) {
        Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        other => other,
    }
}

/// Takes a signal: ends the process, or tells those who answer it.
fn arrived(signal: u8) {
    let first = &SIGNALS.first;
    let _ = first.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
    SIGNALS.flag.store(true, Ordering::SeqCst);
    SIGNALS.sender.send_replace(true);
    let answering = SIGNALS.answering.lock();
    let answering = answering.unwrap_or_else(PoisonError::into_inner);
    if *answering == 0 {
        end();
    }
}

/// Ends the process. The caller holds the lock, so that no thread begins to write.
fn end() -> ! {
    let (said, hears) = mpsc::channel();
    let report = move || {
        if let Some(report) = SIGNALS.report.get() {
            report();
        }
        let _ = said.send(());
    };
    // The streams may be locked by a write that waits for its reader.
    if std::thread::Builder::new().spawn(report).is_ok() {
        let _ = hears.recv_timeout(REPORT_TIMEOUT);
    }
    std::process::exit(i32::from(status()));
}

/// The exit status of a command that a signal has ended.
pub fn status() -> u8 {
    match SIGNALS.first.load(Ordering::SeqCst) {
        0 => 128 + INTERRUPT,
        signal => signal.saturating_add(128),
    }
}

/// Whether a signal has come.
pub fn was_interrupted() -> bool {
    SIGNALS.flag.load(Ordering::SeqCst)
}

fn answers() -> u32 {
    let answering = SIGNALS.answering.lock();
    let mut answering = answering.unwrap_or_else(PoisonError::into_inner);
    *answering += 1;
    *answering
}

/// A flag that a signal sets: from now on the command looks at it and ends itself.
pub fn interrupt_flag() -> Arc<AtomicBool> {
    answers();
    Arc::clone(&SIGNALS.flag)
}

/// Keeps a signal from ending the process while files are written, which takes moments.
pub fn writing() -> Writing {
    answers();
    Writing(())
}

/// While this is there, files are being written.
#[derive(Debug)]
pub struct Writing(());

impl Drop for Writing {
    fn drop(&mut self) {
        let answering = SIGNALS.answering.lock();
        let mut answering = answering.unwrap_or_else(PoisonError::into_inner);
        *answering -= 1;
        if *answering == 0 && was_interrupted() {
            end();
        }
    }
}

/// A signal as something that any number of tasks can wait for.
#[derive(Clone, Debug)]
pub struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// From now on a signal is this and does not end the process.
    pub fn catch() -> Self {
        answers();
        Self(SIGNALS.sender.subscribe())
    }

    /// Whether a signal has come.
    pub fn was_pressed(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for a signal; returns at once if one has come.
    pub async fn pressed(&self) {
        let mut receiver = self.0.clone();
        // The sender lives as long as the process.
        let _ = receiver.wait_for(|pressed| *pressed).await;
    }
}

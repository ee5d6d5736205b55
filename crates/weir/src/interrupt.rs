//! SIGINT (Ctrl-C), SIGTERM and SIGHUP: the reaction of commands to requests to end.
//!
//! A command that can end its work in an orderly way handles signals [itself](interrupt_flag): it
//! polls a flag, or its tasks wait for an [`Interrupt`]. Any other command ends immediately, unless
//! it is [writing](writing) files, which it first completes or discards. In all cases the exit
//! status is 128 plus the number of the signal.

use crate::terminal;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// SIGINT's number, also used on systems without signals.
const INTERRUPT: u8 = 2;

/// The maximum time that a command that ends immediately waits for its message to be written.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// The state of signal handling in the process.
struct Signals {
    /// The number of the first signal; zero before.
    first: AtomicU8,
    flag: Arc<AtomicBool>,
    sender: watch::Sender<bool>,
    /// The number of parts of the command that handle signals themselves or write files. Locked
    /// permanently when the process ends.
    answering: Mutex<u32>,
    /// Prints that the command was ended.
    report: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

static SIGNALS: LazyLock<Signals> = LazyLock::new(|| Signals {
    first: AtomicU8::new(0),
    flag: Arc::default(),
    sender: watch::channel(false).0,
    answering: Mutex::new(0),
    report: OnceLock::new(),
});

/// Handles signals from now on; `report` prints that the command was ended.
pub fn listen(report: impl Fn() + Send + Sync + 'static) {
    let _ = SIGNALS.report.set(Box::new(report));
    if let Err(error) = catch() {
        // Then a signal ends the process by its default action.
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

/// Handles a signal: ends the process, unless parts of the command handle it.
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

/// Ends the process. The caller holds the lock, so that no thread starts to write.
fn end() -> ! {
    let (said, hears) = mpsc::channel();
    let report = move || {
        if let Some(report) = SIGNALS.report.get() {
            report();
        }
        let _ = said.send(());
    };
    // The streams may be locked by a write that is blocked by its reader.
    if std::thread::Builder::new().spawn(report).is_ok() {
        let _ = hears.recv_timeout(REPORT_TIMEOUT);
    }
    std::process::exit(i32::from(status()));
}

/// The exit status of a command ended by a signal.
pub fn status() -> u8 {
    match SIGNALS.first.load(Ordering::SeqCst) {
        0 => 128 + INTERRUPT,
        signal => signal.saturating_add(128),
    }
}

/// True if a signal was received.
pub fn was_interrupted() -> bool {
    SIGNALS.flag.load(Ordering::SeqCst)
}

fn answers() -> u32 {
    let answering = SIGNALS.answering.lock();
    let mut answering = answering.unwrap_or_else(PoisonError::into_inner);
    *answering += 1;
    *answering
}

/// A flag that a signal sets: from now on the command polls it and ends itself.
pub fn interrupt_flag() -> Arc<AtomicBool> {
    answers();
    Arc::clone(&SIGNALS.flag)
}

/// Prevents signals from ending the process while files are written, which is brief.
pub fn writing() -> Writing {
    answers();
    Writing(())
}

/// Files are being written while this value exists.
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

/// A signal for which any number of tasks can wait.
#[derive(Clone, Debug)]
pub struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// From now on signals are reported here and do not end the process.
    pub fn catch() -> Self {
        answers();
        Self(SIGNALS.sender.subscribe())
    }

    /// True if a signal was received.
    pub fn was_pressed(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for a signal; returns immediately if one was received.
    pub async fn pressed(&self) {
        let mut receiver = self.0.clone();
        // The sender exists as long as the process.
        let _ = receiver.wait_for(|pressed| *pressed).await;
    }
}

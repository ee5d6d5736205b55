//! Converts panics into errors with a message and a place in the code.
//!
//! [`caught`] is the only function that catches panics. By default Rust prints each panic, with a
//! backtrace if the environment asks for it; a program that reports faults itself calls
//! [`silence_caught_panics`] once. No input may cause a panic, so a fault is a bug in the program.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::sync::Once;
use std::thread::JoinHandle;

thread_local! {
    /// The number of [`caught`] calls on the stack of this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// The place of the last panic in this thread; set once [`silence_caught_panics`] was called.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A fault of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The message of the panic.
    pub message: String,
    /// File, line and column in the code, if [`silence_caught_panics`] was called.
    pub place: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The message on one line.
        let words: Vec<&str> = self.message.split_whitespace().collect();
        write!(out, "a fault of the program: {}", words.join(" "))?;
        match &self.place {
            Some(place) => write!(out, " ({place}); please report it"),
            None => out.write_str("; please report it"),
        }
    }
}

impl std::error::Error for Fault {}

impl Fault {
    /// Converts a panic caught elsewhere; its place is known if it was the last panic of this
    /// thread.
    pub fn of_panic(panic: Box<dyn Any + Send>) -> Self {
        let place = PLACE.take();
        let panic = match panic.downcast::<Self>() {
            Ok(fault) => return *fault,
            Err(panic) => panic,
        };
        let message = match panic.downcast::<String>() {
            Ok(message) => *message,
            Err(panic) => match panic.downcast_ref::<&str>() {
                Some(message) => (*message).to_owned(),
                None => "a panic without a message".to_owned(),
            },
        };
        Self { message, place }
    }

    /// Resumes the panic in this thread, for work that another thread did on its behalf.
    pub fn resume(self) -> ! {
        resume_unwind(Box::new(self))
    }
}

/// Runs the work and returns a panic in this thread as an error. The caller must not use state that
/// the work changed after a panic, unless the state is consistent after each step.
///
/// # Errors
/// The panic.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Fault> {
    DEPTH.set(DEPTH.get() + 1);
    let ended = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    ended.map_err(Fault::of_panic)
}

/// A thread whose panic [`join`](Self::join) returns as an error.
#[derive(Debug)]
pub struct CaughtThread<T>(JoinHandle<Result<T, Fault>>);

impl<T: Send + 'static> CaughtThread<T> {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system denies the process another thread or memory for its stack.
    pub fn start(work: impl FnOnce() -> T + Send + 'static) -> io::Result<Self> {
        let started = std::thread::Builder::new().spawn(move || caught(work));
        started.map(Self).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start a thread: {error}"))
        })
    }

    /// Waits for the end of the thread.
    ///
    /// # Errors
    /// Its panic.
    pub fn join(self) -> Result<T, Fault> {
        joined(self.0.join())
    }
}

/// The result of a scoped thread that ran [`caught`] work.
///
/// # Errors
/// The panic.
pub fn joined<T>(ended: std::thread::Result<Result<T, Fault>>) -> Result<T, Fault> {
    ended.unwrap_or_else(|panic| Err(Fault::of_panic(panic)))
}

/// Suppresses the printing of panics inside [`caught`] work; others are printed as before. This
/// sets the panic hook of the process, for programs that report faults themselves.
pub fn silence_caught_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
            if DEPTH.get() == 0 {
                before(panic);
            } else {
                PLACE.set(panic.location().map(ToString::to_string));
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_of_one_line() {
        let fault = caught(|| -> u8 { panic!("3 packets\n  too many") }).unwrap_err();
        let said = fault.to_string();
        assert!(
            said.starts_with("a fault of the program: 3 packets too many"),
            "{said}"
        );
        assert_eq!(caught(|| 7), Ok(7));
        let fault = caught(|| std::panic::panic_any(7_u8)).unwrap_err();
        assert_eq!(fault.message, "a panic without a message");
    }

    #[test]
    fn a_fault_goes_on_as_itself() {
        let first = Fault {
            message: "first".to_owned(),
            place: Some("here".to_owned()),
        };
        let again = caught(|| -> u8 { first.clone().resume() });
        assert_eq!(again, Err(first));
    }
}

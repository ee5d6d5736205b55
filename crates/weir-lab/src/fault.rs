//! A panic of a part of the work, as an error with a message and a place in the code.
//!
//! [`caught`] is the only place that catches panics. By default Rust prints each one, with a
//! backtrace where the environment asks for it; a program that reports faults itself calls
//! [`silence_caught_panics`] once. No input makes anything panic: a fault is one of the program.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::sync::Once;
use std::thread::JoinHandle;

thread_local! {
    /// How many times [`caught`] has been entered and not left in this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Where the last panic of this thread was; set from [`silence_caught_panics`] on.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A fault of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What the panic said.
    pub message: String,
    /// File, line and column in the code, if [`silence_caught_panics`] was called.
    pub place: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One line, whatever the panic said.
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
    /// What a panic that something else has caught was; its place is known if it was the last one
    /// of this thread.
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

    /// Goes on in this thread as the panic that it was: for work that another thread did for it.
    pub fn resume(self) -> ! {
        resume_unwind(Box::new(self))
    }
}

/// Does the work; a panic in this thread is an error. What the work has changed is not used any
/// more after one, or is whole after each of its steps.
///
/// # Errors
/// The panic.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Fault> {
    DEPTH.set(DEPTH.get() + 1);
    let ended = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    ended.map_err(Fault::of_panic)
}

/// A thread whose panic is an error of who waits for it.
#[derive(Debug)]
pub struct CaughtThread<T>(JoinHandle<Result<T, Fault>>);

impl<T: Send + 'static> CaughtThread<T> {
    /// Starts it.
    ///
    /// # Errors
    /// If the system lets this process have no more threads or no memory for their stacks.
    pub fn start(work: impl FnOnce() -> T + Send + 'static) -> io::Result<Self> {
        let started = std::thread::Builder::new().spawn(move || caught(work));
        started.map(Self).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start a thread: {error}"))
        })
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// Its panic.
    pub fn join(self) -> Result<T, Fault> {
        joined(self.0.join())
    }
}

/// What a thread of a scope that did [`caught`] work has made of it.
///
/// # Errors
/// The panic.
pub fn joined<T>(ended: std::thread::Result<Result<T, Fault>>) -> Result<T, Fault> {
    ended.unwrap_or_else(|panic| Err(Fault::of_panic(panic)))
}

/// From now on nothing is printed of a panic inside [`caught`] work; others are treated as before.
/// A setting of the process, for programs that report faults.
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

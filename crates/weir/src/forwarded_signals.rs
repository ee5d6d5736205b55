//! Forwards SIGINT, SIGTERM and SIGHUP of this process to a program that it runs.

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::process::Child;

/// The signals, caught so that none of them ends this process before the program. A program that is
/// started meanwhile has the default actions, because `exec` resets handlers.
pub struct ForwardedSignals(Signals);

impl ForwardedSignals {
    /// Catches the signals from now on; those before `forward_to` are kept for the program.
    pub fn catch() -> io::Result<Self> {
        Signals::new([SIGINT, SIGTERM, SIGHUP]).map(Self)
    }

    /// Forwards the signals to a program until this process ends, except SIGINT, which the terminal
    /// sends to both.
    pub fn forward_to(mut self, program: &Child) -> io::Result<()> {
        let id = Pid::from_child(program);
        let forward = move || {
            for number in self.0.forever() {
                if let Some(signal) = Signal::from_named_raw(number)
                    && signal != Signal::INT
                {
                    // The program may have ended already.
                    let _ = kill_process(id, signal);
                }
            }
        };
        let thread = std::thread::Builder::new().name("signals".to_owned());
        thread.spawn(forward).map(drop)
    }
}

//! Ctrl-C: a flag for loops that look at it, and a signal for tasks that wait for it.

use crate::exit::Failure;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

/// A flag that Ctrl-C sets from now on, instead of ending the process.
pub fn interrupt_flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&flag);
    ctrlc::set_handler(move || handler.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Failed(format!("Ctrl-C cannot be caught: {error}")))?;
    Ok(flag)
}

/// Ctrl-C as a signal that any number of tasks can wait for.
#[derive(Clone, Debug)]
pub struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// From now on Ctrl-C is this signal and does not end the process.
    pub fn catch() -> Self {
        let (sender, receiver) = watch::channel(false);
        // Without a handler Ctrl-C ends the process, which loses the results but stops the test.
        let _ = ctrlc::set_handler(move || {
            sender.send_replace(true);
        });
        Self(receiver)
    }

    /// Whether Ctrl-C was pressed.
    pub fn was_pressed(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for Ctrl-C; returns at once if it was pressed before.
    pub async fn pressed(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|pressed| *pressed).await.is_err() {
            // No handler could be installed, so that no signal will ever come.
            std::future::pending::<()>().await;
        }
    }
}

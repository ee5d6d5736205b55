//! The message of a panic. A panic ends the module, whose memory can still be read then; the worker
//! starts another one.

use std::sync::{Mutex, Once, PoisonError};
use wasm_bindgen::prelude::wasm_bindgen;

static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Keeps the message of each panic from now on.
#[wasm_bindgen(start)]
pub(crate) fn keep_faults() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            let text = panic.to_string().replace('\n', " ");
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        }));
    });
}

/// The message of the last panic, which is a fault of the program.
#[wasm_bindgen(js_name = lastFault)]
pub fn last_fault() -> Option<String> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

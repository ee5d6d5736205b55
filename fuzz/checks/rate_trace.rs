//! Arbitrary text as a trace of delivery opportunities: no input panics, and an accepted trace is
//! in order and has a length.

use weir_lab::scenario::parse_rate_trace;

pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match parse_rate_trace("fuzz.trace", text) {
        Ok(millis) => {
            assert!(millis.is_sorted());
            assert!(millis.last().is_some_and(|last| *last > 0));
        }
        Err(error) => assert!(!error.message.is_empty()),
    }
}

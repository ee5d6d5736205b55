//! `checks/published.rs` on the inputs of libFuzzer.
#![no_main]

#[path = "../checks/published.rs"]
mod published;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| published::check(bytes));

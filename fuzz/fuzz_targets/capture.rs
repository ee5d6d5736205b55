//! `checks/capture.rs` on the inputs of libFuzzer.
#![no_main]

#[path = "../checks/capture.rs"]
mod capture;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| capture::check(bytes));

//! `checks/capture_import.rs` on the inputs of libFuzzer.
#![no_main]

#[path = "../checks/capture_import.rs"]
mod capture_import;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| capture_import::check(bytes));

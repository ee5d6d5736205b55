//! `checks/scenario.rs` on the inputs of libFuzzer.
#![no_main]

#[path = "../checks/scenario.rs"]
mod scenario;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| scenario::check(bytes));

//! `checks/qlog_import.rs` on the inputs of libFuzzer.
#![no_main]

#[path = "../checks/qlog_import.rs"]
mod qlog_import;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| qlog_import::check(bytes));

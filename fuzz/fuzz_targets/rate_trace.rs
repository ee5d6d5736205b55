//! `checks/rate_trace.rs` on the inputs of libFuzzer.
#![no_main]

#[path = "../checks/rate_trace.rs"]
mod rate_trace;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rate_trace::check(bytes));

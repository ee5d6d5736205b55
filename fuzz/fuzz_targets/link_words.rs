//! `checks/link_words.rs` on the inputs of libFuzzer.
#![no_main]

#[path = "../checks/link_words.rs"]
mod link_words;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| link_words::check(bytes));

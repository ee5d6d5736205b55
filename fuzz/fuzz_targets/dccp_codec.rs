//! `checks/dccp_codec.rs` on the inputs of libFuzzer.
#![no_main]

#[path = "../checks/dccp_codec.rs"]
mod dccp_codec;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dccp_codec::check(bytes));

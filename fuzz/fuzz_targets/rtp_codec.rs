//! `checks/rtp_codec.rs` on the inputs of libFuzzer.
#![no_main]

#[path = "../checks/rtp_codec.rs"]
mod rtp_codec;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rtp_codec::check(bytes));

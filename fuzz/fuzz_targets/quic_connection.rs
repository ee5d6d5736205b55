//! `checks/quic_connection.rs` on the inputs of libFuzzer.
#![no_main]

#[path = "../checks/quic_connection.rs"]
mod quic_connection;
#[path = "../checks/victim.rs"]
mod victim;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| quic_connection::check(bytes));

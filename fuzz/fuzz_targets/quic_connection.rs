#![no_main]

#[path = "../checks/quic_connection.rs"]
mod quic_connection;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| quic_connection::check(bytes));

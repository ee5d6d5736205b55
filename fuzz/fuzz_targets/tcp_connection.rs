//! `checks/tcp_connection.rs` on the inputs of libFuzzer.
#![no_main]

#[path = "../checks/tcp_connection.rs"]
mod tcp_connection;
#[path = "../checks/victim.rs"]
mod victim;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tcp_connection::check(bytes));

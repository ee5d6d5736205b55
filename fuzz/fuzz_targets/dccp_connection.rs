//! `checks/dccp_connection.rs` on the inputs of libFuzzer.
#![no_main]

#[path = "../checks/dccp_connection.rs"]
mod dccp_connection;
#[path = "../checks/victim.rs"]
mod victim;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dccp_connection::check(bytes));

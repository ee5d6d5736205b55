#![no_main]

#[path = "../checks/parquet.rs"]
mod parquet;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parquet::check(bytes));

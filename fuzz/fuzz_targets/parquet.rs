//! `checks/parquet.rs` on the inputs of libFuzzer.
#![no_main]

#[path = "../checks/parquet.rs"]
mod parquet;

// The reader catches panics of the library, at which libFuzzer would end.
libfuzzer_sys::fuzz_target!(
    init: {
        let end = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.location().is_some_and(|at| at.file().contains("/parquet-")) {
                end(panic);
            }
        }));
    },
    |bytes: &[u8]| parquet::check(bytes)
);

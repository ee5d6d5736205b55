//! The tests of the public interface: one binary, because each is linked on its own. Only `bbr_noq`
//! is another, because it adds controllers to the registry of its process.

mod bad_files;
mod captures;
mod column_dictionary;
mod examples;
mod experiments;
mod faults;
mod fuzz_corpus;
mod outage;
mod qlog;
mod run_folder;
mod scenario_reference;
mod streaming;

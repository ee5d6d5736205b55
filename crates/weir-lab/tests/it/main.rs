//! The tests of the public interface: one binary, because each binary is linked separately. Only
//! `bbr_noq` is separate, because it adds controllers to the registry of its process.

mod bad_files;
mod captures;
mod column_dictionary;
mod examples;
mod experiments;
#[cfg(feature = "files")]
mod explained_traces;
mod faults;
#[cfg(feature = "files")]
mod fit;
mod found_again;
mod fuzz_corpus;
#[cfg(feature = "files")]
mod imported_captures;
mod lessons;
mod outage;
mod pathologies;
mod qlog;
#[cfg(feature = "files")]
mod qlog_import;
mod run_folder;
mod scenario_reference;
mod streaming;

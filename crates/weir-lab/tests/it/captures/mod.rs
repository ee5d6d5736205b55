//! Capture files: real ones, ones made by hand, and damaged ones.
#![cfg(feature = "files")]

mod damage;
mod envelopes;
mod listing;
mod real;
mod synthetic;

//! The tests of the public interface: one binary, because each is linked on its own.

mod dccp_pair;
mod dccp_peer;
mod fuzz_corpus;

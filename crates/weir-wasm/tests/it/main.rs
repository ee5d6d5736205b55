//! What the module does in WebAssembly, against the same code on this machine.

mod identity;
mod stages;

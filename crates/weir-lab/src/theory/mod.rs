//! Theory of a path: closed formulas, each a function with units in its types, and [`LAWS`], the
//! same functions as a table that a command line can list and call by name.
//!
//! - [`tfrc`]: the throughput equation of RFC 5348 §3.1, its inverse, the Linux kernel's table,
//!   the initial window, and the arithmetic of the nofeedback timer.
//! - [`mathis`]: Mathis et al. 1997, and the same sawtooth with `b` idle round-trip times a cycle.
//! - [`pftk`]: Padhye et al. 1998, Reno with timeouts. [`cubic`]: RFC 9438 §5.1.
//!
//! All formulas describe a steady state with a given loss rate; none models slow start, a queue
//! or the reaction of the path to the sender.

pub mod cubic;
mod law;
pub mod mathis;
pub mod pftk;
mod table;
pub mod tfrc;

pub use law::{
    Arguments, Law, Line, Parameter, Quantity, ResultSpec, TheoryError, format_digits,
    format_value, significant,
};
pub use table::LAWS;

pub(crate) use law::{LEAST_PLAIN, prefixed, prefixes, scientific, with_unit};

use law::closest;

/// The law of this name.
///
/// # Errors
/// If the name is unknown; the error has the closest known one.
pub fn law(name: &str) -> Result<&'static Law, TheoryError> {
    LAWS.iter()
        .find(|law| law.name == name)
        .ok_or_else(|| TheoryError::UnknownLaw {
            name: name.to_owned(),
            hint: closest(name, LAWS.iter().map(|law| law.name)),
        })
}

/// Evaluates the law `name` with text values such as `("rtt", "400ms")`.
///
/// # Errors
/// If the law or a parameter is unknown, a parameter is missing, or a value is invalid.
pub fn evaluate(name: &str, arguments: &[(&str, &str)]) -> Result<Vec<Line>, TheoryError> {
    law(name)?.evaluate(arguments)
}

#[cfg(test)]
mod tests;

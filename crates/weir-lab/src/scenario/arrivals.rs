//! Short flows: `arrivals = { kind = "poisson", per_second = 50, size = { … } }`.
//!
//! Each arrival is a transfer over a separate connection, which is closed when all data is sent.
//! Times and sizes are drawn from the flow's random streams before the run, so that they do not
//! depend on the network: an open loop.

use super::files::Files;
use std::fmt::Write as _;
use std::path::Path;
use weir_net::app::{MAX_SIZE, Pairs, TransferSize};
use weir_proto::rng::Rng;
use weir_proto::settings::{Diagnostic, number, shortened};
use weir_proto::time::Duration;
use weir_proto::{kinds, settings};

kinds! {
    /// When the transfers of a flow begin, and how large they are.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub enum Arrivals {
        /// One connection, over which the application writes.
        #[default]
        Once = "once",
        /// Transfers over connections of their own, at random.
        Poisson(PoissonArrivals) = "poisson",
        /// Transfers over connections of their own, at stated times.
        List(ListedArrivals) = "list",
    }
}

settings! {
    /// Transfers over connections of their own, at random: the times between two are distributed
    /// exponentially.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PoissonArrivals {
        /// How many begin in a second, on average.
        pub per_second: f64 [required] = 1.0 => number(1e-6..=1e6, "per second"),
        /// How large they are.
        pub size: TransferSize,
    }
}

settings! {
    /// Transfers over connections of their own, at stated times.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ListedArrivals {
        /// A file with the begin in seconds after the flow's start and the size in bytes of a
        /// transfer per line, or a list of such pairs: [[0.0, 64000], [0.5, 1500]].
        pub transfers: Pairs [required],
    }
}

/// A planned transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// The time at which its connection is opened, since the start of the run.
    pub start: Duration,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Reads the file of these pairs, if it has not been read yet.
pub(super) fn load_pairs(
    pairs: &mut Pairs,
    folder: &Path,
    files: &Files,
) -> Result<(), Diagnostic> {
    let Some(file) = pairs.file.take() else {
        return Ok(());
    };
    let text = files.read(folder, &file).map_err(|error| {
        let message = format!("cannot read \"{}\": {error}", shortened(&file));
        Diagnostic::new(message, "name a file beside the scenario")
    })?;
    pairs.pairs = parse_pairs(&file, &text)?;
    Ok(())
}

/// The pairs of a file, one on each line, separated by spaces, tabs or a comma; comments begin with
/// `#`.
///
/// # Errors
/// The invalid line, and the expected format.
fn parse_pairs(file: &str, text: &str) -> Result<Vec<[f64; 2]>, Diagnostic> {
    let mut pairs = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let words = line.split([' ', '\t', ',']).filter(|word| !word.is_empty());
        let numbers: Vec<Option<f64>> = words.map(|word| word.parse().ok()).collect();
        let positive = |n: f64| n.is_finite() && n >= 0.0;
        match numbers.as_slice() {
            &[Some(first), Some(second)] if positive(first) && positive(second) => {
                pairs.push([first, second]);
            }
            _ => {
                let mut message = shortened(file);
                // Writing to a string cannot fail.
                let _ = write!(message, ":{}: expected two numbers", number + 1);
                return Err(Diagnostic::new(message, "write two numbers per line"));
            }
        }
    }
    Ok(pairs)
}

impl Arrivals {
    /// The pairs with a file that has not been read yet, if any, and the keys that lead to them.
    pub(super) fn pairs_mut(&mut self) -> Option<(&mut Pairs, &'static [&'static str])> {
        match self {
            Self::List(list) => Some((&mut list.transfers, &["transfers"])),
            Self::Poisson(poisson) => Some((poisson.size.cdf_mut()?, &["size", "cdf"])),
            Self::Once => None,
        }
    }

    /// Checks the numbers of a list or distribution.
    pub(super) fn check(&self) -> Result<(), Diagnostic> {
        match self {
            Self::List(list) => check_list(&list.transfers.pairs),
            Self::Poisson(poisson) => poisson.size.check(),
            Self::Once => Ok(()),
        }
    }

    /// The transfers from `start` until before `end`, in the order of their starts, drawn from the
    /// random streams of times and of sizes. `None` for a single connection.
    pub(super) fn transfers(
        &self,
        [start, end]: [Duration; 2],
        [mut times, mut sizes]: [Rng; 2],
    ) -> Option<Vec<Transfer>> {
        match self {
            Self::Once => None,
            Self::List(list) => {
                let transfer = |pair: &[f64; 2]| Transfer {
                    start: start + Duration::from_secs_f64(pair[0].min(1e9)),
                    bytes: pair[1] as u64,
                };
                let transfers = list.transfers.pairs.iter().map(transfer);
                Some(transfers.filter(|transfer| transfer.start < end).collect())
            }
            Self::Poisson(poisson) => {
                let mut transfers = Vec::new();
                let mut at = start;
                loop {
                    let wait = times.exponential(1.0 / poisson.per_second).min(1e9);
                    at += Duration::from_secs_f64(wait);
                    if at >= end {
                        return Some(transfers);
                    }
                    let bytes = poisson.size.draw(&mut sizes);
                    transfers.push(Transfer { start: at, bytes });
                }
            }
        }
    }

    /// True if times or sizes are random.
    pub const fn is_random(&self) -> bool {
        matches!(self, Self::Poisson(_))
    }

    /// The mean size of a transfer in bytes; `None` for a single connection.
    pub(super) fn mean_bytes(&self) -> Option<f64> {
        match self {
            Self::Once => None,
            Self::Poisson(poisson) => Some(poisson.size.mean()),
            Self::List(list) => {
                let sizes = list.transfers.pairs.iter().map(|pair| pair[1]);
                Some(sizes.sum::<f64>() / list.transfers.pairs.len().max(1) as f64)
            }
        }
    }

    /// The number of transfers that begin within this time, or its mean; `None` for a single
    /// connection.
    pub(super) fn expected(&self, within: Duration) -> Option<f64> {
        match self {
            Self::Once => None,
            Self::Poisson(poisson) => Some(poisson.per_second * within.as_secs_f64()),
            Self::List(list) => Some(list.transfers.pairs.len() as f64),
        }
    }
}

fn check_list(pairs: &[[f64; 2]]) -> Result<(), Diagnostic> {
    let help = "write times in order and sizes of at least one byte: [[0.0, 64000]]";
    if pairs.is_empty() {
        return Err(Diagnostic::new("the list has no transfer", help));
    }
    for pair in pairs.windows(2) {
        if pair[1][0] < pair[0][0] {
            let message = format!("{} s comes after {} s", pair[1][0], pair[0][0]);
            return Err(Diagnostic::new(message, help));
        }
    }
    let fits = |size: f64| (1.0..=MAX_SIZE as f64).contains(&size);
    match pairs.iter().find(|pair| !fits(pair[1])) {
        Some(pair) => {
            let message = format!("{} is not a size from 1 to {MAX_SIZE} bytes", pair[1]);
            Err(Diagnostic::new(message, help))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_pairs_is_read_line_by_line() {
        let text = "# size share\n1000 0.25\n\n2e3,\t1 # all\n";
        let pairs = parse_pairs("web.cdf", text).unwrap();
        assert_eq!(pairs, [[1000.0, 0.25], [2000.0, 1.0]]);
        for text in ["1", "1 2 3", "one 2", "-1 2", "1 nan"] {
            let wrong = parse_pairs("web.cdf", text).unwrap_err();
            assert!(wrong.message.starts_with("web.cdf:1:"), "{wrong:?}");
        }
    }

    #[test]
    fn lists_are_in_order() {
        let list = |pairs: &[[f64; 2]]| check_list(pairs).is_ok();
        assert!(list(&[[0.0, 1.0], [0.0, 5.0], [2.5, 1e6]]));
        assert!(!list(&[]) && !list(&[[1.0, 1.0], [0.5, 1.0]]) && !list(&[[0.0, 0.0]]));
    }
}

//! Short flows: `arrivals = { kind = "poisson", per_second = 50, size = { … } }`.
//!
//! Each arrival is a transfer over a connection of its own, which is closed when all is sent.
//! Times and sizes are drawn before the run, from random streams of the flow, so that they do not
//! depend on what the network does: an open loop.

use std::fmt::Write as _;
use std::path::Path;
use weir_proto::rng::Rng;
use weir_proto::settings::{
    Diagnostic, Kind, Raw, Reader, Spanned, Value, bytes, number, shortened,
};
use weir_proto::time::Duration;
use weir_proto::{kinds, settings};

/// The largest transfer in bytes: a terabyte.
const MAX_SIZE: u64 = 1_000_000_000_000;

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

kinds! {
    /// How large transfers are.
    #[derive(Clone, Debug, PartialEq)]
    pub enum TransferSize {
        /// All alike.
        Constant(ConstantSize) = "constant",
        /// Distributed exponentially.
        Exponential(ExponentialSize) = "exponential",
        /// Distributed by Pareto: most are small, a few very large.
        Pareto(ParetoSize) = "pareto",
        /// Distributed as measured: a cumulative distribution.
        Cdf(CdfSize) = "cdf",
        /// As in a cluster that answers web searches (DCTCP, SIGCOMM 2010): 1.7 MB on average.
        WebSearch = "web_search",
        /// As in a cluster that mines data (VL2, SIGCOMM 2009): half are below 1.1 kB, 2 % above
        /// 100 MB; 12.7 MB on average.
        DataMining = "data_mining",
        /// As in a cluster with Hadoop (Roy et al., SIGCOMM 2015): half are below 700 bytes; 120 kB
        /// on average.
        Hadoop = "hadoop",
    }
}

/// The size in bytes and the share of transfers up to it, read off the figures of the papers by
/// those who simulate with them: the tables that HKUST's TrafficGenerator and HPCC's simulator use.
const WEB_SEARCH: &[[f64; 2]] = &[
    [0.0, 0.0],
    [10e3, 0.15],
    [20e3, 0.2],
    [30e3, 0.3],
    [50e3, 0.4],
    [80e3, 0.53],
    [200e3, 0.6],
    [1e6, 0.7],
    [2e6, 0.8],
    [5e6, 0.9],
    [10e6, 0.97],
    [30e6, 1.0],
];

/// As [`WEB_SEARCH`].
const DATA_MINING: &[[f64; 2]] = &[
    [0.0, 0.0],
    [180.0, 0.1],
    [216.0, 0.2],
    [560.0, 0.3],
    [900.0, 0.4],
    [1100.0, 0.5],
    [1870.0, 0.6],
    [3160.0, 0.7],
    [10e3, 0.8],
    [400e3, 0.9],
    [3160e3, 0.95],
    [100e6, 0.98],
    [1e9, 1.0],
];

/// As [`WEB_SEARCH`].
const HADOOP: &[[f64; 2]] = &[
    [0.0, 0.0],
    [100.0, 0.01],
    [200.0, 0.02],
    [300.0, 0.05],
    [350.0, 0.15],
    [400.0, 0.2],
    [500.0, 0.3],
    [600.0, 0.4],
    [700.0, 0.5],
    [1e3, 0.6],
    [2e3, 0.67],
    [7e3, 0.7],
    [30e3, 0.72],
    [50e3, 0.82],
    [80e3, 0.87],
    [120e3, 0.9],
    [300e3, 0.95],
    [1e6, 0.975],
    [2e6, 0.99],
    [10e6, 1.0],
];

impl Default for TransferSize {
    fn default() -> Self {
        Self::Constant(ConstantSize::default())
    }
}

settings! {
    /// All transfers are of one size.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ConstantSize {
        /// Bytes of each.
        pub bytes: u64 [required] = 64_000 => bytes(1..=MAX_SIZE),
    }
}

settings! {
    /// Sizes are distributed exponentially.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ExponentialSize {
        /// Mean in bytes.
        pub mean: u64 [required] = 64_000 => bytes(1..=MAX_SIZE),
    }
}

settings! {
    /// Sizes are distributed by Pareto.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ParetoSize {
        /// Mean in bytes.
        pub mean: u64 [required] = 64_000 => bytes(1..=MAX_SIZE),
        /// The shape: the nearer to 1, the heavier the tail.
        pub shape: f64 = 1.2 => number(1.01..=100.0, ""),
    }
}

settings! {
    /// Sizes have a cumulative distribution, as traffic measurements publish it.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CdfSize {
        /// A file with a size in bytes and the share of transfers up to it per line, from 0 to 1,
        /// or a list of such pairs: [[1000, 0.5], [10000, 1.0]]. Between two lines the share grows
        /// evenly, as in ns-2's empirical distributions.
        pub cdf: Pairs [required],
    }
}

/// Pairs of numbers, by a file or by its content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// The file that has them, until it is read.
    pub file: Option<String>,
    /// The pairs, in the order of the file.
    pub pairs: Vec<[f64; 2]>,
}

/// A transfer that is to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// When its connection is opened, from the start of the run.
    pub start: Duration,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Value for Pairs {
    fn read(&mut self, value: &Spanned, _: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let wrong = || {
            let example = "the name of a file, or a list of pairs such as [[0.5, 1000]]";
            Diagnostic::expected("a file or a list of pairs of numbers", &value.raw, example)
        };
        let elements = match &value.raw {
            Raw::Text(file) => {
                self.file = Some(file.clone());
                return Ok(());
            }
            Raw::Array(elements) => elements,
            _ => return Err(wrong()),
        };
        self.pairs.clear();
        for element in elements {
            let Raw::Array(pair) = &element.raw else {
                return Err(wrong());
            };
            let numbers: Vec<f64> = pair.iter().filter_map(|one| of_raw(&one.raw)).collect();
            match (numbers.as_slice(), pair.len()) {
                (&[first, second], 2) => self.pairs.push([first, second]),
                _ => return Err(wrong()),
            }
        }
        Ok(())
    }

    fn write(&self) -> Raw {
        let pair = |pair: &[f64; 2]| Raw::Array(pair.map(|n| Raw::Float(n).into()).into());
        Raw::Array(self.pairs.iter().map(|one| pair(one).into()).collect())
    }

    fn kind(&self) -> Kind {
        let (min, max, unit) = (0.0, f64::INFINITY, "");
        let of = Box::new(Kind::Number { min, max, unit });
        let pair = Kind::List {
            of,
            len: (2, Some(2)),
        };
        let (of, len) = (Box::new(pair), (0, None));
        Kind::AnyOf(vec![
            Kind::Text("the name of a file"),
            Kind::List { of, len },
        ])
    }
}

fn of_raw(raw: &Raw) -> Option<f64> {
    let number = match raw {
        Raw::Float(number) => *number,
        Raw::Integer(number) => *number as f64,
        _ => return None,
    };
    (number.is_finite() && number >= 0.0).then_some(number)
}

impl Pairs {
    /// Reads the file, if it is still to be read.
    pub(super) fn load(&mut self, folder: &Path) -> Result<(), Diagnostic> {
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let text = std::fs::read_to_string(folder.join(&file)).map_err(|error| {
            let message = format!("cannot read \"{}\": {error}", shortened(&file));
            Diagnostic::new(message, "name a file beside the scenario")
        })?;
        self.pairs = Self::parse(&file, &text)?;
        Ok(())
    }

    /// The pairs of a file, one a line, with spaces, tabs or a comma between; comments begin with
    /// `#`.
    ///
    /// # Errors
    /// The line that is wrong, and what was expected.
    pub(super) fn parse(file: &str, text: &str) -> Result<Vec<[f64; 2]>, Diagnostic> {
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
}

impl Arrivals {
    /// The file of pairs that is still to be read, if there is one, and the keys that lead to it.
    pub(super) fn pairs_mut(&mut self) -> Option<(&mut Pairs, &'static [&'static str])> {
        match self {
            Self::List(list) => Some((&mut list.transfers, &["transfers"])),
            Self::Poisson(PoissonArrivals {
                size: TransferSize::Cdf(size),
                ..
            }) => Some((&mut size.cdf, &["size", "cdf"])),
            _ => None,
        }
    }

    /// What is wrong with the numbers of a list or distribution.
    pub(super) fn check(&self) -> Result<(), Diagnostic> {
        match self {
            Self::List(list) => check_list(&list.transfers.pairs),
            Self::Poisson(poisson) => match &poisson.size {
                TransferSize::Cdf(size) => check_cdf(&size.cdf.pairs),
                _ => Ok(()),
            },
            Self::Once => Ok(()),
        }
    }

    /// The transfers from `start` to before `end`, in the order of their starts, drawn from streams
    /// of times and of sizes. `None` for one connection.
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

    /// How many transfers begin within this time, at least on average; `None` for one connection.
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

fn check_cdf(pairs: &[[f64; 2]]) -> Result<(), Diagnostic> {
    let help = "write sizes and shares that grow, the last share 1: [[1000, 0.5], [10000, 1.0]]";
    let wrong = |message: String| Err(Diagnostic::new(message, help));
    for pair in pairs.windows(2) {
        let ([size, share], [next, later]) = (pair[0], pair[1]);
        if next < size || later < share {
            return wrong(format!("{next} {later} comes after {size} {share}"));
        }
    }
    match (pairs.first(), pairs.last()) {
        (Some([least, _]), Some([most, share])) => {
            if *least < 0.0 || *most < 1.0 || *most > MAX_SIZE as f64 {
                return wrong(format!("sizes from {least} to {most} are out of range"));
            }
            if (share - 1.0).abs() > 1e-9 {
                return wrong(format!("the last share is {share}"));
            }
            Ok(())
        }
        _ => wrong("the distribution has no size".to_owned()),
    }
}

impl TransferSize {
    fn draw(&self, rng: &mut Rng) -> u64 {
        let size = match self {
            Self::Constant(size) => return size.bytes,
            Self::Exponential(size) => rng.exponential(size.mean as f64),
            Self::Pareto(ParetoSize { mean, shape }) => {
                let least = *mean as f64 * (shape - 1.0) / shape;
                least * libm::pow(1.0 - rng.uniform(), -1.0 / shape)
            }
            Self::Cdf(size) => quantile(&size.cdf.pairs, rng.uniform()),
            Self::WebSearch => quantile(WEB_SEARCH, rng.uniform()),
            Self::DataMining => quantile(DATA_MINING, rng.uniform()),
            Self::Hadoop => quantile(HADOOP, rng.uniform()),
        };
        size.clamp(1.0, MAX_SIZE as f64) as u64
    }
}

/// The size up to which this share of transfers are.
fn quantile(cdf: &[[f64; 2]], share: f64) -> f64 {
    let after = cdf.partition_point(|[_, known]| *known < share);
    let Some(&[size, known]) = cdf.get(after) else {
        return cdf.last().map_or(1.0, |[size, _]| *size);
    };
    match after.checked_sub(1).and_then(|before| cdf.get(before)) {
        Some(&[least, lower]) if known > lower => {
            least + (size - least) * (share - lower) / (known - lower)
        }
        _ => size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_their_mean() {
        let mean = 50_000;
        let cdf = Pairs {
            file: None,
            // Half are 10 kB, the others even between 10 kB and 170 kB.
            pairs: vec![[10_000.0, 0.5], [170_000.0, 1.0]],
        };
        for (size, tolerance) in [
            (TransferSize::Constant(ConstantSize { bytes: mean }), 0.0),
            (TransferSize::Exponential(ExponentialSize { mean }), 0.02),
            (TransferSize::Pareto(ParetoSize { mean, shape: 2.5 }), 0.03),
            (TransferSize::Cdf(CdfSize { cdf }), 0.02),
        ] {
            let mut rng = Rng::stream(1, "sizes");
            let draws = 50_000;
            let total: u64 = (0..draws).map(|_| size.draw(&mut rng)).sum();
            let found = total as f64 / f64::from(draws);
            let off = (found / mean as f64 - 1.0).abs();
            assert!(off <= tolerance, "{size:?}: {found}");
        }
    }

    /// The means are those of the tables: the sum over their rows of the share that a row adds
    /// times the middle between its size and the one before.
    #[test]
    fn published_sizes_are_distributions_with_their_means_and_medians() {
        for (cdf, mean, median) in [
            (WEB_SEARCH, 1_711_250.0, 73_076.9),
            (DATA_MINING, 12_658_198.6, 1_100.0),
            (HADOOP, 120_420.75, 700.0),
        ] {
            assert!(check_cdf(cdf).is_ok());
            let middle = |pair: &[[f64; 2]]| {
                let ([least, before], [most, share]) = (pair[0], pair[1]);
                (share - before) * (least + most) / 2.0
            };
            let found: f64 = cdf.windows(2).map(middle).sum();
            assert!((found / mean - 1.0).abs() < 1e-9, "{found}");
            assert!((quantile(cdf, 0.5) / median - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn a_file_of_pairs_is_read_line_by_line() {
        let text = "# size share\n1000 0.25\n\n2e3,\t1 # all\n";
        let pairs = Pairs::parse("web.cdf", text).unwrap();
        assert_eq!(pairs, [[1000.0, 0.25], [2000.0, 1.0]]);
        assert_eq!(quantile(&pairs, 0.1), 1000.0);
        assert_eq!(quantile(&pairs, 0.625), 1500.0);
        assert_eq!(quantile(&pairs, 1.0), 2000.0);
        for text in ["1", "1 2 3", "one 2", "-1 2", "1 nan"] {
            let wrong = Pairs::parse("web.cdf", text).unwrap_err();
            assert!(wrong.message.starts_with("web.cdf:1:"), "{wrong:?}");
        }
    }

    #[test]
    fn lists_and_distributions_are_in_order() {
        let list = |pairs: &[[f64; 2]]| check_list(pairs).is_ok();
        assert!(list(&[[0.0, 1.0], [0.0, 5.0], [2.5, 1e6]]));
        assert!(!list(&[]) && !list(&[[1.0, 1.0], [0.5, 1.0]]) && !list(&[[0.0, 0.0]]));
        let cdf = |pairs: &[[f64; 2]]| check_cdf(pairs).is_ok();
        assert!(cdf(&[[100.0, 0.0], [1000.0, 1.0]]) && cdf(&[[1000.0, 1.0]]));
        assert!(!cdf(&[]) && !cdf(&[[1000.0, 0.9]]) && !cdf(&[[9.0, 0.5], [8.0, 1.0]]));
        assert!(!cdf(&[[8.0, 0.9], [9.0, 0.5], [10.0, 1.0]]));
    }
}

//! How large transfers, requests and responses are.

use weir_proto::rng::Rng;
use weir_proto::settings::{Diagnostic, Kind, Raw, Reader, Spanned, Value, bytes, number};
use weir_proto::{kinds, settings};

/// The largest transfer in bytes: a terabyte.
pub const MAX_SIZE: u64 = 1_000_000_000_000;

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

/// The size in bytes and the share of transfers up to it, read off the figures of the papers for
/// use in simulations: the tables of HKUST's TrafficGenerator and HPCC's simulator.
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
    /// The file that holds them, until it is read.
    pub file: Option<String>,
    /// The pairs, in the order of the file.
    pub pairs: Vec<[f64; 2]>,
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

impl TransferSize {
    /// All transfers of this size.
    pub const fn constant(bytes: u64) -> Self {
        Self::Constant(ConstantSize { bytes })
    }

    /// True unless all sizes are equal.
    pub const fn is_random(&self) -> bool {
        !matches!(self, Self::Constant(_))
    }

    /// The pairs of a measured distribution.
    pub const fn cdf_mut(&mut self) -> Option<&mut Pairs> {
        match self {
            Self::Cdf(size) => Some(&mut size.cdf),
            _ => None,
        }
    }

    /// Checks the pairs of a measured distribution, once they are read.
    ///
    /// # Errors
    /// If they are not a cumulative distribution.
    pub fn check(&self) -> Result<(), Diagnostic> {
        match self {
            Self::Cdf(size) => check_cdf(&size.cdf.pairs),
            _ => Ok(()),
        }
    }

    /// The mean in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(size) => size.bytes as f64,
            Self::Exponential(size) => size.mean as f64,
            Self::Pareto(size) => size.mean as f64,
            Self::Cdf(size) => mean_of(&size.cdf.pairs),
            Self::WebSearch => mean_of(WEB_SEARCH),
            Self::DataMining => mean_of(DATA_MINING),
            Self::Hadoop => mean_of(HADOOP),
        }
    }

    /// The next size in bytes.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
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

/// The mean of [`quantile`]: for each row, its share times the midpoint of its size and the one
/// before.
fn mean_of(cdf: &[[f64; 2]]) -> f64 {
    let first = cdf.first().map_or(0.0, |[size, share]| size * share);
    let rest = cdf.windows(2).map(|pair| {
        let ([least, before], [most, share]) = (pair[0], pair[1]);
        (share - before) * (least + most) / 2.0
    });
    first + rest.sum::<f64>()
}

/// The size that this share of transfers does not exceed.
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
            assert!((size.mean() - mean as f64).abs() < 1e-6, "{size:?}");
            let off = (found / mean as f64 - 1.0).abs();
            assert!(off <= tolerance, "{size:?}: {found}");
        }
    }

    /// The means are those of the tables: the sum over the rows of the share that a row adds times
    /// the midpoint of its size and the one before.
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
            assert!((mean_of(cdf) / mean - 1.0).abs() < 1e-9);
            assert!((found / mean - 1.0).abs() < 1e-9, "{found}");
            assert!((quantile(cdf, 0.5) / median - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn between_two_sizes_the_share_grows_evenly() {
        let cdf = [[1000.0, 0.25], [2000.0, 1.0]];
        for (share, size) in [(0.1, 1000.0), (0.625, 1500.0), (1.0, 2000.0)] {
            assert_eq!(quantile(&cdf, share), size);
        }
    }

    #[test]
    fn distributions_are_in_order() {
        let cdf = |pairs: &[[f64; 2]]| check_cdf(pairs).is_ok();
        assert!(cdf(&[[100.0, 0.0], [1000.0, 1.0]]) && cdf(&[[1000.0, 1.0]]));
        assert!(!cdf(&[]) && !cdf(&[[1000.0, 0.9]]) && !cdf(&[[9.0, 0.5], [8.0, 1.0]]));
        assert!(!cdf(&[[8.0, 0.9], [9.0, 0.5], [10.0, 1.0]]));
    }
}

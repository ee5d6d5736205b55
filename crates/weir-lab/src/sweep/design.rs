//! Designs: the choice of combinations of values.

use serde::{Deserialize, Serialize};
use weir_proto::rng::Rng;

/// The method of choosing the points of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// Every combination of the values.
    #[default]
    Grid,
    /// Each value is drawn independently and uniformly.
    Random,
    /// Each parameter has one value in each of as many equal parts of its range as there are
    /// points (McKay, Beckman and Conover 1979).
    LatinHypercube,
    /// Sobol's sequence with Owen scrambling: its prefixes fill the space evenly too.
    Sobol,
}

/// The maximum number of points of a Sobol design, a limit of the generator's sequence.
pub(super) const MAX_SOBOL_POINTS: u64 = 1 << 16;
/// The maximum number of parameters of a Sobol design.
pub(super) const MAX_SOBOL_PARAMETERS: usize = 256;

impl Design {
    /// Its keyword in a plan.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::Random => "random",
            Self::LatinHypercube => "latin-hypercube",
            Self::Sobol => "sobol",
        }
    }

    /// The points of a design other than a grid, each with a number in [0, 1) for each parameter.
    pub(crate) fn points(self, parameters: usize, points: u64, seed: u64) -> Vec<Vec<f64>> {
        match self {
            Self::Grid => Vec::new(),
            Self::Random => by_parameter(parameters, points, |parameter| {
                let mut rng = Rng::stream(seed, &format!("sweep/random/{parameter}"));
                (0..points).map(|_| rng.uniform()).collect()
            }),
            Self::LatinHypercube => by_parameter(parameters, points, |parameter| {
                let mut rng = Rng::stream(seed, &format!("sweep/latin-hypercube/{parameter}"));
                let mut strata: Vec<u64> = (0..points).collect();
                shuffle(&mut strata, &mut rng);
                let inside = |stratum| (stratum as f64 + rng.uniform()) / points as f64;
                strata.into_iter().map(inside).collect()
            }),
            Self::Sobol => by_parameter(parameters, points, |parameter| {
                let sample =
                    |point| sobol_burley::sample(point as u32, parameter as u32, seed as u32);
                (0..points).map(|point| f64::from(sample(point))).collect()
            }),
        }
    }
}

/// Converts the values of each parameter into points.
fn by_parameter(
    parameters: usize,
    points: u64,
    mut of: impl FnMut(usize) -> Vec<f64>,
) -> Vec<Vec<f64>> {
    let mut all = vec![vec![0.0; parameters]; points as usize];
    for parameter in 0..parameters {
        for (point, value) in all.iter_mut().zip(of(parameter)) {
            point[parameter] = value;
        }
    }
    all
}

/// The Fisher-Yates shuffle.
fn shuffle(values: &mut [u64], rng: &mut Rng) {
    for last in (1..values.len()).rev() {
        let other = rng.below(last as u64 + 1) as usize;
        values.swap(last, other);
    }
}

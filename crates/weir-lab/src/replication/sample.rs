//! One measure over several runs: its mean, and the precision of the mean.
//!
//! Deviations are those of a sample (n − 1). The interval of a mean is m ± t·s/√n with Student's t
//! at n − 1 degrees of freedom, which assumes that the mean of the runs is nearly normal.

/// Values of one measure, one for each run, in the order of the runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    pub(super) values: Vec<f64>,
}

/// The ends of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// True if the value is inside, including the ends.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

impl FromIterator<f64> for Sample {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self {
            values: values.into_iter().collect(),
        }
    }
}

impl Sample {
    /// The number of runs.
    pub fn n(&self) -> usize {
        self.values.len()
    }

    /// The values in the order of the runs.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The mean; `None` without a run.
    pub fn mean(&self) -> Option<f64> {
        let n = self.n();
        (n > 0).then(|| self.values.iter().sum::<f64>() / n as f64)
    }

    /// The standard deviation of the sample (n − 1); `None` with fewer than two runs.
    pub fn standard_deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        let freedom = self.n().checked_sub(1).filter(|&freedom| freedom > 0)?;
        let squares = self.values.iter().map(|v| (v - mean) * (v - mean));
        Some((squares.sum::<f64>() / freedom as f64).sqrt())
    }

    /// The standard error of the mean, s/√n; `None` with fewer than two runs.
    pub fn standard_error(&self) -> Option<f64> {
        Some(self.standard_deviation()? / (self.n() as f64).sqrt())
    }

    /// The 95 % confidence interval of the mean; `None` with fewer than two runs.
    pub fn interval_95(&self) -> Option<Interval> {
        let (mean, error) = (self.mean()?, self.standard_error()?);
        let reach = student_t_quantile(0.975, self.n() - 1)? * error;
        Some(Interval {
            low: mean - reach,
            high: mean + reach,
        })
    }

    /// The differences of this sample from another, run by run; `None` if they differ in length.
    /// Its interval is that of a paired comparison.
    pub fn paired_differences(&self, other: &Self) -> Option<Self> {
        let pairs = self.values.iter().zip(&other.values);
        (self.n() == other.n()).then(|| pairs.map(|(a, b)| a - b).collect())
    }

    /// The standard error of the difference of the means of two samples that are not paired;
    /// `None` with fewer than two runs in one of them.
    pub fn welch_standard_error(&self, other: &Self) -> Option<f64> {
        let (a, b) = (self.standard_error()?, other.standard_error()?);
        Some((a * a + b * b).sqrt())
    }

    /// The 95 % interval of the mean of the other sample minus that of this one (Welch, Biometrika
    /// 34, 1947), with the degrees of freedom rounded down; `None` with fewer than two runs in one
    /// of them.
    pub fn welch_interval_95(&self, other: &Self) -> Option<Interval> {
        let difference = other.mean()? - self.mean()?;
        let (a, b) = (self.standard_error()?, other.standard_error()?);
        let (a, b) = (a * a, b * b);
        let part = |square: f64, n: usize| square * square / (n - 1) as f64;
        let parts = part(a, self.n()) + part(b, other.n());
        let freedom = if parts > 0.0 {
            ((a + b) * (a + b) / parts) as usize
        } else {
            self.n() + other.n() - 2
        };
        let reach = student_t_quantile(0.975, freedom.max(1))? * (a + b).sqrt();
        Some(Interval {
            low: difference - reach,
            high: difference + reach,
        })
    }

    /// The percentile rank of the value among the runs, 0 to 100: the share of smaller runs, plus
    /// half of the equal ones; `None` without a run.
    pub fn percentile_of(&self, value: f64) -> Option<f64> {
        let count = |test: &dyn Fn(f64) -> bool| {
            let runs = self.values.iter().filter(|v| test(**v));
            runs.count() as f64
        };
        let below = count(&|run| run < value) + count(&|run| run == value) / 2.0;
        (self.n() > 0).then(|| 100.0 * below / self.n() as f64)
    }
}

/// The quantile of Student's t distribution for this probability. `None` unless 0 < probability < 1
/// and there is at least one degree of freedom.
///
/// For whole degrees of freedom ν the probability that |T| is at most t is a finite sum over
/// θ = atan(t/√ν) (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4).
/// It rises with θ and is solved for θ by bisection.
pub fn student_t_quantile(probability: f64, degrees_of_freedom: usize) -> Option<f64> {
    if !(probability > 0.0 && probability < 1.0) || degrees_of_freedom == 0 {
        return None;
    }
    let both_tails = (2.0 * probability - 1.0).abs();
    let (mut low, mut high) = (0.0, core::f64::consts::FRAC_PI_2);
    // Each step halves an interval that begins at 1.6: after 60 it is below the rounding of θ.
    for _ in 0..60 {
        let middle = low + (high - low) / 2.0;
        if probability_within(middle, degrees_of_freedom) < both_tails {
            low = middle;
        } else {
            high = middle;
        }
    }
    let t = (degrees_of_freedom as f64).sqrt() * libm::tan(low);
    Some(if probability < 0.5 { -t } else { t })
}

/// The probability that |T| is at most √ν·tan θ.
fn probability_within(theta: f64, degrees_of_freedom: usize) -> f64 {
    let (sine, cosine) = (libm::sin(theta), libm::cos(theta));
    let odd = !degrees_of_freedom.is_multiple_of(2);
    // Odd: cos θ + 2/3 cos³ θ + … to the power ν − 2; even: 1 + 1/2 cos² θ + … to the same.
    let (mut term, mut power) = if odd { (cosine, 1) } else { (1.0, 0) };
    let mut sum = 0.0;
    while power + 2 <= degrees_of_freedom {
        sum += term;
        term *= cosine * cosine * (power + 1) as f64 / (power + 2) as f64;
        power += 2;
    }
    if odd {
        core::f64::consts::FRAC_2_PI * (theta + sine * sum)
    } else {
        sine * sum
    }
}

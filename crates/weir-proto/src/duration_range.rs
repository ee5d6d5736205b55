//! A random span of time: `"80ms..120ms"`, uniform in whole nanoseconds, both ends included. A
//! single duration is a range of one value, which takes no random number.

use crate::rng::Rng;
use crate::settings::{Diagnostic, Kind, Raw, Reader, Spanned, Value};
use crate::time::Duration;
use crate::units;
use std::fmt;

/// The minimum and the maximum of spans of time that are drawn uniformly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationRange {
    /// The least.
    pub least: Duration,
    /// The greatest; not below `least`.
    pub most: Duration,
}

impl From<Duration> for DurationRange {
    fn from(only: Duration) -> Self {
        Self {
            least: only,
            most: only,
        }
    }
}

impl DurationRange {
    /// True if there is something to draw.
    pub fn is_random(&self) -> bool {
        self.least < self.most
    }

    /// The next span; a range of one value leaves the stream unchanged.
    pub fn draw(&self, rng: &mut Rng) -> Duration {
        if !self.is_random() {
            return self.least;
        }
        let span = (self.most - self.least).as_nanos();
        self.least + Duration::from_nanos(rng.below(span.saturating_add(1)))
    }
}

impl fmt::Display for DurationRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_random() {
            write!(f, "{}..{}", self.least, self.most)
        } else {
            write!(f, "{}", self.least)
        }
    }
}

impl Value for DurationRange {
    fn read(&mut self, value: &Spanned, _: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let Raw::Text(text) = &value.raw else {
            let example = "\"5ms\", or \"0s..1s\" to draw it";
            let what = "a duration or a range in quotes";
            return Err(Diagnostic::expected(what, &value.raw, example));
        };
        let Some((least, most)) = text.split_once("..") else {
            *self = units::parse_duration(text)?.into();
            return Ok(());
        };
        let (least, most) = (units::parse_duration(least)?, units::parse_duration(most)?);
        if most < least {
            return Err(Diagnostic::new(
                format!("the range \"{}\" ends before it begins", text.trim()),
                format!("write the shorter duration first: \"{most}..{least}\""),
            ));
        }
        *self = Self { least, most };
        Ok(())
    }

    fn write(&self) -> Raw {
        Raw::Text(self.to_string())
    }

    fn kind(&self) -> Kind {
        Kind::Range(&units::DURATION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTH: DurationRange = DurationRange {
        least: Duration::from_millis(100),
        most: Duration::from_millis(200),
    };

    #[test]
    fn draws_are_uniform_and_include_both_ends() {
        let mut rng = Rng::stream(1, "range");
        let n = 100_000;
        let drawn: Vec<f64> = (0..n).map(|_| TENTH.draw(&mut rng).as_secs_f64()).collect();
        assert!(drawn.iter().all(|&d| (0.1..=0.2).contains(&d)));
        let mean = drawn.iter().sum::<f64>() / f64::from(n);
        // The standard error of the mean is 0.1 / √12 / √100 000 = 0.00009.
        assert!((mean - 0.15).abs() < 0.0004, "{mean}");
        let die = DurationRange {
            least: Duration::from_nanos(1),
            most: Duration::from_nanos(6),
        };
        let mut faces = [0_u32; 6];
        for _ in 0..6000 {
            faces[die.draw(&mut rng).as_nanos() as usize - 1] += 1;
        }
        assert!(faces.iter().all(|&count| count > 800), "{faces:?}");
    }

    #[test]
    fn one_value_takes_no_random_number() {
        let mut rng = Rng::stream(1, "range");
        let mut other = rng.clone();
        let only = DurationRange::from(Duration::from_millis(5));
        assert_eq!(only.draw(&mut rng), Duration::from_millis(5));
        assert_eq!(rng.next_u64(), other.next_u64());
        assert!(!only.is_random() && TENTH.is_random());
    }

    #[test]
    fn is_written_as_it_is_read() {
        assert_eq!(TENTH.to_string(), "100ms..200ms");
        assert_eq!(DurationRange::default().to_string(), "0s");
    }
}

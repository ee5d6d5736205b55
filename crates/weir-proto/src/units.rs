//! Quantities with their units, and the only place that parses texts such as `5ms` or `1Mbit`.
//!
//! Unit names are those of tc, netem and iperf3. Rates are in bits per second. Lower-case `mbps`
//! means bytes per second in tc and bits per second elsewhere, so it is rejected with a message
//! that names both.

use crate::time::Duration;
use std::fmt;

/// A rate in bits per second; finite and not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Rate(f64);

/// A probability in [0, 1].
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Rate {
    /// Zero bits per second.
    pub const ZERO: Self = Self(0.0);

    /// A rate of `bps` bits per second. Negative and non-finite values give zero.
    pub fn from_bps(bps: f64) -> Self {
        Self(if bps.is_finite() && bps > 0.0 {
            bps
        } else {
            0.0
        })
    }

    /// A rate of `bytes` bytes per second. Negative and non-finite values give zero.
    pub fn from_bytes_per_sec(bytes: f64) -> Self {
        Self::from_bps(bytes * 8.0)
    }

    /// Bits per second.
    pub const fn as_bps(self) -> f64 {
        self.0
    }

    /// Bytes per second.
    pub fn as_bytes_per_sec(self) -> f64 {
        self.0 / 8.0
    }

    /// The time that `bytes` bytes take at this rate; [`Duration::MAX`] at rate zero.
    pub fn time_for(self, bytes: u64) -> Duration {
        Duration::from_secs_f64(bytes as f64 * 8.0 / self.0)
    }
}

impl Probability {
    /// The value, if it lies in [0, 1].
    pub fn new(p: f64) -> Option<Self> {
        (0.0..=1.0).contains(&p).then_some(Self(p))
    }

    /// The value, or the nearest in [0, 1]; not a number gives 0.
    pub fn clamped(p: f64) -> Self {
        Self(if p > 0.0 { p.min(1.0) } else { 0.0 })
    }

    /// The number in [0, 1].
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// A reason why a text is not the quantity that was expected, as a message for users: lower case,
/// no full stop, with a correct example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// What is wrong, e.g. `"5" has no unit`.
    pub message: String,
    /// What to write instead, e.g. `write "5ms" or "5s"`.
    pub hint: String,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.hint)
    }
}

impl std::error::Error for UnitError {}

fn error(message: String, hint: &str) -> UnitError {
    UnitError {
        message,
        hint: hint.to_owned(),
    }
}

/// A quantity: its unit names and their factors, and the hint for an unknown unit.
#[derive(Debug, PartialEq)]
pub struct Quantity {
    /// Its name in messages.
    name: &'static str,
    /// Its name with an article.
    pub noun: &'static str,
    /// Texts with a number and a unit.
    pub examples: &'static [&'static str],
    units: &'static [(&'static str, f64)],
    hint: &'static str,
}

/// A span of time.
pub static DURATION: Quantity = Quantity {
    name: "duration",
    noun: "a duration",
    examples: &["5ms", "10s"],
    units: &[
        ("ns", 1.0),
        ("us", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("min", 6e10),
        ("h", 3.6e12),
    ],
    hint: "write a number with ns, us, ms, s, min or h, such as \"5ms\"",
};
/// Bits per second.
pub static RATE: Quantity = Quantity {
    name: "rate",
    noun: "a bit rate",
    examples: &["10Mbit", "64kbit"],
    units: &[
        ("bit", 1.0),
        ("kbit", 1e3),
        ("Mbit", 1e6),
        ("mbit", 1e6),
        ("Gbit", 1e9),
        ("gbit", 1e9),
        ("bps", 1.0),
        ("kbps", 1e3),
        ("Mbps", 1e6),
        ("Gbps", 1e9),
    ],
    hint: "write bits per second as \"1500bit\", \"64kbit\", \"10Mbit\" or \"1Gbit\"",
};
/// A number of bytes.
pub static SIZE: Quantity = Quantity {
    name: "size",
    noun: "a size",
    examples: &["30000b", "64kB"],
    units: &[
        ("b", 1.0),
        ("B", 1.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("kb", 1024.0),
        ("mb", 1_048_576.0),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
    ],
    hint: "write bytes as \"30000b\" (tc's word for bytes), \"30kB\" or \"1MiB\"",
};

impl Quantity {
    /// Its name: `duration`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The words of its units.
    pub fn unit_words(&self) -> impl Iterator<Item = &'static str> {
        self.units.iter().map(|(word, _)| *word)
    }

    /// The text's value in the table's base unit; finite and not negative.
    fn parse(&self, text: &str) -> Result<f64, UnitError> {
        let Self {
            name, units, hint, ..
        } = self;
        let text = text.trim();
        let split = text
            .char_indices()
            .find(|&(at, c)| {
                // "1e6bit": an e belongs to the number only if a digit or sign follows.
                let exponent = (c == 'e' || c == 'E')
                    && text[at + 1..]
                        .starts_with(|n: char| n.is_ascii_digit() || n == '-' || n == '+')
                    && text[..at].ends_with(|p: char| p.is_ascii_digit() || p == '.');
                let sign = (c == '-' || c == '+') && (at == 0 || text[..at].ends_with(['e', 'E']));
                !(c.is_ascii_digit() || c == '.' || exponent || sign)
            })
            .map_or(text.len(), |(at, _)| at);
        let (number, unit) = (&text[..split], text[split..].trim());
        let value: f64 = number
            .parse()
            .map_err(|_| error(format!("\"{text}\" is not a {name}"), hint))?;
        if unit.is_empty() {
            return Err(error(format!("\"{text}\" has no unit"), hint));
        }
        if value < 0.0 {
            return Err(error(format!("\"{text}\" is negative"), hint));
        }
        let factor = units
            .iter()
            .find(|(word, _)| *word == unit)
            .map(|(_, factor)| factor);
        let Some(factor) = factor else {
            return Err(error(format!("\"{unit}\" is not a unit of {name}"), hint));
        };
        let value = value * factor;
        if !value.is_finite() {
            return Err(error(format!("\"{text}\" is too large"), hint));
        }
        Ok(value)
    }
}

/// A span of time such as `5ms`, `1.5s`, `300us`.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let nanos = DURATION.parse(text)?;
    if nanos > 3.2e18 {
        return Err(error(
            format!("\"{text}\" is longer than 100 years"),
            DURATION.hint,
        ));
    }
    Ok(Duration::from_nanos((nanos + 0.5) as u64))
}

/// A rate such as `10Mbit` or `1800bit`, in bits per second.
pub fn parse_rate(text: &str) -> Result<Rate, UnitError> {
    let unit = text
        .trim()
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
        .trim();
    if unit == "mbps" || unit == "gbps" {
        return Err(error(
            format!("\"{unit}\" is ambiguous: bytes per second to tc, bits per second elsewhere"),
            &format!(
                "write \"{}bit\" for bits, or eight times that for bytes",
                &unit[..1].to_uppercase()
            ),
        ));
    }
    Ok(Rate::from_bps(RATE.parse(text)?))
}

/// A number of bytes such as `30000b` or `64kB`.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let bytes = SIZE.parse(text)?;
    if bytes > 9e15 {
        return Err(error(format!("\"{text}\" is too large"), SIZE.hint));
    }
    Ok((bytes + 0.5) as u64)
}

/// A probability such as `2%` or `0.02`.
pub fn parse_probability(text: &str) -> Result<Probability, UnitError> {
    const HINT: &str = "write a probability as \"2%\" or 0.02";
    let text = text.trim();
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |n| (n, 100.0));
    let value: f64 = number
        .trim()
        .parse()
        .map_err(|_| error(format!("\"{text}\" is not a probability"), HINT))?;
    Probability::new(value / scale)
        .ok_or_else(|| error(format!("\"{text}\" does not lie between 0 and 1"), HINT))
}

/// A rate as a person reads it: `11.17 Mbit/s`.
pub fn format_rate(rate: Rate) -> String {
    let bps = rate.as_bps();
    let (scale, unit) = match bps {
        b if b >= 1e9 => (1e9, "Gbit/s"),
        b if b >= 1e6 => (1e6, "Mbit/s"),
        b if b >= 1e3 => (1e3, "kbit/s"),
        _ => (1.0, "bit/s"),
    };
    format!("{:.4} {unit}", bps / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_words_of_tc_and_iperf3() {
        for (text, bps) in [
            ("1000kbit", 1e6),
            ("1Mbit", 1e6),
            ("100000Mbps", 1e11),
            ("1800bit", 1800.0),
            ("1.5Gbit", 1.5e9),
            ("1e6bit", 1e6),
        ] {
            assert_eq!(parse_rate(text).unwrap().as_bps(), bps, "{text}");
        }
        for (text, nanos) in [
            ("5ms", 5_000_000),
            ("0.5ms", 500_000),
            ("1.5us", 1_500),
            ("0s", 0),
        ] {
            assert_eq!(parse_duration(text).unwrap().as_nanos(), nanos, "{text}");
        }
        for (text, bytes) in [("30000b", 30_000), ("64kB", 64_000), ("1MiB", 1 << 20)] {
            assert_eq!(parse_size(text).unwrap(), bytes, "{text}");
        }
        assert_eq!(parse_probability("2%").unwrap().get(), 0.02);
    }

    #[test]
    fn refuses_what_could_be_misread() {
        for (text, part) in [
            ("10mbps", "ambiguous"),
            ("10", "no unit"),
            ("-1Mbit", "negative"),
            ("NaNbit", "not a rate"),
            ("fast", "not a rate"),
            ("1parsec", "not a unit"),
            ("1e400bit", "too large"),
            ("", "not a rate"),
        ] {
            let message = parse_rate(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
        assert!(parse_duration("1e30s").is_err());
        assert!(parse_probability("1.5").is_err());
        assert!(parse_probability("nan").is_err());
    }
}

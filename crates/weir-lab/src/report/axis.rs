//! Axes: range, scale, and where the ticks stand.
//!
//! Linear ticks stand at 1, 2 or 5 times a power of ten, about six of them; logarithmic ones at
//! the decades. Labels carry the unit where a prefix (k, M, µ) makes them shorter.

use crate::theory::format_value;

/// How values become positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By decades; values that are not positive are left out.
    Log,
}

/// One axis of a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows, with the unit in words: `allowed rate X, bit/s`.
    pub label: String,
    /// The unit of its values; `bit/s` and `s` get prefixes.
    pub unit: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// The range to show; from the data if absent.
    pub range: Option<(f64, f64)>,
    /// Where the labelled ticks stand; by the scale if empty.
    pub marks: Vec<f64>,
}

impl Axis {
    /// A linear axis over the data's range.
    pub fn linear(label: &str, unit: &str) -> Self {
        Self {
            label: label.to_owned(),
            unit: unit.to_owned(),
            scale: Scale::Linear,
            range: None,
            marks: Vec::new(),
        }
    }

    /// A logarithmic axis over the data's range.
    pub fn log(label: &str, unit: &str) -> Self {
        Self {
            scale: Scale::Log,
            ..Self::linear(label, unit)
        }
    }

    /// The same axis over this range.
    pub fn within(self, from: f64, to: f64) -> Self {
        Self {
            range: Some((from, to)),
            ..self
        }
    }

    /// The same axis with labelled ticks at these values.
    pub fn marked(self, marks: &[f64]) -> Self {
        Self {
            marks: marks.to_vec(),
            ..self
        }
    }

    /// True if the axis can show the value.
    fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }
}

/// An axis with its range.
#[derive(Clone, Debug)]
pub(super) struct ScaledAxis {
    axis: Axis,
    low: f64,
    high: f64,
}

impl ScaledAxis {
    /// The range is that of the axis, or else that of the data: with a margin on a linear axis, in
    /// whole decades on a logarithmic one.
    pub(super) fn new(axis: &Axis, data: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = axis.range.unwrap_or_else(|| {
            data.filter(|value| axis.shows(*value))
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                    (low.min(value), high.max(value))
                })
        });
        if !(low.is_finite() && high.is_finite()) {
            (low, high) = (1.0, 10.0);
        }
        if axis.scale == Scale::Log {
            low = low.max(f64::MIN_POSITIVE);
            high = high.max(low);
            if axis.range.is_none() {
                low = libm::pow(10.0, libm::floor(libm::log10(low) + 1e-9));
                high = libm::pow(10.0, libm::ceil(libm::log10(high) - 1e-9));
            }
            if high <= low {
                high = low * 10.0;
            }
        } else if high <= low {
            let half = if low == 0.0 { 1.0 } else { low.abs() * 0.05 };
            (low, high) = (low - half, high + half);
        } else if axis.range.is_none() {
            let margin = (high - low) * 0.04;
            // A range that starts near zero starts at zero.
            low = if low >= 0.0 && low < high * 0.3 {
                0.0
            } else {
                low - margin
            };
            high += margin;
        }
        Self {
            axis: axis.clone(),
            low,
            high,
        }
    }

    /// The share of the axis at which the value stands: 0 at the low end, 1 at the high end;
    /// bounded, so that a wild value cannot make a drawing unreadable.
    pub(super) fn share(&self, value: f64) -> f64 {
        let share = match self.axis.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => {
                let decades = libm::log10(self.high / self.low);
                libm::log10(value.max(f64::MIN_POSITIVE) / self.low) / decades
            }
        };
        share.clamp(-2.0, 3.0)
    }

    /// The low and the high end.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// True if the axis can show the value.
    pub(super) fn shows(&self, value: f64) -> bool {
        self.axis.shows(value)
    }

    /// Values and labels of the labelled ticks.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        if !self.axis.marks.is_empty() {
            let label = |&value: &f64| (value, tick_label(value, &self.axis.unit));
            return self.axis.marks.iter().map(label).collect();
        }
        match self.axis.scale {
            Scale::Linear => self.linear_ticks(),
            Scale::Log => self.decades(),
        }
    }

    fn linear_ticks(&self) -> Vec<(f64, String)> {
        let raw = (self.high - self.low) / 6.0;
        let power = libm::pow(10.0, libm::floor(libm::log10(raw)));
        let step = [1.0, 2.0, 5.0, 10.0]
            .iter()
            .map(|factor| factor * power)
            .find(|step| *step >= raw * 0.999)
            .unwrap_or(power * 10.0);
        let first = libm::ceil(self.low / step - 1e-9) as i64;
        let last = libm::floor(self.high / step + 1e-9) as i64;
        (first..=last.min(first + 20))
            .map(|count| {
                let value = count as f64 * step;
                (value, tick_label(clean(value, step), &self.unit_of_ticks()))
            })
            .collect()
    }

    /// Ticks of an axis in whole seconds need no unit each; the axis's label has it.
    fn unit_of_ticks(&self) -> String {
        let seconds = self.axis.unit == "s" && self.high.abs().max(self.low.abs()) >= 2.0;
        match self.axis.unit.as_str() {
            "bit/s" => self.axis.unit.clone(),
            "s" if !seconds => self.axis.unit.clone(),
            _ => String::new(),
        }
    }

    fn decades(&self) -> Vec<(f64, String)> {
        let first = libm::ceil(libm::log10(self.low) - 1e-9) as i32;
        let last = libm::floor(libm::log10(self.high) + 1e-9) as i32;
        let every = (last - first) / 12 + 1;
        (first..=last)
            .step_by(every.max(1) as usize)
            .map(|exponent| {
                let value = libm::pow(10.0, f64::from(exponent));
                let unit = match self.axis.unit.as_str() {
                    unit @ ("bit/s" | "s") => unit,
                    _ => "",
                };
                (value, format_value(value, unit))
            })
            .collect()
    }

    /// Values of the lines between the decades; none on a linear axis or over many decades.
    pub(super) fn minor_ticks(&self) -> Vec<f64> {
        if !self.axis.marks.is_empty()
            || self.axis.scale == Scale::Linear
            || libm::log10(self.high / self.low) > 6.5
        {
            return Vec::new();
        }
        let first = libm::floor(libm::log10(self.low)) as i32;
        let last = libm::ceil(libm::log10(self.high)) as i32;
        (first..last)
            .flat_map(|exponent| {
                (2..10).map(move |digit| f64::from(digit) * libm::pow(10.0, f64::from(exponent)))
            })
            .filter(|value| *value > self.low && *value < self.high)
            .collect()
    }
}

/// Zero needs no unit.
fn tick_label(value: f64, unit: &str) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else {
        format_value(value, unit)
    }
}

/// A multiple of the step without the rounding error of its multiplication.
fn clean(value: f64, step: f64) -> f64 {
    if value.abs() < step * 1e-6 {
        0.0
    } else {
        value
    }
}

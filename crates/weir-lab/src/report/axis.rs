//! Axes: range, scale, unit, and ticks.
//!
//! Linear ticks are at 1, 2 or 5 times a power of ten, as many as the space allows; the axis's
//! label has the unit with its prefix: `goodput, Mbit/s`. Virtual time is in minutes from ten
//! minutes on and in hours from three hours on, with ticks at multiples usual for clocks.
//! Logarithmic ticks are at the decades and carry the unit each, in place of the label: `10
//! Mbit/s`. An axis ends where its data ends; only a linear vertical axis has a margin, so that no
//! line touches the frame.

pub(super) use crate::theory::with_unit;
use crate::theory::{LEAST_PLAIN, prefixed, prefixes, scientific, significant};

/// If the ratio of the largest to the smallest value exceeds this, an axis is logarithmic.
const LOG_FROM: f64 = 50.0;

/// If an axis of virtual time spans at least this many seconds, its ticks are in minutes or hours.
/// The page's script uses the same value when it zooms.
const MINUTES_FROM: f64 = 600.0;
const HOURS_FROM: f64 = 10_800.0;
/// Seconds between the ticks of an axis in minutes or hours.
const LONG_STEPS: [f64; 11] = [
    60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10_800.0, 21_600.0, 43_200.0,
];
/// Above [`LONG_STEPS`] ticks are at 1, 2 or 5 times a power of ten of days.
const DAY: f64 = 86_400.0;

/// The mapping from values to positions.
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
    /// The quantity, with the unit in words: `allowed rate X, bit/s`.
    pub label: String,
    /// The unit of its values; `bit/s`, `s` and `bytes` get prefixes.
    pub unit: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// The range to show; that of the data if absent.
    pub range: Option<(f64, f64)>,
    /// The positions of labelled ticks, and the text in place of the value; chosen by the scale if
    /// empty.
    pub marks: Vec<(f64, Option<String>)>,
    /// True if the axis starts and ends exactly where the data does, without a margin.
    pub tight: bool,
    /// True if a linear axis starts at zero whatever the data.
    pub zero: bool,
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
            tight: false,
            zero: false,
        }
    }

    /// An axis of virtual time: from the first to the last row, to the nanosecond.
    pub fn time() -> Self {
        Self {
            tight: true,
            ..Self::linear("time, s", "s")
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

    /// The same axis with labelled ticks at exactly these values.
    pub fn marked(self, marks: &[f64]) -> Self {
        Self {
            marks: marks.iter().map(|value| (*value, None)).collect(),
            ..self
        }
    }

    /// The same axis with these names at these values in place of numbers.
    pub fn named(self, names: &[(f64, String)]) -> Self {
        Self {
            marks: names
                .iter()
                .map(|(at, name)| (*at, Some(name.clone())))
                .collect(),
            ..self
        }
    }

    /// The same linear axis, starting at zero whatever the data, so that lengths can be compared.
    pub fn from_zero(self) -> Self {
        Self { zero: true, ..self }
    }

    /// Logarithmic if the values span more than a factor of [`LOG_FROM`], else linear, because a
    /// logarithmic axis makes variations of a rate look smaller.
    pub fn by_range(self, values: impl Iterator<Item = f64>) -> Self {
        let ends = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let scale = if ends.1 > ends.0 * LOG_FROM {
            Scale::Log
        } else {
            Scale::Linear
        };
        Self { scale, ..self }
    }

    /// True for an axis of virtual time.
    pub(super) fn is_time(&self) -> bool {
        self.unit == "s" && self.quantity() == "time"
    }

    /// The label without its unit: `goodput` of `goodput, bit/s`.
    pub(super) fn quantity(&self) -> &str {
        let of_unit = self.label.strip_suffix(self.unit.as_str());
        let quantity = of_unit.and_then(|label| label.strip_suffix(", "));
        quantity.unwrap_or(&self.label)
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
            if axis.range.is_none() && !axis.tight {
                (low, high) = (digit_below(low), digit_above(high));
            }
            if high <= low {
                high = low * 10.0;
            }
        } else if high <= low && low == 0.0 {
            // All values are zero: most quantities are never negative.
            high = 1.0;
        } else if high <= low {
            let half = low.abs() * 0.05;
            low = if axis.zero && high > 0.0 {
                0.0
            } else {
                low - half
            };
            high += half;
        } else if axis.range.is_none() && axis.tight {
            // The first row of a trace is slightly after zero.
            low = if low >= 0.0 && low < high * 0.02 {
                0.0
            } else {
                low
            };
        } else if axis.range.is_none() {
            // A range that starts near zero starts at zero.
            let from_zero = low >= 0.0 && (axis.zero || low < high * 0.3);
            // The margin is a share of the axis, whatever the spread of the values.
            let margin = (high - if from_zero { 0.0 } else { low }) * 0.04;
            low = if from_zero { 0.0 } else { low - margin };
            high += margin;
        }
        Self {
            axis: axis.clone(),
            low,
            high,
        }
    }

    /// The position of the value as a share of the axis: 0 at the low end, 1 at the high end;
    /// bounded, so that an outlier cannot make a drawing unreadable.
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

    /// Cuts the names of ticks to so many characters, between words if one fits.
    pub(super) fn shorten_names(&mut self, characters: usize) {
        for name in self
            .axis
            .marks
            .iter_mut()
            .filter_map(|mark| mark.1.as_mut())
        {
            if name.chars().count() <= characters {
                continue;
            }
            let kept: String = name.chars().take(characters.saturating_sub(1)).collect();
            let kept = kept
                .rsplit_once(' ')
                .map_or(kept.as_str(), |(words, _)| words);
            *name = format!("{kept}…");
        }
    }

    /// The axis that is scaled.
    pub(super) fn axis(&self) -> &Axis {
        &self.axis
    }

    /// The low and the high end of the range.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// True if the axis can show the value.
    pub(super) fn shows(&self, value: f64) -> bool {
        self.axis.shows(value)
    }

    /// The label with the unit of the tick labels; without a unit if each tick carries its own,
    /// whose prefix may differ from the next.
    pub(super) fn label(&self) -> String {
        if prefixes(&self.axis.unit).is_empty() {
            return self.axis.label.clone();
        }
        match self.axis.scale {
            Scale::Log => self.axis.quantity().to_owned(),
            Scale::Linear => format!("{}, {}", self.axis.quantity(), self.unit_of_ticks().1),
        }
    }

    /// Values and labels of the labelled ticks, about `room` of them.
    pub(super) fn ticks(&self, room: f64) -> Vec<(f64, String)> {
        if !self.axis.marks.is_empty() {
            let marks = self.axis.marks.iter();
            let label = |(value, name): &(f64, Option<String>)| {
                let written = name.clone();
                (*value, written.unwrap_or_else(|| self.tick_label(*value)))
            };
            return marks.map(label).collect();
        }
        match self.axis.scale {
            Scale::Linear => self.linear_ticks(room),
            Scale::Log => self.decades(room),
        }
    }

    fn linear_ticks(&self, room: f64) -> Vec<(f64, String)> {
        let raw = (self.high - self.low) / room.clamp(2.0, 12.0);
        let long = LONG_STEPS.iter().find(|step| **step >= raw * 0.999);
        let step = match (self.long_unit(), long) {
            (None, _) => decimal_step(raw),
            (Some(_), Some(step)) => *step,
            (Some(_), None) => decimal_step(raw / DAY).max(1.0) * DAY,
        };
        let first = libm::ceil(self.low / step - 1e-9) as i64;
        let last = libm::floor(self.high / step + 1e-9) as i64;
        (first..=last.min(first.saturating_add(20)))
            .map(|count| {
                let value = clean(count as f64 * step, step);
                (value, self.tick_label(value))
            })
            .collect()
    }

    /// The factor and unit of minutes or hours, if the axis shows that much virtual time.
    fn long_unit(&self) -> Option<(f64, &'static str)> {
        let shown = self.high - self.low;
        match self.axis.is_time() {
            true if shown >= HOURS_FROM => Some((3600.0, "h")),
            true if shown >= MINUTES_FROM => Some((60.0, "min")),
            _ => None,
        }
    }

    /// The factor and the unit of a linear axis's ticks.
    fn unit_of_ticks(&self) -> (f64, &str) {
        if let Some(unit) = self.long_unit() {
            return unit;
        }
        let largest = self.high.abs().max(self.low.abs());
        // Values below 2 s are labelled in ms: 1200 ms is easier to read than 0.2, 0.4, … s.
        let largest = if self.axis.unit == "s" && largest < 2.0 {
            largest * 0.5
        } else {
            largest
        };
        prefixed(&self.axis.unit, largest)
    }

    fn tick_label(&self, value: f64) -> String {
        match self.axis.scale {
            _ if value == 0.0 => "0".to_owned(),
            Scale::Linear => significant(value / self.unit_of_ticks().0, 5),
            Scale::Log if !prefixes(&self.axis.unit).is_empty() => {
                with_unit(value, &self.axis.unit, 5)
            }
            // The whole axis uses one notation.
            Scale::Log if self.low < LEAST_PLAIN => scientific(value, 5),
            Scale::Log => significant(value, 5),
        }
    }

    /// The decades; also twice and five times them if there are few.
    fn decades(&self, room: f64) -> Vec<(f64, String)> {
        let first = libm::floor(libm::log10(self.low) + 1e-9) as i32;
        let last = libm::ceil(libm::log10(self.high) - 1e-9) as i32;
        let every = ((last - first) / (room.max(2.0) as i32 + 1) + 1).max(1) as usize;
        let digits: &[f64] = match libm::log10(self.high / self.low) {
            decades if decades < 1.6 => &[1.0, 2.0, 3.0, 5.0],
            decades if decades * 3.0 < room => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let inside =
            |value: &f64| *value >= self.low * 0.999_999 && *value <= self.high * 1.000_001;
        (first..=last)
            .step_by(every)
            .flat_map(|exponent| {
                let power = libm::pow(10.0, f64::from(exponent));
                digits.iter().map(move |digit| digit * power)
            })
            .filter(inside)
            .map(|value| (value, self.tick_label(value)))
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

/// The smallest value not below `raw` that is 1, 2 or 5 times a power of ten.
fn decimal_step(raw: f64) -> f64 {
    let power = libm::pow(10.0, libm::floor(libm::log10(raw)));
    [1.0, 2.0, 5.0, 10.0]
        .iter()
        .map(|factor| factor * power)
        .find(|step| *step >= raw * 0.999)
        .unwrap_or(power * 10.0)
}

/// The largest digit times a power of ten that is at most the value.
fn digit_below(value: f64) -> f64 {
    let power = libm::pow(10.0, libm::floor(libm::log10(value) + 1e-9));
    libm::floor(value / power + 1e-9).max(1.0) * power
}

/// The smallest digit times a power of ten that is at least the value.
fn digit_above(value: f64) -> f64 {
    let power = libm::pow(10.0, libm::floor(libm::log10(value) + 1e-9));
    libm::ceil(value / power - 1e-9) * power
}

/// A multiple of the step without the rounding error of the multiplication.
fn clean(value: f64, step: f64) -> f64 {
    if value.abs() < step * 1e-6 {
        0.0
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_near_each_other_far_from_zero_leave_room_above_them() {
        let axis = Axis::linear("goodput, bit/s", "bit/s").from_zero();
        let scaled = ScaledAxis::new(&axis, [9.61e6, 9.62e6].into_iter());
        // 4 % above the largest value: its share is 1/1.04 = 0.9615.
        assert!((scaled.share(9.62e6) - 0.9615).abs() < 1e-4);
        let apart = ScaledAxis::new(&Axis::linear("x", ""), [50.0, 60.0].into_iter());
        assert_eq!(apart.ends(), (49.6, 60.4));
    }

    #[test]
    fn an_axis_of_nothing_but_zero_does_not_go_below_it() {
        let scaled = ScaledAxis::new(&Axis::linear("marks, packets", ""), [0.0, 0.0].into_iter());
        assert_eq!(scaled.ends(), (0.0, 1.0));
    }

    #[test]
    fn hours_of_virtual_time_have_ticks_at_the_steps_of_a_clock() {
        let shown = |from: f64, to: f64, room: f64| {
            let axis = ScaledAxis::new(&Axis::time().within(from, to), [].into_iter());
            let ticks = axis.ticks(room).into_iter().map(|tick| tick.1);
            format!("{}: {}", axis.label(), ticks.collect::<Vec<_>>().join(" "))
        };
        assert_eq!(shown(0.0, 599.0, 6.0), "time, s: 0 100 200 300 400 500");
        assert_eq!(shown(0.0, 600.0, 5.0), "time, min: 0 2 4 6 8 10");
        assert_eq!(
            shown(0.0, 7200.0, 8.0),
            "time, min: 0 15 30 45 60 75 90 105 120"
        );
        assert_eq!(shown(0.0, 10_800.0, 8.0), "time, h: 0 0.5 1 1.5 2 2.5 3");
        assert_eq!(shown(0.0, 86_400.0, 8.0), "time, h: 0 3 6 9 12 15 18 21 24");
        assert_eq!(shown(0.0, 864_000.0, 8.0), "time, h: 0 48 96 144 192 240");
        // A short range late in a run is labelled in seconds.
        assert_eq!(shown(7200.0, 7300.0, 4.0), "time, s: 7200 7250 7300");
        let axis = ScaledAxis::new(&Axis::linear("delay, s", "s"), [0.0, 7200.0].into_iter());
        assert_eq!(axis.label(), "delay, s", "only virtual time");
    }

    #[test]
    fn the_ticks_of_a_logarithmic_axis_have_one_notation() {
        let labels = |low: f64, high: f64| -> Vec<String> {
            let axis = ScaledAxis::new(&Axis::log("p", "").within(low, high), [].into_iter());
            let ticks = axis.ticks(4.0).into_iter();
            ticks.map(|tick| tick.1).collect()
        };
        assert_eq!(labels(1e-6, 1e-3), ["1e-6", "1e-5", "1e-4", "1e-3"]);
        assert_eq!(labels(1e-4, 0.1), ["0.0001", "0.001", "0.01", "0.1"]);
    }
}

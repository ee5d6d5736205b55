//! A strip beside a row: every run a tick, the tolerance shaded, the published value dashed.

use super::row_result::RowResult;
use std::fmt::Write as _;

const WIDTH: f64 = 170.0;
const HEIGHT: f64 = 22.0;
const EDGE: f64 = 4.0;

/// The strip as an SVG element for the page; empty for a row without a distribution.
pub(super) fn strip(row: &RowResult) -> String {
    let Some(scale) = Scale::of(row) else {
        return String::new();
    };
    let mut svg = format!(
        "<svg class=\"strip\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" \
         aria-label=\"the single runs on a line\">"
    );
    if row.limits.iter().any(Option::is_some) {
        let [low, high] = row.limits;
        let from = low.map_or(0.0, |low| scale.x(low));
        let to = high.map_or(WIDTH, |high| scale.x(high));
        let width = (to - from).max(1.0);
        let _ = write!(
            svg,
            "<rect x=\"{from:.1}\" y=\"1\" width=\"{width:.1}\" height=\"20\" \
             fill=\"var(--shade)\" opacity=\"0.14\"/>"
        );
    }
    for value in &row.values {
        line(
            &mut svg,
            scale.x(*value),
            [6.0, 16.0],
            "stroke=\"var(--c0)\" opacity=\"0.55\"",
        );
    }
    if let Some(mean) = row.measured {
        line(
            &mut svg,
            scale.x(mean),
            [2.0, 20.0],
            "stroke=\"var(--c2)\" stroke-width=\"2.5\"",
        );
    }
    if let Some(target) = row.published.or(row.expected) {
        let style = "stroke=\"var(--c1)\" stroke-width=\"1.5\" stroke-dasharray=\"3 2\"";
        line(&mut svg, scale.x(target), [1.0, 21.0], style);
    }
    svg.push_str("</svg>");
    svg
}

fn line(svg: &mut String, x: f64, [top, bottom]: [f64; 2], style: &str) {
    let _ = write!(
        svg,
        "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\" {style}/>"
    );
}

/// Maps values to pixels.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// A scale that covers all runs and the published value; the tolerance is clipped to it.
    fn of(row: &RowResult) -> Option<Self> {
        row.seeds?;
        let all = row
            .values
            .iter()
            .copied()
            .chain(row.published)
            .chain(row.expected);
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let room = (high - low) * 0.05;
        (room > 0.0).then_some(Self {
            low: low - room,
            high: high + room,
        })
    }

    fn x(&self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        EDGE + share * (WIDTH - 2.0 * EDGE)
    }
}

//! The area of a plot in pixels, and the text of an SVG while it grows.

use super::axis::ScaledAxis;
use std::fmt::Write as _;

pub(super) const WIDTH: f64 = 920.0;
pub(super) const LEFT: f64 = 92.0;
pub(super) const RIGHT: f64 = 26.0;
pub(super) const BOTTOM: f64 = 52.0;
pub(super) const TITLE: f64 = 34.0;
/// A wide estimate of a character's width at 12 pixels.
pub(super) const CHARACTER: f64 = 6.9;

/// The plot area in pixels and the axes that map onto it.
pub(super) struct Canvas {
    pub(super) text: String,
    /// Unlike the ids of the other plots of the page.
    pub(super) id: String,
    pub(super) x: ScaledAxis,
    pub(super) y: ScaledAxis,
    pub(super) top: f64,
    pub(super) height: f64,
}

/// Text for XML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A coordinate with one decimal at most.
pub(super) fn n(value: f64) -> String {
    let tenths = libm::round(value * 10.0) as i64;
    let sign = if tenths < 0 { "-" } else { "" };
    let tenths = tenths.unsigned_abs();
    if tenths.is_multiple_of(10) {
        format!("{sign}{}", tenths / 10)
    } else {
        format!("{sign}{}.{}", tenths / 10, tenths % 10)
    }
}

impl Canvas {
    pub(super) fn px(&self, x: f64) -> f64 {
        LEFT + self.x.share(x) * (WIDTH - LEFT - RIGHT)
    }

    pub(super) fn py(&self, y: f64) -> f64 {
        self.top + (1.0 - self.y.share(y)) * self.height
    }

    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// Pixels of the points that the axes can show.
    pub(super) fn pixels(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        points
            .iter()
            .filter(|point| self.x.shows(point.0) && self.y.shows(point.1))
            .map(|point| (self.px(point.0), self.py(point.1)))
            .collect()
    }

    pub(super) fn words(&mut self, x: f64, y: f64, class: &str, anchor: &str, words: &str) {
        let _ = writeln!(
            self.text,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            n(x),
            n(y),
            escape(words)
        );
    }

    pub(super) fn straight(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let _ = writeln!(
            self.text,
            "<path class=\"{class}\" d=\"M{} {}L{} {}\"/>",
            n(from.0),
            n(from.1),
            n(to.0),
            n(to.1)
        );
    }

    pub(super) fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: &str) {
        let (x, y) = (n(x), n(y));
        let _ = writeln!(
            self.text,
            "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"
        );
    }

    /// A rectangle from its left upper corner, with its width and height.
    pub(super) fn rectangle(&mut self, class: &str, corner: (f64, f64), size: (f64, f64)) {
        let _ = writeln!(
            self.text,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            n(corner.0),
            n(corner.1),
            n(size.0),
            n(size.1)
        );
    }
}

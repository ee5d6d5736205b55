//! The legend: which entries a plot has, in rows that fit the width, and their swatches.

use super::canvas::{CHARACTER, Canvas, LEFT, RIGHT, TITLE, WIDTH, n};
use super::plot::{Colour, Plot, PlotLayer, Shape};
use std::fmt::Write as _;

/// Height of a row in pixels.
pub(super) const LEGEND_ROW: f64 = 20.0;

pub(super) struct LegendEntry {
    name: String,
    swatch: Swatch,
}

enum Swatch {
    /// A line of these classes.
    Line(String),
    Dot(Colour),
    Box(Colour),
    Band,
    Ring,
}

/// The legend's entries of a layer; of categories only those that occur in the range shown.
fn entries(layer: &PlotLayer, shown: Option<(f64, f64)>) -> Vec<LegendEntry> {
    let swatch = match &layer.shape {
        Shape::Line(_) | Shape::Step(_) | Shape::Upright(_) | Shape::Spread(_) => {
            Swatch::Line(layer.line_class())
        }
        Shape::Scatter(_) => Swatch::Dot(layer.colour),
        Shape::Bars(_) => Swatch::Box(layer.colour),
        Shape::Band(..) => Swatch::Band,
        Shape::Published(_) => Swatch::Ring,
        Shape::Level(_) => return Vec::new(),
        Shape::StepByCategory { points, categories } => {
            let is_shown = |x: f64| shown.is_none_or(|(from, to)| x >= from && x <= to);
            let occurs = |number: usize| {
                let mut points = points.iter();
                points.any(|point| is_shown(point.0) && point.2 == number)
            };
            let categories = categories.iter().enumerate();
            return categories
                .filter(|(number, (name, _))| occurs(*number) && !name.is_empty())
                .map(|(_, (name, colour))| LegendEntry {
                    name: name.clone(),
                    swatch: Swatch::Line(format!("s{}", colour.number())),
                })
                .collect();
        }
    };
    if layer.name.is_empty() {
        return Vec::new();
    }
    let name = layer.name.clone();
    vec![LegendEntry { name, swatch }]
}

/// The legend's entries in rows that fit the width.
pub(super) fn legend_rows(plot: &Plot) -> Vec<Vec<LegendEntry>> {
    let mut rows: Vec<Vec<LegendEntry>> = Vec::new();
    let mut used = f64::INFINITY;
    for entry in plot
        .layers
        .iter()
        .flat_map(|layer| entries(layer, plot.x.range))
    {
        let width = entry_width(&entry);
        if used + width > WIDTH - LEFT - RIGHT {
            rows.push(Vec::new());
            used = 0.0;
        }
        used += width;
        if let Some(row) = rows.last_mut() {
            row.push(entry);
        }
    }
    rows
}

fn entry_width(entry: &LegendEntry) -> f64 {
    34.0 + entry.name.chars().count() as f64 * CHARACTER + 16.0
}

impl Canvas {
    /// Draws the rows below the title.
    pub(super) fn legend(&mut self, rows: &[Vec<LegendEntry>]) {
        let mut y = TITLE + 12.0;
        for row in rows {
            let mut x = LEFT;
            for entry in row {
                self.swatch(&entry.swatch, x, y - 4.0);
                self.words(x + 34.0, y, "t", "start", &entry.name);
                x += entry_width(entry);
            }
            y += LEGEND_ROW;
        }
    }

    fn swatch(&mut self, swatch: &Swatch, x: f64, y: f64) {
        let (x, y, end) = (n(x), n(y), n(x + 26.0));
        let _ = match swatch {
            Swatch::Line(class) => writeln!(
                self.text,
                "<path class=\"line {class}\" d=\"M{x} {y}L{end} {y}\" stroke-width=\"3\"/>"
            ),
            Swatch::Dot(colour) => writeln!(
                self.text,
                "<circle class=\"f{}\" cx=\"{x}\" cy=\"{y}\" r=\"3\" transform=\"translate(13 0)\"/>",
                colour.number()
            ),
            Swatch::Ring => writeln!(
                self.text,
                "<circle class=\"mark\" cx=\"{x}\" cy=\"{y}\" r=\"4\" transform=\"translate(13 0)\"/>"
            ),
            Swatch::Box(colour) => writeln!(
                self.text,
                "<rect class=\"bar f{}\" x=\"{x}\" y=\"{y}\" width=\"26\" height=\"10\" \
                 transform=\"translate(0 -5)\"/>",
                colour.number()
            ),
            Swatch::Band => writeln!(
                self.text,
                "<rect class=\"band\" x=\"{x}\" y=\"{y}\" width=\"26\" height=\"12\" \
                 transform=\"translate(0 -6)\"/>"
            ),
        };
    }
}

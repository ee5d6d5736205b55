//! The legend: which entries a plot has, in rows that fit the width, and their swatches.

use super::plot::{Colour, Layer, Plot};
use super::svg::{CHARACTER, Canvas, LEFT, RIGHT, TITLE, WIDTH, n};
use std::fmt::Write as _;

/// Height of a row in pixels.
pub(super) const LEGEND_ROW: f64 = 20.0;

/// A legend's entry.
pub(super) struct LegendEntry {
    name: String,
    swatch: Swatch,
}

pub(super) enum Swatch {
    Line(Colour, bool),
    Dot(Colour),
    Box(Colour),
    Band,
    Ring,
}

/// The legend's entries of a layer; of categories only those that occur in the range shown.
fn entries(layer: &Layer, shown: Option<(f64, f64)>) -> Vec<LegendEntry> {
    let one = |name: &String, swatch| {
        vec![LegendEntry {
            name: name.clone(),
            swatch,
        }]
    };
    let entries = match layer {
        Layer::Line {
            name,
            colour,
            dashed,
            ..
        }
        | Layer::Upright {
            name,
            colour,
            dashed,
            ..
        } => one(name, Swatch::Line(*colour, *dashed)),
        Layer::Step { name, colour, .. } => one(name, Swatch::Line(*colour, false)),
        Layer::Scatter { name, colour, .. } => one(name, Swatch::Dot(*colour)),
        Layer::Bars { name, colour, .. } => one(name, Swatch::Box(*colour)),
        Layer::Band { name, .. } => one(name, Swatch::Band),
        Layer::StepByCategory { points, categories } => categories
            .iter()
            .enumerate()
            .filter(|(number, _)| {
                points.iter().any(|point| {
                    let seen = shown.is_none_or(|(from, to)| point.0 >= from && point.0 <= to);
                    seen && point.2 == *number
                })
            })
            .map(|(_, (name, colour))| LegendEntry {
                name: name.clone(),
                swatch: Swatch::Line(*colour, false),
            })
            .collect(),
        Layer::Published { .. } => one(&"published".to_owned(), Swatch::Ring),
        Layer::Level { .. } => Vec::new(),
    };
    entries
        .into_iter()
        .filter(|entry| !entry.name.is_empty())
        .collect()
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
            Swatch::Line(colour, dashed) => writeln!(
                self.text,
                "<path class=\"line s{}{}\" d=\"M{x} {y}L{end} {y}\" stroke-width=\"3\"/>",
                colour.number(),
                if *dashed { " dash" } else { "" }
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

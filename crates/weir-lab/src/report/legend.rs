//! The legend: which entries a plot has, in rows that fit the width, and their swatches.

use super::canvas::{Canvas, ROW, n, width_of};
use super::layers::outline;
use super::plot::{Colour, Plot, PlotLayer, Shape};
use std::fmt::Write as _;

pub(super) struct LegendEntry {
    name: String,
    swatch: Swatch,
}

enum Swatch {
    /// A line of these classes, with a mark of this shape and class on it.
    Line(String, Option<(usize, String)>),
    Dot(Colour),
    Mark(Colour, usize),
    Box(Colour, &'static str),
    Band,
    Ring,
    Tick(String),
}

/// The legend entries of a layer; of categories only those that occur in the range shown.
fn entries(layer: &PlotLayer, shown: (f64, f64)) -> Vec<LegendEntry> {
    let fill = format!("m f{}", layer.colour.number());
    let swatch = match &layer.shape {
        Shape::Line(_) | Shape::Step(_) | Shape::Upright(_) | Shape::Spread(_) => Swatch::Line(
            layer.line_class(),
            layer.marker.map(|marker| (marker, fill)),
        ),
        Shape::Errors(_) => Swatch::Line(layer.line_class(), None),
        Shape::Level(_) => Swatch::Line(format!("thin dash1 s{}", layer.colour.number()), None),
        Shape::Scatter(_) => Swatch::Dot(layer.colour),
        Shape::Marks(_) => Swatch::Mark(layer.colour, layer.marker.unwrap_or(0)),
        Shape::Bars(_) | Shape::Density(_) => Swatch::Box(layer.colour, "bar"),
        Shape::Ribbon(_) | Shape::Area(_) => Swatch::Box(layer.colour, "ribbon"),
        Shape::Rug(_) => Swatch::Tick(layer.line_class()),
        Shape::Band(..) => Swatch::Band,
        Shape::Published(_) => Swatch::Ring,
        Shape::StepByCategory { points, categories } => {
            let occurs = |number: usize| {
                let mut points = points.iter();
                points.any(|p| p.0 >= shown.0 && p.0 <= shown.1 && p.2 == number && p.1.is_finite())
            };
            let categories = categories.iter().enumerate();
            return categories
                .filter(|(number, (name, _))| occurs(*number) && !name.is_empty())
                .map(|(_, (name, colour))| LegendEntry {
                    name: name.clone(),
                    swatch: Swatch::Line(colour.line_class(), None),
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

/// The entries of the strips' categories that occur in the range shown.
fn strip_entries(plot: &Plot, shown: (f64, f64)) -> Vec<LegendEntry> {
    let mut entries: Vec<LegendEntry> = Vec::new();
    for strip in &plot.strips {
        for (number, (name, colour)) in strip.categories.iter().enumerate() {
            let mut spans = strip.spans.iter();
            let occurs = spans.any(|s| s.2 == number && s.1 > shown.0 && s.0 < shown.1);
            if occurs && entries.iter().all(|entry| entry.name != *name) {
                entries.push(LegendEntry {
                    name: name.clone(),
                    swatch: Swatch::Box(*colour, "span"),
                });
            }
        }
    }
    entries
}

/// The legend's entries in rows that fit the width: those of the layers, then in a separate row
/// those of the strips.
pub(super) fn legend_rows(plot: &Plot, shown: (f64, f64), width: f64) -> Vec<Vec<LegendEntry>> {
    let layers = plot.layers.iter().flat_map(|layer| entries(layer, shown));
    let mut rows: Vec<Vec<LegendEntry>> = Vec::new();
    for group in [layers.collect(), strip_entries(plot, shown)] {
        let group: Vec<LegendEntry> = group;
        let mut used = f64::INFINITY;
        for entry in group {
            let needs = entry_width(&entry);
            if used + needs > width {
                rows.push(Vec::new());
                used = 0.0;
            }
            used += needs;
            if let Some(row) = rows.last_mut() {
                row.push(entry);
            }
        }
    }
    rows
}

fn entry_width(entry: &LegendEntry) -> f64 {
    32.0 + width_of(&entry.name) + 14.0
}

impl Canvas {
    /// Draws the rows with this upper left corner.
    pub(super) fn legend(&mut self, rows: &[Vec<LegendEntry>], (left, top): (f64, f64)) {
        let mut y = top + 15.0;
        for row in rows {
            let mut x = left;
            for entry in row {
                self.swatch(&entry.swatch, x, y - 4.0);
                self.words((x + 32.0, y), "t", "start", &entry.name);
                x += entry_width(entry);
            }
            y += ROW;
        }
    }

    fn swatch(&mut self, swatch: &Swatch, x: f64, y: f64) {
        let moved = format!("transform=\"translate({} {})\"", n(x + 13.0), n(y));
        let out = &mut self.text;
        let rect = |class: &str, height: f64| {
            let (x, y) = (n(x), n(y - height / 2.0));
            format!(
                "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"26\" height=\"{height}\"/>"
            )
        };
        let text = match swatch {
            Swatch::Line(class, mark) => {
                let (x, y) = (n(x), n(y));
                let mut text = format!("<path class=\"line {class}\" d=\"M{x} {y}h26\"/>");
                if let Some((marker, class)) = mark {
                    let d = outline(*marker);
                    let _ = write!(text, "<path class=\"{class}\" {moved} d=\"{d}\"/>");
                }
                text
            }
            Swatch::Dot(colour) => {
                format!("<circle class=\"f{}\" {moved} r=\"2.4\"/>", colour.number())
            }
            Swatch::Mark(colour, marker) => {
                let (number, d) = (colour.number(), outline(*marker));
                format!("<path class=\"m f{number}\" {moved} d=\"{d}\"/>")
            }
            Swatch::Ring => format!("<circle class=\"mark\" {moved} r=\"4\"/>"),
            Swatch::Tick(class) => format!("<path class=\"line {class}\" {moved} d=\"M0-4v8\"/>"),
            Swatch::Box(colour, class) => rect(&format!("{class} f{}", colour.number()), 10.0),
            Swatch::Band => rect("band", 12.0),
        };
        let _ = writeln!(out, "{text}");
    }
}

//! Writes a [`Plot`] as SVG text.
//!
//! Coordinates have at most one decimal, so that the text is short and the same everywhere. Long
//! lines are thinned to the first, lowest, highest and last point of each pixel column, which
//! looks the same. Nothing refers to the network, to scripts or to fonts of the machine.

use super::axis::ScaledAxis;
use super::legend::{LEGEND_ROW, legend_rows};
use super::plot::{Colour, Layer, Plot};
use super::style::standalone_style;
use std::fmt::Write as _;

pub(super) const WIDTH: f64 = 920.0;
pub(super) const LEFT: f64 = 92.0;
pub(super) const RIGHT: f64 = 26.0;
const BOTTOM: f64 = 52.0;
pub(super) const TITLE: f64 = 34.0;
/// A wide estimate of a character's width at 12 pixels.
pub(super) const CHARACTER: f64 = 6.9;

/// The plot area in pixels and the axes that map onto it.
pub(super) struct Canvas {
    pub(super) text: String,
    id: String,
    x: ScaledAxis,
    y: ScaledAxis,
    top: f64,
    height: f64,
}

impl Plot {
    /// The plot as the text of an SVG file that stands alone on white.
    pub fn svg(&self) -> String {
        self.write("p", &format!("<style>{}</style>", standalone_style()))
    }

    /// The plot as an element of a page that has [`page_style`](super::page_style). `id` must be
    /// unlike those of the page's other plots.
    pub fn element(&self, id: &str) -> String {
        self.write(id, "")
    }

    fn write(&self, id: &str, style: &str) -> String {
        let legend = legend_rows(self);
        let top = TITLE + LEGEND_ROW * legend.len() as f64 + 8.0;
        let total = top + self.height + BOTTOM;
        let extent: Vec<(f64, f64)> = self.layers.iter().flat_map(Layer::extent).collect();
        let x = ScaledAxis::new(&self.x, extent.iter().map(|point| point.0));
        let (from, to) = x.ends();
        let seen = extent
            .iter()
            .filter(|point| point.0.is_nan() || (point.0 >= from && point.0 <= to));
        let y = ScaledAxis::new(&self.y, seen.map(|point| point.1));
        let mut canvas = Canvas {
            text: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {total}\" \
                 width=\"{WIDTH}\" height=\"{total}\" role=\"img\" \
                 font-family=\"Ubuntu, system-ui, sans-serif\">{style}<title>{}</title>\n\
                 <rect class=\"paper\" width=\"{WIDTH}\" height=\"{total}\"/>\n",
                escape(&self.title)
            ),
            id: id.to_owned(),
            x,
            y,
            top,
            height: self.height,
        };
        canvas.words(LEFT, 22.0, "th", "start", &self.title);
        canvas.legend(&legend);
        canvas.grid();
        canvas.axis_labels(self);
        canvas.open_clip();
        for layer in &self.layers {
            canvas.layer(layer);
        }
        canvas.text.push_str("</g>\n");
        canvas.frame();
        for layer in &self.layers {
            canvas.layer_words(layer);
        }
        canvas.text.push_str("</svg>\n");
        canvas.text
    }
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
    fn px(&self, x: f64) -> f64 {
        LEFT + self.x.share(x) * (WIDTH - LEFT - RIGHT)
    }

    fn py(&self, y: f64) -> f64 {
        self.top + (1.0 - self.y.share(y)) * self.height
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
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

    fn straight(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let _ = writeln!(
            self.text,
            "<path class=\"{class}\" d=\"M{} {}L{} {}\"/>",
            n(from.0),
            n(from.1),
            n(to.0),
            n(to.1)
        );
    }

    fn grid(&mut self) {
        let (right, bottom) = (WIDTH - RIGHT, self.bottom());
        for y in self.y.minor_ticks() {
            let y = self.py(y);
            self.straight("minor", (LEFT, y), (right, y));
        }
        for x in self.x.minor_ticks() {
            let x = self.px(x);
            self.straight("minor", (x, self.top), (x, bottom));
        }
        for (value, label) in self.y.ticks() {
            let y = self.py(value);
            self.straight("grid", (LEFT, y), (right, y));
            self.words(LEFT - 8.0, y + 4.0, "ts", "end", &label);
        }
        for (value, label) in self.x.ticks() {
            let x = self.px(value);
            self.straight("grid", (x, self.top), (x, bottom));
            self.straight("tick", (x, bottom), (x, bottom + 5.0));
            self.words(x, bottom + 19.0, "ts", "middle", &label);
        }
    }

    fn axis_labels(&mut self, plot: &Plot) {
        let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
        let bottom = self.bottom();
        self.words(middle, bottom + 41.0, "t", "middle", &plot.x.label);
        // Beside the widest tick label, so that short ones leave no gap.
        let ticks = self.y.ticks();
        let widest = ticks.iter().map(|tick| tick.1.chars().count()).max();
        let beside = LEFT - 22.0 - widest.unwrap_or(0) as f64 * CHARACTER;
        let (x, y) = (n(beside.max(14.0)), n(self.top + self.height / 2.0));
        let _ = writeln!(
            self.text,
            "<text class=\"t\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" \
             transform=\"rotate(-90 {x} {y})\">{}</text>",
            escape(&plot.y.label)
        );
    }

    fn open_clip(&mut self) {
        let (width, top, height) = (n(WIDTH - LEFT - RIGHT), n(self.top), n(self.height));
        let _ = writeln!(
            self.text,
            "<clipPath id=\"{0}\"><rect x=\"{LEFT}\" y=\"{top}\" width=\"{width}\" \
             height=\"{height}\"/></clipPath>\n<g clip-path=\"url(#{0})\">",
            escape(&self.id)
        );
    }

    fn frame(&mut self) {
        let (width, top, height) = (n(WIDTH - LEFT - RIGHT), n(self.top), n(self.height));
        let _ = writeln!(
            self.text,
            "<rect class=\"frame\" x=\"{LEFT}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>"
        );
    }

    /// Pixels of the points that the axes can show.
    fn pixels(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        points
            .iter()
            .filter(|point| self.x.shows(point.0) && self.y.shows(point.1))
            .map(|point| (self.px(point.0), self.py(point.1)))
            .collect()
    }

    fn polyline(&mut self, class: &str, pixels: &[(f64, f64)]) {
        if pixels.is_empty() {
            return;
        }
        let mut path = String::new();
        for (place, (x, y)) in thinned(pixels).iter().enumerate() {
            let _ = write!(
                path,
                "{}{} {}",
                if place == 0 { "M" } else { "L" },
                n(*x),
                n(*y)
            );
        }
        let _ = writeln!(self.text, "<path class=\"line {class}\" d=\"{path}\"/>");
    }

    fn layer(&mut self, layer: &Layer) {
        match layer {
            Layer::Line {
                points,
                colour,
                dashed,
                ..
            } => {
                let class = format!("s{}{}", colour.number(), if *dashed { " dash" } else { "" });
                self.polyline(&class, &self.pixels(points));
            }
            Layer::Step { points, colour, .. } => {
                self.polyline(
                    &format!("s{}", colour.number()),
                    &self.pixels(&stairs(points)),
                );
            }
            Layer::StepByCategory { points, categories } => self.coloured(points, categories),
            Layer::Scatter { points, colour, .. } => {
                for (x, y) in self.pixels(points) {
                    let _ = writeln!(
                        self.text,
                        "<circle class=\"f{}\" cx=\"{}\" cy=\"{}\" r=\"2.2\"/>",
                        colour.number(),
                        n(x),
                        n(y)
                    );
                }
            }
            Layer::Bars { bars, colour, .. } => self.bars(bars, *colour),
            Layer::Band { x, .. } => {
                let (from, to) = (self.px(x.0), self.px(x.1));
                let _ = writeln!(
                    self.text,
                    "<rect class=\"band\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                    n(from),
                    n(self.top),
                    n((to - from).max(0.0)),
                    n(self.height)
                );
            }
            Layer::Level { y, colour, .. } => {
                let y = self.py(*y);
                let class = format!("line thin dash s{}", colour.number());
                self.straight(&class, (LEFT, y), (WIDTH - RIGHT, y));
            }
            Layer::Upright {
                x, colour, dashed, ..
            } => {
                let x = self.px(*x);
                let class = format!(
                    "line s{}{}",
                    colour.number(),
                    if *dashed { " dash" } else { "" }
                );
                self.straight(&class, (x, self.top), (x, self.bottom()));
            }
            Layer::Published { points } => {
                for (x, y, _) in points {
                    let _ = writeln!(
                        self.text,
                        "<circle class=\"mark\" cx=\"{}\" cy=\"{}\" r=\"4.5\"/>",
                        n(self.px(*x)),
                        n(self.py(*y))
                    );
                }
            }
        }
    }

    fn bars(&mut self, bars: &[(f64, f64, f64)], colour: Colour) {
        let floor = self.py(self.y.ends().0.max(0.0));
        for (left, right, height) in bars {
            let (x, end, y) = (self.px(*left), self.px(*right), self.py(*height));
            let _ = writeln!(
                self.text,
                "<rect class=\"bar f{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                colour.number(),
                n(x + 0.5),
                n(y),
                n((end - x - 1.0).max(0.6)),
                n((floor - y).max(0.0))
            );
        }
    }

    /// Steps in runs of one category; the upright between two runs has the colour of the later.
    fn coloured(&mut self, points: &[(f64, f64, usize)], categories: &[(String, Colour)]) {
        let mut start = 0;
        while let Some(first) = points.get(start) {
            let length = points[start..]
                .iter()
                .take_while(|p| p.2 == first.2)
                .count();
            let end = start + length;
            let mut run = Vec::with_capacity(length + 2);
            if let Some(before) = start.checked_sub(1).and_then(|place| points.get(place)) {
                run.push((first.0, before.1));
            }
            run.extend(points[start..end].iter().map(|p| (p.0, p.1)));
            if let (Some(next), Some(last)) = (points.get(end), points.get(end - 1)) {
                run.push((next.0, last.1));
            }
            let colour = categories
                .get(first.2)
                .map_or(Colour(7), |category| category.1);
            let pixels = self.pixels(&stairs(&run));
            self.polyline(&format!("s{}", colour.number()), &pixels);
            start = end;
        }
    }

    /// Words that must not be clipped: at published points and level lines.
    fn layer_words(&mut self, layer: &Layer) {
        match layer {
            Layer::Published { points } => {
                for (x, y, words) in points {
                    self.label(self.px(*x), self.py(*y), words);
                }
            }
            Layer::Level { label, y, .. } => {
                let y = self.py(*y);
                self.halo(WIDTH - RIGHT - 6.0, y - 5.0, "end", label);
            }
            _ => {}
        }
    }

    /// Words to the right of a point, or to its left where the right end is near.
    fn label(&mut self, x: f64, y: f64, words: &str) {
        let width = words.chars().count() as f64 * CHARACTER;
        let y = (y - 8.0).clamp(self.top + 12.0, self.bottom() - 6.0);
        if x + 10.0 + width < WIDTH - RIGHT {
            self.halo(x + 9.0, y, "start", words);
        } else {
            self.halo(x - 9.0, y, "end", words);
        }
    }

    /// Words with an edge in the paper's colour, readable over lines.
    fn halo(&mut self, x: f64, y: f64, anchor: &str, words: &str) {
        self.words(x, y, "tl halo", anchor, words);
        self.words(x, y, "tl", anchor, words);
    }
}

/// The corners of a staircase through the points.
fn stairs(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut corners = Vec::with_capacity(points.len() * 2);
    let mut before: Option<f64> = None;
    for (x, y) in points {
        if let Some(level) = before {
            corners.push((*x, level));
        }
        corners.push((*x, *y));
        before = Some(*y);
    }
    corners
}

/// The same line with at most four points a pixel column.
fn thinned(pixels: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if pixels.len() < 4000 {
        return pixels.to_vec();
    }
    let mut kept = Vec::new();
    let mut start = 0;
    while let Some(first) = pixels.get(start) {
        let column = libm::floor(first.0);
        let length = pixels[start..]
            .iter()
            .take_while(|point| libm::floor(point.0) == column)
            .count();
        let slice = &pixels[start..start + length];
        let extreme = |better: fn(f64, f64) -> bool| {
            let mut best = 0;
            for (place, point) in slice.iter().enumerate() {
                if better(point.1, slice[best].1) {
                    best = place;
                }
            }
            best
        };
        let mut places = vec![0, extreme(|a, b| a < b), extreme(|a, b| a > b), length - 1];
        places.sort_unstable();
        places.dedup();
        kept.extend(places.iter().map(|place| slice[*place]));
        start += length;
    }
    kept
}

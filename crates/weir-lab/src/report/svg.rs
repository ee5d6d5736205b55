//! Writes a [`Plot`] as SVG text.
//!
//! Coordinates have at most one decimal, so that the text is short and the same everywhere. Long
//! lines are thinned to the first, lowest, highest and last point of each pixel column, which
//! looks the same. The text refers to no network, script or font of the machine.

use super::axis::ScaledAxis;
use super::canvas::{BOTTOM, CHARACTER, Canvas, LEFT, RIGHT, TITLE, WIDTH, escape, n};
use super::legend::{LEGEND_ROW, legend_rows};
use super::plot::{Colour, Plot, PlotLayer, Shape};
use super::style::standalone_style;
use std::fmt::Write as _;

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
        let extent: Vec<(f64, f64)> = self
            .layers
            .iter()
            .flat_map(|layer| layer.shape.extent())
            .collect();
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

impl Canvas {
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
        let size = (WIDTH - LEFT - RIGHT, self.height);
        self.rectangle("frame", (LEFT, self.top), size);
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

    fn layer(&mut self, layer: &PlotLayer) {
        let class = layer.line_class();
        let fill = format!("f{}", layer.colour.number());
        match &layer.shape {
            Shape::Line(points) => self.polyline(&class, &self.pixels(points)),
            Shape::Step(points) => self.polyline(&class, &self.pixels(&stairs(points))),
            Shape::StepByCategory { points, categories } => self.coloured(points, categories),
            Shape::Scatter(points) => {
                for point in self.pixels(points) {
                    self.circle(&fill, point, "2.2");
                }
            }
            Shape::Spread(bars) => {
                for (x, low, high) in bars {
                    let (x, low, high) = (self.px(*x), self.py(*low), self.py(*high));
                    self.straight(&format!("line {class}"), (x, low), (x, high));
                    for y in [low, high] {
                        self.straight(&format!("line {class}"), (x - 4.0, y), (x + 4.0, y));
                    }
                }
            }
            Shape::Bars(bars) => {
                let floor = self.py(self.y.ends().0.max(0.0));
                for (left, right, height) in bars {
                    let (x, end, y) = (self.px(*left), self.px(*right), self.py(*height));
                    let size = ((end - x - 1.0).max(0.6), (floor - y).max(0.0));
                    self.rectangle(&format!("bar {fill}"), (x + 0.5, y), size);
                }
            }
            Shape::Band(from, to) => {
                let (from, to) = (self.px(*from), self.px(*to));
                let size = ((to - from).max(0.0), self.height);
                self.rectangle("band", (from, self.top), size);
            }
            Shape::Level(y) => {
                let y = self.py(*y);
                let class = format!("line thin dash s{}", layer.colour.number());
                self.straight(&class, (LEFT, y), (WIDTH - RIGHT, y));
            }
            Shape::Upright(x) => {
                let x = self.px(*x);
                self.straight(&format!("line {class}"), (x, self.top), (x, self.bottom()));
            }
            Shape::Published(points) => {
                for (x, y, _) in points {
                    self.circle("mark", (self.px(*x), self.py(*y)), "4.5");
                }
            }
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
    fn layer_words(&mut self, layer: &PlotLayer) {
        match &layer.shape {
            Shape::Published(points) => {
                for (x, y, words) in points {
                    self.label(self.px(*x), self.py(*y), words);
                }
            }
            Shape::Level(y) => {
                let y = self.py(*y);
                self.halo(WIDTH - RIGHT - 6.0, y - 5.0, "end", &layer.name);
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
pub(super) fn stairs(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
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

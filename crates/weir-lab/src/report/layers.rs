//! Draws the layers of a plot into its canvas.

use super::canvas::{Canvas, n};
use super::plot::{Colour, Episode, ErrorBar, MARKERS, PlotLayer, Shape, Strip};
use super::thin::{self, PathData, Pixel};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Height of a strip and of the gap above it, in pixels.
pub(super) const STRIP: f64 = 22.0;
pub(super) const STRIP_GAP: f64 = 6.0;
/// Height of an episode and of the gap above it, in pixels.
pub(super) const EPISODE: f64 = 18.0;
pub(super) const EPISODE_GAP: f64 = 3.0;
/// The least width of an episode, so that a short one remains visible, in pixels.
const EPISODE_WIDTH: f64 = 2.0;
/// The side of a square of a density in pixels, and the number of its shades.
const SQUARE: f64 = 6.0;
const SHADES: usize = 5;
/// Pixels between two marks on a line.
const MARK_EVERY: f64 = 110.0;

/// The outline of a mark around the origin.
pub(super) fn outline(marker: usize) -> &'static str {
    match marker % MARKERS {
        0 => "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0Z",
        1 => "M-3.2-3.2h6.4v6.4h-6.4Z",
        2 => "M0-4.4L4.2 3.2h-8.4Z",
        3 => "M0-4.6L4.6 0L0 4.6L-4.6 0Z",
        4 => "M0 4.4L4.2-3.2h-8.4Z",
        _ => "M-1.3-4h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7Z",
    }
}

impl Canvas {
    /// Draws the shapes that stretch with the horizontal axis when the page zooms.
    pub(super) fn layer(&mut self, layer: &PlotLayer) {
        let line = format!("line {}", layer.line_class());
        let fill = format!("f{}", layer.colour.number());
        let mut path = PathData::default();
        match &layer.shape {
            Shape::Line(points) => {
                path.add(&thin::line(self.pixels(points.iter().copied())));
                self.data(&line, "line", &layer.name, path);
            }
            Shape::Step(points) => {
                for run in runs(points) {
                    path.add(&thin::line(self.pixels(stairs(run.iter().copied()))));
                }
                self.data(&line, "step", &layer.name, path);
            }
            Shape::Area(points) => self.area(layer, points),
            Shape::StepByCategory { points, categories } => self.coloured(points, categories),
            Shape::Scatter(points) => {
                let pixels: Vec<Pixel> = self.pixels(points.iter().copied()).collect();
                for dot in thin::dots(&pixels) {
                    path.dot(dot);
                }
                let class = format!("dots s{}", layer.colour.number());
                self.data(&class, "dots", &layer.name, path);
            }
            Shape::Density(points) => self.density(layer, points),
            Shape::Ribbon(points) => {
                for run in points.split(|point| point.1.is_nan()) {
                    path.add(&self.ribbon(run));
                    path.close();
                }
                let name = &layer.name;
                self.data(&format!("ribbon {fill}"), "ribbon", name, path);
            }
            Shape::Rug(times) => {
                let top = self.frame.top;
                let mut before = f64::NEG_INFINITY;
                for x in times.iter().filter(|x| self.x.shows(**x)) {
                    let x = libm::round(self.px(*x) * 2.0) / 2.0;
                    if x > before {
                        path.add(&[(x, top + 1.0), (x, top + 9.0)]);
                    }
                    before = before.max(x);
                }
                self.data(&format!("rug {line}"), "rug", &layer.name, path);
            }
            Shape::Spread(bars) => self.spread(&line, bars),
            Shape::Errors(bars) => self.errors(&line, bars),
            Shape::Bars(bars) => self.bars(&format!("bar {fill}"), bars),
            Shape::Band(from, to) => {
                let (from, to) = (self.px(*from), self.px(*to));
                let size = ((to - from).max(0.0), self.frame.height());
                self.rectangle("band", (from, self.frame.top), size);
            }
            Shape::Level(y) => {
                let y = self.py(*y);
                let class = format!("line thin dash1 s{}", layer.colour.number());
                self.straight(&class, (self.frame.left, y), (self.frame.right, y));
            }
            Shape::Upright(x) => {
                let x = self.px(*x);
                self.straight(&line, (x, self.frame.top), (x, self.frame.bottom));
            }
            Shape::Marks(_) | Shape::Published(_) => {}
        }
    }

    /// Draws the shapes that keep their size when the page zooms: marks and rings.
    pub(super) fn layer_marks(&mut self, layer: &PlotLayer, number: usize) {
        let class = format!("m f{}", layer.colour.number());
        match (&layer.shape, layer.marker) {
            (Shape::Marks(points), marker) => {
                let marks: Vec<Pixel> = self.pixels(points.iter().copied()).collect();
                for at in marks {
                    self.mark(&class, outline(marker.unwrap_or(0)), at);
                }
            }
            (Shape::Published(points), _) => {
                for (x, y, _) in points {
                    let at = (self.px(*x), self.py(*y));
                    self.mark("m mark", "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0Z", at);
                }
            }
            (Shape::Line(points), Some(marker)) if points.len() <= 40 => {
                let marks: Vec<Pixel> = self.pixels(points.iter().copied()).collect();
                for at in marks {
                    self.mark(&class, outline(marker), at);
                }
            }
            (Shape::Line(points) | Shape::Step(points), Some(marker)) => {
                for at in self.marks_along(points, number) {
                    self.mark(&class, outline(marker), at);
                }
            }
            _ => {}
        }
    }

    fn mark(&mut self, class: &str, outline: &str, at: Pixel) {
        let (x, y) = (n(at.0), n(at.1));
        let _ = writeln!(
            self.text,
            "<path class=\"{class}\" transform=\"translate({x} {y})\" d=\"{outline}\"/>"
        );
    }

    /// Shades squares by their number of points, in steps of a factor of four.
    fn density(&mut self, layer: &PlotLayer, points: &[(f64, f64)]) {
        let mut squares: BTreeMap<(i64, i64), usize> = BTreeMap::new();
        for (x, y) in self.pixels(points.iter().copied()) {
            let square = |pixel: f64| libm::floor(pixel / SQUARE) as i64;
            *squares.entry((square(x), square(y))).or_default() += 1;
        }
        for step in 0..SHADES {
            let mut path = PathData::default();
            let of_step = squares.iter().filter(|(_, count)| {
                let fours = count.ilog2() as usize / 2;
                fours.min(SHADES - 1) == step
            });
            for ((x, y), _) in of_step {
                let (left, top) = (*x as f64 * SQUARE, *y as f64 * SQUARE);
                let (right, bottom) = (left + SQUARE, top + SQUARE);
                path.add(&[(left, top), (right, top), (right, bottom), (left, bottom)]);
                path.close();
            }
            let class = format!("dense{step} f{}", layer.colour.number());
            self.data(&class, "density", &layer.name, path);
        }
    }

    /// Positions along a line, offset from those of other curves.
    fn marks_along(&self, points: &[(f64, f64)], number: usize) -> Vec<Pixel> {
        let mut next = self.frame.left + 24.0 + (number * 37 % 110) as f64;
        let mut marks = Vec::new();
        for at in self.pixels(points.iter().copied()) {
            if at.0 >= next && at.0 < self.frame.right - 4.0 {
                marks.push(at);
                next = at.0 + MARK_EVERY;
            }
        }
        marks
    }

    fn spread(&mut self, class: &str, bars: &[(f64, f64, f64)]) {
        for (x, low, high) in bars {
            let (x, low, high) = (self.px(*x), self.py(*low), self.py(*high));
            self.straight(class, (x, low), (x, high));
            for y in [low, high] {
                self.straight(class, (x - 4.0, y), (x + 4.0, y));
            }
        }
    }

    fn errors(&mut self, class: &str, bars: &[ErrorBar]) {
        for bar in bars {
            let (x, y) = (self.px(bar.at.0), self.py(bar.at.1));
            let (left, right) = (self.px(bar.x.0), self.px(bar.x.1));
            let (low, high) = (self.py(bar.y.0), self.py(bar.y.1));
            if right > left {
                self.straight(class, (left, y), (right, y));
            }
            if low > high {
                self.straight(class, (x, low), (x, high));
            }
        }
    }

    fn bars(&mut self, class: &str, bars: &[(f64, f64, f64)]) {
        let floor = self.py(self.y.ends().0.max(0.0));
        for (left, right, height) in bars {
            let (x, end, y) = (self.px(*left), self.px(*right), self.py(*height));
            let size = ((end - x - 1.0).max(0.6), (floor - y).max(0.0));
            self.rectangle(class, (x + 0.5, y), size);
        }
    }

    /// The outline of the ribbon: the high values from left to right, then the low ones back.
    fn ribbon(&self, points: &[(f64, f64, f64)]) -> Vec<Pixel> {
        let side = |of: fn(&(f64, f64, f64)) -> f64| {
            thin::line(self.pixels(points.iter().map(|p| (p.0, of(p)))))
        };
        let mut outline = side(|p| p.2);
        outline.extend(side(|p| p.1).into_iter().rev());
        outline
    }

    /// Steps, and the area below them. Only the path of the line has the name, so that the page's
    /// script reads each value once.
    fn area(&mut self, layer: &PlotLayer, points: &[(f64, f64)]) {
        let (mut area, mut line) = (PathData::default(), PathData::default());
        for run in runs(points) {
            let steps = thin::line(self.pixels(stairs(run.iter().copied())));
            line.add(&steps);
            if let (Some(first), Some(last)) = (steps.first(), steps.last()) {
                let floor = self.frame.bottom;
                let mut outline = steps.clone();
                outline.extend([(last.0, floor), (first.0, floor)]);
                area.add(&outline);
                area.close();
            }
        }
        self.data(&format!("ribbon f{}", layer.colour.number()), "", "", area);
        let class = format!("line thin {}", layer.line_class());
        self.data(&class, "step", &layer.name, line);
    }

    /// Steps in the colours of their categories. Consecutive points of a category within one pixel
    /// column are drawn as the range that they cover.
    fn coloured(&mut self, points: &[(f64, f64, usize)], categories: &[(String, Colour)]) {
        let mut paths: BTreeMap<usize, PathData> = BTreeMap::new();
        let mut ranges: BTreeMap<(usize, i64), (f64, f64)> = BTreeMap::new();
        let mut start = 0;
        while let Some(first) = points.get(start) {
            let same = points[start..].iter().take_while(|p| p.2 == first.2);
            let end = start + same.count();
            let before = start.checked_sub(1).and_then(|place| points.get(place));
            let before = before.map(|p| (first.0, p.1));
            let run = points[start..end].iter().map(|p| (p.0, p.1));
            let next = points.get(end).zip(points.get(end - 1));
            let next = next.map(|(next, last)| (next.0, last.1));
            let run = before.into_iter().chain(run).chain(next);
            let pixels = thin::line(self.pixels(stairs(run)));
            let column = |place: Option<&Pixel>| place.map(|p| libm::floor(p.0) as i64);
            match (column(pixels.first()), column(pixels.last())) {
                (Some(from), Some(to)) if from == to => {
                    for (_, y) in pixels {
                        let range = ranges.entry((first.2, from)).or_insert((y, y));
                        *range = (range.0.min(y), range.1.max(y));
                    }
                }
                _ => paths.entry(first.2).or_default().add(&pixels),
            }
            start = end;
        }
        for ((category, column), (high, low)) in ranges {
            let x = column as f64 + 0.5;
            let path = paths.entry(category).or_default();
            path.add(&[(x, high), (x, low.max(high + 0.8))]);
        }
        for (number, path) in paths {
            let none = (String::new(), Colour::BESIDE);
            let (name, colour) = categories.get(number).unwrap_or(&none);
            self.data(&format!("line {}", colour.line_class()), "step", name, path);
        }
    }

    /// Draws a strip of categories below the plot with this upper edge.
    pub(super) fn strip(&mut self, strip: &Strip, top: f64) {
        let mut paths: BTreeMap<usize, PathData> = BTreeMap::new();
        for ((left, right), shares) in self.strip_columns(strip) {
            let mut y = top;
            for (category, share) in shares {
                let end = y + share * STRIP;
                let path = paths.entry(category).or_default();
                path.add(&[(left, y), (right, y), (right, end), (left, end)]);
                path.close();
                y = end;
            }
        }
        for (number, path) in paths {
            if let Some((name, colour)) = strip.categories.get(number) {
                let class = format!("span f{}", colour.number());
                self.data(&class, "strip", &format!("{}: {name}", strip.name), path);
            }
        }
    }

    /// The bar of an episode.
    pub(super) fn episode(&mut self, episode: &Episode, top: f64) {
        let (from, to) = (self.px(episode.span.0), self.px(episode.span.1));
        let to = to.max(from + EPISODE_WIDTH);
        let mut path = PathData::default();
        let bottom = top + EPISODE;
        path.add(&[(from, top), (to, top), (to, bottom), (from, bottom)]);
        path.close();
        self.data("episode", "strip", &episode.name, path);
    }

    /// The pieces of a strip from left to right with the shares of the categories in each; a range
    /// with a single category is one piece.
    fn strip_columns(&self, strip: &Strip) -> Vec<Piece> {
        let (left, right) = (self.frame.left, self.frame.right);
        let mut columns: BTreeMap<i64, BTreeMap<usize, f64>> = BTreeMap::new();
        let mut pieces = Vec::new();
        for &(from, to, category) in &strip.spans {
            let from = self.px(from).clamp(left, right);
            let to = self.px(to).clamp(left, right);
            if to <= from {
                continue;
            }
            let (first, last) = (libm::ceil(from), libm::floor(to));
            let mut add = |at: f64, width: f64| {
                let column = columns.entry(libm::floor(at) as i64).or_default();
                *column.entry(category).or_default() += width;
            };
            if first > last {
                add(from, to - from);
                continue;
            }
            if first > from {
                add(from, first - from);
            }
            if to > last {
                add(last, to - last);
            }
            if last > first {
                pieces.push(((first, last), vec![(category, 1.0)]));
            }
        }
        for (column, shares) in columns {
            let sum: f64 = shares.values().sum();
            let shares = shares
                .into_iter()
                .map(|(number, share)| (number, share / sum));
            let left = column as f64;
            pieces.push(((left, left + 1.0), shares.collect()));
        }
        pieces.sort_by(|a, b| a.0.0.total_cmp(&b.0.0));
        merged(pieces)
    }
}

/// A piece of a strip: its range, and the shares of the categories.
type Piece = ((f64, f64), Vec<(usize, f64)>);

/// Merges adjacent pieces with the same shares.
fn merged(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut merged: Vec<Piece> = Vec::new();
    for piece in pieces {
        match merged.last_mut() {
            Some(last) if last.1 == piece.1 && last.0.1 >= piece.0.0 => last.0.1 = piece.0.1,
            _ => merged.push(piece),
        }
    }
    merged
}

/// Consecutive points with values; a point whose value is NaN ends a sequence.
fn runs(points: &[(f64, f64)]) -> impl Iterator<Item = &[(f64, f64)]> {
    points
        .split(|point| point.1.is_nan())
        .filter(|run| !run.is_empty())
}

/// The corners of the step curve through the points.
pub(super) fn stairs(points: impl Iterator<Item = (f64, f64)>) -> impl Iterator<Item = (f64, f64)> {
    let mut before: Option<f64> = None;
    points.flat_map(move |(x, y)| {
        let corner = before.replace(y).map(|level| (x, level));
        corner.into_iter().chain([(x, y)])
    })
}

//! Thinning: reduces a series to the points that a picture can show.
//!
//! For lines, each pixel column keeps its first, lowest, highest and last point, so that no peak is
//! lost; for dots, each cell keeps one dot, and columns keep their extremes. Lines become SVG path
//! data with relative coordinates in tenths of a pixel, about five octets for each point.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The maximum number of dots of a layer, not counting the extremes of pixel columns.
const MOST_DOTS: usize = 2000;

/// A point in pixels.
pub(super) type Pixel = (f64, f64);

/// The points of a line in one pixel column, of which at most four are kept.
struct PixelColumn {
    number: f64,
    count: usize,
    /// The first four points.
    few: [Pixel; 4],
    /// The lowest and the highest point with their indices; the first of equal ones.
    low: (usize, Pixel),
    high: (usize, Pixel),
    last: Pixel,
}

impl PixelColumn {
    fn new(number: f64, first: Pixel) -> Self {
        Self {
            number,
            count: 1,
            few: [first; 4],
            low: (0, first),
            high: (0, first),
            last: first,
        }
    }

    fn add(&mut self, point: Pixel) {
        if let Some(place) = self.few.get_mut(self.count) {
            *place = point;
        }
        if point.1 < self.low.1.1 {
            self.low = (self.count, point);
        }
        if point.1 > self.high.1.1 {
            self.high = (self.count, point);
        }
        self.last = point;
        self.count += 1;
    }

    fn keep(self, kept: &mut Vec<Pixel>) {
        if let Some(all) = self.few.get(..self.count) {
            kept.extend_from_slice(all);
            return;
        }
        let last = (self.count - 1, self.last);
        let mut places = [(0, self.few[0]), self.low, self.high, last];
        places.sort_unstable_by_key(|place| place.0);
        let mut before = None;
        for (place, point) in places {
            if before != Some(place) {
                kept.push(point);
            }
            before = Some(place);
        }
    }
}

/// The line with at most four points in each pixel column.
pub(super) fn line(pixels: impl IntoIterator<Item = Pixel>) -> Vec<Pixel> {
    let mut kept = Vec::new();
    let mut column: Option<PixelColumn> = None;
    for point in pixels {
        let number = libm::floor(point.0);
        match &mut column {
            Some(column) if column.number == number => column.add(point),
            _ => {
                if let Some(before) = column.replace(PixelColumn::new(number, point)) {
                    before.keep(&mut kept);
                }
            }
        }
    }
    if let Some(last) = column {
        last.keep(&mut kept);
    }
    kept
}

/// Dots without overlap: one for each cell, with cells that grow until there are at most
/// [`MOST_DOTS`]; and the highest and lowest dots of each column of two pixels if cells have grown.
pub(super) fn dots(pixels: &[Pixel]) -> Vec<Pixel> {
    let mut cell = 1.0;
    let mut kept = one_a_cell(pixels, cell);
    while kept.len() > MOST_DOTS && cell < 64.0 {
        cell *= 1.5;
        kept = one_a_cell(pixels, cell);
    }
    if cell > 1.0 {
        let mut extremes: BTreeMap<i64, (Pixel, Pixel)> = BTreeMap::new();
        for &point in pixels {
            let column = libm::floor(point.0 / 2.0) as i64;
            let (low, high) = extremes.entry(column).or_insert((point, point));
            if point.1 < low.1 {
                *low = point;
            }
            if point.1 > high.1 {
                *high = point;
            }
        }
        kept.extend(extremes.into_values().flat_map(|(low, high)| [low, high]));
        kept.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        kept.dedup();
    }
    kept
}

fn one_a_cell(pixels: &[Pixel], cell: f64) -> Vec<Pixel> {
    let mut taken = BTreeSet::new();
    let of = |value: f64| libm::round(value / cell) as i64;
    let free = |point: &&Pixel| taken.insert((of(point.0), of(point.1)));
    pixels.iter().filter(free).copied().collect()
}

/// The data of an SVG path under construction.
#[derive(Debug, Default)]
pub(super) struct PathData {
    text: String,
    /// The current point in tenths of a pixel.
    pen: Option<(i64, i64)>,
}

impl PathData {
    /// Adds a line through the points, separate from earlier lines.
    pub(super) fn add(&mut self, pixels: &[Pixel]) {
        self.pen = None;
        for &point in pixels {
            self.line_to(point);
        }
    }

    /// Adds a dot: a line so short that only its round caps are visible.
    pub(super) fn dot(&mut self, point: Pixel) {
        self.pen = None;
        self.line_to(point);
        self.text.push_str("h.1");
    }

    fn line_to(&mut self, point: Pixel) {
        let to = (tenths(point.0), tenths(point.1));
        let text = &mut self.text;
        let _ = match self.pen {
            None => write!(text, "M{} {}", decimal(to.0), decimal(to.1)),
            Some(pen) if pen == to => return,
            Some(pen) if pen.1 == to.1 => write!(text, "h{}", decimal(to.0 - pen.0)),
            Some(pen) if pen.0 == to.0 => write!(text, "v{}", decimal(to.1 - pen.1)),
            Some(pen) => write!(text, "l{} {}", decimal(to.0 - pen.0), decimal(to.1 - pen.1)),
        };
        self.pen = Some(to);
    }

    /// Closes the last line to form an area.
    pub(super) fn close(&mut self) {
        if self.pen.is_some() {
            self.text.push('Z');
        }
    }

    /// The text for the attribute `d`; empty without points.
    pub(super) fn text(self) -> String {
        self.text
    }
}

fn tenths(value: f64) -> i64 {
    libm::round(value * 10.0) as i64
}

/// Tenths as the shortest decimal.
fn decimal(tenths: i64) -> String {
    let sign = if tenths < 0 { "-" } else { "" };
    let size = tenths.unsigned_abs();
    match (size / 10, size % 10) {
        (whole, 0) => format!("{sign}{whole}"),
        (0, tenth) => format!("{sign}.{tenth}"),
        (whole, tenth) => format!("{sign}{whole}.{tenth}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 40 points in each pixel column; the extremes of every column are kept.
    #[test]
    fn a_line_keeps_the_extremes_of_each_pixel_column() {
        let value = |i: u32| f64::from((i * 7919) % 1009);
        let pixels: Vec<Pixel> = (0..40_000)
            .map(|i| (f64::from(i) / 40.0, value(i)))
            .collect();
        let kept = line(pixels.iter().copied());
        assert!(kept.len() <= 4000, "{}", kept.len());
        for column in 0..1000 {
            let inside = |p: &&Pixel| libm::floor(p.0) == f64::from(column);
            let ends = |points: &[Pixel]| {
                let values = points.iter().filter(inside).map(|p| p.1);
                let values: Vec<f64> = values.collect();
                (
                    values.iter().copied().fold(f64::INFINITY, f64::min),
                    values.iter().copied().fold(0.0, f64::max),
                )
            };
            assert_eq!(ends(&kept), ends(&pixels), "column {column}");
        }
    }

    #[test]
    fn dots_keep_the_highest_and_lowest_and_drop_what_lies_on_another() {
        let mut pixels: Vec<Pixel> = (0..100_000)
            .map(|i| (f64::from(i % 800), 50.0 + f64::from(i * 31 % 400) / 4.0))
            .collect();
        pixels[70_007].1 = 3.0;
        let kept = dots(&pixels);
        assert!(kept.len() < MOST_DOTS + 1700, "{}", kept.len());
        assert!(kept.contains(&pixels[70_007]), "the outlier is gone");
        assert_eq!(dots(&[(1.0, 1.0); 50]).len(), 1);
    }

    #[test]
    fn path_data_is_relative_and_short() {
        let mut path = PathData::default();
        path.add(&[
            (10.0, 20.04),
            (10.0, 19.5),
            (12.26, 19.5),
            (12.26, 19.5),
            (13.0, 20.0),
        ]);
        path.dot((1.0, 2.0));
        assert_eq!(path.text(), "M10 20v-.5h2.3l.7 .5M1 2h.1");
    }
}

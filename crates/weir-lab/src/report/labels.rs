//! Places the labels of published points where they cover neither data nor other labels.

use super::canvas::{CHARACTER, Canvas};
use super::layers::stairs;
use super::plot::{PlotLayer, Shape};
use super::thin::{self, Pixel};

/// Height of a line of words.
const LINE: f64 = 14.0;

/// A rectangle: left, top, right, bottom.
#[derive(Clone, Copy, Debug)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Area {
    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn holds(&self, (x, y): Pixel) -> bool {
        x > self.left && x < self.right && y > self.top && y < self.bottom
    }
}

impl Canvas {
    /// Writes the labels of all published points, each where it covers the fewest data points:
    /// beside its ring, or slightly farther away.
    pub(super) fn published_words<'a>(
        &mut self,
        layers: &[PlotLayer],
        published: impl Iterator<Item = &'a [(f64, f64, String)]>,
    ) {
        let published: Vec<&(f64, f64, String)> = published.flatten().collect();
        if published.is_empty() {
            return;
        }
        let data = self.inked(layers);
        let mut taken: Vec<Area> = Vec::new();
        for (x, y, _) in &published {
            let (x, y) = (self.px(*x), self.py(*y));
            taken.push(Area {
                left: x - 5.0,
                top: y - 5.0,
                right: x + 5.0,
                bottom: y + 5.0,
            });
        }
        for (x, y, words) in published {
            let at = (self.px(*x), self.py(*y));
            let width = words.chars().count() as f64 * CHARACTER;
            let best = self
                .places(at, width)
                .map(|area| {
                    let covered = data.iter().filter(|p| area.holds(**p)).count();
                    let clash = taken.iter().any(|other| area.overlaps(other));
                    (covered + if clash { 100_000 } else { 0 }, area)
                })
                .reduce(|best, other| if other.0 < best.0 { other } else { best });
            if let Some((_, area)) = best {
                taken.push(area);
                let at = (area.left + 1.0, area.bottom - 3.0);
                self.words(at, "tl halo m", "start", words);
                self.words(at, "tl m", "start", words);
            }
        }
    }

    /// Candidate positions for a label of this width, the nearest first; all inside the frame.
    fn places(&self, (x, y): Pixel, width: f64) -> impl Iterator<Item = Area> {
        let frame = self.frame;
        let right = x + 9.0;
        let left = x - 9.0 - width;
        let middle = x - width / 2.0;
        let far = [0.0, 12.0, 26.0, 42.0, 60.0, 84.0, 120.0];
        far.into_iter().flat_map(move |away| {
            [
                (right, y - 7.0 - away),
                (left, y - 7.0 - away),
                (right, y - 7.0 + away),
                (left, y - 7.0 + away),
                (middle, y - 22.0 - away),
                (middle, y + 8.0 + away),
            ]
            .into_iter()
            .map(move |(left, top)| {
                let left = left.clamp(
                    frame.left + 3.0,
                    (frame.right - width - 3.0).max(frame.left),
                );
                let top = top.clamp(frame.top + 3.0, frame.bottom - LINE - 3.0);
                Area {
                    left,
                    top,
                    right: left + width,
                    bottom: top + LINE,
                }
            })
        })
    }

    /// A sample of the pixels that the lines and dots of the layers cover.
    fn inked(&self, layers: &[PlotLayer]) -> Vec<Pixel> {
        let mut inked = Vec::new();
        for layer in layers {
            let pixels = match &layer.shape {
                Shape::Line(points) => thin::line(self.pixels(points.iter().copied())),
                Shape::Step(points) => thin::line(self.pixels(stairs(points.iter().copied()))),
                Shape::StepByCategory { points, .. } => {
                    let points = points.iter().map(|p| (p.0, p.1));
                    thin::line(self.pixels(stairs(points)))
                }
                Shape::Scatter(points) | Shape::Marks(points) => {
                    inked.extend(self.pixels(points.iter().copied()));
                    continue;
                }
                _ => continue,
            };
            inked.extend(pixels.first().copied());
            for pair in pixels.windows(2) {
                let (from, to) = (pair[0], pair[1]);
                let length = (to.0 - from.0).abs().max((to.1 - from.1).abs());
                let pieces = (length / 6.0).clamp(1.0, 400.0) as u32;
                inked.extend((1..=pieces).map(|piece| {
                    let share = f64::from(piece) / f64::from(pieces);
                    (
                        from.0 + (to.0 - from.0) * share,
                        from.1 + (to.1 - from.1) * share,
                    )
                }));
            }
        }
        inked
    }
}

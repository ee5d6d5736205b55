//! The selection to draw: flows, links, columns, a time range, and the size of the pictures.

use super::plot::{Plot, Shape};
use thiserror::Error;

/// The parts of a run to draw; the default is the overview and the first flows and links in detail.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlotSelection {
    /// Names of flows, `*` for any characters; all flows if empty.
    pub flows: Vec<String>,
    /// Names of directions of links, `*` for any characters; all if empty.
    pub links: Vec<String>,
    /// The start of the time shown, in seconds.
    pub from_s: Option<f64>,
    /// The end of the time shown, in seconds.
    pub to_s: Option<f64>,
    /// Columns of the tables, drawn one in each picture, in place of the default pictures.
    pub columns: Vec<String>,
    /// Width and height of each picture in pixels.
    pub size: Option<(f64, f64)>,
}

/// The reason why nothing can be drawn.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlotError {
    /// A name of no flow, link or column.
    #[error("no {what} is called \"{name}\", expected one of {known}")]
    Unknown {
        /// `flow`, `link` or `column`.
        what: &'static str,
        /// The requested name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// There is nothing to draw.
    #[error("{0}")]
    Nothing(String),
}

impl PlotSelection {
    /// True if flows or links are selected by name.
    pub(super) fn is_chosen(&self) -> bool {
        !self.flows.is_empty() || !self.links.is_empty()
    }

    /// Checks that each pattern matches a name.
    pub(super) fn check(
        what: &'static str,
        patterns: &[String],
        names: &[&str],
    ) -> Result<(), PlotError> {
        let unknown = patterns.iter().find(|pattern| {
            let mut names = names.iter();
            !names.any(|name| matches(pattern, name))
        });
        let Some(pattern) = unknown else {
            return Ok(());
        };
        let mut known: Vec<&str> = names.iter().take(12).copied().collect();
        if names.len() > known.len() {
            known.push("…");
        }
        Err(PlotError::Unknown {
            what,
            name: pattern.clone(),
            known: known.join(", "),
        })
    }

    /// Applies the selected time range and size to the plot; without an end, its time axis ends
    /// with the data.
    pub(super) fn apply(&self, plot: &mut Plot, end_s: f64) {
        if plot.is_over_time() && plot.x.range.is_none() {
            let from = self.from_s.unwrap_or(0.0);
            let to = self.to_s.unwrap_or(end_s).min(end_s);
            if to > from {
                for layer in &mut plot.layers {
                    let shape = std::mem::replace(&mut layer.shape, Shape::Rug(Vec::new()));
                    layer.shape = cut(shape, from, to);
                }
                plot.x.range = Some((from, to));
            }
        }
        plot.size = self.size.or(plot.size);
    }
}

/// True if one of the patterns matches this name, or there are no patterns.
pub(super) fn selects(patterns: &[String], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, name))
}

/// True if the name matches the pattern, in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(rest) = name.strip_prefix(head) else {
        return false;
    };
    let starts = rest.char_indices().map(|(place, _)| place);
    starts
        .chain([rest.len()])
        .any(|place| matches(tail, &rest[place..]))
}

/// The part of a shape between two times. A step curve gets points at both ends of the range.
fn cut(shape: Shape, from: f64, to: f64) -> Shape {
    let around = |points: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        let start = points.partition_point(|p| p.0 < from).saturating_sub(1);
        let end = (points.partition_point(|p| p.0 <= to) + 1).min(points.len());
        points.get(start..end).unwrap_or_default().to_vec()
    };
    let steps = |points: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        let mut points = around(points);
        while points.last().is_some_and(|p| p.0 > to) {
            points.pop();
        }
        if let Some(first) = points.first_mut() {
            first.0 = first.0.max(from);
        }
        if let Some(&(x, y)) = points.last()
            && x < to
        {
            points.push((to, y));
        }
        points
    };
    let inside = |x: f64| x >= from && x <= to;
    match shape {
        Shape::Line(points) => Shape::Line(around(points)),
        Shape::Scatter(mut points) => {
            points.retain(|p| inside(p.0));
            Shape::Scatter(points)
        }
        Shape::Step(points) => Shape::Step(steps(points)),
        Shape::Area(points) => Shape::Area(steps(points)),
        Shape::StepByCategory {
            mut points,
            categories,
        } => {
            let start = points.partition_point(|p| p.0 < from).saturating_sub(1);
            points.drain(..start);
            points.retain(|p| p.0 <= to);
            if let Some(first) = points.first_mut() {
                first.0 = first.0.max(from);
            }
            if let Some(&(_, y, number)) = points.last() {
                points.push((to, y, number));
            }
            Shape::StepByCategory { points, categories }
        }
        Shape::Ribbon(mut points) => {
            points.retain(|p| inside(p.0));
            Shape::Ribbon(points)
        }
        Shape::Rug(mut times) => {
            times.retain(|x| inside(*x));
            Shape::Rug(times)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("f-*", "f-10", true),
            ("*.backward", "wire.backward", true),
            ("*a*b", "xaxxb", true),
            ("*a*b", "xbxxa", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_cut_step_keeps_the_values_that_hold_at_its_ends() {
        let step = Shape::Step(vec![(0.0, 1.0), (2.0, 2.0), (4.0, 3.0), (6.0, 4.0)]);
        let expected = vec![(3.0, 2.0), (4.0, 3.0), (5.0, 3.0)];
        assert_eq!(cut(step, 3.0, 5.0), Shape::Step(expected));
        let constant = Shape::Step(vec![(0.0, 1.0), (9.0, 2.0)]);
        let expected = vec![(3.0, 1.0), (5.0, 1.0)];
        assert_eq!(cut(constant, 3.0, 5.0), Shape::Step(expected));
    }
}

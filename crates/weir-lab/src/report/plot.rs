//! A plot as data: two axes and layers of marks.

use super::axis::Axis;
use super::style::COLOURS;

/// One of the categorical colours, by number; numbers beyond the last start again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub usize);

impl Colour {
    pub(super) fn number(self) -> usize {
        self.0 % COLOURS
    }
}

/// Something drawn between the axes; later layers lie over earlier ones.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// Points joined by straight lines.
    Line {
        /// The legend's words; empty for none.
        name: String,
        /// x and y.
        points: Vec<(f64, f64)>,
        /// Its colour.
        colour: Colour,
        /// Dashed, as theory and limits are.
        dashed: bool,
    },
    /// A value that holds until the next point.
    Step {
        /// The legend's words; empty for none.
        name: String,
        /// x and y.
        points: Vec<(f64, f64)>,
        /// Its colour.
        colour: Colour,
    },
    /// A value that holds until the next point, each piece in the colour of its category.
    StepByCategory {
        /// x, y and the number of the category.
        points: Vec<(f64, f64, usize)>,
        /// The categories' names and colours.
        categories: Vec<(String, Colour)>,
    },
    /// Small dots.
    Scatter {
        /// The legend's words; empty for none.
        name: String,
        /// x and y.
        points: Vec<(f64, f64)>,
        /// Its colour.
        colour: Colour,
    },
    /// Bars from zero: left edge, right edge, height.
    Bars {
        /// The legend's words; empty for none.
        name: String,
        /// Left, right, height.
        bars: Vec<(f64, f64, f64)>,
        /// Its colour.
        colour: Colour,
    },
    /// A shaded range of x over the whole height.
    Band {
        /// The legend's words.
        name: String,
        /// From and to.
        x: (f64, f64),
    },
    /// A level line over the whole width, with its words at the line.
    Level {
        /// The words.
        label: String,
        /// Where.
        y: f64,
        /// Its colour.
        colour: Colour,
    },
    /// An upright line over the whole height.
    Upright {
        /// The legend's words; empty for none.
        name: String,
        /// Where.
        x: f64,
        /// Its colour.
        colour: Colour,
        /// Dashed.
        dashed: bool,
    },
    /// Published points: rings with words beside them.
    Published {
        /// x, y and the words.
        points: Vec<(f64, f64, String)>,
    },
}

impl Layer {
    /// The points that a range from the data must hold.
    pub(super) fn extent(&self) -> Vec<(f64, f64)> {
        match self {
            Self::Line { points, .. }
            | Self::Step { points, .. }
            | Self::Scatter { points, .. } => points.clone(),
            Self::StepByCategory { points, .. } => points.iter().map(|p| (p.0, p.1)).collect(),
            Self::Bars { bars, .. } => bars
                .iter()
                .flat_map(|(left, right, height)| [(*left, 0.0), (*right, *height)])
                .collect(),
            Self::Published { points } => points.iter().map(|p| (p.0, p.1)).collect(),
            Self::Band { x, .. } => vec![(x.0, f64::NAN), (x.1, f64::NAN)],
            Self::Level { y, .. } => vec![(f64::NAN, *y)],
            Self::Upright { x, .. } => vec![(*x, f64::NAN)],
        }
    }
}

/// A plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// The heading.
    pub title: String,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// What is drawn.
    pub layers: Vec<Layer>,
    /// Height in pixels; the width is always the page's.
    pub height: f64,
}

impl Plot {
    /// An empty plot of ordinary height.
    pub fn new(title: &str, x: Axis, y: Axis) -> Self {
        Self {
            title: title.to_owned(),
            x,
            y,
            layers: Vec::new(),
            height: 400.0,
        }
    }

    /// With one more layer on top.
    pub fn with(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }
}

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

/// Something drawn between the axes; later layers cover earlier ones.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotLayer {
    /// The words in the legend, or at the line of a [`Shape::Level`]; empty for none.
    pub name: String,
    /// Its colour; a band, published points and categories have their own.
    pub colour: Colour,
    /// Dashed lines stand for theory and limits.
    pub dashed: bool,
    /// What is drawn.
    pub shape: Shape,
}

/// What a layer draws; points are x and y.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Points joined by straight lines.
    Line(Vec<(f64, f64)>),
    /// A value that holds until the next point.
    Step(Vec<(f64, f64)>),
    /// A value that holds until the next point, each piece in the colour of its category.
    StepByCategory {
        /// x, y and the number of the category.
        points: Vec<(f64, f64, usize)>,
        /// The categories' names and colours.
        categories: Vec<(String, Colour)>,
    },
    /// Small dots.
    Scatter(Vec<(f64, f64)>),
    /// Upright bars from one value to another at an x: intervals of means.
    Spread(Vec<(f64, f64, f64)>),
    /// Bars from zero: left edge, right edge, height.
    Bars(Vec<(f64, f64, f64)>),
    /// A shaded range of x over the whole height.
    Band(f64, f64),
    /// A level line at this y over the whole width, with its words at the line.
    Level(f64),
    /// An upright line at this x over the whole height.
    Upright(f64),
    /// Published points: x, y and the words beside the ring.
    Published(Vec<(f64, f64, String)>),
}

impl PlotLayer {
    /// A layer with solid lines.
    pub fn new(name: &str, colour: Colour, shape: Shape) -> Self {
        Self {
            name: name.to_owned(),
            colour,
            dashed: false,
            shape,
        }
    }

    /// The same layer with dashed lines.
    pub fn dashed(self) -> Self {
        Self {
            dashed: true,
            ..self
        }
    }

    /// The classes of a line in the style sheet.
    pub(super) fn line_class(&self) -> String {
        let dash = if self.dashed { " dash" } else { "" };
        format!("s{}{dash}", self.colour.number())
    }
}

impl Shape {
    /// The points that a range taken from the data must hold.
    pub(super) fn extent(&self) -> Vec<(f64, f64)> {
        match self {
            Self::Line(points) | Self::Step(points) | Self::Scatter(points) => points.clone(),
            Self::StepByCategory { points, .. } => points.iter().map(|p| (p.0, p.1)).collect(),
            Self::Bars(bars) => bars
                .iter()
                .flat_map(|(left, right, height)| [(*left, 0.0), (*right, *height)])
                .collect(),
            Self::Spread(bars) => bars
                .iter()
                .flat_map(|(x, low, high)| [(*x, *low), (*x, *high)])
                .collect(),
            Self::Published(points) => points.iter().map(|p| (p.0, p.1)).collect(),
            Self::Band(from, to) => vec![(*from, f64::NAN), (*to, f64::NAN)],
            Self::Level(y) => vec![(f64::NAN, *y)],
            Self::Upright(x) => vec![(*x, f64::NAN)],
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
    pub layers: Vec<PlotLayer>,
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
    pub fn with(mut self, name: &str, colour: Colour, shape: Shape) -> Self {
        self.layers.push(PlotLayer::new(name, colour, shape));
        self
    }
}

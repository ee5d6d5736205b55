//! A plot as data: two axes and layers of marks.

use super::axis::Axis;
use super::style::COLOURS;

/// A categorical colour by its number.
///
/// Flows and curves use the colours from 0 on, bounds those from [`BOUNDS`](Self::BOUNDS) on, rules
/// those from [`LIMITS`](Self::LIMITS) on, so that no colour has two meanings. Beyond 30 the last
/// ten colours repeat, with another line pattern for each further ten numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub usize);

impl Colour {
    /// The first of the colours of bounds.
    pub const BOUNDS: usize = 10;
    /// The first of the colours of rules.
    pub const LIMITS: usize = 20;
    /// The colour of secondary data: samples, thresholds, published values.
    pub const BESIDE: Self = Self(7);

    pub(super) fn number(self) -> usize {
        let beyond = self.0.saturating_sub(Self::LIMITS);
        self.0.min(Self::LIMITS) + beyond % (COLOURS - Self::LIMITS)
    }

    /// The classes of a line in the style sheet: its colour and its pattern.
    pub(super) fn line_class(self) -> String {
        let pattern = self.0.saturating_sub(Self::LIMITS) / (COLOURS - Self::LIMITS);
        line_class(self.number(), pattern)
    }
}

fn line_class(colour: usize, dash: usize) -> String {
    match dash % 4 {
        0 => format!("s{colour}"),
        dash => format!("s{colour} dash{dash}"),
    }
}

/// A shape drawn between the axes; later layers cover earlier ones.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotLayer {
    /// The text in the legend; empty for none.
    pub name: String,
    /// Its colour; bands, published points and categories have their own.
    pub colour: Colour,
    /// The pattern of its lines: 0 solid, 1 to 3 dashed. Theory and limits are dashed.
    pub dash: usize,
    /// The shape of the marks on its lines, which distinguish curves without colour.
    pub marker: Option<usize>,
    /// The data to draw.
    pub shape: Shape,
}

/// An estimate with its interval in one or both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorBar {
    /// The estimate.
    pub at: (f64, f64),
    /// The ends of the interval on the horizontal axis.
    pub x: (f64, f64),
    /// The ends of the interval on the vertical axis.
    pub y: (f64, f64),
}

/// The shape of a layer; points are x and y.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Points joined by straight lines.
    Line(Vec<(f64, f64)>),
    /// A value that holds until the next point.
    Step(Vec<(f64, f64)>),
    /// A value that holds until the next point, with the area under it filled, so that a line of
    /// equal height remains visible.
    Area(Vec<(f64, f64)>),
    /// A value that holds until the next point, each piece in the colour of its category.
    StepByCategory {
        /// x, y and the number of the category.
        points: Vec<(f64, f64, usize)>,
        /// The categories' names and colours.
        categories: Vec<(String, Colour)>,
    },
    /// Small dots.
    Scatter(Vec<(f64, f64)>),
    /// Large marks, in the shape of the layer's marker.
    Marks(Vec<(f64, f64)>),
    /// Shaded squares: the more points lie in one, the darker it is.
    Density(Vec<(f64, f64)>),
    /// The area between two values at each x: x, low, high.
    Ribbon(Vec<(f64, f64, f64)>),
    /// Short ticks at the upper edge, at these x: events.
    Rug(Vec<f64>),
    /// Vertical bars between two values at an x: intervals of means.
    Spread(Vec<(f64, f64, f64)>),
    /// Intervals in both directions.
    Errors(Vec<ErrorBar>),
    /// Bars from zero: left edge, right edge, height.
    Bars(Vec<(f64, f64, f64)>),
    /// A shaded range of x over the whole height.
    Band(f64, f64),
    /// A level line at this y over the whole width.
    Level(f64),
    /// A vertical line at this x over the whole height.
    Upright(f64),
    /// Published points: x, y and the label beside the ring.
    Published(Vec<(f64, f64, String)>),
}

impl PlotLayer {
    /// A layer with solid lines.
    pub fn new(name: &str, colour: Colour, shape: Shape) -> Self {
        Self {
            name: name.to_owned(),
            colour,
            dash: 0,
            marker: None,
            shape,
        }
    }

    /// The same layer with dashed lines.
    pub fn dashed(self) -> Self {
        Self { dash: 1, ..self }
    }

    /// The layer of the curve with this number among several: its marks, and its dashes once the
    /// marks and colours repeat, distinguish it without colour.
    pub fn curve(self, number: usize) -> Self {
        Self {
            dash: number / MARKERS,
            marker: Some(number % MARKERS),
            ..self
        }
    }

    /// The classes of a line in the style sheet.
    pub(super) fn line_class(&self) -> String {
        line_class(self.colour.number(), self.dash)
    }
}

/// The number of mark shapes.
pub(super) const MARKERS: usize = 6;

impl Shape {
    /// The points that an automatic range must include.
    pub(super) fn extent(&self) -> Box<dyn Iterator<Item = (f64, f64)> + '_> {
        match self {
            Self::Line(points)
            | Self::Step(points)
            | Self::Area(points)
            | Self::Scatter(points)
            | Self::Density(points)
            | Self::Marks(points) => Box::new(points.iter().copied()),
            Self::StepByCategory { points, .. } => Box::new(points.iter().map(|p| (p.0, p.1))),
            Self::Bars(bars) => Box::new(
                bars.iter()
                    .flat_map(|(left, right, height)| [(*left, 0.0), (*right, *height)]),
            ),
            Self::Spread(bars) | Self::Ribbon(bars) => Box::new(
                bars.iter()
                    .flat_map(|(x, low, high)| [(*x, *low), (*x, *high)]),
            ),
            Self::Errors(bars) => Box::new(
                bars.iter()
                    .flat_map(|bar| [(bar.x.0, bar.y.0), (bar.x.1, bar.y.1)]),
            ),
            Self::Rug(times) => Box::new(times.iter().map(|x| (*x, f64::NAN))),
            Self::Published(points) => Box::new(points.iter().map(|p| (p.0, p.1))),
            Self::Band(from, to) => Box::new([(*from, f64::NAN), (*to, f64::NAN)].into_iter()),
            Self::Level(y) => Box::new(std::iter::once((f64::NAN, *y))),
            Self::Upright(x) => Box::new(std::iter::once((*x, f64::NAN))),
        }
    }
}

/// A strip below a plot on its horizontal axis that shows which category held at each time. Within
/// a pixel column the height of each category is its share of the column's time.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// The common name of the categories.
    pub name: String,
    /// Start, end, and the number of the category; in order.
    pub spans: Vec<(f64, f64, usize)>,
    /// The categories' names and colours.
    pub categories: Vec<(String, Colour)>,
}

/// A named range of the horizontal axis, drawn as a bar of its own below the plot: a finding of an
/// explanation.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// The text on the bar.
    pub name: String,
    /// Where it begins and ends.
    pub span: (f64, f64),
}

/// A plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// The heading.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The layers, the last one on top.
    pub layers: Vec<PlotLayer>,
    /// Strips below the plot on the same horizontal axis.
    pub strips: Vec<Strip>,
    /// Bars below the strips, which may overlap in time.
    pub episodes: Vec<Episode>,
    /// Height of the area between the axes in pixels, unless `size` is given.
    pub height: f64,
    /// Width and height of the whole picture in pixels, if not the default.
    pub size: Option<(f64, f64)>,
}

impl Plot {
    /// An empty plot of ordinary height.
    pub fn new(title: &str, x: Axis, y: Axis) -> Self {
        Self {
            title: title.to_owned(),
            x,
            y,
            layers: Vec::new(),
            strips: Vec::new(),
            episodes: Vec::new(),
            height: 320.0,
            size: None,
        }
    }

    /// Adds a layer on top.
    pub fn with(self, name: &str, colour: Colour, shape: Shape) -> Self {
        self.with_layer(PlotLayer::new(name, colour, shape))
    }

    /// Adds this layer on top.
    pub fn with_layer(mut self, layer: PlotLayer) -> Self {
        self.layers.push(layer);
        self
    }

    /// True if the horizontal axis is virtual time.
    pub(crate) fn is_over_time(&self) -> bool {
        self.x.is_time()
    }

    /// The range of the horizontal axis that is shown.
    pub(crate) fn shown(&self) -> (f64, f64) {
        self.axes().0.ends()
    }
}

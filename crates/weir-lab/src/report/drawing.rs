//! A picture: a plot with axes, or a network diagram.

use super::panels::Panels;
use super::plot::Plot;
use super::topology::Topology;

/// A picture that can be written as SVG.
#[derive(Clone, Debug, PartialEq)]
pub enum Drawing {
    /// Two axes and layers of marks.
    Plot(Box<Plot>),
    /// Plots one below the other.
    Panels(Panels),
    /// Hosts and the links between them.
    Topology(Topology),
}

impl From<Plot> for Drawing {
    fn from(plot: Plot) -> Self {
        Self::Plot(Box::new(plot))
    }
}

impl From<Panels> for Drawing {
    fn from(panels: Panels) -> Self {
        Self::Panels(panels)
    }
}

impl From<Topology> for Drawing {
    fn from(topology: Topology) -> Self {
        Self::Topology(topology)
    }
}

impl Drawing {
    /// The text of a standalone SVG file with a white background.
    pub fn svg(&self) -> String {
        match self {
            Self::Plot(plot) => plot.svg(),
            Self::Panels(panels) => panels.svg(),
            Self::Topology(topology) => topology.svg(),
        }
    }

    /// An element of a page that has [`page_style`](super::page_style). `id` must be unique among
    /// the page's pictures.
    pub fn element(&self, id: &str) -> String {
        match self {
            Self::Plot(plot) => plot.element(id),
            Self::Panels(panels) => panels.element(id),
            Self::Topology(topology) => topology.element(),
        }
    }

    /// The same for narrow screens.
    pub fn narrow_element(&self, id: &str) -> String {
        match self {
            Self::Plot(plot) => plot.narrow_element(id),
            Self::Panels(panels) => panels.narrow_element(id),
            Self::Topology(topology) => topology.narrow_element(),
        }
    }

    /// The heading.
    pub fn title(&self) -> &str {
        match self {
            Self::Plot(plot) => &plot.title,
            Self::Panels(panels) => &panels.title,
            Self::Topology(topology) => &topology.title,
        }
    }

    /// The plot, if it is one.
    pub fn plot(&self) -> Option<&Plot> {
        match self {
            Self::Plot(plot) => Some(plot),
            Self::Panels(_) | Self::Topology(_) => None,
        }
    }
}

/// A picture with the name of its file and a sentence below it.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPlot {
    /// The file's name without its ending.
    pub name: String,
    /// The sentence below the picture.
    pub caption: String,
    /// The picture.
    pub drawing: Drawing,
}

impl NamedPlot {
    /// A plot or another picture under this name.
    pub fn new(name: &str, caption: &str, drawing: impl Into<Drawing>) -> Self {
        Self {
            name: name.to_owned(),
            caption: caption.to_owned(),
            drawing: drawing.into(),
        }
    }
}

//! Plots and the HTML report.
//!
//! A [`Plot`] is data: axes with units and layers of marks. [`Plot::svg`] writes it as SVG, the
//! same bytes for the same data on every platform; [`png()`] rasterises that text with a font
//! that is compiled in, [`pdf()`] writes it as a page of a document. [`page`] writes one HTML file
//! that opens from disk without a network and is complete without its script.
//! [`pictures_of`] draws what a run's tables hold, [`comparison`] several runs.
//!
//! Does not model: layouts that depend on the fonts of the reader's machine. Text widths are upper
//! estimates, so that labels are not clipped.

mod axis;
mod canvas;
mod columns;
mod comparison;
mod drawing;
mod flow_plots;
#[cfg(feature = "files")]
mod folder;
mod labels;
mod layers;
mod legend;
#[cfg(feature = "files")]
mod load;
mod media_plots;
mod network;
mod overview;
pub mod page;
mod panels;
#[cfg(feature = "files")]
mod pdf;
mod plot;
#[cfg(feature = "files")]
mod png;
mod queues;
mod rules;
mod run_pictures;
mod selection;
mod series;
mod service;
mod style;
mod subjects;
mod svg;
mod thin;
mod topology;
mod window_plots;

pub use axis::{Axis, Scale};
pub use canvas::shortened;
pub use comparison::comparison;
pub use drawing::{Drawing, NamedPlot};
pub use flow_plots::{
    packet_interval, packets_per_second, plots_of_flow, rate_by_limit, round_trip_time,
};
#[cfg(feature = "files")]
pub use folder::{ReportError, ReportFolder};
pub use panels::Panels;
#[cfg(feature = "files")]
pub use pdf::{PdfError, pdf};
pub use plot::{Colour, Episode, ErrorBar, Plot, PlotLayer, Shape, Strip};
#[cfg(feature = "files")]
pub use png::{PngError, png};
pub use run_pictures::{RunPictures, Section, pictures_of};
pub use selection::{PlotError, PlotSelection};
pub use style::{page_style, palette, standalone_style};
pub use subjects::PlotData;
pub use topology::Topology;
pub use window_plots::{SawtoothOverlay, WINDOW_ROUNDS, window_sawtooth};

#[cfg(all(test, feature = "files"))]
mod layout_tests;
#[cfg(all(test, feature = "files"))]
mod page_tests;
#[cfg(test)]
mod picture_tests;
#[cfg(test)]
mod tests;

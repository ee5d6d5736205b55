//! Plots and the HTML report.
//!
//! A [`Plot`] is data: axes with units and layers of marks. [`Plot::svg`] writes it as SVG, the
//! same bytes for the same data on every platform; [`png()`] rasterises that text with a font
//! that is compiled in. [`page`] writes one HTML file that opens from disk without a network.
//! [`plots_of`] draws what a run's trace holds.
//!
//! Not here: interaction, and any layout that depends on the fonts of the reader's machine; text
//! widths are estimated on the wide side, so that labels are not clipped.

mod axis;
mod canvas;
mod flow_plots;
mod legend;
pub mod page;
mod plot;
#[cfg(feature = "files")]
mod png;
mod style;
mod svg;

pub use axis::{Axis, Scale};
pub use flow_plots::{
    MAX_PLOTTED, NamedPlot, SawtoothOverlay, WINDOW_ROUNDS, packet_interval, packets_per_second,
    plots_of, plots_of_flow, rate_by_limit, round_trip_time, window_sawtooth,
};
pub use plot::{Colour, Plot, PlotLayer, Shape};
#[cfg(feature = "files")]
pub use png::{PngError, png};
pub use style::{page_style, standalone_style};

#[cfg(test)]
mod tests;

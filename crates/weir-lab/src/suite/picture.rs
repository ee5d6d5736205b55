//! The picture of a run of a case.

use super::evidence::Evidence;
use crate::report::{Axis, Colour, NamedPlot, Plot, Shape};
use std::sync::Arc;

/// The window coloured by the controller's state, with the octets in flight.
pub(super) fn plot(name: &str, evidence: &Evidence, trigger_s: Option<f64>) -> Option<NamedPlot> {
    let times = evidence.table.as_numbers("time_s")?;
    let windows = evidence.table.as_numbers("cwnd_bytes")?;
    let in_flight = evidence.table.as_numbers("bytes_in_flight")?;
    let states = evidence.table.words("state")?;
    let mut names: Vec<Arc<str>> = Vec::new();
    let points = times.iter().zip(windows.iter()).zip(states);
    let points = points.map(|((time, window), state)| {
        let number = names.iter().position(|name| name == state);
        let number = number.unwrap_or_else(|| {
            names.push(state.clone());
            names.len() - 1
        });
        (*time, *window, number)
    });
    let points: Vec<_> = points.collect();
    let categories = names.iter().enumerate().map(|(number, state)| {
        let colour = Colour(Colour::BOUNDS + number % 8);
        (state.replace('_', " "), colour)
    });
    let categories = categories.collect();
    let flight = times.iter().zip(in_flight.iter());
    let flight = flight.map(|(time, octets)| (*time, *octets)).collect();
    let highest = in_flight.iter().chain(points.iter().map(|point| &point.1));
    let y = Axis::linear("window and in flight, bytes", "bytes").by_range(highest.copied());
    let mut plot = Plot::new(name, Axis::time(), y.from_zero())
        .with("in flight", Colour(7), Shape::Area(flight))
        .with("", Colour(0), Shape::StepByCategory { points, categories });
    if let Some(at) = trigger_s {
        plot = plot.with("the change", Colour(1), Shape::Upright(at));
    }
    let caption = "The congestion window in the colour of the controller's state, and the octets in \
                   flight.";
    Some(NamedPlot::new(name, caption, plot))
}

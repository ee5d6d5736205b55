//! The pictures of media flows: target rate, sending rate, the delays that a media controller
//! measures, and the delays of frames.

use super::axis::Axis;
use super::drawing::NamedPlot;
use super::plot::{Colour, Plot, Shape};
use super::series::{points, time_axis};
use crate::table::Table;

/// The additional pictures of a flow's trace and of the frames of its video.
pub(super) fn plots_of_media(
    flow: &str,
    table: &Table,
    frames: Option<&Table>,
    colour: Colour,
) -> Vec<NamedPlot> {
    let title = |words: &str| format!("{flow}: {words}");
    let plots = [
        (
            "media",
            "The rate that the controller asks of the encoder, and the rate at which packets leave \
             the sender.",
            media_rates(table, &title("target rate and sending rate"), colour),
        ),
        (
            "signal",
            "The queueing delay as the sender measures it, and the congestion signal, which has \
             losses and marks in it.",
            media_delays(
                table,
                &title("queueing delay and congestion signal"),
                colour,
            ),
        ),
        (
            "frames",
            "Each frame of video at its capture: how long until its last packet had arrived. A \
             frame of which a packet is missing has no dot.",
            frames.and_then(|frames| frame_delays(frames, &title("frame delay"), colour)),
        ),
    ];
    let drawn = plots.into_iter().filter_map(|(name, caption, plot)| {
        Some(NamedPlot::new(&format!("{flow}-{name}"), caption, plot?))
    });
    drawn.collect()
}

/// The points that have a value; `None` if there is none.
fn known(table: &Table, column: &str) -> Option<Vec<(f64, f64)>> {
    let points = points(table, column)?.into_iter();
    let known: Vec<_> = points.filter(|point| point.1.is_finite()).collect();
    (!known.is_empty()).then_some(known)
}

/// r_vin and r_send.
fn media_rates(table: &Table, title: &str, colour: Colour) -> Option<Plot> {
    let target = known(table, "target_rate_bps")?;
    let send = known(table, "pacing_rate_bps")?;
    let axis = Axis::linear("payload, bit/s", "bit/s");
    let plot = Plot::new(title, time_axis(), axis);
    let plot = plot.with("sending rate", Colour::BESIDE, Shape::Step(send));
    Some(plot.with("target of the encoder", colour, Shape::Step(target)))
}

/// d_queue and x_curr.
fn media_delays(table: &Table, title: &str, colour: Colour) -> Option<Plot> {
    let queue = known(table, "queue_delay_s")?;
    let signal = known(table, "congestion_signal_s")?;
    let axis = Axis::linear("delay, s", "s");
    let plot = Plot::new(title, time_axis(), axis);
    let plot = plot.with("congestion signal", Colour::BESIDE, Shape::Step(signal));
    Some(plot.with("queueing delay", colour, Shape::Step(queue)))
}

/// The delay of each complete frame.
fn frame_delays(frames: &Table, title: &str, colour: Colour) -> Option<Plot> {
    let delays = known(frames, "frame_delay_s")?;
    let axis = Axis::linear("from capture to the last packet, s", "s");
    Some(Plot::new(title, time_axis(), axis).with("", colour, Shape::Scatter(delays)))
}

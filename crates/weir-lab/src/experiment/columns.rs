//! Columns of a flow's trace that a series may show: their axes.

use crate::report::Axis;

/// A column, what its axis says, the unit, and the factor from the trace's unit to the axis's.
struct Column(&'static str, &'static str, &'static str, f64);

const COLUMNS: &[Column] = &[
    Column("allowed_rate_bps", "allowed rate X, bit/s", "bit/s", 1.0),
    Column(
        "equation_rate_bps",
        "rate of the equation X_calc, bit/s",
        "bit/s",
        1.0,
    ),
    Column(
        "receive_rate_bps",
        "receive rate X_recv, bit/s",
        "bit/s",
        1.0,
    ),
    Column("loss_event_rate", "loss event rate p, %", "%", 100.0),
    Column("rtt_s", "round-trip time, sample, s", "s", 1.0),
    Column("smoothed_rtt_s", "round-trip time R, s", "s", 1.0),
    Column("ipi_s", "time between two packets t_ipi, s", "s", 1.0),
    Column("cwnd_bytes", "congestion window, bytes", "bytes", 1.0),
    Column("silence_s", "music that was not heard so far, s", "s", 1.0),
];

fn find(name: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.0 == name)
}

/// Whether these columns can share an axis.
///
/// # Errors
/// No column, one that no plot knows, or different units.
pub(super) fn check(names: &[String]) -> Result<(), String> {
    let mut units = Vec::new();
    for name in names {
        let known = || COLUMNS.iter().map(|c| c.0).collect::<Vec<_>>().join(", ");
        let column = find(name).ok_or_else(|| format!("of: \"{name}\" is none of {}", known()))?;
        units.push(column.2);
    }
    match units.first() {
        None => Err("a series needs of = [\"COLUMN\", …]".to_owned()),
        Some(first) if units.iter().any(|unit| unit != first) => {
            Err("of: the columns have different units".to_owned())
        }
        Some(_) => Ok(()),
    }
}

/// The axis of these columns.
pub(super) fn axis(names: &[String], log: bool) -> Option<Axis> {
    let first = find(names.first()?)?;
    let label = match names {
        [_] => first.1.to_owned(),
        _ if first.2 == "bit/s" => "rate, bit/s".to_owned(),
        _ => format!("time, {}", first.2),
    };
    Some(if log {
        Axis::log(&label, first.2)
    } else {
        Axis::linear(&label, first.2)
    })
}

/// A column's short name in a legend.
pub(super) fn short_name(name: &str) -> &str {
    match name {
        "allowed_rate_bps" => "X",
        "equation_rate_bps" => "X_calc",
        "receive_rate_bps" => "X_recv",
        "loss_event_rate" => "p",
        "rtt_s" => "sample",
        "smoothed_rtt_s" => "R",
        other => other,
    }
}

/// From the trace's unit to the axis's.
pub(super) fn scale(name: &str) -> f64 {
    find(name).map_or(1.0, |column| column.3)
}

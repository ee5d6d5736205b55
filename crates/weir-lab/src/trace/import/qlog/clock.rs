//! One clock for all connections of a file.

use super::connections::Connection;
use weir_proto::time::Instant;

/// Traces of one file that begin farther apart than this, in seconds, have no clock in common.
const MAX_DISTANCE_S: f64 = 86_400.0;

/// A time in seconds to the nanosecond, which takes away the error of a sum of decimal fractions;
/// negative times and NaN are zero.
pub(super) const fn instant(seconds: f64) -> Instant {
    Instant::from_nanos((seconds * 1e9).round() as u64)
}

/// Lets all times count from the earliest event of the file. Traces whose references are given
/// count from the same moment. Returns false if the connections have no clock in common, so that
/// the times of each count from its own first event.
pub(super) fn set_to_zero(connections: &mut [Connection]) -> bool {
    let bases: Vec<f64> = connections.iter().map(base).collect();
    let least = bases.iter().copied().fold(f64::INFINITY, f64::min);
    let first = |connection: &Connection| connection.records.first().map(|record| record.0);
    let begins = connections.iter().zip(&bases);
    let begins = begins.filter_map(|(one, base)| Some(first(one)? + (base - least)));
    let (mut earliest, mut latest) = (f64::INFINITY, f64::NEG_INFINITY);
    for begin in begins {
        earliest = earliest.min(begin);
        latest = latest.max(begin);
    }
    let common = latest - earliest <= MAX_DISTANCE_S;
    for (connection, base) in connections.iter_mut().zip(&bases) {
        let zero = if common {
            earliest - (base - least)
        } else {
            first(connection).unwrap_or_default()
        };
        for (time, _) in &mut connection.records {
            *time -= zero;
        }
    }
    common
}

/// The reference of the times in seconds, if they are small enough to count from it.
fn base(connection: &Connection) -> f64 {
    let reference = connection.head.reference.unwrap_or_default() * connection.head.unit_s();
    let first = connection.records.first().map_or(0.0, |record| record.0);
    // A writer of absolute times may give a reference all the same.
    if first >= reference && reference > 0.0 {
        0.0
    } else {
        reference
    }
}

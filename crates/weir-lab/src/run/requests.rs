//! Requests of a client and the responses to them: the summary, the columns of `requests/NAME` and
//! the table.

use super::statistics::{Distribution, total};
use crate::table::{ColumnSpec, Table, TableRecorder};
use serde::{Deserialize, Serialize};
use weir_net::app::RequestRecord;
use weir_proto::time::{Duration, Instant};

/// The requests of a flow that began after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestSummary {
    /// How many began.
    pub requests: u64,
    /// Of these, those whose whole response came before the end of the run.
    pub completed: u64,
    /// How long those took, from the first byte of the request to the last of the response, in
    /// seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time_s: Option<Distribution>,
    /// The mean size of the requests, in bytes.
    pub request_bytes_mean: f64,
    /// The mean size of the responses, in bytes.
    pub response_bytes_mean: f64,
}

impl RequestSummary {
    /// Of those that began from this time on.
    pub(super) fn of(requests: &[RequestRecord], from: Instant) -> Self {
        let begun = || requests.iter().filter(|request| request.start >= from);
        let times = || begun().filter_map(time);
        let count = begun().count() as u64;
        let mean = |size: fn(&RequestRecord) -> u64| {
            total(begun().map(|request| size(request) as f64)) / (count.max(1) as f64)
        };
        Self {
            requests: count,
            completed: times().count() as u64,
            completion_time_s: Distribution::of(times().map(Duration::as_secs_f64)),
            request_bytes_mean: mean(|request| request.request),
            response_bytes_mean: mean(|request| request.response),
        }
    }
}

/// How long a request took that was answered.
fn time(request: &RequestRecord) -> Option<Duration> {
    Some(request.completed?.since(request.start))
}

/// A column of [`REQUEST`].
pub type RequestColumn = ColumnSpec<RequestRecord>;

/// `requests/NAME`: a row for each request, in the order of their starts.
pub const REQUEST: &[RequestColumn] = &[
    RequestColumn::number(
        "start_s",
        "s",
        "when the first byte of the request was written, since the start of the run",
        &|row| row.start.as_secs_f64(),
    ),
    RequestColumn::count(
        "request_bytes",
        "bytes",
        "the size of the request",
        &|row| row.request,
    ),
    RequestColumn::count(
        "response_bytes",
        "bytes",
        "the size of the response",
        &|row| row.response,
    ),
    RequestColumn::number(
        "completion_time_s",
        "s",
        "from then until the last byte of the response was read; none if that was after the end \
         of the run",
        &|row| time(row).map_or(f64::NAN, Duration::as_secs_f64),
    ),
];

/// `requests/NAME`.
pub(super) fn request_table(requests: &[RequestRecord]) -> Table {
    let mut table = TableRecorder::new(REQUEST);
    for request in requests {
        table.push(request);
    }
    table.finish()
}

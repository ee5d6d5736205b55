//! Requests of a client and the responses to them: the columns of `requests/NAME` and the table.

use crate::summary::time_of_request;
use crate::table::{ColumnSpec, Table, TableRecorder};
use weir_net::app::RequestRecord;
use weir_proto::time::Duration;

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
        &|row| time_of_request(row).map_or(f64::NAN, Duration::as_secs_f64),
    ),
];

/// `requests/NAME`.
pub(in crate::run) fn request_table(requests: &[RequestRecord]) -> Table {
    let mut table = TableRecorder::new(REQUEST);
    for request in requests {
        table.push(request);
    }
    table.finish()
}

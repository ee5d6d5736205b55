//! The summary of a client's requests and their responses.

use super::measure::measures;
use super::statistics::{Distribution, total};
use weir_net::app::RequestRecord;
use weir_proto::time::{Duration, Instant};

measures! {
    /// The requests of a flow that began after the warm-up.
    #[derive(Copy)]
    pub struct RequestSummary {
        /// Requests that began after the warm-up.
        pub requests: u64 => unit("requests"),
        /// Of these, requests whose whole response came before the end of the run.
        pub completed: u64 => unit("requests"),
        /// How long those took, from the first byte of a request to the last of its response.
        pub completion_time_s: Option<Distribution> => unit("s").lower().shown(&[
            ("p50", "request, median", 290), ("p95", "request, 95 %", 300),
        ]),
        /// The mean size of the requests.
        pub request_bytes_mean: f64 => unit("bytes").expected(Expected::WithoutUnit),
        /// The mean size of the responses.
        pub response_bytes_mean: f64 => unit("bytes").expected(Expected::WithoutUnit),
    }
}

impl RequestSummary {
    /// The summary of the requests that began at or after this time.
    pub(crate) fn of(requests: &[RequestRecord], from: Instant) -> Self {
        let begun = || requests.iter().filter(|request| request.start >= from);
        let times = || begun().filter_map(time_of_request);
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

/// The completion time of a request with a complete response.
pub(crate) fn time_of_request(request: &RequestRecord) -> Option<Duration> {
    Some(request.completed?.since(request.start))
}

//! The completion of a transfer, and the end of its connection.

use weir_net::AppStatistics;
use weir_proto::endpoint::CloseReason;
use weir_proto::time::Instant;

/// The time at which the last octet was delivered, from the statistics of source and sink. `None`
/// unless the source had a finite amount to write and all of it has arrived, or, for datagrams, all
/// that was not lost: then the connection has ended normally.
pub(in crate::run) fn completed_at([source, sink]: &[AppStatistics; 2]) -> Option<Instant> {
    let all_read = sink.bytes_read >= source.bytes_written;
    let is_complete = source.finished && (all_read || sink.closed == Some(CloseReason::Finished));
    sink.last_read_at.filter(|_| is_complete)
}

/// The end of the connection: its last data, or its failure. `None` while it is alive.
pub(in crate::run) fn over_at(ends: &[AppStatistics; 2]) -> Option<Instant> {
    let [source, sink] = ends;
    completed_at(ends).or_else(|| match source.closed.or(sink.closed)? {
        CloseReason::Finished => sink.last_read_at.or(source.closed_at),
        CloseReason::Reset(_) | CloseReason::TimedOut => source.closed_at.or(sink.closed_at),
    })
}

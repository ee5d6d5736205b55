//! When a transfer is complete, and when its connection was over.

use weir_net::AppStatistics;
use weir_proto::endpoint::CloseReason;
use weir_proto::time::Instant;

/// When the last octet was delivered, by what source and sink have come to. `None` unless the
/// source had so much to write and no more, and all of it has come, or, of datagrams, all that was
/// not lost: then the connection has ended in good order.
pub(in crate::run) fn completed_at([source, sink]: &[AppStatistics; 2]) -> Option<Instant> {
    let all_read = sink.bytes_read >= source.bytes_written;
    let is_complete = source.finished && (all_read || sink.closed == Some(CloseReason::Finished));
    sink.last_read_at.filter(|_| is_complete)
}

/// When the connection was over: with its last data, or when it failed. `None` while it is alive.
pub(in crate::run) fn over_at(ends: &[AppStatistics; 2]) -> Option<Instant> {
    let [source, sink] = ends;
    completed_at(ends).or_else(|| match source.closed.or(sink.closed)? {
        CloseReason::Finished => sink.last_read_at.or(source.closed_at),
        CloseReason::Reset(_) | CloseReason::TimedOut => source.closed_at.or(sink.closed_at),
    })
}

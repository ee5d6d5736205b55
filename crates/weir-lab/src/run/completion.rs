//! When a transfer is complete.

use weir_net::AppStatistics;
use weir_proto::endpoint::CloseReason;

/// True if the application had so much to write and no more, and all of it has come, or, of
/// datagrams, all that was not lost: then the connection has ended in good order.
pub(super) fn is_complete(source: &AppStatistics, sink: &AppStatistics) -> bool {
    let all_read = sink.bytes_read >= source.bytes_written;
    source.finished && (all_read || sink.closed == Some(CloseReason::Finished))
}

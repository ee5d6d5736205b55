//! The columns of `transfers/NAME`.

use crate::scenario::Transfer;
use crate::table::ColumnSpec;
use weir_proto::time::Duration;

/// A column of [`TRANSFER`].
pub type TransferColumn = ColumnSpec<TransferRow>;

/// A transfer over a connection of its own.
#[derive(Clone, Copy, Debug)]
pub struct TransferRow {
    pub(in crate::run) transfer: Transfer,
    /// `None` if the transfer was not complete at the end of the run.
    pub(in crate::run) completion: Option<Duration>,
}

/// `transfers/NAME`: a row for each transfer, in the order of their starts.
pub const TRANSFER: &[TransferColumn] = &[
    TransferColumn::number(
        "start_s",
        "s",
        "when the connection was opened, since the start of the run",
        &|row| row.transfer.start.as_secs_f64(),
    ),
    TransferColumn::count("size_bytes", "bytes", "its size", &|row| row.transfer.bytes),
    TransferColumn::number(
        "completion_time_s",
        "s",
        "from the opening of the connection to the delivery of the last octet; none if that was \
         after the end of the run",
        &|row| row.completion.map_or(f64::NAN, Duration::as_secs_f64),
    ),
];

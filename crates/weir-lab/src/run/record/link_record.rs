//! The rows of a direction of a link.

use crate::run::columns::LinkRow;
use crate::table::TableRecorder;
use std::sync::Arc;
use weir_proto::event::{Event, QueueChange};
use weir_proto::time::Instant;

/// The records of a direction of a link.
pub(super) struct LinkRecord {
    pub(super) name: Arc<str>,
    pub(super) now: LinkRow,
    /// `None` if links are not traced.
    pub(super) rows: Option<TableRecorder<LinkRow>>,
}

impl LinkRecord {
    /// Takes events; returns the time of the last, and the number of new rows.
    pub(super) fn on_events(&mut self, events: &[(Instant, Event)]) -> Option<(Instant, u64)> {
        let (row, rows) = (&mut self.now, self.rows.as_mut()?);
        let mut appended = 0;
        let mut next = events.iter().map(|(at, _)| *at);
        next.next();
        for (at, event) in events {
            match *event {
                Event::Queue { packets, bytes } => {
                    (row.queue_packets, row.queue_bytes) = (packets, bytes);
                }
                Event::FrameRate { kbps } => row.frame_rate_kbps = kbps,
                Event::Drop { .. } => row.drops += 1,
                Event::EcnMark { .. } => row.marks += 1,
                _ => {}
            }
            row.at = *at;
            // One row for each time, with the state after its last event: a burst that arrives at
            // once is one change.
            if next.next() != Some(*at) && rows.push_or_replace(row, |last| last.at == *at) {
                appended += 1;
            }
        }
        events.last().map(|(at, _)| (*at, appended))
    }

    /// Takes changes of the queue; returns the time of the last, and the number of new rows.
    pub(super) fn on_changes(&mut self, changes: &[QueueChange]) -> Option<(Instant, u64)> {
        let (row, rows) = (&mut self.now, self.rows.as_mut()?);
        let before = *row;
        let mut appended = 0;
        for &QueueChange { at, packets, bytes } in changes {
            let row = LinkRow {
                at,
                queue_packets: packets,
                queue_bytes: bytes,
                ..before
            };
            // One row for each time, with its last state.
            if rows.push_or_replace(&row, |last| last.at == at) {
                appended += 1;
            }
        }
        let &QueueChange { at, packets, bytes } = changes.last()?;
        row.at = at;
        (row.queue_packets, row.queue_bytes) = (packets, bytes);
        Some((at, appended))
    }
}

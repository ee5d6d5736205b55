//! What the acknowledgements of a flow of Weir's QUIC report, from the run's table of packets.
//!
//! The table has no frames. A packet that carries an acknowledgement alone (content
//! `acknowledgement`) reports the newest ranges of what its sender had received until then, at most
//! as many as the scenario permits (RFC 9000 §13.2.3), which the rows before it say.
//!
//! Does not model: acknowledgements beside other frames, of which the table does not tell; packets
//! below the reported ranges, which arrive late and are never reported.

use crate::table::Table;
use std::collections::BTreeMap;
use std::sync::Arc;
use weir_proto::ranges::RangeSet;

/// First and last packet number of each reported range, the highest first.
pub(super) type AckedRanges = Arc<[[u64; 2]]>;

/// The columns of `packets` that are read; each has a word or number for each row.
struct PacketColumns<'a> {
    numbers: &'a [f64],
    places: &'a [Arc<str>],
    names: &'a [Arc<str>],
    events: &'a [Arc<str>],
    contents: &'a [Arc<str>],
    types: &'a [Arc<str>],
}

/// The ranges of each acknowledgement by its row, where it is sent and where it is received.
pub(super) fn acknowledgements(
    packets: &Table,
    flow: &str,
    max_ranges: usize,
) -> BTreeMap<usize, AckedRanges> {
    let mut found = BTreeMap::new();
    let words = |name| packets.words(name).unwrap_or_default();
    let Some(numbers) = packets.as_numbers("number") else {
        return found;
    };
    let columns = PacketColumns {
        numbers: &numbers,
        places: words("place"),
        names: words("name"),
        events: words("event"),
        contents: words("content"),
        types: words("packet_type"),
    };
    let mut received: BTreeMap<[&str; 2], RangeSet> = BTreeMap::new();
    let mut sent: BTreeMap<([&str; 2], u64), AckedRanges> = BTreeMap::new();
    for row in 0..packets.rows() {
        let Some(packet) = columns.packet(row).filter(|packet| packet.flow == flow) else {
            continue;
        };
        let [this, other] = match packet.place {
            "sender" => ["sender", "receiver"],
            "receiver" => ["receiver", "sender"],
            _ => continue,
        };
        let is_ack = packet.content == "acknowledgement";
        match packet.event {
            "received" => {
                let space = received.entry([this, packet.packet_type]).or_default();
                space.insert(packet.number..packet.number.saturating_add(1));
                let key = ([other, packet.packet_type], packet.number);
                if let Some(ranges) = sent.get(&key).filter(|_| is_ack) {
                    found.insert(row, Arc::clone(ranges));
                }
            }
            "sent" if is_ack => {
                let Some(space) = received.get(&[this, packet.packet_type]) else {
                    continue;
                };
                let newest = space.descending().take(max_ranges);
                let ranges: AckedRanges =
                    newest.map(|range| [range.start, range.end - 1]).collect();
                sent.insert(
                    ([this, packet.packet_type], packet.number),
                    Arc::clone(&ranges),
                );
                found.insert(row, ranges);
            }
            _ => {}
        }
    }
    found
}

struct PacketOfRow<'a> {
    number: u64,
    place: &'a str,
    flow: &'a str,
    event: &'a str,
    content: &'a str,
    packet_type: &'a str,
}

impl<'a> PacketColumns<'a> {
    /// The packet of a row; `None` if it has no number or a column is missing.
    fn packet(&self, row: usize) -> Option<PacketOfRow<'a>> {
        Some(PacketOfRow {
            number: self
                .numbers
                .get(row)
                .filter(|number| number.is_finite())
                .copied()? as u64,
            place: self.places.get(row)?,
            flow: self.names.get(row)?,
            event: self.events.get(row)?,
            content: self.contents.get(row)?,
            packet_type: self.types.get(row)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, Values};

    /// Packets 0, 1 and 3 arrive before the first acknowledgement, and 2 before the second, whose
    /// ranges join: worked by hand.
    #[test]
    fn an_acknowledgement_reports_what_its_sender_received_before_it() {
        let rows = [
            ("receiver", "received", "data", 0.0),
            ("receiver", "received", "data", 1.0),
            ("receiver", "received", "data", 3.0),
            ("receiver", "sent", "acknowledgement", 0.0),
            ("receiver", "received", "data", 2.0),
            ("sender", "received", "acknowledgement", 0.0),
            ("receiver", "sent", "acknowledgement", 1.0),
            ("receiver", "sent", "control", 2.0),
        ];
        let words = |name: &str,
                     value: fn(
            &(&'static str, &'static str, &'static str, f64),
        ) -> &'static str| Column {
            name: name.to_owned(),
            values: Values::Text(rows.iter().map(|row| value(row).into()).collect()),
        };
        let table = Table {
            columns: vec![
                Column {
                    name: "number".to_owned(),
                    values: Values::F64(rows.iter().map(|row| row.3).collect()),
                },
                words("place", |row| row.0),
                words("event", |row| row.1),
                words("content", |row| row.2),
                words("name", |_| "flow"),
                words("packet_type", |_| "1RTT"),
            ],
        };
        let found = acknowledgements(&table, "flow", 32);
        let first: &[[u64; 2]] = &[[3, 3], [0, 1]];
        let of = |row: usize| found.get(&row).map(|ranges| &**ranges);
        assert_eq!(of(3), Some(first));
        assert_eq!(of(5), Some(first), "where it is received");
        assert_eq!(of(6), Some(&[[0, 3]][..]));
        assert_eq!(found.len(), 3, "a packet of control is not one");
        // Only the newest range.
        let newest = acknowledgements(&table, "flow", 1);
        assert_eq!(newest.get(&3).map(|ranges| &**ranges), Some(&[[3, 3]][..]));
        assert!(acknowledgements(&table, "another", 32).is_empty());
    }
}

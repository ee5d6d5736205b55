//! `[[flow]]` and its application: the keys of the traffic.

use super::model::{Application, Flow};
use super::value::{BitRate, Choice, Count, Name, Octets, OrWord};
use super::visit::{Need, Section, Variants, Visitor};
use weir_net::app::{BulkConfig, CbrConfig, WhenBlocked};
use weir_proto::time::Duration;

impl Section for Flow {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let (required, optional) = (Need::Required, Need::Optional);
        let doc = "The name that traces and options use.";
        v.value("name", doc, required, &mut Name(&mut self.name));
        let doc = "So many flows of the same kind, called NAME-1, NAME-2 and so on.";
        let count = &mut Count {
            slot: &mut self.count,
            min: 1,
            max: super::check::MAX_FLOWS,
            unit: "flows",
        };
        v.value("count", doc, optional, count);
        let doc = "The host that sends the data.";
        v.value("from", doc, required, &mut Name(&mut self.from));
        let doc = "The host that receives the data.";
        v.value("to", doc, required, &mut Name(&mut self.to));
        let doc = "The protocol that carries the data.";
        v.variants("transport", doc, required, &mut self.transport);
        let doc = "What writes the data. Bulk with packets of 1400 bytes if nothing is said.";
        v.variants("app", doc, optional, &mut self.app);
        let doc = "What the sender's packets suffer at its socket, before the wire.";
        v.variants("loss", doc, optional, &mut self.loss);
        let doc = "When the connection is opened.";
        v.value("start", doc, optional, &mut self.start);
        let stop = &mut OrWord {
            slot: &mut self.stop,
            word: "never",
            inner: |slot| Box::new(slot),
        };
        let doc = "When the sender stops writing; \"never\" before the end of the run.";
        v.value("stop", doc, optional, stop);
    }
}

impl Variants for Application {
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("bulk", "Writes as much as the transport takes."),
            (
                "cbr",
                "Writes at constant intervals of packet * 8 / rate seconds.",
            ),
        ]
    }
    fn later(&self) -> &'static [&'static str] {
        &["onoff", "on_off", "audio", "trace"]
    }
    fn kind(&self) -> &'static str {
        match self {
            Self::Bulk(_) => "bulk",
            Self::Cbr(_) => "cbr",
        }
    }
    fn set_kind(&mut self, kind: &str) {
        *self = match kind {
            "cbr" => Self::Cbr(CbrConfig {
                packet: 1400,
                rate: 1,
                offset: Duration::ZERO,
                count: None,
                when_blocked: WhenBlocked::default(),
            }),
            _ => Self::default(),
        };
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        match self {
            Self::Bulk(bulk) => visit_bulk(bulk, v),
            Self::Cbr(cbr) => visit_cbr(cbr, v),
        }
    }
}

/// Bytes of one write.
fn packet(slot: &mut u32) -> Octets<'_, u32> {
    Octets {
        slot,
        min: 1,
        max: 65_535,
    }
}

fn visit_bulk(bulk: &mut BulkConfig, v: &mut dyn Visitor) {
    let doc = "Bytes of one write: the payload of a datagram, or a piece of a stream.";
    v.value("packet", doc, Need::Optional, &mut packet(&mut bulk.piece));
    let doc = "Bytes in all, then the connection is closed; \"endless\" never closes it.";
    let total = &mut OrWord {
        slot: &mut bulk.total,
        word: "endless",
        inner: |slot| {
            let (min, max) = (1, 1 << 62);
            Box::new(Octets { slot, min, max })
        },
    };
    v.value("total", doc, Need::Optional, total);
}

fn visit_cbr(cbr: &mut CbrConfig, v: &mut dyn Visitor) {
    let (required, optional) = (Need::Required, Need::Optional);
    let doc = "Bytes of one write: the payload of a datagram, or a piece of a stream.";
    v.value("packet", doc, optional, &mut packet(&mut cbr.packet));
    let doc = "Payload bits per second, such as \"64kbit\".";
    v.value("rate", doc, required, &mut BitRate(&mut cbr.rate));
    let doc = "Time from the handshake to the first write.";
    v.value("offset", doc, optional, &mut cbr.offset);
    let doc = "Number of writes, then the connection is closed; \"endless\" never closes it.";
    let count = &mut OrWord {
        slot: &mut cbr.count,
        word: "endless",
        inner: |slot| {
            let (min, max, unit) = (1, 1 << 62, "writes");
            Box::new(Count {
                slot,
                min,
                max,
                unit,
            })
        },
    };
    v.value("count", doc, optional, count);
    let doc = "When the transport has no room: \"skip\" the write, \"shift\" it and all later \
               ones, or \"catch_up\" with the timetable.";
    let when_blocked = &mut Choice {
        slot: &mut cbr.when_blocked,
        words: &[
            ("skip", WhenBlocked::Skip),
            ("shift", WhenBlocked::Shift),
            ("catch_up", WhenBlocked::CatchUp),
        ],
    };
    v.value("when_blocked", doc, optional, when_blocked);
}

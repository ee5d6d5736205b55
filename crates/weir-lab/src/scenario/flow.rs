//! `[[flow]]` and its application: the keys of the traffic.

use super::model::Flow;
use super::value::{BitRate, Choice, Count, Name, Octets, OrWord};
use super::visit::{Need, Purpose, Section, Variants, Visitor};
use weir_net::AppConfig;
use weir_net::app::{
    AudioConfig, AudioFormat, BulkConfig, CbrConfig, LengthDistribution, OnOffConfig,
    OverflowPolicy,
};
use weir_proto::settings::Settings as _;

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
        let doc = "How much later each next flow of `count` is opened.";
        v.value("stagger", doc, optional, &mut self.stagger);
        let stop = &mut OrWord {
            slot: &mut self.stop,
            word: "never",
            inner: |slot| Box::new(slot),
        };
        let doc = "When the sender stops writing; \"never\" before the end of the run.";
        v.value("stop", doc, optional, stop);
    }
}

impl Variants for AppConfig {
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("bulk", "Writes as much as the transport takes."),
            (
                "cbr",
                "Writes at constant intervals of packet * 8 / rate seconds.",
            ),
            (
                "on_off",
                "Writes at a constant rate for a while, pauses, and begins again.",
            ),
            (
                "audio",
                "Streams music to a listener; over TCP and QUIC as HTTP streaming does.",
            ),
        ]
    }
    fn later(&self) -> &'static [&'static str] {
        &["trace"]
    }
    fn kind(&self) -> &'static str {
        match self {
            Self::Bulk(_) => "bulk",
            Self::Cbr(_) => "cbr",
            Self::OnOff(_) => "on_off",
            Self::Audio(_) => "audio",
        }
    }
    fn set_kind(&mut self, kind: &str) {
        *self = match kind {
            "cbr" => Self::Cbr(CbrConfig::default()),
            "on_off" => Self::OnOff(OnOffConfig::default()),
            "audio" => Self::Audio(AudioConfig::default()),
            _ => Self::default(),
        };
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        match self {
            Self::OnOff(on_off) => visit_on_off(on_off, v),
            Self::Audio(audio) => visit_audio(audio, v),
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

fn visit_on_off(on_off: &mut OnOffConfig, v: &mut dyn Visitor) {
    let (required, optional) = (Need::Required, Need::Optional);
    let doc = "Bytes of one write: the payload of a datagram, or a piece of a stream.";
    v.value("packet", doc, optional, &mut packet(&mut on_off.packet));
    let doc = "Payload bits per second while it is on, such as \"64kbit\".";
    v.value("rate", doc, required, &mut BitRate(&mut on_off.rate));
    v.value(
        "on",
        "Mean length of a period of writing.",
        required,
        &mut on_off.on,
    );
    v.value("off", "Mean length of a pause.", required, &mut on_off.off);
    let lengths = &mut Choice {
        slot: &mut on_off.lengths,
        words: &[
            ("exponential", LengthDistribution::Exponential),
            ("constant", LengthDistribution::Constant),
            ("pareto", LengthDistribution::Pareto),
        ],
    };
    let doc = "How lengths are distributed; \"pareto\" has shape 1.5.";
    v.value("lengths", doc, optional, lengths);
}

fn visit_audio(audio: &mut AudioConfig, v: &mut dyn Visitor) {
    let optional = Need::Optional;
    let words = &mut Choice {
        slot: &mut audio.format,
        words: &[("mp3", AudioFormat::Mp3), ("ogg", AudioFormat::Ogg)],
    };
    let doc = "Sizes as in \"mp3\" (frames of 418 bytes, one a packet) or \"ogg\" (pages of \
               4096 bytes in packets of 1400).";
    v.value("format", doc, optional, words);
    if v.purpose() == Purpose::Read {
        let word = if audio.format == AudioFormat::Ogg {
            "ogg"
        } else {
            "mp3"
        };
        *audio = AudioConfig::default();
        audio.apply_preset(word);
    }
    let doc = "Bits per second of the music.";
    v.value("bitrate", doc, optional, &mut BitRate(&mut audio.bitrate));
    let doc = "Bytes of a frame or page, which plays as a whole or not at all.";
    v.value("unit", doc, optional, &mut packet(&mut audio.unit));
    let octets = &mut Octets {
        slot: &mut audio.packet,
        min: 9,
        max: 65_535,
    };
    let doc = "Bytes of a datagram, 8 of group and index included.";
    v.value("packet", doc, optional, octets);
    let count = |slot| Count {
        slot,
        min: 1,
        max: 255,
        unit: "packets",
    };
    let doc = "Packets of a group that carry data; any so many give back the group.";
    v.value("fec_data", doc, optional, &mut count(&mut audio.fec_data));
    let doc = "Packets of a group, those of the correction included; 1 for none.";
    v.value(
        "fec_packets",
        doc,
        optional,
        &mut count(&mut audio.fec_packets),
    );
    let doc = "From the first packet's arrival until the music starts.";
    v.value("playout", doc, optional, &mut audio.playout);
    audio.normalise();
}

fn visit_bulk(bulk: &mut BulkConfig, v: &mut dyn Visitor) {
    let doc = "Bytes of one write: the payload of a datagram, or a piece of a stream.";
    v.value("packet", doc, Need::Optional, &mut packet(&mut bulk.packet));
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
            ("skip", OverflowPolicy::Skip),
            ("shift", OverflowPolicy::Shift),
            ("catch_up", OverflowPolicy::CatchUp),
        ],
    };
    v.value("when_blocked", doc, optional, when_blocked);
}

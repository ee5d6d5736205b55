//! Queues and the shaper of a link: what kinds there are, and their keys in the words of tc.

use super::document::Node;
use super::error::Problem;
use super::value::{BitRate, Count, Fraction, Octets, OrWord};
use super::visit::{Need, Value, Variants, Visitor};
use weir_net::queue::{CodelConfig, FqCodelConfig, PieConfig, RedConfig};
use weir_net::shaper::TokenBucketConfig;
use weir_net::{QueueConfig, QueueLimit};

const MAX_PACKETS: u64 = 1 << 32;
const MAX_OCTETS: u64 = 1 << 50;
const ECN: &str = "Mark packets of ECN-capable transports where others would be dropped early.";

/// The limit of a drop-tail queue: a number of packets, or octets with their unit.
struct QueueLimitValue<'a>(&'a mut QueueLimit);

impl Value for QueueLimitValue<'_> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let text = matches!(node.value, super::document::Value::Text(_));
        let mut number = 0_u64;
        let max = 1 << 50;
        if text {
            let slot = &mut number;
            Octets { slot, min: 1, max }.read(node)?;
            *self.0 = QueueLimit::Bytes(number);
        } else {
            let unit = "packets";
            let slot = &mut number;
            let count = Count {
                slot,
                min: 1,
                max,
                unit,
            }
            .read(node);
            count.map_err(|problem| {
                let help = "write packets as a number (100) or bytes as a text (\"30000b\")";
                Problem::new(problem.message, help)
            })?;
            *self.0 = QueueLimit::Packets(number);
        }
        Ok(())
    }
    fn write(&self) -> String {
        match *self.0 {
            QueueLimit::Packets(number) => number.to_string(),
            QueueLimit::Bytes(number) => format!("\"{number}b\""),
        }
    }
    fn describe(&self) -> serde_json::Value {
        serde_json::json!({ "anyOf": [
            { "type": "integer", "minimum": 1, "x-unit": "packets" },
            { "type": "string", "examples": ["30000b"], "x-unit": "bytes" } ] })
    }
}

impl Variants for QueueConfig {
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "droptail",
                "First in, first out; a packet that finds it full is dropped.",
            ),
            (
                "red",
                "Random early detection (Floyd and Jacobson 1993), in bytes.",
            ),
            ("codel", "Controlled delay (RFC 8289)."),
            (
                "fq_codel",
                "Flow queueing with controlled delay (RFC 8290).",
            ),
            (
                "pie",
                "Proportional integral controller enhanced (RFC 8033).",
            ),
        ]
    }
    fn kind(&self) -> &'static str {
        match self {
            Self::DropTail(_) => "droptail",
            Self::Red(_) => "red",
            Self::Codel(_) => "codel",
            Self::FqCodel(_) => "fq_codel",
            Self::Pie(_) => "pie",
        }
    }
    fn set_kind(&mut self, kind: &str) {
        *self = match kind {
            "red" => Self::Red(RedConfig::default()),
            "codel" => Self::Codel(CodelConfig::default()),
            "fq_codel" => Self::FqCodel(FqCodelConfig::default()),
            "pie" => Self::Pie(PieConfig::default()),
            _ => Self::default(),
        };
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        match self {
            Self::DropTail(config) => v.value(
                "limit",
                "What it holds at most: packets as a number, or bytes such as \"30000b\".",
                Need::Optional,
                &mut QueueLimitValue(&mut config.limit),
            ),
            Self::Red(red) => visit_red(red, v),
            Self::Codel(codel) => visit_codel(codel, v),
            Self::FqCodel(fq) => visit_fq_codel(fq, v),
            Self::Pie(pie) => visit_pie(pie, v),
        }
    }
}

fn visit_red(red: &mut RedConfig, v: &mut dyn Visitor) {
    let (required, optional) = (Need::Required, Need::Optional);
    let octets = |slot| Octets {
        slot,
        min: 1,
        max: MAX_OCTETS,
    };
    v.value(
        "limit",
        "The most bytes that it holds.",
        required,
        &mut octets(&mut red.limit),
    );
    let doc = "Mean bytes below which nothing is dropped.";
    v.value("min", doc, required, &mut octets(&mut red.min));
    let doc = "Mean bytes at which packets are dropped with `probability`; more than `min`.";
    v.value("max", doc, required, &mut octets(&mut red.max));
    let doc = "The probability of an early drop at `max`.";
    v.value(
        "probability",
        doc,
        optional,
        &mut Fraction(&mut red.probability),
    );
    let doc = "The weight of one arrival in the mean.";
    v.value("weight", doc, optional, &mut Fraction(&mut red.weight));
    let doc = "The time of a mean packet on the wire: how the mean ages while the queue is empty.";
    v.value("packet_time", doc, optional, &mut red.packet_time);
    let doc = "Let the probability rise to 1 between `max` and twice `max`.";
    v.value("gentle", doc, optional, &mut red.gentle);
    v.value("ecn", ECN, optional, &mut red.ecn);
}

fn visit_codel(codel: &mut CodelConfig, v: &mut dyn Visitor) {
    let optional = Need::Optional;
    v.value(
        "target",
        "The standing delay to allow.",
        optional,
        &mut codel.target,
    );
    let doc = "A round-trip time of the slowest expected flows.";
    v.value("interval", doc, optional, &mut codel.interval);
    packets("limit", &mut codel.limit, v);
    v.value("ecn", ECN, optional, &mut codel.ecn);
}

fn visit_fq_codel(fq: &mut FqCodelConfig, v: &mut dyn Visitor) {
    visit_codel(&mut fq.codel, v);
    let flows = &mut Count {
        slot: &mut fq.flows,
        min: 1,
        max: 65_536,
        unit: "queues",
    };
    v.value("flows", "Number of queues.", Need::Optional, flows);
    let quantum = &mut Octets {
        slot: &mut fq.quantum,
        min: 1,
        max: 65_535,
    };
    v.value(
        "quantum",
        "Bytes that a queue may send in a turn.",
        Need::Optional,
        quantum,
    );
}

fn visit_pie(pie: &mut PieConfig, v: &mut dyn Visitor) {
    let optional = Need::Optional;
    v.value("target", "The delay to hold.", optional, &mut pie.target);
    v.value(
        "tupdate",
        "The controller's period.",
        optional,
        &mut pie.tupdate,
    );
    v.value(
        "max_burst",
        "How long a burst passes untouched.",
        optional,
        &mut pie.max_burst,
    );
    packets("limit", &mut pie.limit, v);
    v.value("ecn", ECN, optional, &mut pie.ecn);
}

fn packets(name: &'static str, slot: &mut u64, v: &mut dyn Visitor) {
    let count = &mut Count {
        slot,
        min: 1,
        max: MAX_PACKETS,
        unit: "packets",
    };
    v.value(
        name,
        "The most packets that it holds.",
        Need::Optional,
        count,
    );
}

impl Variants for Option<TokenBucketConfig> {
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("none", "Packets start as soon as the transmitter is free."),
            (
                "tbf",
                "A token bucket as Linux's tbf: `rate`, `burst`, `limit`, `peakrate`.",
            ),
        ]
    }
    fn kind(&self) -> &'static str {
        if self.is_some() { "tbf" } else { "none" }
    }
    fn set_kind(&mut self, kind: &str) {
        *self = (kind == "tbf").then(TokenBucketConfig::default);
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        let Some(bucket) = self else {
            return;
        };
        let (required, optional) = (Need::Required, Need::Optional);
        v.value(
            "rate",
            "Bits per second.",
            required,
            &mut BitRate(&mut bucket.rate),
        );
        let octets = |slot| Octets {
            slot,
            min: 1,
            max: MAX_OCTETS,
        };
        let doc = "Bytes that may leave at once; a larger packet never passes.";
        v.value("burst", doc, required, &mut octets(&mut bucket.burst));
        let waiting = &mut OrWord {
            slot: &mut bucket.limit,
            word: "by_latency",
            inner: |slot| {
                let (min, max) = (1, MAX_OCTETS);
                Box::new(Octets { slot, min, max })
            },
        };
        let doc = "The most bytes that wait for tokens; or write `latency`.";
        v.value("limit", doc, optional, waiting);
        let longest = &mut OrWord {
            slot: &mut bucket.latency,
            word: "by_limit",
            inner: |slot| Box::new(slot),
        };
        let doc = "In place of `limit`: the longest time that a packet waits for tokens.";
        v.value("latency", doc, optional, longest);
        let rate = &mut OrWord {
            slot: &mut bucket.peakrate,
            word: "unlimited",
            inner: |slot| Box::new(BitRate(slot)),
        };
        v.value(
            "peakrate",
            "Bits per second within a burst.",
            optional,
            rate,
        );
        let doc = "Bytes of one step at the peak rate: tc's mtu of tbf.";
        v.value("peakmtu", doc, optional, &mut octets(&mut bucket.peakmtu));
        let overhead = &mut Octets {
            slot: &mut bucket.overhead,
            min: 0,
            max: 1000,
        };
        let doc = "Bytes that each packet counts beyond its IP size: 14 on Ethernet.";
        v.value("overhead", doc, optional, overhead);
    }
}

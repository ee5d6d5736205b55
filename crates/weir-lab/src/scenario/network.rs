//! `[[host]]`, `[[link]]` and what a link is made of: the keys of the network.

use super::document::Node;
use super::error::Problem;
use super::model::{Direction, Host, Link};
use super::value::{BitRate, Choice, Count, Name, Octets, OrWord};
use super::visit::{Need, Purpose, Section, Value, Variants, Visitor};
use weir_net::{Limit, QueueConfig, Stamp};

impl Section for Host {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        v.value(
            "name",
            "The name that links and flows use.",
            Need::Required,
            &mut Name(&mut self.name),
        );
        v.value(
            "transmit_delay",
            "Time from the protocol's handing over of a packet until it enters the wire.",
            optional,
            &mut self.stack.transmit_delay,
        );
        v.value(
            "stamp",
            "Which moment the protocol takes as the time of sending: the handing over, or when \
             the packet has really left.",
            optional,
            &mut Choice {
                slot: &mut self.stack.stamp,
                words: &[
                    ("handover", Stamp::Handover),
                    ("transmitted", Stamp::Transmitted),
                ],
            },
        );
        v.value(
            "receive_delay",
            "Time from the wire until the protocol handles the packet.",
            optional,
            &mut self.stack.receive_delay,
        );
        v.value(
            "timer_hz",
            "Timers fire at ticks of this frequency, in hertz; \"ideal\" fires them exactly.",
            optional,
            &mut OrWord {
                slot: &mut self.stack.timer_hz,
                word: "ideal",
                inner: |slot| {
                    let (min, max, unit) = (1, 1_000_000_000, "hertz");
                    Box::new(Count {
                        slot,
                        min,
                        max,
                        unit,
                    })
                },
            },
        );
        v.value(
            "handshake_delay",
            "Additional time that the host takes to answer a packet of the handshake.",
            optional,
            &mut self.handshake_delay,
        );
    }
}

impl Section for Link {
    fn visit(&mut self, v: &mut dyn Visitor) {
        v.value(
            "name",
            "The name that traces and options use.",
            Need::Required,
            &mut Name(&mut self.name),
        );
        v.value(
            "between",
            "The two hosts that it joins, such as [\"server\", \"client\"].",
            Need::Required,
            &mut self.between,
        );
        if v.purpose() != Purpose::Write {
            let mut both = Direction::default();
            both.visit(v);
            self.forward = both.clone();
            self.backward = both;
        }
        v.section(
            "forward",
            "Only from the first host of `between` to the second.",
            &mut self.forward,
        );
        v.section(
            "backward",
            "Only from the second host of `between` to the first.",
            &mut self.backward,
        );
    }
}

impl Section for Direction {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        v.value(
            "rate",
            "Bits per second, such as \"10Mbit\"; \"unlimited\" transmits in no time.",
            optional,
            &mut OrWord {
                slot: &mut self.rate,
                word: "unlimited",
                inner: |slot| Box::new(BitRate(slot)),
            },
        );
        v.value(
            "delay",
            "Propagation delay, such as \"5ms\".",
            optional,
            &mut self.delay,
        );
        v.value(
            "mtu",
            "Largest packet in bytes, IP header included; larger ones are dropped.",
            optional,
            &mut Octets {
                slot: &mut self.mtu.0,
                min: 68,
                max: 65_535,
            },
        );
        v.variants(
            "queue",
            "Where packets wait for their transmission.",
            optional,
            &mut self.queue,
        );
        v.variants(
            "loss",
            "What gets lost on the wire.",
            optional,
            &mut self.loss,
        );
        if v.purpose() == Purpose::Read {
            v.variants("shaper", "", optional, &mut Shaper);
        }
    }
}

/// A key of a later version, so that its absence is explained.
struct Shaper;

impl Variants for Shaper {
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    fn later(&self) -> &'static [&'static str] {
        &["tbf"]
    }
    fn kind(&self) -> &'static str {
        ""
    }
    fn set_kind(&mut self, _: &str) {}
    fn visit(&mut self, _: &mut dyn Visitor) {}
}

/// The limit of a drop-tail queue: a number of packets, or octets with their unit.
struct QueueLimit<'a>(&'a mut Limit);

impl Value for QueueLimit<'_> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let text = matches!(node.value, super::document::Value::Text(_));
        let mut number = 0_u64;
        let max = 1 << 50;
        if text {
            let slot = &mut number;
            Octets { slot, min: 1, max }.read(node)?;
            *self.0 = Limit::Bytes(number);
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
            *self.0 = Limit::Packets(number);
        }
        Ok(())
    }
    fn write(&self) -> String {
        match *self.0 {
            Limit::Packets(number) => number.to_string(),
            Limit::Bytes(number) => format!("\"{number}b\""),
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
        &[(
            "droptail",
            "First in, first out; a packet that finds it full is dropped.",
        )]
    }
    fn later(&self) -> &'static [&'static str] {
        &["red", "codel", "fq_codel", "pie", "tbf"]
    }
    fn kind(&self) -> &'static str {
        match self {
            Self::DropTail { .. } => "droptail",
            Self::Red(_) => "red",
            Self::Codel(_) => "codel",
            Self::FqCodel(_) => "fq_codel",
            Self::Pie(_) => "pie",
        }
    }
    fn set_kind(&mut self, _: &str) {
        *self = Self::default();
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        let Self::DropTail { limit } = self else {
            return;
        };
        v.value(
            "limit",
            "What it holds at most: packets as a number, or bytes such as \"30000b\".",
            Need::Optional,
            &mut QueueLimit(limit),
        );
    }
}

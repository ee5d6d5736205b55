//! `[[host]]`, `[[link]]` and what a link is made of: the keys of the network.

use super::document::{Node, Value as Tree};
use super::error::Problem;
use super::model::{Direction, Host, Link, RateTrace};
use super::value::{BitRate, Choice, Count, Name, Octets, OrWord};
use super::visit::{Need, Purpose, Section, Value, Visitor};
use weir_net::SendTimestamp;

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
            &mut self.timing.transmit_delay,
        );
        v.value(
            "stamp",
            "Which moment the protocol takes as the time of sending: the handing over, or when \
             the packet has really left.",
            optional,
            &mut Choice {
                slot: &mut self.timing.stamp,
                words: &[
                    ("handover", SendTimestamp::Handover),
                    ("transmitted", SendTimestamp::Transmitted),
                ],
            },
        );
        v.value(
            "receive_delay",
            "Time from the wire until the protocol handles the packet.",
            optional,
            &mut self.timing.receive_delay,
        );
        v.value(
            "timer_hz",
            "Timers fire at ticks of this frequency, in hertz; \"ideal\" fires them exactly.",
            optional,
            &mut OrWord {
                slot: &mut self.timing.timer_hz,
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
        v.variants(
            "shaper",
            "A token bucket with a queue of its own, in place of `queue`.",
            optional,
            &mut self.shaper,
        );
        let doc = "Jitter, reordering, duplication and corruption on the wire, as netem has them.";
        v.section("netem", doc, &mut self.netem);
        let doc = "In place of `rate`: a file with a delivery opportunity of 1504 bytes per line, in \
                   milliseconds, or its numbers; repeated when it ends.";
        v.value("rate_trace", doc, optional, &mut self.rate_trace);
        let doc = "What changes at a time: rate, delay, shaper_rate, loss, netem.";
        v.list("change", doc, &mut self.changes);
    }
}

impl Value for RateTrace {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        if let Tree::Text(file) = &node.value {
            self.file = Some(file.clone());
            return Ok(());
        }
        self.millis.read(node).map_err(|problem| {
            let help = "write the name of a file, or a list of milliseconds such as [2, 5, 9]";
            Problem::new(problem.message, help)
        })?;
        check_rate_trace(&self.millis)
    }
    fn write(&self) -> String {
        self.millis.write()
    }
    fn describe(&self) -> serde_json::Value {
        serde_json::json!({ "anyOf": [
            { "type": "string", "description": "a file" },
            { "type": "array", "items": { "type": "integer", "minimum": 0 },
              "x-unit": "milliseconds" } ] })
    }
}

/// Times must be in order and their last, the period, above zero.
pub(super) fn check_rate_trace(millis: &[u64]) -> Result<(), Problem> {
    let help = "write times in order, the last above zero, such as [2, 5, 9]";
    for pair in millis.windows(2) {
        if let [before, after] = pair
            && after < before
        {
            let message = format!("{after} ms comes after {before} ms");
            return Err(Problem::new(message, help));
        }
    }
    match millis.last() {
        Some(0) => Err(Problem::new(
            "the last time is 0 ms, so that the trace has no length",
            help,
        )),
        _ => Ok(()),
    }
}

/// The times of a trace's text, a line each; comments begin with `#`.
///
/// # Errors
/// The line that is wrong, and what was expected.
pub(super) fn parse_rate_trace(file: &str, text: &str) -> Result<Vec<u64>, Problem> {
    let mut millis = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let Ok(time) = line.parse::<u64>() else {
            let message = format!("{file}:{}: expected a number of milliseconds", number + 1);
            return Err(Problem::new(message, "write one whole number per line"));
        };
        millis.push(time);
    }
    if millis.is_empty() {
        return Err(Problem::new(
            format!("{file} has no line with a time"),
            "write one per line",
        ));
    }
    check_rate_trace(&millis)?;
    Ok(millis)
}

//! `[[host]]`, `[[link]]` and what a link is made of: the keys of the network.

use super::model::{Direction, Host, Link};
use super::value::{BitRate, Choice, Count, Name, Octets, OrWord};
use super::visit::{Need, Purpose, Section, Visitor};
use weir_net::Stamp;

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
        v.variants(
            "shaper",
            "A token bucket with a queue of its own, in place of `queue`.",
            optional,
            &mut self.shaper,
        );
    }
}

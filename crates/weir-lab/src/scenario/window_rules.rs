//! `overrides = { … }`: every rule of a window-controlled sender by its own key.
//!
//! The defaults are those of the flow's `rules`, so that a single rule can be changed and its
//! effect studied alone.

use super::value::{Choice, Count};
use super::visit::{Need, Section, Visitor};
use weir_proto::cc::window::{Increase, RecoveryBoundary, Rules, SendGate};

impl Section for Rules {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        let boundary = &mut Choice {
            slot: &mut self.recovery_boundary,
            words: &[
                ("at-or-before", RecoveryBoundary::AtOrBefore),
                ("before", RecoveryBoundary::Before),
            ],
        };
        let doc = "Which packets belong to the flight that met a loss: sent at or before the \
                   start of recovery, or before it.";
        v.value("recovery_boundary", doc, optional, boundary);
        let increase = &mut Choice {
            slot: &mut self.increase,
            words: &[
                ("accurate", Increase::Accurate),
                ("approximate", Increase::Approximate),
                ("byte-counting", Increase::ByteCounting),
            ],
        };
        v.value(
            "increase",
            "How NewReno grows in congestion avoidance.",
            optional,
            increase,
        );
        let gate = &mut Choice {
            slot: &mut self.send_gate,
            words: &[
                ("full-packet", SendGate::FullPacket),
                ("strict", SendGate::Strict),
                ("any-room", SendGate::AnyRoom),
            ],
        };
        v.value(
            "send_gate",
            "When the window lets a packet out.",
            optional,
            gate,
        );
        let probes = &mut Count {
            slot: &mut self.pto_probes,
            min: 1,
            max: 2,
            unit: "packets",
        };
        let doc = "Packets that a probe timeout lets out (RFC 9002 §6.2.4).";
        v.value("pto_probes", doc, optional, probes);
        visit_switches(self, v);
    }
}

fn visit_switches(rules: &mut Rules, v: &mut dyn Visitor) {
    let optional = Need::Optional;
    let doc = "Octets acknowledged in recovery count towards the first increase after it.";
    v.value(
        "count_acked_in_recovery",
        doc,
        optional,
        &mut rules.count_acked_in_recovery,
    );
    let doc =
        "One packet may leave at the start of a recovery beyond the window (RFC 9002 §7.3.2).";
    v.value("recovery_probe", doc, optional, &mut rules.recovery_probe);
    let doc =
        "An acknowledgement of all that is in flight empties the count of acknowledged octets.";
    v.value(
        "flush_on_empty_flight",
        doc,
        optional,
        &mut rules.flush_on_empty_flight,
    );
    let doc = "Losses are dealt with before the packets that an acknowledgement names.";
    v.value(
        "losses_before_acks",
        doc,
        optional,
        &mut rules.losses_before_acks,
    );
    let doc = "The receiver acknowledges packet number 0 at once.";
    v.value(
        "ack_first_at_once",
        doc,
        optional,
        &mut rules.ack_first_at_once,
    );
    let doc = "A reduction is taken back when all packets that caused it turn out to have arrived.";
    v.value("undo_spurious", doc, optional, &mut rules.undo_spurious);
}

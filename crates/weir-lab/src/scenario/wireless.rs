//! `tfrc = { wireless = { … } }`: rules that were proposed for wireless links.

use super::value::{BitRate, Choice, OrWord};
use super::visit::{Need, Section, Visitor};
use weir_proto::cc::tfrc::{EmulatedFlows, LossDiscriminator, RandomLosses, Veno, WirelessRules};

impl Section for WirelessRules {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        let veno = &mut Choice {
            slot: &mut self.veno,
            words: &[
                ("off", Veno::Off),
                ("equation", Veno::Equation),
                ("per-event", Veno::PerEvent),
            ],
        };
        let doc = "TFRC Veno's equation: for every loss, or by the backlog at each.";
        v.value("veno", doc, optional, veno);
        let losses = &mut Choice {
            slot: &mut self.random_losses,
            words: &[
                ("count", RandomLosses::Count),
                ("ignore-by-backlog", RandomLosses::IgnoreByBacklog),
                ("ignore-by-spike", RandomLosses::IgnoreBySpike),
            ],
        };
        let doc = "Which losses the sender leaves out of p: Veno's random ones, or those outside \
                   a spike of the round-trip time.";
        v.value("random_losses", doc, optional, losses);
        let flows = &mut Choice {
            slot: &mut self.emulated_flows,
            words: &[
                ("one", EmulatedFlows::One),
                ("by-queueing-delay", EmulatedFlows::ByQueueingDelay),
            ],
        };
        let doc = "Behave as so many flows as the queueing delay allows (MULTFRC, AIO-TFRC).";
        v.value("emulated_flows", doc, optional, flows);
        let discriminator = &mut Choice {
            slot: &mut self.discriminator,
            words: &[
                ("off", LossDiscriminator::Off),
                ("biaz", LossDiscriminator::Biaz),
            ],
        };
        let doc = "Which losses the receiver leaves out of its history: Biaz' by arrival times.";
        v.value("discriminator", doc, optional, discriminator);
        let rtt = &mut OrWord {
            slot: &mut self.equation_rtt_max,
            word: "none",
            inner: |slot| Box::new(slot),
        };
        let doc = "The longest round-trip time that goes into the equation. Ours.";
        v.value("equation_rtt_max", doc, optional, rtt);
        let rate = &mut OrWord {
            slot: &mut self.minimum_rate,
            word: "none",
            inner: |slot| Box::new(BitRate(slot)),
        };
        let doc = "The least rate while feedback comes. Ours.";
        v.value("minimum_rate", doc, optional, rate);
    }
}

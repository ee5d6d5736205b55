//! `netem = { … }` and `[[link.change]]`: what happens to packets on a wire, and when it changes.

use super::document::{Document, Step};
use super::error::ScenarioError;
use super::model::Direction;
use super::value::{BitRate, Choice, Count, Fraction, OrWord};
use super::visit::{Need, Section, Variants, Visitor};
use weir_net::netem::{Distribution, NetemConfig};
use weir_net::{LinkChange, LossConfig};

impl Section for NetemConfig {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        let doc = "How far delays vary around the link's `delay`.";
        v.value("jitter", doc, optional, &mut self.jitter);
        let doc = "How much each delay follows the one before, 0 to 1.";
        let correlation = &mut Fraction(&mut self.jitter_correlation);
        v.value("jitter_correlation", doc, optional, correlation);
        let distribution = &mut Choice {
            slot: &mut self.distribution,
            words: &[
                ("uniform", Distribution::Uniform),
                ("normal", Distribution::Normal),
                ("pareto", Distribution::Pareto),
            ],
        };
        let doc = "How delays vary: within jitter, or with jitter as their deviation.";
        v.value("distribution", doc, optional, distribution);
        let doc = "Packets whose delays differ wait for each other.";
        v.value("keep_order", doc, optional, &mut self.keep_order);
        let doc = [
            "Probability that a packet is not delayed.",
            "Its correlation.",
        ];
        chance(
            v,
            ["reorder", "reorder_correlation"],
            doc,
            [&mut self.reorder, &mut self.reorder_correlation],
        );
        let gap = &mut Count {
            slot: &mut self.reorder_gap,
            min: 0,
            max: 1_000_000,
            unit: "packets",
        };
        let doc = "Only each so many packets may be reordered; 0 for any.";
        v.value("reorder_gap", doc, optional, gap);
        let doc = [
            "Probability that a packet arrives twice.",
            "Its correlation.",
        ];
        chance(
            v,
            ["duplicate", "duplicate_correlation"],
            doc,
            [&mut self.duplicate, &mut self.duplicate_correlation],
        );
        let doc = [
            "Probability that an octet of a packet is damaged.",
            "Its correlation.",
        ];
        chance(
            v,
            ["corrupt", "corrupt_correlation"],
            doc,
            [&mut self.corrupt, &mut self.corrupt_correlation],
        );
    }
}

fn chance(
    v: &mut dyn Visitor,
    keys: [&'static str; 2],
    docs: [&'static str; 2],
    [probability, correlation]: [&mut f64; 2],
) {
    let probability = &mut Fraction(probability);
    v.value(keys[0], docs[0], Need::Optional, probability);
    let correlation = &mut Fraction(correlation);
    v.value(keys[1], docs[1], Need::Optional, correlation);
}

impl Section for LinkChange {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        let doc = "When it changes; what is on the wire keeps its arrival.";
        v.value("at", doc, Need::Required, &mut self.at);
        let rate = &mut OrWord {
            slot: &mut self.rate,
            word: "same",
            inner: |slot| {
                Box::new(OrWord {
                    slot,
                    word: "unlimited",
                    inner: |slot| Box::new(BitRate(slot)),
                })
            },
        };
        v.value("rate", "Bits per second from then on.", optional, rate);
        let delay = &mut OrWord {
            slot: &mut self.delay,
            word: "same",
            inner: |slot| Box::new(slot),
        };
        v.value("delay", "Propagation delay from then on.", optional, delay);
        let shaper_rate = &mut OrWord {
            slot: &mut self.shaper_rate,
            word: "same",
            inner: |slot| Box::new(BitRate(slot)),
        };
        let doc = "The shaper's bits per second from then on.";
        v.value("shaper_rate", doc, optional, shaper_rate);
        let doc = "What gets lost from then on; \"same\" as before.";
        v.variants("loss", doc, optional, &mut self.loss);
        let doc = "What else happens from then on; \"same\" as before.";
        v.variants("netem", doc, optional, &mut self.netem);
    }
}

impl Variants for Option<LossConfig> {
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("same", "As before."),
            ("none", "Nothing is lost."),
            (
                "periodic",
                "1/rate packets are delivered, then one is lost.",
            ),
            ("random", "Each packet is lost with the same probability."),
            ("gilbert", "Losses in bursts."),
            ("trace", "The packets with these numbers are lost."),
        ]
    }
    fn kind(&self) -> &'static str {
        self.as_ref().map_or("same", Variants::kind)
    }
    fn set_kind(&mut self, kind: &str) {
        *self = (kind != "same").then(|| {
            let mut loss = LossConfig::None;
            loss.set_kind(kind);
            loss
        });
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        if let Some(loss) = self {
            Variants::visit(loss, v);
        }
    }
}

impl Variants for Option<NetemConfig> {
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("same", "As before."),
            ("netem", "These impairments and no others."),
        ]
    }
    fn kind(&self) -> &'static str {
        if self.is_some() { "netem" } else { "same" }
    }
    fn set_kind(&mut self, kind: &str) {
        *self = (kind == "netem").then(NetemConfig::default);
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        if let Some(netem) = self {
            Section::visit(netem, v);
        }
    }
}

impl Direction {
    /// What must hold between the changes and the rest; `path` leads to the direction.
    pub(super) fn check(
        &self,
        document: &Document,
        path: &[Step<'_>],
    ) -> Result<(), ScenarioError> {
        let error = |steps: &[Step<'_>], message: String, help: &str| {
            let path = [path, steps].concat();
            Err(document.error(&document.place(&path), message, Some(help.to_owned())))
        };
        if let Some(shaper) = &self.shaper
            && shaper.limit.is_some() == shaper.latency.is_some()
        {
            let message = "shaper: expected either \"limit\" or \"latency\"".to_owned();
            let help = "write limit = \"30000b\" or latency = \"200ms\"";
            return error(&[Step::Key("shaper")], message, help);
        }
        for (n, change) in self.changes.iter().enumerate() {
            let at = |key| [Step::Key("change"), Step::Index(n), Step::Key(key)];
            if n > 0 && change.at <= self.changes[n - 1].at {
                let message = format!("at: {} is not after the change before it", change.at);
                return error(&at("at"), message, "put the changes in order of time");
            }
            if change.shaper_rate.is_some() && self.shaper.is_none() {
                let message = "shaper_rate: the link has no shaper".to_owned();
                return error(
                    &at("shaper_rate"),
                    message,
                    "give it a shaper, or change `rate`",
                );
            }
        }
        Ok(())
    }
}

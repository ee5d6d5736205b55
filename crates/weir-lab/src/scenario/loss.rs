//! `loss = { … }`: what gets lost, on a link or at a sender's socket.

use super::document::Node;
use super::error::Problem;
use super::visit::{Need, Value, Variants, Visitor};
use weir_net::LossConfig;
use weir_proto::units::Probability;

/// The rate of periodic losses: 1/rate packets are delivered, then one is dropped.
struct PeriodicRate<'a>(&'a mut u64);

impl Value for PeriodicRate<'_> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let mut rate = Probability::default();
        rate.read(node)?;
        let every = 1.0 / rate.get();
        let whole = libm::round(every);
        if !every.is_finite() || every > 1e15 {
            return Err(Problem::new(
                "a periodic loss of rate 0 never happens",
                "write { kind = \"none\" }",
            ));
        }
        if (every - whole).abs() > 1e-6 * every {
            return Err(Problem::new(
                format!(
                    "1 / {} is {every:.3}, not a whole number of packets",
                    rate.get()
                ),
                format!("{whole} packets delivered for one lost is {}", 1.0 / whole),
            ));
        }
        // `every` was checked to be at most 1e15.
        *self.0 = whole as u64;
        Ok(())
    }
    fn write(&self) -> String {
        super::value::write_float(1.0 / (*self.0).max(1) as f64)
    }
    fn describe(&self) -> serde_json::Value {
        Probability::default().describe()
    }
}

impl Variants for LossConfig {
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("none", "Nothing is lost."),
            (
                "periodic",
                "1/rate packets are delivered, then one is lost.",
            ),
            (
                "random",
                "Each packet is lost with the same probability, independently.",
            ),
            (
                "gilbert",
                "Losses in bursts: a chain of a good and a bad state.",
            ),
            ("trace", "The packets with these numbers are lost."),
        ]
    }
    fn kind(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Periodic { .. } => "periodic",
            Self::Random { .. } => "random",
            Self::Gilbert { .. } => "gilbert",
            Self::Trace { .. } => "trace",
        }
    }
    fn set_kind(&mut self, kind: &str) {
        let zero = Probability::default();
        *self = match kind {
            "periodic" => Self::Periodic { every: 1 },
            "random" => Self::Random { probability: zero },
            "gilbert" => Self::Gilbert {
                to_bad: zero,
                to_good: zero,
                loss_in_good: zero,
                loss_in_bad: Probability::new(1.0).unwrap_or(zero),
            },
            "trace" => Self::Trace { drops: Vec::new() },
            _ => Self::None,
        };
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        let (required, optional) = (Need::Required, Need::Optional);
        match self {
            Self::None => {}
            Self::Periodic { every } => v.value(
                "rate",
                "1/rate packets are delivered, then one is lost; 1/rate must be whole.",
                required,
                &mut PeriodicRate(every),
            ),
            Self::Random { probability } => v.value(
                "rate",
                "The probability that a packet is lost.",
                required,
                probability,
            ),
            Self::Gilbert {
                to_bad,
                to_good,
                loss_in_good,
                loss_in_bad,
            } => {
                let doc = "Probability per packet of going from the good state to the bad one.";
                v.value("to_bad", doc, required, to_bad);
                let doc = "Probability per packet of going from the bad state to the good one.";
                v.value("to_good", doc, required, to_good);
                let doc = "Probability of loss in the good state.";
                v.value("loss_in_good", doc, optional, loss_in_good);
                let doc = "Probability of loss in the bad state.";
                v.value("loss_in_bad", doc, optional, loss_in_bad);
            }
            Self::Trace { drops } => v.value(
                "drops",
                "Numbers of the packets that are lost, counted from 0.",
                required,
                drops,
            ),
        }
    }
}

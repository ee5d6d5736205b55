//! `loss = { … }`: what gets lost, on a link or at a sender's socket.

use super::document::Node;
use super::error::Problem;
use super::visit::{Need, Value, Variants, Visitor};
use weir_net::LossConfig;
use weir_net::loss::{GilbertLossConfig, PeriodicLossConfig, RandomLossConfig, TraceLossConfig};
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
            Self::Periodic(_) => "periodic",
            Self::Random(_) => "random",
            Self::Gilbert(_) => "gilbert",
            Self::Trace(_) => "trace",
        }
    }
    fn set_kind(&mut self, kind: &str) {
        *self = match kind {
            "periodic" => Self::Periodic(PeriodicLossConfig::default()),
            "random" => Self::Random(RandomLossConfig::default()),
            "gilbert" => Self::Gilbert(GilbertLossConfig::default()),
            "trace" => Self::Trace(TraceLossConfig::default()),
            _ => Self::None,
        };
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        let (required, optional) = (Need::Required, Need::Optional);
        match self {
            Self::None => {}
            Self::Periodic(config) => v.value(
                "rate",
                "1/rate packets are delivered, then one is lost; 1/rate must be whole.",
                required,
                &mut PeriodicRate(&mut config.every),
            ),
            Self::Random(config) => v.value(
                "rate",
                "The probability that a packet is lost.",
                required,
                &mut config.rate,
            ),
            Self::Gilbert(config) => {
                let doc = "Probability per packet of going from the good state to the bad one.";
                v.value("to_bad", doc, required, &mut config.to_bad);
                let doc = "Probability per packet of going from the bad state to the good one.";
                v.value("to_good", doc, required, &mut config.to_good);
                let doc = "Probability of loss in the good state.";
                v.value("loss_in_good", doc, optional, &mut config.loss_in_good);
                let doc = "Probability of loss in the bad state.";
                v.value("loss_in_bad", doc, optional, &mut config.loss_in_bad);
            }
            Self::Trace(config) => v.value(
                "drops",
                "Numbers of the packets that are lost, counted from 0.",
                required,
                &mut config.drops,
            ),
        }
    }
}

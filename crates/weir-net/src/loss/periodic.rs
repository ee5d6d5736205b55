//! Periodic loss: after every n delivered packets one is lost; the loss rate is 1 / (n + 1).

use super::{LossModel, LossModelConfig};
use weir_proto::rng::Rng;
use weir_proto::settings::{Diagnostic, Form, Kind, Raw, Reader, Spanned, Value};
use weir_proto::time::Instant;
use weir_proto::units::Probability;

weir_proto::settings! {
    /// 1/rate packets are delivered, then one is lost.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PeriodicLossConfig {
        /// 1/rate packets are delivered, then one is lost; 1/rate must be whole.
        pub every: u64 as "rate" [required] = 1 => PeriodicRate,
    }
}

/// Packets delivered between two losses, written as the rate of losses: 1/`every`.
struct PeriodicRate;

impl Form<u64> for PeriodicRate {
    fn read(
        &self,
        slot: &mut u64,
        value: &Spanned,
        reader: &mut Reader<'_>,
    ) -> Result<(), Diagnostic> {
        let mut rate = Probability::default();
        rate.read(value, reader)?;
        let rate = rate.get();
        let every = 1.0 / rate;
        let whole = libm::round(every);
        if !every.is_finite() || every > 1e15 {
            return Err(Diagnostic::new(
                "a periodic loss of rate 0 never happens",
                "write { kind = \"none\" }",
            ));
        }
        if (every - whole).abs() > 1e-6 * every {
            return Err(Diagnostic::new(
                format!("1 / {rate} is {every:.3}, not a whole number of packets"),
                format!("{whole} packets delivered for one lost is {}", 1.0 / whole),
            ));
        }
        // `every` was checked to be at most 1e15.
        *slot = whole as u64;
        Ok(())
    }

    fn write(&self, every: &u64) -> Raw {
        Raw::Float(1.0 / (*every).max(1) as f64)
    }

    fn kind(&self, _: &u64) -> Kind {
        Kind::Fraction
    }
}

impl LossModelConfig for PeriodicLossConfig {
    type Model = PeriodicLoss;

    fn build(&self, _: Rng) -> PeriodicLoss {
        PeriodicLoss {
            every: self.every,
            delivered: 0,
        }
    }

    fn is_random(&self) -> bool {
        false
    }

    fn mean_loss(&self) -> Option<f64> {
        Some(1.0 / (self.every as f64 + 1.0))
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            every: rng.below(40),
        }
    }
}

#[derive(Debug)]
pub(super) struct PeriodicLoss {
    every: u64,
    delivered: u64,
}

impl LossModel for PeriodicLoss {
    #[inline]
    fn drops_next(&mut self, _: Instant, _: &mut Rng) -> bool {
        let drop = self.delivered == self.every;
        self.delivered = if drop { 0 } else { self.delivered + 1 };
        drop
    }
}

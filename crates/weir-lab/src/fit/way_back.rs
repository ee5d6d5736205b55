//! The way back: which acknowledgements are missing.
//!
//! A receiver acknowledges each packet or each second one. The usual step of what is acknowledged is
//! its habit, and steps that are longer on average are acknowledgements that were lost.

use super::observed::Observed;

/// A mean step that is longer than the usual one by this share is loss.
const LONGER: f64 = 0.03;
/// The most packets that a receiver's habit covers: receive offload (GRO) makes long steps.
const MOST_PACKETS: f64 = 64.0;

/// The acknowledgements of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WayBack {
    /// Packets in the usual step.
    pub(super) ack_every: u32,
    /// The share of acknowledgements that is lost.
    pub(super) loss: f64,
}

impl WayBack {
    /// What the steps of a flow show; `None` if its rows are not acknowledgements.
    pub(super) fn of(observed: &Observed) -> Option<Self> {
        if observed.is_coarse {
            return None;
        }
        let packet = observed.packet.counted;
        let pairs = observed.acks.windows(2);
        let steps = pairs.map(|pair| (pair[1].delivered - pair[0].delivered) / packet);
        let steps: Vec<f64> = steps.filter(|step| *step <= MOST_PACKETS).collect();
        if steps.is_empty() {
            return None;
        }
        let usual = observed.usual_step();
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        let loss = 1.0 - usual / mean;
        Some(Self {
            ack_every: usual as u32,
            loss: if mean > usual * (1.0 + LONGER) {
                loss
            } else {
                0.0
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::observed::{Ack, PacketSize};
    use super::*;

    fn of(steps: &[f64]) -> Option<WayBack> {
        let mut delivered = 0.0;
        let ack = |(number, step): (usize, &f64)| {
            delivered += step * 1000.0;
            Ack::new(number as f64, 5.0, delivered)
        };
        WayBack::of(&Observed {
            acks: std::iter::once(&0.0)
                .chain(steps)
                .enumerate()
                .map(ack)
                .collect(),
            packet: PacketSize {
                wire: 1040.0,
                counted: 1000.0,
            },
            ..Observed::default()
        })
    }

    #[test]
    fn steps_that_are_longer_on_average_are_lost_acknowledgements() {
        assert_eq!(
            of(&[2.0; 9]),
            Some(WayBack {
                ack_every: 2,
                loss: 0.0
            })
        );
        // One of ten is missing: 8 steps of two packets and one of four, 20 in 9 steps.
        let mut steps = [2.0; 9];
        steps[4] = 4.0;
        let found = of(&steps).unwrap();
        assert_eq!(found.ack_every, 2);
        assert!((found.loss - 0.1).abs() < 1e-12, "{}", found.loss);
    }
}

//! The way back: which acknowledgements are missing.
//!
//! A receiver with a habit acknowledges each so many packets, and steps of a multiple are
//! acknowledgements that were lost. Receivers without one, such as a kernel that acknowledges each
//! packet at first and many after receive offload, do not show it.

use super::observed::Observed;

/// A mean step that is longer than the usual one by this share is loss.
const LONGER: f64 = 0.03;
/// Steps that are no multiple of the usual one are at most this share of those of a habit.
const UNUSUAL: f64 = 0.1;
/// A step is a multiple if it is this near to one, in packets.
const NEAR: f64 = 0.25;

/// The acknowledgements of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WayBack {
    /// Packets in the usual step.
    pub(super) ack_every: u32,
    /// The share of acknowledgements that is lost.
    pub(super) loss: f64,
}

impl WayBack {
    /// What the steps of a flow show; `None` without a habit.
    pub(super) fn of(observed: &Observed) -> Option<Self> {
        if observed.is_coarse {
            return None;
        }
        let packet = observed.packet.counted;
        let pairs = observed.acks.windows(2);
        let steps = pairs.map(|pair| (pair[1].delivered - pair[0].delivered) / packet);
        let steps: Vec<f64> = steps.collect();
        let usual = observed.usual_step();
        let is_multiple = |step: &&f64| ((**step / usual).round() * usual - **step).abs() <= NEAR;
        let multiples = steps.iter().filter(is_multiple).count();
        let has_habit =
            usual >= 2.0 && (steps.len() - multiples) as f64 <= UNUSUAL * steps.len() as f64;
        if !has_habit {
            return None;
        }
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
        // A kernel's steps of one, two and many have no habit.
        assert_eq!(of(&[1.0, 1.0, 2.0, 1.0, 3.0, 6.0, 2.0, 2.0, 5.0]), None);
    }
}

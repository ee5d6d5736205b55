//! Proportional rate reduction (RFC 6937 §3, RFC 9937 §6): fast recovery sends in proportion to the
//! octets that arrive, so that ssthresh is in the network when it ends.

use super::rules::RecoveryWindow;

/// The information of one acknowledgement in fast recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    /// DeliveredData: octets newly acknowledged or SACKed.
    pub(super) delivered: u64,
    /// Octets estimated to be in the network.
    pub(super) pipe: u64,
    /// It advances the cumulative acknowledgement and shows no new loss.
    pub(super) safe: bool,
}

/// The state of one recovery. All sizes are octets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    bound: RecoveryWindow,
    segment_size: u64,
    ssthresh: u64,
    /// RecoverFS.
    recover_flight_size: u64,
    /// prr_delivered.
    delivered: u64,
    /// prr_out.
    out: u64,
    /// sndcnt less what was sent since the last acknowledgement.
    send_count: u64,
}

impl RecoveryWindow {
    /// RecoverFS: FlightSize when recovery begins, by an acknowledgement that delivered so many
    /// octets; of RFC 9937 §6.1 without those that were SACKed before it.
    pub(super) const fn recover_flight_size(
        self,
        flight_size: u64,
        sacked: u64,
        delivered: u64,
    ) -> u64 {
        match self {
            Self::PrrRfc9937 => (flight_size + delivered).saturating_sub(sacked),
            _ => flight_size,
        }
    }
}

impl Prr {
    /// A recovery that begins with `recover_flight_size` and shall end with `ssthresh`.
    pub(super) fn new(
        bound: RecoveryWindow,
        segment_size: u64,
        recover_flight_size: u64,
        ssthresh: u64,
    ) -> Self {
        Self {
            bound,
            segment_size,
            ssthresh,
            recover_flight_size: recover_flight_size.max(1),
            delivered: 0,
            out: 0,
            send_count: 0,
        }
    }

    /// Octets that may leave now.
    pub(super) const fn send_count(&self) -> u64 {
        self.send_count
    }

    /// The window falls again in the same recovery.
    pub(super) fn set_ssthresh(&mut self, ssthresh: u64) {
        self.ssthresh = ssthresh;
    }

    /// An acknowledgement arrives: computes sndcnt.
    pub(super) fn on_ack(&mut self, ack: &Delivery) {
        let slow_start = match self.bound {
            RecoveryWindow::PrrSsrb => true,
            RecoveryWindow::PrrSafeAck | RecoveryWindow::PrrRfc9937 => ack.safe,
            RecoveryWindow::PrrCrb | RecoveryWindow::Ssthresh => false,
        };
        self.compute(ack, slow_start);
    }

    /// A timer shows losses, so that less is in the network: computes sndcnt without the segment
    /// that the slow start bound adds with each acknowledgement.
    pub(super) fn on_losses(&mut self, pipe: u64) {
        let (delivered, safe) = (0, false);
        self.compute(
            &Delivery {
                delivered,
                pipe,
                safe,
            },
            false,
        );
    }

    fn compute(&mut self, ack: &Delivery, slow_start: bool) {
        self.delivered += ack.delivered;
        let banked = self.delivered.saturating_sub(self.out);
        self.send_count = if ack.pipe > self.ssthresh {
            let proportion = u128::from(self.delivered) * u128::from(self.ssthresh);
            let share = proportion.div_ceil(u128::from(self.recover_flight_size));
            (share as u64).saturating_sub(self.out)
        } else {
            let limit = if slow_start {
                banked.max(ack.delivered) + self.segment_size
            } else if self.bound == RecoveryWindow::PrrRfc9937 {
                banked.max(ack.delivered)
            } else {
                banked
            };
            limit.min(self.ssthresh - ack.pipe)
        };
        if self.bound == RecoveryWindow::PrrRfc9937 && self.out == 0 && self.send_count == 0 {
            // A fast retransmission leaves when recovery begins.
            self.send_count = self.segment_size;
        }
    }

    /// A segment leaves.
    pub(super) fn on_sent(&mut self, octets: u64) {
        self.out += octets;
        self.send_count = self.send_count.saturating_sub(octets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The segments that each acknowledgement from the third on allows, in the examples of RFC 6937
    /// §3.1: a flight of 20, halved to 10, of which `lost` are lost. The first two have allowed two
    /// new segments (Limited Transmit).
    fn sent(bound: RecoveryWindow, lost: u64, acks: u64) -> Vec<u64> {
        let mut prr = Prr::new(bound, 1, 20, 10);
        let mut pipe = 20 - lost;
        let mut sent = Vec::new();
        for _ in 0..acks {
            pipe -= 1;
            prr.on_ack(&Delivery {
                delivered: 1,
                pipe,
                safe: true,
            });
            let mut count = prr.send_count();
            // The fast retransmit leaves in any case.
            if sent.is_empty() {
                count = count.max(1);
            }
            prr.on_sent(count);
            pipe += count;
            sent.push(count);
        }
        sent
    }

    /// One acknowledgement of a recovery of RFC 9937 with RecoverFS of 20 and ssthresh of 10.
    fn rfc9937(out: u64, ack: Delivery) -> u64 {
        let mut prr = Prr::new(RecoveryWindow::PrrRfc9937, 1, 20, 10);
        prr.on_sent(out);
        prr.on_ack(&ack);
        prr.send_count()
    }

    #[test]
    fn rfc_9937_sends_what_arrives_and_one_more_if_it_is_safe() {
        let ack = |delivered, pipe, safe| Delivery {
            delivered,
            pipe,
            safe,
        };
        // RFC 9937 §6.2: CEIL(4 * 10 / 20) - 1 above ssthresh.
        assert_eq!(rfc9937(1, ack(4, 15, true)), 1);
        // Below it MAX(2 - 3, 2), although more than that was sent; and SMSS if it is safe.
        assert_eq!(rfc9937(3, ack(2, 5, false)), 2);
        assert_eq!(rfc9937(3, ack(2, 5, true)), 3);
        // At most ssthresh - inflight.
        assert_eq!(rfc9937(3, ack(2, 9, true)), 1);
        // RFC 6937's conservative bound has none of these: prr_delivered - prr_out.
        let mut prr = Prr::new(RecoveryWindow::PrrCrb, 1, 20, 10);
        prr.on_sent(3);
        prr.on_ack(&ack(2, 5, false));
        assert_eq!(prr.send_count(), 0);
    }

    #[test]
    fn what_was_sacked_before_is_no_flight_to_recover() {
        // RFC 9937 §6.1: 20 - 3 + 1, of three SACKed segments one by this acknowledgement.
        let of = |bound: RecoveryWindow| bound.recover_flight_size(20, 3, 1);
        assert_eq!(of(RecoveryWindow::PrrRfc9937), 18);
        assert_eq!(of(RecoveryWindow::PrrSafeAck), 20);
    }

    #[test]
    fn rfc_9937_retransmits_when_recovery_begins() {
        let nothing = Delivery {
            delivered: 0,
            pipe: 10,
            safe: false,
        };
        assert_eq!(rfc9937(0, nothing), 1);
        assert_eq!(rfc9937(1, nothing), 0);
    }

    #[test]
    fn a_share_follows_the_threshold_and_the_flight() {
        // RFC 6937 §3: ceil(prr_delivered · ssthresh / RecoverFS), above ssthresh.
        for (flight, ssthresh, delivered, share) in [(20, 5, 4, 1), (20, 10, 4, 2), (1, 4, 1, 4)] {
            let mut prr = Prr::new(RecoveryWindow::PrrCrb, 1, flight, 14);
            prr.set_ssthresh(ssthresh);
            prr.on_ack(&Delivery {
                delivered,
                pipe: 15,
                safe: false,
            });
            assert_eq!(prr.send_count(), share, "{flight} {ssthresh}");
        }
    }

    #[test]
    fn a_single_loss_sends_every_other_acknowledgement() {
        // RFC 6937 §3.1, first example: R at ack 3, then N at every other one.
        let sent = sent(RecoveryWindow::PrrSsrb, 1, 13);
        assert_eq!(sent[..8], [1, 0, 1, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn many_losses_send_as_much_as_arrives_and_a_segment_more_by_the_slow_start_bound() {
        // RFC 6937 §3.1, second example: 15 of 20 lost. PRR-CRB sends one, PRR-SSRB two for each.
        assert_eq!(sent(RecoveryWindow::PrrCrb, 15, 3), [1, 1, 1]);
        assert_eq!(sent(RecoveryWindow::PrrSsrb, 15, 3), [2, 2, 2]);
    }

    #[test]
    fn a_timer_adds_no_segment() {
        // RFC 6937 §3: the slow start bound adds a segment "on every ACK". Ten delivered and eight
        // sent leave two; with the acknowledgement it would be three.
        let mut prr = Prr::new(RecoveryWindow::PrrSsrb, 1, 20, 10);
        prr.on_ack(&Delivery {
            delivered: 10,
            pipe: 4,
            safe: true,
        });
        prr.on_sent(8);
        prr.on_losses(4);
        assert_eq!(prr.send_count(), 2);
    }

    #[test]
    fn an_unsafe_acknowledgement_falls_back_to_the_conservative_bound() {
        for (safe, count) in [(true, 2), (false, 1)] {
            let mut prr = Prr::new(RecoveryWindow::PrrSafeAck, 1, 20, 10);
            prr.on_ack(&Delivery {
                delivered: 1,
                pipe: 4,
                safe,
            });
            assert_eq!(prr.send_count(), count);
        }
    }

    #[test]
    fn the_proportion_is_rounded_up() {
        // §3: CEIL(prr_delivered * ssthresh / RecoverFS) = CEIL(1 * 7 / 20) = 1.
        let mut prr = Prr::new(RecoveryWindow::PrrSsrb, 1, 20, 7);
        prr.on_ack(&Delivery {
            delivered: 1,
            pipe: 19,
            safe: false,
        });
        assert_eq!(prr.send_count(), 1);
    }

    #[test]
    fn what_was_delivered_and_not_sent_for_is_kept() {
        // RFC 6937 §3: MAX(prr_delivered - prr_out, DeliveredData) + MSS = MAX(5 - 0, 1) + 1.
        let mut prr = Prr::new(RecoveryWindow::PrrSsrb, 1, 20, 10);
        for (delivered, pipe, send_count) in [(4, 4, 5), (1, 3, 6)] {
            prr.on_ack(&Delivery {
                delivered,
                pipe,
                safe: true,
            });
            assert_eq!(prr.send_count(), send_count);
        }
    }

    #[test]
    fn nothing_leaves_while_ssthresh_is_in_the_network() {
        // RFC 6937 §3: the proportion is for pipe > ssthresh only.
        let mut prr = Prr::new(RecoveryWindow::PrrSsrb, 1, 20, 10);
        prr.on_ack(&Delivery {
            delivered: 3,
            pipe: 10,
            safe: true,
        });
        assert_eq!(prr.send_count(), 0);
    }

    #[test]
    fn never_sends_more_than_fills_ssthresh() {
        let mut prr = Prr::new(RecoveryWindow::PrrSsrb, 1, 20, 10);
        prr.on_ack(&Delivery {
            delivered: 9,
            pipe: 8,
            safe: true,
        });
        assert_eq!(prr.send_count(), 2);
    }
}

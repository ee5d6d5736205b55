//! The sender's half of accurate ECN: the number of packets that the receiver newly reports as
//! marked, from a field of three bits that may have wrapped while acknowledgements were lost (RFC
//! 9768 §3.2.2.5.2, appendix A.2).
//!
//! The field may stand for several counts, 8 apart and at most the packets acknowledged. The
//! option's count of marked octets selects one: the smallest into which they fit at the mean size
//! of these packets. This is exact for packets of one size, where appendix A.2.2 takes the greatest
//! count as soon as the smallest is too small. Without the option the count is the greatest
//! (A.2.1), or the smallest where acknowledgements usually cover many packets, because each of them
//! would be taken for a full cycle of marks.
//!
//! Linux has the same exception. Its threshold and gain are not verified against its source.

use super::data_receiver::{FIRST_CE_BYTES, FIRST_CE_PACKETS};
use super::option::AccEcnOption;

/// DIVACE, the values of the ACE field (RFC 9768 appendix A.2.1).
const ACE_VALUES: u64 = 1 << 3;
/// DIVOPT, the values of the option's fields (RFC 9768 appendix A.1).
const OPTION_VALUES: u64 = 1 << 24;
/// Acknowledgements of more packets than this on average are taken for thinned; RFC 9768 appendix
/// A.2.1 has "well below 8". Linux's `ACK_COMP_THRESH`.
const THINNED: f64 = 4.0;
/// The gain of that average. Linux's `PKTS_ACKED_WEIGHT` is 6, as a power of two.
const THINNED_GAIN: f64 = 1.0 / 64.0;

/// The packets that an acknowledgement newly acknowledges, selectively or not.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct NewlyAcked {
    pub(in super::super) packets: u64,
    pub(in super::super) bytes: u64,
}

/// The counts of a sender.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct DataSender {
    /// s.cep.
    ce_packets: u64,
    /// s.ceb.
    ce_bytes: u64,
    /// Packets that an acknowledgement acknowledges, on average.
    mean_acked: f64,
    disabled: bool,
}

impl DataSender {
    pub(in super::super) const fn new() -> Self {
        Self {
            ce_packets: FIRST_CE_PACKETS,
            ce_bytes: FIRST_CE_BYTES,
            mean_acked: 0.0,
            disabled: false,
        }
    }

    /// A server's first acknowledgement, without data and SACK blocks, has this ACE field (RFC
    /// 9768, table 4).
    pub(in super::super) fn on_handshake_ack(&mut self, ace: u8) {
        match ace {
            0b000 => self.disabled = true,
            0b110 => self.ce_packets = FIRST_CE_PACKETS + 1,
            _ => {}
        }
    }

    /// An acknowledgement arrives; returns the number of packets that it newly reports as marked.
    pub(in super::super) fn on_ack(
        &mut self,
        ace: u8,
        option: Option<&AccEcnOption>,
        acked: NewlyAcked,
    ) -> u64 {
        // An acknowledgement of nothing new may be an older one (RFC 9768 appendix A.1).
        if self.disabled || acked.bytes == 0 {
            return 0;
        }
        let marked_bytes = option.and_then(|option| self.newly_marked_bytes(option));
        // A count of octets that has fallen comes from an older acknowledgement as well.
        if marked_bytes.is_some_and(|bytes| bytes >= OPTION_VALUES / 2) {
            return 0;
        }
        let known = self.ce_packets % ACE_VALUES;
        let fewest = (u64::from(ace) + ACE_VALUES - known) % ACE_VALUES;
        let marked = match marked_bytes {
            Some(bytes) => with_option(fewest, bytes, acked),
            None if self.mean_acked > THINNED => fewest,
            None => safest(fewest, acked.packets),
        };
        self.ce_packets += marked;
        self.ce_bytes += marked_bytes.unwrap_or(0);
        self.mean_acked += THINNED_GAIN * (acked.packets as f64 - self.mean_acked);
        marked
    }

    /// d.ceb of RFC 9768 appendix A.1. An option that ends before ECEB means that no octets were
    /// ever marked, or else it has no information about marks.
    fn newly_marked_bytes(&self, option: &AccEcnOption) -> Option<u64> {
        let known = self.ce_bytes % OPTION_VALUES;
        match option.ce_bytes() {
            Some(field) => Some((u64::from(field) + OPTION_VALUES - known) % OPTION_VALUES),
            None => (self.ce_bytes == FIRST_CE_BYTES).then_some(0),
        }
    }

    /// s.cep.
    #[cfg(test)]
    pub(super) const fn ce_packets(&self) -> u64 {
        self.ce_packets
    }
}

/// dSafer.cep (RFC 9768 appendix A.2.1): as many marks as the packets allow. More marks than
/// packets are accepted (§3.2.2.5.2): packets without data are marked too.
const fn safest(fewest: u64, packets: u64) -> u64 {
    match packets.checked_sub(fewest) {
        Some(rest) => packets - rest % ACE_VALUES,
        None => fewest,
    }
}

/// The smallest number of marked packets that has room for the marked octets.
fn with_option(fewest: u64, marked_bytes: u64, acked: NewlyAcked) -> u64 {
    let most = safest(fewest, acked.packets);
    let has_room = |count: u64| {
        count.saturating_mul(acked.bytes) >= marked_bytes.saturating_mul(acked.packets)
    };
    let mut count = fewest;
    while count < most && !has_room(count) {
        count += ACE_VALUES;
    }
    count
}

//! The receiver's half of accurate ECN: counts packets by codepoint, and determines when marks
//! require an acknowledgement and the feedback that it carries (RFC 9768 §3.2).

use super::option::{AccEcnOption, Order};
use crate::packet::Ecn;

/// The initial r.cep, r.ceb, r.e0b and r.e1b (RFC 9768 §3.2.1): not zero except r.ceb, so that a
/// field that was zeroed on the path is detected.
pub(super) const FIRST_CE_PACKETS: u64 = 5;
pub(super) const FIRST_CE_BYTES: u64 = 0;
const FIRST_ECT_BYTES: u64 = 1;
/// n, the marks after which an acknowledgement leaves, while data waits for one and otherwise (RFC
/// 9768 §3.2.2.5.1).
const MARKS_WITH_DATA: u32 = 2;
const MARKS_WITHOUT_DATA: u32 = 3;

/// The counts of a receiver.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct DataReceiver {
    /// r.cep.
    ce_packets: u64,
    /// r.ceb.
    ce_bytes: u64,
    /// r.e0b.
    ect0_bytes: u64,
    /// r.e1b.
    ect1_bytes: u64,
    /// A SYN-ACK with a mark was counted.
    syn_ack_counted: bool,
    /// The packet before was marked.
    last_was_ce: bool,
    /// Marks since an acknowledgement left.
    unreported: u32,
    /// A count of octets has grown since an option left.
    grown: bool,
}

impl DataReceiver {
    pub(in super::super) const fn new() -> Self {
        Self {
            ce_packets: FIRST_CE_PACKETS,
            ce_bytes: FIRST_CE_BYTES,
            ect0_bytes: FIRST_ECT_BYTES,
            ect1_bytes: FIRST_ECT_BYTES,
            syn_ack_counted: false,
            last_was_ce: false,
            unreported: 0,
            grown: false,
        }
    }

    /// A SYN-ACK arrives; a mark is counted once (RFC 9768 §3.2.2.2).
    pub(in super::super) fn on_syn_ack(&mut self, ecn: Ecn) {
        if ecn == Ecn::Ce && !self.syn_ack_counted {
            self.syn_ack_counted = true;
            self.ce_packets += 1;
        }
    }

    /// An acceptable packet without SYN arrives, with `octets` octets of data; `data_waits` is true
    /// if data is not yet acknowledged. True if an acknowledgement must leave at once.
    pub(in super::super) fn on_packet(&mut self, ecn: Ecn, octets: u64, data_waits: bool) -> bool {
        let counted = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(&mut self.ect0_bytes),
            Ecn::Ect1 => Some(&mut self.ect1_bytes),
            Ecn::Ce => Some(&mut self.ce_bytes),
        };
        if let Some(counted) = counted {
            *counted += octets;
            self.grown |= octets > 0;
        }
        let is_ce = ecn == Ecn::Ce;
        let changed = std::mem::replace(&mut self.last_was_ce, is_ce) != is_ce;
        if !is_ce {
            return false;
        }
        self.ce_packets += 1;
        self.unreported += 1;
        let enough = if data_waits {
            MARKS_WITH_DATA
        } else {
            MARKS_WITHOUT_DATA
        };
        (changed && octets > 0) || self.unreported >= enough
    }

    /// A packet without SYN leaves; the ACE field that it carries (RFC 9768 §3.2.2.2).
    pub(in super::super) fn on_ack_sent(&mut self) -> u8 {
        self.unreported = 0;
        (self.ce_packets & 0b111) as u8
    }

    /// The option of an acknowledgement, if a count of octets has grown since the last option: with
    /// each count that has ever changed (RFC 9768 §3.2.3.3, recommended simple scheme).
    pub(in super::super) fn take_option(&mut self) -> Option<AccEcnOption> {
        if !std::mem::take(&mut self.grown) {
            return None;
        }
        let marked = self.ce_bytes != FIRST_CE_BYTES;
        let [ect0, ect1] = [self.ect0_bytes, self.ect1_bytes].map(|count| count != FIRST_ECT_BYTES);
        let (order, last) = if ect1 {
            (Order::Ect1First, ect0)
        } else {
            (Order::Ect0First, false)
        };
        let count = match (last, marked) {
            (true, _) => 3,
            (false, true) => 2,
            (false, false) => 1,
        };
        Some(AccEcnOption::new(order, self.fields(order), count))
    }

    /// The option of the handshake, with all counts (RFC 9768 §3.2.3.2.1).
    pub(in super::super) fn handshake_option(&self) -> AccEcnOption {
        AccEcnOption::new(Order::Ect0First, self.fields(Order::Ect0First), 3)
    }

    const fn fields(&self, order: Order) -> [u64; 3] {
        match order {
            Order::Ect0First => [self.ect0_bytes, self.ce_bytes, self.ect1_bytes],
            Order::Ect1First => [self.ect1_bytes, self.ce_bytes, self.ect0_bytes],
        }
    }

    /// r.cep.
    #[cfg(test)]
    pub(super) const fn ce_packets(&self) -> u64 {
        self.ce_packets
    }
}

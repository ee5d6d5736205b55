//! Sequence-number variables and the windows of valid numbers (RFC 4340 §7.1 and §7.5).

use super::wire::{PacketType, SeqNum};

/// The sequence number variables of RFC 4340 §7.1, and the packets received.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    /// Initial sequence number sent.
    pub(super) iss: SeqNum,
    /// Greatest sequence number sent.
    pub(super) gss: SeqNum,
    /// Initial sequence number received.
    pub(super) isr: SeqNum,
    /// Greatest valid sequence number received.
    pub(super) gsr: SeqNum,
    /// Greatest valid acknowledgement number received.
    pub(super) gar: SeqNum,
    /// OSR: the first number received in OPEN (§8.5 steps 11 and 12).
    pub(super) osr: Option<SeqNum>,
    /// A valid packet has been received, so that `isr`, `gsr` and `gar` are defined.
    pub(super) started: bool,
    /// W: the Sequence Window of the peer, for sequence numbers.
    pub(super) peer_window: u64,
    /// W': the Sequence Window of this end, for acknowledgement numbers.
    pub(super) own_window: u64,
    /// ISR is still a lower bound of the window.
    young: bool,
    replay_window: ReplayWindow,
}

impl Sequence {
    /// The variables before the first packet; both Sequence Windows are 100 at first (RFC 4340
    /// §6.4).
    pub(super) fn new(iss: SeqNum) -> Self {
        Self {
            iss,
            gss: iss.previous(),
            isr: SeqNum::default(),
            gsr: SeqNum::default(),
            gar: iss,
            osr: None,
            started: false,
            peer_window: 100,
            own_window: 100,
            young: true,
            replay_window: ReplayWindow::default(),
        }
    }

    /// The number of the next packet that leaves.
    pub(super) fn next(&mut self) -> SeqNum {
        self.gss = self.gss.next();
        self.gss
    }

    /// Initialises the windows so that the first packet of the peer is valid and new.
    pub(super) fn start(&mut self, seq: SeqNum) {
        self.isr = seq;
        self.gsr = seq.previous();
        self.started = true;
        self.young = true;
        self.replay_window = ReplayWindow::default();
    }

    /// SWL, the lower end of the valid sequence numbers (RFC 4340 §7.5.1).
    pub(super) fn swl(&self) -> SeqNum {
        let low = self.gsr.next().sub(self.peer_window / 4);
        // At the start of the connection no number before ISR is valid.
        if self.young && low.is_before(self.isr) {
            self.isr
        } else {
            low
        }
    }

    /// SWH, the upper end of the valid sequence numbers (RFC 4340 §7.5.1).
    pub(super) fn swh(&self) -> SeqNum {
        self.gsr.add((3 * self.peer_window).div_ceil(4))
    }

    /// AWL, the lower end of the valid acknowledgement numbers (RFC 4340 §7.5.1).
    pub(super) fn awl(&self) -> SeqNum {
        let low = self.gss.next().sub(self.own_window);
        if low.is_before(self.iss) && self.gss.since(self.iss) < self.own_window as i64 {
            self.iss
        } else {
            low
        }
    }

    /// True if the acknowledgement number is in [AWL, AWH].
    pub(super) fn ack_is_valid(&self, ack: SeqNum) -> bool {
        ack.is_within(self.awl(), self.gss)
    }

    /// True if the numbers of a packet of this type are valid (RFC 4340 §8.5 steps 5 and 6).
    pub(super) fn is_valid(&self, kind: PacketType, seq: SeqNum, ack: Option<SeqNum>) -> bool {
        use PacketType::{Close, CloseReq, Reset, Sync, SyncAck};
        match kind {
            Sync | SyncAck => {
                seq.is_at_or_after(self.swl()) && ack.is_some_and(|ack| self.ack_is_valid(ack))
            }
            Close | CloseReq | Reset => {
                seq.is_after(self.gsr)
                    && seq.is_at_or_before(self.swh())
                    && ack.is_some_and(|ack| ack.is_within(self.gar, self.gss))
            }
            _ => {
                seq.is_within(self.swl(), self.swh())
                    && ack.is_none_or(|ack| self.ack_is_valid(ack))
            }
        }
    }

    /// A valid packet arrived; false if it is a duplicate.
    pub(super) fn on_valid(&mut self, seq: SeqNum, ack: Option<SeqNum>) -> bool {
        let ahead = seq.since(self.gsr);
        if ahead > 0 {
            self.gsr = seq;
            self.replay_window.shift(ahead as u64);
            self.young &= self.gsr.since(self.isr) < (self.peer_window / 4) as i64;
        }
        if let Some(ack) = ack {
            self.gar = self.gar.max(ack);
        }
        self.replay_window.insert(self.gsr.since(seq) as u64)
    }
}

/// Which of the last 1024 numbers up to GSR have arrived. Older numbers count as received, so that
/// no packet is delivered twice.
#[derive(Clone, Debug, Default)]
struct ReplayWindow {
    /// A ring of bits.
    bits: [u64; 16],
    /// The index of the bit for GSR.
    newest: u64,
}

impl ReplayWindow {
    const BITS: u64 = 1024;

    /// The word and the bit of the number that is `behind` numbers before GSR.
    const fn place(&self, behind: u64) -> (usize, u64) {
        let at = self.newest.wrapping_sub(behind) % Self::BITS;
        ((at / 64) as usize, 1 << (at % 64))
    }

    /// GSR grows by `count`.
    fn shift(&mut self, count: u64) {
        if count >= Self::BITS {
            self.bits = [0; 16];
            return;
        }
        self.newest = self.newest.wrapping_add(count);
        for behind in 0..count {
            let (word, bit) = self.place(behind);
            self.bits[word] &= !bit;
        }
    }

    /// The number that is `behind` numbers before GSR has arrived; false if it had arrived before.
    fn insert(&mut self, behind: u64) -> bool {
        if behind >= Self::BITS {
            return false;
        }
        let (word, bit) = self.place(behind);
        let new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence() -> Sequence {
        let mut sequence = Sequence::new(SeqNum::new(1000));
        for _ in 0..300 {
            sequence.next();
        }
        sequence.start(SeqNum::new(5000));
        for seq in 5001..5200 {
            sequence.on_valid(SeqNum::new(seq), None);
        }
        sequence
    }

    #[test]
    fn windows_are_those_of_section_7_5_1() {
        let sequence = sequence();
        // W = W' = 100, GSR = 5199, GSS = 1299.
        assert_eq!(sequence.swl(), SeqNum::new(5175));
        assert_eq!(sequence.swh(), SeqNum::new(5274));
        assert_eq!(sequence.awl(), SeqNum::new(1200));
    }

    #[test]
    fn windows_do_not_reach_before_the_first_packet() {
        let mut sequence = Sequence::new(SeqNum::new(1000));
        sequence.next();
        sequence.start(SeqNum::new(0));
        assert_eq!(sequence.swl(), SeqNum::new(0));
        assert_eq!(sequence.awl(), SeqNum::new(1000));
    }

    #[test]
    fn validity_depends_on_the_type() {
        use PacketType::{Ack, Close, Sync};
        let sequence = sequence();
        let valid =
            |kind, seq, ack| sequence.is_valid(kind, SeqNum::new(seq), Some(SeqNum::new(ack)));
        for (kind, seq, ack, expected) in [
            (Ack, 5175, 1200, true),
            (Ack, 5174, 1200, false),
            (Ack, 5274, 1299, true),
            (Ack, 5275, 1299, false),
            (Ack, 5200, 1199, false),
            (Ack, 5200, 1300, false),
            (Close, 5199, 1299, false),
            (Close, 5200, 1299, true),
            (Sync, 9999, 1250, true),
            (Sync, 5174, 1250, false),
            (Sync, 9999, 1300, false),
        ] {
            assert_eq!(valid(kind, seq, ack), expected, "{kind:?} {seq} {ack}");
        }
    }

    #[test]
    fn a_number_is_new_once() {
        let mut sequence = sequence();
        assert!(sequence.on_valid(SeqNum::new(5210), None));
        assert!(sequence.on_valid(SeqNum::new(5205), None));
        assert!(!sequence.on_valid(SeqNum::new(5205), None));
        assert!(!sequence.on_valid(SeqNum::new(5210), None));
        assert!(!sequence.on_valid(SeqNum::new(5100), None));
        assert!(sequence.on_valid(SeqNum::new(5210 + 70), None));
        assert!(!sequence.on_valid(SeqNum::new(5205), None));
        assert!(sequence.on_valid(SeqNum::new(5206), None));
    }

    #[test]
    fn numbers_that_leave_the_window_count_as_received() {
        let mut sequence = sequence();
        let mut is_new = |seq| sequence.on_valid(SeqNum::new(seq), None);
        assert!(is_new(6199));
        assert!(!is_new(5199) && is_new(5205), "1000 behind");
        assert!(is_new(6799));
        assert!(!is_new(6199));
        assert!(is_new(6799 - 1023) && !is_new(6799 - 1024));
        assert!(
            is_new(11_799) && is_new(11_798),
            "none of the others is left"
        );
        assert!(is_new(11_799 - 1023) && !is_new(6799));
    }

    #[test]
    fn the_first_number_bounds_the_window_until_a_quarter_of_it_has_come() {
        // RFC 4340 §7.5.1: SWL is at least ISR at the start. W is 100: a quarter of it has arrived
        // with the 25th number after ISR. The window that is negotiated then has W / 4 = 250.
        for (ahead, swl) in [(24, 5000), (25, 5026 - 250)] {
            let mut sequence = Sequence::new(SeqNum::new(0));
            sequence.start(SeqNum::new(5000));
            for seq in [5000, 5000 + ahead] {
                sequence.on_valid(SeqNum::new(seq), None);
            }
            sequence.peer_window = 1000;
            assert_eq!(sequence.swl(), SeqNum::new(swl), "{ahead}");
            // Also when an earlier number arrives late.
            sequence.on_valid(SeqNum::new(5001), None);
            assert_eq!(sequence.swl(), SeqNum::new(swl), "{ahead}");
        }
    }

    #[test]
    fn a_smaller_window_begins_after_the_first_number() {
        // RFC 4340 §7.5.1: GSR + 1 - W / 4 = 5020 + 1 - 8.
        let mut sequence = Sequence::new(SeqNum::new(0));
        sequence.start(SeqNum::new(5000));
        for seq in [5000, 5020] {
            sequence.on_valid(SeqNum::new(seq), None);
        }
        sequence.peer_window = 32;
        assert_eq!(sequence.swl(), SeqNum::new(5013));
    }

    #[test]
    fn each_of_the_last_1024_numbers_is_new_once() {
        let mut sequence = sequence();
        for seq in 5200..8000 {
            assert!(sequence.on_valid(SeqNum::new(seq), None), "{seq}");
            assert!(!sequence.on_valid(SeqNum::new(seq), None), "{seq}");
        }
        // A jump of the window's length leaves none of its numbers.
        for newest in [9023, 12_000] {
            assert!(sequence.on_valid(SeqNum::new(newest), None));
            for behind in 1..1024 {
                let seq = SeqNum::new(newest - behind);
                assert!(sequence.on_valid(seq, None), "{newest} {behind}");
            }
        }
    }
}

//! TCP segments with exact sizes (RFC 9293 §3.1): 20 octets of header; on SYN the options MSS,
//! SACK-permitted and window scale, padded to 12; with SACK blocks 4 + 8 n (RFC 2018 §3, two
//! NOPs before); the AccECN option, padded to whole words (RFC 9768 §3.2.3).

use super::ecn::AccEcnOption;

/// Flag bits of octets 12 and 13 (RFC 9293 §3.1, RFC 3168 §6.1, RFC 9768 §3.1.1).
pub(super) mod flag {
    pub(in super::super) const FIN: u16 = 0x01;
    pub(in super::super) const SYN: u16 = 0x02;
    pub(in super::super) const RST: u16 = 0x04;
    pub(in super::super) const ACK: u16 = 0x10;
    pub(in super::super) const ECE: u16 = 0x40;
    pub(in super::super) const CWR: u16 = 0x80;
    /// AE, CWR and ECE: the ACE field.
    pub(in super::super) const ACE: u16 = 0x1c0;
    pub(in super::super) const ACE_SHIFT: u32 = 6;
    /// All flags of a segment.
    pub(in super::super) const ALL: u16 = 0x1ff;
}

const HEADER_OCTETS: usize = 20;
const MAX_HEADER_OCTETS: usize = 60;
const SYN_OPTION_OCTETS: usize = 12;
const MAX_SACK_BLOCKS: usize = 4;
/// SACK blocks beside the longest AccECN option: 40 octets of options hold 12 and 4 + 8 · 3.
pub(super) const SACK_BLOCKS_BESIDE_ACCECN: u8 = 3;

/// Up to four SACK blocks `[start, end)`, the most recent first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); MAX_SACK_BLOCKS],
    count: u8,
}

/// Options that only a SYN carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynOptions {
    /// Largest segment that the sender of this option accepts, in octets.
    pub mss: u16,
    /// Shift of the window field (RFC 7323 §2).
    pub window_scale: u8,
    /// The sender of this option understands SACK.
    pub sack_permitted: bool,
}

/// A TCP segment. The fields have a fixed order with the option last: its unused values distinguish
/// this packet from those of other transports, which have no data at that place.
#[derive(Clone, Debug, PartialEq)]
#[repr(C)]
pub struct Packet {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number of the first octet (or of the SYN or FIN).
    pub seq: u32,
    /// Next octet expected, if the ACK flag is set.
    pub ack: u32,
    /// Flags, the low nine bits of the field.
    pub flags: u16,
    /// Window field, not yet scaled.
    pub window: u16,
    /// Octets of application data, whose content does not matter: zeros in wire form.
    pub payload_len: u32,
    /// Selective acknowledgements.
    pub sack: SackBlocks,
    /// Options of a SYN.
    pub syn: Option<SynOptions>,
    /// Counts of marked octets.
    pub accecn: Option<AccEcnOption>,
}

impl SackBlocks {
    /// Appends a block; false if all four are in use.
    pub fn push(&mut self, block: (u32, u32)) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.count)) else {
            return false;
        };
        *slot = block;
        self.count += 1;
        true
    }

    /// Keeps the first `count` blocks.
    pub(super) fn truncate(&mut self, count: u8) {
        for block in self.blocks.iter_mut().skip(usize::from(count)) {
            *block = (0, 0);
        }
        self.count = self.count.min(count);
    }

    /// The blocks in their order.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        self.blocks
            .get(..usize::from(self.count))
            .unwrap_or_default()
    }
}

impl Packet {
    pub(super) const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Octets of header and options.
    pub fn header_len(&self) -> usize {
        Self::header_of(self.syn.is_some(), &self.sack, self.accecn)
    }

    /// Octets of a header with these options.
    pub(super) fn header_of(syn: bool, sack: &SackBlocks, accecn: Option<AccEcnOption>) -> usize {
        let syn = if syn { SYN_OPTION_OCTETS } else { 0 };
        let sack = match sack.count {
            0 => 0,
            n => 4 + 8 * usize::from(n),
        };
        let accecn = accecn.map_or(0, |option| option.len() + option.padding());
        HEADER_OCTETS + syn + sack + accecn
    }

    /// Octets of the whole segment.
    pub fn wire_len(&self) -> usize {
        self.header_len() + self.payload_len as usize
    }

    /// The segment in wire form. The checksum field is zero, as in captures of a host with checksum
    /// offload.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.wire_len());
        out.extend(self.source_port.to_be_bytes());
        out.extend(self.destination_port.to_be_bytes());
        out.extend(self.seq.to_be_bytes());
        out.extend(self.ack.to_be_bytes());
        let [reserved, flags] = (self.flags & flag::ALL).to_be_bytes();
        out.push(((self.header_len() / 4) << 4) as u8 | reserved);
        out.push(flags);
        out.extend(self.window.to_be_bytes());
        out.extend([0; 4]);
        if let Some(syn) = self.syn {
            let [high, low] = syn.mss.to_be_bytes();
            out.extend([2, 4, high, low]);
            out.extend(if syn.sack_permitted { [4, 2] } else { [1, 1] });
            out.extend([1, 3, 3, syn.window_scale, 1, 1]);
        }
        let blocks = self.sack.as_slice();
        if !blocks.is_empty() {
            out.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
            for (start, end) in blocks {
                out.extend(start.to_be_bytes());
                out.extend(end.to_be_bytes());
            }
        }
        if let Some(option) = self.accecn {
            option.encode(&mut out);
        }
        out.resize(out.len() + self.payload_len as usize, 0);
        out
    }

    /// Reads a segment; its payload becomes a length. `None` if the octets are not a segment.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (header, rest) = bytes.split_first_chunk::<HEADER_OCTETS>()?;
        let word = |at: usize| {
            u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let header_len = usize::from(header[12] >> 4) * 4;
        let option_len = header_len.checked_sub(HEADER_OCTETS)?;
        let (options, payload) = rest.split_at_checked(option_len)?;
        let mut packet = Self {
            source_port: half(0),
            destination_port: half(2),
            seq: word(4),
            ack: word(8),
            flags: half(12) & flag::ALL,
            window: half(14),
            syn: None,
            sack: SackBlocks::default(),
            accecn: None,
            payload_len: payload.len() as u32,
        };
        packet.read_options(options);
        // Another encoder may pack options tighter: SACK blocks are dropped then.
        while packet.header_len() > MAX_HEADER_OCTETS && packet.sack.count > 0 {
            packet.sack.truncate(packet.sack.count - 1);
        }
        Some(packet)
    }

    /// Reads the options up to the first with an impossible length.
    fn read_options(&mut self, mut options: &[u8]) {
        let mut syn = SynOptions {
            mss: 536,
            window_scale: 0,
            sack_permitted: false,
        };
        while let [kind, rest @ ..] = options {
            match kind {
                0 => break,
                1 => {
                    options = rest;
                    continue;
                }
                _ => {}
            }
            let [len, ..] = rest else { break };
            let Some((option, after)) = options.split_at_checked(usize::from(*len).max(2)) else {
                break;
            };
            match (kind, &option[2..]) {
                (2, &[high, low]) => syn.mss = u16::from_be_bytes([high, low]),
                (3, &[shift]) => syn.window_scale = shift.min(14),
                (4, []) => syn.sack_permitted = true,
                (5, blocks) => {
                    for block in blocks.chunks_exact(8) {
                        let word = |at: usize| {
                            u32::from_be_bytes([
                                block[at],
                                block[at + 1],
                                block[at + 2],
                                block[at + 3],
                            ])
                        };
                        self.sack.push((word(0), word(4)));
                    }
                }
                (kind, fields) => {
                    self.accecn = AccEcnOption::decode(*kind, fields).or(self.accecn);
                }
            }
            options = after;
        }
        if self.has(flag::SYN) {
            self.syn = Some(syn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ecn::Order;
    use super::*;
    use proptest::prelude::*;

    fn segment(flags: u16, syn: Option<SynOptions>, sack: SackBlocks, len: u32) -> Packet {
        Packet {
            source_port: 40_000,
            destination_port: 80,
            seq: 0x0102_0304,
            ack: 0x0506_0708,
            flags,
            window: 0x1122,
            syn,
            sack,
            accecn: None,
            payload_len: len,
        }
    }

    #[test]
    fn lays_out_a_syn_as_rfc_9293_says() {
        let options = SynOptions {
            mss: 1460,
            window_scale: 7,
            sack_permitted: true,
        };
        let bytes = segment(flag::SYN, Some(options), SackBlocks::default(), 0).encode();
        let expected = [
            0x9c, 0x40, 0, 80, 1, 2, 3, 4, 5, 6, 7, 8, 0x80, 0x02, 0x11, 0x22, 0, 0, 0, 0, //
            2, 4, 0x05, 0xb4, 4, 2, 1, 3, 3, 7, 1, 1,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn counts_twelve_octets_for_one_sack_block() {
        let mut sack = SackBlocks::default();
        assert!(sack.push((10, 20)));
        assert_eq!(
            segment(flag::ACK, None, sack, 100).wire_len(),
            20 + 12 + 100
        );
    }

    #[test]
    fn options_that_another_encoder_packs_tighter_leave_a_segment_that_can_be_encoded() {
        // 40 octets of options: four SACK blocks, AccECN with one field, a NOP; this encoder pads
        // the first to 36 and the second to 8.
        let mut bytes = segment(flag::ACK, None, SackBlocks::default(), 0).encode();
        bytes[12] = 0xf0;
        bytes.extend([5, 34].into_iter().chain(1..=32));
        bytes.extend([172, 5, 0, 0, 7, 1]);
        let packet = Packet::decode(&bytes).expect("a segment");
        assert_eq!(packet.sack.as_slice().len(), 3);
        assert_eq!(Packet::decode(&packet.encode()), Some(packet));
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(
            seq: u32, ack: u32, window: u16, len in 0_u32..2000,
            blocks in proptest::collection::vec(any::<(u32, u32)>(), 0..5),
            syn in proptest::option::of((any::<u16>(), 0_u8..15, any::<bool>())),
            ace in 0_u16..8,
            accecn in proptest::option::of((any::<bool>(), any::<[u64; 3]>(), 0_usize..4)),
        ) {
            let mut sack = SackBlocks::default();
            for block in blocks {
                sack.push(block);
            }
            let syn = syn.map(|(mss, window_scale, sack_permitted)| {
                SynOptions { mss, window_scale, sack_permitted }
            });
            let flags = flag::ACK | ace << flag::ACE_SHIFT;
            let flags = flags | if syn.is_some() { flag::SYN } else { 0 };
            let mut sack = if syn.is_some() { SackBlocks::default() } else { sack };
            if accecn.is_some() {
                sack.truncate(SACK_BLOCKS_BESIDE_ACCECN);
            }
            let mut packet = segment(flags, syn, sack, len);
            packet.accecn = accecn.map(|(first, fields, count)| {
                let order = if first { Order::Ect0First } else { Order::Ect1First };
                AccEcnOption::new(order, fields, count)
            });
            prop_assert!(packet.header_len() <= MAX_HEADER_OCTETS);
            (packet.seq, packet.ack, packet.window) = (seq, ack, window);
            let bytes = packet.encode();
            prop_assert_eq!(bytes.len(), packet.wire_len());
            prop_assert_eq!(Packet::decode(&bytes), Some(packet));
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Packet::decode(&bytes);
        }
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod layout_tests;

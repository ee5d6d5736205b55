//! What a filter of acknowledgements reads in a TCP segment, and which of two acknowledgements
//! makes the other redundant.

use weir_proto::packet::{Body, Packet};

const FIN: u16 = 0x01;
const SYN: u16 = 0x02;
const RST: u16 = 0x04;
const PSH: u16 = 0x08;
const ACK: u16 = 0x10;
const URG: u16 = 0x20;
const ECE: u16 = 0x40;
const CWR: u16 = 0x80;
/// The flag AE and the reserved bits before it.
const RESERVED: u16 = 0xf00;

/// Up to four SACK blocks `[start, end)`.
type Blocks = [Option<(u32, u32)>; 4];

/// The fields of a TCP segment on which the filter decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AckFacts {
    pub(crate) ack: u32,
    /// The low twelve bits of the field with the flags.
    pub(crate) flags: u16,
    pub(crate) has_payload: bool,
    pub(crate) sack: Blocks,
    /// TSval and TSecr (RFC 7323 §3).
    pub(crate) timestamps: Option<(u32, u32)>,
    /// It has options other than SACK and timestamps.
    pub(crate) has_other_options: bool,
}

/// True if sequence number `a` is after `b` (RFC 9293 §3.4).
const fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl AckFacts {
    /// The facts of a packet; `None` unless it is a TCP segment.
    pub(crate) fn of(packet: &Packet) -> Option<Self> {
        match &packet.body {
            Body::Tcp(segment) => {
                let mut sack = Blocks::default();
                for (slot, block) in sack.iter_mut().zip(segment.sack.as_slice()) {
                    *slot = Some(*block);
                }
                Some(Self {
                    ack: segment.ack,
                    flags: segment.flags,
                    has_payload: segment.payload_len > 0,
                    sack,
                    timestamps: None,
                    has_other_options: segment.syn.is_some() || segment.accecn.is_some(),
                })
            }
            Body::Other(payload) => Self::parse(payload.content()?),
            _ => None,
        }
    }

    /// Parses an IP packet; `None` unless it carries a whole TCP header and is no fragment.
    fn parse(octets: &[u8]) -> Option<Self> {
        let (header, end) = match octets.first()? >> 4 {
            4 => {
                let ip: &[u8; 20] = octets.first_chunk()?;
                let is_whole = [ip[6] & 0x3f, ip[7]] == [0, 0];
                let end = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
                (ip[9] == 6 && is_whole).then_some((usize::from(ip[0] & 15) * 4, end))?
            }
            6 => {
                let ip: &[u8; 40] = octets.first_chunk()?;
                let end = 40 + usize::from(u16::from_be_bytes([ip[4], ip[5]]));
                (ip[6] == 6).then_some((40, end))?
            }
            _ => return None,
        };
        let segment = octets.get(header..end.min(octets.len()))?;
        let tcp: &[u8; 20] = segment.first_chunk()?;
        let data = usize::from(tcp[12] >> 4) * 4;
        let mut facts = Self {
            ack: u32::from_be_bytes([tcp[8], tcp[9], tcp[10], tcp[11]]),
            flags: u16::from_be_bytes([tcp[12] & 0x0f, tcp[13]]),
            has_payload: segment.len() > data,
            ..Self::default()
        };
        facts.read_options(segment.get(20..data)?)?;
        Some(facts)
    }

    /// Reads the options of a header; `None` if they are malformed.
    fn read_options(&mut self, mut options: &[u8]) -> Option<()> {
        while let Some((&kind, rest)) = options.split_first() {
            match kind {
                0 => break,
                1 => {
                    options = rest;
                    continue;
                }
                _ => {}
            }
            let len = usize::from(*rest.first()?);
            let content = options.get(2..len)?;
            let words: Vec<u32> = content
                .as_chunks::<4>()
                .0
                .iter()
                .map(|word| u32::from_be_bytes(*word))
                .collect();
            match (kind, words.as_slice()) {
                (5, blocks) => {
                    let pairs = blocks.as_chunks::<2>().0;
                    for (slot, &[start, end]) in self.sack.iter_mut().zip(pairs) {
                        *slot = Some((start, end));
                    }
                }
                (8, &[value, echo]) => self.timestamps = Some((value, echo)),
                _ => self.has_other_options = true,
            }
            options = options.get(len..)?;
        }
        Some(())
    }

    /// True if it acknowledges and opens no connection: it may make others redundant.
    pub(crate) const fn may_replace(&self) -> bool {
        self.flags & (ACK | SYN) == ACK
    }

    /// The echo of congestion: ECE and CWR.
    pub(crate) const fn congestion(&self) -> u16 {
        self.flags & (ECE | CWR)
    }

    /// True if it says nothing that `later` does not say: it is a pure acknowledgement of no more,
    /// with no options but timestamps that are not newer and SACK blocks that `later` covers.
    pub(crate) fn is_covered_by(&self, later: &Self) -> bool {
        let flags = self.flags & (RESERVED | FIN | SYN | RST | PSH | ACK | URG);
        let is_pure = flags == ACK && !self.has_payload && !self.has_other_options;
        if !is_pure || is_after(self.ack, later.ack) {
            return false;
        }
        let is_newer = match (self.timestamps, later.timestamps) {
            (Some((value, echo)), Some((later_value, later_echo))) => {
                is_after(value, later_value) || is_after(echo, later_echo)
            }
            (Some(_), None) => true,
            _ => false,
        };
        let Some(more_sacked) = self.compare_sack(later) else {
            return false;
        };
        !is_newer && (self.ack != later.ack || more_sacked)
    }

    /// Whether `later` selectively acknowledges more octets; `None` if it lacks some of these.
    fn compare_sack(&self, later: &Self) -> Option<bool> {
        let octets = |blocks: &Blocks| -> u64 {
            let size = |(start, end): (u32, u32)| u64::from(end.wrapping_sub(start));
            blocks.iter().flatten().copied().map(size).sum()
        };
        let is_duplicate = |&(start, _): &(u32, u32)| is_after(self.ack, start);
        let mut both = self.sack.iter().chain(&later.sack).flatten();
        // A duplicate (RFC 2883) is news, whoever reports it.
        if self.sack != Blocks::default() && both.any(is_duplicate) {
            return None;
        }
        let covered = self.sack.iter().flatten().all(|&(start, end)| {
            later
                .sack
                .iter()
                .flatten()
                .any(|&(from, to)| !is_after(from, start) && !is_after(end, to))
        });
        covered.then(|| octets(&later.sack) > octets(&self.sack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(number: u32) -> AckFacts {
        AckFacts {
            ack: number,
            flags: ACK,
            ..AckFacts::default()
        }
    }

    fn sack(number: u32, blocks: &[(u32, u32)]) -> AckFacts {
        let mut facts = ack(number);
        for (slot, block) in facts.sack.iter_mut().zip(blocks) {
            *slot = Some(*block);
        }
        facts
    }

    #[test]
    fn only_pure_acknowledgements_of_no_more_are_covered() {
        let later = ack(2000);
        assert!(ack(1000).is_covered_by(&later));
        assert!(
            !ack(2000).is_covered_by(&later),
            "a duplicate counts losses"
        );
        assert!(!ack(2001).is_covered_by(&later));
        assert!(
            ack(u32::MAX).is_covered_by(&ack(5)),
            "sequence numbers wrap"
        );
        for flags in [FIN, SYN, RST, PSH, URG, 0x100, 0x200] {
            let special = AckFacts {
                flags: ACK | flags,
                ..ack(1000)
            };
            assert!(!special.is_covered_by(&later), "{flags:x}");
        }
        for flags in [ECE, CWR] {
            let marked = AckFacts {
                flags: ACK | flags,
                ..ack(1000)
            };
            assert!(marked.is_covered_by(&later));
        }
        let data = AckFacts {
            has_payload: true,
            ..ack(1000)
        };
        let option = AckFacts {
            has_other_options: true,
            ..ack(1000)
        };
        assert!(!data.is_covered_by(&later) && !option.is_covered_by(&later));
    }

    #[test]
    fn selective_acknowledgements_must_be_covered() {
        let later = sack(1000, &[(3000, 4000), (5000, 6000)]);
        assert!(sack(1000, &[(3000, 4000)]).is_covered_by(&later));
        assert!(sack(1000, &[(3200, 3500)]).is_covered_by(&later));
        assert!(!sack(1000, &[(3000, 4001)]).is_covered_by(&later));
        assert!(!later.is_covered_by(&later), "it says the same");
        assert!(ack(1000).is_covered_by(&later));
        assert!(!sack(500, &[(3000, 4000)]).is_covered_by(&ack(1000)));
        // RFC 2883: a block below the acknowledgement is a duplicate.
        assert!(!sack(1000, &[(500, 600)]).is_covered_by(&later));
    }

    #[test]
    fn newer_timestamps_are_news() {
        let stamped = |value, echo| AckFacts {
            timestamps: Some((value, echo)),
            ..ack(1000)
        };
        let later = AckFacts {
            timestamps: Some((50, 70)),
            ..ack(2000)
        };
        assert!(stamped(50, 70).is_covered_by(&later));
        assert!(!stamped(51, 70).is_covered_by(&later));
        assert!(!stamped(50, 71).is_covered_by(&later));
        assert!(!stamped(1, 1).is_covered_by(&ack(2000)));
    }

    #[test]
    fn real_packets_are_parsed() {
        // IPv4 of 64 octets, protocol 6; TCP with 12 octets of timestamps (NOP, NOP, 8, 10) and a
        // SACK option of one block (NOP, NOP, 5, 10).
        let mut octets = vec![0x45, 0, 0, 64, 0, 0, 0x40, 0, 64, 6];
        octets.resize(20, 0);
        octets.extend([0, 80, 4, 0, 0, 0, 0, 1, 0, 0, 3, 0xe8, 0xb0, 0x50]);
        octets.resize(40, 0);
        octets.extend([1, 1, 8, 10, 0, 0, 0, 50, 0, 0, 0, 70]);
        octets.extend([1, 1, 5, 10, 0, 0, 0x0b, 0xb8, 0, 0, 0x0f, 0xa0]);
        let expected = AckFacts {
            flags: ACK | ECE,
            timestamps: Some((50, 70)),
            ..sack(1000, &[(3000, 4000)])
        };
        assert_eq!(AckFacts::parse(&octets), Some(expected));
        // The same in IPv6; one octet of payload; another protocol; a fragment; too short.
        let mut six = vec![0x60, 0, 0, 0, 0, 44, 6, 64];
        six.resize(40, 0);
        six.extend(&octets[20..]);
        assert_eq!(AckFacts::parse(&six), Some(expected));
        let mut data = octets.clone();
        data.push(1);
        data[3] = 65;
        assert!(AckFacts::parse(&data).is_some_and(|facts| facts.has_payload));
        data[9] = 17;
        assert_eq!(AckFacts::parse(&data), None);
        let mut fragment = octets.clone();
        fragment[7] = 1;
        assert_eq!(AckFacts::parse(&fragment), None);
        for len in 0..octets.len() {
            AckFacts::parse(&octets[..len]);
        }
    }
}

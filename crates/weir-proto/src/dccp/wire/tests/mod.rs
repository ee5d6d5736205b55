//! Layouts written down by hand from the figures of RFC 4340 §5 and §9, and properties of the
//! codec over random packets and random bytes.

mod layouts;
mod options;
mod properties;
mod validity;

use super::checksum::PseudoHeader;
use super::{Packet, SeqNum};

const PSEUDO: PseudoHeader = PseudoHeader::V4 {
    source: [192, 0, 2, 1],
    destination: [192, 0, 2, 2],
};

fn seq(value: u64) -> SeqNum {
    SeqNum::new(value)
}

fn encoded(packet: &Packet) -> Vec<u8> {
    let mut out = Vec::new();
    packet
        .encode(None, &mut out)
        .expect("a packet with a wire form");
    out
}

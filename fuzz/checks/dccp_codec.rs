//! Arbitrary bytes as a DCCP packet and as an option area: no input panics, a decoded packet is
//! encoded to the same bytes, and an encoded option is decoded to itself.

use weir_proto::dccp::wire::checksum::{ChecksumStatus, PseudoHeader};
use weir_proto::dccp::wire::{
    DccpOption, LossInterval, OptionIter, Options, decode, decode_prefix,
};

const PSEUDO: PseudoHeader = PseudoHeader::V4 {
    source: [192, 0, 2, 1],
    destination: [192, 0, 2, 2],
};

pub fn check(bytes: &[u8]) {
    check_packet(bytes);
    check_options(bytes);
    let _ = decode_prefix(bytes, bytes.len().saturating_mul(2));
    let _ = decode_prefix(bytes, bytes.len() / 2);
}

fn check_packet(bytes: &[u8]) {
    let decoded = match decode(bytes) {
        Ok(decoded) => decoded,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(decoded.packet.wire_len() as usize, bytes.len());
    assert_ne!(
        decoded.checksum_status(bytes, &PSEUDO),
        ChecksumStatus::None
    );
    let mut again = Vec::new();
    decoded
        .encode(&mut again)
        .expect("a decoded packet can be encoded");
    assert_eq!(again, bytes);

    let packet = decoded.into_packet();
    again.clear();
    packet
        .encode(Some(&PSEUDO), &mut again)
        .expect("a decoded packet can be encoded");
    let decoded = decode(&again).expect("an encoded packet is well-formed");
    assert_eq!(
        decoded.checksum_status(&again, &PSEUDO),
        ChecksumStatus::Good
    );
    assert_eq!(decoded.into_packet(), packet);
}

fn check_options(bytes: &[u8]) {
    for option in OptionIter::new(bytes) {
        assert!(!option.to_string().is_empty());
        if let DccpOption::LossIntervals { intervals, .. } = option {
            assert_eq!(
                LossInterval::read_all(intervals).count() * 9,
                intervals.len()
            );
        }
        let mut options = Options::new();
        assert!(options.push(&option), "one option always fits");
        assert_eq!(options.iter().collect::<Vec<_>>(), [option]);
    }
}

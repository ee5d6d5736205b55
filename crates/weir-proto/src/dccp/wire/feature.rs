//! Feature numbers, their reconciliation rules and the encoding of their values (RFC 4340 §6.3 and
//! §6.4, RFC 4342 §8.4, RFC 6323 §3.2.2).

/// A reconciliation rule (RFC 4340 §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconciliationRule {
    /// The server's preference list decides; values are single octets.
    ServerPriority,
    /// The host at which the feature is located determines its value, which is a number.
    NonNegotiable,
}

/// Which congestion control a half-connection uses (§10).
pub const CCID: u8 = 1;
/// Whether 24-bit sequence numbers may be sent (§7.6.1).
pub const ALLOW_SHORT_SEQNOS: u8 = 2;
/// The width of the window of valid sequence numbers (§7.5.2).
pub const SEQUENCE_WINDOW: u8 = 3;
/// Whether the host cannot read ECN marks (§12.1).
pub const ECN_INCAPABLE: u8 = 4;
/// Data packets per acknowledgement in CCID-2 (§11.3).
pub const ACK_RATIO: u8 = 5;
/// Whether Ack Vectors are sent (§11.5).
pub const SEND_ACK_VECTOR: u8 = 6;
/// Whether NDP Counts are sent (§7.7.2).
pub const SEND_NDP_COUNT: u8 = 7;
/// The checksum coverage that a receiver accepts (§9.2.1).
pub const MINIMUM_CHECKSUM_COVERAGE: u8 = 8;
/// Whether Data Checksums are checked (§9.3.1).
pub const CHECK_DATA_CHECKSUM: u8 = 9;
/// CCID-3: whether RTT Estimates are sent (RFC 6323 §3.2.2).
pub const SEND_RTT_ESTIMATE: u8 = 128;
/// CCID-3: whether Loss Event Rates are sent (RFC 4342 §8.4).
pub const SEND_LOSS_EVENT_RATE: u8 = 192;

/// The name in RFC 4340 table 4, RFC 4342 table 2 or RFC 6323 table 2.
pub const fn name(feature: u8) -> Option<&'static str> {
    Some(match feature {
        CCID => "CCID",
        ALLOW_SHORT_SEQNOS => "Allow Short Seqnos",
        SEQUENCE_WINDOW => "Sequence Window",
        ECN_INCAPABLE => "ECN Incapable",
        ACK_RATIO => "Ack Ratio",
        SEND_ACK_VECTOR => "Send Ack Vector",
        SEND_NDP_COUNT => "Send NDP Count",
        MINIMUM_CHECKSUM_COVERAGE => "Minimum Checksum Coverage",
        CHECK_DATA_CHECKSUM => "Check Data Checksum",
        SEND_RTT_ESTIMATE => "Send RTT Estimate",
        SEND_LOSS_EVENT_RATE => "Send Loss Event Rate",
        _ => return None,
    })
}

/// The reconciliation rule; `None` for an unknown feature.
pub const fn rule(feature: u8) -> Option<ReconciliationRule> {
    match feature {
        SEQUENCE_WINDOW | ACK_RATIO => Some(ReconciliationRule::NonNegotiable),
        _ if name(feature).is_some() => Some(ReconciliationRule::ServerPriority),
        _ => None,
    }
}

/// The octets of one value on the wire: Sequence Window 6 (§7.5.2), Ack Ratio 2 (§11.3), all
/// others 1.
pub const fn value_len(feature: u8) -> usize {
    match feature {
        SEQUENCE_WINDOW => 6,
        ACK_RATIO => 2,
        _ => 1,
    }
}

/// The wire form of a non-negotiable value, of which the first [`value_len`] octets are used; the
/// high octets of a larger value are dropped.
pub fn encode_number(feature: u8, value: u64) -> ([u8; 8], usize) {
    let len = value_len(feature);
    ((value << (64 - 8 * len)).to_be_bytes(), len)
}

/// A non-negotiable value; `None` if the length is not [`value_len`].
pub fn decode_number(feature: u8, value: &[u8]) -> Option<u64> {
    let fits = value.len() == value_len(feature);
    fits.then(|| {
        value
            .iter()
            .fold(0, |sum, octet| sum << 8 | u64::from(*octet))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_non_negotiable_features_have_their_own_width() {
        let (octets, len) = encode_number(SEQUENCE_WINDOW, 100);
        assert_eq!(&octets[..len], [0, 0, 0, 0, 0, 100]);
        let (octets, len) = encode_number(ACK_RATIO, 0x0102);
        assert_eq!(&octets[..len], [1, 2]);
        assert_eq!(
            decode_number(SEQUENCE_WINDOW, &[0, 0, 0, 0, 1, 0]),
            Some(256)
        );
        assert_eq!(decode_number(ACK_RATIO, &[1]), None);
    }

    #[test]
    fn ccid_3_has_feature_number_192() {
        // RFC 4342 §8.4, SEND_LOSS_EVENT_RATE, and table 2 of §8.
        assert_eq!(SEND_LOSS_EVENT_RATE, 192);
    }

    #[test]
    fn features_have_the_numbers_of_the_tables() {
        // RFC 4340 table 4, RFC 4342 table 2 and RFC 6323 table 2.
        for (number, name) in [
            (1, CCID),
            (2, ALLOW_SHORT_SEQNOS),
            (3, SEQUENCE_WINDOW),
            (4, ECN_INCAPABLE),
            (5, ACK_RATIO),
            (6, SEND_ACK_VECTOR),
            (7, SEND_NDP_COUNT),
            (8, MINIMUM_CHECKSUM_COVERAGE),
            (9, CHECK_DATA_CHECKSUM),
            (128, SEND_RTT_ESTIMATE),
            (192, SEND_LOSS_EVENT_RATE),
        ] {
            assert_eq!(number, name);
        }
    }

    /// RFC 4340 table 4.
    #[test]
    fn only_sequence_window_and_ack_ratio_are_not_negotiable() {
        for feature in 1..=9 {
            let expected = if matches!(feature, 3 | 5) {
                ReconciliationRule::NonNegotiable
            } else {
                ReconciliationRule::ServerPriority
            };
            assert_eq!(rule(feature), Some(expected), "feature {feature}");
        }
        assert_eq!((rule(0), rule(10), rule(255)), (None, None, None));
    }
}

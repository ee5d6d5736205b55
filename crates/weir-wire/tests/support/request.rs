//! Forged Requests.

use weir_wire::EndpointConfig;

/// A Request without options for service code 0 (RFC 4340 §5.1 and §5.2), from a DCCP port that
/// depends on the number.
pub fn forged_request(number: u64) -> [u8; 20] {
    let mut octets = [0; 20];
    octets[..2].copy_from_slice(&(number as u16).to_be_bytes());
    octets[2..4].copy_from_slice(&EndpointConfig::default().dccp_port.to_be_bytes());
    // The header is five words long; extended sequence numbers, type 0.
    octets[4] = 5;
    octets[8] = 1;
    octets[10..16].copy_from_slice(&number.wrapping_mul(0x9e37_79b9).to_be_bytes()[2..]);
    octets
}

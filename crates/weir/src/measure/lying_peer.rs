//! What a peer that lies makes of a message, for the tests of all transports.

use proptest::prelude::*;

/// Octets before the first field: the magic number, the kind and the test's number.
const HEADER: usize = 13;

/// A value of a field of eight octets: small, at an edge, a number of 64 bits, or any.
fn value() -> impl Strategy<Value = u64> {
    let odd = [f64::NAN, f64::INFINITY, -1e300, -0.0];
    prop_oneof![
        0_u64..20,
        (0_u32..64).prop_map(|bit| 1 << bit),
        prop::sample::select(odd.to_vec()).prop_map(f64::to_bits),
        (-1.0_f64..2.0).prop_map(f64::to_bits),
        Just(u64::MAX),
        any::<u64>(),
    ]
}

/// One of these messages with any of its fields replaced.
pub fn told(honest: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let fields = prop::collection::vec(prop::option::of(value()), 20);
    (prop::sample::select(honest), fields).prop_map(|(mut octets, fields)| {
        let places = octets[HEADER..].chunks_exact_mut(8).zip(fields);
        for (place, field) in places {
            if let Some(field) = field {
                place.copy_from_slice(&field.to_be_bytes());
            }
        }
        octets
    })
}

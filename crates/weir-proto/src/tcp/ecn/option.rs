//! The AccECN option (RFC 9768 §3.2.3): the low 24 bits of the counts of octets that arrived with
//! each codepoint, in one of two orders, without the fields at the end that are not needed.

/// The kinds of the option in order 0 and order 1 (RFC 9768 §3.2.3).
const KINDS: [u8; 2] = [172, 174];
/// Octets of a field.
const FIELD_OCTETS: usize = 3;
/// Most fields of an option.
const MAX_FIELDS: usize = 3;

/// The order of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// EE0B, ECEB, EE1B.
    Ect0First,
    /// EE1B, ECEB, EE0B.
    Ect1First,
}

/// An AccECN option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct AccEcnOption {
    /// The fields in their order; those that are not there are zero.
    fields: [[u8; FIELD_OCTETS]; MAX_FIELDS],
    count: u8,
    order: Order,
}

impl AccEcnOption {
    /// The first `count` fields of this order, of the counts' low 24 bits.
    pub fn new(order: Order, fields: [u64; MAX_FIELDS], count: usize) -> Self {
        let mut option = Self {
            order,
            fields: [[0; FIELD_OCTETS]; MAX_FIELDS],
            count: count.min(MAX_FIELDS) as u8,
        };
        let kept = option.fields.iter_mut().zip(fields).take(count);
        for (field, value) in kept {
            let [.., high, middle, low] = value.to_be_bytes();
            *field = [high, middle, low];
        }
        option
    }

    /// ECEB, the octets that arrived with Congestion Experienced, if it is there.
    pub fn ce_bytes(&self) -> Option<u32> {
        self.field(1)
    }

    /// EE0B, the octets that arrived with ECT(0), if it is there.
    pub fn ect0_bytes(&self) -> Option<u32> {
        self.field(match self.order {
            Order::Ect0First => 0,
            Order::Ect1First => 2,
        })
    }

    /// EE1B, the octets that arrived with ECT(1), if it is there.
    pub fn ect1_bytes(&self) -> Option<u32> {
        self.field(match self.order {
            Order::Ect0First => 2,
            Order::Ect1First => 0,
        })
    }

    fn field(&self, at: usize) -> Option<u32> {
        let [high, middle, low] = *self.fields[..usize::from(self.count)].get(at)?;
        Some(u32::from_be_bytes([0, high, middle, low]))
    }

    /// Its octets, without padding: 2, 5, 8 or 11 (RFC 9768, table 5).
    pub(in super::super) fn len(&self) -> usize {
        2 + FIELD_OCTETS * usize::from(self.count)
    }

    /// Appends it in wire form, padded with NOPs to whole words.
    pub(in super::super) fn encode(&self, out: &mut Vec<u8>) {
        let kind = KINDS[usize::from(self.order == Order::Ect1First)];
        out.extend([kind, self.len() as u8]);
        for field in &self.fields[..usize::from(self.count)] {
            out.extend(field);
        }
        out.extend(std::iter::repeat_n(1, self.padding()));
    }

    /// Octets of padding after it.
    pub(in super::super) fn padding(&self) -> usize {
        self.len().next_multiple_of(4) - self.len()
    }

    /// Reads an option of this kind with this content; `None` if it is of another kind.
    pub(in super::super) fn decode(kind: u8, content: &[u8]) -> Option<Self> {
        let order = match kind {
            172 => Order::Ect0First,
            174 => Order::Ect1First,
            _ => return None,
        };
        // RFC 9768 §3.2.3: of an option of another length the whole fields count.
        let mut fields = [0; MAX_FIELDS];
        let mut count = 0;
        let found = content.chunks_exact(FIELD_OCTETS).take(MAX_FIELDS);
        for (field, octets) in fields.iter_mut().zip(found) {
            *field = u64::from(u32::from_be_bytes([0, octets[0], octets[1], octets[2]]));
            count += 1;
        }
        Some(Self::new(order, fields, count))
    }
}

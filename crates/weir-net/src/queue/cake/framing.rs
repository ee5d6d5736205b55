//! The octets that a packet takes on the link behind CAKE: `overhead`, `mpu` and the cells of ATM
//! or the code words of PTM (tc-cake(8), overhead compensation).

weir_proto::keywords! {
    /// The framing of the link.
    #[derive(Default)]
    pub enum Framing {
        /// None.
        #[default]
        NoAtm = "noatm",
        /// ATM cells: 48 bytes of each 53 carry data.
        Atm = "atm",
        /// PTM: one byte of 65 is overhead.
        Ptm = "ptm",
    }
}

impl Framing {
    /// The octets of a packet that the overhead is already part of.
    pub(super) const fn octets(self, size: u32) -> u32 {
        match self {
            Self::NoAtm => size,
            Self::Atm => size.div_ceil(48) * 53,
            Self::Ptm => size + size.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_code_words_take_their_octets() {
        // ATM: 48 octets are a cell of 53, 49 two. PTM: one octet per 64 or part of it.
        let octets = |framing: Framing| [0, 1, 48, 49, 64, 65, 1500].map(|n| framing.octets(n));
        assert_eq!(octets(Framing::NoAtm), [0, 1, 48, 49, 64, 65, 1500]);
        assert_eq!(octets(Framing::Atm), [0, 53, 53, 106, 106, 106, 1696]);
        assert_eq!(octets(Framing::Ptm), [0, 2, 49, 50, 65, 67, 1524]);
    }
}

//! The octets of a page under construction, in a buffer that is reused for each page.

/// Written octets, followed by unused space.
#[derive(Debug, Default)]
pub(super) struct PageBuffer {
    /// Never shortened, because extending it would clear the new octets.
    octets: Vec<u8>,
    len: usize,
}

impl PageBuffer {
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// The written octets.
    pub(super) fn octets(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }

    /// The written octets.
    pub(super) fn octets_mut(&mut self) -> &mut [u8] {
        self.octets.get_mut(..self.len).unwrap_or_default()
    }

    /// Appends an octet.
    #[inline]
    pub(super) fn push(&mut self, octet: u8) {
        self.room(1)[0] = octet;
    }

    /// Appends octets.
    pub(super) fn extend(&mut self, octets: &[u8]) {
        self.room(octets.len()).copy_from_slice(octets);
    }

    /// Appends this many octets for the caller to overwrite completely: they have values of earlier
    /// pages.
    #[inline]
    pub(super) fn room(&mut self, len: usize) -> &mut [u8] {
        let start = self.len;
        self.len += len;
        if self.octets.len() < self.len {
            self.octets.resize(self.len, 0);
        }
        &mut self.octets[start..self.len]
    }
}

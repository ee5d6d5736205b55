//! The octets of a page while it grows, in room that is used again for page after page.

/// Octets that were written, and room behind them.
#[derive(Debug, Default)]
pub(super) struct PageBuffer {
    /// Never made shorter, because what it grows by is cleared.
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

    /// What was written.
    pub(super) fn octets(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }

    /// What was written.
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

    /// Appends so many octets, for the caller to write all of them: what they are is left from an
    /// earlier page.
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

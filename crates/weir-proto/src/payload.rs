//! Application data as it travels in packets.

use std::sync::Arc;

/// The octets, behind a pointer of eight octets: most packets have none.
#[derive(Debug, PartialEq, Eq)]
struct Content(Arc<[u8]>);

/// Application data: a length, and the octets if their content matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    len: u32,
    damaged: bool,
    content: Option<Arc<Content>>,
}

impl Payload {
    /// `len` octets whose content does not matter; encoded as zeros.
    pub const fn of_len(len: u32) -> Self {
        Self {
            len,
            damaged: false,
            content: None,
        }
    }

    /// A copy of these octets. Lengths beyond 2^32 - 1 are truncated.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::shared(bytes.into())
    }

    /// These octets, without a copy.
    pub fn shared(bytes: Arc<[u8]>) -> Self {
        Self {
            len: bytes.len().min(u32::MAX as usize) as u32,
            damaged: false,
            content: Some(Arc::new(Content(bytes))),
        }
    }

    /// The same payload, marked as damaged by the network.
    #[must_use]
    pub fn damaged(self) -> Self {
        Self {
            damaged: true,
            ..self
        }
    }

    /// True if the network damaged some of the octets.
    pub const fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Number of octets.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// True if the length is zero.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The octets, without a copy; zeros for a payload without content.
    pub fn into_bytes(self) -> Arc<[u8]> {
        match &self.content {
            Some(content) => Arc::clone(&content.0),
            None => vec![0; self.len as usize].into(),
        }
    }

    /// The octets; `None` for a payload without content.
    pub fn content(&self) -> Option<&[u8]> {
        self.content.as_deref().map(|content| &*content.0)
    }
}

//! Application data as it travels in packets.

use std::sync::Arc;

/// What a payload has beside its length, behind a pointer of eight octets: most packets have
/// nothing.
#[derive(Debug, PartialEq, Eq)]
enum Content {
    /// The octets.
    Octets(Arc<[u8]>),
    /// No octets, but a number by which the receiver knows the payload again.
    Label(u64),
}

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
            content: Some(Arc::new(Content::Octets(bytes))),
        }
    }

    /// `len` octets whose content does not matter, with a number by which the receiver knows them
    /// again. The number takes no octets and is lost when the payload is encoded.
    pub fn labelled(len: u32, label: u64) -> Self {
        Self {
            len,
            damaged: false,
            content: Some(Arc::new(Content::Label(label))),
        }
    }

    /// The number of a payload that was made by [`labelled`](Self::labelled).
    pub fn label(&self) -> Option<u64> {
        match self.content.as_deref()? {
            Content::Label(label) => Some(*label),
            Content::Octets(_) => None,
        }
    }

    /// True if a clone of this payload exists, in a packet under way for example. A payload without
    /// content and without a label is never shared.
    pub fn is_shared(&self) -> bool {
        let content = self.content.as_ref();
        content.is_some_and(|content| Arc::strong_count(content) > 1)
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
        match self.content.as_deref() {
            Some(Content::Octets(octets)) => Arc::clone(octets),
            Some(Content::Label(_)) | None => vec![0; self.len as usize].into(),
        }
    }

    /// The octets; `None` for a payload without content.
    pub fn content(&self) -> Option<&[u8]> {
        match self.content.as_deref()? {
            Content::Octets(octets) => Some(octets),
            Content::Label(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_known_again_in_a_clone_and_takes_no_octets() {
        let payload = Payload::labelled(3, 7);
        assert!(!payload.is_shared());
        let clone = payload.clone();
        assert!(payload.is_shared());
        assert_eq!((clone.label(), clone.len()), (Some(7), 3));
        assert_eq!(clone.content(), None);
        assert_eq!(*clone.into_bytes(), [0, 0, 0]);
        assert!(!payload.is_shared(), "the clone is gone");
        assert_eq!(Payload::from_bytes(&[0]).label(), None);
        assert!(!Payload::of_len(5).is_shared());
    }
}

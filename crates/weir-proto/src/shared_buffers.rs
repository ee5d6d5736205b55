//! Buffers that packets share with their sender, which reuses a buffer once no packet in the
//! network shares it.

use std::sync::Arc;

/// The most buffers that a sender keeps.
const MOST: usize = 32;

/// The buffers that were sent and may be free by now.
#[derive(Debug)]
pub(crate) struct SharedBuffers<T> {
    sent: Vec<Arc<T>>,
}

impl<T> Default for SharedBuffers<T> {
    fn default() -> Self {
        Self { sent: Vec::new() }
    }
}

/// A clone shares the buffers, so that neither reuses them while both exist.
impl<T> Clone for SharedBuffers<T> {
    fn clone(&self) -> Self {
        Self {
            sent: self.sent.clone(),
        }
    }
}

impl<T> SharedBuffers<T> {
    /// Keeps a buffer that is sent, up to the maximum number.
    pub(crate) fn keep(&mut self, buffer: Arc<T>) {
        if self.sent.len() < MOST {
            self.sent.push(buffer);
        }
    }

    /// A buffer that nothing else shares, with the contents with which it was sent.
    pub(crate) fn take(&mut self) -> Option<Arc<T>> {
        let unshared = |buffer: &mut Arc<T>| Arc::get_mut(buffer).is_some();
        let at = self.sent.iter_mut().position(unshared)?;
        Some(self.sent.swap_remove(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_once_no_packet_shares_it() {
        let mut buffers = SharedBuffers::default();
        let in_packet = Arc::new(7);
        buffers.keep(Arc::clone(&in_packet));
        assert_eq!(buffers.take(), None);
        drop(in_packet);
        assert_eq!(buffers.take().as_deref(), Some(&7));
        assert_eq!(buffers.take(), None, "it was taken");
        for number in 0..2 * MOST {
            buffers.keep(Arc::new(number));
        }
        assert_eq!(std::iter::from_fn(|| buffers.take()).count(), MOST);
    }
}

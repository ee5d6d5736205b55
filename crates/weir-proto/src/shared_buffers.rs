//! Buffers that packets share with their sender, which uses them again once no packet in the
//! network shares them any more.

use std::sync::Arc;

/// Buffers that a sender keeps.
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

/// A copy shares the buffers, which are then used again by neither while both are there.
impl<T> Clone for SharedBuffers<T> {
    fn clone(&self) -> Self {
        Self {
            sent: self.sent.clone(),
        }
    }
}

impl<T> SharedBuffers<T> {
    /// Keeps a buffer that is sent, unless there are enough.
    pub(crate) fn keep(&mut self, buffer: Arc<T>) {
        if self.sent.len() < MOST {
            self.sent.push(buffer);
        }
    }

    /// A buffer with what it had when it was sent, which nothing else shares.
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

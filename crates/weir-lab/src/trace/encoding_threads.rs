//! Encodes row groups in two threads: the tables of a run end at the same time, and their last
//! pages have to be compressed.

use super::parquet::{EncodedRowGroup, PageCoder, RowGroup};
use crate::fault::CaughtThread;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::vec::IntoIter;

/// Row groups that no thread has taken yet, each with its place.
type Queue = Mutex<std::iter::Enumerate<IntoIter<RowGroup>>>;

/// Encodes row groups; the result has their order.
///
/// # Errors
/// If a row group cannot be encoded.
pub(super) fn encode_all(
    groups: Vec<RowGroup>,
    coder: &mut PageCoder,
) -> io::Result<Vec<EncodedRowGroup>> {
    let is_single = groups.len() < 2;
    let queue: Arc<Queue> = Arc::new(Mutex::new(groups.into_iter().enumerate()));
    let others = Arc::clone(&queue);
    // If the system provides no thread, this one encodes all.
    let helper = (!is_single)
        .then(|| CaughtThread::start(move || encode_from(&others, &mut PageCoder::new()?)).ok());
    let ours = encode_from(&queue, coder);
    let theirs = match helper.flatten() {
        Some(helper) => helper.join().map_err(io::Error::other)?,
        None => Ok(Vec::new()),
    };
    let mut encoded = ours?;
    encoded.extend(theirs?);
    encoded.sort_by_key(|(place, _)| *place);
    Ok(encoded.into_iter().map(|(_, group)| group).collect())
}

fn encode_from(queue: &Queue, coder: &mut PageCoder) -> io::Result<Vec<(usize, EncodedRowGroup)>> {
    let mut encoded = Vec::new();
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some((place, group)) = next else {
            return Ok(encoded);
        };
        encoded.push((place, group.encode(coder)?));
    }
}

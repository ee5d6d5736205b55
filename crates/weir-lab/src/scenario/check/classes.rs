//! The classes of HTB are a tree.

use super::super::model::Direction;
use super::{Check, Checked};
use crate::scenario::document::Step;
use weir_net::QueueConfig;

impl Check<'_> {
    /// Checks the classes of a direction's queue; `path` leads to the queue.
    pub(super) fn classes(&self, direction: &Direction, path: &[Step<'_>]) -> Checked {
        let QueueConfig::Htb(htb) = &direction.queue else {
            return Ok(());
        };
        let Some(message) = htb.fault() else {
            return Ok(());
        };
        let help = "give each class a number of its own, and a parent that exists";
        self.error(path, format!("queue: {message}"), help)
    }
}

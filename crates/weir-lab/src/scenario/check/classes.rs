//! The classes of HTB are a tree.

use super::{Check, Checked};
use crate::scenario::document::Step;
use weir_net::QueueConfig;

impl Check<'_> {
    /// Checks the classes of a queue, to which `path` leads.
    pub(super) fn classes(&self, queue: &QueueConfig, path: &[Step<'_>]) -> Checked {
        let QueueConfig::Htb(htb) = queue else {
            return Ok(());
        };
        let Some(message) = htb.fault() else {
            return Ok(());
        };
        let help = "give each class a number of its own, and a parent that exists";
        self.error(path, format!("queue: {message}"), help)
    }
}

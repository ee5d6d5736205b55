//! Deficit round robin over queues with preference for new ones (RFC 8290 §4.2): the scheduler that
//! FQ-CoDel and FQ-PIE share.

use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, Default)]
struct Account {
    deficit: i64,
    listed: bool,
}

/// The two lists of active queues, and what each queue may send.
#[derive(Debug)]
pub(super) struct Rounds {
    quantum: i64,
    accounts: Vec<Account>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl Rounds {
    /// Queues without packets; each may send `quantum` octets in a turn.
    pub(super) fn new(queues: u32, quantum: u32) -> Self {
        Self {
            quantum: i64::from(quantum.max(1)),
            accounts: vec![Account::default(); queues as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
        }
    }

    /// A packet has entered the queue.
    pub(super) fn enter(&mut self, queue: u32) {
        let account = &mut self.accounts[queue as usize];
        if !account.listed {
            account.listed = true;
            account.deficit = self.quantum;
            self.new.push_back(queue);
        }
    }

    /// The queue whose turn it is: the first one that has credits.
    pub(super) fn turn(&mut self) -> Option<u32> {
        loop {
            let from_new = !self.new.is_empty();
            let queue = *self.new.front().or(self.old.front())?;
            let account = &mut self.accounts[queue as usize];
            if account.deficit > 0 {
                return Some(queue);
            }
            account.deficit += self.quantum;
            self.rotate(from_new);
        }
    }

    /// The queue whose turn it is had no packet. A new one is moved behind the old ones once, so
    /// that it cannot stay new.
    pub(super) fn found_empty(&mut self) {
        let from_new = !self.new.is_empty();
        if from_new && !self.old.is_empty() {
            self.rotate(true);
        } else if let Some(queue) = self.pop(from_new) {
            self.accounts[queue as usize].listed = false;
        }
    }

    /// The queue has sent a packet of this size.
    pub(super) fn charge(&mut self, queue: u32, octets: u32) {
        self.accounts[queue as usize].deficit -= i64::from(octets);
    }

    /// True if no queue is in a list.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        let listed = self.accounts.iter().any(|account| account.listed);
        self.new.is_empty() && self.old.is_empty() && !listed
    }

    fn pop(&mut self, from_new: bool) -> Option<u32> {
        if from_new {
            self.new.pop_front()
        } else {
            self.old.pop_front()
        }
    }

    fn rotate(&mut self, from_new: bool) {
        let queue = self.pop(from_new);
        self.old.extend(queue);
    }
}

//! Datagrams that wait for the kernel: their octets lie in one piece, in order, so that a run of
//! equal ones leaves in one segmented send without being copied together.

use quinn_udp::EcnCodepoint;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// Datagrams that may wait because the kernel has no room for them; later ones are lost.
const MOST: usize = 1024;

/// Octets of a segmented send: what a datagram of IPv6 and UDP can hold.
const LONGEST: usize = 65_527;

/// Where a datagram goes, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Way {
    pub(crate) to: SocketAddr,
    /// The address of ours that it leaves from; `None` lets the kernel choose.
    pub(crate) from: Option<IpAddr>,
    pub(crate) ecn: Option<EcnCodepoint>,
}

/// The datagrams, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    octets: Vec<u8>,
    /// How many octets at the beginning have left.
    gone: usize,
    /// Each datagram's way and length.
    datagrams: VecDeque<(Way, usize)>,
}

/// Equal datagrams that go the same way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) way: Way,
    pub(crate) octets: &'a [u8],
    /// Octets of each datagram.
    pub(crate) size: usize,
    pub(crate) count: usize,
}

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Datagrams that wait.
    pub(crate) fn len(&self) -> usize {
        self.datagrams.len()
    }

    /// Appends a datagram, which `write` adds to what it is given; it names the way, or `None` to
    /// take everything back.
    pub(crate) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Option<Way>) {
        let start = self.octets.len();
        match write(&mut self.octets) {
            Some(way) if self.datagrams.len() < MOST => {
                let len = self.octets.len() - start;
                self.datagrams.push_back((way, len));
            }
            _ => self.octets.truncate(start),
        }
    }

    /// The next datagrams, at most so many, that can leave in one segmented send.
    pub(crate) fn run(&self, most: usize) -> Option<Run<'_>> {
        let &(way, size) = self.datagrams.front()?;
        let most = most.min(LONGEST / size.max(1)).max(1);
        let alike = self.datagrams.iter().take(most);
        let count = alike.take_while(|next| **next == (way, size)).count();
        let octets = self.octets.get(self.gone..self.gone + size * count)?;
        Some(Run {
            way,
            octets,
            size,
            count,
        })
    }

    /// The datagrams that wait, with their ways.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Way, &[u8])> {
        let mut at = self.gone;
        self.datagrams.iter().map(move |&(way, len)| {
            let start = at;
            at += len;
            (way, self.octets.get(start..at).unwrap_or_default())
        })
    }

    /// The first so many datagrams have left.
    pub(crate) fn remove(&mut self, count: usize) {
        let left = self.datagrams.drain(..count.min(self.datagrams.len()));
        self.gone += left.map(|(_, len)| len).sum::<usize>();
        if self.datagrams.is_empty() {
            self.octets.clear();
            self.gone = 0;
        } else if self.gone > self.octets.len() / 2 {
            self.octets.drain(..self.gone);
            self.gone = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(port: u16) -> Way {
        Way {
            to: SocketAddr::from(([127, 0, 0, 1], port)),
            from: None,
            ecn: None,
        }
    }

    fn push(outbox: &mut Outbox, port: u16, octets: &[u8]) {
        outbox.push(|out| {
            out.extend_from_slice(octets);
            Some(way(port))
        });
    }

    #[test]
    fn equal_datagrams_of_one_way_leave_together_and_in_order() {
        let mut outbox = Outbox::default();
        for (port, octets) in [(1, b"aaa"), (1, b"bbb"), (2, b"ccc"), (2, b"ddd")] {
            push(&mut outbox, port, octets);
        }
        push(&mut outbox, 2, b"ee");
        outbox.push(|out| {
            out.extend_from_slice(b"has no wire form");
            None
        });
        let mut seen = Vec::new();
        while let Some(run) = outbox.run(40) {
            seen.push((run.way.to.port(), run.octets.to_vec(), run.size));
            let count = run.count;
            outbox.remove(count);
        }
        let expected = [
            (1, b"aaabbb".to_vec(), 3),
            (2, b"cccddd".to_vec(), 3),
            (2, b"ee".to_vec(), 2),
        ];
        assert_eq!(seen, expected);
        assert!(outbox.is_empty() && outbox.octets.is_empty());
    }

    #[test]
    fn what_is_beyond_the_bounds_is_lost_and_what_waits_stays_whole() {
        let mut outbox = Outbox::default();
        for number in 0..2 * MOST {
            push(&mut outbox, 1, &number.to_be_bytes());
        }
        outbox.remove(MOST - 1);
        let last = outbox.run(40).map(|run| run.octets.to_vec());
        assert_eq!(last, Some((MOST - 1).to_be_bytes().to_vec()));
        outbox.remove(7);
        assert!(outbox.run(40).is_none());
    }
}

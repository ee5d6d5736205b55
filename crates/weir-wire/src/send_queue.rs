//! Datagrams that wait for the kernel. Their octets are stored in one buffer, in order, so that a
//! batch of equal ones is sent in one segmented send (GSO) without a copy.

use quinn_udp::{EcnCodepoint, Transmit};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// The most datagrams that may wait while the kernel has no room for them; later ones are dropped.
const MAX_DATAGRAMS: usize = 1024;

/// Octets of a segmented send: the largest payload of UDP over IPv6.
const MAX_GSO_OCTETS: usize = 65_527;

/// The destination of a datagram, and the fields of its IP header that the sender chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Destination {
    pub(crate) peer: SocketAddr,
    /// The local source address; `None` lets the kernel choose.
    pub(crate) local_ip: Option<IpAddr>,
    pub(crate) ecn: Option<EcnCodepoint>,
}

/// The datagrams, oldest first.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    octets: Vec<u8>,
    /// Octets at the beginning of the buffer that have been sent.
    sent: usize,
    /// Each datagram's destination and length.
    datagrams: VecDeque<(Destination, usize)>,
}

/// Datagrams of one length to one destination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GsoBatch<'a> {
    pub(crate) destination: Destination,
    pub(crate) octets: &'a [u8],
    /// Octets of each datagram.
    pub(crate) size: usize,
    pub(crate) count: usize,
}

impl<'a> GsoBatch<'a> {
    pub(crate) fn transmit(&self) -> Transmit<'a> {
        Transmit {
            destination: self.destination.peer,
            ecn: self.destination.ecn,
            contents: self.octets,
            segment_size: (self.count > 1).then_some(self.size),
            src_ip: self.destination.local_ip,
        }
    }
}

impl SendQueue {
    /// The time to wait before writing again to a socket that was full.
    pub(crate) const RETRY_NANOS: u64 = 200_000;

    pub(crate) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.datagrams.len()
    }

    /// Appends a datagram, whose octets `write` appends to the buffer. If `write` returns no
    /// destination, nothing is queued.
    pub(crate) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Option<Destination>) {
        let start = self.octets.len();
        match write(&mut self.octets) {
            Some(destination) if self.datagrams.len() < MAX_DATAGRAMS => {
                let len = self.octets.len() - start;
                self.datagrams.push_back((destination, len));
            }
            _ => self.octets.truncate(start),
        }
    }

    /// The next datagrams, at most `max_segments`, that fit in one segmented send.
    pub(crate) fn next_batch(&self, max_segments: usize) -> Option<GsoBatch<'_>> {
        let &(destination, size) = self.datagrams.front()?;
        let most = max_segments.min(MAX_GSO_OCTETS / size.max(1)).max(1);
        let equal = self.datagrams.iter().take(most);
        let count = equal
            .take_while(|next| **next == (destination, size))
            .count();
        let octets = self.octets.get(self.sent..self.sent + size * count)?;
        Some(GsoBatch {
            destination,
            octets,
            size,
            count,
        })
    }

    /// The datagrams with their destinations, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Destination, &[u8])> {
        let mut at = self.sent;
        self.datagrams.iter().map(move |&(destination, len)| {
            let start = at;
            at += len;
            (destination, self.octets.get(start..at).unwrap_or_default())
        })
    }

    /// Removes the first `count` datagrams, which have been sent.
    pub(crate) fn remove(&mut self, count: usize) {
        let removed = self.datagrams.drain(..count.min(self.datagrams.len()));
        self.sent += removed.map(|(_, len)| len).sum::<usize>();
        if self.datagrams.is_empty() {
            self.octets.clear();
            self.sent = 0;
        } else if self.sent > self.octets.len() / 2 {
            self.octets.drain(..self.sent);
            self.sent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(queue: &mut SendQueue, port: u16, octets: &[u8]) {
        queue.push(|out| {
            out.extend_from_slice(octets);
            Some(Destination {
                peer: SocketAddr::from(([127, 0, 0, 1], port)),
                local_ip: None,
                ecn: None,
            })
        });
    }

    #[test]
    fn equal_datagrams_to_one_destination_leave_together_and_in_order() {
        let mut queue = SendQueue::default();
        for (port, octets) in [(1, b"aaa"), (1, b"bbb"), (2, b"ccc"), (2, b"ddd")] {
            push(&mut queue, port, octets);
        }
        push(&mut queue, 2, b"ee");
        queue.push(|out| {
            out.extend_from_slice(b"has no wire form");
            None
        });
        let mut seen = Vec::new();
        while let Some(batch) = queue.next_batch(40) {
            let port = batch.destination.peer.port();
            seen.push((port, batch.octets.to_vec(), batch.size));
            let count = batch.count;
            queue.remove(count);
        }
        let expected = [
            (1, b"aaabbb".to_vec(), 3),
            (2, b"cccddd".to_vec(), 3),
            (2, b"ee".to_vec(), 2),
        ];
        assert_eq!(seen, expected);
        assert!(queue.is_empty() && queue.octets.is_empty());
    }

    #[test]
    fn datagrams_beyond_the_bound_are_dropped_and_those_queued_stay_whole() {
        let mut queue = SendQueue::default();
        for number in 0..2 * MAX_DATAGRAMS {
            push(&mut queue, 1, &number.to_be_bytes());
        }
        queue.remove(MAX_DATAGRAMS - 1);
        let last = queue.next_batch(40).map(|batch| batch.octets.to_vec());
        assert_eq!(last, Some((MAX_DATAGRAMS - 1).to_be_bytes().to_vec()));
        queue.remove(7);
        assert!(queue.next_batch(40).is_none());
    }
}

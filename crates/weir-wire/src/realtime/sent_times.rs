//! When the datagrams were sent that arrive at another socket of this process.
//!
//! All namespaces of a machine have one clock, so that the difference is the one-way delay. Nothing
//! is added to a datagram: it is known again by its content. Of several with equal contents the
//! last one counts; a damaged one is not known.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use weir_proto::packet::{FlowId, HostId};
use weir_proto::time::Instant;

/// Datagrams on their way, beyond which the oldest are forgotten.
const MOST: usize = 1 << 16;

/// The times at which datagrams on their way were sent.
#[derive(Debug, Default)]
pub(super) struct SentTimes {
    by_content: BTreeMap<u64, Instant>,
    /// Their contents in the order of their sending, with those that have arrived.
    order: VecDeque<u64>,
}

fn identity(flow: FlowId, target: HostId, content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (flow, target, content).hash(&mut hasher);
    hasher.finish()
}

impl SentTimes {
    /// A datagram of this flow was sent to this host.
    pub(super) fn sent(&mut self, at: Instant, flow: FlowId, target: HostId, content: &[u8]) {
        let content = identity(flow, target, content);
        self.by_content.insert(content, at);
        self.order.push_back(content);
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_content.remove(&oldest);
        }
    }

    /// When the datagram of this content was sent that has arrived at this host.
    pub(super) fn take(&mut self, flow: FlowId, target: HostId, content: &[u8]) -> Option<Instant> {
        self.by_content.remove(&identity(flow, target, content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_proto::time::Duration;

    #[test]
    fn a_datagram_is_known_by_flow_host_and_content_and_once() {
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let (flow, host) = (FlowId(1), HostId(2));
        let mut times = SentTimes::default();
        times.sent(at(5), flow, host, b"one");
        times.sent(at(6), flow, host, b"two");
        assert_eq!(times.take(FlowId(2), host, b"one"), None);
        assert_eq!(times.take(flow, HostId(1), b"one"), None);
        assert_eq!(times.take(flow, host, b"two"), Some(at(6)));
        assert_eq!(times.take(flow, host, b"one"), Some(at(5)));
        assert_eq!(times.take(flow, host, b"one"), None);
        times.sent(at(7), flow, host, b"one");
        times.sent(at(8), flow, host, b"one");
        assert_eq!(times.take(flow, host, b"one"), Some(at(8)));
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut times = SentTimes::default();
        for number in 0..=MOST as u32 {
            times.sent(Instant::ZERO, FlowId(0), HostId(0), &number.to_be_bytes());
        }
        let known = |times: &mut SentTimes, number: u32| {
            times
                .take(FlowId(0), HostId(0), &number.to_be_bytes())
                .is_some()
        };
        assert!(!known(&mut times, 0));
        assert!(known(&mut times, 1));
        assert_eq!(times.order.len(), MOST);
    }
}

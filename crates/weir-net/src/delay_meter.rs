//! Delay, jitter and ECN marks of the packets of a flow, measured at the receiving host.
//!
//! One-way delay (RFC 7679) is the time from the handover by the sender's transport to the
//! acceptance by the receiver's, so that it includes hosts and access links and, with
//! `handshake_delay`, the time for which the host holds a packet of the handshake. Queueing delay
//! is the part of it that the packet spent in the queues of links and of 802.11 stations; on a
//! medium the packet that contends has left its queue. Jitter is that of RFC 3550 §6.4.1, after
//! each packet. All packets in the direction of the data that the transport accepts count, with
//! data or without; packets that it rejects, such as duplicates, do not. Packets from outside the
//! simulation have no delay, unless their port knows when they were sent; the time in queues is
//! unknown then.

use crate::histogram::Histogram;
use weir_proto::endpoint::Arrival;
use weir_proto::packet::{Ecn, Transit};
use weir_proto::time::{Duration, Instant};

/// Delays of the packets that arrived since the measurement began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DelayStatistics {
    /// From the sender's transport to the receiver's.
    pub one_way: Histogram,
    /// Time in queues.
    pub queueing: Histogram,
    /// RFC 3550's estimate after each packet but the first.
    pub jitter: Histogram,
    /// Packets that arrived with Congestion Experienced.
    pub marks: u64,
}

impl DelayStatistics {
    /// Adds the statistics of another connection.
    pub fn add(&mut self, other: &Self) {
        self.one_way.add(&other.one_way);
        self.queueing.add(&other.queueing);
        self.jitter.add(&other.jitter);
        self.marks += other.marks;
    }
}

/// Delays of the packets that arrived in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalDelays {
    /// Packets with a known delay.
    pub packets: u64,
    /// The sum of one-way delays.
    pub one_way_sum: Duration,
    /// The largest one-way delay.
    pub one_way_max: Duration,
    /// Packets of these whose time in queues is known.
    pub packets_queued: u64,
    /// The sum of queueing delays.
    pub queueing_sum: Duration,
    /// The largest queueing delay.
    pub queueing_max: Duration,
    /// Packets that arrived with Congestion Experienced.
    pub marks: u64,
}

impl IntervalDelays {
    /// The sum of these and those of another connection in the same interval.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            one_way_sum: self.one_way_sum + other.one_way_sum,
            one_way_max: self.one_way_max.max(other.one_way_max),
            packets_queued: self.packets_queued + other.packets_queued,
            queueing_sum: self.queueing_sum + other.queueing_sum,
            queueing_max: self.queueing_max.max(other.queueing_max),
            marks: self.marks + other.marks,
        }
    }
}

/// Measures the packets that arrive at one end of a flow, or leave at a port.
#[derive(Debug, Default)]
pub struct DelayMeter {
    statistics: DelayStatistics,
    interval: IntervalDelays,
    /// The last one-way delay, and RFC 3550's J, in nanoseconds.
    last: Option<Duration>,
    jitter: f64,
}

impl DelayMeter {
    /// The transport has accepted a packet.
    #[inline]
    pub fn on_packet(&mut self, now: Instant, packet: Arrival) {
        let marked = u64::from(packet.ecn == Ecn::Ce);
        self.statistics.marks += marked;
        self.interval.marks += marked;
        let sent_at = packet.transit.sent_at;
        if sent_at == Instant::FAR_FUTURE {
            return;
        }
        let (one_way, queueing) = (now.since(sent_at), packet.transit.queued);
        self.statistics.one_way.push(one_way.as_nanos());
        if let Some(last) = self.last.replace(one_way) {
            let difference = one_way.as_nanos().abs_diff(last.as_nanos()) as f64;
            self.jitter += (difference - self.jitter) / 16.0;
            self.statistics.jitter.push(self.jitter as u64);
        }
        let interval = &mut self.interval;
        interval.packets += 1;
        interval.one_way_sum += one_way;
        interval.one_way_max = interval.one_way_max.max(one_way);
        if queueing != Transit::UNKNOWN {
            self.statistics.queueing.push(queueing.as_nanos());
            interval.packets_queued += 1;
            interval.queueing_sum += queueing;
            interval.queueing_max = interval.queueing_max.max(queueing);
        }
    }

    /// Clears the statistics; the jitter estimate continues.
    pub fn restart(&mut self) {
        self.statistics = DelayStatistics::default();
    }

    /// The delays since the last restart.
    pub fn into_statistics(self) -> DelayStatistics {
        self.statistics
    }

    /// The delays since the last call.
    pub fn take_interval(&mut self) -> IntervalDelays {
        std::mem::take(&mut self.interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sent_at: Instant, queued: Duration, ecn: Ecn) -> Arrival {
        let transit = Transit { sent_at, queued };
        Arrival { transit, ecn }
    }

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut meter = DelayMeter::default();
        let millis = Duration::from_millis;
        // Delays of 20, 36, 36 and 20 ms: J = 1 ms, 15/16 ms, 15/16·15/16 + 1 ms.
        for (number, delay) in [20, 36, 36, 20].into_iter().enumerate() {
            let sent_at = Instant::ZERO + millis(100 * number as u64);
            let queued = millis(delay) - millis(20);
            let packet = packet(sent_at, queued, Ecn::Ect0);
            meter.on_packet(sent_at + millis(delay), packet);
        }
        let statistics = &meter.statistics;
        assert_eq!(statistics.jitter.count(), 3);
        assert_eq!(statistics.jitter.min(), Some(937_500));
        assert_eq!(statistics.jitter.max(), Some(1_878_906));
        assert_eq!(statistics.one_way.percentile(50), Some(20_000_000));
        assert_eq!(statistics.queueing.max(), Some(16_000_000));
        let interval = meter.take_interval();
        assert_eq!(interval.packets, 4);
        assert_eq!(interval.one_way_sum, millis(112));
        assert_eq!(interval.queueing_sum, millis(32));
        assert_eq!(meter.take_interval(), IntervalDelays::default());
    }

    #[test]
    fn a_packet_whose_queues_were_outside_has_a_one_way_delay_alone() {
        let mut meter = DelayMeter::default();
        let arrived = Instant::ZERO + Duration::from_millis(7);
        let known = packet(Instant::ZERO, Duration::from_millis(2), Ecn::NotEct);
        let outside = packet(Instant::ZERO, Transit::UNKNOWN, Ecn::NotEct);
        meter.on_packet(arrived, known);
        meter.on_packet(arrived, outside);
        assert_eq!(meter.statistics.one_way.count(), 2);
        assert_eq!(meter.statistics.queueing.count(), 1);
        let interval = meter.take_interval();
        assert_eq!((interval.packets, interval.packets_queued), (2, 1));
        assert_eq!(interval.queueing_sum, Duration::from_millis(2));
        assert_eq!(interval.queueing_max, Duration::from_millis(2));
    }

    #[test]
    fn a_packet_from_outside_has_no_delay_and_may_be_marked() {
        let mut meter = DelayMeter::default();
        meter.on_packet(
            Instant::ZERO,
            packet(Instant::FAR_FUTURE, Duration::ZERO, Ecn::Ce),
        );
        assert_eq!(meter.statistics.one_way.count(), 0);
        assert_eq!(meter.statistics.marks, 1);
        meter.restart();
        assert_eq!(meter.statistics, DelayStatistics::default());
        assert_eq!(meter.take_interval().marks, 1);
    }
}

//! How a driver waits.
//!
//! An idle driver sleeps. If the next timer sends a packet sooner than a sleeping task can wake up,
//! the driver yields instead, so that pacing can use intervals far below a millisecond; all other
//! timers may be as late as a sleep is. A dense stream of received packets would wake a sleeping
//! task for every few packets, so the driver spins while more of them arrive.

use super::EndpointDriver;
use crate::send_queue::SendQueue;
use crate::socket::Socket;
use weir_proto::time::{Duration, Instant};

/// A sleep of years, which only an event ends.
const FOREVER_NANOS: u64 = u64::MAX >> 8;
/// A read of this many packets is part of a dense stream: waking a sleeping task takes longer than
/// the next packets take to arrive, and over loopback it takes CPU time from their sender.
const DENSE_READ: usize = 8;
/// How long packets of a dense stream accumulate before the next read.
const GATHER_TIME: Duration = Duration::from_micros(40);

impl EndpointDriver {
    /// Nanoseconds until the next timer or other work, if no packet or command arrives.
    pub(super) fn next_wakeup(&self) -> u64 {
        let now = self.clock.now();
        let next = self.timers.first();
        let due = next.map_or(FOREVER_NANOS, |(at, _)| at.since(now).as_nanos());
        let full = if self.send_queue.is_empty() {
            FOREVER_NANOS
        } else {
            SendQueue::RETRY_NANOS
        };
        due.min(full).min(self.request_filter.next_wakeup())
    }

    /// True if the next timer sends a packet.
    pub(super) fn is_pacing(&self) -> bool {
        self.timers.first().is_some_and(|(at, key)| {
            let state = self.connections.get(key);
            state.is_some_and(|state| state.machine.next_data_at() == Some(*at))
        })
    }

    /// Called after a read of `packets` at `read_at`: spins while packets of a dense stream
    /// accumulate, at most until the next timer or command. A full read is followed by the next
    /// read at once.
    pub(super) fn gather_dense_stream(&self, packets: usize, read_at: Instant) {
        if !(DENSE_READ..Socket::MAX_READS).contains(&packets) {
            return;
        }
        let end = read_at + GATHER_TIME;
        let next = self.timers.first().map_or(end, |&(at, _)| at.min(end));
        while self.commands.is_empty() && self.clock.now() < next {
            for _ in 0..8 {
                std::hint::spin_loop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Client, Fixture};
    use super::*;
    use crate::config::EndpointConfig;
    use crate::timer::Timer;

    #[tokio::test]
    async fn a_driver_yields_only_while_it_paces_a_packet() {
        let mut fixture = Fixture::new(&EndpointConfig::default());
        assert!(!fixture.driver.is_pacing() && fixture.driver.next_wakeup() > 1 << 50);
        let mut client = Client::new(&fixture, 1);
        client.exchange(&mut fixture);
        let connection = fixture.accept();
        assert!(!fixture.driver.is_pacing(), "it has nothing to send");
        // More than the initial window, so that pacing spaces the packets.
        for _ in 0..20 {
            assert!(connection.try_send(&[1; 1000]).expect("open"));
        }
        let key = fixture.only_key();
        fixture.driver.drive_connection(key);
        assert!(fixture.driver.is_pacing());
        let due = fixture.driver.timers.first().map(|&(at, _)| at);
        assert_eq!(due, fixture.driver.connections[&key].machine.next_data_at());
    }

    #[tokio::test]
    async fn a_command_or_a_timer_ends_the_gathering() {
        let mut fixture = Fixture::new(&EndpointConfig::default());
        let end = fixture.driver.clock.now() + Duration::from_secs(30);
        for packets in [0, DENSE_READ - 1, Socket::MAX_READS] {
            fixture.driver.gather_dense_stream(packets, end);
        }
        let mut client = Client::new(&fixture, 1);
        client.exchange(&mut fixture);
        let connection = fixture.accept();
        fixture.driver.timers.clear();
        connection.close();
        fixture.driver.gather_dense_stream(DENSE_READ, end);
        let _ = fixture.driver.commands.try_recv();
        let key = fixture.only_key();
        let soon = fixture.driver.clock.now() + Duration::from_nanos(Timer::MIN_SLEEP_NANOS);
        fixture.driver.timers.insert((soon, key));
        fixture.driver.gather_dense_stream(DENSE_READ, end);
        let now = fixture.driver.clock.now();
        assert!(now >= soon && now < end);
    }
}

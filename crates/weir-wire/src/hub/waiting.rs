//! How a hub waits.
//!
//! An idle hub sleeps. A packet that may leave sooner than a sleeper wakes is waited for by
//! yielding, so that pacing holds intervals far below a millisecond. Every other timer may be as
//! late as a sleeper is. And a stream so dense that it would wake a sleeper for every few packets
//! is looked after without sleeping.

use super::Hub;
use crate::socket::Socket;
use weir_proto::time::{Duration, Instant};

/// Years: a sleep that nothing but an event ends.
const LONG_NANOS: u64 = u64::MAX >> 8;
/// How long a full socket is left alone.
const FULL_NANOS: u64 = 200_000;
/// So many packets in one read are a dense stream. To wake a sleeper takes the kernel longer than
/// such a stream's next packets, and over loopback it is their sender's time.
const DENSE: usize = 8;
/// For how long a dense stream's packets gather before the next read.
const GATHERING: Duration = Duration::from_micros(40);

impl Hub {
    /// For how many nanoseconds there is nothing to do, unless something comes.
    pub(super) fn patience(&self) -> u64 {
        let now = self.clock.now();
        let next = self.timers.first();
        let due = next.map_or(LONG_NANOS, |(at, _)| at.since(now).as_nanos());
        let full = if self.outbox.is_empty() {
            LONG_NANOS
        } else {
            FULL_NANOS
        };
        due.min(full).min(self.sieve.patience())
    }

    /// True if the next timer lets a packet out.
    pub(super) fn is_pacing(&self) -> bool {
        self.timers.first().is_some_and(|(at, key)| {
            let entry = self.connections.get(key);
            entry.is_some_and(|entry| entry.machine.next_data_at() == Some(*at))
        })
    }

    /// After a read of so many packets at this time: waits awake if the stream is dense, until the
    /// next timer or command at most. A read that was full is followed by the next at once.
    pub(super) fn let_gather(&self, packets: usize, read_at: Instant) {
        if !(DENSE..Socket::MOST_READS).contains(&packets) {
            return;
        }
        let end = read_at + GATHERING;
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
    use super::super::tests::{Client, Scene};
    use super::*;
    use crate::alarm::Alarm;
    use crate::config::EndpointConfig;

    #[tokio::test]
    async fn a_hub_waits_awake_for_a_packet_and_for_nothing_else() {
        let mut scene = Scene::new(&EndpointConfig::default());
        assert!(!scene.hub.is_pacing() && scene.hub.patience() > 1 << 50);
        let mut client = Client::new(&scene, 1);
        client.talk(&mut scene);
        let connection = scene.arrivals.try_recv().expect("a connection");
        assert!(!scene.hub.is_pacing(), "it has nothing to send");
        // More than the initial window, whose packets leave one after the other.
        for _ in 0..20 {
            assert!(connection.try_send(&[1; 1000]).expect("it is open"));
        }
        let key = *scene.hub.connections.keys().next().expect("a connection");
        scene.hub.settle(key);
        assert!(scene.hub.is_pacing());
        let due = scene.hub.timers.first().map(|&(at, _)| at);
        assert_eq!(due, scene.hub.connections[&key].machine.next_data_at());
    }

    #[tokio::test]
    async fn a_command_or_a_timer_ends_the_gathering() {
        let mut scene = Scene::new(&EndpointConfig::default());
        let end = scene.hub.clock.now() + Duration::from_secs(30);
        for packets in [0, DENSE - 1, Socket::MOST_READS] {
            scene.hub.let_gather(packets, end);
        }
        let mut client = Client::new(&scene, 1);
        client.talk(&mut scene);
        let connection = scene.arrivals.try_recv().expect("a connection");
        scene.hub.timers.clear();
        connection.close();
        scene.hub.let_gather(DENSE, end);
        let _ = scene.hub.commands.try_recv();
        let key = *scene.hub.connections.keys().next().expect("a connection");
        let soon = scene.hub.clock.now() + Duration::from_nanos(Alarm::SHORTEST_NANOS);
        scene.hub.timers.insert((soon, key));
        scene.hub.let_gather(DENSE, end);
        let now = scene.hub.clock.now();
        assert!(now >= soon && now < end);
    }
}

//! CAKE (tc-cake(8); Høiland-Jørgensen, Täht, Morton: Piece of CAKE, 2018): a shaper, tins by the
//! DiffServ field, fairness between hosts and between flows, COBALT in each queue, and a filter of
//! acknowledgements.
//!
//! The shaper is a virtual clock: a packet may leave when the octets before it are due at
//! `bandwidth`. Each tin has a clock of its own at its threshold; the last tin whose clock is not
//! ahead goes first, and if all are ahead the one that is least. In a tin, flows take turns as in
//! FQ-CoDel, and the quantum of a flow is divided by the bulk flows of the busier one of its hosts.
//!
//! Sizes count from the IP header on plus `overhead`. Does not model: address translation,
//! splitting of super-packets, `autorate-ingress`, overriding by marks of a firewall. The buffer
//! counts octets of packets, not the kernel's memory for them.

mod cobalt;
mod flows;
mod framing;
mod tin;
mod tins;

pub use flows::FlowMode;
pub use framing::Framing;
pub use tins::Diffserv;

use super::{Backlog, DropsAndMarks, QueueDisc, QueueDiscConfig, QueueLimit, TcName, flow_key};
use crate::ack_facts::AckFacts;
use crate::packet_pool::PacketRef;
use flows::Keys;
use tin::{Look, Tin, Waiting};
use weir_proto::event::DropReason;
use weir_proto::packet::Dscp;
use weir_proto::rng::Rng;
use weir_proto::settings::{bit_rate, bytes, duration, or_word};
use weir_proto::time::{Duration, Instant};

/// The round-trip time that CAKE assumes (tc-cake(8), rtt).
const RTT: Duration = Duration::from_millis(100);
/// The round-trip times that may be given.
const RTTS: std::ops::RangeInclusive<Duration> =
    Duration::from_micros(1)..=Duration::from_secs(4000);
/// The least buffer of a shaped link in octets.
const LEAST_BUFFER: u64 = 4 << 20;
/// The buffer of a shaped link in octets per octet of rate times round-trip time.
const BUFFER_RTTS: u64 = 4;
/// The most packets of 1514 octets that the buffer holds unless `memlimit` says more.
const MOST_BUFFER: u64 = 10_240 * 1514;
/// The failsafe clock of the shaper runs so much slower than the shaper, in halves.
const FAILSAFE_HALVES: u64 = 3;

weir_proto::keywords! {
    /// The round-trip time that COBALT assumes, or a word for one.
    pub enum RttWord {
        /// 100 us.
        Datacentre = "datacentre",
        /// 1 ms.
        Lan = "lan",
        /// 10 ms.
        Metro = "metro",
        /// 30 ms.
        Regional = "regional",
        /// 100 ms.
        Internet = "internet",
        /// 300 ms.
        Oceanic = "oceanic",
        /// 1 s.
        Satellite = "satellite",
        /// 1000 s.
        Interplanetary = "interplanetary",
        /// A time.
        Time(Duration) => duration(RTTS),
    }
}

impl Default for RttWord {
    fn default() -> Self {
        Self::Time(RTT)
    }
}

impl RttWord {
    /// The time (tc-cake(8), round trip time parameters).
    const fn time(self) -> Duration {
        match self {
            Self::Datacentre => Duration::from_micros(100),
            Self::Lan => Duration::from_millis(1),
            Self::Metro => Duration::from_millis(10),
            Self::Regional => Duration::from_millis(30),
            Self::Internet => RTT,
            Self::Oceanic => Duration::from_millis(300),
            Self::Satellite => Duration::from_secs(1),
            Self::Interplanetary => Duration::from_secs(1000),
            Self::Time(time) => time,
        }
    }
}

weir_proto::keywords! {
    /// Which acknowledgements are dropped for a later one behind them.
    #[derive(Default)]
    pub enum AckFilter {
        /// None.
        #[default]
        Off = "no-ack-filter",
        /// Those that a later one covers, but the last two of a queue.
        On = "ack-filter",
        /// All that a later one covers.
        Aggressive = "ack-filter-aggressive",
    }
}

weir_proto::settings! {
    /// CAKE: shaper, fairness of hosts and flows, classes, queue management.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct CakeConfig {
        /// Bits per second of the shaper.
        pub bandwidth: Option<u64> => or_word("unlimited", bit_rate()),
        /// The round-trip time that the queue management assumes.
        pub rtt: RttWord,
        /// The classes of packets.
        pub diffserv: Diffserv,
        /// Between what the link is shared.
        pub flowmode: FlowMode,
        /// Which acknowledgements are dropped for a later one.
        pub ack_filter: AckFilter,
        /// Bytes that each packet takes beyond its IP size.
        pub overhead: u32 => bytes(0..=256),
        /// The least bytes that a packet takes.
        pub mpu: u32 => bytes(0..=256),
        /// The framing of the link.
        pub atm: Framing,
        /// Count dropped packets as sent: for a shaper behind the bottleneck.
        pub ingress: bool,
        /// Clear the DiffServ field.
        pub wash: bool,
        /// The most bytes that it holds; "auto" by bandwidth and round-trip time.
        pub memlimit: Option<u64> => or_word("auto", bytes(1..=1 << 40)),
    }
}

impl CakeConfig {
    /// The octets that it holds.
    fn buffer(&self) -> u64 {
        if let Some(limit) = self.memlimit {
            return limit;
        }
        let shaped = self.bandwidth.map_or(u64::MAX, |rate| {
            let octets = u128::from(rate) * u128::from(self.rtt.time().as_nanos()) / 8_000_000_000;
            let octets = octets * u128::from(BUFFER_RTTS);
            u64::try_from(octets).unwrap_or(u64::MAX).max(LEAST_BUFFER)
        });
        shaped.min(MOST_BUFFER)
    }

    /// The octets that a packet takes on the link.
    fn octets_on_link(&self, size: u32) -> u32 {
        let size = size.saturating_add(self.overhead).max(self.mpu);
        self.atm.octets(size)
    }
}

impl QueueDiscConfig for CakeConfig {
    type Disc = Box<Cake>;
    const TC_NAMES: &'static [TcName] = &[TcName::packets("cake")];
    const IS_RANDOM: bool = true;

    fn build(&self, mut rng: Rng) -> Box<Cake> {
        let tins = self
            .diffserv
            .tins(self.bandwidth.unwrap_or(0), self.rtt.time());
        let tin = |config| Tin::new(config, rng.next_u64());
        Box::new(Cake {
            config: *self,
            tins: tins.into_iter().map(tin).collect(),
            current: 0,
            backlog: Backlog::default(),
            max_packet: 0,
            now: Instant::ZERO,
            next_packet: Instant::ZERO,
            failsafe: Instant::ZERO,
            shaped: Duration::ZERO,
            facts: None,
            rng,
        })
    }

    fn limit(&self) -> QueueLimit {
        QueueLimit::Bytes(self.buffer())
    }

    fn rate(&self) -> Option<u64> {
        self.bandwidth
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        let modes = [
            FlowMode::FlowBlind,
            FlowMode::SrcHost,
            FlowMode::DstHost,
            FlowMode::Hosts,
            FlowMode::Flows,
            FlowMode::DualSrcHost,
            FlowMode::DualDstHost,
            FlowMode::TripleIsolate,
        ];
        Self {
            bandwidth: rng.chance(0.5).then(|| 100_000 + rng.below(20_000_000)),
            diffserv: [
                Diffserv::BestEffort,
                Diffserv::Diffserv3,
                Diffserv::Diffserv4,
                Diffserv::Diffserv8,
            ][rng.below(4) as usize],
            flowmode: modes[rng.below(modes.len() as u64) as usize],
            ack_filter: [AckFilter::Off, AckFilter::On, AckFilter::Aggressive]
                [rng.below(3) as usize],
            overhead: rng.below(60) as u32,
            mpu: rng.below(100) as u32,
            ingress: rng.chance(0.5),
            wash: rng.chance(0.5),
            memlimit: Some(1500 + rng.below(30_000)),
            ..Self::default()
        }
    }
}

/// The tins and the shaper.
#[derive(Debug)]
pub(crate) struct Cake {
    config: CakeConfig,
    tins: Vec<Tin>,
    /// The tin whose turn it is without a shaper.
    current: usize,
    backlog: Backlog,
    max_packet: u32,
    /// The time of the last call.
    now: Instant,
    /// When the shaper lets the next packet pass.
    next_packet: Instant,
    /// When one passes at the latest, though drops have used up the rate.
    failsafe: Instant,
    /// The transmission times of all packets at the rate of the shaper.
    shaped: Duration,
    /// What a filter reads in the packet that enters next.
    facts: Option<Box<AckFacts>>,
    rng: Rng,
}

/// The transmission time of so many octets at a rate; nothing without a rate.
fn time_of(octets: u32, rate: u64) -> Duration {
    if rate == 0 {
        return Duration::ZERO;
    }
    Duration::of_octets(octets.into(), rate)
}

impl Cake {
    const fn is_shaped(&self) -> bool {
        self.config.bandwidth.is_some()
    }

    /// A packet of this size passes the shaper, or is dropped with `ingress`.
    fn advance(&mut self, tin: usize, octets: u32, is_dropped: bool) {
        let Some(rate) = self.config.bandwidth else {
            return;
        };
        let now = self.now;
        let tin = &mut self.tins[tin];
        tin.advance(now, time_of(octets, tin.config.rate));
        let time = time_of(octets, rate);
        self.next_packet += time;
        self.shaped += time;
        if !is_dropped {
            self.failsafe += time / 2 * FAILSAFE_HALVES;
        }
    }

    /// The tin that sends next, which has a packet or a flow that must be looked at.
    fn choose(&mut self) -> Option<usize> {
        if self.is_shaped() {
            let mut best: Option<(Duration, usize)> = None;
            for (index, tin) in self.tins.iter().enumerate() {
                let ahead = tin.next_packet.since(self.now);
                let goes_first = best.is_none_or(|(least, _)| ahead.is_zero() || ahead <= least);
                if tin.is_busy() && goes_first {
                    best = Some((ahead, index));
                }
            }
            return best.map(|(_, index)| index);
        }
        if !self.tins.iter().any(Tin::is_busy) {
            return None;
        }
        loop {
            let tin = &mut self.tins[self.current];
            if tin.is_busy() && tin.deficit >= 0 {
                return Some(self.current);
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.config.quantum as i64;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    /// Removes a dropped packet from the books.
    fn drop(
        &mut self,
        tin: usize,
        waiting: Waiting,
        reason: DropReason,
        effects: &mut DropsAndMarks,
    ) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(waiting.packet.size);
        if self.config.ingress {
            self.advance(tin, waiting.octets, true);
        }
        effects.dropped.push((waiting.packet, reason));
    }

    /// Drops from the head of the longest queue until the buffer is large enough.
    fn keep_limit(&mut self, effects: &mut DropsAndMarks) {
        let limit = self.config.buffer();
        while self.backlog.bytes > limit {
            let longest = self.tins.iter().enumerate();
            let longest = longest.max_by_key(|(_, tin)| tin.longest().1);
            let Some((index, _)) = longest else { return };
            let Some(waiting) = self.tins[index].overflow(self.now) else {
                return;
            };
            self.drop(index, waiting, DropReason::QueueFull, effects);
        }
    }

    /// The clocks of an idle shaper and of an idle tin do not lag behind.
    fn refresh_clocks(&mut self, tin: usize) {
        let now = self.now;
        let tin = &mut self.tins[tin];
        if tin.packets() == 0 {
            tin.next_packet = tin.next_packet.max(now);
        }
        if self.backlog.packets == 0 && self.next_packet < now {
            self.next_packet = now;
            self.failsafe = now;
        }
    }
}

impl QueueDisc for Cake {
    fn enqueue(&mut self, now: Instant, mut packet: PacketRef, effects: &mut DropsAndMarks) {
        self.now = self.now.max(now);
        let facts = self.facts.take();
        let index = self.config.diffserv.tin_of(packet.ip.dscp);
        if self.config.wash {
            packet.ip.dscp = Dscp::default();
        }
        self.refresh_clocks(index);
        let keys = Keys {
            flow: flow_key(&packet),
            source: packet.ip.source.0,
            destination: packet.ip.destination.0,
        };
        self.max_packet = self.max_packet.max(packet.size);
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.size);
        let waiting = Waiting {
            since: now,
            octets: self.config.octets_on_link(packet.size),
            facts,
            packet,
        };
        let filter = self.config.ack_filter;
        let filtered = self.tins[index].enqueue((self.config.flowmode, keys), waiting, filter);
        if let Some(ack) = filtered {
            self.drop(index, ack, DropReason::Thinned, effects);
        }
        self.keep_limit(effects);
    }

    fn dequeue(&mut self, now: Instant, effects: &mut DropsAndMarks) -> Option<PacketRef> {
        self.now = self.now.max(now);
        let mut looks_at_decaying = true;
        while self.backlog.packets > 0 {
            if self.ready_at() > self.now {
                return None;
            }
            let index = self.choose()?;
            let ingress = self.config.ingress;
            let mut dropped = Vec::new();
            let look = Look {
                now: self.now,
                ingress,
                is_first: std::mem::take(&mut looks_at_decaying),
            };
            let served = self.tins[index].serve(look, &mut dropped, &mut self.rng, effects);
            let mut octets: u32 = 0;
            for waiting in dropped {
                octets = octets.saturating_add(waiting.octets);
                self.drop(index, waiting, DropReason::Aqm, effects);
            }
            if ingress {
                self.tins[index].deficit -= i64::from(octets);
            }
            let Some(waiting) = served else {
                continue;
            };
            self.backlog.packets -= 1;
            self.backlog.bytes -= u64::from(waiting.packet.size);
            self.tins[index].deficit -= i64::from(waiting.octets);
            self.advance(index, waiting.octets, false);
            return Some(waiting.packet);
        }
        None
    }

    /// Which packet is next is known only at dequeue: the size of the largest packet that ever
    /// entered.
    fn head_size(&self) -> Option<u32> {
        (self.backlog.packets > 0).then_some(self.max_packet)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn ready_at(&self) -> Instant {
        self.next_packet.min(self.failsafe).max(self.now)
    }

    fn shaping_time(&self, now: Instant) -> Duration {
        self.shaped.saturating_sub(self.next_packet.since(now))
    }

    fn reads_acks(&self) -> bool {
        self.config.ack_filter != AckFilter::Off
    }

    fn expect(&mut self, facts: Option<AckFacts>) {
        self.facts = facts.map(Box::new);
    }
}

#[cfg(test)]
mod tests;

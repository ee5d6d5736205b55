use super::*;
use crate::link::LinkCounters;
use crate::packet_pool::fixture;
use crate::queue::DropTailConfig;
use proptest::prelude::*;

/// What a link did: arrivals as (time, number, nanoseconds in queues), drops, and at each packet
/// the counters and the time of the next arrival.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    arrivals: Vec<(Instant, u64, u64)>,
    drops: Vec<u64>,
    states: Vec<(LinkCounters, Option<Instant>)>,
}

/// Sends packets, each so long after the one before it, through the link; it is traced from the
/// packet with number `traced_from` on.
fn run(config: &LinkConfig, packets: &[(u64, u32)], traced_from: usize) -> Seen {
    let mut link = Link::new(config, 1);
    let mut seen = Seen::default();
    let mut now = Instant::ZERO;
    let deliver = |link: &mut Link, until: Instant, arrivals: &mut Vec<_>| {
        while let Some(at) = link.poll_timeout().filter(|&at| at <= until) {
            link.handle_timeout(at);
            while let Some(packet) = link.poll_transmit(at) {
                arrivals.push((at, fixture::number_of(&packet), fixture::queued(&packet)));
            }
        }
    };
    for (number, &(gap, size)) in packets.iter().enumerate() {
        now += Duration::from_nanos(gap);
        deliver(&mut link, now, &mut seen.arrivals);
        if number == traced_from {
            link.cancel_bookings(now);
        }
        link.handle(now, fixture::packet_ref(number as u64, 0, size));
        let dropped = link.discarded.drain(..);
        seen.drops
            .extend(dropped.map(|packet| fixture::number_of(&packet)));
        seen.states.push((
            link.counters(Asked {
                now,
                including: true,
            }),
            link.poll_timeout(),
        ));
    }
    deliver(&mut link, Instant::FAR_FUTURE, &mut seen.arrivals);
    assert_eq!(link.is_plain(), traced_from >= packets.len());
    seen
}

proptest! {
    #[test]
    fn a_plain_link_does_what_a_traced_one_does(
        rate in prop::option::of(1_000_u64..3_000_000_000),
        delay in prop_oneof![Just(0), 1_u64..20_000_000],
        limit in prop_oneof![
            (1_u64..12).prop_map(QueueLimit::Packets),
            (1_u64..12_000).prop_map(QueueLimit::Bytes),
        ],
        packets in prop::collection::vec(
            (prop_oneof![Just(0), 1_u64..2_000_000], 1_u32..1600),
            1..120,
        ),
        traced_from in 0_usize..120,
    ) {
        let config = LinkConfig {
            name: "wire".to_owned(),
            rate,
            delay: Duration::from_nanos(delay),
            mtu: Some(1500),
            queue: QueueConfig::DropTail(DropTailConfig { limit }),
            ..LinkConfig::default()
        };
        let plain = run(&config, &packets, packets.len());
        prop_assert_eq!(&plain, &run(&config, &packets, 0));
        let traced_from = traced_from % packets.len();
        prop_assert_eq!(&plain, &run(&config, &packets, traced_from));
    }
}

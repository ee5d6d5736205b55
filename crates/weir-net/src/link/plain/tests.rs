use super::*;
use crate::link::{LinkChange, LinkCounters};
use crate::packet_pool::fixture;
use crate::queue::DropTailConfig;
use proptest::prelude::*;
use std::ops::Range;

/// The output of a link: arrivals as (time, number, nanoseconds in queues), drops, the counters and
/// the time of the next arrival at each packet, and the events that it reported.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    arrivals: Vec<(Instant, u64, u64)>,
    drops: Vec<u64>,
    states: Vec<(LinkCounters, Option<Instant>)>,
    events: Vec<(Instant, StageEvent)>,
    /// The transmissions, without the time at which they were reported: a plain link books one
    /// before it begins.
    ways: Vec<String>,
}

/// Sends packets of these (gap to the previous packet, size) through the link, which is traced
/// while packets of the numbers in `traced` enter.
fn run(config: &LinkConfig, packets: &[(u64, u32)], traced: Range<usize>) -> Seen {
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
        let turned = [
            (traced.start, EventMask::ALL),
            (traced.end, EventMask::NONE),
        ];
        for (_, mask) in turned.iter().filter(|(at, _)| *at == number) {
            link.handle_timeout(now);
            take_events(&mut link, &mut seen.events);
            link.set_mask(now, *mask);
        }
        if traced.contains(&number) {
            // The event loop calls a traced link with a queue at each start of a transmission.
            link.handle_timeout(now);
        }
        link.handle(now, fixture::packet_ref(number as u64, 0, size));
        take_events(&mut link, &mut seen.events);
        let dropped = std::iter::from_fn(|| link.poll_discarded());
        seen.drops
            .extend(dropped.map(|packet| fixture::number_of(&packet)));
        seen.states.push((
            link.counters(Progress {
                now,
                including: true,
            }),
            link.poll_timeout(),
        ));
    }
    deliver(&mut link, Instant::FAR_FUTURE, &mut seen.arrivals);
    take_events(&mut link, &mut seen.events);
    let is_way = |event: &StageEvent| matches!(event, StageEvent::Enter(_) | StageEvent::Carry(..));
    let ways = seen.events.extract_if(.., |(_, event)| is_way(event));
    // A packet that a full queue drops has entered a link with a queue, and no plain one.
    let ways = ways.filter(|(_, event)| matches!(event, StageEvent::Carry(..)));
    seen.ways = ways.map(|(_, event)| format!("{event:?}")).collect();
    seen.ways.sort_unstable();
    seen
}

/// Takes the trace events of the link, as the event loop does.
fn take_events(link: &mut Link, events: &mut Vec<(Instant, StageEvent)>) {
    link.take_changes(|changes| {
        let waiting = |change: &QueueChange| Backlog {
            packets: u64::from(change.packets),
            bytes: change.bytes,
        };
        events.extend(
            changes
                .iter()
                .map(|change| (change.at, StageEvent::Queue(waiting(change)))),
        );
    });
    events.extend(link.events().drain());
}

proptest! {
    #[test]
    fn a_plain_link_does_and_reports_what_one_with_a_queue_does(
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
        traced in (0_usize..120, 0_usize..120),
    ) {
        let config = LinkConfig {
            name: "wire".to_owned(),
            rate,
            delay: Duration::from_nanos(delay),
            mtu: Some(1500),
            queue: QueueConfig::DropTail(DropTailConfig { limit }),
            ..LinkConfig::default()
        };
        // A future change prevents the link from being plain.
        let queued = LinkConfig {
            changes: vec![LinkChange {
                at: Duration::from_nanos(u64::MAX),
                ..LinkChange::default()
            }],
            ..config.clone()
        };
        let last = packets.len();
        let from = traced.0 % last;
        let to = from + 1 + traced.1 % last;
        for traced in [last..last, 0..last, from..to] {
            let mut plain = run(&config, &packets, traced.clone());
            let mut other = run(&queued, &packets, traced.clone());
            if traced != (0..last) {
                // A plain link has booked before the trace begins what the other begins later.
                (plain.ways, other.ways) = Default::default();
            }
            prop_assert_eq!(&plain, &other);
            prop_assert!(plain.events.is_empty() || traced.start < last);
        }
    }
}

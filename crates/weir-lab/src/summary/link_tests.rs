//! The counts in a summary of a link, from its counters at two moments.

use super::*;
use weir_net::LinkCounters;
use weir_proto::time::{Duration, Instant};

/// Counters at the end of a warm-up of 1 s, each with a different value.
fn warm() -> StationCounters {
    StationCounters {
        link: LinkCounters {
            at: Instant::ZERO + Duration::from_secs(1),
            busy: Duration::from_millis(900),
            byte_nanos_queued: 7_000_000_000,
            max_bytes_queued: 800,
            dropped_queue_full: 1,
            dropped_aqm: 2,
            dropped_loss_model: 3,
            dropped_outage: 4,
            dropped_ecn_black_hole: 5,
            dropped_policed: 6,
            dropped_damaged: 7,
            packets_marked: 8,
            packets_bleached: 9,
            packets_duplicated: 10,
            packets_damaged: 11,
            packets_reordered: 12,
            ..LinkCounters::default()
        },
        frames: 13,
        failures: 14,
        collisions: 15,
    }
}

#[test]
fn a_summary_counts_what_came_after_the_warm_up() {
    let before = warm();
    let mut after = before;
    let link = &mut after.link;
    // In 4 s the link transmitted for 3 s, with an average queue of 1500 octets: 6000 octet
    // seconds.
    link.at += Duration::from_secs(4);
    link.busy += Duration::from_secs(3);
    link.byte_nanos_queued += 6_000_000_000_000;
    link.max_bytes_queued = 9000;
    link.dropped_queue_full += 100;
    link.dropped_aqm += 200;
    link.dropped_loss_model += 1000;
    link.dropped_outage += 2000;
    link.dropped_ecn_black_hole += 4000;
    link.dropped_damaged += 8000;
    link.dropped_policed += 10_000;
    link.packets_marked += 21;
    link.packets_bleached += 22;
    link.packets_duplicated += 23;
    link.packets_damaged += 24;
    link.packets_reordered += 25;
    after.frames += 31;
    after.failures += 32;
    after.collisions += 33;
    let expected = LinkSummary {
        utilisation: 0.75,
        drops: 25_300,
        queue_drops: 300,
        wire_losses: 15_000,
        marks: 21,
        queue_bytes: QueueBytes {
            mean: 1500.0,
            max: 9000,
        },
        impaired: Some(ImpairmentCounts {
            duplicated: 23,
            damaged: 24,
            reordered: 25,
            bleached: 22,
        }),
        frames: Some(FrameCounts {
            sent: 31,
            failed: 32,
            collided: 33,
        }),
    };
    assert_eq!(LinkSummary::between(&before, &after), expected);
}

#[test]
fn a_wired_link_that_harms_nothing_counts_neither_frames_nor_impairments() {
    let (before, mut after) = (warm(), warm());
    after.link.at += Duration::from_secs(1);
    let found = LinkSummary::between(&before, &after);
    assert_eq!((found.frames, found.impaired), (None, None));
    assert_eq!((found.drops, found.utilisation), (0, 0.0));
    // A single frame marks an 802.11 station, and a single duplicate an impaired link.
    after.frames += 1;
    after.link.packets_duplicated += 1;
    let found = LinkSummary::between(&before, &after);
    assert_eq!(found.frames.map(|frames| frames.sent), Some(1));
    assert_eq!(found.impaired.map(|counts| counts.duplicated), Some(1));
}

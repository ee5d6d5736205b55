//! The Ack Ratio against RFC 4341 §6.1, worked by hand.

use super::*;

fn seq(number: u64) -> SeqNum {
    SeqNum::new(number)
}

#[test]
fn the_ratio_stays_within_the_bounds_of_the_window() {
    // RFC 4341 §6.1.2: at most half of cwnd, rounded up, though two is always allowed; at least two
    // from a window of four on; an acknowledgement for each packet of a window of two or less.
    for (ratio, cwnd, bounded) in [
        (5, 1, 1),
        (5, 2, 1),
        (1, 3, 1),
        (5, 3, 2),
        (1, 4, 2),
        (5, 4, 2),
        (5, 5, 3),
        (1, 5, 2),
        (4, 8, 4),
        (0, 100, 2),
    ] {
        let mut control = AckRatio::new(ratio);
        control.on_reduction(cwnd);
        assert_eq!(control.get(), bounded, "{ratio} {cwnd}");
    }
}

/// The ratio that was 2, after these packets of the peer and the end of a window of 100.
fn after(arrivals: &[u64]) -> u16 {
    let mut control = AckRatio::new(2);
    for &number in arrivals {
        control.on_arrival(seq(number));
    }
    control.on_acknowledged(seq(10), seq(20), 100);
    control.get()
}

#[test]
fn a_number_is_lost_once_three_greater_ones_have_arrived() {
    // RFC 4341 §6.1.1, as NUMDUPACK for data; R doubles.
    for (arrivals, ratio) in [
        (&[1, 3, 4][..], 2),
        (&[1, 3, 4, 5], 4),
        (&[1, 3, 4, 2, 5], 2),
        (&[1, 2, 3, 4, 5], 2),
        (&[1, 3, 4, 4, 3, 1], 2),
        // More than half of the 64 tracked numbers are missing: they are lost at once.
        (&[1, 33], 2),
        (&[1, 34], 4),
        // A packet before the first one, or a very old one, has no effect.
        (&[100, 36, 35, 1], 2),
        (&[], 2),
    ] {
        assert_eq!(after(arrivals), ratio, "{arrivals:?}");
    }
}

#[test]
fn the_ratio_falls_by_one_after_enough_windows_without_loss() {
    // RFC 4341 §6.1.2: cwnd / (R² - R) windows: with R = 4 and cwnd = 24 two, with R = 3 four. The
    // windows begin to count with the loss.
    let mut control = AckRatio::new(2);
    for number in [1, 3, 4, 5] {
        control.on_arrival(seq(number));
    }
    let ratios: Vec<u16> = (0..8)
        .map(|window| {
            control.on_acknowledged(seq(10 * window), seq(10 * window + 10), 24);
            // The same window, not yet over.
            control.on_acknowledged(seq(10 * window + 9), seq(10 * window + 15), 24);
            control.get()
        })
        .collect();
    assert_eq!(ratios, [4, 4, 3, 3, 3, 3, 2, 2]);
}

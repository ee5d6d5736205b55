use super::*;
use proptest::prelude::*;
use weir_proto::time::Duration;

const DELAY: Duration = Duration::from_millis(20);

fn request() -> TestConfig {
    TestConfig {
        ecn: true,
        length: 1000,
        rate_bps: Some(400_000.0),
        ..TestConfig::default()
    }
}

/// Runs a sender and a receiver, whose clock is five seconds ahead, for three seconds. Media
/// datagrams for whose number `is_lost` is true are lost.
fn run(is_lost: fn(u64) -> bool) -> [Media; 2] {
    run_spoiled(is_lost, 3000, |_, _| Ecn::Ce)
}

/// The same for this many milliseconds; `spoil` may change each datagram for the end with this
/// number, and returns its ECN codepoint.
fn run_spoiled(
    is_lost: fn(u64) -> bool,
    millis: u64,
    mut spoil: impl FnMut(usize, &mut Vec<u8>) -> Ecn,
) -> [Media; 2] {
    let start = Instant::from_nanos(1_000_000_000);
    let ahead = [Duration::ZERO, Duration::from_secs(5)];
    let mut ends = [true, false].map(|sends| Media::new(&request(), sends, EventMask::NONE, start));
    for end in &mut ends {
        end.begin(&request(), start);
    }
    let mut wire: Vec<(Instant, usize, Vec<u8>)> = Vec::new();
    let mut sent = 0;
    for millis in 0..millis {
        let now = start + Duration::from_millis(millis);
        for side in [0, 1] {
            let mut octets = Vec::new();
            while ends[side].write(now + ahead[side], &mut octets) {
                sent += u64::from(side == 0);
                let octets = std::mem::take(&mut octets);
                if side == 1 || !is_lost(sent) {
                    wire.push((now + DELAY, 1 - side, octets));
                }
            }
        }
        let due = wire.extract_if(.., |(at, ..)| *at <= now);
        for (_, side, mut octets) in due {
            let ecn = spoil(side, &mut octets);
            ends[side].receive(now + ahead[side], &octets, ecn);
        }
    }
    ends
}

#[test]
fn a_video_arrives_and_its_delays_need_no_common_clock() {
    let [sender, receiver] = run(|_| false);
    let end = Instant::from_nanos(9_000_000_000);
    assert_eq!(sender.frames(end), None);
    let frames = receiver.frames(end).expect("it sees a video");
    // 30 frames per second for three seconds, without those of the last 200 ms and of the delay.
    assert!((82..=84).contains(&frames.frames), "{frames:?}");
    assert_eq!(
        (frames.complete, frames.late, frames.freezes),
        (frames.frames, 0, 0)
    );
    // The delay of the path is removed; the rest is due to the pacing of a frame's packets.
    assert!(
        frames.delay_s[0] < 0.03 && frames.delay_s[2] < 0.2,
        "{frames:?}"
    );
    let [sent, got] = [sender.counts(Instant::ZERO), receiver.counts(Instant::ZERO)];
    assert_eq!(got.received.expected, got.received.received);
    assert!(sent.sent - got.received.received < 5, "{sent:?} {got:?}");
    assert_eq!(got.received.marked, got.received.received);
    let rtt = sender.rtt().expect("samples");
    assert!((0.040..0.045).contains(&rtt.p50), "{rtt:?}");
    // Marks keep NADA at RMIN.
    let state = sender.state().expect("reports");
    assert_eq!(state.allowed_rate.as_bps(), 150_000.0);
    let rate = sender.encoder_rate().expect("frames");
    assert!((140_000.0..=150_000.0).contains(&rate), "{rate}");
}

#[test]
fn lost_packets_spoil_their_frames() {
    let [_, receiver] = run(|number| number % 10 == 0);
    let frames = receiver
        .frames(Instant::from_nanos(9_000_000_000))
        .expect("a video");
    // At RMIN each frame except key frames is one packet.
    let missing = frames.frames - frames.complete;
    assert!((7..=9).contains(&missing), "{frames:?}");
    let received = receiver.counts(Instant::ZERO).received;
    assert!((7..=9).contains(&received.lost()), "{received:?}");
}

#[test]
fn the_rate_of_the_option_bounds_the_video() {
    assert_eq!(
        (nada(None).min_rate, nada(None).max_rate),
        (150_000, 1_500_000)
    );
    let [least, most] = [nada(Some(100e3)), nada(Some(4e6))];
    assert_eq!((least.min_rate, least.max_rate), (100_000, 100_000));
    assert_eq!((most.min_rate, most.max_rate), (150_000, 4_000_000));
}

/// A modification of a datagram: the offset, the number of octets, and the value.
type ImplausibleValue = (usize, usize, u64);

/// A modification in the first octets, where the fields are, or anywhere; the value is small, at a
/// limit, or arbitrary.
fn lie() -> impl Strategy<Value = ImplausibleValue> {
    let place = prop_oneof![3 => 0_usize..64, 1 => 0_usize..1100];
    let value = prop_oneof![0_u64..4, Just(u64::MAX), Just(1 << 63), any::<u64>()];
    (place, prop::sample::select(&[1_usize, 2, 4, 8][..]), value)
}

fn assert_possible(end: &Media, now: Instant) {
    let counts = end.counts(Instant::ZERO);
    let received = counts.received;
    assert!(received.received <= received.expected, "{counts:?}");
    assert!(received.reordered <= received.received, "{counts:?}");
    let arrived = received.received + received.duplicates;
    assert!(received.marked <= arrived, "{counts:?}");
    // No packet contains more than its datagram.
    assert!(received.octets <= 1100 * arrived, "{counts:?}");
    assert!(received.jitter.is_finite() && received.jitter >= 0.0);
    if let Some(frames) = end.frames(now) {
        assert!(frames.complete <= frames.frames, "{frames:?}");
        assert!(frames.late <= frames.frames, "{frames:?}");
        let [p50, p95, p99] = frames.delay_s;
        for time in [frames.frozen_s, p50, p95, p99] {
            assert!(time.is_finite() && time >= 0.0, "{frames:?}");
        }
        assert!(p50 <= p95 && p95 <= p99, "{frames:?}");
    }
    if let Some(rtt) = end.rtt() {
        assert!((0.0..=10.0).contains(&rtt.p50), "{rtt:?}");
    }
    if let Some(state) = end.state() {
        let rate = state.allowed_rate.as_bps();
        assert!((1.0..=400_000.0).contains(&rate), "{rate}");
    }
    let rate = end.encoder_rate().unwrap_or_default();
    assert!(rate.is_finite() && rate >= 0.0, "{rate}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_a_peer_puts_into_its_datagrams_the_counts_are_possible(
        to_sender: bool,
        lies in prop::collection::vec(prop::collection::vec(lie(), 0..4), 1..40),
        cut in prop::option::of(0_usize..64),
    ) {
        let liar = usize::from(!to_sender);
        let mut number = 0;
        let ends = run_spoiled(|_| false, 500, |side, octets| {
            if side == liar {
                let of_this = &lies[number % lies.len()];
                for &(place, width, value) in of_this {
                    let value = &value.to_be_bytes()[8 - width..];
                    if let Some(field) = octets.get_mut(place..place + width) {
                        field.copy_from_slice(value);
                    }
                }
                if let Some(cut) = cut.filter(|_| number % 5 == 0) {
                    octets.truncate(cut);
                }
                number += 1;
            }
            if number % 3 == 0 { Ecn::Ce } else { Ecn::Ect0 }
        });
        let now = Instant::from_nanos(9_000_000_000);
        for end in &ends {
            assert_possible(end, now);
        }
    }
}

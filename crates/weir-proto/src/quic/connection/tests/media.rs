//! Media in datagrams: pacing by its controller, and reports from acknowledgements.

use super::*;
use crate::cc::media::fixture::{Recorder, Told};
use crate::cc::media::{Controller, MediaSender};
use crate::quic::MediaConfig;
use crate::quic::media::Media;
use crate::quic::wire::{AckRest, ReceiveTimestamps, TimestampRange};

fn config(set: impl FnOnce(&mut MediaConfig)) -> Config {
    let mut media = MediaConfig::default();
    set(&mut media);
    Config {
        media: Some(Box::new(media)),
        ..Config::default()
    }
}

/// A pair whose client has a controller of 800 kbit/s: a packet of 1000 octets each 10 ms.
fn opened(config: Config) -> (Pair, Recorder) {
    let mut pair = Pair::started(config);
    // Also the ACK frame of an Initial packet, which has no timestamps (§4).
    pair.codec = true;
    let recorder = Recorder::of(8e5);
    let sender = MediaSender::of(Box::new(recorder.clone()));
    pair.client.media.as_mut().unwrap().set_sender(sender);
    pair.run_for(millis(50));
    pair.endpoint_events.clear();
    (pair, recorder)
}

fn write(pair: &mut Pair, packets: usize) {
    for _ in 0..packets {
        let now = pair.now;
        let data = Payload::from_bytes(&[7; 1000]);
        pair.client.write(now, data).unwrap();
    }
}

/// The packets of all reports.
fn packets(told: &[Told]) -> Vec<(u64, u32, Option<u64>, bool)> {
    told.iter().flat_map(|told| told.packets.clone()).collect()
}

#[test]
fn packets_leave_at_the_rate_of_the_controller_whatever_the_window() {
    let (mut pair, _) = opened(config(|_| {}));
    pair.sizes.clear();
    pair.drop = Box::new(|side, _| side == Side::Server);
    write(&mut pair, 100);
    assert_eq!(pair.client.media_target().unwrap().buffered_bytes, 100_000);
    pair.run_for(millis(305));
    let sent = pair.sizes.iter().filter(|size| **size > 1000).count();
    // Without any acknowledgement, twice the initial window of 12 packets and more.
    assert_eq!(sent, 31);
    assert_eq!(pair.client.bound(), SndLim::Rate);
    assert_eq!(pair.client.media_target().unwrap().buffered_bytes, 69_000);
    // Below a window it holds them back too.
    let (mut pair, _) = opened(config(|media| media.nested = true));
    pair.sizes.clear();
    pair.drop = Box::new(|side, _| side == Side::Server);
    write(&mut pair, 100);
    pair.run_for(millis(305));
    let sent = pair.sizes.iter().filter(|size| **size > 1000).count();
    assert!((11..=14).contains(&sent), "{sent}");
    assert_eq!(pair.client.bound(), SndLim::Window);
}

#[test]
fn a_pacer_below_holds_packets_back_too() {
    let mut bbr = config(|media| media.nested = true);
    bbr.controller = window::find("bbr").unwrap();
    let mut pair = Pair::new(bbr);
    // At 12,000 octets a round trip of 100 ms the pacer's quantum is two packets.
    pair.delay = millis(50);
    pair.client.connect(pair.now);
    pair.run_for(millis(200));
    let sender = MediaSender::of(Box::new(Recorder::of(1e15)));
    pair.client.media.as_mut().unwrap().set_sender(sender);
    write(&mut pair, 8);
    pair.exchange();
    assert!(pair.client.media_target().unwrap().buffered_bytes > 0);
    assert_eq!(pair.client.bound(), SndLim::Pacer);
}

#[test]
fn media_without_a_controller_is_under_the_window_whose_state_it_reports() {
    let none = |media: &mut MediaConfig| media.controller = Controller::Uncontrolled;
    let mut pair = Pair::started(config(none));
    pair.run_for(millis(50));
    pair.windows.clear();
    write(&mut pair, 100);
    pair.exchange();
    assert_eq!(pair.client.bound(), SndLim::Window);
    assert!(!pair.windows.is_empty());
    assert_eq!(pair.client.media_target(), None);
}

#[test]
fn reports_have_the_times_at_which_packets_arrived() {
    let (mut pair, recorder) = opened(config(|_| {}));
    let start = pair.now;
    write(&mut pair, 20);
    pair.run_for(Duration::from_secs(1));
    let told = recorder.told();
    // Each packet once, in order: 1 ms after it left, the first at once, each other 10 ms later.
    let arrivals = (0..20).map(|number: u64| {
        let arrival = (start + millis(10 * number + 1)).as_nanos() / 1000;
        (number, 1000, Some(arrival), false)
    });
    assert_eq!(packets(&told), arrivals.collect::<Vec<_>>());
    for pair in told.windows(2) {
        assert!(pair[1].now >= pair[0].now + millis(100));
        assert!(pair[1].made_at > pair[0].made_at);
    }
    // The receiver acknowledges every other packet; an odd one would wait 25 ms longer.
    for told in &told {
        assert_eq!(told.rtt, Some(millis(2)));
        assert!(told.made_at <= told.now.since(Instant::ZERO) - millis(1));
    }
    assert_eq!(pair.octets_read, 20_000);
    assert_eq!(*recorder.timeouts.lock().unwrap(), 0);
    // The frame is complete when the next is written; the first packet did not wait.
    assert_eq!(*recorder.frames.lock().unwrap(), []);
    write(&mut pair, 1);
    assert_eq!(*recorder.frames.lock().unwrap(), [(20_000, Duration::ZERO)]);
}

#[test]
fn times_count_in_the_units_that_were_asked_for() {
    // An exponent of 10 makes units of 1024 microseconds.
    let coarse = |media: &mut MediaConfig| media.receive_timestamps_exponent = 10;
    let (mut pair, recorder) = opened(config(coarse));
    let start = pair.now;
    write(&mut pair, 1);
    pair.run_for(Duration::from_secs(1));
    let arrival = (start + millis(1)).as_nanos() / 1000;
    let packet = (0, 1000, Some(arrival / 1024 * 1024), false);
    assert_eq!(packets(&recorder.told()), [packet]);
}

#[test]
fn a_lost_packet_is_reported_in_its_place_and_marks_with_the_newest() {
    let mut lossy = config(|media| media.feedback_interval = Duration::ZERO);
    lossy.ecn = true;
    let (mut pair, recorder) = opened(lossy);
    let mut large = 0;
    pair.drop = Box::new(move |side, packet| {
        large += u32::from(side == Side::Client && packet.size > 1000);
        side == Side::Client && packet.size > 1000 && large == 4
    });
    write(&mut pair, 10);
    pair.run_for(millis(65));
    // The next packet leaves at 70 ms.
    pair.mark_next = true;
    pair.run_for(Duration::from_secs(1));
    let packets = packets(&recorder.told());
    let numbers: Vec<_> = packets.iter().map(|packet| packet.0).collect();
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    let lost = |packet: &&(u64, u32, Option<u64>, bool)| packet.2.is_none();
    let lost: Vec<_> = packets.iter().filter(lost).map(|packet| packet.0).collect();
    assert_eq!(lost, [3]);
    let marked = packets.iter().filter(|packet| packet.3);
    let marked: Vec<_> = marked.map(|packet| packet.0).collect();
    assert_eq!(marked, [7]);
}

#[test]
fn the_last_packets_are_reported_without_a_further_acknowledgement() {
    let (mut pair, recorder) = opened(config(|_| {}));
    write(&mut pair, 3);
    let start = pair.now;
    pair.run_for(Duration::from_secs(2));
    let told = recorder.told();
    assert_eq!(packets(&told).len(), 3);
    let last = told.last().unwrap();
    assert!(last.now <= start + millis(20 + 25 + 2 + 100), "{last:?}");
    // The third packet arrives after 21 ms, and its acknowledgement waits for max_ack_delay.
    assert_eq!(last.rtt, Some(millis(2)));
    assert_eq!(last.made_at, (start + millis(21 + 25)).since(Instant::ZERO));
    assert_eq!(*recorder.timeouts.lock().unwrap(), 0);
}

#[test]
fn the_rate_is_halved_once_without_feedback_and_again_after_further_packets() {
    let (mut pair, recorder) = opened(config(|_| {}));
    pair.drop = Box::new(|side, _| side == Side::Server);
    write(&mut pair, 1);
    pair.run_for(millis(499));
    assert_eq!(*recorder.timeouts.lock().unwrap(), 0);
    pair.run_for(millis(2));
    assert_eq!(*recorder.timeouts.lock().unwrap(), 1);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(*recorder.timeouts.lock().unwrap(), 1);
    write(&mut pair, 1);
    pair.run_for(millis(501));
    assert_eq!(*recorder.timeouts.lock().unwrap(), 2);
}

#[test]
fn more_timestamps_than_were_asked_for_are_a_violation() {
    for (most, count, is_taken) in [(2, 2, true), (2, 3, false)] {
        let mut config = config(|media| media.max_receive_timestamps_per_ack = most);
        config.handshake = Handshake::Established;
        let mut client = Connection::client(config);
        client.connect(Instant::ZERO);
        for _ in 0..4 {
            client.write(Instant::ZERO, Payload::of_len(10)).unwrap();
        }
        client
            .media
            .as_mut()
            .unwrap()
            .set_sender(MediaSender::of(Box::new(Recorder::of(1e15))));
        let sent = std::iter::from_fn(|| client.poll_transmit(Instant::ZERO)).count();
        assert!(sent >= 3, "{sent}");
        let Frame::Ack(mut frame) = ack(0, 2) else {
            unreachable!()
        };
        let range = TimestampRange {
            delta_largest: 0,
            deltas: vec![1; count],
        };
        frame.rest = AckRest::new(None, Some(ReceiveTimestamps(vec![range])));
        let answer = deliver(&mut client, data(0, Frame::Ack(frame)));
        let closes = answer.is_some_and(|packet| {
            matches!(packet.frames[0], Frame::ConnectionClose { code: 0xa, .. })
        });
        assert_eq!(closes, !is_taken, "{count} of {most}");
    }
}

#[test]
fn another_path_has_another_controller() {
    let (mut pair, recorder) = opened(config(|_| {}));
    write(&mut pair, 2);
    pair.exchange();
    let now = pair.now;
    pair.client.change_address(now);
    let media = pair.client.media.as_deref().and_then(Media::sender);
    assert!(media.is_some_and(|sender| sender.measured().0 == 0));
    // What left on the old path is not reported to it.
    let after = Recorder::of(8e5);
    let sender = MediaSender::of(Box::new(after.clone()));
    pair.client.media.as_mut().unwrap().set_sender(sender);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(recorder.told(), []);
    let numbers: Vec<_> = packets(&after.told())
        .iter()
        .map(|packet| packet.0)
        .collect();
    assert_eq!(numbers, [1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn each_packet_is_reported_once_and_in_order(
        dropped in prop::collection::vec(any::<bool>(), 40),
        interval in 0_u64..200,
    ) {
        let interval = |media: &mut MediaConfig| media.feedback_interval = millis(interval);
        let (mut pair, recorder) = opened(config(interval));
        let (mut large, fates) = (0, dropped.clone());
        pair.drop = Box::new(move |side, packet| {
            let is_media = side == Side::Client && packet.size > 1000;
            large += usize::from(is_media);
            is_media && fates[large - 1]
        });
        write(&mut pair, dropped.len());
        pair.run_for(Duration::from_secs(60));
        let packets = packets(&recorder.told());
        let fates: Vec<_> = packets.iter().map(|packet| (packet.0, packet.2.is_none())).collect();
        prop_assert_eq!(fates, (0..).zip(dropped).collect::<Vec<_>>());
    }
}

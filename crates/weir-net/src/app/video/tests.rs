use super::*;
use crate::app::App;
use weir_proto::endpoint::{Endpoint, EndpointEvent, MediaTarget, Statistics, WriteError};
use weir_proto::packet::{Packet, Payload};
use weir_proto::time::Instant;
use weir_proto::units::Rate;

/// A transport that keeps what is written and provides a target rate.
#[derive(Default)]
struct Transport {
    connected: bool,
    target: Option<MediaTarget>,
    written: Vec<Payload>,
    incoming: Vec<Payload>,
    room: Option<usize>,
}

impl Endpoint for Transport {
    fn handle(&mut self, _: Instant, _: &mut Packet) {}
    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_transmit(&mut self, _: Instant) -> Option<Packet> {
        None
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn connect(&mut self, _: Instant) {}
    fn close(&mut self, _: Instant) {}
    fn write(&mut self, _: Instant, data: Payload) -> Result<(), WriteError> {
        if self.room.is_some_and(|room| self.written.len() >= room) {
            return Err(WriteError::Blocked);
        }
        self.written.push(data);
        Ok(())
    }
    fn read(&mut self, _: Instant) -> Option<Payload> {
        self.incoming.pop()
    }
    fn poll_event(&mut self) -> Option<EndpointEvent> {
        if !std::mem::replace(&mut self.connected, true) {
            return Some(EndpointEvent::Connected);
        }
        (!self.incoming.is_empty()).then_some(EndpointEvent::Readable)
    }
    fn media_target(&self) -> Option<MediaTarget> {
        self.target
    }
    fn transmitted(&mut self, _: Instant, _: u64) {}
    fn statistics(&self) -> Statistics {
        Statistics::default()
    }
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn target(rate: f64, buffered_bytes: u64) -> MediaTarget {
    MediaTarget {
        rate: Rate::from_bps(rate),
        buffered_bytes,
    }
}

/// A source of 25 frames per second, 1 Mbit/s: frames of 5000 octets.
fn source(config: VideoConfig) -> VideoSource {
    let config = VideoConfig {
        frame_rate: 25,
        ..config
    };
    VideoSource::new(config, Rng::stream(1, "video"))
}

/// Polls the source when it is due, up to `until`; `each` gives the transport's target before each
/// poll.
fn run(
    source: &mut VideoSource,
    until: u64,
    each: impl Fn(u64) -> Option<MediaTarget>,
) -> Transport {
    let mut transport = Transport::default();
    source.poll(Instant::ZERO, &mut transport);
    while let Some(next) = source.poll_timeout().filter(|next| *next <= at(until)) {
        transport.target = each(next.as_nanos() / 1_000_000);
        source.poll(next, &mut transport);
    }
    transport
}

fn known_frames(app: &dyn App) -> &[VideoFrame] {
    app.report(at(0)).frames
}

#[test]
fn the_mean_is_the_rate_whatever_the_key_frames_are() {
    for (interval, ratio) in [(None, 1.0), (Some(2), 1.0), (Some(2), 5.0), (Some(10), 3.0)] {
        let mut source = source(VideoConfig {
            key_frame_interval: interval.map(Duration::from_secs),
            key_frame_ratio: ratio,
            ..VideoConfig::default()
        });
        let transport = run(&mut source, 19_999, |_| None);
        let octets: u64 = transport
            .written
            .iter()
            .map(|data| u64::from(data.len()))
            .sum();
        let rate = octets as f64 * 8.0 / 20.0;
        assert!(
            (0.99e6..1.01e6).contains(&rate),
            "{interval:?} {ratio}: {rate}"
        );
        let sizes: Vec<u32> = known_frames(&source)
            .iter()
            .map(|frame| frame.bytes)
            .collect();
        let measured = f64::from(sizes[0]) / f64::from(sizes[1]);
        assert!((measured - ratio).abs() < 0.01, "{measured} is not {ratio}");
        let keys = known_frames(&source)
            .iter()
            .filter(|frame| frame.is_key)
            .count() as u64;
        assert_eq!(keys, interval.map_or(1, |interval| 20 / interval));
    }
}

#[test]
fn frames_are_captured_on_time_and_fill_their_packets() {
    let mut source = source(VideoConfig {
        key_frame_ratio: 1.0,
        packet: 1200,
        ..VideoConfig::default()
    });
    let transport = run(&mut source, 100, |_| None);
    let times: Vec<Instant> = known_frames(&source)
        .iter()
        .map(|frame| frame.captured)
        .collect();
    assert_eq!(times, [at(0), at(40), at(80)]);
    let lengths: Vec<u32> = transport.written.iter().map(Payload::len).collect();
    assert_eq!(lengths[..5], [1200, 1200, 1200, 1200, 200]);
}

fn pause(at: u64, until: u64) -> VideoPause {
    let [at, until] = [at, until].map(Duration::from_millis);
    VideoPause { at, until }
}

#[test]
fn a_pause_captures_nothing_and_ends_with_a_key_frame() {
    let mut source = source(VideoConfig {
        key_frame_interval: Some(Duration::from_millis(200)),
        pauses: vec![pause(100, 310)],
        ..VideoConfig::default()
    });
    let transport = run(&mut source, 600, |_| None);
    let captured = |frame: &VideoFrame| (frame.captured, frame.is_key, frame.pause);
    let frames: Vec<_> = known_frames(&source).iter().map(captured).collect();
    let plain = |millis| (at(millis), false, Duration::ZERO);
    let key = |millis, pause| (at(millis), true, Duration::from_millis(pause));
    // 25 frames per second, every fifth a key frame. The frame of 120 ms is postponed to the end of
    // the pause, and the key frame interval restarts with it.
    let expected = [
        key(0, 0),
        plain(40),
        plain(80),
        key(310, 190),
        plain(350),
        plain(390),
        plain(430),
        plain(470),
        key(510, 0),
        plain(550),
        plain(590),
    ];
    assert_eq!(frames, expected);
    let octets: u32 = known_frames(&source).iter().map(|frame| frame.bytes).sum();
    let written: u32 = transport.written.iter().map(Payload::len).sum();
    assert_eq!(written, octets);
}

#[test]
fn pauses_may_begin_the_stream_follow_each_other_and_fall_between_frames() {
    // Frames of every 40 ms; the pause of 130 ms lies between the first two after the others.
    let pauses = vec![
        pause(0, 60),
        pause(60, 110),
        pause(120, 140),
        pause(200, 5000),
    ];
    let mut source = source(VideoConfig {
        pauses,
        ..VideoConfig::default()
    });
    run(&mut source, 1000, |_| None);
    let frames = known_frames(&source).iter();
    let frames: Vec<_> = frames.map(|frame| (frame.captured, frame.is_key)).collect();
    assert_eq!(
        frames,
        [(at(110), true), (at(150), false), (at(190), false)]
    );
    assert_eq!(known_frames(&source)[0].pause, Duration::from_millis(110));
    // The frame of 230 ms.
    let paused_since = |source: &VideoSource| {
        let timing = source.report(at(0)).video_timing;
        timing.and_then(|timing| timing.paused_since)
    };
    assert_eq!(paused_since(&source), Some(at(230)));
    assert_eq!(source.poll_timeout(), Some(at(5000)));
}

#[test]
fn pauses_are_in_order() {
    for (pauses, is_right) in [
        (vec![pause(0, 10), pause(10, 20)], true),
        (vec![pause(10, 10)], false),
        (vec![pause(20, 10)], false),
        (vec![pause(10, 30), pause(20, 40)], false),
        (vec![pause(30, 40), pause(10, 20)], false),
    ] {
        let config = VideoConfig {
            pauses,
            ..VideoConfig::default()
        };
        assert_eq!(config.check().is_ok(), is_right, "{config:?}");
    }
}

#[test]
fn the_encoder_follows_the_target_with_its_lag() {
    let mut source = source(VideoConfig {
        encoder_lag: Duration::from_millis(200),
        ..VideoConfig::default()
    });
    // 1 Mbit/s until 100 ms, then 2 until 200 ms, then 3.
    run(&mut source, 500, |millis| match millis {
        0..100 => Some(target(1e6, 0)),
        100..200 => Some(target(2e6, 0)),
        _ => Some(target(3e6, 0)),
    });
    let rates = known_frames(&source).iter();
    let rates: Vec<(u64, u32)> = rates
        .map(|frame| {
            (
                frame.captured.as_nanos() / 1_000_000,
                frame.encoder_rate / 1_000_000,
            )
        })
        .collect();
    let change = rates.iter().find(|(_, rate)| *rate > 1);
    assert_eq!(change, Some(&(200, 3)), "{rates:?}");
}

#[test]
fn frames_are_dropped_while_too_much_waits() {
    let backed_up = |millis| {
        let waiting = if (200..400).contains(&millis) {
            20_000
        } else {
            0
        };
        Some(target(1e6, waiting))
    };
    // 20,000 octets take 160 ms at 1 Mbit/s.
    for (drop_above, dropped) in [(None, 0), (Some(150), 5), (Some(170), 0)] {
        let mut source = source(VideoConfig {
            drop_above: drop_above.map(Duration::from_millis),
            ..VideoConfig::default()
        });
        run(&mut source, 600, backed_up);
        let frames = known_frames(&source);
        let empty = frames.iter().filter(|frame| frame.packets == 0);
        assert_eq!(empty.count(), dropped, "{drop_above:?}");
        assert_eq!(frames.len(), 16);
    }
}

#[test]
fn sizes_vary_within_their_bounds() {
    let mut source = source(VideoConfig {
        size_variation: 0.3,
        key_frame_interval: None,
        key_frame_ratio: 1.0,
        ..VideoConfig::default()
    });
    run(&mut source, 20_000, |_| None);
    let sizes: Vec<f64> = known_frames(&source)
        .iter()
        .map(|frame| f64::from(frame.bytes))
        .collect();
    let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
    assert!((4900.0..5100.0).contains(&mean), "{mean}");
    assert!(sizes.iter().all(|size| (3499.0..=6500.0).contains(size)));
    assert!(sizes.iter().any(|size| *size < 3700.0) && sizes.iter().any(|size| *size > 6300.0));
}

#[test]
fn a_frame_is_complete_with_its_last_packet_and_copies_count_once() {
    let mut source = source(VideoConfig::default());
    let transport = run(&mut source, 50, |_| None);
    let first = usize::from(known_frames(&source)[0].packets);
    let mut sink = VideoSink::new();
    let receive = |sink: &mut VideoSink, millis: u64, packets: &[Payload]| {
        let mut transport = Transport {
            connected: true,
            incoming: packets.to_vec(),
            ..Transport::default()
        };
        sink.poll(at(millis), &mut transport);
    };
    // Frame 1 but for its last packet, then frame 0 with a copy in place of its last packet.
    let packets = &transport.written;
    receive(&mut sink, 60, &packets[first..packets.len() - 1]);
    receive(&mut sink, 70, &packets[..first - 1]);
    receive(&mut sink, 80, &packets[..1]);
    assert!(
        known_frames(&sink)
            .iter()
            .all(|frame| frame.completed.is_none())
    );
    receive(&mut sink, 90, &packets[first - 1..first]);
    let damaged = packets[packets.len() - 1].clone().damaged();
    receive(
        &mut sink,
        95,
        &[damaged, Payload::of_len(3), Payload::from_bytes(&[1; 3])],
    );
    let frames = known_frames(&sink);
    assert_eq!(frames[0].completed, Some(at(90)));
    assert_eq!(
        (frames[0].bytes, frames[0].is_key),
        (known_frames(&source)[0].bytes, true)
    );
    assert_eq!(frames[1].completed, None);
    assert_eq!(frames[1].arrived, frames[1].packets - 1);
}

#[test]
fn packets_without_room_are_lost() {
    let mut source = source(VideoConfig::default());
    let mut transport = Transport {
        room: Some(2),
        ..Transport::default()
    };
    source.poll(at(0), &mut transport);
    assert_eq!(transport.written.len(), 2);
    let skipped = source.report(at(0)).statistics.writes_skipped;
    assert_eq!(skipped, u64::from(known_frames(&source)[0].packets) - 2);
}

//! One end of a test over RTP: the endpoint of [`weir_proto::rtp`] with the source or the viewer of
//! a video, on the socket of [`weir_wire::udp_test`].

use std::hash::{BuildHasher as _, RandomState};
use weir_lab::run::{Distribution, VideoSummary};
use weir_net::app::{App, VideoConfig, VideoFrame, VideoSink, VideoSource, VideoTiming};
use weir_proto::cc::nada::NadaConfig;
use weir_proto::endpoint::Endpoint as _;
use weir_proto::event::{Event, EventMask, PacketContent, RateState};
use weir_proto::packet::{Body, Ecn, IpHeader, Packet};
use weir_proto::rng::Rng;
use weir_proto::rtp::{self, EcnCodepoint};
use weir_proto::time::Instant;
use weir_wire::test_protocol::{DataPath, DataPathCounts, FrameStats, ReceptionStats, TestConfig};
use weir_wire::udp_test::Traffic;
use weir_wire::{EventSink, EventStream};

/// The maximum payload of a packet in octets that may be requested; with the headers of RTP and UDP
/// it fits into a datagram.
const MAX_PAYLOAD: u16 = 65_000;
/// The maximum number of stored round-trip time samples: ten a second for more than a day.
const MAX_SAMPLES: usize = 1 << 20;

/// One end of a test.
pub struct Media {
    session: rtp::Session,
    /// The source or the viewer of the video.
    app: Box<dyn App + Send>,
    sends: bool,
    payload_sent: u64,
    reception: ReceptionStats,
    /// The first and the last sequence number received.
    numbers: Option<[u64; 2]>,
    /// The last state of the sender's controller.
    state: Option<RateState>,
    rtts: Vec<f64>,
    sink: Option<EventSink>,
    events: Option<EventStream>,
}

/// The parameters of NADA for a video of at most this rate in bit/s.
pub fn nada(rate_bps: Option<f64>) -> NadaConfig {
    let default = NadaConfig::default();
    let max_rate = rate_bps.map_or(default.max_rate, |rate| rate.round().max(1.0) as u64);
    NadaConfig {
        max_rate,
        min_rate: default.min_rate.min(max_rate),
        ..default
    }
}

impl Media {
    /// The sending or the receiving end; events of its controller in this mask can be taken.
    pub fn new(request: &TestConfig, sends: bool, mask: EventMask, now: Instant) -> Self {
        let payload = u32::from(request.length.min(MAX_PAYLOAD));
        let default = rtp::Config::default();
        let headers = default.mtu - default.max_payload();
        let seed = RandomState::new().hash_one(now.as_nanos());
        let mut constants = default.constants;
        constants.nada = nada(request.rate_bps);
        let mut session = rtp::Session::new(rtp::Config {
            constants,
            ecn: if request.ecn {
                EcnCodepoint::Ect0
            } else {
                EcnCodepoint::Off
            },
            mtu: default.mtu.max(payload + headers),
            seed,
            ..default
        });
        let video = VideoConfig {
            packet: payload,
            ..VideoConfig::default()
        };
        let app: Box<dyn App + Send> = if sends {
            Box::new(VideoSource::new(video, Rng::stream(seed, "video")))
        } else {
            Box::new(VideoSink::new())
        };
        let channel = EventSink::new(mask, now).filter(|_| sends);
        let (sink, events) = channel.unzip();
        if let Some(events) = session.events() {
            events.set_mask(if sends {
                EventMask::CONTROLLER.union(EventMask::RTT).union(mask)
            } else {
                EventMask::PACKET
            });
        }
        Self {
            session,
            app,
            sends,
            payload_sent: 0,
            reception: ReceptionStats::default(),
            numbers: None,
            state: None,
            rtts: Vec::new(),
            sink,
            events,
        }
    }

    /// The controller's events; can be taken once.
    pub const fn take_events(&mut self) -> Option<EventStream> {
        self.events.take()
    }

    /// The counters of the endpoint.
    pub fn statistics(&self) -> weir_proto::endpoint::Statistics {
        self.session.statistics()
    }

    /// The state of the sender's controller; `None` before its first report.
    pub const fn state(&self) -> Option<&RateState> {
        self.state.as_ref()
    }

    /// The round-trip times that the sender has measured, in seconds.
    pub fn rtt(&self) -> Option<Distribution> {
        Distribution::of(self.rtts.iter().copied())
    }

    /// The frames that this end knows; the result is the same at each call.
    fn known_frames(&self) -> &[VideoFrame] {
        self.app.report(Instant::ZERO).frames
    }

    /// The mean of the encoder's rate over the frames that this end knows, in bit/s.
    pub fn encoder_rate(&self) -> Option<f64> {
        let known = self.known_frames().iter();
        let rates = known.filter(|frame| frame.packets > 0);
        let rates = rates.map(|frame| f64::from(frame.encoder_rate));
        Distribution::of(rates).map(|rates| rates.mean)
    }

    /// Runs timers and the application.
    fn advance(&mut self, now: Instant) {
        self.session.handle_timeout(now);
        self.app.poll(now, &mut self.session);
    }

    /// Takes the events of the endpoint; a packet among them was received for the first time if it
    /// is new.
    fn take_all_events(&mut self, is_new: bool) {
        let Some(events) = self.session.events() else {
            return;
        };
        for (at, event) in events.drain() {
            match event {
                Event::Rate(state) => self.state = Some(state),
                Event::Rtt(sample) if self.rtts.len() < MAX_SAMPLES => {
                    self.rtts.push(sample.as_secs_f64());
                }
                Event::Received {
                    number,
                    content: PacketContent::Data,
                    ..
                } if is_new => {
                    let [first, last] = self.numbers.unwrap_or([number; 2]);
                    self.reception.received += 1;
                    self.reception.reordered += u64::from(number < last);
                    let numbers = [first.min(number), last.max(number)];
                    self.reception.expected = (numbers[1] - numbers[0]).saturating_add(1);
                    self.numbers = Some(numbers);
                }
                _ => {}
            }
            if let Some(sink) = &self.sink {
                sink.push(at, event);
            }
        }
    }
}

impl DataPath for Media {
    fn begin(&mut self, _: &TestConfig, now: Instant) {
        if self.sends {
            self.session.connect(now);
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let times = [self.session.poll_timeout(), self.app.poll_timeout()];
        times.into_iter().flatten().min()
    }

    fn counts(&self, _: Instant) -> DataPathCounts {
        let statistics = self.session.statistics();
        let copies = statistics.data_packets_received;
        let smoothed = statistics.smoothed_rtt;
        DataPathCounts {
            sent: statistics.data_packets_sent,
            sent_octets: self.payload_sent,
            received: ReceptionStats {
                octets: statistics.payload_received,
                duplicates: copies.saturating_sub(self.reception.received),
                ..self.reception
            },
            smoothed_rtt: (!smoothed.is_zero()).then_some(smoothed),
            limit: self.state.map_or("none", |state| state.limit.name()),
            ..DataPathCounts::default()
        }
    }

    /// The test always lasts for its duration.
    fn is_done(&self) -> bool {
        false
    }

    /// The reports of RTP contain their own round-trip times.
    fn newest(&self) -> Option<(Instant, u64)> {
        None
    }

    fn frames(&self, now: Instant) -> Option<FrameStats> {
        if self.sends {
            return None;
        }
        let timing = VideoTiming {
            deadline: VideoConfig::default().deadline,
            paused_since: None,
        };
        let frames = aligned(self.known_frames());
        let summary = VideoSummary::of(&frames, [Instant::ZERO, now], timing);
        let delay = summary.frame_delay_s.unwrap_or_default();
        Some(FrameStats {
            frames: summary.frames,
            complete: summary.complete,
            late: summary.late,
            freezes: summary.freezes,
            // Adding 0 turns -0, the sum of no freezes, into 0.
            frozen_s: summary.frozen_s + 0.0,
            delay_s: [delay.p50, delay.p95, delay.p99],
        })
    }
}

impl Traffic for Media {
    fn receive(&mut self, now: Instant, octets: &[u8], ecn: Ecn) {
        let Some(packet) = rtp::Packet::decode(octets) else {
            return;
        };
        let size = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS + octets.len() as u32;
        let mut packet = Packet {
            ip: IpHeader {
                ecn,
                ..IpHeader::default()
            },
            ..Packet::new(size, Body::Rtp(packet))
        };
        let before = self.session.statistics();
        self.session.handle(now, &mut packet);
        let after = self.session.statistics();
        let is_counted = after.data_packets_received > before.data_packets_received;
        self.reception.marked += u64::from(is_counted && ecn == Ecn::Ce);
        self.advance(now);
        // Every packet of a video has a payload.
        self.take_all_events(after.payload_received > before.payload_received);
    }

    fn write(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        self.advance(now);
        let packet = self.session.poll_transmit(now);
        if let Some(packet) = &packet {
            self.session.transmitted(now, packet.id);
            if let Body::Rtp(body) = &packet.body {
                out.extend(body.encode());
                if let rtp::Packet::Media(media) = body {
                    self.payload_sent += u64::from(media.payload.len());
                }
            }
        }
        self.take_all_events(false);
        packet.is_some()
    }
}

/// The frames with their capture times on the receiver's clock. The offset of the two clocks is
/// unknown, so the minimum delay of a frame is taken as zero. A frame without received packets gets
/// the time of the one before it.
fn aligned(frames: &[VideoFrame]) -> Vec<VideoFrame> {
    let difference = |frame: &VideoFrame| {
        let [captured, completed] = [frame.captured, frame.completed?].map(Instant::as_nanos);
        Some(i128::from(completed) - i128::from(captured))
    };
    let least = frames.iter().filter_map(difference).min().unwrap_or(0);
    let mut last = Instant::ZERO;
    let frames = frames.iter().map(|frame| {
        if frame.packets > 0 {
            let captured = i128::from(frame.captured.as_nanos()) + least;
            last = Instant::from_nanos(u64::try_from(captured).unwrap_or(0));
        }
        VideoFrame {
            captured: last,
            ..*frame
        }
    });
    frames.collect()
}

#[cfg(test)]
#[path = "media_tests.rs"]
mod tests;

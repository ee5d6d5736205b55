//! Tests over RTP: a video that follows the target rate of NADA (RFC 8698) with the feedback of RFC
//! 8888, using the state machines of the simulator. Packets pass the sockets of
//! [`weir_wire::udp_test`], whose control messages open the test, keep it alive and exchange the
//! counts at its end; the receiver's last report includes its statistics of frames.

mod media;

use super::report::{Delivery, scaled};
use super::udp::{Content, losses, packet_fields};
use media::Media;
use serde_json::{Value, json};
use std::any::Any;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use weir_lab::run::MeasuredTransport;
use weir_wire::test_protocol::{FrameStats, TestStats};
use weir_wire::udp_test::{SharedTraffic, Test};

/// A video over RTP.
pub const VIDEO: Content = Content {
    name: "RTP",
    warning: None,
    // The payload of a packet, as in the simulator's video.
    length: 1200,
    rate_bps: |asked| media::nada(asked).max_rate as f64,
    settings: |request| {
        json!({
            "controller": "nada",
            "max_bits_per_second": request.rate_bps,
            "length": request.length,
        })
    },
    traffic: |mask| {
        Some(Arc::new(move |request, sends, now| -> SharedTraffic {
            Arc::new(Mutex::new(Media::new(request, sends, mask, now)))
        }))
    },
    transport: |request| {
        let nada = media::nada(request.rate_bps);
        MeasuredTransport::Rtp {
            rates: [nada.min_rate, nada.max_rate],
            ecn: request.ecn,
        }
    },
    events: |test| look(test, Media::take_events).flatten(),
    read: |test, [before, now]| {
        let media = look(test, |media| MediaFields::of(media)).unwrap_or_default();
        (
            delivery(now),
            details(before, now, &media),
            fields(now, &media),
        )
    },
    count: |test, flow| {
        if let Some(statistics) = look(test, |media| media.statistics()) {
            // The receiver's count of losses is final, the sender's is that of the last feedback.
            let lost = flow.statistics.packets_lost;
            flow.statistics = statistics;
            flow.statistics.packets_lost = lost;
        }
    },
};

/// Reads the state of a test's media; `None` if the test has none.
fn look<T>(test: &Test, read: impl FnOnce(&mut Media) -> T) -> Option<T> {
    let mut media = test
        .traffic()?
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let media: &mut dyn Any = &mut *media;
    media.downcast_mut::<Media>().map(read)
}

/// The statistics of an end's media in addition to the counters of the test.
#[derive(Default)]
struct MediaFields {
    encoder_rate: Option<f64>,
    target_rate: Option<f64>,
    rtt: Value,
}

impl MediaFields {
    fn of(media: &Media) -> Self {
        let target = media.state().and_then(|state| state.media);
        Self {
            encoder_rate: media.encoder_rate(),
            target_rate: target.map(|media| media.target_rate.as_bps()),
            rtt: media.rtt().map_or(Value::Null, |rtt| {
                json!({
                    "min": rtt.min,
                    "p50": rtt.p50,
                    "p95": rtt.p95,
                    "p99": rtt.p99,
                    "max": rtt.max,
                })
            }),
        }
    }
}

/// The counts of both ends. Packets differ in length, so a receiver with losses does not know how
/// many octets were sent.
fn delivery(stats: &TestStats) -> Delivery {
    let received = &stats.received;
    let all = (stats.complete && received.lost() == 0).then_some(received.octets);
    Delivery {
        sent: if stats.sends {
            Some(stats.sent_octets)
        } else {
            all
        },
        received: Some(received.octets),
        complete: stats.complete,
    }
}

/// The text of a line about the time between two states.
fn details(before: &TestStats, now: &TestStats, media: &MediaFields) -> String {
    let mut details = String::new();
    // Writing to a string cannot fail.
    if let Some(target) = media.target_rate.filter(|_| now.sends) {
        let rtt = scaled(now.smoothed_rtt_s.unwrap_or_default(), "s");
        let target = scaled(target, "bit/s");
        let _ = write!(details, "  target {target}  rtt {rtt}  {}", now.limit);
    }
    let _ = write!(details, "  {}", losses(before, now));
    if let Some(frames) = now.frames {
        let [median, p95, _] = frames.delay_s.map(|delay| scaled(delay, "s"));
        let _ = write!(
            details,
            "  frames {}, late {}, incomplete {}, frozen {}; delay {} and {} (95 %)",
            frames.frames,
            frames.late,
            frames.frames.saturating_sub(frames.complete),
            scaled(frames.frozen_s, "s").trim(),
            median.trim(),
            p95.trim(),
        );
    }
    details
}

fn fields(stats: &TestStats, media: &MediaFields) -> Value {
    let mut fields = packet_fields(stats);
    fields["encoder_bits_per_second"] = json!(media.encoder_rate);
    fields["target_bits_per_second"] = json!(media.target_rate);
    fields["rtt_s"] = media.rtt.clone();
    fields["video"] = json!(stats.frames.as_ref().map(video));
    fields
}

fn video(frames: &FrameStats) -> Value {
    let [median, p95, p99] = frames.delay_s;
    json!({
        "frames": frames.frames,
        "complete": frames.complete,
        "incomplete": frames.frames.saturating_sub(frames.complete),
        "late": frames.late,
        "freezes": frames.freezes,
        "frozen_s": frames.frozen_s,
        "frame_delay_s": { "p50": median, "p95": p95, "p99": p99 },
    })
}

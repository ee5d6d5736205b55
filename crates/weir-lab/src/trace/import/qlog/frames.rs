//! The frames of a packet: what they acknowledge, and which octets they carry.

use super::fields::{first, member, number, whole};
use super::record::{AckFrame, Frames, SPACES, Space, StreamOctets};
use serde_json::{Map, Value};

/// The frames of a list; `None` if it is no list.
pub(super) fn frames_of(list: &Value, space: Space) -> Option<Frames> {
    let mut frames = Frames::default();
    let (mut acks, mut streams) = (Vec::new(), Vec::new());
    for frame in list.as_array()? {
        let Some(members) = frame.as_object() else {
            continue;
        };
        match frame_type(frame).as_str() {
            "padding" => frames.padding = true,
            "connection_close" | "connection_close_app" => {}
            // mvfst has acknowledgements with times of receipt under names of their own.
            "ack"
            | "ack_ecn"
            | "ack_mp"
            | "path_ack"
            | "path_ack_ecn"
            | "ack_receive_timestamps"
            | "ack_extended" => acks.push(ack(members, space)),
            kind => {
                frames.ack_eliciting = true;
                match kind {
                    "stream" => streams.extend(stream(members)),
                    "datagram" => {
                        let octets = payload(members).unwrap_or_default();
                        frames.datagram_octets = frames.datagram_octets.saturating_add(octets);
                    }
                    "data_blocked" | "stream_data_blocked" => frames.blocked = true,
                    "max_data" | "max_stream_data" => frames.credit = true,
                    _ => {}
                }
            }
        }
    }
    (frames.acks, frames.streams) = (acks.into(), streams.into());
    Some(frames)
}

/// An ACK frame. A range is a pair, or a single number in a list or by itself.
fn ack(frame: &Map<String, Value>, space: Space) -> AckFrame {
    let listed = frame.get("acked_ranges").and_then(Value::as_array);
    let listed = listed.map(Vec::as_slice).unwrap_or_default();
    let range = |range: &Value| match range {
        Value::Array(ends) => match ends.as_slice() {
            [only] => whole(only).map(|number| (number, number)),
            [first, last, ..] => Some((whole(first)?, whole(last)?)),
            [] => None,
        },
        Value::Object(ends) => Some((
            first(ends, &["start", "first", "smallest"]).and_then(whole)?,
            first(ends, &["end", "last", "largest"]).and_then(whole)?,
        )),
        number => whole(number).map(|number| (number, number)),
    };
    let ranges = listed.iter().filter_map(range);
    let ranges = ranges.map(|(first, last)| (first.min(last), first.max(last)));
    // An acknowledgement of multipath names the path of the packets, not its own.
    let path = frame
        .get("path_id")
        .and_then(whole)
        .filter(|path| *path < 1000);
    let space = path.map_or(space, |path| SPACES * path + space % SPACES);
    AckFrame {
        space,
        ranges: ranges.collect(),
        delay: frame.get("ack_delay").and_then(number),
    }
}

fn stream(frame: &Map<String, Value>) -> Option<StreamOctets> {
    let id = first(frame, &["stream_id", "id"]).and_then(whole)?;
    Some(StreamOctets {
        stream: id,
        offset: frame.get("offset").and_then(whole).unwrap_or_default(),
        length: payload(frame).unwrap_or_default(),
    })
}

/// Octets of the payload: `raw.payload_length`, else `length`, else `raw.length`, which the drafts
/// let include the frame's header but the writers do not.
fn payload(frame: &Map<String, Value>) -> Option<u64> {
    let raw = |name| frame.get("raw").and_then(|raw| member(raw, name));
    let length = raw("payload_length").or_else(|| frame.get("length"));
    let length = length.filter(|length| !length.is_null());
    length.or_else(|| raw("length")).and_then(whole)
}

/// The member `frame_type` of a frame, in lower case.
fn frame_type(frame: &Value) -> String {
    let name = member(frame, "frame_type").and_then(Value::as_str);
    name.unwrap_or_default().to_ascii_lowercase()
}

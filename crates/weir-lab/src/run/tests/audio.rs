//! Audio from a scenario over each transport.

use crate::fixture::{run_text, stream_over, traced};
use crate::run::*;

fn hears(transport: &str, audio: &str, link: &str) -> AudioSummary {
    let link = format!("delay = \"20ms\"\nforward = {{ {link} }}");
    let flow = format!("transport = {{ {transport} }}\napp = {{ kind = \"audio\", {audio} }}");
    let output = run_text(&stream_over("duration = \"60s\"", &link, &flow), &traced());
    let audio = output.summary.flows["stream"].audio.expect("a listener");
    let gaps = output.flows[0].gaps.as_ref().expect("gaps are kept");
    assert_eq!(gaps.rows() as u64, audio.gaps);
    audio
}

const UDP: &str = r#"kind = "udp""#;
const FEC: &str = r#"format = "mp3", fec_data = 10, fec_packets = 30"#;
const LOSSY: &str = r#"rate = "10Mbit", loss = { kind = "random", rate = 0.05 }"#;

#[test]
fn a_clean_link_has_no_gap() {
    for transport in [
        UDP,
        r#"kind = "tcp""#,
        r#"kind = "quic""#,
        r#"kind = "dccp""#,
    ] {
        for format in ["mp3", "ogg"] {
            let audio = hears(
                transport,
                &format!(r#"format = "{format}""#),
                r#"rate = "10Mbit""#,
            );
            assert_eq!(
                (audio.gaps, audio.on_time),
                (0, audio.units),
                "{transport} {audio:?}"
            );
            let seconds = audio.units as f64 * if format == "mp3" { 0.026_125 } else { 0.256 };
            assert!((57.0..60.1).contains(&seconds), "{transport} {seconds}");
        }
    }
}

#[test]
fn correction_hides_five_per_cent_of_loss_that_is_heard_without() {
    let plain = hears(UDP, r#"format = "mp3""#, LOSSY);
    let share = plain.lost as f64 / plain.units as f64;
    assert!((0.04..0.06).contains(&share), "{plain:?}");
    let seconds = plain.lost as f64 * 0.026_125;
    assert!((plain.silence_s - seconds).abs() < 0.05, "{plain:?}");
    let corrected = hears(UDP, FEC, LOSSY);
    assert_eq!((corrected.gaps, corrected.lost), (0, 0));
    assert!(corrected.repaired > 50, "{corrected:?}");
}

#[test]
fn a_stream_over_a_link_too_slow_for_it_is_late_in_proportion() {
    // 100 of 128 kbit/s arrive: after the playout buffer of 1 s the delay of the music keeps
    // growing.
    let audio = hears(
        r#"kind = "tcp""#,
        r#"format = "mp3""#,
        r#"rate = "100kbit""#,
    );
    assert!(audio.late > 0 && audio.silence_s > 30.0, "{audio:?}");
}

#[test]
fn damaged_music_is_played_under_partial_coverage_and_lost_under_full() {
    let link = r#"rate = "10Mbit", netem = { corrupt = 0.1 }"#;
    let plain = r#"format = "mp3""#;
    let partial = hears(r#"kind = "dccp", checksum_coverage = 1"#, plain, link);
    assert!(partial.corrupted > 100, "{partial:?}");
    let full = hears(r#"kind = "dccp""#, plain, link);
    assert_eq!(full.corrupted, 0);
    assert!(full.lost > partial.lost + 100, "{full:?} {partial:?}");
}

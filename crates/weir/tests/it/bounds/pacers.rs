//! The bound on a pacing sender is the one that limited the rate or window from which its pacer is
//! derived.

use super::{BULK, CCID_2, Plant, WINDOWS, check};

/// Controllers that pace: BBR, whose rate is derived from delivery rate samples, and others, whose
/// rate is derived from a window.
const PACED: [&str; 5] = [
    r#"controller = "bbr""#,
    r#"controller = "copa""#,
    r#"controller = "prague""#,
    r#"controller = "cubic", overrides = { pacing = "linux" }"#,
    r#"controller = "cubic", overrides = { pacing = "rfc9002" }"#,
];

/// A bound, and settings that cause it: PART is less than the path can carry, MUCH is more.
const HELD: [(&str, &str); 6] = [
    (
        "receiver_credit",
        r#"kind = "tcp", receive_buffer = PART, send_buffer = MUCH"#,
    ),
    (
        "receiver_credit",
        r#"kind = "quic", initial_max_data = PART, initial_max_stream_data = MUCH"#,
    ),
    (
        "receiver_credit",
        r#"kind = "quic", initial_max_stream_data = PART, initial_max_data = MUCH"#,
    ),
    (
        "receiver_credit",
        r#"kind = "quinn", stream_window = PART, send_window = MUCH"#,
    ),
    (
        "send_buffer",
        r#"kind = "tcp", send_buffer = PART, receive_buffer = MUCH"#,
    ),
    (
        "send_buffer",
        r#"kind = "quinn", send_window = PART, stream_window = MUCH"#,
    ),
];

/// The transports in which this controller paces: CCID 2 has no rule `pacing`.
fn paced_by<const N: usize>(
    controller: &str,
    transports: [&'static str; N],
) -> impl Iterator<Item = &'static str> {
    let by_rule = controller.contains("overrides");
    let mut transports = transports.into_iter();
    std::iter::from_fn(move || transports.find(|words| !by_rule || *words != CCID_2))
}

/// Bounds on a pacing sender other than its pacer and its window: credit, buffer or application
/// allow only a part of what the path can carry, on paths of three lengths.
fn planted_behind_pacers() -> Vec<Plant<'static>> {
    // Bandwidth-delay products of 0.5, 1 and 3 MB.
    let paths = [
        (
            r#"rate = "100Mbit", delay = "20ms", queue = { kind = "droptail", limit = "500kB" }"#,
            500,
        ),
        (
            r#"rate = "40Mbit", delay = "100ms", queue = { kind = "droptail", limit = "1MB" }"#,
            1000,
        ),
        (
            r#"rate = "40Mbit", delay = "300ms", queue = { kind = "droptail", limit = "3MB" }"#,
            3000,
        ),
    ];
    let run = r#"duration = "40s", warmup = "15s""#;
    let frames = r#"kind = "on_off", packet = 1000, rate = "20Mbit", on = "20ms", off = "80ms", lengths = "constant""#;
    let mut planted = Vec::new();
    for controller in PACED {
        for (n, (path, kilobytes)) in paths.into_iter().enumerate() {
            let (part, much) = ([100, 330, 600][n] * kilobytes, 8000 * kilobytes);
            for (bound, words) in HELD {
                let words = words.replace("PART", &part.to_string());
                let words = words.replace("MUCH", &much.to_string());
                let transport = format!("{words}, {controller}");
                planted.push(Plant {
                    run,
                    ..Plant::new(bound, &transport, BULK, path)
                });
            }
        }
        for transport in paced_by(controller, WINDOWS) {
            let transport = format!("{transport}, {controller}");
            planted.push(Plant {
                run,
                ..Plant::new("application", &transport, frames, paths[1].0)
            });
        }
    }
    planted
}

#[test]
fn a_pacer_that_learnt_its_rate_under_another_bound_is_not_the_bound() {
    check(planted_behind_pacers());
}

#[test]
fn a_pacer_that_learnt_the_rate_of_the_path_is_a_bound() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = r#"rate = "40Mbit", delay = "50ms", queue = { kind = "droptail", limit = "500kB" }"#;
    for controller in PACED {
        let transports = [
            r#"kind = "tcp", receive_buffer = 8000000, send_buffer = 8000000"#,
            r#"kind = "quic", initial_max_data = 8000000, initial_max_stream_data = 8000000"#,
            r#"kind = "quinn", stream_window = 8000000, send_window = 8000000"#,
            CCID_2,
        ];
        for transport in paced_by(controller, transports) {
            let transport = format!("{transport}, {controller}");
            let plant = Plant {
                run: r#"duration = "30s", warmup = "10s""#,
                ..Plant::new("pacer", &transport, BULK, path)
            };
            let (_, flow) = plant.run(folder.path());
            let shares = &flow["bound_share"];
            let of = |bound: &str| shares[bound].as_f64().unwrap_or(0.0);
            assert!(of("pacer") + of("window") >= 0.95, "{transport}: {shares}");
        }
    }
}

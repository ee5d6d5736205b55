//! `weir bloat` against a server on this machine.

use crate::common::{json, run, serve, weir};

#[test]
fn an_idle_and_a_loaded_path_have_round_trips_and_one_grade() {
    let (_server, port) = serve(&["--transport", "quic"]);
    let words = ["bloat", "127.0.0.1", "--port", &port, "-t", "1", "-P", "1"];
    let document = json(&run(&mut weir(&[&words[..], &["--json"]].concat())));
    for phase in ["idle", "download", "upload"] {
        let phase = &document[phase];
        assert!(phase["samples"].as_u64() > Some(0), "{document:#}");
        assert!(phase["rtt_p50_s"].as_f64() > Some(0.0), "{document:#}");
        assert!(phase["rtt_p95_s"].as_f64() >= phase["rtt_p50_s"].as_f64());
    }
    assert_eq!(document["idle"]["bits_per_second"], 0.0);
    for loaded in ["download", "upload"] {
        let rate = document[loaded]["bits_per_second"].as_f64();
        assert!(rate > Some(1e6), "{document:#}");
    }
    let schema = json(&run(&mut weir(&["schema", "bloat"])));
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(validator.is_valid(&document), "{document:#}");
    for key in ["version", "grade", "idle"] {
        let mut damaged = document.clone();
        let fields = damaged.as_object_mut().expect("an object");
        assert!(fields.remove(key).is_some(), "{key}");
        assert!(!validator.is_valid(&damaged), "without {key}");
    }
    let grades = ["A+", "A", "B", "C", "D", "F"];
    assert!(grades.iter().any(|grade| document["grade"] == *grade));
    let (status, text, err) = run(&mut weir(&words));
    assert_eq!(status, Some(0), "{err}");
    assert!(
        text.lines()
            .last()
            .is_some_and(|line| line.starts_with("grade ")),
        "{text}"
    );
}

#[test]
fn without_a_server_it_says_what_is_missing() {
    // Port 9 discards, if anything listens at all.
    let (status, _, err) = run(&mut weir(&["bloat", "127.0.0.1", "--port", "9", "-t", "1"]));
    assert_eq!(status, Some(1), "{err}");
    assert!(err.contains("connection refused"), "{err}");
}

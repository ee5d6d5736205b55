//! `weir fit`: from the folder of a run and from its capture to a scenario that runs.

use crate::common::{folder_with, json, only_run, outcome};

/// A queue of 100 packets at 10 Mbit/s.
const PATH: &str = r#"
[run]
duration = "10s"

[[link]]
name = "bottleneck"
between = ["server", "client"]
rate = "10Mbit"
delay = "20ms"
queue = { kind = "droptail", limit = 100 }

[[flow]]
name = "file"
from = "server"
to = "client"
transport = { kind = "tcp", controller = "cubic" }
"#;

#[test]
fn a_capture_and_a_run_become_scenarios_that_run_with_another_controller() {
    let folder = folder_with(PATH);
    let path = folder.path();
    outcome(path, &["run", "path.toml"]);
    let run = only_run(path);
    let export = [
        "export", &run, "--format", "pcapng", "--host", "server", "--out", "x.pcapng",
    ];
    outcome(path, &export);
    for (trace, flow) in [(run.as_str(), "file"), ("x.pcapng", "tcp-1")] {
        let out = format!("{flow}.toml");
        let document = json(&outcome(path, &["fit", trace, "--out", &out, "--json"]));
        assert_eq!(document["flow"], flow);
        for share in document["relative"].as_array().unwrap() {
            assert!(share.as_f64().unwrap().abs() < 0.1, "{document:#}");
        }
        let text = std::fs::read_to_string(path.join(&out)).unwrap();
        assert!(text.contains("# link.path.forward.rate = "), "{text}");
        let set = format!("flow.{flow}.transport.controller=bbr");
        let (status, _, stderr) = outcome(path, &["run", &out, "--set", &set, "--out", "other"]);
        assert_eq!(status, Some(0), "{stderr}");
    }
    // A file that `weir fit` wrote is replaced, another scenario is not.
    let again = outcome(path, &["fit", "x.pcapng", "--out", "tcp-1.toml"]);
    assert_eq!(again.0, Some(0), "{}", again.2);
    assert!(again.1.contains("95th percentile in ms"), "{}", again.1);
    let refused = outcome(path, &["fit", "x.pcapng"]);
    assert_eq!(refused.0, Some(2), "{}", refused.2);
    assert!(refused.2.contains("--out FILE"), "{}", refused.2);
    assert_eq!(
        std::fs::read_to_string(path.join("path.toml")).unwrap(),
        PATH
    );
}

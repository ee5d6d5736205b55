//! TFRC's rate at a fixed loss event rate and round-trip time is that of its equation.

use crate::fixture::{run_text, stream_over};
use crate::run::*;
use crate::theory::{evaluate, format_value};

/// Payload rate in bit/s, with one loss after every `every` packets.
fn sent_bps(profile: &str, every: u32) -> f64 {
    let rate = 1.0 / f64::from(every);
    let flow = format!(
        r#"transport = {{ kind = "dccp", ccid = 3, profile = "{profile}" }}
app = {{ kind = "bulk", packet = 1400 }}
loss = {{ kind = "periodic", rate = {rate:?} }}"#
    );
    let text = stream_over(
        "duration = \"1000s\"\nwarmup = \"200s\"",
        "rate = \"10Gbit\"\ndelay = \"50ms\"",
        &flow,
    );
    let output = run_text(&text, &RunOptions::default());
    let flow = &output.summary.flows["stream"];
    flow.goodput_bps * f64::from(every + 1) / f64::from(every)
}

fn law(line: &str, p: f64) -> f64 {
    let p = p.to_string();
    let arguments = [("s", "1400"), ("rtt", "100ms"), ("p", p.as_str())];
    let lines = evaluate("tfrc", &arguments).unwrap();
    lines.iter().find(|found| found.name == line).unwrap().value
}

#[test]
fn the_rate_agrees_with_the_equation_within_five_per_cent() {
    for (profile, line) in [
        ("rfc5348", "equation_rate_bps"),
        ("rfc3448", "equation_rate_bps"),
        ("linux-2008", "kernel_rate_bps"),
        ("linux-mainline", "kernel_rate_bps"),
    ] {
        for every in [999, 499, 199, 99, 49, 19, 9] {
            let p = 1.0 / f64::from(every + 1);
            let (sent, expected) = (sent_bps(profile, every), law(line, p));
            let deviation = sent / expected - 1.0;
            println!(
                "{profile} p = {:.2} %: {} against {}, {:+.2} %",
                p * 100.0,
                format_value(sent, "bit/s"),
                format_value(expected, "bit/s"),
                deviation * 100.0
            );
            assert!(deviation.abs() < 0.05, "{profile} {p}: {sent} {expected}");
        }
    }
}

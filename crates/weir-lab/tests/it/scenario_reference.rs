//! `docs/scenario.md` is generated from the declarations. `WEIR_BLESS=1` rewrites it.

use std::fs;
use std::path::Path;
use weir_lab::scenario::reference;

#[test]
fn the_reference_is_that_of_the_declarations() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario.md");
    let reference = reference();
    if std::env::var_os("WEIR_BLESS").is_some() {
        fs::write(&path, &reference).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == reference,
        "docs/scenario.md is not that of the declarations: run this test with WEIR_BLESS=1"
    );
}

#[test]
fn every_link_leads_to_a_heading() {
    let reference = reference();
    let anchor = |heading: &str| {
        let kept = |c: &char| c.is_alphanumeric() || " _-".contains(*c);
        let kept: String = heading.chars().filter(kept).collect();
        kept.to_lowercase().replace(' ', "-")
    };
    let headings = reference
        .lines()
        .filter_map(|line| line.strip_prefix("## "));
    let anchors: Vec<String> = headings.map(anchor).collect();
    for (at, anchor) in anchors.iter().enumerate() {
        assert!(!anchors[..at].contains(anchor), "two headings #{anchor}");
    }
    for link in reference.split("](#").skip(1) {
        let link = link.split(')').next().unwrap_or_default();
        assert!(
            anchors.iter().any(|anchor| anchor == link),
            "no heading #{link}"
        );
    }
}

#[test]
fn the_rules_of_controllers_and_transports_come_last() {
    let reference = reference();
    let place = |heading: &str| {
        let found = reference.find(&format!("\n## {heading}\n"));
        found.unwrap_or_else(|| panic!("there is no {heading}"))
    };
    let rules = place("All rules of transports and controllers");
    for everyday in [
        "[run]",
        "flow.transport = dccp",
        "flow.app = video",
        "flow.arrivals",
    ] {
        assert!(place(everyday) < rules, "{everyday}");
    }
    for rule in ["cubic", "bbr", "copa", "tfrc", "tfrc.wireless"] {
        assert!(
            place(&format!("flow.transport = dccp.{rule}")) > rules,
            "{rule}"
        );
    }
    let nada = "quic.media = datagrams.nada";
    for rule in ["quic.overrides", "quic.header", nada, "tcp.overrides"] {
        assert!(place(&format!("flow.transport = {rule}")) > rules, "{rule}");
    }
}

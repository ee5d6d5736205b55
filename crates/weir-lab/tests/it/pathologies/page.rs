//! Writes `docs/pathologies.md` (`WEIR_BLESS=1`): the definitions of the code, and how well the
//! detectors do on labelled scenarios.

use super::sample::Sample;
use super::score::{Count, FRESH, half_found, planted_score, unhealthy};
use std::fmt::Write as _;
use std::path::Path;
use weir_lab::diagnosis::pathologies;

const PAGE: &str = "../../docs/pathologies.md";
/// The folder of the pictures, from the page's.
const PICTURES: &str = "pictures/pathologies";

/// Cases of each kind, healthy cases and cases of two kinds.
const ROUNDS: u64 = 6;
const HEALTHY: u64 = 200;
const TWO: u64 = 50;

/// The definitions of all kinds, each with a picture of a planted one and the remedies that are
/// offered for it.
fn definitions() -> String {
    let mut text = String::from(
        "# Pathologies\n\nWhat `weir explain` looks for. base is the round-trip time without queues: \
         propagation and the\ntransmission of a packet where the scenario gives the path, else the smallest \
         sample. Times are\nweighted by how long a row of the trace holds. The test `pathologies::page` \
         writes this page from the\ncode (`WEIR_BLESS=1`).\n",
    );
    for pathology in pathologies() {
        let needs = match pathology.needs {
            [] => String::new(),
            needs => format!(" Needs {}.", needs.join(", ")),
        };
        let _ = write!(
            text,
            "\n## {}\n`{}`. {}{needs}\n\n*{}*\n",
            pathology.title, pathology.kind, pathology.definition, pathology.citation
        );
        let Some(sample) = Sample::of(pathology.kind) else {
            continue;
        };
        let file = format!("{PICTURES}/{}.svg", pathology.kind);
        if std::env::var_os("WEIR_BLESS").is_some() {
            let path = Path::new(PAGE).with_file_name(&file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, &sample.svg).expect("a picture");
        }
        let _ = writeln!(text, "\n![{}]({file})", pathology.title);
        if !sample.remedies.is_empty() {
            let _ = writeln!(text, "\nRemedies: {}.", sample.remedies.join("; "));
        }
    }
    text.push_str(METHOD);
    text
}

/// What the counts say and what they do not.
const METHOD: &str = "
# How well they are found

Labelled scenarios are generated from a kind and a seed, run and explained. Generators and detectors
were written from the same definitions. The counts guard the detectors against changes; they are no
independent proof that a definition describes what goes wrong in a network.

The thresholds were fixed on the seeds 1 to 8 and 1001 to 1006. The seeds below were not used for
that.

- *found*: the planted kind is among the findings.
- *first*: it stands before all other findings except those that the generator allows. A generator
  allows the kinds that its scenario implies or may imply, such as `underused_link` beside
  `random_loss`. An allowed kind is not counted, whether it stands before or after the planted one.
- *strictly first*: it is the first finding, and no kind is left out.
- A healthy scenario counts as having a finding if one is not allowed. Allowed are
  `application_limited` and `pacer_limited` where the application is meant to write less than the
  path carries, and `slow_start_overshoot` beside BBR and TFRC.

Not judged here: `anti_amplification_limited`, because the sender of a run is the side that connects,
and the limit holds a server; and what only imported traces have the tables for or what no run plants:
`closed_window`, `unread_data`, `out_of_order_buffer`, `black_hole`, `pmtu_black_hole`, `long_path`,
`slow_server`, `client_think_time`, `not_congestion_limited` and `heavy_retransmission`. Traces made by
hand hold these (`explained_traces`, `tcp_capture/tests/stalls`), and captures of the scenarios
(`pathologies::captured`).
";

#[test]
fn the_page_has_the_definitions_of_the_code() {
    let definitions = definitions();
    if std::env::var_os("WEIR_BLESS").is_some() {
        std::fs::write(PAGE, definitions.clone() + &judgement(FRESH)).expect("a page");
    }
    let page = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        page.starts_with(&definitions),
        "docs/pathologies.md is not that of the code: run this test with WEIR_BLESS=1"
    );
}

/// Prints the judgement on the seeds from `WEIR_JUDGE` on, if that is set.
#[test]
fn other_seeds_are_judged_where_the_environment_says() {
    if let Ok(from) = std::env::var("WEIR_JUDGE") {
        println!("{}", judgement(from.parse().expect("a seed")));
    }
}

fn of_all(count: usize, all: usize) -> String {
    format!("{count} ({:.1} %)", 100.0 * count as f64 / all as f64)
}

/// The tables of the judgement on seeds from `from` on.
fn judgement(from: u64) -> String {
    let score = planted_score(from, ROUNDS, None);
    let unhealthy = unhealthy(from, HEALTHY);
    let half = half_found(from, TWO);
    let Count {
        cases,
        found,
        first,
        strictly_first,
    } = score.all;
    let mut text = format!(
        "\nOf {cases} scenarios with one planted pathology, on seeds from {from} on, {} were found, {} \
         first\nand {} strictly first. Of {HEALTHY} healthy scenarios {} had a finding. Of {TWO} scenarios \
         with two\npathologies both were named in {}.\n",
        of_all(found, cases),
        of_all(first, cases),
        of_all(strictly_first, cases),
        unhealthy.len(),
        TWO as usize - half.len()
    );
    text.push_str(
        "\n| planted | cases | found | first | strictly first |\n|---|---|---|---|---|\n",
    );
    for (kind, count) in &score.by_kind {
        let _ = writeln!(
            text,
            "| `{kind}` | {} | {} | {} | {} |",
            count.cases, count.found, count.first, count.strictly_first
        );
    }
    text.push_str("\n| planted | found first in its place | cases |\n|---|---|---|\n");
    for ((planted, first), cases) in &score.confused {
        let _ = writeln!(text, "| `{planted}` | `{first}` | {cases} |");
    }
    for (title, cases) in [("healthy", unhealthy), ("two: not found", half)] {
        for (name, kind) in cases {
            let _ = writeln!(text, "| {title}: {name} | `{kind}` | 1 |");
        }
    }
    text
}

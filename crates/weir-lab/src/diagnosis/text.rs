//! An explanation as text for a terminal.

use super::{Change, Evidence, Explanation, Finding, Trial};
use crate::scenario::Override;
use std::fmt::Write as _;

/// The width of the bar of what held a sender.
const BAR: usize = 40;

/// The explanation on one screen: what held each sender, what went wrong with its proof, what
/// should help, and what is unknown.
pub fn explanation_text(explanation: &Explanation) -> String {
    let mut text = String::new();
    held(explanation, &mut text);
    if explanation.findings.is_empty() {
        text.push_str("\nNothing that is known as a pathology was found.\n");
    }
    for (number, finding) in explanation.findings.iter().enumerate() {
        write_finding(number + 1, finding, &mut text);
    }
    for unknown in &explanation.unknown {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\nunknown for {}, because column {} is missing: {}",
            unknown.flows.join(", "),
            unknown.column,
            unknown.kinds.join(", ")
        );
    }
    text
}

/// The number of flows of which the bar is shown.
const FLOWS: usize = 8;

fn held(explanation: &Explanation, text: &mut String) {
    text.push_str("What held each sender, by share of its time:\n");
    let width = explanation.held.iter().take(FLOWS);
    let width = width
        .map(|held| held.flow.chars().count())
        .max()
        .unwrap_or(0);
    for held in explanation.held.iter().take(FLOWS) {
        let _ = write!(text, "  {:width$} ", held.flow);
        let mut line = String::new();
        for share in &held.shares {
            let cells = (share.share.value * BAR as f64).round() as usize;
            let letter = share.bound.chars().next().unwrap_or(' ');
            line.extend(std::iter::repeat_n(letter, cells));
        }
        if held.shares.is_empty() {
            text.push_str("the trace does not say\n");
            continue;
        }
        let _ = write!(text, "[{line:BAR$}]");
        for share in held.shares.iter().take(3) {
            let _ = write!(text, " {} {}", share.bound, share.share.shown());
            if let Some((rule, of)) = &share.rule {
                let _ = write!(text, " (rule {rule} {})", of.shown());
            }
        }
        text.push('\n');
    }
    if explanation.held.len() > FLOWS {
        let _ = writeln!(
            text,
            "  … and {} flows more",
            explanation.held.len() - FLOWS
        );
    }
}

fn write_finding(number: usize, finding: &Finding, text: &mut String) {
    let Finding {
        title,
        subject,
        kind,
        span_s: [from, to],
        ..
    } = finding;
    let more = match finding.also.len() {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    let _ = writeln!(
        text,
        "\n{number}. {subject}{more}: {title} [{kind}], {from:.3} to {to:.3} s"
    );
    let _ = writeln!(text, "   {}", finding.symptom.text);
    for statement in &finding.chain {
        let _ = writeln!(text, "   {}", statement.text);
    }
    if let Some(cause) = finding.caused_by {
        let _ = writeln!(text, "   It follows from {cause}.");
    }
    for evidence in finding
        .symptom
        .evidence
        .iter()
        .filter(|one| one.rows.is_some())
    {
        let [first, last] = evidence.rows.unwrap_or_default();
        let _ = writeln!(
            text,
            "   proof: {} {} rows {first} to {last}: {}",
            evidence.table,
            evidence.column,
            evidence.shown()
        );
    }
    for remedy in &finding.remedies {
        let _ = writeln!(text, "   try: {}{}", remedy.text, remedy.options(" (", ")"));
    }
    let _ = writeln!(text, "   source: {}", finding.citation);
}

/// What the remedies did, as text for a terminal.
pub fn trials_text(trials: &[Trial]) -> String {
    let mut text = String::from("\nRemedies, tried with the same seeds:\n");
    if trials.is_empty() {
        text.push_str("  No finding has a remedy that a setting of the scenario expresses.\n");
    }
    for trial in trials {
        let set = trial.remedy.set.iter().map(Override::text);
        let set = set.collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "  {}: {} ({set})", trial.kind, trial.remedy.text);
        if let Some(error) = &trial.error {
            let _ = writeln!(text, "    not tried: {error}");
            continue;
        }
        let [gone, of] = trial.gone;
        let _ = match (gone == of, gone) {
            (true, _) => writeln!(text, "    the finding is gone in {gone} of {of} runs"),
            (false, 0) => writeln!(text, "    the finding stays in all {of} runs"),
            (false, _) => writeln!(
                text,
                "    the finding is gone in {gone} of {of} runs, and stays in others"
            ),
        };
        for change in trial.application.iter().chain(&trial.delay) {
            let _ = writeln!(text, "    {}", shown(change));
        }
        for change in &trial.worse {
            let _ = writeln!(text, "    worse: {}", shown(change));
        }
        if !trial.new_findings.is_empty() {
            let _ = writeln!(text, "    new findings: {}", trial.new_findings.join(", "));
        }
    }
    text
}

/// A measure before and after, with its interval.
fn shown(change: &Change) -> String {
    let suffix = match change.unit {
        "bit/s" => "value_bps",
        "s" => "value_s",
        "bytes" => "value_bytes",
        _ => "value",
    };
    let number = |value| Evidence::given("summary", suffix, value).shown();
    let mut text = format!(
        "{} of {}: {} before, {} after",
        change.measure,
        change.of,
        number(change.before),
        number(change.after)
    );
    if let Some([low, high]) = change.interval {
        let _ = write!(
            text,
            " (difference {} to {}, 95 %)",
            number(low),
            number(high)
        );
    }
    text
}

//! The result of `weir reproduce` as text: a line for each experiment, and every row.

use crate::text_table::text_table;
use std::collections::BTreeSet;
use std::fmt::Write;
use weir_lab::experiment::{Count, ExperimentResult, Reproduction, RowKind, RowResult, Tally};
use weir_lab::report::shortened;
use weir_lab::verdict::Verdict;

/// One line: the experiment, and its counts by kind.
pub fn brief(experiment: &ExperimentResult) -> String {
    let counts = counts(&experiment.tally, experiment.rows.len());
    format!("{}: {counts}", experiment.name)
}

/// The counts by kind, of an experiment with this many rows.
fn counts(tally: &Tally, rows: usize) -> String {
    if tally.judged().judged == 0 {
        return format!("{rows} quantities, none of which is judged");
    }
    let parts = [
        (tally.unfitted_numbers, "unfitted numbers agree"),
        (tally.fitted(), "fitted numbers agree"),
        (tally.formula_numbers, "numbers by formula agree"),
        (tally.statements, "statements hold"),
        (tally.checks, "own checks hold"),
    ];
    let parts = parts.iter().filter(|(count, _)| count.judged > 0);
    let parts = parts.map(|(count, what)| format!("{} {what}", share(*count)));
    parts.collect::<Vec<_>>().join(", ")
}

/// `6 of 8`; nothing if there is no such row.
fn share(count: Count) -> String {
    if count.judged == 0 {
        return "–".to_owned();
    }
    format!("{} of {}", count.within, count.judged)
}

/// A line for each experiment and one for all, with the rows that differ without explanation.
pub fn overview(result: &Reproduction) -> String {
    let head = [
        "experiment",
        "unfitted",
        "fitted",
        "by formula",
        "statements",
        "own checks",
        "explained",
        "open",
        "differ",
    ];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    let each = result.experiments.iter();
    table.extend(each.map(|experiment| line(&experiment.name, &experiment.tally)));
    if result.experiments.len() > 1 {
        let tallies = result.experiments.iter().map(|experiment| experiment.tally);
        table.push(line("all", &tallies.sum()));
    }
    let mut text = text_table(&table, "<>");
    text.push_str(
        "unfitted, fitted, by formula: the document's numbers that agree; statements and own \
         checks that hold\n",
    );
    for experiment in &result.experiments {
        let rows = experiment.rows.iter();
        for row in rows.filter(|row| row.verdict == Verdict::Differs) {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{} differs in {}: {}, expected {}",
                experiment.name,
                row.id,
                row.measured_text(),
                [row.target_text(), row.tolerance.clone()].join(" ").trim()
            );
        }
    }
    text
}

fn line(name: &str, tally: &Tally) -> Vec<String> {
    let judged = tally.judged();
    let number = |count: usize| match count {
        0 => "–".to_owned(),
        _ => count.to_string(),
    };
    vec![
        name.to_owned(),
        share(tally.unfitted_numbers),
        share(tally.fitted()),
        share(tally.formula_numbers),
        share(tally.statements),
        share(tally.checks),
        number(judged.explained),
        number(judged.undetermined + judged.busy),
        number(judged.differ),
    ]
}

/// The rows of all experiments, and their summary lines: separate counts of numbers, statements and
/// our own checks.
pub fn all_rows(result: &Reproduction) -> String {
    let mut text = String::new();
    for experiment in &result.experiments {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}: {}", experiment.name, experiment.title);
        for (heading, kinds) in [
            (
                "the document's numbers",
                &[RowKind::Value, RowKind::Theory][..],
            ),
            ("the document's statements", &[RowKind::Claim]),
            ("our own checks", &[RowKind::Check]),
            ("quantities, not judged", &[RowKind::Quantity]),
        ] {
            let rows: Vec<_> = experiment.rows.iter().collect();
            let rows = rows
                .into_iter()
                .filter(|row| kinds.contains(&row.kind))
                .collect();
            table_of(heading, rows, &mut text);
        }
        summary(experiment, &mut text);
    }
    text
}

fn summary(experiment: &ExperimentResult, text: &mut String) {
    let tally = &experiment.tally;
    let lines = [
        ("numbers, none fitted", tally.unfitted_numbers, "agree"),
        ("numbers, all", tally.measured_numbers, "agree"),
        ("numbers by formula", tally.formula_numbers, "agree"),
        ("statements", tally.statements, "hold"),
        ("our own checks", tally.checks, "checked"),
    ];
    text.push('\n');
    for (name, count, within) in lines.into_iter().filter(|(_, count, _)| count.judged > 0) {
        let _ = writeln!(text, "  {:<22}{}", format!("{name}:"), count.words(within));
    }
    if !experiment.variants.is_empty() {
        let counting = experiment.variants.iter().filter(|variant| variant.counts);
        let counting: Vec<&str> = counting.map(|variant| &*variant.variant.name).collect();
        let all = experiment.variants.len();
        let _ = writeln!(
            text,
            "  variants that count:  {} of {all}: {}",
            counting.len(),
            counting.join(", ")
        );
    }
    for run in &experiment.runs {
        if let Some(note) = &run.equal_runs {
            let _ = writeln!(text, "  run {}: {note}", run.plan.name);
        }
    }
    let builds = experiment.runs.iter();
    let builds = builds.filter_map(|run| run.measured_with.as_deref());
    for build in builds.collect::<BTreeSet<_>>() {
        let _ = writeln!(text, "  in real time: {build}");
    }
    let _ = writeln!(
        text,
        "  fitted or free parameters : published numbers judged = {}\n",
        tally.parameters_to_numbers()
    );
}

fn table_of(heading: &str, rows: Vec<&RowResult>, text: &mut String) {
    if rows.is_empty() {
        return;
    }
    let cells = |row: &RowResult| {
        vec![
            String::new(),
            row.verdict.words().to_owned(),
            shortened(&row.text, MAX_WIDTH),
            row.target_text(),
            row.measured_text(),
            row.deviation_text(),
            row.share_text(),
            row.percentile_text(),
        ]
    };
    let target = if rows.iter().any(|row| row.published.is_some()) {
        "published"
    } else {
        "expected"
    };
    let heading = shortened(heading, MAX_WIDTH);
    let head = [
        "",
        "",
        &heading,
        target,
        "measured",
        "deviation",
        "inside",
        "percentile",
    ];
    let head = head.map(str::to_owned).to_vec();
    let rows = rows.into_iter().map(cells);
    let table: Vec<_> = std::iter::once(head).chain(rows).collect();
    text.push('\n');
    text.push_str(&text_table(&table, "<<<>"));
}

/// The maximum number of characters of a row's text in the terminal; the page has the full text.
const MAX_WIDTH: usize = 70;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_a_verdict_are_told_too() {
        let mut tally = Tally::default();
        let said = counts(&tally, 96);
        assert_eq!(said, "96 quantities, none of which is judged");
        (tally.checks.judged, tally.checks.within) = (3, 2);
        assert_eq!(counts(&tally, 3), "2 of 3 own checks hold");
    }
}

//! The report: one page with a table, findings and plots for each experiment, and its other files.

use super::published::RowKind;
use super::reproduction::{ExperimentResult, Reproduction, RunResult};
use super::row_result::{InVariant, RowResult};
use super::strip::strip;
use super::variants::VariantResult;
use crate::diagnosis::Finding;
use crate::report::page::{Page, escaped};
use crate::theory::significant;
use crate::verdict::{Outcome, Verdict};
use std::fmt::Write as _;

impl Reproduction {
    /// One JSON document with a line feed at its end.
    pub fn json(&self) -> String {
        crate::json::versioned(self)
    }

    /// One self-contained HTML page.
    pub fn html(&self) -> String {
        let mut page = Page::beside_pictures();
        page.text("h1", "", "Published experiments, reproduced");
        page.text(
            "p",
            "",
            "A number that a document states stands beside what the protocol code measured in the \
             simulator: it agrees or differs. A statement of a document holds or differs by the \
             bound that it implies. What we check ourselves has its own table and is not counted \
             with them. Conditions of the document are set; what it does not give was fitted or \
             chosen by us, and is listed and counted.",
        );
        page.text(
            "p",
            "",
            "Where something is random, a row is judged over many runs that differ in their seed: \
             mean ± standard error, the share of runs inside the tolerance, and the percentile of \
             the published value among the runs. In the strip each run is a tick, the mean is \
             green, the published value dashed, the tolerance shaded.",
        );
        contents(&mut page, self);
        page.filter_of_rows();
        for experiment in &self.experiments {
            section(&mut page, experiment);
        }
        page.html("Weir: published experiments, reproduced")
    }
}

fn contents(page: &mut Page, reproduction: &Reproduction) {
    let row = |experiment: &ExperimentResult| {
        let tally = &experiment.tally;
        format!(
            "<tr><td><a href=\"#{}\">{}</a></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td class=\"n\">{}</td><td>{}</td></tr>\n",
            escaped(&experiment.name),
            escaped(&experiment.title),
            tally.unfitted_numbers.words("agree"),
            tally.measured_numbers.words("agree"),
            tally.formula_numbers.words("agree"),
            tally.statements.words("hold"),
            tally.parameters_to_numbers(),
            tally.checks.words("checked"),
        )
    };
    let headings = [
        "experiment",
        "numbers, none fitted",
        "numbers, all",
        "formulas",
        "statements",
        "#parameters : numbers",
        "our own checks",
    ];
    page.table(&headings, reproduction.experiments.iter().map(row));
}

fn section(page: &mut Page, experiment: &ExperimentResult) {
    page.heading(&experiment.name, &experiment.title);
    page.text("p", "soft", &experiment.source);
    page.text("p", "", &experiment.about);
    let tally = &experiment.tally;
    page.text(
        "p",
        "",
        &format!(
            "Fitted or free parameters : published numbers judged = {}; {} of these numbers served \
             for a fit.",
            tally.parameters_to_numbers(),
            tally.fitted_numbers
        ),
    );
    let mut plots = experiment.plots.iter();
    if let Some(first) = plots.next() {
        page.figure(first);
    }
    disagreements(page, experiment);
    findings(page, experiment);
    let results = |page: &mut Page, heading: &str, kind: RowKind| {
        let rows = experiment.rows.iter();
        let rows: Vec<_> = rows.filter(|row| row.kind == kind).collect();
        if !rows.is_empty() {
            page.text("h3", "", heading);
            result_table(page, kind, &rows);
        }
    };
    results(page, "Numbers of the document, measured", RowKind::Value);
    results(page, "Statements of the document", RowKind::Claim);
    variants(page, experiment);
    page.text("h3", "", "More plots");
    for plot in plots {
        page.figure(plot);
    }
    results(page, "Formulas of the document", RowKind::Theory);
    results(page, "Our own checks", RowKind::Check);
    let heading = "Quantities that rows above and plots are made of, not judged";
    results(page, heading, RowKind::Quantity);
    let heading = "Conditions of the document, set and not judged";
    conditions(page, experiment, heading, RowKind::Input);
    let heading = "Conditions that the document does not give, fitted or chosen by us";
    conditions(page, experiment, heading, RowKind::Parameter);
    explained(page, experiment);
    runs(page, experiment);
}

fn findings(page: &mut Page, experiment: &ExperimentResult) {
    if experiment.findings.is_empty() {
        return;
    }
    page.text("h3", "", "What a reader of the document should know");
    for finding in &experiment.findings {
        let (class, suffix) = if finding.holds {
            ("finding", "")
        } else {
            (
                "finding differs",
                " (One of the rows behind this finding differs in this run: do not rely on it.)",
            )
        };
        page.text("p", class, &format!("{}{suffix}", finding.text));
    }
}

/// The rows that differ and the explained ones, as sentences.
fn disagreements(page: &mut Page, experiment: &ExperimentResult) {
    let different: Vec<&RowResult> = experiment
        .rows
        .iter()
        .filter(|row| {
            use Verdict::{Differs, Explained, Undetermined};
            matches!(row.verdict, Differs | Explained | Undetermined)
        })
        .collect();
    if different.is_empty() {
        page.text("p", "", "Every judged row lies within its tolerance.");
        return;
    }
    page.text("h3", "", "Where measurement and document part");
    for row in different {
        let class = if row.verdict == Verdict::Differs {
            "finding differs"
        } else {
            "finding"
        };
        let because = match (row.explanation.is_empty(), row.verdict) {
            (true, Verdict::Undetermined) => format!(
                "It holds in {}: the document does not decide it.",
                row.share_text()
            ),
            (false, Verdict::Undetermined) => {
                format!("It holds in {}. {}", row.share_text(), row.explanation)
            }
            (true, _) => "No explanation is known.".to_owned(),
            (false, Verdict::Differs) => format!(
                "{} The evidence for this explanation does not hold in this run.",
                row.explanation
            ),
            (false, _) => row.explanation.clone(),
        };
        page.raw(&format!(
            "<p class=\"{class}\"><b>{}</b> ({}): {}, measured {}. {}</p>\n",
            escaped(&row.text),
            escaped(&row.place),
            escaped(&published(row)),
            escaped(&row.measured_text()),
            escaped(&because)
        ));
    }
}

/// The variants that count, each with its values and its means of all rows that vary.
fn variants(page: &mut Page, experiment: &ExperimentResult) {
    if experiment.variants.is_empty() {
        return;
    }
    let counting: Vec<&VariantResult> = experiment
        .variants
        .iter()
        .filter(|variant| variant.counts)
        .collect();
    page.text("h3", "", "Variants of what the document leaves open");
    page.text(
        "p",
        "",
        &format!(
            "{} of {} variants count: in these every required row lies within its tolerance. A \
             statement is judged in all that count, and is undetermined if it holds in some of \
             them only. Each variant has its mean over the seeds.",
            counting.len(),
            experiment.variants.len()
        ),
    );
    if !counting.is_empty() {
        rows_of_variants(page, experiment, &counting);
    }
    let html = |variant: &&VariantResult| {
        let set = variant
            .variant
            .set
            .iter()
            .map(|set| format!("<code>{}</code><br>", escaped(set)));
        let name = escaped(&variant.variant.name);
        format!(
            "<tr><td>{name}</td><td>{}</td></tr>\n",
            set.collect::<String>()
        )
    };
    page.table(&["variant", "its values"], counting.iter().map(html));
}

/// The means of all rows that vary, with a column for each variant that counts.
fn rows_of_variants(page: &mut Page, experiment: &ExperimentResult, counting: &[&VariantResult]) {
    let rows: Vec<&RowResult> = experiment
        .rows
        .iter()
        .filter(|row| !row.variants.is_empty())
        .collect();
    let names = counting
        .iter()
        .map(|variant| format!("#{}", variant.variant.name));
    let headings: Vec<String> = std::iter::once("row".to_owned()).chain(names).collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let html = |row: &&RowResult| {
        let cell = |variant: &InVariant| {
            let value = variant
                .measured
                .map_or_else(|| "none".to_owned(), |v| significant(v, 3));
            format!(
                "<td class=\"n {}\">{}</td>",
                variant.verdict.words(),
                escaped(&value)
            )
        };
        let cells: String = row.variants.iter().filter(|v| v.counts).map(cell).collect();
        let unit = if row.unit.is_empty() {
            String::new()
        } else {
            format!(", {}", row.unit)
        };
        let required = if row.required {
            small("required")
        } else {
            String::new()
        };
        format!(
            "<tr><td>{}{}{required}</td>{cells}</tr>\n",
            escaped(&row.text),
            escaped(&unit)
        )
    };
    page.table(&headings, rows.iter().map(html));
}

/// The published number, or the bounds of a claim.
fn published(row: &RowResult) -> String {
    let text = row.published_text();
    if text.is_empty() {
        format!("stated {}", row.tolerance)
    } else {
        format!("published {text}")
    }
}

fn result_table(page: &mut Page, kind: RowKind, rows: &[&RowResult]) {
    let html = |row: &&RowResult| {
        format!(
            "<tr{} id=\"{}\"><td>{}<small>{}</small>{}{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}{}</td><td class=\"n\">{}</td><td class=\"v {}\">{}<small>{}</small>\
             </td></tr>\n",
            same(row.verdict),
            escaped(&row.id),
            escaped(&row.text),
            escaped(&row.place),
            small(&row.note),
            fitted_by(row),
            escaped(&row.target_text()),
            escaped(&row.measured_text()),
            seeds(row),
            escaped(&row.deviation_text()),
            row.verdict.words(),
            row.verdict.words(),
            escaped(&row.tolerance).replace(", ", "<br>")
        )
    };
    let target = match kind {
        RowKind::Value | RowKind::Theory => "#published",
        _ => "#expected",
    };
    let headings = [
        "what, and where",
        target,
        "#measured",
        "#deviation",
        "verdict",
    ];
    page.table(&headings, rows.iter().map(html));
}

/// The class of a row within its tolerance, which a switch hides.
fn same(verdict: Verdict) -> &'static str {
    match verdict.outcome() {
        Outcome::Holds => " class=\"same\"",
        _ => "",
    }
}

fn fitted_by(row: &RowResult) -> String {
    if row.fitted_by.is_empty() {
        return String::new();
    }
    small(&format!("fitted by: {}", row.fitted_by.join(", ")))
}

fn small(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("<small>{}</small>", escaped(text))
    }
}

/// The distribution over the seeds; of a row that varies the share of variants, of which each has
/// its own.
fn seeds(row: &RowResult) -> String {
    if !row.variants.is_empty() {
        return small(&row.share_text());
    }
    let Some(seeds) = row.seeds else {
        return String::new();
    };
    let digits = |value| significant(value, 3);
    let mut html = format!(
        "{}<small>{} runs, deviation {}</small>",
        strip(row),
        seeds.runs,
        digits(seeds.standard_deviation)
    );
    if seeds.with_value < seeds.runs {
        let _ = write!(html, "<small>{} of them have it</small>", seeds.with_value);
    }
    if !row.share_text().is_empty() {
        let _ = write!(html, "<small>inside: {}</small>", row.share_text());
    }
    if row.published.is_some() {
        let _ = write!(
            html,
            "<small>published at {} of the runs</small>",
            row.percentile_text()
        );
    }
    html
}

/// Rows whose values are set and not judged.
fn conditions(page: &mut Page, experiment: &ExperimentResult, heading: &str, kind: RowKind) {
    let rows: Vec<_> = experiment
        .rows
        .iter()
        .filter(|row| row.kind == kind)
        .collect();
    if rows.is_empty() {
        return;
    }
    page.text("h3", "", heading);
    let html = |row: &&RowResult| {
        format!(
            "<tr id=\"{}\"><td>{}<small>{}</small>{}</td><td class=\"n\">{}</td>{}</tr>\n",
            escaped(&row.id),
            escaped(&row.text),
            escaped(&row.place),
            small(&row.note),
            escaped(&row.target_text()),
            row.fit
                .as_ref()
                .map_or_else(String::new, |fit| format!("<td>{}</td>", escaped(fit)))
        )
    };
    let mut headings = vec!["condition, and where", "#value"];
    if kind == RowKind::Parameter {
        headings.push("how it was set");
    }
    page.table(&headings, rows.iter().map(html));
}

/// What went wrong in the runs that plots show.
fn explained(page: &mut Page, experiment: &ExperimentResult) {
    let runs = experiment.runs.iter();
    let found = runs.flat_map(|run| run.explained.iter().map(move |finding| (run, finding)));
    let mut found = found.peekable();
    if found.peek().is_none() {
        return;
    }
    page.text(
        "h3",
        "",
        "What went wrong, as weir explain finds it in the runs of the plots",
    );
    let html = |(run, finding): (&RunResult, &Finding)| {
        let [from, to] = finding.span_s;
        format!(
            "<tr><td>{}</td><td>{}: {}{}</td><td class=\"n\">{from:.2}</td>\
             <td class=\"n\">{to:.2}</td><td>{}</td></tr>\n",
            escaped(&run.plan.name),
            escaped(&finding.subject),
            escaped(finding.title),
            small(finding.citation),
            escaped(&finding.symptom.text)
        )
    };
    let headings = ["run", "finding", "#from, s", "#to, s", "what is seen"];
    page.table(&headings, found.map(html));
}

fn runs(page: &mut Page, experiment: &ExperimentResult) {
    page.text("h3", "", "Runs behind this section");
    let html = |run: &RunResult| {
        let plan = &run.plan;
        let notes = [&run.equal_runs, &run.measured_with];
        let notes: Vec<_> = notes.into_iter().flatten().map(String::as_str).collect();
        let note = notes.join("; ");
        let seeds = format!("{}{}", plan.seeds.unwrap_or(1), small(&note));
        let set = plan.set.iter();
        let set = set.map(|set| format!("<br><code>{}</code>", escaped(set)));
        format!(
            "<tr><td>{}</td><td><code>experiments/{}/{}</code>{}</td><td class=\"n\">{}</td>\
             <td>{}</td></tr>\n",
            escaped(&plan.name),
            escaped(&experiment.name),
            escaped(&plan.scenario),
            set.collect::<String>(),
            seeds,
            escaped(&plan.about)
        )
    };
    let headings = ["run", "scenario", "#seeds", "what is special"];
    page.table(&headings, experiment.runs.iter().map(html));
}

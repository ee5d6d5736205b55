//! The report: one page with a table, findings and plots an experiment.

use super::published::RowKind;
use super::reproduction::{ExperimentResult, Reproduction};
use super::verdict::{RowResult, Verdict};
use crate::report::page::{Page, escaped};
use std::fmt::Write as _;

/// The whole page.
pub(super) fn page(reproduction: &Reproduction) -> String {
    let mut page = Page::new();
    page.text("h1", "", "Published experiments, reproduced");
    page.text(
        "p",
        "",
        "Each number that a document publishes stands beside what the same protocol code \
         measured in the simulator. Inputs are conditions that the document gives and the \
         scenario sets; everything else is measured, and no published value is fed in.",
    );
    contents(&mut page, reproduction);
    for experiment in &reproduction.experiments {
        section(&mut page, experiment);
    }
    page.html("Weir: published experiments, reproduced")
}

fn contents(page: &mut Page, reproduction: &Reproduction) {
    let mut html = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>experiment</th>\
         <th class=\"n\">agrees</th><th class=\"n\">explained</th><th class=\"n\">differs</th>\
         <th class=\"n\">busy</th><th class=\"n\">inputs</th></tr></thead><tbody>\n",
    );
    for experiment in &reproduction.experiments {
        let _ = write!(
            html,
            "<tr><td><a href=\"#{}\">{}</a></td>",
            escaped(&experiment.name),
            escaped(&experiment.title)
        );
        for verdict in [
            Verdict::Agrees,
            Verdict::Explained,
            Verdict::Differs,
            Verdict::Busy,
            Verdict::Input,
        ] {
            let _ = write!(
                html,
                "<td class=\"n {}\">{}</td>",
                verdict.word(),
                experiment.count(verdict)
            );
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
    page.raw(&html);
}

fn section(page: &mut Page, experiment: &ExperimentResult) {
    page.heading(&experiment.name, &experiment.title);
    page.text("p", "soft", &experiment.source);
    page.text("p", "", &experiment.about);
    let mut plots = experiment.plots.iter();
    if let Some(first) = plots.next() {
        page.figure(first);
    }
    disagreements(page, experiment);
    if !experiment.findings.is_empty() {
        page.text("h3", "", "What a reader of the document should know");
        for finding in &experiment.findings {
            let class = if finding.holds {
                "finding"
            } else {
                "finding differs"
            };
            let suffix = if finding.holds {
                ""
            } else {
                " (One of the rows behind this finding differs in this run: do not rely on it.)"
            };
            page.text("p", class, &format!("{}{suffix}", finding.text));
        }
    }
    let is = |kinds: &'static [RowKind]| move |row: &&RowResult| kinds.contains(&row.kind);
    table(
        page,
        "Published and measured",
        experiment
            .rows
            .iter()
            .filter(is(&[RowKind::Value, RowKind::Claim])),
    );
    page.text("h3", "", "More plots");
    for plot in plots {
        page.figure(plot);
    }
    table(
        page,
        "Theory",
        experiment.rows.iter().filter(is(&[RowKind::Theory])),
    );
    table(
        page,
        "Our own checks, the evidence for the explanations",
        experiment.rows.iter().filter(is(&[RowKind::Check])),
    );
    inputs(page, experiment);
    runs(page, experiment);
}

/// What differs and what is explained, first, in sentences.
fn disagreements(page: &mut Page, experiment: &ExperimentResult) {
    let different: Vec<&RowResult> = experiment
        .rows
        .iter()
        .filter(|row| matches!(row.verdict, Verdict::Differs | Verdict::Explained))
        .collect();
    if different.is_empty() {
        page.text(
            "p",
            "",
            "Every judged row agrees with the document within its tolerance.",
        );
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

/// What the document says: its number, or the bounds that its statement means.
fn published(row: &RowResult) -> String {
    let text = row.published_text();
    if text.is_empty() {
        format!("stated {}", row.tolerance)
    } else {
        format!("published {text}")
    }
}

fn table<'a>(page: &mut Page, heading: &str, rows: impl Iterator<Item = &'a RowResult>) {
    let rows: Vec<&RowResult> = rows.collect();
    if rows.is_empty() {
        return;
    }
    page.text("h3", "", heading);
    let mut html = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>what, and where</th>\
         <th class=\"n\">published</th><th class=\"n\">measured</th><th class=\"n\">deviation</th>\
         <th>verdict</th></tr></thead><tbody>\n",
    );
    for row in rows {
        let _ = writeln!(
            html,
            "<tr id=\"{}\"><td>{}<small>{}</small>{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}{}</td><td class=\"n\">{}</td><td class=\"v {}\">{}<small>{}</small>\
             </td></tr>",
            escaped(&row.id),
            escaped(&row.text),
            escaped(&row.place),
            small(&row.note),
            escaped(&row.published_text()),
            escaped(&row.measured_text()),
            seeds(row),
            escaped(&row.deviation_text()),
            row.verdict.word(),
            row.verdict.word(),
            escaped(&row.tolerance).replace(", ", "<br>")
        );
    }
    html.push_str("</tbody></table></div>\n");
    page.raw(&html);
}

fn small(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("<small>{}</small>", escaped(text))
    }
}

fn seeds(row: &RowResult) -> String {
    row.seeds.map_or_else(String::new, |seeds| {
        format!(
            "<small>mean of {} runs ± {:.3}</small><small>95 % of runs: {:.2} to {:.2}</small>",
            seeds.runs, seeds.standard_error, seeds.low, seeds.high
        )
    })
}

fn inputs(page: &mut Page, experiment: &ExperimentResult) {
    let inputs = experiment
        .rows
        .iter()
        .filter(|row| row.verdict == Verdict::Input);
    if inputs.clone().next().is_none() {
        return;
    }
    page.text("h3", "", "Conditions, set and not judged");
    let mut html = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>condition, and where</th><th class=\"n\">value</th>\
         </tr></thead><tbody>\n",
    );
    for row in inputs {
        let _ = writeln!(
            html,
            "<tr id=\"{}\"><td>{}<small>{}</small>{}</td><td class=\"n\">{}</td></tr>",
            escaped(&row.id),
            escaped(&row.text),
            escaped(&row.place),
            small(&row.note),
            escaped(&row.published_text())
        );
    }
    html.push_str("</tbody></table></div>\n");
    page.raw(&html);
}

fn runs(page: &mut Page, experiment: &ExperimentResult) {
    page.text("h3", "", "Runs behind this section");
    let mut html = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>run</th><th>scenario</th><th class=\"n\">seeds</th>\
         <th>what is special</th></tr></thead><tbody>\n",
    );
    for run in &experiment.runs {
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td><code>experiments/{}/{}</code>{}</td><td class=\"n\">{}</td>\
             <td>{}</td></tr>",
            escaped(&run.name),
            escaped(&experiment.name),
            escaped(&run.scenario),
            run.set.iter().fold(String::new(), |text, set| {
                text + "<br><code>" + &escaped(set) + "</code>"
            }),
            run.seeds,
            escaped(&run.about)
        );
    }
    html.push_str("</tbody></table></div>\n");
    page.raw(&html);
}

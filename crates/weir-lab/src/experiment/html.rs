//! The report: one page with a table, findings and plots an experiment; and the files around it.

use super::published::{RowKind, RunPlan};
use super::reproduction::{ExperimentResult, Reproduction};
use super::verdict::{RowResult, Verdict};
use crate::report::page::{Page, escaped};
use std::fmt::Write as _;

impl Reproduction {
    /// One JSON document with a line feed at its end.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// One self-contained HTML page.
    pub fn html(&self) -> String {
        let mut page = Page::new();
        page.text("h1", "", "Published experiments, reproduced");
        page.text(
            "p",
            "",
            "Each number that a document publishes stands beside what the same protocol code \
             measured in the simulator. Inputs are conditions that the document gives and the \
             scenario sets; everything else is measured, and no published value is fed in.",
        );
        contents(&mut page, self);
        for experiment in &self.experiments {
            section(&mut page, experiment);
        }
        page.html("Weir: published experiments, reproduced")
    }

    /// Writes `index.html`, `result.json` and each plot as SVG and PNG; returns the page's path.
    ///
    /// # Errors
    /// A folder or file that cannot be written.
    #[cfg(feature = "files")]
    pub fn write(
        &self,
        folder: &std::path::Path,
    ) -> Result<std::path::PathBuf, super::ExperimentError> {
        use super::ExperimentError;
        use rayon::prelude::*;
        use std::path::Path;
        let failed = |path: &Path, source| ExperimentError::File {
            path: path.display().to_string(),
            source,
        };
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            match std::fs::write(&path, bytes) {
                Ok(()) => Ok(path),
                Err(source) => Err(failed(&path, source)),
            }
        };
        std::fs::create_dir_all(folder).map_err(|source| failed(folder, source))?;
        let plots: Vec<_> = self.experiments.iter().flat_map(|e| &e.plots).collect();
        plots.par_iter().try_for_each(|named| {
            let svg = named.plot.svg();
            let png = crate::report::png(&svg, 2.0).map_err(|error| ExperimentError::Plot {
                name: named.name.clone(),
                message: error.to_string(),
            })?;
            write(&format!("{}.svg", named.name), svg.as_bytes())?;
            write(&format!("{}.png", named.name), &png).map(|_| ())
        })?;
        write("result.json", self.json().as_bytes())?;
        write("index.html", self.html().as_bytes())
    }
}

/// A table with these headings. Below a heading with `#` stand numbers.
fn table(page: &mut Page, headings: &[&str], rows: impl Iterator<Item = String>) {
    let mut html = String::from("<div class=\"scroll\"><table><thead><tr>");
    for heading in headings {
        let _ = match heading.strip_prefix('#') {
            Some(heading) => write!(html, "<th class=\"n\">{heading}</th>"),
            None => write!(html, "<th>{heading}</th>"),
        };
    }
    html.push_str("</tr></thead><tbody>\n");
    html.extend(rows);
    html.push_str("</tbody></table></div>\n");
    page.raw(&html);
}

fn contents(page: &mut Page, reproduction: &Reproduction) {
    let row = |experiment: &ExperimentResult| {
        let mut html = format!(
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
            let (word, count) = (verdict.word(), experiment.count(verdict));
            let _ = write!(html, "<td class=\"n {word}\">{count}</td>");
        }
        html + "</tr>\n"
    };
    let headings = [
        "experiment",
        "#agrees",
        "#explained",
        "#differs",
        "#busy",
        "#inputs",
    ];
    table(page, &headings, reproduction.experiments.iter().map(row));
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
    let results = |page: &mut Page, heading: &str, kinds: &[RowKind]| {
        let rows = experiment.rows.iter();
        let rows: Vec<_> = rows.filter(|row| kinds.contains(&row.kind)).collect();
        if !rows.is_empty() {
            page.text("h3", "", heading);
            result_table(page, &rows);
        }
    };
    let published = [RowKind::Value, RowKind::Claim];
    results(page, "Published and measured", &published);
    page.text("h3", "", "More plots");
    for plot in plots {
        page.figure(plot);
    }
    results(page, "Theory", &[RowKind::Theory]);
    let own = "Our own checks, the evidence for the explanations";
    results(page, own, &[RowKind::Check]);
    inputs(page, experiment);
    runs(page, experiment);
}

/// The rows that differ and those that are explained, as sentences.
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

/// The published number, or the bounds that stand for a statement.
fn published(row: &RowResult) -> String {
    let text = row.published_text();
    if text.is_empty() {
        format!("stated {}", row.tolerance)
    } else {
        format!("published {text}")
    }
}

fn result_table(page: &mut Page, rows: &[&RowResult]) {
    let html = |row: &&RowResult| {
        format!(
            "<tr id=\"{}\"><td>{}<small>{}</small>{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}{}</td><td class=\"n\">{}</td><td class=\"v {}\">{}<small>{}</small>\
             </td></tr>\n",
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
        )
    };
    let headings = [
        "what, and where",
        "#published",
        "#measured",
        "#deviation",
        "verdict",
    ];
    table(page, &headings, rows.iter().map(html));
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
    if experiment.count(Verdict::Input) == 0 {
        return;
    }
    page.text("h3", "", "Conditions, set and not judged");
    let inputs = experiment.rows.iter();
    let html = |row: &RowResult| {
        format!(
            "<tr id=\"{}\"><td>{}<small>{}</small>{}</td><td class=\"n\">{}</td></tr>\n",
            escaped(&row.id),
            escaped(&row.text),
            escaped(&row.place),
            small(&row.note),
            escaped(&row.published_text())
        )
    };
    let rows = inputs.filter(|row| row.verdict == Verdict::Input).map(html);
    table(page, &["condition, and where", "#value"], rows);
}

fn runs(page: &mut Page, experiment: &ExperimentResult) {
    page.text("h3", "", "Runs behind this section");
    let html = |run: &RunPlan| {
        let set = run.set.iter();
        let set = set.map(|set| format!("<br><code>{}</code>", escaped(set)));
        format!(
            "<tr><td>{}</td><td><code>experiments/{}/{}</code>{}</td><td class=\"n\">{}</td>\
             <td>{}</td></tr>\n",
            escaped(&run.name),
            escaped(&experiment.name),
            escaped(&run.scenario),
            set.collect::<String>(),
            run.seeds.unwrap_or(1),
            escaped(&run.about)
        )
    };
    let headings = ["run", "scenario", "#seeds", "what is special"];
    table(page, &headings, experiment.runs.iter().map(html));
}

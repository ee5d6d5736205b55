//! The page of a suite: a table of verdicts, and each case with its checks and its picture.

use super::check::Verdict;
use super::runner::{CaseResult, SuiteResult};
use crate::report::page::{Page, escaped};
use std::fmt::Write as _;

impl SuiteResult {
    /// One JSON document with a line feed at its end.
    pub fn json(&self) -> String {
        crate::json::document(self)
    }

    /// One self-contained HTML page.
    pub fn html(&self) -> String {
        let mut page = Page::new();
        page.text("h1", "", &format!("Suite {}", self.suite));
        page.text(
            "p",
            "",
            "A case passes if none of its checks fails. A check that needs states is not \
             observable for a controller that names none.",
        );
        for controller in &self.controllers {
            page.text("p", "", &self.count(controller));
        }
        page.raw(&self.table());
        for results in self.results.chunk_by(|a, b| a.case == b.case) {
            section(&mut page, results);
        }
        page.html(&format!("Weir: suite {}", self.suite))
    }

    /// How many cases a controller passes.
    fn count(&self, controller: &str) -> String {
        let results = self
            .results
            .iter()
            .filter(|one| one.controller == controller);
        let (mut all, mut passed) = (0, 0);
        for result in results {
            all += 1;
            passed += u32::from(result.verdict == Verdict::Passed);
        }
        format!("{controller} passes {passed} of {all} cases.")
    }

    fn table(&self) -> String {
        let mut html = String::from("<div class=\"scroll\"><table><thead><tr><th>case</th>");
        for controller in &self.controllers {
            let _ = write!(html, "<th>{}</th>", escaped(controller));
        }
        html.push_str("</tr></thead><tbody>\n");
        for results in self.results.chunk_by(|a, b| a.case == b.case) {
            let Some(first) = results.first() else {
                continue;
            };
            let _ = write!(
                html,
                "<tr><td><a href=\"#{}\">{}</a></td>",
                escaped(&first.case),
                escaped(&first.title)
            );
            for result in results {
                let _ = write!(
                    html,
                    "<td{}>{}</td>",
                    class(result.verdict),
                    result.verdict.word()
                );
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody></table></div>\n");
        html
    }

    /// Writes `index.html`, `result.json` and each plot as SVG and PNG; returns the page's path.
    ///
    /// # Errors
    /// A folder or file that cannot be written.
    #[cfg(feature = "files")]
    pub fn write(&self, folder: &std::path::Path) -> Result<std::path::PathBuf, super::SuiteError> {
        let folder = crate::report::ReportFolder::create(folder)?;
        let plots = self.results.iter().filter_map(|result| result.plot.clone());
        folder.plots(&plots.collect::<Vec<_>>())?;
        Ok(folder.page(&self.json(), &self.html())?)
    }
}

/// The class of a verdict's cell: the colours of the verdicts of experiments.
const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => " class=\"agrees\"",
        Verdict::NotObservable => " class=\"checked\"",
        Verdict::Failed => " class=\"differs\"",
    }
}

fn section(page: &mut Page, results: &[CaseResult]) {
    let Some(first) = results.first() else {
        return;
    };
    page.heading(&first.case, &first.title);
    page.text("p", "soft", &first.source);
    page.text("p", "", &first.how);
    for result in results {
        let heading = format!("{}: {}", result.controller, result.verdict.word());
        page.text("h3", "", &heading);
        let mut html = String::from(
            "<div class=\"scroll\"><table><thead><tr><th></th><th>check</th><th>section</th>\
             <th>measured</th></tr></thead><tbody>\n",
        );
        for check in &result.checks {
            let (class, mark) = (class(check.verdict), check.verdict.word());
            let _ = writeln!(
                html,
                "<tr><td{class}>{mark}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                escaped(&check.says),
                escaped(&check.section),
                escaped(&check.text())
            );
        }
        html.push_str("</tbody></table></div>\n");
        page.raw(&html);
        if let Some(plot) = &result.plot {
            page.figure(plot);
        }
    }
}

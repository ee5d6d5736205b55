//! The page of a suite: a table of verdicts, and each case with its checks and its picture.

use super::check::CheckResult;
use super::runner::{CaseResult, SuiteResult};
use crate::report::page::{Page, escaped};
use crate::verdict::Verdict;

impl SuiteResult {
    /// One JSON document with a line feed at its end.
    pub fn json(&self) -> String {
        crate::json::versioned(self)
    }

    /// One self-contained HTML page.
    pub fn html(&self) -> String {
        let mut page = Page::beside_pictures();
        page.text("h1", "", &format!("Suite {}", self.suite));
        page.text(
            "p",
            "",
            "A case passes if none of its checks fails. A check of states or of a model of the path \
             is not observable for a controller that shows none; what such a controller does \
             otherwise in a case about states says that it is not BBR.",
        );
        for controller in &self.controllers {
            page.text("p", "", &self.count(controller));
        }
        self.table(&mut page);
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

    fn table(&self, page: &mut Page) {
        let controllers = self.controllers.iter().map(String::as_str);
        let headings: Vec<&str> = std::iter::once("case").chain(controllers).collect();
        let cases = self.results.chunk_by(|a, b| a.case == b.case);
        let row = |results: &[CaseResult]| {
            let first = results.first()?;
            let verdicts = results.iter().map(|result| result.verdict);
            let cells = verdicts.map(|verdict| {
                let (class, word) = (class(verdict), verdict.words());
                format!("<td{class}>{word}</td>")
            });
            let (case, title) = (escaped(&first.case), escaped(&first.title));
            let cells: String = cells.collect();
            // With one controller, what does not pass differs.
            let differs = results.iter().any(|one| one.verdict != first.verdict)
                || (results.len() == 1 && first.verdict != Verdict::Passed);
            let same = if differs { "" } else { " class=\"same\"" };
            Some(format!(
                "<tr{same}><td><a href=\"#{case}\">{title}</a></td>{cells}</tr>\n"
            ))
        };
        page.filter_of_rows();
        page.table(&headings, cases.filter_map(row));
    }

    /// Writes `index.html`, `result.json` and each plot as SVG and PNG; returns the page's path.
    ///
    /// # Errors
    /// A folder or file that cannot be written.
    #[cfg(feature = "files")]
    pub fn write(&self, folder: &std::path::Path) -> Result<std::path::PathBuf, super::SuiteError> {
        let folder = crate::report::ReportFolder::create(folder)?;
        let plots = self.results.iter().filter_map(|result| result.plot.clone());
        let plots: Vec<_> = plots.collect();
        Ok(folder.report(&plots, &self.json(), &self.html())?)
    }
}

/// The class of a verdict's cell.
fn class(verdict: Verdict) -> String {
    format!(" class=\"{}\"", verdict.words().replace(' ', "-"))
}

fn section(page: &mut Page, results: &[CaseResult]) {
    let Some(first) = results.first() else {
        return;
    };
    page.heading(&first.case, &first.title);
    page.text("p", "soft", &first.source);
    page.text("p", "", &first.how);
    for result in results {
        let heading = format!("{}: {}", result.controller, result.verdict.words());
        page.text("h3", "", &heading);
        let row = |check: &CheckResult| {
            let (class, mark) = (class(check.verdict), check.verdict.words());
            let (says, section) = (escaped(&check.says), escaped(&check.section));
            let (reads, text) = (check.reads.word(), escaped(&check.text()));
            format!(
                "<tr><td{class}>{mark}</td><td>{says}</td><td>{section}</td><td>{reads}</td>\
                 <td>{text}</td></tr>\n"
            )
        };
        page.table(
            &["", "check", "section", "reads", "measured"],
            result.checks.iter().map(row),
        );
        if let Some(plot) = &result.plot {
            page.figure(plot);
        }
    }
}

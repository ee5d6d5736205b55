//! The evaluation as a page and as files.

use super::words::{letter, mean_text};
use super::{CaseResult, ChapterResult, Evaluation, MeasureResult};
use crate::report::page::{Page, escaped};
use crate::theory::significant;
use crate::verdict::Verdict;
use std::fmt::Write as _;

/// What RFC 9743 asks of the authors, beside runs: section, and what the text must say.
const BY_THE_AUTHORS: [(&str, &str); 4] = [
    (
        "5.3.1",
        "each deviation from RFC 2914 (congestion control principles) and RFC 7141 (byte and packet \
         congestion notification), explained",
    ),
    (
        "5.3.2",
        "whether it can be deployed step by step; what is known of routers, proxies and middleboxes \
         on its way; how its use is confined if it is meant for special networks alone",
    ),
    (
        "5.1.1",
        "where full backoff or a pause begins, and how the time between packets grows after it",
    ),
    (
        "8",
        "what an attacker gains who forges, drops or delays its feedback, and what its flows tell \
         an observer",
    ),
];

impl Evaluation {
    /// One JSON document with a line feed at its end.
    pub fn json(&self) -> String {
        crate::json::versioned(self)
    }

    /// One self-contained HTML page.
    pub fn html(&self) -> String {
        let mut page = Page::beside_pictures();
        let subject = self.candidates.first().map_or("", String::as_str);
        let title = format!("{subject}, evaluated as RFC 9743 asks");
        page.text("h1", "", &title);
        for sentence in self.headline() {
            page.text("p", "", &sentence);
        }
        page.text("p", "", &format!("{}.", self.legend()));
        self.safety_box(&mut page);
        page.heading("overview", "Overview");
        page.text(
            "p",
            "",
            &format!(
                "Each case was run with {} seeds, and with each controller on the same paths. A is \
                 better or worse than another where the mean of the differences between runs of \
                 one seed is more than a tenth, and its 95 % interval does not contain zero. A \
                 shorter delay counts for nothing beside more losses, and throughput is not judged \
                 where a sender's duty is to give way. The RFC sets no thresholds; metrics are \
                 those of RFC 5166.",
                self.seeds
            ),
        );
        if let Some(figure) = self.overview_figure() {
            page.figure(&figure);
        }
        self.overview(&mut page);
        page.filter_of_rows();
        for chapter in &self.chapters {
            self.section(&mut page, chapter);
        }
        page.heading("authors", "What the authors write");
        page.text("p", "", "What no run can show, and RFC 9743 asks for:");
        let rows = BY_THE_AUTHORS.iter();
        let row = |(section, what): &(&str, &str)| {
            format!("<tr><td>{section}</td><td>{}</td></tr>\n", escaped(what))
        };
        page.table(&["section", "what the text says"], rows.map(row));
        page.html(&title)
    }

    /// The safety limits.
    fn safety_box(&self, page: &mut Page) {
        page.heading("safety", "Safety");
        page.text(
            "p",
            "",
            "Limits that a controller must keep whatever others do. The bounds are ours, argued in \
             the suite's file; what the others come to stands beside.",
        );
        let mut headings = ["case", "A", "measure", "#limit"]
            .map(str::to_owned)
            .to_vec();
        headings.extend((0..self.candidates.len()).map(|one| format!("#{}", letter(one))));
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        let rows = self
            .limits()
            .into_iter()
            .filter_map(|(chapter, case, limit)| {
                let mut results = case.results.iter();
                let result = results.find(|result| result.name == limit.measure)?;
                let known = limit
                    .known
                    .iter()
                    .map(|why| format!("<small>{}</small>", escaped(why)));
                let verdict = limit.verdicts.first().copied().unwrap_or(Verdict::Shown);
                let mut row = format!(
                    "<tr><td><a href=\"#chapter-{}\">§{}</a>: {}{}</td><td class=\"{}\">{}</td>\
                 <td>{}</td><td class=\"n\">{}</td>",
                    escaped(&chapter.chapter.id),
                    escaped(&chapter.chapter.section),
                    escaped(&case.words),
                    known.collect::<String>(),
                    class(verdict),
                    verdict.words(),
                    measure(result),
                    limit.bounds.words()
                );
                for (sample, verdict) in result.candidates.iter().zip(&limit.verdicts) {
                    let mean = mean_text(sample.mean);
                    let class = class(*verdict);
                    let _ = write!(row, "<td class=\"n {class}\">{mean}</td>");
                }
                row.push_str("</tr>\n");
                Some(row)
            });
        page.table(&headings, rows);
    }

    /// The chapters with how many of their measures are better, worse and alike beside each.
    fn overview(&self, page: &mut Page) {
        let others = self.candidates.len().saturating_sub(1);
        let mut headings = vec!["chapter".to_owned(), "about".to_owned()];
        for other in 1..=others {
            let letter = letter(other);
            headings
                .extend(["better than", "worse than", "like"].map(|w| format!("#{w} {letter}")));
        }
        headings.push("untested".to_owned());
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        let row = |chapter: &ChapterResult| {
            let about = &chapter.chapter;
            let mut row = format!(
                "<tr><td><a href=\"#chapter-{}\">{} {}</a></td><td>{}</td>",
                escaped(&about.id),
                escaped(&about.section),
                escaped(&about.title),
                about.aspect.word()
            );
            for other in 0..others {
                let count = |verdict| chapter.count(other, verdict);
                for count in [
                    count(Verdict::Better),
                    count(Verdict::Worse) + count(Verdict::Missing),
                    count(Verdict::Alike),
                ] {
                    let _ = write!(row, "<td class=\"n\">{count}</td>");
                }
            }
            let _ = writeln!(row, "<td>{}</td></tr>", escaped(&about.untested));
            row
        };
        page.table(&headings, self.chapters.iter().map(row));
    }

    fn section(&self, page: &mut Page, chapter: &ChapterResult) {
        let about = &chapter.chapter;
        page.heading(
            &format!("chapter-{}", about.id),
            &format!("{} {}", about.section, about.title),
        );
        for sentence in chapter.in_words() {
            page.text("p", "", &sentence);
        }
        if let Some(figure) = self.figure(chapter) {
            page.figure(&figure);
        }
        let mut headings = vec!["case".to_owned(), "measure".to_owned()];
        let candidates = self.candidates.len();
        headings.extend((0..candidates).map(|one| format!("#{}", letter(one))));
        headings.extend((1..candidates).map(|other| format!("A beside {}", letter(other))));
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        let cases = (1..).zip(&chapter.cases).map(|(number, case)| {
            let words = escaped(&format!("{number}: {}", case.words));
            let rows = case.results.iter().enumerate().map(|(row, result)| {
                // Where rows are hidden, the first may be one of them.
                let again = format!("<span class=\"again\">{words}</span>");
                table_row(if row == 0 { &words } else { &again }, result)
            });
            rows.chain([failures(case)]).collect()
        });
        page.table(&headings, cases);
    }

    /// Writes `index.html`, `result.json` and each figure as SVG and PNG; returns the page's path.
    ///
    /// # Errors
    /// A folder or file that cannot be written.
    #[cfg(feature = "files")]
    pub fn write(
        &self,
        folder: &std::path::Path,
    ) -> Result<std::path::PathBuf, super::EvaluationError> {
        let folder = crate::report::ReportFolder::create(folder)?;
        Ok(folder.report(&self.figures(), &self.json(), &self.html())?)
    }
}

/// The class of a verdict in the page's style.
const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed | Verdict::Better => "passed",
        Verdict::Failed | Verdict::Worse | Verdict::Missing => "failed",
        _ => "checked",
    }
}

/// A measure with its unit, escaped.
fn measure(result: &MeasureResult) -> String {
    match result.unit.as_str() {
        "" => escaped(&result.words),
        unit => format!("{}, {}", escaped(&result.words), escaped(unit)),
    }
}

fn table_row(words: &str, result: &MeasureResult) -> String {
    let differs = |verdict: &Verdict| !matches!(verdict, Verdict::Alike | Verdict::Shown);
    let same = if result.verdicts.iter().any(differs) {
        ""
    } else {
        " class=\"same\""
    };
    let mut html = format!("<tr{same}><td>{words}</td><td>{}</td>", measure(result));
    for sample in &result.candidates {
        let reach = sample.interval_95.map_or(String::new(), |(low, high)| {
            format!(" ± {}", significant((high - low) / 2.0, 2))
        });
        let missing = match sample.missing() {
            0 => String::new(),
            runs => format!(" ({runs} runs without)"),
        };
        let mean = mean_text(sample.mean);
        let _ = write!(html, "<td class=\"n\">{mean}{reach}{missing}</td>");
    }
    for verdict in &result.verdicts {
        let _ = write!(
            html,
            "<td class=\"{}\">{}</td>",
            class(*verdict),
            verdict.words()
        );
    }
    html.push_str("</tr>\n");
    html
}

/// A line for connections that failed, if any did.
fn failures(case: &CaseResult) -> String {
    if case.failed_runs.iter().all(|runs| *runs == 0) {
        return String::new();
    }
    let mut html = String::from("<tr><td></td><td>runs in which a connection failed</td>");
    for runs in &case.failed_runs {
        let _ = write!(html, "<td class=\"n\">{runs}</td>");
    }
    let rest = "<td></td>".repeat(case.failed_runs.len().saturating_sub(1));
    let _ = writeln!(html, "{rest}</tr>");
    html
}

//! The evaluation in words, as a table, as a page and as files.

use super::{CaseResult, ChapterResult, Evaluation, MeasureResult};
use crate::report::page::{Page, escaped};
use crate::theory::significant;
use crate::verdict::Verdict;
use std::fmt::Write as _;

/// Significant digits of values.
const DIGITS: i32 = 3;

impl ChapterResult {
    /// The measures of this chapter with this verdict, each with its case.
    pub fn with(&self, verdict: Verdict) -> Vec<(&CaseResult, &MeasureResult)> {
        let all = self.cases.iter();
        let all = all.flat_map(|case| case.results.iter().map(move |result| (case, result)));
        all.filter(|(_, result)| result.verdict == verdict)
            .collect()
    }

    /// What is good, bad and untested, as sentences.
    pub fn in_words(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        for (verdict, word) in [
            (Verdict::Good, "Better than the others"),
            (Verdict::Bad, "Worse than the others"),
            (Verdict::Missing, "Without a value, unlike the others"),
        ] {
            let found = self.with(verdict);
            if !found.is_empty() {
                let phrases: Vec<_> = found.iter().map(|(case, one)| phrase(case, one)).collect();
                sentences.push(format!("{word}: {}.", phrases.join("; ")));
            }
        }
        if sentences.is_empty() {
            sentences.push("Not told apart from the others.".to_owned());
        }
        if !self.chapter.untested.is_empty() {
            sentences.push(format!("Untested: {}.", self.chapter.untested));
        }
        sentences
    }
}

/// A measure in half a sentence: `goodput with CoDel, 12.1 against 18.5 and 17.9 Mbit/s`.
fn phrase(case: &CaseResult, result: &MeasureResult) -> String {
    let mut means = result.candidates.iter().map(|one| mean_text(one.mean));
    let subject = means.next().unwrap_or_default();
    let others: Vec<_> = means.collect();
    format!(
        "{} ({}), {subject} against {}{}",
        result.words,
        case.words,
        others.join(" and "),
        with_unit(&result.unit)
    )
}

fn with_unit(unit: &str) -> String {
    if unit.is_empty() {
        String::new()
    } else {
        format!(" {unit}")
    }
}

fn mean_text(mean: Option<f64>) -> String {
    mean.map_or_else(|| "none".to_owned(), |mean| significant(mean, DIGITS))
}

impl Evaluation {
    /// How many measures have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        let counts = self.chapters.iter().map(|one| one.with(verdict).len());
        counts.sum()
    }

    /// The result in a sentence.
    pub fn headline(&self) -> String {
        let [subject, others @ ..] = self.candidates.as_slice() else {
            return String::new();
        };
        let verdicts = [
            Verdict::Good,
            Verdict::Bad,
            Verdict::Alike,
            Verdict::Missing,
        ];
        let judged: usize = verdicts.iter().map(|verdict| self.count(*verdict)).sum();
        format!(
            "Of {judged} measures {subject} is better than {} in {}, worse in {}, without a value in \
             {}; in the others it lies between them or cannot be told apart.",
            others.join(" and "),
            self.count(Verdict::Good),
            self.count(Verdict::Bad),
            self.count(Verdict::Missing)
        )
    }

    /// For a terminal: a line a measure that differs, by chapters, and the headline.
    pub fn text(&self) -> String {
        let mut text = format!("{}, {}\n", self.title, self.candidates.join(", "));
        for chapter in &self.chapters {
            // Writing to a string cannot fail.
            let about = &chapter.chapter;
            let _ = writeln!(text, "\n{} {} [{}]", about.section, about.title, about.id);
            for sentence in chapter.in_words() {
                let _ = writeln!(text, "  {sentence}");
            }
        }
        let _ = writeln!(text, "\n{}", self.headline());
        text
    }

    /// One JSON document with a line feed at its end.
    pub fn json(&self) -> String {
        crate::json::document(self)
    }

    /// One self-contained HTML page.
    pub fn html(&self) -> String {
        let mut page = Page::new();
        let subject = self.candidates.first().map_or("", String::as_str);
        let title = format!("{subject}, evaluated as RFC 9743 asks");
        page.text("h1", "", &title);
        page.text("p", "", &self.headline());
        page.text(
            "p",
            "",
            &format!(
                "Each case was run with {} seeds, and with each controller on the same paths. Good \
                 is what is better than each of the others: the mean of the differences between \
                 runs of one seed is more than a tenth, and its 95 % interval does not contain \
                 zero. Bad is what is worse than each. The RFC sets no thresholds; metrics are \
                 those of RFC 5166.",
                self.seeds
            ),
        );
        overview(&mut page, self);
        for chapter in &self.chapters {
            self.section(&mut page, chapter);
        }
        page.html(&title)
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
        headings.extend(self.candidates.iter().map(|name| format!("#{name}")));
        headings.push(String::new());
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        let cases = (1..).zip(&chapter.cases).map(|(number, case)| {
            let words = escaped(&format!("{number}: {}", case.words));
            let rows = case.results.iter().enumerate().map(|(row, result)| {
                let words = if row == 0 { words.as_str() } else { "" };
                table_row(words, result)
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

/// The chapters with how many of their measures are good, bad, and alike.
fn overview(page: &mut Page, evaluation: &Evaluation) {
    let row = |chapter: &ChapterResult| {
        let about = &chapter.chapter;
        let count = |verdict| chapter.with(verdict).len();
        format!(
            "<tr><td><a href=\"#chapter-{}\">{} {}</a></td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
            escaped(&about.id),
            escaped(&about.section),
            escaped(&about.title),
            count(Verdict::Good),
            count(Verdict::Bad) + count(Verdict::Missing),
            count(Verdict::Alike),
            escaped(&about.untested),
        )
    };
    let headings = ["chapter", "#good", "#bad", "#alike", "untested"];
    page.table(&headings, evaluation.chapters.iter().map(row));
}

fn table_row(words: &str, result: &MeasureResult) -> String {
    let mut html = format!("<tr><td>{words}</td><td>{}", escaped(&result.words));
    if !result.unit.is_empty() {
        let _ = write!(html, ", {}", escaped(&result.unit));
    }
    html.push_str("</td>");
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
    let _ = writeln!(html, "<td>{}</td></tr>", result.verdict.words());
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
    html.push_str("<td></td></tr>\n");
    html
}

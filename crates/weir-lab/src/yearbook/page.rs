//! The yearbook as a page and as text.

use super::{CaseCount, Cell, Entry, Yearbook};
use crate::report::page::{Page, escaped};
use std::fmt::Write as _;

impl Yearbook {
    /// One JSON document with a line feed at its end.
    pub fn json(&self) -> String {
        crate::json::versioned(self)
    }

    /// One self-contained HTML page; its links lead into the folders of the controllers.
    pub fn html(&self) -> String {
        let mut page = Page::new();
        let title = format!("Yearbook of congestion controllers, {}", self.imprint.date);
        page.text("h1", "", &title);
        page.text("p", "soft", &self.made_by());
        page.text(
            "p",
            "",
            &format!(
                "Each controller was evaluated as RFC 9743 asks, with {} seeds a case, and with the \
                 cases of BBR's draft. In a cell, \u{201c}breaks 2 of 4\u{201d} counts safety limits; +3 \u{2212}1 \
                 are measures in which the controller is better and worse than CUBIC over the same \
                 transport, by more than a tenth and with a 95 % interval of the paired \
                 differences without zero. Red is a broken limit; green and amber say that more measures \
                 are better, or as many or more worse. A row marked \u{201c}reference\u{201d} is that CUBIC.",
                self.seeds
            ),
        );
        page.text(
            "p",
            "",
            "A cell links to the chapter in the controller's own page, with values and intervals. \
             Its qlog files have the run with seed 1 of the chapter's first case, or of the first \
             that breaks a limit, thinned to the extremes of each column in 100 slices of time.",
        );
        page.table_of_contents();
        page.heading("matrix", "Controllers and chapters");
        self.matrix(&mut page);
        page.heading("safety", "What is not safe");
        self.faults(&mut page);
        page.heading("chapters", "The chapters");
        let rows = self.chapters.iter().map(|chapter| {
            let cells = [
                &chapter.id,
                &chapter.section,
                &chapter.title,
                &chapter.untested,
            ]
            .map(|text| format!("<td>{}</td>", escaped(text)));
            format!("<tr>{}</tr>\n", cells.concat())
        });
        page.table(&["chapter", "RFC 9743", "about", "untested"], rows);
        page.html(&title)
    }

    fn made_by(&self) -> String {
        let commit = self.imprint.commit.as_ref();
        // The version of a build from a repository names the commit.
        let commit = commit.filter(|commit| !self.imprint.version.contains(*commit));
        let commit = commit.map_or(String::new(), |commit| format!(", commit {commit}"));
        format!(
            "Made on {} by weir {}{commit}; result.json beside this page has the same numbers.",
            self.imprint.date, self.imprint.version
        )
    }

    fn matrix(&self, page: &mut Page) {
        let mut headings = vec!["controller".to_owned(), "safety".to_owned()];
        headings.extend(self.chapters.iter().map(|chapter| chapter.id.clone()));
        headings.push("BBR's cases".to_owned());
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        let rows = self.entries.iter().map(|entry| {
            let mut row = format!(
                "<tr><td class=\"v\"><a href=\"{}/index.html\">{}</a>{}</td>{}",
                escaped(&entry.folder),
                escaped(&entry.controller),
                if entry.reference.is_none() {
                    "<small>reference</small>"
                } else {
                    ""
                },
                safety(entry),
            );
            for chapter in &self.chapters {
                let mut cells = entry.cells.iter();
                let found = cells.find(|cell| cell.chapter == chapter.id);
                row.push_str(&found.map_or_else(
                    || "<td class=\"checked\">\u{2013}</td>".to_owned(),
                    |cell| cell_html(entry, cell),
                ));
            }
            let _ = writeln!(row, "{}</tr>", cases(entry));
            row
        });
        page.table(&headings, rows);
    }

    fn faults(&self, page: &mut Page) {
        let unsafe_ones = self.entries.iter().filter(|entry| !entry.faults.is_empty());
        let rows = unsafe_ones.map(|entry| {
            let faults = entry.faults.iter().map(|fault| escaped(fault));
            let faults: Vec<_> = faults.collect();
            format!(
                "<tr><td class=\"v\"><a href=\"{}/index.html#safety\">{}</a></td><td>{}</td></tr>\n",
                escaped(&entry.folder),
                escaped(&entry.controller),
                faults.join("<br>")
            )
        });
        let rows: Vec<String> = rows.collect();
        if rows.is_empty() {
            page.text("p", "", "Every controller keeps every limit.");
        } else {
            page.table(&["controller", "what it does"], rows.into_iter());
        }
    }

    /// A line a controller: safety, measures beside CUBIC, cases of BBR's draft.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let row = |entry: &Entry| {
            let beside = match &entry.reference {
                None => "reference".to_owned(),
                Some(_) => beside(entry.sum(|cell| cell.better), entry.sum(|cell| cell.worse)),
            };
            let cases = entry.cases.map_or("\u{2013}".to_owned(), case_text);
            vec![entry.controller.clone(), limits(entry), beside, cases]
        };
        let heading = ["controller", "safety", "beside CUBIC", "BBR's cases"];
        let heading = heading.map(str::to_owned).to_vec();
        [heading]
            .into_iter()
            .chain(self.entries.iter().map(row))
            .collect()
    }
}

impl Entry {
    fn sum(&self, of: impl Fn(&Cell) -> usize) -> usize {
        self.cells.iter().map(of).sum()
    }
}

/// `+3 −1`, or `=` without a difference.
fn beside(better: usize, worse: usize) -> String {
    match (better, worse) {
        (0, 0) => "=".to_owned(),
        (better, 0) => format!("+{better}"),
        (0, worse) => format!("\u{2212}{worse}"),
        (better, worse) => format!("+{better} \u{2212}{worse}"),
    }
}

fn limit_text(broken: usize, all: usize) -> String {
    match (broken, all) {
        (_, 0) => "no limit".to_owned(),
        (0, all) => format!("keeps {all}"),
        (broken, all) => format!("breaks {broken} of {all}"),
    }
}

fn limits(entry: &Entry) -> String {
    limit_text(entry.sum(|cell| cell.broken), entry.sum(|cell| cell.limits))
}

fn safety(entry: &Entry) -> String {
    let class = match (entry.sum(|cell| cell.limits), entry.faults.is_empty()) {
        (0, _) => "checked",
        (_, true) => "passed",
        (_, false) => "failed",
    };
    format!(
        "<td class=\"v {class}\"><a class=\"{class}\" href=\"{}/index.html#safety\">{}</a></td>",
        escaped(&entry.folder),
        limits(entry)
    )
}

fn cell_html(entry: &Entry, cell: &Cell) -> String {
    let folder = escaped(&entry.folder);
    let mut texts = Vec::new();
    if cell.limits > 0 {
        texts.push(limit_text(cell.broken, cell.limits));
    }
    if entry.reference.is_some() {
        texts.push(beside(cell.better, cell.worse));
    } else if texts.is_empty() {
        texts.push("values".to_owned());
    }
    let class = match (cell.broken, cell.better, cell.worse) {
        (0, 0, 0) => "checked",
        (0, better, worse) if better > worse => "passed",
        (0, ..) => "explained",
        _ => "failed",
    };
    let mut html = format!(
        "<td class=\"{class}\"><a class=\"{class}\" href=\"{folder}/index.html#chapter-{}\">{}</a>",
        escaped(&cell.chapter),
        texts.join("<br>").replace(' ', "&nbsp;")
    );
    for file in &cell.qlog {
        let _ = write!(
            html,
            "<small><a href=\"{folder}/{}\" title=\"{}\">qlog</a></small>",
            escaped(file),
            escaped(&cell.recorded)
        );
    }
    html.push_str("</td>");
    html
}

fn case_text(cases: CaseCount) -> String {
    let CaseCount {
        all,
        passed,
        failed,
    } = cases;
    format!("passes {passed}, fails {failed} of {all}")
}

fn cases(entry: &Entry) -> String {
    match entry.cases {
        None => "<td class=\"checked\">\u{2013}</td>".to_owned(),
        Some(cases) => format!(
            "<td><a href=\"{}/bbr/index.html\">{}</a></td>",
            escaped(&entry.folder),
            case_text(cases)
        ),
    }
}

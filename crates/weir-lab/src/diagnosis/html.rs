//! An explanation as a part of a page.

use super::{Explanation, Finding, Statement};
use crate::report::page::escaped;
use std::fmt::Write as _;

/// What held each sender as a table, and the findings as a list, in HTML without styles of its own.
pub fn explanation_html(explanation: &Explanation) -> String {
    let mut html = String::from(
        "<details open><summary>What held each sender, and what went wrong</summary>\n",
    );
    held(explanation, &mut html);
    if explanation.findings.is_empty() {
        html.push_str("<p>Nothing that is known as a pathology was found.</p>\n");
    } else {
        html.push_str("<ol>\n");
        for finding in &explanation.findings {
            write_finding(finding, &mut html);
        }
        html.push_str("</ol>\n");
    }
    for unknown in &explanation.unknown {
        // Writing to a string cannot fail.
        let _ = writeln!(
            html,
            "<p>Unknown for {}, because the column {} is missing: {}.</p>",
            escaped(&unknown.flows.join(", ")),
            unknown.column,
            unknown.kinds.join(", ")
        );
    }
    html.push_str("</details>\n");
    html
}

/// Flows of which the table has a row.
const FLOWS: usize = 24;

fn held(explanation: &Explanation, html: &mut String) {
    html.push_str(
        "<div class=\"scroll\"><table>\n<tr><th>flow</th><th>what held its sender, by share of its \
         time</th><th>rule behind</th></tr>\n",
    );
    for held in explanation.held.iter().take(FLOWS) {
        let shares = held.shares.iter();
        let shares = shares.map(|share| format!("{} {}", share.bound, share.share.shown()));
        let shares: Vec<String> = shares.collect();
        let shares = if shares.is_empty() {
            "the trace does not say".to_owned()
        } else {
            shares.join(", ")
        };
        let rule = held.shares.iter().find_map(|share| share.rule.as_ref());
        let rule = rule.map(|(rule, share)| format!("{rule} {}", share.shown()));
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&held.flow),
            escaped(&shares),
            escaped(&rule.unwrap_or_default())
        );
    }
    html.push_str("</table></div>\n");
}

fn write_finding(finding: &Finding, html: &mut String) {
    let [from, to] = finding.span_s;
    let _ = write!(
        html,
        "<li><strong>{}: {}</strong> ({from:.3} to {to:.3} s)<br>{}",
        escaped(&finding.subject),
        escaped(finding.title),
        escaped(&finding.symptom.text)
    );
    for Statement { text, .. } in &finding.chain {
        let _ = write!(html, " {}", escaped(text));
    }
    if let Some(cause) = finding.caused_by {
        let _ = write!(html, " It follows from {cause}.");
    }
    html.push_str("<ul>\n");
    let statements = std::iter::once(&finding.symptom).chain(&finding.chain);
    for evidence in statements.flat_map(|statement| &statement.evidence) {
        if let Some([first, last]) = evidence.rows {
            let _ = writeln!(
                html,
                "<li>{} <code>{}</code>, rows {first} to {last}: {}</li>",
                escaped(&evidence.table),
                escaped(&evidence.column),
                escaped(&evidence.shown())
            );
        }
    }
    for remedy in &finding.remedies {
        let _ = writeln!(
            html,
            "<li>try {}{}</li>",
            escaped(&remedy.text),
            match escaped(&remedy.options("", "")).as_str() {
                "" => String::new(),
                options => format!(": <code>{options}</code>"),
            }
        );
    }
    let _ = writeln!(
        html,
        "<li>source: {}</li></ul></li>",
        escaped(finding.citation)
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Evidence, Held, HeldShare};

    #[test]
    fn names_of_flows_are_text_and_never_markup() {
        let share = Evidence {
            table: "flows/<b>".to_owned(),
            column: "bound".to_owned(),
            rows: Some([0, 1]),
            span_s: Some([0.0, 1.0]),
            statistic: None,
            value: 0.5,
        };
        let explanation = Explanation {
            held: vec![Held {
                flow: "<script>".to_owned(),
                shares: vec![HeldShare {
                    bound: "window".to_owned(),
                    share,
                    rule: None,
                }],
            }],
            ..Explanation::default()
        };
        let html = explanation_html(&explanation);
        assert!(
            html.contains("&lt;script&gt;") && !html.contains("<script>"),
            "{html}"
        );
        assert!(html.contains("Nothing that is known"), "{html}");
    }
}

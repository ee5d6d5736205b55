//! The comparison as text, as Markdown and as JSON.

use super::PairResult;
use super::document::{
    ChangeDocument, CompareDocument, DivergenceDocument, EffectDocument, ShareDocument,
    SideDocument,
};
use crate::text_table::text_table;
use std::collections::BTreeSet;
use std::fmt::Write;
use weir_lab::comparison::{Divergence, Effect, SettingChange, Share};
use weir_lab::theory::{format_value, significant};
use weir_lab::verdict::Verdict;

/// The maximum number of changed settings that are listed.
const MAX_CHANGES: usize = 12;

/// The maximum number of omitted names that are listed.
const MAX_LEFT_OUT: usize = 6;
/// The maximum number of settings that are all shown with tables; if there are more, only those
/// with differences are shown.
const MAX_SETTINGS: usize = 12;

/// The description of a side in the report's head.
pub struct Side {
    /// The name on the command line.
    pub name: String,
    pub runs: usize,
    /// The number of runs in its plan.
    pub planned: u64,
    /// The program, if the runs say so.
    pub build: Option<String>,
    /// The commits of its source, each once.
    pub commits: Vec<String>,
}

impl Side {
    fn document(&self) -> SideDocument<'_> {
        SideDocument {
            folder: &self.name,
            runs: self.runs,
            build: self.build.as_deref(),
            commits: &self.commits,
        }
    }
}

/// The results of the comparison.
pub struct Report {
    pub a: Side,
    pub b: Side,
    /// Settings that differ in the first pair.
    pub changes: Vec<SettingChange>,
    /// Notes on the pairs.
    pub notes: Vec<String>,
    /// Measures that not all pairs have.
    pub left_out: Vec<String>,
    /// All pairs, in the order of settings and seeds.
    pub results: Vec<PairResult>,
    /// The reason why no traces were compared; `None` if some were.
    pub no_traces: Option<&'static str>,
    /// The number of pairs that count.
    pub counting: usize,
    pub effects: Vec<Effect>,
    pub shares: Vec<Share>,
    /// The share of A beyond which a difference makes the command fail.
    pub threshold: Option<f64>,
    /// Whether a pair with any difference makes the command fail.
    pub identical: bool,
}

/// A table: its header and its rows.
type Rows = Vec<Vec<String>>;

/// The rows of the effects on a flow, group or link in a setting.
struct Section<'a> {
    setting: &'a str,
    /// Its kind and name.
    of: (&'static str, &'a str),
    rows: Rows,
}

impl Report {
    /// The pair with the earliest divergence.
    fn first(&self) -> Option<(u64, &Divergence)> {
        let found = self.results.iter();
        let found = found.filter_map(|pair| Some((pair.seed, pair.divergence.as_ref()?)));
        found.min_by(|(_, x), (_, y)| {
            let time = |one: &Divergence| one.time_s.unwrap_or(f64::INFINITY);
            time(x).total_cmp(&time(y))
        })
    }

    fn beyond(&self) -> Vec<&Effect> {
        let Some(threshold) = self.threshold else {
            return Vec::new();
        };
        let effects = self.effects.iter();
        effects.filter(|effect| effect.exceeds(threshold)).collect()
    }

    /// The reason for a failure; `None` if there is none.
    pub fn alarm(&self) -> Option<String> {
        let beyond = self.beyond();
        let Some(first) = beyond.first() else {
            let fails = self.identical && self.diverging() > 0;
            return fails.then(|| self.divergence_line());
        };
        let share = percent(self.threshold.unwrap_or_default());
        Some(format!(
            "{} {} by more than {share}: {} {} {}{}{}",
            count(beyond.len(), "measure"),
            if beyond.len() == 1 {
                "differs"
            } else {
                "differ"
            },
            first.kind,
            first.name,
            first.measure.label,
            if first.setting.is_empty() {
                String::new()
            } else {
                format!(" at {}", first.setting)
            },
            if beyond.len() > 1 { " …" } else { "" }
        ))
    }

    /// The lines above the tables.
    fn head(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (letter, side) in [("A", &self.a), ("B", &self.b)] {
            let mut line = format!("{letter}: {}, {}", side.name, count(side.runs, "run"));
            if side.planned > side.runs as u64 {
                let _ = write!(line, " of {}", side.planned);
            }
            if let Some(build) = &side.build {
                let _ = write!(line, ", {build}");
            }
            if !side.commits.is_empty() {
                let s = if side.commits.len() == 1 { "" } else { "s" };
                let _ = write!(line, ", commit{s} {}", side.commits.join(", "));
            }
            lines.push(line);
        }
        for change in self.changes.iter().take(MAX_CHANGES) {
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
            lines.push(format!(
                "{}: {} in A, {} in B",
                change.path,
                value(&change.a),
                value(&change.b)
            ));
        }
        let more = self.changes.len().saturating_sub(MAX_CHANGES);
        if more > 0 {
            lines.push(format!("and {} more", count(more, "changed setting")));
        }
        lines.push(self.pairs_line());
        lines.extend(self.notes.iter().cloned());
        if !self.left_out.is_empty() {
            let names = self.left_out.iter().take(MAX_LEFT_OUT).map(String::as_str);
            let more = self.left_out.len().saturating_sub(MAX_LEFT_OUT);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            let names = names.collect::<Vec<_>>().join(", ");
            lines.push(format!(
                "left out, not in all runs of a setting: {names}{more}"
            ));
        }
        lines.push(self.divergence_line());
        lines
    }

    fn pairs_line(&self) -> String {
        let pairs = count(self.results.len(), "pair");
        match (self.results.len(), self.counting) {
            (all, counting) if counting < all => format!(
                "{pairs} of equal seeds, {counting} of which count: the others repeat an earlier one"
            ),
            (1, _) => format!("{pairs}: what chance does is not known, run several --seeds"),
            _ => format!("{pairs} of equal seeds"),
        }
    }

    fn divergence_line(&self) -> String {
        let diverging = self.diverging();
        let pairs = count(self.results.len(), "pair");
        let Some((seed, first)) = self.first() else {
            let measures = match diverging {
                0 => "the measures are equal in all pairs".to_owned(),
                _ => format!("measures differ in {diverging} of {pairs}"),
            };
            return match self.no_traces {
                Some(why) => format!("{measures}; {why}"),
                None if diverging > 0 => {
                    format!("{measures}, though the traces that both sides kept are equal")
                }
                None => "the traces that both sides kept are equal".to_owned(),
            };
        };
        let parting = self.results.iter().filter(|pair| pair.divergence.is_some());
        let parting = parting.count();
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "no row".to_owned());
        let at = first.time_s.map(|time| format!(" at {time} s"));
        format!(
            "traces part in {parting} of {pairs}; first with seed {seed}: {}, row {}{}, {}: {} in \
             A, {} in B",
            first.table,
            first.row,
            at.unwrap_or_default(),
            first.column,
            value(&first.a),
            value(&first.b)
        )
    }

    /// The number of pairs with differences.
    fn diverging(&self) -> usize {
        self.results.iter().filter(|pair| pair.differs).count()
    }

    /// The tables of the shown settings, and the number of settings not shown.
    fn sections(&self) -> (Vec<Section<'_>>, usize) {
        let settings: BTreeSet<&str> = self.effects.iter().map(|e| e.setting.as_str()).collect();
        let different = self.effects.iter().filter(|effect| effect.differs());
        let different: BTreeSet<&str> = different.map(|effect| effect.setting.as_str()).collect();
        let all = settings.len();
        let shown = if all > MAX_SETTINGS {
            different
        } else {
            settings
        };
        let mut sections: Vec<Section<'_>> = Vec::new();
        for effect in &self.effects {
            let (setting, of) = (effect.setting.as_str(), (effect.kind, effect.name.as_str()));
            if !shown.contains(setting) {
                continue;
            }
            let row = self.row(effect);
            match sections.last_mut() {
                Some(last) if (last.setting, last.of) == (setting, of) => last.rows.push(row),
                _ => sections.push(Section {
                    setting,
                    of,
                    rows: vec![row],
                }),
            }
        }
        (sections, all - shown.len())
    }

    /// The tables of all effects, each with its setting as heading.
    fn tables(&self, heading: &str, table: fn(&Rows) -> String) -> String {
        let (sections, hidden) = self.sections();
        let (mut text, mut setting) = (String::new(), "");
        for section in sections {
            if section.setting != setting {
                setting = section.setting;
                let _ = writeln!(text, "\n{heading}{setting}");
            }
            let (kind, name) = section.of;
            text.push('\n');
            text += &table(&with_head(&format!("{kind} {name}"), section.rows));
        }
        if hidden > 0 {
            let _ = writeln!(
                text,
                "\nnothing differs in {}",
                count(hidden, "other setting")
            );
        }
        text
    }

    fn row(&self, effect: &Effect) -> Vec<String> {
        let unit = effect.measure.unit;
        let value = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |v| text(v, unit));
        let interval = effect.interval_95().map_or_else(String::new, |interval| {
            format!(
                "{} to {}",
                text(interval.low, unit),
                text(interval.high, unit)
            )
        });
        let mut verdict = effect.verdict.words().to_owned();
        if let Some(judgement) = effect.judgement() {
            let _ = write!(verdict, ", {judgement}");
        }
        if self.threshold.is_some_and(|share| effect.exceeds(share)) {
            verdict += ", beyond the threshold";
        }
        vec![
            effect.measure.label.to_owned(),
            value(effect.a.mean()),
            value(effect.b.mean()),
            value(effect.difference.mean()),
            interval,
            effect.relative().map_or_else(String::new, signed_percent),
            verdict,
        ]
    }

    fn share_rows(&self) -> Rows {
        let row = |share: &Share| {
            let difference = signed_percent(share.b - share.a);
            let cells = [&share.flow, &share.bound].map(String::clone).into_iter();
            let shares = [percent(share.a), percent(share.b), difference];
            cells.chain(shares).collect()
        };
        self.shares.iter().map(row).collect()
    }

    fn verdict_line(&self) -> String {
        let of = |verdict: Verdict| {
            let effects = self.effects.iter();
            effects.filter(|effect| effect.verdict == verdict).count()
        };
        let different = of(Verdict::Differs) + of(Verdict::OnePair);
        let mut line = format!(
            "{}: {different} differ, {} within chance, {} equal",
            count(self.effects.len(), "measure"),
            of(Verdict::Indistinct),
            of(Verdict::Equal)
        );
        if let Some(threshold) = self.threshold {
            let beyond = self.beyond().len();
            let _ = write!(line, "; {beyond} by more than {}", percent(threshold));
        }
        line
    }

    /// Tables for a terminal.
    pub fn text(&self) -> String {
        let mut text = self.head().join("\n") + "\n";
        text += &self.tables("", aligned);
        let shares = self.share_rows();
        if !shares.is_empty() {
            text += "\n";
            text += &aligned(&with_share_head(shares));
        }
        text + "\n" + &self.verdict_line() + "\n"
    }

    /// Markdown for a comment on a pull request.
    pub fn markdown(&self) -> String {
        let mut text = "### weir compare\n\n".to_owned();
        for line in self.head() {
            let _ = writeln!(text, "- {line}");
        }
        let _ = writeln!(text, "\n**{}**", self.verdict_line());
        text += &self.tables("#### ", piped);
        let shares = self.share_rows();
        if !shares.is_empty() {
            text += "\n";
            text += &piped(&with_share_head(shares));
        }
        text
    }

    /// The document of `--json`.
    pub fn document(&self) -> CompareDocument<'_> {
        let effects = self.effects.iter().map(|effect| EffectDocument {
            setting: &effect.setting,
            kind: effect.kind,
            name: &effect.name,
            measure: effect.measure.pointer,
            unit: effect.measure.unit,
            n: effect.difference.n(),
            a_mean: effect.a.mean(),
            b_mean: effect.b.mean(),
            difference_mean: effect.difference.mean(),
            difference_interval_95: effect
                .interval_95()
                .map(|interval| [interval.low, interval.high]),
            relative: effect.relative(),
            verdict: effect.verdict.words(),
            judgement: effect.judgement(),
            beyond_threshold: self.threshold.map(|share| effect.exceeds(share)),
        });
        let shares = self.shares.iter().map(|share| ShareDocument {
            flow: &share.flow,
            bound: &share.bound,
            a: share.a,
            b: share.b,
        });
        let settings = self.changes.iter().map(|change| ChangeDocument {
            path: &change.path,
            a: change.a.as_deref(),
            b: change.b.as_deref(),
        });
        let first = self.first().map(|(seed, first)| DivergenceDocument {
            seed,
            table: &first.table,
            row: first.row,
            time_s: first.time_s,
            column: &first.column,
            a: first.a.as_deref(),
            b: first.b.as_deref(),
        });
        CompareDocument {
            a: self.a.document(),
            b: self.b.document(),
            settings: settings.collect(),
            pairs: self.results.len(),
            counting: self.counting,
            diverging: self.diverging(),
            first_divergence: first,
            notes: &self.notes,
            left_out: &self.left_out,
            effects: effects.collect(),
            bound_share: shares.collect(),
            threshold: self.threshold,
            beyond_threshold: self.beyond().len(),
        }
    }
}

fn with_head(title: &str, rows: Rows) -> Rows {
    let heads = ["A", "B", "B − A", "95 % interval", "of A", ""];
    let head = [title].into_iter().chain(heads);
    let mut table = vec![head.map(str::to_owned).collect()];
    table.extend(rows);
    table
}

fn with_share_head(rows: Rows) -> Rows {
    let head = ["held back: flow", "by", "A", "B", "B − A"];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    table.extend(rows);
    table
}

/// Words in the first and last column are aligned to the left, numbers to the right.
fn aligned(rows: &Rows) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let align = format!("<{}<", ">".repeat(columns.saturating_sub(2)));
    text_table(rows, &align)
}

fn piped(rows: &Rows) -> String {
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let _ = writeln!(text, "| {} |", row.join(" | "));
        if number == 0 {
            let rule: String = row.iter().skip(1).map(|_| "--:|").collect();
            let _ = writeln!(text, "|---|{rule}");
        }
    }
    text
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn text(value: f64, unit: &str) -> String {
    match unit {
        "" => significant(value, 5),
        unit => format_value(value, unit),
    }
}

fn percent(share: f64) -> String {
    format!("{} %", significant(100.0 * share, 3))
}

fn signed_percent(share: f64) -> String {
    let sign = if share > 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(share))
}

//! The evaluation in words: what a reviewer reads first, a sentence for each difference, and the
//! text of the terminal.

use super::{Aspect, CaseResult, ChapterResult, Evaluation, LimitResult, MeasureResult};
use crate::theory::significant;
use crate::verdict::Verdict;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Significant digits of values.
const DIGITS: i32 = 3;
/// Broken limits that the first sentence names.
const NAMED_FAULTS: usize = 3;

/// What a candidate is called in tables and sentences: A is the controller under evaluation.
pub(super) fn letter(candidate: usize) -> char {
    char::from(b'A' + u8::try_from(candidate.min(25)).unwrap_or_default())
}

/// The letters of the others that have this verdict.
fn others_with(result: &MeasureResult, verdict: Verdict) -> String {
    let numbered = result.verdicts.iter().enumerate();
    let with = numbered.filter(|(_, one)| **one == verdict);
    let letters: Vec<_> = with
        .map(|(other, _)| letter(other + 1).to_string())
        .collect();
    and(&letters)
}

/// `B`, `B and C`, `B, C and D`.
fn and(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

pub(super) fn mean_text(mean: Option<f64>) -> String {
    mean.map_or_else(|| "none".to_owned(), |mean| significant(mean, DIGITS))
}

/// A measure in half a sentence: `goodput (CoDel), 12.1 against 18.5 (B) and 17.9 (C) Mbit/s`.
fn phrase(case: &CaseResult, result: &MeasureResult) -> String {
    let mut means = result.candidates.iter().map(|one| mean_text(one.mean));
    let subject = means.next().unwrap_or_default();
    let others: Vec<_> = (1..)
        .zip(means)
        .map(|(other, mean)| format!("{mean} ({})", letter(other)))
        .collect();
    let unit = if result.unit.is_empty() {
        String::new()
    } else {
        format!(" {}", result.unit)
    };
    let words = &result.words;
    format!(
        "{words} ({}), {subject} against {}{unit}",
        case.words,
        and(&others)
    )
}

impl ChapterResult {
    /// All measures, each with its case.
    fn results(&self) -> impl Iterator<Item = (&CaseResult, &MeasureResult)> {
        let cases = self.cases.iter();
        cases.flat_map(|case| case.results.iter().map(move |result| (case, result)))
    }

    /// How many measures have this verdict beside another.
    pub fn count(&self, other: usize, verdict: Verdict) -> usize {
        let has = |result: &MeasureResult| result.verdicts.get(other) == Some(&verdict);
        self.results().filter(|(_, result)| has(result)).count()
    }

    /// What is better, worse and untested, as sentences.
    pub fn in_words(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        for (verdict, word) in [
            (Verdict::Worse, "Worse than"),
            (Verdict::Missing, "Without a value, unlike"),
            (Verdict::Better, "Better than"),
        ] {
            let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for (case, result) in self.results().filter(|(_, result)| result.has(verdict)) {
                let others = others_with(result, verdict);
                groups.entry(others).or_default().push(phrase(case, result));
            }
            for (others, phrases) in groups {
                sentences.push(format!("{word} {others}: {}.", phrases.join("; ")));
            }
        }
        if sentences.is_empty() {
            sentences.push("No significant difference from the others.".to_owned());
        }
        if !self.chapter.untested.is_empty() {
            sentences.push(format!("Untested: {}.", self.chapter.untested));
        }
        sentences
    }
}

impl Evaluation {
    /// The safety limits that were tested, each with its chapter and case.
    pub fn limits(&self) -> Vec<(&ChapterResult, &CaseResult, &LimitResult)> {
        let mut limits = Vec::new();
        for chapter in &self.chapters {
            for case in &chapter.cases {
                limits.extend(case.limits.iter().map(|limit| (chapter, case, limit)));
            }
        }
        limits
    }

    /// What the controller does that is not safe, each with the place in RFC 9743.
    pub fn faults(&self) -> Vec<String> {
        let limits = self.limits().into_iter();
        limits
            .filter_map(|(chapter, _, limit)| {
                let fault = limit.fault.as_ref()?;
                Some(format!("{fault}, §{}", chapter.chapter.section))
            })
            .collect()
    }

    /// True if any measure is worse than another controller's, or has no value where it has one.
    pub fn is_worse(&self) -> bool {
        let mut results = self.chapters.iter().flat_map(ChapterResult::results);
        results.any(|(_, one)| one.has(Verdict::Worse) || one.has(Verdict::Missing))
    }

    fn name(&self, candidate: usize) -> &str {
        self.candidates.get(candidate).map_or("", String::as_str)
    }

    /// Whether the controller is safe, in a sentence.
    pub fn safety(&self) -> String {
        let (subject, faults) = (self.name(0), self.faults());
        let all = self.limits().len();
        if all == 0 {
            return format!("No safety limit was tested for {subject}.");
        }
        if faults.is_empty() {
            return format!("{subject} keeps all {all} safety limits.");
        }
        let named = faults[..faults.len().min(NAMED_FAULTS)].join("; it ");
        let more = match faults.len().saturating_sub(NAMED_FAULTS) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let broken = faults.len();
        format!(
            "{subject} is not safe: it breaks {broken} of {all} safety limits. It {named}{more}."
        )
    }

    /// Why controllers of the registry break the limits that this one breaks.
    pub fn known_reasons(&self) -> Vec<String> {
        let mut reasons: Vec<String> = Vec::new();
        for (_, _, limit) in self.limits() {
            let known = limit.known.iter().filter(|known| !reasons.contains(known));
            let known: Vec<_> = known.cloned().collect();
            reasons.extend(known);
        }
        reasons
    }

    /// The controller beside another, in a sentence, by the weight of what the chapters are about.
    fn beside(&self, other: usize) -> String {
        let mut parts = Vec::new();
        for aspect in [Aspect::Safety, Aspect::Fairness, Aspect::Performance] {
            let chapters = self.chapters.iter();
            let of: Vec<_> = chapters
                .filter(|one| one.chapter.aspect == aspect)
                .collect();
            let count = |verdict| -> usize { of.iter().map(|one| one.count(other, verdict)).sum() };
            let [better, worse, alike, missing] = [
                Verdict::Better,
                Verdict::Worse,
                Verdict::Alike,
                Verdict::Missing,
            ]
            .map(count);
            let all = better + worse + alike + missing;
            if all == 0 {
                continue;
            }
            let word = aspect.word();
            if better + worse + missing == 0 {
                parts.push(format!("{word} alike"));
                continue;
            }
            let mut worst: Vec<_> = of
                .iter()
                .map(|one| (one.count(other, Verdict::Worse), &one.chapter.title))
                .filter(|(worse, _)| *worse > 0)
                .collect();
            worst.sort_by_key(|(worse, _)| usize::MAX - worse);
            let most = worst.first().map_or(String::new(), |(worse, title)| {
                format!(", worst in \"{title}\" ({worse})")
            });
            let without = match missing {
                0 => String::new(),
                missing => format!(", without a value in {missing}"),
            };
            parts.push(format!(
                "{word} worse in {worse} and better in {better} of {all} measures{without}{most}"
            ));
        }
        let (letter, name) = (letter(other + 1), self.name(other + 1));
        format!("Beside {letter} ({name}): {}.", parts.join("; "))
    }

    /// What a reviewer would write, in a few sentences: safety, then each of the others.
    pub fn headline(&self) -> Vec<String> {
        let others = 0..self.candidates.len().saturating_sub(1);
        let first = [self.safety()].into_iter();
        first
            .chain(others.map(|other| self.beside(other)))
            .collect()
    }

    /// The letters of the candidates, in a line.
    pub fn legend(&self) -> String {
        let names = self.candidates.iter().enumerate();
        let names: Vec<_> = names
            .map(|(number, name)| format!("{} = {name}", letter(number)))
            .collect();
        names.join(", ")
    }

    /// For a terminal: the headline, the limits that are broken, and the differences by chapters.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for sentence in self.headline() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{sentence}");
        }
        for reason in self.known_reasons() {
            let _ = writeln!(text, "Known: {reason}");
        }
        let seeds = self.seeds;
        let _ = writeln!(text, "\n{}; {}; {seeds} seeds", self.title, self.legend());
        for chapter in &self.chapters {
            let about = &chapter.chapter;
            let _ = writeln!(text, "\n{} {} [{}]", about.section, about.title, about.id);
            let faults = chapter.cases.iter().flat_map(|case| &case.limits);
            for fault in faults.filter_map(|limit| limit.fault.as_ref()) {
                let _ = writeln!(text, "  Not safe: it {fault}.");
            }
            for sentence in chapter.in_words() {
                let _ = writeln!(text, "  {sentence}");
            }
        }
        text
    }
}

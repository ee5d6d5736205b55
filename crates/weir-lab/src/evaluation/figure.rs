//! The figures: one of all chapters, and for each chapter one of a measure: a row a case, a dot a
//! run, a mark a mean.

use super::words::letter;
use super::{ChapterResult, Evaluation, MeasureResult};
use crate::report::{Axis, Colour, NamedPlot, Plot, PlotLayer, Shape};
use crate::verdict::Verdict;

/// Height of a case in pixels.
const ROW: f64 = 46.0;
/// Height of a chapter in pixels.
const OVERVIEW_ROW: f64 = 26.0;
/// Characters of a case's name.
const MOST_CHARACTERS: usize = 52;

/// A case that has the measure of the figure.
struct Row<'a> {
    name: String,
    result: &'a MeasureResult,
}

/// The heights of so many rows, from the top.
fn heights(rows: usize) -> impl Iterator<Item = f64> {
    (1..=rows).rev().map(|height| height as f64)
}

impl Evaluation {
    /// The figures, one a chapter that has its measure.
    pub fn figures(&self) -> Vec<NamedPlot> {
        let chapters = self.chapters.iter();
        let of_chapters = chapters.filter_map(|chapter| self.figure(chapter));
        self.overview_figure()
            .into_iter()
            .chain(of_chapters)
            .collect()
    }

    /// A row a chapter: the share of its judged measures in which the controller is better than
    /// another, to the right, and worse, to the left; `None` without another.
    pub(super) fn overview_figure(&self) -> Option<NamedPlot> {
        let others = self
            .candidates
            .len()
            .checked_sub(1)
            .filter(|others| *others > 0)?;
        let rows = self.chapters.len();
        let names = heights(rows).zip(self.chapters.iter().map(|one| {
            let about = &one.chapter;
            format!("{} {}", about.section, about.title)
        }));
        let label = "worse ← % of the measures → better";
        let x = Axis::linear(label, "%").within(-100.0, 100.0);
        let y = Axis::linear("", "")
            .within(0.5, rows as f64 + 0.5)
            .named(&names.collect::<Vec<_>>());
        let title = format!("{} beside others, chapter by chapter", self.candidates[0]);
        let mut plot = Plot::new(&title, x, y);
        plot.height = 40.0 + OVERVIEW_ROW * rows as f64;
        plot = plot.with("", Colour::BESIDE, Shape::Upright(0.0));
        for other in 0..others {
            let mut marks = Vec::new();
            for (chapter, height) in self.chapters.iter().zip(heights(rows)) {
                let height = height + offset(other, others);
                let count = |verdict| chapter.count(other, verdict) as f64;
                let (better, worse) = (count(Verdict::Better), count(Verdict::Worse));
                let worse = worse + count(Verdict::Missing);
                let all = better + worse + count(Verdict::Alike);
                if all > 0.0 {
                    marks.extend([better, -worse].map(|some| (100.0 * some / all, height)));
                }
            }
            let name = format!(
                "beside {} ({})",
                letter(other + 1),
                self.candidates[other + 1]
            );
            let layer = PlotLayer::new(&name, Colour(other + 1), Shape::Marks(marks));
            plot = plot.with_layer(layer.curve(other + 1));
        }
        let caption = "Two marks a chapter and controller: the measures in which A is worse, and \
                       those in which it is better. Both stand at zero where nothing differs.";
        Some(NamedPlot::new("overview", caption, plot))
    }

    /// The figure of a chapter; `None` if no case has its measure.
    pub(super) fn figure(&self, chapter: &ChapterResult) -> Option<NamedPlot> {
        let cases = chapter.cases.iter().enumerate();
        let rows = cases.filter_map(|(index, case)| {
            let mut results = case.results.iter();
            let result = results.find(|one| one.name == chapter.chapter.figure)?;
            let name = name(index, &case.words);
            Some(Row { name, result })
        });
        let rows: Vec<Row<'_>> = rows.collect();
        let first = rows.first()?.result;
        let unit = &first.unit;
        let label = if unit.is_empty() {
            first.words.clone()
        } else {
            format!("{}, {unit}", first.words)
        };
        let samples = rows.iter().flat_map(|row| &row.result.candidates);
        let values: Vec<f64> = samples
            .flat_map(|one| &one.runs)
            .flatten()
            .copied()
            .collect();
        let x = Axis::linear(&label, unit)
            .from_zero()
            .by_range(values.iter().copied());
        let names = heights(rows.len()).zip(rows.iter().map(|row| row.name.clone()));
        let y = Axis::linear("", "")
            .within(0.5, rows.len() as f64 + 0.5)
            .named(&names.collect::<Vec<_>>());
        let title = format!("{}: {}", chapter.chapter.title, first.words);
        let mut plot = Plot::new(&title, x, y);
        plot.height = 60.0 + ROW * rows.len() as f64;
        let count = self.candidates.len();
        for (number, name) in self.candidates.iter().enumerate() {
            let name = format!("{} ({name})", letter(number));
            for layer in layers(number, count, &name, &rows) {
                plot = plot.with_layer(layer);
            }
        }
        let mut caption = format!(
            "A row a case, as in the table; small dots are the runs of {} seeds, large \
             marks their means.",
            self.seeds
        );
        if rows.len() < chapter.cases.len() {
            caption.push_str(" Cases without this measure are in the table alone.");
        }
        Some(NamedPlot::new(&chapter.chapter.id, &caption, plot))
    }
}

/// The name of a case on the axis: its number in the table, and its words as far as there is room.
fn name(index: usize, words: &str) -> String {
    let mut name = format!("{}", index + 1);
    for word in words.split(' ') {
        if name.chars().count() + word.chars().count() >= MOST_CHARACTERS {
            name.push_str(" …");
            break;
        }
        name.push(' ');
        name.push_str(word);
    }
    name
}

/// How far the marks of a controller stand above the line of their row.
fn offset(number: usize, count: usize) -> f64 {
    0.22 * ((count as f64 - 1.0) / 2.0 - number as f64)
}

/// The runs and the means of one controller, a little above or below the line of their case.
fn layers(number: usize, count: usize, name: &str, rows: &[Row<'_>]) -> [PlotLayer; 2] {
    let offset = offset(number, count);
    let (mut runs, mut means) = (Vec::new(), Vec::new());
    for (row, height) in rows.iter().zip(heights(rows.len())) {
        let height = height + offset;
        if let Some(sample) = row.result.candidates.get(number) {
            runs.extend(sample.runs.iter().flatten().map(|value| (*value, height)));
            means.extend(sample.mean.map(|mean| (mean, height)));
        }
    }
    let colour = Colour(number);
    [
        PlotLayer::new("", colour, Shape::Scatter(runs)),
        PlotLayer::new(name, colour, Shape::Marks(means)).curve(number),
    ]
}

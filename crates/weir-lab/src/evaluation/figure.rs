//! The figure of a chapter: one measure, a row a case, a dot a run and a mark a mean.

use super::{ChapterResult, Evaluation, MeasureResult};
use crate::report::{Axis, Colour, NamedPlot, Plot, PlotLayer, Shape};

/// Height of a case in pixels.
const ROW: f64 = 46.0;
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
        let figures = self
            .chapters
            .iter()
            .filter_map(|chapter| self.figure(chapter));
        figures.collect()
    }

    /// The figure of a chapter; `None` if no case has its measure.
    pub(super) fn figure(&self, chapter: &ChapterResult) -> Option<NamedPlot> {
        let cases = chapter.cases.iter().enumerate();
        let rows = cases.filter_map(|(place, case)| {
            let mut results = case.results.iter();
            let result = results.find(|one| one.name == chapter.chapter.figure)?;
            let name = name(place, &case.words);
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
            for layer in layers(number, count, name, &rows) {
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
fn name(place: usize, words: &str) -> String {
    let mut name = format!("{}", place + 1);
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

/// The runs and the means of one controller, a little above or below the line of their case.
fn layers(number: usize, count: usize, name: &str, rows: &[Row<'_>]) -> [PlotLayer; 2] {
    let offset = 0.22 * ((count as f64 - 1.0) / 2.0 - number as f64);
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

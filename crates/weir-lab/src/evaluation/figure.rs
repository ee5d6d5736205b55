//! The figure of a chapter: one measure, a row a case, a dot a run and a mark a mean.

use super::{ChapterResult, Evaluation, MeasureResult};
use crate::report::{Axis, Colour, NamedPlot, Plot, PlotLayer, Shape};

/// Height of a case in pixels.
const ROW: f64 = 46.0;
/// Characters of a case's name.
const MOST_CHARACTERS: usize = 42;

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
        let shown = cases.filter_map(|(place, case)| {
            let result = case.results.iter();
            let result = result
                .into_iter()
                .find(|one| one.name == chapter.chapter.figure)?;
            Some((chapter.cases.len() - place, result))
        });
        let shown: Vec<(usize, &MeasureResult)> = shown.collect();
        let (_, first) = shown.first()?;
        let unit = &first.unit;
        let label = if unit.is_empty() {
            first.words.clone()
        } else {
            format!("{}, {unit}", first.words)
        };
        let runs = |(_, result): &(usize, &MeasureResult)| {
            let runs = result.candidates.iter().flat_map(|one| one.runs.clone());
            runs.flatten().collect::<Vec<_>>()
        };
        let values: Vec<f64> = shown.iter().flat_map(runs).collect();
        let x = Axis::linear(&label, unit)
            .from_zero()
            .by_range(values.iter().copied());
        let rows = chapter.cases.len() as f64;
        let names = chapter.cases.iter().enumerate();
        let names = names.map(|(place, case)| (rows - place as f64, name(place, &case.words)));
        let y = Axis::linear("", "")
            .within(0.5, rows + 0.5)
            .named(&names.collect::<Vec<_>>());
        let title = format!("{}: {}", chapter.chapter.title, first.words);
        let mut plot = Plot::new(&title, x, y);
        plot.height = 60.0 + ROW * rows;
        let count = self.candidates.len();
        for (number, name) in self.candidates.iter().enumerate() {
            for layer in layers(number, count, name, &shown) {
                plot = plot.with_layer(layer);
            }
        }
        let caption = format!(
            "A row a case, as in the table; small dots are the runs of {} seeds, large \
             marks their means.",
            self.seeds
        );
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
fn layers(
    number: usize,
    count: usize,
    name: &str,
    shown: &[(usize, &MeasureResult)],
) -> [PlotLayer; 2] {
    let offset = 0.22 * ((count as f64 - 1.0) / 2.0 - number as f64);
    let (mut runs, mut means) = (Vec::new(), Vec::new());
    for (case, result) in shown {
        let height = *case as f64 + offset;
        if let Some(sample) = result.candidates.get(number) {
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

//! Theory and statistics, computed by `weir-lab`.

use crate::errors::exception;
use pyo3::prelude::*;
use serde_json::json;
use weir_lab::comparison::{Effect, HEADLINE, Headline, judge};
use weir_lab::replication::Sample;
use weir_lab::report::palette as report_palette;
use weir_lab::theory::{LAWS, evaluate, format_digits};

/// A number as the command prints it, with a prefix of its unit and four significant digits.
#[pyfunction]
pub fn shown(value: f64, unit: &str) -> String {
    format_digits(value, unit, 4)
}

/// The colours of flows and curves in reports: on white, and on black.
#[pyfunction]
pub fn palette() -> (Vec<&'static str>, Vec<&'static str>) {
    let [light, dark] = report_palette();
    (light.to_vec(), dark.to_vec())
}

/// All laws with their parameters and results, as JSON.
#[pyfunction]
pub fn laws() -> String {
    let laws = LAWS.iter().map(|law| {
        let parameters = law.parameters.iter().map(|parameter| {
            json!({
                "name": parameter.name,
                "doc": parameter.describe,
                "default": parameter.default,
            })
        });
        let results = law.results.iter().map(
            |result| json!({ "name": result.name, "unit": result.unit, "doc": result.describe }),
        );
        json!({
            "name": law.name,
            "doc": law.describe,
            "equation": law.equation,
            "source": law.source,
            "valid": law.valid,
            "parameters": parameters.collect::<Vec<_>>(),
            "results": results.collect::<Vec<_>>(),
        })
    });
    json!(laws.collect::<Vec<_>>()).to_string()
}

/// Evaluates a law: the name and value of each result.
#[pyfunction]
pub fn theory(
    py: Python<'_>,
    name: &str,
    arguments: Vec<(String, String)>,
) -> PyResult<Vec<(&'static str, f64)>> {
    let pairs = arguments.iter().map(|(name, text)| (&**name, &**text));
    let lines = evaluate(name, &pairs.collect::<Vec<_>>());
    let lines = lines.map_err(|error| exception(py, "TheoryError", &error.to_string(), None))?;
    Ok(lines.iter().map(|line| (line.name, line.value)).collect())
}

/// Mean, standard error and the ends of the 95 % confidence interval of some values.
type Estimate = (Option<f64>, Option<f64>, Option<f64>, Option<f64>);

fn estimate(sample: &Sample) -> Estimate {
    let interval = sample.interval_95();
    (
        sample.mean(),
        sample.standard_error(),
        interval.map(|interval| interval.low),
        interval.map(|interval| interval.high),
    )
}

/// Mean, standard error and the ends of the 95 % confidence interval of some values; `None` if
/// there are too few values.
#[pyfunction]
pub fn sample(values: Vec<f64>) -> Estimate {
    estimate(&values.into_iter().collect())
}

/// Compares two unpaired samples (Welch): the mean of B minus that of A, its standard error and the
/// ends of its 95 % confidence interval.
#[pyfunction]
pub fn welch(a: Vec<f64>, b: Vec<f64>) -> Estimate {
    let [a, b]: [Sample; 2] = [a, b].map(|side| side.into_iter().collect());
    let difference = a.mean().zip(b.mean()).map(|(a, b)| b - a);
    let interval = a.welch_interval_95(&b);
    (
        difference,
        a.welch_standard_error(&b),
        interval.map(|interval| interval.low),
        interval.map(|interval| interval.high),
    )
}

/// Compares measures of A with those of B, pair by pair and with Holm's procedure over all
/// measures: for each the means of both sides, the mean difference B − A with its standard error
/// and 95 % confidence interval, the difference as a share of A, and the verdict.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a row of a table")]
pub fn compare(
    measures: Vec<(String, String, Vec<f64>, Vec<f64>)>,
) -> Vec<(
    Option<f64>,
    Option<f64>,
    Estimate,
    Option<f64>,
    &'static str,
)> {
    let paired = |(name, measure, a, b): (String, String, Vec<f64>, Vec<f64>)| {
        let sides = [a, b].map(|side| side.into_iter().collect::<Sample>());
        Effect::paired("flow", &name, headline(&measure), sides)
    };
    let mut effects: Vec<Option<Effect>> = measures.into_iter().map(paired).collect();
    let mut known: Vec<Effect> = effects.iter().flatten().cloned().collect();
    judge(&mut known);
    let mut known = known.into_iter();
    let rows = effects
        .iter_mut()
        .map(|effect| match effect.as_ref().and_then(|_| known.next()) {
            None => (None, None, (None, None, None, None), None, "not comparable"),
            Some(effect) => (
                effect.a.mean(),
                effect.b.mean(),
                estimate(&effect.difference),
                effect.relative(),
                effect.verdict.words(),
            ),
        });
    rows.collect()
}

/// The measure whose column has this name, or else the first one: only its preferred direction is
/// used.
fn headline(column: &str) -> Headline {
    let known = HEADLINE
        .iter()
        .find(|known| known.pointer.replace('/', "_") == column);
    known.copied().unwrap_or(HEADLINE[0])
}

//! What a document leaves open, as `published.toml` lists it: variants, and the scan for them.

use crate::sweep::{Design, Parameter};
use crate::toml_file::{Invalid, pair};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// A set of values that the document leaves open.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// A short name, unique in the file.
    pub name: String,
    /// Values that differ from the scenario's, as on the command line; those of a run take
    /// precedence.
    pub set: Vec<String>,
}

/// The search for variants in which the required rows lie within their tolerances.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scan {
    /// A short name, unique in the file.
    pub name: String,
    /// The choice of the points.
    #[serde(default)]
    pub design: Design,
    /// The number of points.
    pub points: u64,
    /// The seed of the design; runs have seeds of their own.
    #[serde(default)]
    pub design_seed: u64,
    /// The first and last seed of the runs, beyond those that judge.
    #[serde(deserialize_with = "seeds")]
    pub seeds: [u32; 2],
    /// What varies.
    #[serde(rename = "parameter", default)]
    pub parameters: Vec<Parameter>,
}

fn seeds<'de, D: Deserializer<'de>>(input: D) -> Result<[u32; 2], D::Error> {
    pair(input)
}

impl Scan {
    pub(super) fn check(&self, judging: u32) -> Result<(), Invalid> {
        for (number, parameter) in self.parameters.iter().enumerate() {
            parameter
                .check()
                .map_err(|wrong| wrong.element("parameter", number))?;
        }
        let [first, last] = self.seeds;
        if first <= judging || last < first {
            let message = format!(
                "seeds must lie beyond the {judging} seeds that judge, found [{first}, {last}]"
            );
            return Err(Invalid::key("seeds", message));
        }
        if self.design == Design::Grid {
            let message = "a scan draws its points, expected design = \"random\", \
                           \"latin-hypercube\" or \"sobol\"";
            return Err(Invalid::key("design", message));
        }
        if !(1..=MAX_POINTS).contains(&self.points) {
            let message = format!("points = {}, expected 1 to {MAX_POINTS}", self.points);
            return Err(Invalid::key("points", message));
        }
        Ok(())
    }

    /// The points of the design, named by their number.
    pub(super) fn variants(&self) -> Result<Vec<Variant>, Invalid> {
        let points = self
            .design
            .points(self.parameters.len(), self.points, self.design_seed);
        let variant = |(number, places): (usize, Vec<f64>)| {
            let settings = self.parameters.iter().zip(&places);
            let set = settings.map(|(parameter, place)| {
                let setting = parameter.at(*place)?;
                Some(setting.set.text())
            });
            let set: Option<Vec<String>> = set.collect();
            let set = set.ok_or_else(|| Invalid::here("a parameter of the scan has no value"))?;
            Ok(Variant {
                name: format!("{}", number + 1),
                set,
            })
        };
        points.into_iter().enumerate().map(variant).collect()
    }
}

/// The maximum number of points of a scan.
const MAX_POINTS: u64 = 100_000;

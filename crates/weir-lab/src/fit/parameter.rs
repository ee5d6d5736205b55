//! A parameter of a fitted path, with how it was found.

use schemars::JsonSchema;
use serde::Serialize;

/// A parameter of a fitted path.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Parameter {
    /// Its key in the scenario, such as `link.path.forward.rate`.
    pub name: String,
    /// Its value as the scenario writes it.
    pub value: String,
    /// How it was found.
    pub how: String,
}

impl Parameter {
    pub(super) fn new(name: &str, value: impl Into<String>, how: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            value: value.into(),
            how: how.into(),
        }
    }
}

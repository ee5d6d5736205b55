//! Scenario files: TOML with units, and errors that show the place.

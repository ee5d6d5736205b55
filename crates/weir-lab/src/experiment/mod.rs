//! Published experiments: what was published, what was measured, and the verdict.

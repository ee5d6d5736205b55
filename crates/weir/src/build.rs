//! The identity of this program: its version and the commit of its source.

/// The commit of the source, with the suffix `-dirty` if files were changed; `None` outside of a
/// repository.
pub fn commit() -> Option<String> {
    option_env!("WEIR_COMMIT").map(str::to_owned)
}

/// The version as `--version` prints it.
pub const VERSION: &str = match option_env!("WEIR_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

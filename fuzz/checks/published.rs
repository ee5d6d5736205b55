//! Arbitrary text as `published.toml`: no input panics, and rejected text gives a reason.

use weir_lab::experiment::Published;

pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Err(error) = Published::parse("published.toml", text) {
        assert!(!error.to_string().is_empty());
    }
}

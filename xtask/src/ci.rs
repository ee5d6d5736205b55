//! Everything that a change must pass: `test.sh`, which holds the list of the checks.

use std::path::Path;
use std::process::Command;

/// True when every step of the script has passed.
pub fn run(root: &Path) -> Result<bool, String> {
    let status = Command::new("./test.sh").current_dir(root).status();
    status
        .map(|status| status.success())
        .map_err(|error| format!("./test.sh: {error}"))
}

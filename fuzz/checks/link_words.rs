//! Arbitrary text as a link in the syntax of `tc`: no input panics, and rejected text gives a
//! reason.

use weir_lab::scenario::link_scenario;

pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    // `mahimahi` names a file, which the check must not open.
    if text.contains("mahimahi") {
        return;
    }
    for backward in [None, Some("delay 1ms")] {
        match link_scenario(text, backward, 1) {
            Ok(scenario) => assert_eq!(scenario.links.len(), 1),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

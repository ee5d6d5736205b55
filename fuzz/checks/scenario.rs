//! Arbitrary text as a scenario: no input panics, an error has a message, and the resolved text of
//! an accepted scenario is read as the same scenario.

use weir_lab::scenario::parse;

pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match parse(text, "fuzz.toml") {
        Ok(scenario) => {
            let resolved = scenario.resolved_toml();
            let again = parse(&resolved, "resolved.toml").expect("a resolved scenario is valid");
            assert_eq!(again.resolved_toml(), resolved);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

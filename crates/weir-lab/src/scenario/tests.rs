use super::*;

const SMALL: &str = r#"
[run]
duration = "10s"

[[link]]
name = "wire"
between = ["a", "b"]
rate = "10Mbit"
delay = "5ms"

[[flow]]
name = "f"
from = "a"
to = "b"
transport = { kind = "quic" }
"#;

#[test]
fn fills_in_every_default_and_reads_its_own_output() {
    let scenario = parse(SMALL, "small.toml").unwrap();
    let resolved = scenario.resolved_toml();
    println!("{resolved}");
    let again = parse(&resolved, "resolved.toml").unwrap();
    assert_eq!(again, scenario);
    assert_eq!(again.resolved_toml(), resolved);
}

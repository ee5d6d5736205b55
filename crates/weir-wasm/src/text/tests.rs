//! The answers as JavaScript gets them.

use super::*;

const TOML: &str = "[run]\nduration = \"2s\"\n[[link]]\nname = \"path\"\nbetween = [\"a\", \"b\"]\n\
     rate = \"1Mbit\"\ndelay = \"5ms\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
     transport = \"tcp\"\n";

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn an_error_has_its_place_and_a_remark_its_setting() {
    let text = TOML.replace("1Mbit", "1Mbot");
    let problems = parsed(&check(&text, "{}").expect("problems"));
    let problem = &problems[0];
    assert_eq!(problem["severity"], "error", "{problems}");
    let place = ["line", "column", "endLine", "endColumn"].map(|key| problem[key].clone());
    assert_eq!(place, [6, 8, 6, 15].map(Value::from));
    let text = TOML.replace(
        "delay = \"5ms\"",
        "delay = \"5ms\"\nqueue = { kind = \"droptail\", limit = 1 }",
    );
    let problems = parsed(&check(&text, "").expect("problems"));
    let remark = problems.as_array().expect("a list").iter();
    let remark = remark.clone().find(|remark| remark["rule"] == "queue");
    let remark = remark.expect("a remark about the queue");
    assert_eq!(
        (&remark["severity"], &remark["line"]),
        (&"remark".into(), &8.into())
    );
}

#[test]
fn a_file_that_was_not_given_is_an_error() {
    let text = TOML.replace("rate = \"1Mbit\"", "rate_trace = \"lte.trace\"");
    let problems = parsed(&check(&text, "{}").expect("problems"));
    let message = problems[0]["message"].as_str().expect("a message");
    assert!(
        message.contains("it was not given with the scenario"),
        "{message}"
    );
    let files = r#"{ "lte.trace": "1\n2\n3\n" }"#;
    let problems = parsed(&check(&text, files).expect("problems"));
    let mut list = problems.as_array().expect("a list").iter();
    assert!(
        list.all(|problem| problem["severity"] == "remark"),
        "{problems}"
    );
}

#[test]
fn settings_change_the_text_and_values_say_whether_they_are_written() {
    let changed = set(TOML, r#"[["link.path.rate", "4Mbit"]]"#).expect("a text");
    assert_eq!(changed, TOML.replace("1Mbit", "4Mbit"));
    let rate = parsed(&value(&changed, "link.path.rate", "").expect("a value"));
    let expected = object!({ "text": "4Mbit", "number": 4e6, "unit": "bit/s", "written": true });
    assert_eq!(rate, expected);
    let seed = parsed(&value(&changed, "run.seed", "").expect("a value"));
    assert_eq!(
        (&seed["number"], &seed["written"]),
        (&1.0.into(), &false.into())
    );
    assert_eq!(value(&changed, "run.nothing", "").expect("a value"), "null");
    assert!(set(TOML, "[[1]]").is_err());
}

#[test]
fn a_law_takes_numbers_and_texts() {
    let numbers = r#"{ "s": 1460, "rtt": 0.1, "p": 0.01 }"#;
    let texts = r#"{ "s": "1460", "rtt": "100ms", "p": "1%" }"#;
    let law = "tfrc";
    assert_eq!(theory(law, numbers), theory(law, texts));
    assert!(theory(law, numbers).is_ok(), "{:?}", theory(law, numbers));
    assert!(theory("nothing", "{}").is_err());
    let laws = parsed(&laws());
    assert_eq!(laws.as_array().map(Vec::len), Some(LAWS.len()));
}

#[test]
fn every_column_of_every_table_is_declared() {
    let columns = parsed(&columns());
    let columns = columns.as_array().expect("a list");
    let count: usize = table_kinds().iter().map(|kind| kind.columns.len()).sum();
    assert_eq!(columns.len(), count);
    let cwnd = columns
        .iter()
        .find(|column| column["name"] == "cwnd_bytes")
        .expect("a column");
    assert_eq!(
        (&cwnd["table"], &cwnd["unit"]),
        (&"flows/NAME".into(), &"bytes".into())
    );
    assert!(cwnd["label"]["axis"].is_string());
}

//! Following packets changes nothing of a run, and their ways are those that its other tables show.

use serde_json::{Value, json};
use weir_lab::run::{RunOptions, StageSpan, TraceLevel, run};
use weir_lab::scenario::parse;
use weir_lab::table::Table;
use weir_proto::time::Instant;
use weir_wasm::LiveRun;

const PLAIN: &str = "[run]\nduration = \"4s\"\n[[link]]\nname = \"path\"\nbetween = [\"a\", \"b\"]\n\
     rate = \"1Mbit\"\ndelay = \"10ms\"\nqueue = { kind = \"droptail\", limit = 10 }\n\
     [[flow]]\nname = \"bulk\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"tcp\"\n";
const AIR: &str = "[run]\nduration = \"2s\"\n[[link]]\nname = \"path\"\nbetween = [\"a\", \"b\"]\n\
     rate = \"100Mbit\"\ndelay = \"10ms\"\n[[wifi]]\nname = \"air\"\nstandard = \"g\"\n\
     station = [{ host = \"b\" }, { host = \"c\" }]\n[[flow]]\nname = \"bulk\"\nfrom = \"a\"\n\
     to = \"c\"\ntransport = \"tcp\"\n";

fn span(max_rows: u64) -> StageSpan {
    StageSpan {
        from: Instant::ZERO,
        to: Instant::FAR_FUTURE,
        max_rows,
    }
}

fn options(stages: Option<StageSpan>) -> RunOptions<'static> {
    RunOptions {
        trace: TraceLevel::Full,
        stages,
        ..RunOptions::default()
    }
}

#[test]
fn a_run_is_the_same_with_its_packets_followed() {
    let lossy = PLAIN.replace(
        "queue = {",
        "loss = { kind = \"random\", rate = 0.02 }\nqueue = {",
    );
    let codel = PLAIN.replace("\"droptail\", limit = 10", "\"codel\"");
    let quic = PLAIN.replace("\"tcp\"", "\"quic\"");
    for text in [PLAIN, &lossy, &codel, &quic, AIR] {
        let scenario = parse(text, "a.toml").expect(text);
        let without = run(&scenario, &options(None)).expect("a run");
        let mut with = run(&scenario, &options(Some(span(100_000)))).expect("a run");
        assert!(
            with.stages
                .take()
                .is_some_and(|stages| stages.table.rows() > 100),
            "{text}"
        );
        assert_eq!(with, without, "{text}");
    }
}

/// The rows of a table of ways in which these columns have these words.
fn rows(table: &Table, wanted: &[(&str, &str)]) -> Vec<usize> {
    let has = |row: usize| {
        wanted.iter().all(|(column, word)| {
            table
                .words(column)
                .is_some_and(|words| *words[row] == **word)
        })
    };
    (0..table.rows()).filter(|row| has(*row)).collect()
}

#[test]
fn the_ways_of_packets_are_those_of_the_summary() {
    for text in [
        PLAIN.to_owned(),
        PLAIN.replace("\"droptail\", limit = 10", "\"codel\""),
    ] {
        let scenario = parse(&text, "a.toml").expect("a scenario");
        let output = run(&scenario, &options(Some(span(100_000)))).expect("a run");
        let stages = output.stages.expect("ways");
        assert_eq!(stages.left_out_from, None);
        let table = stages.table;
        let link = &output.summary.links["path"];
        let on_path = rows(&table, &[("link", "path"), ("from", "sender")]);
        let times = |column: &str| table.numbers(column).expect("numbers");
        let (entered, started) = (times("entered_s"), times("started_s"));
        let (left, arrives) = (times("left_s"), times("arrives_s"));
        let dropped = on_path
            .iter()
            .filter(|row| times("dropped_s")[**row].is_finite());
        assert_eq!(dropped.count() as u64, link.drops, "{text}");
        let carried: Vec<usize> = on_path
            .iter()
            .copied()
            .filter(|row| arrives[*row].is_finite())
            .collect();
        assert!(carried.len() > 200, "{}", carried.len());
        for row in &carried {
            // 1 Mbit/s is 8 µs an octet, and the wire takes 10 ms.
            let octets = table.as_numbers("size_bytes").expect("sizes")[*row];
            assert!(entered[*row] <= started[*row]);
            assert!((left[*row] - started[*row] - octets * 8e-6).abs() < 2e-9);
            assert!((arrives[*row] - left[*row] - 0.01).abs() < 2e-9);
        }
        // One packet after the other.
        assert!(
            carried
                .windows(2)
                .all(|pair| left[pair[0]] <= started[pair[1]] + 2e-9)
        );
        let back = rows(
            &table,
            &[("from", "receiver"), ("content", "acknowledgement")],
        );
        assert!(back.len() > 50, "{}", back.len());
        let data = rows(&table, &[("link", "path"), ("content", "data")]);
        assert!(
            data.len() * 10 > on_path.len() * 9,
            "{} of {}",
            data.len(),
            on_path.len()
        );
    }
}

#[test]
fn frames_on_the_air_do_not_overlap_unless_they_collide() {
    let scenario = parse(AIR, "a.toml").expect("a scenario");
    let output = run(&scenario, &options(Some(span(100_000)))).expect("a run");
    let table = output.stages.expect("ways").table;
    let air = rows(&table, &[("link", "air.b"), ("from", "sender")]);
    let times = |column: &str| table.numbers(column).expect("numbers");
    let (started, left) = (times("started_s"), times("left_s"));
    // The others were dropped from the queue.
    let sent = air.into_iter().filter(|row| started[*row].is_finite());
    let air: Vec<usize> = sent.collect();
    assert!(air.len() > 100, "{}", air.len());
    assert!(air.windows(2).all(|pair| left[pair[0]] <= started[pair[1]]));
}

#[test]
fn memory_is_bounded_and_a_part_can_be_asked_for() {
    let part = |packets: Value| {
        let options = json!({ "packets": packets });
        let mut live = LiveRun::new(PLAIN, &options.to_string()).expect("a run");
        live.advance(u32::MAX).expect("time passes");
        let run = live.finish().expect("a result");
        let tables: Value = serde_json::from_str(&run.stages()).expect("JSON");
        (tables[0]["rows"].as_u64(), run.left_out_from_s())
    };
    let (rows, left_out) = part(json!({ "maxRows": 100 }));
    assert_eq!(rows, Some(100));
    assert!(
        left_out.is_some_and(|at| at > 0.0 && at < 4.0),
        "{left_out:?}"
    );
    let (all, none) = part(json!({}));
    let (second, _) = part(json!({ "fromS": 1.0, "toS": 2.0 }));
    assert_eq!(none, None);
    assert!(
        second > Some(0) && second < all.map(|all| all / 2),
        "{second:?} of {all:?}"
    );
}

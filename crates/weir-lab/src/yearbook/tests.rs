use super::*;
use std::fs;

const REORDERING: &str = "reordering";

fn yearbook(names: &[&str], out: &Path) -> Yearbook {
    let candidates: Vec<_> = names
        .iter()
        .map(|name| Candidate::parse(name).unwrap_or_else(|error| panic!("{error}")))
        .collect();
    let imprint = Imprint {
        date: "2026-11-29".to_owned(),
        version: "1.2.3".to_owned(),
        commit: None,
    };
    let chapters = ["collapse".to_owned(), REORDERING.to_owned()];
    let options = Options {
        registry: TransportRegistry::default(),
        size: Size::Quick,
        chapters: &chapters,
        seeds: 2,
        cases: false,
        cancel: None,
        progress: &|_, _, _| {},
    };
    let made = make_yearbook(&candidates, imprint, out, &options);
    made.unwrap_or_else(|error| panic!("{error}")).0
}

#[test]
fn controllers_stand_beside_cubic_with_the_same_transport_and_ecn() {
    let names = [
        "quic:newreno",
        "quic:prague",
        "dccp:3",
        "tcp:cubic",
        "tcp:bbr",
    ];
    let candidates: Vec<_> = names
        .iter()
        .map(|name| Candidate::parse(name).unwrap_or_else(|error| panic!("{error}")))
        .collect();
    let rows = with_references(&candidates).unwrap();
    let rows: Vec<_> = rows
        .iter()
        .map(|(one, reference)| (one.name.as_str(), reference.as_deref()))
        .collect();
    let expected = [
        ("quic:cubic", None),
        ("quic:newreno", Some("quic:cubic")),
        ("quic:cubic,ecn=true", None),
        ("quic:prague", Some("quic:cubic,ecn=true")),
        ("tcp:cubic", None),
        ("dccp:3", Some("tcp:cubic")),
        ("tcp:bbr", Some("tcp:cubic")),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_row_is_what_the_evaluation_of_its_controller_says() {
    let folder = tempfile::tempdir().unwrap();
    let book = yearbook(&["tcp:newreno"], folder.path());
    assert_eq!(book.json(), yearbook_of_file(folder.path()).json());
    let [reference, newreno] = book.entries.as_slice() else {
        panic!("{:?}", book.entries);
    };
    assert_eq!(reference.reference, None);
    assert_eq!(newreno.reference.as_deref(), Some("tcp:cubic"));

    let suite = Suite::rfc9743().unwrap();
    let suite = suite.sized(Size::Quick, &<_>::default()).unwrap();
    let suite = suite
        .only(&["collapse".to_owned(), REORDERING.to_owned()])
        .unwrap();
    let subject = Candidate::parse("tcp:newreno").unwrap();
    let cubic = [subject.standard("cubic").unwrap()];
    let options = EvaluationOptions {
        beside: Some(&cubic),
        seeds: 2,
        ..EvaluationOptions::default()
    };
    let whole = evaluate(&suite, &subject, &options).unwrap();
    let stored = fs::read_to_string(folder.path().join("tcp-newreno/result.json")).unwrap();
    assert_eq!(stored, whole.json());
    for (cell, chapter) in newreno.cells.iter().zip(&whole.chapters) {
        assert_eq!(cell.chapter, chapter.chapter.id);
        assert_eq!(cell.better, chapter.count(0, Verdict::Better));
        assert_eq!(cell.alike, chapter.count(0, Verdict::Alike));
    }
    let limits: usize = newreno.cells.iter().map(|cell| cell.limits).sum();
    assert_eq!(limits, whole.limits().len());
    assert_eq!(newreno.faults, whole.faults());
}

fn yearbook_of_file(folder: &Path) -> Yearbook {
    let text = fs::read_to_string(folder.join("result.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn each_cell_has_the_run_of_a_case_as_qlog() {
    let folder = tempfile::tempdir().unwrap();
    let book = yearbook(&["tcp:cubic"], folder.path());
    let html = fs::read_to_string(folder.path().join("index.html")).unwrap();
    for entry in &book.entries {
        for cell in &entry.cells {
            assert!(!cell.qlog.is_empty(), "{cell:?}");
            for file in &cell.qlog {
                let path = folder.path().join(&entry.folder).join(file);
                let text = fs::read_to_string(&path).unwrap();
                assert!(text.contains("recovery_metrics_updated"), "{file}");
                assert!(text.len() < 2_000_000, "{file}: {}", text.len());
                assert!(html.contains(&format!("{}/{file}", entry.folder)), "{file}");
            }
        }
    }
}

fn entry_with(broken: usize, better: usize, worse: usize) -> (Entry, Cell) {
    let cell = Cell {
        chapter: "loss".to_owned(),
        limits: 4,
        broken,
        better,
        worse,
        alike: 0,
        recorded: "a case <b>".to_owned(),
        qlog: vec!["loss-main.qlog".to_owned()],
    };
    let fault = "sends 9 packets a round trip (at most 2), §5.1.1".to_owned();
    let entry = Entry {
        controller: "tcp:<x>".to_owned(),
        folder: "tcp-x".to_owned(),
        reference: Some("tcp:cubic".to_owned()),
        faults: (broken > 0).then_some(fault).into_iter().collect(),
        cells: vec![cell.clone()],
        cases: Some(CaseCount {
            all: 71,
            passed: 60,
            failed: 4,
        }),
    };
    (entry, cell)
}

#[test]
fn the_page_says_what_is_broken_better_and_worse() {
    let chapters = Suite::rfc9743()
        .unwrap()
        .only(&["loss".to_owned()])
        .unwrap();
    let of = |broken, better, worse| Yearbook {
        imprint: Imprint::default(),
        size: Size::Quick,
        seeds: 20,
        chapters: chapters.chapters.clone(),
        entries: vec![entry_with(broken, better, worse).0],
    };
    let html = of(2, 3, 1).html();
    assert!(html.contains("<td class=\"failed\"><a class=\"failed\" href=\"tcp-x/index.html#chapter-loss\">breaks&nbsp;2&nbsp;of&nbsp;4<br>+3&nbsp;\u{2212}1</a>"), "{html}");
    assert!(html.contains("sends 9 packets a round trip (at most 2)"));
    assert!(html.contains("title=\"a case &lt;b&gt;\""));
    assert!(html.contains("tcp:&lt;x&gt;"));
    let html = of(0, 3, 1).html();
    assert!(html.contains("<td class=\"passed\"><a class=\"passed\" href=\"tcp-x/index.html#chapter-loss\">keeps&nbsp;4<br>+3&nbsp;\u{2212}1</a>"));
    assert!(html.contains("Every controller keeps every limit."));
    let html = of(0, 1, 1).html();
    assert!(html.contains("<td class=\"explained\">"), "{html}");
    assert_eq!(
        of(0, 0, 0).rows()[1],
        ["tcp:<x>", "keeps 4", "=", "passes 60, fails 4 of 71"]
    );
}

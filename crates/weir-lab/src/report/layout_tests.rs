//! Readability checks of all pictures of a run: no text outside the picture or over other text, no
//! axis without a unit; and the notes on omitted parts.

use super::png::tree_of;
use super::*;
use crate::fixture::{run_text, traced};
use crate::run::RunOptions;
use resvg::usvg::{Group, Node, TextChunk};

const TWO_SENDERS: &str = r#"
[run]
duration = "4s"
[[link]]
name = "access-a"
between = ["alice", "left"]
rate = "100Mbit"
delay = "2ms"
[[link]]
name = "access-b"
between = ["bob", "left"]
rate = "100Mbit"
delay = "2ms"
[[link]]
name = "bottleneck"
between = ["left", "right"]
rate = "10Mbit"
delay = "20ms"
queue = { kind = "droptail", limit = 60 }
[[flow]]
name = "cubic"
from = "alice"
to = "right"
transport = { kind = "tcp", controller = "cubic" }
[[flow]]
name = "tfrc"
from = "bob"
to = "right"
transport = { kind = "dccp", ccid = 3 }
"#;

const MANY: &str = r#"
[run]
duration = "2s"
[[link]]
name = "wire"
between = ["left", "right"]
rate = "20Mbit"
delay = "20ms"
[[flow]]
name = "cubic"
count = 12
from = "left"
to = "right"
transport = { kind = "tcp", controller = "cubic" }
[[flow]]
name = "reno"
count = 12
from = "left"
to = "right"
transport = { kind = "tcp", controller = "newreno" }
"#;

fn data(text: &str) -> PlotData {
    PlotData::new(run_text(text, &traced()))
}

fn all(data: &PlotData, selection: &PlotSelection) -> RunPictures {
    pictures_of(data, selection).unwrap()
}

/// Each text with its box on the page.
fn texts(group: &Group, found: &mut Vec<(String, [f32; 4])>) {
    for node in group.children() {
        match node {
            Node::Group(group) => texts(group, found),
            Node::Text(text) => {
                let words = text.chunks().iter().map(TextChunk::text).collect();
                let area = text.abs_bounding_box();
                found.push((
                    words,
                    [area.left(), area.top(), area.right(), area.bottom()],
                ));
            }
            _ => {}
        }
    }
}

/// No text leaves the picture or overlaps another; a halo may lie below its own text.
fn check_texts(name: &str, svg: &str) {
    let tree = tree_of(svg).unwrap();
    let mut found = Vec::new();
    texts(tree.root(), &mut found);
    found.dedup();
    let (width, height) = (tree.size().width(), tree.size().height());
    for (place, (words, [left, top, right, bottom])) in found.iter().enumerate() {
        let inside = *left >= 0.0 && *top >= 0.0 && *right <= width && *bottom <= height;
        assert!(
            inside,
            "{name}: \"{words}\" leaves the picture: {left} {top} {right} {bottom}"
        );
        for (other, area) in &found[place + 1..] {
            let apart = *right <= area[0] + 0.5
                || area[2] <= *left + 0.5
                || *bottom <= area[1] + 0.5
                || area[3] <= *top + 0.5;
            assert!(apart, "{name}: \"{words}\" lies on \"{other}\"");
        }
    }
}

#[test]
fn no_words_leave_a_picture_or_lie_on_others() {
    for text in [TWO_SENDERS, MANY] {
        let data = data(text);
        let small = PlotSelection {
            size: Some((480.0, 300.0)),
            ..PlotSelection::default()
        };
        for selection in [PlotSelection::default(), small] {
            for figure in all(&data, &selection).figures() {
                let svg = figure.drawing.svg();
                check_texts(&figure.name, &svg);
                let narrow = figure.drawing.narrow_element("n");
                let styled =
                    narrow.replacen('>', &format!("><style>{}</style>", standalone_style()), 1);
                check_texts(&format!("{}, narrow", figure.name), &styled);
            }
        }
    }
}

#[test]
fn every_axis_of_a_quantity_has_its_unit() {
    let pictures = all(&data(TWO_SENDERS), &PlotSelection::default());
    let units = [
        ", s", ", ms", ", µs", ", Mbit/s", ", kbit/s", ", kB", ", MB", ", bit/s",
    ];
    let without = [
        "share that is at most this",
        "loss event rate p",
        "allowed packets per second",
    ];
    for figure in pictures
        .figures()
        .filter(|figure| figure.drawing.plot().is_some())
    {
        let tree = tree_of(&figure.drawing.svg()).unwrap();
        let mut found = Vec::new();
        texts(tree.root(), &mut found);
        let labels = found.iter().filter(|(words, _)| {
            units.iter().any(|unit| words.ends_with(unit)) || without.contains(&words.as_str())
        });
        assert_eq!(labels.count(), 2, "{}: {found:?}", figure.name);
    }
}

#[test]
fn the_bottleneck_comes_first_and_what_is_left_out_is_said() {
    let pictures = all(&data(TWO_SENDERS), &PlotSelection::default());
    let queues: Vec<&str> = pictures
        .figures()
        .filter_map(|figure| figure.name.strip_suffix("-queue"))
        .collect();
    assert_eq!(queues.first(), Some(&"bottleneck"));
    let many = all(&data(MANY), &PlotSelection::default());
    let said = many.left_out.join("\n");
    assert!(
        said.contains("20 more flows, with --flow NAME: cubic-4, cubic-5"),
        "{said}"
    );
    let windows = many
        .figures()
        .find(|figure| figure.name == "windows")
        .unwrap();
    let ribbons = windows.drawing.plot().unwrap().layers.iter();
    let ribbons = ribbons.filter(|layer| matches!(layer.shape, Shape::Ribbon(_)));
    assert_eq!(ribbons.count(), 2, "a band for each group");
}

#[test]
fn hosts_and_transfers_that_are_not_drawn_are_said() {
    use std::fmt::Write as _;
    let mut chain = "[run]\nduration = \"2s\"\n".to_owned();
    for hop in 0..24 {
        let _ = writeln!(
            chain,
            "[[link]]\nname = \"l{hop}\"\nbetween = [\"h{hop}\", \"h{}\"]\nrate = \"9Mbit\"\n\
             delay = \"1ms\"",
            hop + 1
        );
    }
    let flow = "[[flow]]\nfrom = \"h0\"\nto = \"h24\"\ntransport = { kind = \"tcp\" }\n";
    let list = "arrivals = { kind = \"list\", transfers = [[0, 9000], [1, 9000]] }\n";
    let text = format!("{chain}{flow}name = \"long\"\n{flow}name = \"web\"\n{list}");
    let pictures = all(&data(&text), &PlotSelection::default());
    let said = pictures.left_out.join("\n");
    let far = "1 of the 25 different hosts and media of the network, those farthest from";
    assert!(said.contains(far), "{said}");
    assert!(said.contains("which have no traces: 2 of web."), "{said}");
    assert!(pictures.figures().any(|figure| figure.name == "network"));
}

/// The names, captions and texts of all pictures.
fn drawn(pictures: &RunPictures) -> Vec<(String, String, String)> {
    let figures = pictures.figures();
    let drawn = figures.map(|figure| {
        let svg = figure.drawing.svg();
        (figure.name.clone(), figure.caption.clone(), svg)
    });
    drawn.collect()
}

/// The pictures of a run folder equal those of the run in memory.
#[test]
fn the_pictures_of_a_folder_are_those_of_its_run() {
    let place = tempfile::tempdir().unwrap();
    for (number, text) in [TWO_SENDERS, MANY].into_iter().enumerate() {
        let run = run_text(text, &traced());
        let path = place.path().join(number.to_string());
        crate::trace::FolderWriter::write(&run, "", &path).unwrap();
        let folder = crate::trace::RunFolder::open(&path).unwrap();
        let mut whole = PlotData::new(run.clone());
        for flow in run.flows {
            if let Some(table) = flow.intervals {
                whole.add_intervals(flow.name, table);
            }
        }
        let columns = |names: [&str; 2]| PlotSelection {
            columns: names.map(str::to_owned).to_vec(),
            ..PlotSelection::default()
        };
        let flow = PlotSelection {
            flows: vec!["cubic*".to_owned()],
            from_s: Some(0.5),
            ..PlotSelection::default()
        };
        let link = PlotSelection {
            links: vec!["*".to_owned()],
            ..PlotSelection::default()
        };
        for selection in [
            PlotSelection::default(),
            flow,
            link,
            columns(["cwnd_bytes", "queue_bytes"]),
            columns(["one_way_delay_s", "smoothed_rtt_s"]),
        ] {
            let read = PlotData::read(&folder, &selection).unwrap();
            let (read, whole) = (all(&read, &selection), all(&whole, &selection));
            assert_eq!(drawn(&read), drawn(&whole));
            assert_eq!(read.left_out, whole.left_out);
        }
        let compared = |data: PlotData| {
            let twice = [data.clone(), data];
            comparison(&twice, &PlotSelection::default()).unwrap()
        };
        // Titles say the name of the folder, which a run in memory has none of.
        let mut read = PlotData::read_to_compare(&folder).unwrap();
        read.name = String::new();
        assert_eq!(drawn(&compared(read)), drawn(&compared(whole)));
    }
}

#[test]
fn a_run_without_traces_says_how_it_keeps_them() {
    let data = PlotData::new(run_text(TWO_SENDERS, &RunOptions::default()));
    let link = PlotSelection {
        links: vec!["bottleneck".into()],
        ..PlotSelection::default()
    };
    let columns = PlotSelection {
        columns: vec!["cwnd_bytes".into()],
        ..PlotSelection::default()
    };
    for selection in [link, columns] {
        let error = pictures_of(&data, &selection).unwrap_err().to_string();
        assert!(error.contains("without --summary-only"), "{error}");
    }
}

#[test]
fn a_selection_draws_what_it_names_and_nothing_else() {
    let data = data(TWO_SENDERS);
    let names = |selection: &PlotSelection| -> Vec<String> {
        let pictures = all(&data, selection);
        pictures
            .figures()
            .map(|figure| figure.name.clone())
            .collect()
    };
    let columns = PlotSelection {
        columns: vec!["cwnd_bytes".into(), "queue_bytes".into()],
        ..PlotSelection::default()
    };
    assert_eq!(names(&columns), ["cwnd_bytes", "queue_bytes"]);
    let link = PlotSelection {
        links: vec!["access-*".into()],
        ..PlotSelection::default()
    };
    assert!(names(&link).iter().all(|name| name.starts_with("access-")));
    let flow = PlotSelection {
        flows: vec!["tfrc".into()],
        ..PlotSelection::default()
    };
    let of_flow = names(&flow);
    assert!(of_flow.contains(&"tfrc-packets".to_owned()), "{of_flow:?}");
    assert!(
        !of_flow.iter().any(|name| name.starts_with("cubic")),
        "{of_flow:?}"
    );
    for (selection, words) in [
        (
            PlotSelection {
                flows: vec!["tfrk".into()],
                ..PlotSelection::default()
            },
            "no flow is called \"tfrk\", expected one of cubic, tfrc",
        ),
        (
            PlotSelection {
                from_s: Some(9.0),
                ..PlotSelection::default()
            },
            "nothing lies between --from and --to",
        ),
    ] {
        let error = pictures_of(&data, &selection).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_star_chooses_the_columns_that_have_values() {
    let data = data(TWO_SENDERS);
    let of = |pattern: &str| {
        let columns = PlotSelection {
            columns: vec![pattern.to_owned()],
            ..PlotSelection::default()
        };
        pictures_of(&data, &columns)
    };
    let pictures = of("queue_*").unwrap();
    let figures: Vec<&NamedPlot> = pictures.figures().collect();
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["queue_bytes", "queue_packets"]);
    assert!(figures.iter().all(|figure| !figure.caption.is_empty()));
    let media = of("target_rate_bps").unwrap_err().to_string();
    assert_eq!(media, "column target_rate_bps has no value in this run");
}

#[test]
fn cubic_has_no_line_of_octets_towards_an_increase() {
    let selection = PlotSelection {
        flows: vec!["cubic".into()],
        ..PlotSelection::default()
    };
    for figure in all(&data(TWO_SENDERS), &selection).figures() {
        assert!(!figure.drawing.svg().contains("partial"), "{}", figure.name);
    }
}

#[test]
fn two_runs_that_differ_in_a_setting_are_two_marks_with_their_counts() {
    let runs: Vec<PlotData> = ["cubic", "newreno"]
        .into_iter()
        .flat_map(|controller| {
            ["seed = 1", "seed = 2"].map(|seed| {
                let text = TWO_SENDERS.replace("\"cubic\" }", &format!("\"{controller}\" }}"));
                data(&text.replace("duration = \"4s\"", &format!("duration = \"2s\"\n{seed}")))
            })
        })
        .collect();
    let pictures = comparison(&runs, &PlotSelection::default()).unwrap();
    let figure = pictures.figures().next().unwrap();
    let svg = figure.drawing.svg();
    for words in ["cubic, n = 2", "newreno, n = 2"] {
        assert!(svg.contains(words), "{words} is missing");
    }
    check_texts(&figure.name, &svg);
}

#[test]
fn a_pdf_is_a_document_with_the_same_bytes_each_time() {
    let pictures = all(&data(TWO_SENDERS), &PlotSelection::default());
    for figure in pictures.figures() {
        let svg = figure.drawing.svg();
        let bytes = pdf(&svg).unwrap();
        assert!(bytes.starts_with(b"%PDF-1.7"), "{}", figure.name);
        assert_eq!(bytes, pdf(&svg).unwrap());
    }
    assert!(pdf("not svg").is_err());
}

#[test]
fn the_page_has_a_table_of_contents_and_needs_no_network() {
    let pictures = all(&data(TWO_SENDERS), &PlotSelection::default());
    let html = page::pictures_page("t", "", &pictures);
    for figure in pictures.figures() {
        assert!(html.contains(&format!("<a href=\"#{}\">", figure.name)));
        assert!(html.contains(&format!("<figure id=\"{}\">", figure.name)));
    }
    let foreign = html.replace("http://www.w3.org/2000/svg", "");
    // `http-equiv` of the page's policy is not a URL.
    let foreign = foreign.replace("http-equiv", "");
    assert!(
        !foreign.contains("http"),
        "the page refers to something outside itself"
    );
}

//! Properties not visible in a drawing: determinism, escaping, thinning, and the columns used.

use super::*;

fn staircase() -> Plot {
    Plot::new(
        "A <small> plot & its legend",
        Axis::linear("time, s", "s"),
        Axis::log("rate, bit/s", "bit/s"),
    )
    .with(
        "",
        Colour(0),
        Shape::StepByCategory {
            points: vec![(0.0, 1e3, 0), (1.0, 1e5, 0), (2.0, 1e4, 1), (3.0, 2e4, 0)],
            categories: vec![("up".to_owned(), Colour(0)), ("down".to_owned(), Colour(1))],
        },
    )
    .with(
        "published",
        Colour(0),
        Shape::Published(vec![(2.0, 1e4, "published".to_owned())]),
    )
}

#[test]
fn writes_the_same_bytes_for_the_same_plot() {
    assert_eq!(staircase().svg(), staircase().svg());
}

#[test]
fn a_small_plot_has_these_elements() {
    insta::assert_snapshot!(staircase().element("golden"));
}

#[test]
fn draws_one_path_for_each_category_with_a_piece_for_each_run() {
    let svg = staircase().element("a");
    let paths: Vec<&str> = svg.split("data-n=\"up\" d=\"").skip(1).collect();
    let [path] = paths.as_slice() else {
        panic!("{} paths of one category", paths.len());
    };
    let path = path.split('"').next().unwrap();
    assert_eq!(path.matches('M').count(), 2, "two runs: {path}");
    assert_eq!(svg.matches("data-n=\"down\"").count(), 1);
    assert!(svg.contains("A &lt;small&gt; plot &amp; its legend"));
}

#[test]
fn refers_to_nothing_outside_itself() {
    let svg = staircase().svg();
    let without_namespace = svg.replace("http://www.w3.org/2000/svg", "");
    for word in ["http", "@import", "href", "<script"] {
        assert!(!without_namespace.contains(word), "{word}");
    }
}

#[test]
fn survives_empty_and_wild_data() {
    for points in [
        vec![],
        vec![(0.0, f64::NAN)],
        vec![(f64::INFINITY, 1.0), (0.0, -1.0)],
        vec![(0.0, 0.0), (1e300, 1e-300)],
        vec![(5.0, 5.0)],
    ] {
        for y in [Axis::log("y", "s"), Axis::linear("y", "s")] {
            let svg = Plot::new("wild", Axis::linear("x", "s"), y)
                .with("line", Colour(99), Shape::Line(points.clone()))
                .svg();
            assert!(svg.ends_with("</svg>\n"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}

#[cfg(feature = "files")]
#[test]
fn rasterises_with_the_compiled_in_font() {
    let bytes = png(&staircase().svg(), 1.0).unwrap();
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    assert_eq!(bytes, png(&staircase().svg(), 1.0).unwrap());
    assert!(png("not svg", 1.0).is_err());
}

fn rate_trace() -> crate::table::Table {
    use crate::table::{Column, Table, Values};
    let numbers = |name: &str, values: &[f64]| Column {
        name: name.to_owned(),
        values: Values::F64(values.to_vec()),
    };
    let limits = ["initial_window", "one_packet_per_rtt", "nofeedback_halving"];
    Table {
        columns: vec![
            numbers("time_s", &[0.0, 1.0, 2.0]),
            numbers("allowed_rate_bps", &[8e6, 2e6, 1e6]),
            numbers("equation_rate_bps", &[f64::NAN; 3]),
            numbers("smoothed_rtt_s", &[0.01, 0.02, 0.02]),
            numbers("rtt_s", &[0.01, 0.03, 0.03]),
            numbers("ipi_s", &[0.001, 0.004, 0.008]),
            numbers("cwnd_bytes", &[f64::NAN; 3]),
            Column {
                name: "limit".to_owned(),
                values: Values::Text(limits.iter().map(|limit| (*limit).into()).collect()),
            },
        ],
    }
}

#[test]
fn a_rate_controllers_trace_gives_its_plots_and_no_window() {
    let names: Vec<String> = plots_of_flow("stream", &rate_trace(), Colour(3))
        .into_iter()
        .map(|plot| plot.name)
        .collect();
    let expected = [
        "stream-rate",
        "stream-rtt",
        "stream-interval",
        "stream-packets",
    ];
    assert_eq!(names, expected);
}

#[test]
fn the_rate_has_the_colour_and_the_words_of_its_limits() {
    let svg = rate_by_limit(&rate_trace(), "t").unwrap().element("t");
    for words in ["W_init/RTT", "s/RTT", "halved: no feedback"] {
        assert!(svg.contains(words), "{words}");
    }
    assert!(
        !svg.contains("X_calc"),
        "a column without a value has no line"
    );
}

#[test]
fn a_sample_is_not_drawn_again_when_a_timer_changes_the_rate() {
    let svg = round_trip_time(&rate_trace(), "t").unwrap().element("t");
    let dots = svg.split("data-k=\"dots\"").nth(1).unwrap();
    let dots = dots.split("/>").next().unwrap();
    assert_eq!(dots.matches('M').count(), 2, "{dots}");
}

#[test]
fn the_theoretical_sawtooth_starts_at_the_first_reduction_and_keeps_its_own_cycle() {
    use crate::table::{Column, Table, Values};
    use crate::theory::mathis;
    use weir_proto::{time::Duration, units::Probability};
    let column = |name: &str, values: Vec<f64>| Column {
        name: name.to_owned(),
        values: Values::F64(values),
    };
    let rows = 0..40_u32;
    let table = Table {
        columns: vec![
            column(
                "time_s",
                rows.clone().map(|row| f64::from(row) * 0.01).collect(),
            ),
            column(
                "cwnd_bytes",
                rows.map(|row| f64::from(5000 + row % 7 * 1000)).collect(),
            ),
        ],
    };
    let path = mathis::Path {
        packet_bytes: 1000,
        rtt: Duration::from_millis(10),
        loss: Probability::new(0.02).unwrap(),
    };
    let overlay = SawtoothOverlay {
        tooth: mathis::with_idle_rtts(path, 2.0),
        idle_rtts: 2.0,
        packet_bytes: 1000.0,
        rtt_s: 0.01,
    };
    let plot = window_sawtooth(&table, (0.0, 0.3), Some(overlay), "t").unwrap();
    let theory = plot.layers.iter().find_map(|layer| match &layer.shape {
        Shape::Line(points) => Some(points.clone()),
        _ => None,
    });
    let theory = theory.unwrap();
    assert_eq!(theory[0].0, 0.07);
    assert!(
        (theory[4].0 - theory[0].0 - 0.06859).abs() < 1e-4,
        "a cycle of 6.859 round trips"
    );
    assert!((theory[2].1 - 9719.0).abs() < 1.0, "up to 9.719 packets");
}

#[test]
fn a_spread_is_an_upright_bar_with_caps_at_both_ends() {
    let spread = Shape::Spread(vec![(1.0, 2.0, 4.0), (2.0, 3.0, 5.0)]);
    assert_eq!(
        spread.extent().collect::<Vec<_>>(),
        [(1.0, 2.0), (1.0, 4.0), (2.0, 3.0), (2.0, 5.0)]
    );
    let plot = Plot::new("spread", Axis::linear("x", ""), Axis::linear("y", ""));
    let svg = plot.with("", Colour(3), spread).element("a");
    assert_eq!(svg.matches("line s3").count(), 2 * 3, "{svg}");
}

//! Drawings are judged by eye; these tests hold what an eye would miss.

use super::*;

fn staircase() -> Plot {
    Plot::new(
        "A <small> plot & its legend",
        Axis::linear("time, s", "s"),
        Axis::log("rate, bit/s", "bit/s"),
    )
    .with(Layer::StepByCategory {
        points: vec![(0.0, 1e3, 0), (1.0, 1e5, 0), (2.0, 1e4, 1), (3.0, 2e4, 0)],
        categories: vec![("up".to_owned(), Colour(0)), ("down".to_owned(), Colour(1))],
    })
    .with(Layer::Published {
        points: vec![(2.0, 1e4, "published".to_owned())],
    })
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
fn draws_one_piece_for_each_run_of_a_category() {
    let svg = staircase().element("a");
    assert_eq!(
        svg.matches("class=\"line s0\" d=\"M").count(),
        2 + 1,
        "two pieces and the legend"
    );
    assert_eq!(svg.matches("class=\"line s1\" d=\"M").count(), 1 + 1);
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
                .with(Layer::Line {
                    name: "line".to_owned(),
                    points: points.clone(),
                    colour: Colour(99),
                    dashed: false,
                })
                .svg();
            assert!(svg.ends_with("</svg>\n"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}

#[test]
fn thins_a_long_line_without_losing_its_peaks() {
    let mut points: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i), 1.0)).collect();
    points[51_234].1 = 9.0;
    let plot = |points: Vec<(f64, f64)>| {
        Plot::new(
            "long",
            Axis::linear("x", ""),
            Axis::linear("y", "").within(0.0, 10.0),
        )
        .with(Layer::Line {
            name: String::new(),
            points,
            colour: Colour(0),
            dashed: false,
        })
        .svg()
    };
    let svg = plot(points);
    assert!(svg.len() < 80_000, "{} bytes", svg.len());
    // The peak at 9 of 10 lies a tenth below the top of the frame: 42 + 40 pixels.
    assert!(svg.contains(" 82L"), "the peak is gone");
}

#[cfg(feature = "files")]
#[test]
fn rasterises_with_the_compiled_in_font() {
    let bytes = png(&staircase().svg(), 1.0).unwrap();
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    assert_eq!(bytes, png(&staircase().svg(), 1.0).unwrap());
    assert!(png("not svg", 1.0).is_err());
}

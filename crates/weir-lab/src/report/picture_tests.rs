//! Checks of the pictures of whole runs against the runs: queues and their limits, drops, the
//! bottleneck, the ends of curves and axes, and the runs that a comparison shows.

use super::*;
use crate::fixture::{run_text, stream_over, traced};

const TCP: &str = "transport = { kind = \"tcp\", controller = \"cubic\" }";

fn data(text: &str) -> PlotData {
    PlotData::new(run_text(text, &traced()))
}

/// The picture of this name, with its caption.
fn picture(data: &PlotData, name: &str) -> (Plot, String) {
    let pictures = pictures_of(data, &PlotSelection::default()).unwrap();
    let figure = pictures.figures().find(|figure| figure.name == name);
    let figure = figure.unwrap_or_else(|| panic!("no picture {name}"));
    let plot = figure.drawing.plot().expect("a plot");
    (plot.clone(), figure.caption.clone())
}

/// The points of the step curve whose name starts with this.
fn step(plot: &Plot, name: &str) -> Vec<(f64, f64)> {
    let layer = plot
        .layers
        .iter()
        .find(|layer| layer.name.starts_with(name));
    match layer.map(|layer| &layer.shape) {
        Some(Shape::Step(points)) => points.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

fn value_at(points: &[(f64, f64)], time: f64) -> f64 {
    let after = points.partition_point(|point| point.0 <= time);
    points[after - 1].1
}

fn longest(points: &[(f64, f64)]) -> f64 {
    points.iter().map(|point| point.1).fold(0.0, f64::max)
}

/// Asserts that the queue is never above its limit.
fn check_limit(plot: &Plot) {
    let limit = step(plot, "limit");
    for (at, queue) in step(plot, "queue").into_iter().skip(1) {
        if queue > 0.0 {
            let limit = value_at(&limit, at);
            let is_above = queue > limit * 1.000_001;
            assert!(!is_above, "{at}: {queue} of {limit}");
        }
    }
}

/// 20 packets of 1500 octets take 24 ms at 10 Mbit/s and 120 ms at 2.
#[test]
fn the_limit_of_a_queue_follows_the_rate_of_its_link() {
    let link = "rate = \"10Mbit\"\ndelay = \"20ms\"\nqueue = { kind = \"droptail\", limit = 20 }\n\
                change = [{ at = \"3s\", rate = \"2Mbit\" }]";
    let data = data(&stream_over("duration = \"6s\"", link, TCP));
    let (plot, _) = picture(&data, "wire-queue");
    check_limit(&plot);
    let limit = step(&plot, "limit: 20 packets");
    assert!((value_at(&limit, 2.0) - 0.024).abs() < 1e-4, "{limit:?}");
    assert!((value_at(&limit, 5.9) - 0.12).abs() < 1e-3, "{limit:?}");
}

/// Datagrams of 100 octets beside segments of 1500 in one queue.
#[test]
fn packets_of_other_sizes_do_not_lift_a_queue_above_its_limit() {
    let link = "rate = \"100kbit\"\ndelay = \"20ms\"\nqueue = { kind = \"droptail\", limit = 20 }";
    let small = "[[flow]]\nname = \"small\"\nfrom = \"server\"\nto = \"client\"\n\
                 transport = { kind = \"udp\" }\n\
                 app = { kind = \"cbr\", rate = \"80kbit\", packet = 100 }\n";
    let text = stream_over("duration = \"30s\"", link, TCP) + small;
    let (plot, caption) = picture(&data(&text), "wire-queue");
    check_limit(&plot);
    assert!(caption.contains("mean size"), "{caption}");
}

/// Datagrams of 48 octets fill the queue of 200 packets; then ten segments of 1500 wait, too few to
/// estimate the size of packets in a full queue: 200 of 48 octets are less than these ten.
#[test]
fn a_few_large_packets_after_many_small_ones_stay_below_the_limit() {
    let link = "rate = \"100kbit\"\ndelay = \"20ms\"\nqueue = { kind = \"droptail\", limit = 200 }";
    let flow = format!("start = \"4s\"\n{TCP}\napp = {{ kind = \"bulk\", total = 14600 }}");
    let small = "[[flow]]\nname = \"small\"\nfrom = \"server\"\nto = \"client\"\n\
                 transport = { kind = \"udp\" }\nstop = \"2s\"\n\
                 app = { kind = \"cbr\", rate = \"80kbit\", packet = 20 }\n";
    let text = stream_over("duration = \"8s\"", link, &flow) + small;
    let (plot, _) = picture(&data(&text), "wire-queue");
    let queue = step(&plot, "queue");
    let before = queue.iter().filter(|point| point.0 < 4.0);
    let filled = before.map(|point| point.1).fold(0.0, f64::max);
    assert!((filled - 200.0 * 48.0 * 8.0 / 1e5).abs() < 1e-6, "{filled}");
    assert!(longest(&queue) > 10.0 * 1500.0 * 8.0 / 1e5, "{queue:?}");
    check_limit(&plot);
}

/// Opportunities every 10 ms for a second, then none for a second, repeated: a packet that arrives
/// during the pause waits for its end and for the packets before it.
#[test]
fn the_wait_at_a_link_with_a_trace_is_that_for_its_opportunities() {
    let millis: Vec<String> = (1..=100)
        .chain([200])
        .map(|at| (at * 10).to_string())
        .collect();
    let link = format!(
        "delay = \"1ms\"\nforward = {{ rate_trace = [{}] }}",
        millis.join(", ")
    );
    let flow = "transport = { kind = \"udp\" }\n\
                app = { kind = \"cbr\", rate = \"240kbit\", packet = 1000 }";
    let data = data(&stream_over("duration = \"4s\"", &link, flow));
    let (plot, _) = picture(&data, "wire-queue");
    let longest = longest(&step(&plot, "queue"));
    let delay = data.output.summary.flows["stream"]
        .one_way_delay_s
        .expect("delays")
        .max;
    assert!(
        (longest - delay).abs() < 0.05,
        "{longest} in the queue, {delay} on the way"
    );
}

#[test]
fn drops_are_counted_by_packets_and_losses_on_the_wire_are_told() {
    let link = "rate = \"10Mbit\"\ndelay = \"20ms\"\nqueue = { kind = \"droptail\", limit = 20 }";
    let flow = format!("count = 20\n{TCP}");
    let run = "duration = \"2s\"";
    let burst = data(&stream_over(run, link, &flow));
    let drops = burst.output.summary.links["wire"].drops;
    let (plot, caption) = picture(&burst, "wire-queue");
    let words = |plot: &Plot| -> Vec<String> {
        let layers = plot
            .layers
            .iter()
            .filter(|layer| matches!(layer.shape, Shape::Rug(_)));
        layers.map(|layer| layer.name.clone()).collect()
    };
    assert_eq!(words(&plot), [format!("drop ({drops} in all)")]);
    assert!(!caption.contains("losses"), "{caption}");
    let link = format!("{link}\nforward = {{ loss = {{ kind = \"random\", rate = 0.01 }} }}");
    let lossy = data(&stream_over(run, &link, &flow));
    let drops = lossy.output.summary.links["wire"].drops;
    let (plot, caption) = picture(&lossy, "wire-queue");
    assert_eq!(words(&plot), [format!("drop or loss ({drops} in all)")]);
    let (of_burst, of_lossy) = (
        burst.output.summary.links["wire"],
        lossy.output.summary.links["wire"],
    );
    assert_eq!(
        (of_burst.queue_drops, of_burst.wire_losses),
        (of_burst.drops, 0)
    );
    assert!(of_lossy.queue_drops > 0 && of_lossy.wire_losses > 0);
    assert_eq!(of_lossy.queue_drops + of_lossy.wire_losses, drops);
    assert!(caption.contains("losses by the loss model"), "{caption}");
}

/// 490 datagrams take 10 ms and 10 take 110 ms: the mean of an interval may be any value between,
/// but the delay of a packet is one of the two.
#[test]
fn the_distribution_of_delays_is_that_of_packets() {
    let link = "delay = \"10ms\"\nchange = [{ at = \"4.9s\", delay = \"110ms\" }]";
    let flow = "transport = { kind = \"udp\" }\n\
                app = { kind = \"cbr\", rate = \"800kbit\", packet = 1000 }";
    let data = data(&stream_over("duration = \"5.5s\"", link, flow));
    let (plot, caption) = picture(&data, "delay-distribution");
    let packets = data.output.summary.flows["stream"].packets_received;
    let steps = step(&plot, &format!("stream, n = {packets}"));
    let late = steps.iter().filter(|point| point.0 > 0.02 && point.0 < 0.1);
    assert_eq!(late.count(), 0, "{steps:?}");
    let share = value_at(&steps, 0.05);
    assert!(
        (share - 490.0 / packets as f64).abs() < 1e-9,
        "{share} of {packets}"
    );
    assert!(caption.contains("packets"), "{caption}");
}

/// The first link has a higher utilisation, from packets that never fill its queue.
#[test]
fn a_link_whose_queue_was_full_is_the_bottleneck_before_one_that_was_used_more() {
    let text = r#"
[run]
duration = "4s"
[[link]]
name = "busy"
between = ["server", "middle"]
rate = "10Mbit"
delay = "1ms"
[[link]]
name = "narrow"
between = ["middle", "client"]
rate = "2Mbit"
delay = "100ms"
queue = { kind = "droptail", limit = 3 }
[[flow]]
name = "short"
from = "server"
to = "middle"
transport = { kind = "udp" }
app = { kind = "cbr", rate = "8Mbit", packet = 1000 }
[[flow]]
name = "long"
from = "server"
to = "client"
transport = { kind = "tcp", controller = "newreno" }
"#;
    let data = data(text);
    let links = &data.output.summary.links;
    assert!(links["busy"].utilisation > links["narrow"].utilisation);
    assert!(links["busy"].drops == 0 && links["narrow"].drops > 0);
    let pictures = pictures_of(&data, &PlotSelection::default()).unwrap();
    let mut queues = pictures
        .figures()
        .filter_map(|figure| figure.name.strip_suffix("-queue"));
    assert_eq!(queues.next(), Some("narrow"));
    let used = format!(
        "bottleneck: {:.0} % used",
        links["narrow"].utilisation * 100.0
    );
    assert!(words_at_links(&data).contains(&used), "{used}");
}

/// The words at the links of the picture of the network.
fn words_at_links(data: &PlotData) -> Vec<String> {
    let edges = network::plan(data).expect("a picture").edges;
    edges.into_iter().flat_map(|edge| edge.words).collect()
}

/// Forty clients and forty servers, each with a link of its own to one of two routers.
#[test]
fn the_hosts_of_templates_are_one_box_each() {
    let text = r#"
run = { duration = "1s" }
host = [{ name = "client", count = 40 }, { name = "leaf", count = 40 }, { name = "server", count = 40 }]
link = [
    { name = "access", count = 40, between = ["client", "leaf"], rate = "50Mbit", delay = "2ms" },
    { name = "up", count = 40, between = ["leaf", "left"], rate = "1Gbit", delay = "20us" },
    { name = "middle", between = ["left", "right"], rate = "10Mbit", delay = "10ms" },
    { name = "rack", count = 40, between = ["right", "server"], rate = "1Gbit", delay = "20us" },
]
[[flow]]
name = "f"
count = 40
from = "client"
to = "server"
transport = { kind = "tcp", controller = "cubic" }
"#;
    let plan = network::plan(&data(text)).expect("a picture");
    let labels: Vec<&str> = plan.nodes.iter().map(|node| node.label.as_str()).collect();
    let expected = [
        "client-1 … client-40 (40 hosts)",
        "leaf-1 … leaf-40 (40 hosts)",
        "left",
        "right",
        "server-1 … server-40 (40 hosts)",
    ];
    assert_eq!(labels, expected);
    let words: Vec<&str> = plan
        .edges
        .iter()
        .map(|edge| edge.words[0].as_str())
        .collect();
    let rates = [
        "50 Mbit/s, 2 ms",
        "1 Gbit/s, 20 µs",
        "10 Mbit/s, 10 ms",
        "1 Gbit/s, 20 µs",
    ];
    assert_eq!((words, plan.left_out), (rates.to_vec(), 0));
    let flows = "f (40 flows): client-1 … client-40 (40 hosts) to server-1 … server-40 (40 hosts), \
                 TCP cubic";
    assert_eq!(plan.flows, [flows]);
}

/// No packet arrives after 3 s: timeouts back off, and the last one is long before the end of the
/// run.
#[test]
fn what_held_a_sender_back_is_shown_to_the_end_of_the_run() {
    let link = "rate = \"10Mbit\"\ndelay = \"20ms\"\n\
                change = [{ at = \"3s\", loss = { kind = \"random\", rate = 1.0 } }]";
    let mut data = data(&stream_over("duration = \"20s\"", link, TCP));
    let intervals = data.output.flows[0].intervals.take().expect("a table");
    data.add_intervals("stream".to_owned(), intervals);
    let last_row = data.state("stream").expect("a trace").numbers("time_s");
    assert!(last_row.and_then(|times| times.last()) < Some(&18.0));
    let (plot, _) = picture(&data, "stream-window");
    let last = plot.strips[0].spans.last().copied().expect("a span");
    assert_eq!((last.1, data.end_s()), (data.end_s(), 20.0));
}

/// 1 to 3 of 0 to 4 s are the second and the third quarter of the width.
#[test]
fn an_episode_is_a_bar_over_its_time_with_its_name() {
    let line = Shape::Line(vec![(0.0, 1.0), (4.0, 2.0)]);
    let axes = (
        Axis::time().within(0.0, 4.0),
        Axis::linear("rate, bit/s", "bit/s"),
    );
    let plot = Plot::new("", axes.0, axes.1).with("", Colour(0), line);
    let mut with = plot.clone();
    with.episodes.push(Episode {
        name: "f: <late>".to_owned(),
        span: (1.0, 3.0),
    });
    let (bare, svg) = (plot.svg(), with.svg());
    assert!(!bare.contains("episode\"") && !bare.contains(">findings<"));
    assert!(svg.contains("f: &lt;late&gt;</text>") && svg.contains(">findings<"));
    let number = |text: &str, from: &str| -> f64 {
        let (_, rest) = text.split_once(from).expect("a place");
        let digits = rest.split(|c: char| !c.is_ascii_digit() && c != '.');
        digits
            .into_iter()
            .next()
            .unwrap()
            .parse()
            .expect("a number")
    };
    let bar = &svg[svg.find("class=\"episode\"").expect("a bar")..];
    let left = number(bar, " d=\"M");
    let ends: Vec<f64> = svg
        .split_once("data-x=\"")
        .expect("the axis")
        .1
        .split(' ')
        .take(2)
        .map(|end| end.parse().unwrap())
        .collect();
    let quarter = (ends[1] - ends[0]) / 4.0;
    assert!((left - ends[0] - quarter).abs() < 0.2, "{left} {ends:?}");
    let height = |svg: &str| number(svg, "height=\"");
    assert!(height(&svg) > height(&bare) + 15.0);
}

/// Before its first feedback a sender of TFRC has no rate, and so no rule that limits it.
#[test]
fn the_legend_names_no_rule_without_a_rate() {
    let link = "rate = \"1Mbit\"\ndelay = \"20ms\"";
    let flow = "transport = { kind = \"dccp\", ccid = 3 }";
    let data = data(&stream_over("duration = \"3s\"", link, flow));
    let limits = data.state("stream").and_then(|table| table.words("limit"));
    assert_eq!(limits.map(|limits| &*limits[0]), Some("none"));
    let svg = picture(&data, "stream-rate").0.svg();
    assert!(svg.contains(">W_init/RTT<") && !svg.contains(">none<"));
}

const GROUP_AND_LONG: &str = r#"
[run]
duration = "6s"
[[link]]
name = "wire"
between = ["server", "client"]
rate = "10Mbit"
delay = "10ms"
queue = { kind = "droptail", limit = 60 }
[[flow]]
name = "web"
count = 10
from = "server"
to = "client"
transport = { kind = "tcp", controller = "cubic" }
app = { kind = "bulk", total = "100kB" }
[[flow]]
name = "long"
from = "server"
to = "client"
transport = { kind = "tcp", controller = "cubic" }
"#;

#[test]
fn the_curve_of_a_group_ends_with_its_last_flow() {
    let data = data(GROUP_AND_LONG);
    let flows = data.output.summary.flows.iter();
    let of_group = flows.filter(|(name, _)| name.starts_with("web"));
    let end = of_group
        .filter_map(|(_, flow)| flow.completion_time_s)
        .fold(0.0, f64::max);
    assert!(end > 0.0 && end < 5.0, "{end}");
    let (plot, caption) = picture(&data, "windows");
    let median = step(&plot, "web (10 flows): median of those open");
    assert!(value_at(&median, end * 0.9) > 0.0);
    assert!(
        value_at(&median, end).is_nan() && value_at(&median, 5.9).is_nan(),
        "{median:?}"
    );
    assert!(caption.contains("open at the time"), "{caption}");
}

#[test]
fn the_windows_of_a_single_group_are_drawn() {
    let text = GROUP_AND_LONG.replace("name = \"long\"", "name = \"web-11\"\ngroup = \"web\"");
    let (plot, _) = picture(&data(&text), "windows");
    assert!(step(&plot, "web (11 flows): median").len() > 2);
}

#[test]
fn the_pictures_of_one_flow_end_with_it_unless_a_time_is_asked_for() {
    let data = data(GROUP_AND_LONG);
    let end_of = |name: &str, selection: &PlotSelection| {
        let pictures = pictures_of(&data, selection).unwrap();
        let mut figures = pictures.figures();
        let figure = figures
            .find(|figure| figure.name == name)
            .expect("a picture");
        figure
            .drawing
            .plot()
            .expect("a plot")
            .x
            .range
            .expect("a range")
    };
    let taken = data.output.summary.flows["web-1"]
        .completion_time_s
        .expect("complete");
    let whole = PlotSelection::default();
    assert_eq!(end_of("web-1-window", &whole), (0.0, taken));
    assert_eq!(end_of("web-1-rtt", &whole), (0.0, taken));
    assert_eq!(end_of("windows", &whole), (0.0, data.end_s()));
    assert_eq!(end_of("long-window", &whole), (0.0, data.end_s()));
    let to = PlotSelection {
        to_s: Some(5.0),
        ..PlotSelection::default()
    };
    assert_eq!(end_of("web-1-window", &to), (0.0, 5.0));
    let after = PlotSelection {
        from_s: Some(5.0),
        ..PlotSelection::default()
    };
    assert_eq!(end_of("web-1-window", &after), (5.0, data.end_s()));
}

fn names(pictures: &RunPictures, picture: &str) -> Vec<String> {
    let figure = pictures.figures().find(|figure| figure.name == picture);
    let plot = figure
        .and_then(|figure| figure.drawing.plot())
        .expect("a plot");
    let layers = plot.layers.iter().map(|layer| layer.name.clone());
    layers.filter(|name| !name.is_empty()).collect()
}

#[test]
fn a_comparison_of_many_flows_shows_each_setting_by_groups() {
    let run = |limit: &str| data(&GROUP_AND_LONG.replace("limit = 60", limit));
    let runs = [run("limit = 20"), run("limit = 60")];
    let pictures = comparison(&runs, &PlotSelection::default()).unwrap();
    let label =
        |subject: &str, limit: u32, count: u32| format!("{subject}, limit={limit}, n = {count}");
    let marks = [
        ("long", 20),
        ("long", 60),
        ("web (10 flows)", 20),
        ("web (10 flows)", 60),
    ];
    let marks = marks.map(|(subject, limit)| label(subject, limit, 1));
    assert_eq!(names(&pictures, "goodput-over-delay"), marks);
    let times = [20, 60].map(|limit| label("web (10 flows)", limit, 10));
    assert_eq!(names(&pictures, "completion-time"), times);
    let packets = |run: &PlotData| run.delays["long"].iter().map(|delay| delay.1).sum::<f64>();
    let packets = runs.iter().map(packets);
    let long = [20, 60].into_iter().zip(packets);
    let long = long.map(|(limit, n)| format!("long, limit={limit}, n = {n}"));
    assert_eq!(
        names(&pictures, "delay-distribution")[..2],
        long.collect::<Vec<_>>()
    );
    assert_eq!(pictures.left_out, Vec::<String>::new());
}

#[test]
fn the_label_of_a_flow_does_not_claim_the_setting_of_another() {
    let two = r#"
[run]
duration = "2s"
[[link]]
name = "wire"
between = ["server", "client"]
rate = "10Mbit"
delay = "10ms"
[[flow]]
name = "x"
from = "server"
to = "client"
transport = { kind = "tcp", controller = "CONTROLLER" }
[[flow]]
name = "y"
from = "server"
to = "client"
transport = { kind = "tcp", controller = "newreno" }
"#;
    let runs = ["cubic", "bbr"].map(|controller| {
        PlotData::of_run(run_text(&two.replace("CONTROLLER", controller), &traced()))
    });
    let pictures = comparison(&runs, &PlotSelection::default()).unwrap();
    let expected = [
        "x, cubic, n = 1",
        "x, bbr, n = 1",
        "y, x=cubic, n = 1",
        "y, x=bbr, n = 1",
    ];
    assert_eq!(names(&pictures, "goodput-over-delay"), expected);
    // A plot for each setting, one below the other with the same axes, each with both flows.
    for name in ["goodput", "delay", "windows"] {
        let figure = pictures.figures().find(|figure| figure.name == name);
        let Some(Drawing::Panels(panels)) = figure.map(|figure| &figure.drawing) else {
            panic!("{name} has no panels");
        };
        assert!(panels.title.ends_with("(by flow.x.transport.controller)"));
        let [first, second] = panels.plots() else {
            panic!("{name} has other panels");
        };
        assert_eq!((&*first.title, &*second.title), ("x=cubic", "x=bbr"));
        assert_eq!(
            (first.x.range, first.y.range),
            (second.x.range, second.y.range)
        );
        for plot in [first, second] {
            let names: Vec<&str> = plot.layers.iter().map(|layer| &*layer.name).collect();
            assert_eq!(names, ["x", "y"]);
        }
        let svg = panels.svg();
        assert_eq!(svg.matches("<svg ").count(), 3, "the whole and two plots");
    }
    assert!(
        pictures.head.contains("<td>y, x=cubic</td>"),
        "{}",
        pictures.head
    );
}

#[test]
fn the_queue_of_a_station_has_its_limit_and_the_air_its_standard() {
    let text = r#"
[run]
duration = "3s"
[[wifi]]
name = "air"
standard = "b"
station = [{ host = "router", queue = { kind = "droptail", limit = 30 } }, { host = "laptop" }]
[[flow]]
name = "download"
from = "router"
to = "laptop"
transport = { kind = "tcp", controller = "cubic" }
"#;
    let data = data(text);
    let (plot, _) = picture(&data, "air.router-queue");
    assert_eq!(plot.y.unit, "bytes");
    assert!((value_at(&step(&plot, "limit: 30 packets"), 2.9) - 45e3).abs() < 100.0);
    check_limit(&plot);
    let words = words_at_links(&data);
    assert!(
        words.contains(&"droptail, 30 packets".to_owned()),
        "{words:?}"
    );
    assert!(
        words.iter().any(|words| words.ends_with("% of the air")),
        "{words:?}"
    );
    let network = Topology::of(&data).expect("a picture").svg();
    assert!(network.contains("802.11b: air"));
}

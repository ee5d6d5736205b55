//! A diagram of the network: hosts, links with their rates, delays and queues, and the sources and
//! destinations of flows.
//!
//! Hosts are in columns by their number of hops from the senders. Hosts that differ only in their
//! name, such as the hundred senders of an incast, are one box. On narrow screens the columns
//! become rows.

use super::canvas::{NARROW, ROW, TITLE_CHARACTER, WIDTH, escape, n, width_of, words, wrapped};
use super::network::{self, NetworkEdge, NetworkPlan};
use super::style::standalone_style;
use super::subjects::PlotData;
use super::thin::Pixel;
use std::fmt::Write as _;

/// Hosts and links, with their labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// The heading.
    pub title: String,
    /// The network to draw.
    pub(super) plan: NetworkPlan,
    /// Width and height in pixels, if not the default.
    pub size: Option<(f64, f64)>,
}

const BOX: f64 = 30.0;
/// Vertical distance of boxes in a column, and between a link and the labels of a column.
const SPACING: f64 = 74.0;
/// Distance of rows on narrow screens.
const TALL: f64 = 124.0;

/// The positions of all elements.
struct Layout {
    width: f64,
    /// Left, top and width of each box.
    boxes: Vec<(f64, f64, f64)>,
    /// The area of each link's label.
    words: Vec<Option<WordsArea>>,
    /// The lines of text below the network.
    lines: Vec<String>,
    /// The top of the flows' lines.
    flows_top: f64,
    total: f64,
    title: Vec<String>,
    upright: bool,
}

impl Topology {
    /// The network of the run, with a thick line at its bottleneck; `None` if it has no hosts.
    pub fn of(data: &PlotData) -> Option<Self> {
        Some(Self {
            title: "The network".to_owned(),
            plan: network::plan(data)?,
            size: None,
        })
    }

    /// The number of hosts and media, counting equivalent ones once, and how many of them are not
    /// drawn.
    pub(super) fn nodes(&self) -> (usize, usize) {
        let left_out = self.plan.left_out;
        (self.plan.nodes.len() + left_out, left_out)
    }

    /// The text of a standalone SVG file with a white background.
    pub fn svg(&self) -> String {
        let style = format!("<style>{}</style>", standalone_style());
        self.write(&style, self.size.map_or(WIDTH, |size| size.0.max(240.0)))
    }

    /// An element of a page that has [`page_style`](super::page_style).
    pub fn element(&self) -> String {
        self.write("", WIDTH)
    }

    /// The same for narrow screens.
    pub fn narrow_element(&self) -> String {
        self.write("", NARROW)
    }

    fn write(&self, style: &str, width: f64) -> String {
        let layout = self.layout(width);
        let (w, h) = (n(width), n(layout.total));
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" \
             height=\"{h}\" role=\"img\" font-family=\"Ubuntu, system-ui, sans-serif\">{style}\
             <title>{}</title>\n<rect class=\"paper\" width=\"{w}\" height=\"{h}\"/>\n",
            escape(&self.title)
        );
        for (row, line) in layout.title.iter().enumerate() {
            let at = (12.0, 21.0 + ROW * row as f64);
            words(&mut out, "th", at, "start", line);
        }
        for edge in &self.plan.edges {
            line(&mut out, &layout, edge);
        }
        for (index, node) in self.plan.nodes.iter().enumerate() {
            let (x, y, width) = layout.boxes[index];
            let round = if node.is_medium { BOX / 2.0 } else { 4.0 };
            let _ = writeln!(
                out,
                "<rect class=\"host\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{BOX}\" \
                 rx=\"{round}\"/>",
                n(x),
                n(y),
                n(width)
            );
            let at = (x + width / 2.0, y + 19.5);
            words(&mut out, "t", at, "middle", &node.label);
        }
        for (edge, area) in self.plan.edges.iter().zip(&layout.words) {
            if let Some(area) = area {
                edge_words(&mut out, edge, area);
            }
        }
        let mut y = layout.flows_top + 14.0;
        let fits = (layout.width / 6.9) as usize;
        for flow in &layout.lines {
            for piece in wrapped(flow, fits) {
                words(&mut out, "t", (12.0, y), "start", &piece);
                y += ROW - 2.0;
            }
        }
        out.push_str("</svg>\n");
        out
    }

    fn layout(&self, width: f64) -> Layout {
        let plan = &self.plan;
        let columns = plan.columns();
        let widest = |column: &usize| -> f64 {
            let nodes = plan.nodes.iter().filter(|node| node.column == *column);
            nodes
                .map(|node| width_of(&node.label) + 22.0)
                .fold(0.0, f64::max)
        };
        let boxes_width: f64 = (0..columns).map(|column| widest(&column)).sum();
        let edge_words = plan.edges.iter().flat_map(|edge| &edge.words);
        let edge_width = edge_words.map(|words| width_of(words)).fold(60.0, f64::max) + 16.0;
        let gaps = columns.saturating_sub(1) as f64;
        let upright = boxes_width + gaps * edge_width > width - 24.0;
        let title = wrapped(&self.title, ((width - 20.0) / TITLE_CHARACTER) as usize);
        let top = 22.0 + ROW * title.len() as f64;
        let rows = (0..columns).map(|column| plan.in_column(column).count());
        let most = rows.max().unwrap_or(0) as f64;
        let spacing = if upright {
            TALL
        } else {
            (plan.most_words() as f64 * 15.0 + 26.0).max(SPACING)
        };
        let mut boxes = vec![(0.0, 0.0, 0.0); plan.nodes.len()];
        for column in 0..columns {
            let members: Vec<usize> = plan.in_column(column).collect();
            let count = members.len() as f64;
            for (row, index) in members.into_iter().enumerate() {
                let own = width_of(&plan.nodes[index].label) + 22.0;
                boxes[index] = if upright {
                    let share = (row as f64 + 0.5) / count;
                    let own = own.min(width / count - 4.0);
                    (share * width - own / 2.0, top + column as f64 * TALL, own)
                } else {
                    // The outer columns touch the margins.
                    let left = 12.0 + widest(&0) / 2.0;
                    let right = width - 12.0 - widest(&(columns - 1)) / 2.0;
                    let x = if gaps > 0.0 {
                        left + (right - left) * column as f64 / gaps
                    } else {
                        width / 2.0
                    };
                    let y = top + (most - count) * spacing / 2.0 + row as f64 * spacing;
                    (x - own / 2.0, y + 8.0, own)
                };
            }
        }
        let lowest = boxes.iter().map(|b| b.1 + BOX).fold(top, f64::max);
        let mut layout = Layout {
            width: width - 24.0,
            boxes,
            words: Vec::new(),
            lines: Vec::new(),
            flows_top: lowest + plan.most_words() as f64 * 7.0 + 14.0,
            total: 0.0,
            title,
            upright,
        };
        layout.place_words(&plan.edges);
        layout.lines = self.lines(&layout);
        let fits = (layout.width / 6.9) as usize;
        let rows = layout.lines.iter().map(|line| wrapped(line, fits).len());
        let rows = rows.sum::<usize>() as f64;
        layout.total = layout.flows_top + rows * (ROW - 2.0) + 16.0;
        layout
    }

    /// The lines of text below the network: the links whose labels found no space, and the flows.
    fn lines(&self, layout: &Layout) -> Vec<String> {
        let node = |index: usize| self.plan.nodes[index].label.as_str();
        let edges = self.plan.edges.iter().zip(&layout.words);
        let homeless = edges.filter(|(edge, area)| area.is_none() && !edge.words.is_empty());
        let mut lines: Vec<String> = homeless
            .map(|(edge, _)| {
                let [from, to] = edge.ends.map(node);
                format!("{from} to {to}: {}", edge.words.join(", "))
            })
            .collect();
        lines.extend(self.plan.flows.iter().cloned());
        lines
    }
}

/// The ends of a link's line at the edges of its boxes.
fn ends(layout: &Layout, edge: &NetworkEdge) -> (Pixel, Pixel) {
    let centre = |index: usize| {
        let (x, y, width) = layout.boxes[index];
        ((x + width / 2.0, y + BOX / 2.0), width / 2.0)
    };
    let ((from, from_half), (to, to_half)) = (centre(edge.ends[0]), centre(edge.ends[1]));
    let side = |at: Pixel, half: f64, other: Pixel| {
        if layout.upright || (other.0 - at.0).abs() < 1.0 {
            (at.0, at.1 + (other.1 - at.1).signum() * BOX / 2.0)
        } else {
            (at.0 + (other.0 - at.0).signum() * half, at.1)
        }
    };
    (side(from, from_half, to), side(to, to_half, from))
}

fn line(out: &mut String, layout: &Layout, edge: &NetworkEdge) {
    let (from, to) = ends(layout, edge);
    let class = if edge.is_bottleneck {
        "wire thick"
    } else {
        "wire"
    };
    let _ = writeln!(
        out,
        "<path class=\"{class}\" d=\"M{} {}L{} {}\"/>",
        n(from.0),
        n(from.1),
        n(to.0),
        n(to.1)
    );
}

/// The label of a link on a background, so that no line crosses the text.
fn edge_words(out: &mut String, edge: &NetworkEdge, area: &WordsArea) {
    if !area.level {
        let _ = writeln!(
            out,
            "<rect class=\"paper\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            n(area.left),
            n(area.top),
            n(area.right - area.left),
            n(area.bottom - area.top)
        );
    }
    let x = f64::midpoint(area.left, area.right);
    for (row, line) in edge.words.iter().enumerate() {
        let below = if area.level && row > 0 { 8.0 } else { 0.0 };
        let at = (x, area.top + 12.0 + row as f64 * 15.0 + below);
        let class = if row == 0 { "t" } else { "ts" };
        words(out, class, at, "middle", line);
    }
}

/// The area of a link's label.
#[derive(Clone, Copy, Debug)]
struct WordsArea {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    /// True if the link is horizontal: the first line of its label is above it, the others below.
    level: bool,
}

impl WordsArea {
    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// Candidate label positions as shares of the link's length, the best first.
const PLACES: [f64; 9] = [0.5, 0.38, 0.62, 0.28, 0.72, 0.2, 0.8, 0.12, 0.88];

impl Layout {
    /// A position for each link's label that covers no box and no other label; `None` for a label
    /// without space.
    fn place_words(&mut self, edges: &[NetworkEdge]) {
        let boxes = self.boxes.iter().map(|(left, top, width)| WordsArea {
            left: *left,
            top: *top,
            right: left + width,
            bottom: top + BOX,
            level: false,
        });
        let mut taken: Vec<WordsArea> = boxes.collect();
        for edge in edges {
            let free = PLACES.iter().find_map(|share| {
                let area = self.area(edge, *share);
                let clear = !taken.iter().any(|other| area.overlaps(other));
                (clear && !edge.words.is_empty()).then_some(area)
            });
            taken.extend(free);
            self.words.push(free);
        }
    }

    fn area(&self, edge: &NetworkEdge, share: f64) -> WordsArea {
        let (from, to) = ends(self, edge);
        let level = !self.upright && (from.1 - to.1).abs() < 1.0;
        let width = edge.words.iter().map(|w| width_of(w)).fold(0.0, f64::max) + 4.0;
        let height = edge.words.len() as f64 * 15.0 + 3.0;
        let x = from.0 + (to.0 - from.0) * share;
        let left = (x - width / 2.0).clamp(2.0, (self.width + 22.0 - width).max(2.0));
        let y = from.1 + (to.1 - from.1) * share;
        let top = if level { y - 18.0 } else { y - height / 2.0 };
        WordsArea {
            left,
            top,
            right: left + width,
            bottom: top + height + if level { 8.0 } else { 0.0 },
            level,
        }
    }
}

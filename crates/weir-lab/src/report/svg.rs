//! Writes a [`Plot`] as SVG text.
//!
//! Coordinates have at most one decimal, so that the text is short and equal on all platforms, and
//! [`thin`](super::thin) keeps only points that the pixels can show. The text refers to no network,
//! script or font of the machine. Shapes that stretch when a page zooms are in a group `data`,
//! shapes that keep their size in a group `marks`, and the root element has the ranges of the axes
//! for the page's script.

use super::axis::ScaledAxis;
use super::canvas::{
    CHARACTER, Canvas, Frame, NARROW, ROW, TITLE_CHARACTER, WIDTH, escape, n, shortened, width_of,
    wrapped,
};
use super::layers::{EPISODE, EPISODE_GAP, STRIP, STRIP_GAP};
use super::legend::legend_rows;
use super::plot::{Plot, Shape};
use super::style::standalone_style;
use std::fmt::Write as _;

/// The share of a picture's width that the names of ticks have at most.
const NAMES: f64 = 0.5;
/// Margin to the left of the names of ticks.
const NAME_MARGIN: f64 = 34.0;
/// Margin to the right of the axes.
const RIGHT: f64 = 22.0;
/// Margin below, for the tick labels and the label of the horizontal axis.
const BOTTOM: f64 = 48.0;
/// The same without the label.
const TICKS: f64 = 24.0;
/// The height between the axes of one of several plots.
const PANEL: f64 = 120.0;
/// The minimum height between the axes.
const LEAST_HEIGHT: f64 = 60.0;

/// The size available to a picture, in pixels.
#[derive(Clone, Copy, Debug)]
struct Room {
    width: f64,
    /// The height between the axes.
    height: f64,
    /// The height of the whole picture, in place of that between the axes.
    total: Option<f64>,
    /// The height below the axes, for tick labels and the label of the horizontal axis.
    bottom: f64,
}

impl Plot {
    /// The plot as the text of a standalone SVG file with a white background.
    pub fn svg(&self) -> String {
        let style = format!("<style>{}</style>", standalone_style());
        self.write("p", &style, self.room(WIDTH)).0
    }

    /// The plot as an element of a page that has [`page_style`](super::page_style). `id` must be
    /// unique among the page's plots.
    pub fn element(&self, id: &str) -> String {
        self.write(id, "", self.room(WIDTH)).0
    }

    /// The same for screens as narrow as a telephone's.
    pub fn narrow_element(&self, id: &str) -> String {
        let narrow = Room {
            width: NARROW,
            height: self.height.min(250.0),
            total: None,
            bottom: BOTTOM,
        };
        self.write(id, "", narrow).0
    }

    /// One of several plots below each other, of this width and, if asked for, height; only the
    /// last has a label of the horizontal axis. Also returns its height.
    pub(super) fn panel(
        &self,
        id: &str,
        (width, total): (f64, Option<f64>),
        is_last: bool,
    ) -> (String, f64) {
        let room = Room {
            width,
            height: self.height.min(PANEL),
            total,
            bottom: if is_last { BOTTOM } else { TICKS },
        };
        self.write(id, "", room)
    }

    /// The requested size, or this width.
    fn room(&self, width: f64) -> Room {
        Room {
            width: self.size.map_or(width, |size| size.0),
            height: self.height,
            total: self.size.map(|size| size.1),
            bottom: BOTTOM,
        }
    }

    /// The height of the strips and the episodes.
    fn height_below(&self) -> f64 {
        let strips = self.strips.len() as f64 * (STRIP + STRIP_GAP);
        let episodes = self.episodes.len() as f64 * (EPISODE + EPISODE_GAP);
        strips + episodes
    }

    pub(super) fn axes(&self) -> (ScaledAxis, ScaledAxis) {
        let extent = || self.layers.iter().flat_map(|layer| layer.shape.extent());
        let spans = self.strips.iter().flat_map(|strip| &strip.spans);
        let edges = spans.flat_map(|span| [span.0, span.1]);
        let x = extent().map(|point| point.0).chain(edges);
        let x = ScaledAxis::new(&self.x, x);
        let (from, to) = x.ends();
        let seen = extent().filter(|point| point.0.is_nan() || (point.0 >= from && point.0 <= to));
        let y = ScaledAxis::new(&self.y, seen.map(|point| point.1));
        (x, y)
    }

    fn write(&self, id: &str, style: &str, room: Room) -> (String, f64) {
        let width = room.width.max(240.0);
        let (x, mut y) = self.axes();
        y.shorten_names(((NAMES * width - NAME_MARGIN) / width_of("n")) as usize);
        let widest = y
            .ticks(8.0)
            .iter()
            .map(|tick| width_of(&tick.1))
            .fold(0.0, f64::max);
        let strip_names = self.strips.iter().map(|strip| width_of(&strip.name));
        let least = if width < 600.0 { 44.0 } else { 76.0 };
        let left = (widest + NAME_MARGIN).max(strip_names.fold(least, |a, b| a.max(b + 12.0)));
        let title_at = if width < 600.0 { 12.0 } else { left };
        let fits = ((width - title_at - 8.0) / TITLE_CHARACTER) as usize;
        let title = wrapped(&self.title, fits);
        let legend_at = 10.0 + ROW * title.len() as f64;
        let legend = legend_rows(self, x.ends(), width - title_at - RIGHT);
        let top = legend_at + ROW * legend.len() as f64 + 10.0;
        let below = self.height_below() + room.bottom;
        let height = match room.total {
            Some(total) => (total - top - below).max(LEAST_HEIGHT),
            None => room.height,
        };
        let total = top + height + below;
        let frame = Frame {
            left,
            right: width - RIGHT,
            top,
            bottom: top + height,
            width,
        };
        let mut canvas = Canvas {
            text: String::new(),
            id: id.to_owned(),
            x,
            y,
            frame,
        };
        canvas.open(self, style, total);
        for (row, line) in title.iter().enumerate() {
            let y = 21.0 + ROW * row as f64;
            canvas.words((title_at, y), "th", "start", line);
        }
        canvas.legend(&legend, (title_at, legend_at));
        canvas.grid(total - room.bottom);
        if room.bottom >= BOTTOM {
            canvas.across_label(total);
        }
        canvas.axis_labels(self, total);
        canvas.layers(self);
        canvas.text.push_str("</svg>\n");
        (canvas.text, total)
    }
}

impl Canvas {
    fn open(&mut self, plot: &Plot, style: &str, total: f64) {
        let Frame { left, right, .. } = self.frame;
        let width = n(self.frame.width);
        let total = n(total);
        let axis = |axis: &ScaledAxis, from: f64, to: f64| {
            let (low, high) = axis.ends();
            let scale = match axis.axis().scale {
                super::Scale::Linear => "lin",
                super::Scale::Log => "log",
            };
            let (from, to, unit) = (n(from), n(to), escape(&axis.axis().unit));
            format!("{from} {to} {low} {high} {scale} {unit}")
        };
        let x = axis(&self.x, left, right);
        let y = axis(&self.y, self.frame.bottom, self.frame.top);
        let time = if plot.is_over_time() {
            " data-time=\"1\""
        } else {
            ""
        };
        let _ = writeln!(
            self.text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {total}\" \
             width=\"{width}\" height=\"{total}\" role=\"img\" data-x=\"{x}\" data-y=\"{y}\"{time} \
             font-family=\"Ubuntu, system-ui, sans-serif\">{style}<title>{}</title>\n\
             <rect class=\"paper\" width=\"{width}\" height=\"{total}\"/>",
            escape(&plot.title)
        );
    }

    /// Grid lines and tick labels; `floor` is the lower edge of the strips.
    fn grid(&mut self, floor: f64) {
        let Frame {
            left,
            right,
            top,
            bottom,
            ..
        } = self.frame;
        for y in self.y.minor_ticks() {
            let y = self.py(y);
            self.straight("minor", (left, y), (right, y));
        }
        for (value, label) in self.y.ticks(self.frame.height() / 44.0) {
            let y = self.py(value);
            self.straight("grid", (left, y), (right, y));
            self.words((left - 7.0, y + 4.0), "ts", "end", &label);
        }
        self.text.push_str("<g class=\"xt\">\n");
        for x in self.x.minor_ticks() {
            let x = self.px(x);
            self.straight("minor", (x, top), (x, bottom));
        }
        let mut free = 0.0;
        for (value, label) in self.x.ticks(self.frame.width() / 90.0) {
            let x = self.px(value);
            self.straight("grid", (x, top), (x, floor));
            let half = width_of(&label) / 2.0;
            if x - half < free {
                continue;
            }
            // A label at the right end must stay inside the picture.
            let at = x.min(self.frame.width - half - 1.0);
            self.words((at, floor + 17.0), "ts", "middle", &label);
            free = x + half + 6.0;
        }
        self.text.push_str("</g>\n");
    }

    /// The label of the horizontal axis.
    fn across_label(&mut self, total: f64) {
        let middle = f64::midpoint(self.frame.left, self.frame.right);
        let label = self.x.label();
        self.words((middle, total - 9.0), "t", "middle", &label);
    }

    /// The label of the vertical axis, and those of the strips.
    fn axis_labels(&mut self, plot: &Plot, total: f64) {
        // The axis label is placed beside the widest tick label, so that short ones leave no gap.
        let ticks = self.y.ticks(self.frame.height() / 44.0);
        let widest = ticks
            .iter()
            .map(|tick| width_of(&tick.1))
            .fold(0.0, f64::max);
        let x = n((self.frame.left - widest - 18.0).max(13.0));
        // A label longer than the axis gets a smaller font rather than being cut.
        let label = self.y.label();
        let class = if width_of(&label) > self.frame.bottom {
            "tl"
        } else {
            "t"
        };
        let half = width_of(&label) / 2.0;
        let y = (self.frame.top + self.frame.height() / 2.0).max(half + 2.0);
        let y = n(y.min((total - half).max(y.min(half + 2.0))));
        let _ = writeln!(
            self.text,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" \
             transform=\"rotate(-90 {x} {y})\">{}</text>",
            escape(&label)
        );
        let mut top = self.frame.bottom + STRIP_GAP;
        for strip in &plot.strips {
            self.words(
                (self.frame.left - 7.0, top + 15.0),
                "ts",
                "end",
                &strip.name,
            );
            top += STRIP + STRIP_GAP;
        }
        if !plot.episodes.is_empty() {
            let at = (self.frame.left - 7.0, top + 13.0);
            self.words(at, "ts", "end", "findings");
        }
    }

    fn layers(&mut self, plot: &Plot) {
        let Frame {
            left, right, top, ..
        } = self.frame;
        let (width, height) = (
            n(right - left),
            n(self.frame.height() + plot.height_below()),
        );
        let id = escape(&self.id);
        let _ = writeln!(
            self.text,
            "<clipPath id=\"{id}\"><rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\"/>\
             </clipPath>\n<g clip-path=\"url(#{id})\"><g class=\"data\">",
            n(left),
            n(top)
        );
        for layer in &plot.layers {
            self.layer(layer);
        }
        let mut strip_top = self.frame.bottom + STRIP_GAP;
        for strip in &plot.strips {
            self.strip(strip, strip_top);
            strip_top += STRIP + STRIP_GAP;
        }
        for episode in &plot.episodes {
            self.episode(episode, strip_top);
            strip_top += EPISODE + EPISODE_GAP;
        }
        self.text.push_str("</g></g>\n");
        self.rectangle("frame", (left, top), (right - left, self.frame.height()));
        let mut strip_top = self.frame.bottom + STRIP_GAP;
        for _ in &plot.strips {
            self.rectangle("frame", (left, strip_top), (right - left, STRIP));
            strip_top += STRIP + STRIP_GAP;
        }
        for episode in &plot.episodes {
            self.rectangle("frame", (left, strip_top), (right - left, EPISODE));
            let fits = ((right - left) / CHARACTER) as usize;
            let at = (left + 6.0, strip_top + 13.0);
            for class in ["ts halo", "ts"] {
                self.words(at, class, "start", &shortened(&episode.name, fits));
            }
            strip_top += EPISODE + EPISODE_GAP;
        }
        self.text.push_str("<g class=\"marks\">\n");
        for (number, layer) in plot.layers.iter().enumerate() {
            self.layer_marks(layer, number);
        }
        let published = plot.layers.iter().filter_map(|layer| match &layer.shape {
            Shape::Published(points) => Some(points.as_slice()),
            _ => None,
        });
        self.published_words(&plot.layers, published);
        self.text.push_str("</g>\n");
    }
}

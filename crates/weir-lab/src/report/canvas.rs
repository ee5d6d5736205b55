//! The area of a plot in pixels, and the SVG text under construction.

use super::axis::ScaledAxis;
use super::thin::{PathData, Pixel};
use std::fmt::Write as _;

/// Default width of a picture in pixels.
pub(super) const WIDTH: f64 = 920.0;
/// Width of the picture for narrow screens.
pub(super) const NARROW: f64 = 380.0;
/// Height of a row of the legend and of the title.
pub(super) const ROW: f64 = 20.0;
/// A conservative estimate of a character's width at 12 pixels.
pub(super) const CHARACTER: f64 = 6.9;
/// The same at the title's 15 pixels.
pub(super) const TITLE_CHARACTER: f64 = 8.1;

/// The position of the plot area in its picture, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    /// Width of the whole picture.
    pub(super) width: f64,
}

/// The plot area in pixels and the axes that map onto it.
pub(super) struct Canvas {
    pub(super) text: String,
    /// The id of the picture, unique in its page.
    pub(super) id: String,
    pub(super) x: ScaledAxis,
    pub(super) y: ScaledAxis,
    pub(super) frame: Frame,
}

/// Text for XML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A coordinate with one decimal at most.
pub(super) fn n(value: f64) -> String {
    let tenths = libm::round(value * 10.0) as i64;
    let sign = if tenths < 0 { "-" } else { "" };
    let tenths = tenths.unsigned_abs();
    if tenths.is_multiple_of(10) {
        format!("{sign}{}", tenths / 10)
    } else {
        format!("{sign}{}.{}", tenths / 10, tenths % 10)
    }
}

/// The width of text at 12 pixels, an upper estimate.
pub(super) fn width_of(words: &str) -> f64 {
    words.chars().count() as f64 * CHARACTER
}

/// Text in lines of at most this many characters; a longer word has a line of its own.
pub(super) fn wrapped(words: &str, characters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= characters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The text, or its beginning and an ellipsis, in at most this many characters.
pub fn shortened(words: &str, characters: usize) -> String {
    if words.chars().count() <= characters {
        return words.to_owned();
    }
    let kept: String = words.chars().take(characters.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// A text element.
pub(super) fn words(out: &mut String, class: &str, at: Pixel, anchor: &str, words: &str) {
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
        n(at.0),
        n(at.1),
        escape(words)
    );
}

impl Frame {
    pub(super) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> f64 {
        self.bottom - self.top
    }
}

impl Canvas {
    pub(super) fn px(&self, x: f64) -> f64 {
        self.frame.left + self.x.share(x) * self.frame.width()
    }

    pub(super) fn py(&self, y: f64) -> f64 {
        self.frame.top + (1.0 - self.y.share(y)) * self.frame.height()
    }

    /// The pixel of a point; `None` if the axes cannot show it.
    pub(super) fn pixel(&self, x: f64, y: f64) -> Option<Pixel> {
        (self.x.shows(x) && self.y.shows(y)).then(|| (self.px(x), self.py(y)))
    }

    /// Pixels of the points that the axes can show.
    pub(super) fn pixels(
        &self,
        points: impl Iterator<Item = (f64, f64)>,
    ) -> impl Iterator<Item = Pixel> {
        points.filter_map(|point| self.pixel(point.0, point.1))
    }

    pub(super) fn words(&mut self, at: Pixel, class: &str, anchor: &str, text: &str) {
        words(&mut self.text, class, at, anchor, text);
    }

    pub(super) fn straight(&mut self, class: &str, from: Pixel, to: Pixel) {
        let mut path = PathData::default();
        path.add(&[from, to]);
        let path = path.text();
        let _ = writeln!(self.text, "<path class=\"{class}\" d=\"{path}\"/>");
    }

    /// A rectangle from its upper left corner, with its width and height.
    pub(super) fn rectangle(&mut self, class: &str, corner: Pixel, size: Pixel) {
        let _ = writeln!(
            self.text,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            n(corner.0),
            n(corner.1),
            n(size.0),
            n(size.1)
        );
    }

    /// A path of a layer: `kind` tells the page's script how to read it, `name` labels its values.
    /// Without a name the label of the vertical axis is used, and without a kind the script ignores
    /// the path.
    pub(super) fn data(&mut self, class: &str, kind: &str, name: &str, path: PathData) {
        let path = path.text();
        if path.is_empty() {
            return;
        }
        let name = match name {
            "" => self.y.axis().quantity(),
            name => name,
        };
        let named = match kind {
            "" => String::new(),
            kind => format!(" data-k=\"{kind}\" data-n=\"{}\"", escape(name)),
        };
        let _ = writeln!(self.text, "<path class=\"{class}\"{named} d=\"{path}\"/>");
    }
}

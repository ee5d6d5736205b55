//! Small multiples: plots one below the other with the same axes, so that heights and times compare
//! and no curve hides another.

use super::canvas::{NARROW, ROW, TITLE_CHARACTER, WIDTH, escape, n, wrapped};
use super::plot::Plot;
use super::style::standalone_style;
use std::fmt::Write as _;

/// Plots with the same axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Panels {
    /// The heading of all.
    pub title: String,
    /// The plots, each with its own title, from top to bottom.
    plots: Vec<Plot>,
}

impl Panels {
    /// The plots, with the axes that show the data of all.
    pub fn new(title: &str, mut plots: Vec<Plot>) -> Self {
        if let Some(first) = plots.first() {
            let mut all = first.clone();
            let others = plots.iter().skip(1);
            all.layers
                .extend(others.flat_map(|plot| plot.layers.iter().cloned()));
            let (x, y) = all.axes();
            for plot in &mut plots {
                plot.x.range = Some(x.ends());
                plot.y.range = Some(y.ends());
            }
        }
        Self {
            title: title.to_owned(),
            plots,
        }
    }

    /// The plots.
    pub fn plots(&self) -> &[Plot] {
        &self.plots
    }

    /// The text of a standalone SVG file with a white background.
    pub fn svg(&self) -> String {
        let style = format!("<style>{}</style>", standalone_style());
        self.write("p", &style, WIDTH)
    }

    /// An element of a page, as [`Plot::element`].
    pub fn element(&self, id: &str) -> String {
        self.write(id, "", WIDTH)
    }

    /// The same for narrow screens.
    pub fn narrow_element(&self, id: &str) -> String {
        self.write(id, "", NARROW)
    }

    fn write(&self, id: &str, style: &str, width: f64) -> String {
        let size = self.plots.iter().find_map(|plot| plot.size);
        let width = size.map_or(width, |size| size.0).max(240.0);
        let title = wrapped(&self.title, ((width - 20.0) / TITLE_CHARACTER) as usize);
        let mut top = 10.0 + ROW * title.len() as f64;
        // A size that is asked for is that of the whole picture.
        let each = size.map(|size| (size.1 - top) / self.plots.len().max(1) as f64);
        let mut inside = String::new();
        for (number, plot) in self.plots.iter().enumerate() {
            let is_last = number + 1 == self.plots.len();
            let id = format!("{id}-{number}");
            let (text, height) = plot.panel(&id, (width, each), is_last);
            let place = format!("<svg y=\"{}\" ", n(top));
            inside.push_str(&text.replacen("<svg ", &place, 1));
            top += height;
        }
        let (width, height) = (n(width), n(top));
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" \
             font-family=\"Ubuntu, system-ui, sans-serif\">{style}<title>{}</title>\n\
             <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n",
            escape(&self.title)
        );
        for (row, line) in title.iter().enumerate() {
            let y = n(21.0 + ROW * row as f64);
            let _ = writeln!(
                text,
                "<text class=\"th\" x=\"12\" y=\"{y}\">{}</text>",
                escape(line)
            );
        }
        text + &inside + "</svg>\n"
    }
}

//! SVG text to a PDF document of one page (PDF 1.7, ISO 32000-1).
//!
//! Paths keep their corners, strokes and dashes; text becomes outlines of the font that is compiled
//! in, so that it looks the same everywhere. Gradients, patterns, masks and images, which our
//! pictures do not use, are ignored.

use super::png::tree_of;
use crate::trace::zlib;
use pdf_writer::types::{LineCapStyle, LineJoinStyle};
use pdf_writer::{Content, Filter, Finish as _, Name, Pdf, Rect, Ref};
use resvg::tiny_skia::{PathSegment, Transform};
use resvg::usvg::{self, ClipPath, Fill, FillRule, Group, LineCap, LineJoin, Node, Paint, Stroke};
use std::collections::BTreeMap;
use std::io;
use thiserror::Error;

/// Why a drawing cannot be converted to PDF.
#[derive(Debug, Error)]
pub enum PdfError {
    /// The text is not an SVG that usvg reads.
    #[error("the drawing is not valid SVG: {0}")]
    Svg(#[from] usvg::Error),
    /// The content cannot be compressed.
    #[error("the drawing cannot be compressed: {0}")]
    Compress(#[from] io::Error),
}

/// PDF points per CSS pixel: 72/96.
const POINTS: f32 = 0.75;

/// Writes SVG text as a PDF of the drawing's size. The same text gives the same bytes: the
/// document has no date.
///
/// # Errors
/// Text that is not SVG.
pub fn pdf(svg: &str) -> Result<Vec<u8>, PdfError> {
    let tree = tree_of(svg)?;
    let size = tree.size();
    let (width, height) = (size.width() * POINTS, size.height() * POINTS);
    let mut writer = Writer {
        content: Content::new(),
        opacities: BTreeMap::new(),
    };
    // In SVG y increases downwards, in PDF upwards.
    writer
        .content
        .transform([POINTS, 0.0, 0.0, -POINTS, 0.0, height]);
    writer.group(tree.root());
    let content = writer.content.finish();
    let packed = zlib(&content)?;

    let [catalog, pages, page, stream] = [1, 2, 3, 4].map(Ref::new);
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let mut entry = pdf.page(page);
    entry.media_box(Rect::new(0.0, 0.0, width, height));
    entry.parent(pages);
    entry.contents(stream);
    let mut resources = entry.resources();
    let mut states = resources.ext_g_states();
    for ((fill, stroke), name) in &writer.opacities {
        let mut state = states
            .insert(Name(name.as_bytes()))
            .start::<pdf_writer::writers::ExtGraphicsState<'_>>();
        state.non_stroking_alpha(thousandths(*fill));
        state.stroking_alpha(thousandths(*stroke));
    }
    states.finish();
    resources.finish();
    entry.finish();
    pdf.stream(stream, &packed).filter(Filter::FlateDecode);
    Ok(pdf.finish())
}

fn thousandths(count: u32) -> f32 {
    count as f32 / 1000.0
}

/// The page's content under construction.
struct Writer {
    content: Content,
    /// Names of the graphics states by the opacities of fills and strokes, in thousandths.
    opacities: BTreeMap<(u32, u32), String>,
}

impl Writer {
    fn group(&mut self, group: &Group) {
        self.content.save_state();
        self.transform(group.transform());
        if let Some(clip) = group.clip_path() {
            self.clip(clip);
        }
        for node in group.children() {
            match node {
                Node::Group(group) => self.group(group),
                Node::Path(path) if path.is_visible() => self.path(path),
                Node::Text(text) => self.group(text.flattened()),
                Node::Path(_) | Node::Image(_) => {}
            }
        }
        self.content.restore_state();
    }

    fn transform(&mut self, t: Transform) {
        if !t.is_identity() {
            self.content.transform([t.sx, t.ky, t.kx, t.sy, t.tx, t.ty]);
        }
    }

    /// Clips to the paths of a clip path without transforms of its own.
    fn clip(&mut self, clip: &ClipPath) {
        let mut outlined = false;
        for node in clip.root().children() {
            if let Node::Path(path) = node {
                self.outline(path.data().segments());
                outlined = true;
            }
        }
        if outlined {
            self.content.clip_nonzero();
            self.content.end_path();
        }
    }

    fn path(&mut self, path: &usvg::Path) {
        let fill = path
            .fill()
            .and_then(|fill| Some((fill, colour(fill.paint())?)));
        let stroke = path
            .stroke()
            .and_then(|line| Some((line, colour(line.paint())?)));
        if fill.is_none() && stroke.is_none() {
            return;
        }
        let opacity = |value: f32| libm::roundf(value * 1000.0) as u32;
        let of_fill = fill.map_or(1000, |(fill, _)| opacity(fill.opacity().get()));
        let of_stroke = stroke.map_or(1000, |(line, _)| opacity(line.opacity().get()));
        let next = format!("g{}", self.opacities.len());
        let name = self.opacities.entry((of_fill, of_stroke)).or_insert(next);
        self.content.set_parameters(Name(name.as_bytes()));
        if let Some((_, [r, g, b])) = fill {
            self.content.set_fill_rgb(r, g, b);
        }
        if let Some((stroke, rgb)) = stroke {
            self.stroke(stroke, rgb);
        }
        self.outline(path.data().segments());
        let even_odd = |fill: &Fill| fill.rule() == FillRule::EvenOdd;
        match (fill, stroke) {
            (Some((fill, _)), None) if even_odd(fill) => self.content.fill_even_odd(),
            (Some(_), None) => self.content.fill_nonzero(),
            (Some((fill, _)), Some(_)) if even_odd(fill) => self.content.fill_even_odd_and_stroke(),
            (Some(_), Some(_)) => self.content.fill_nonzero_and_stroke(),
            (None, _) => self.content.stroke(),
        };
    }

    fn stroke(&mut self, stroke: &Stroke, [r, g, b]: [f32; 3]) {
        self.content.set_stroke_rgb(r, g, b);
        self.content.set_line_width(stroke.width().get());
        self.content.set_line_cap(match stroke.linecap() {
            LineCap::Butt => LineCapStyle::ButtCap,
            LineCap::Round => LineCapStyle::RoundCap,
            LineCap::Square => LineCapStyle::ProjectingSquareCap,
        });
        self.content.set_line_join(match stroke.linejoin() {
            LineJoin::Round => LineJoinStyle::RoundJoin,
            LineJoin::Bevel => LineJoinStyle::BevelJoin,
            LineJoin::Miter | LineJoin::MiterClip => LineJoinStyle::MiterJoin,
        });
        let dashes = stroke.dasharray().unwrap_or_default();
        self.content
            .set_dash_pattern(dashes.iter().copied(), stroke.dashoffset());
    }

    fn outline(&mut self, segments: impl Iterator<Item = PathSegment>) {
        let mut pen = (0.0, 0.0);
        for segment in segments {
            match segment {
                PathSegment::MoveTo(to) => {
                    self.content.move_to(to.x, to.y);
                    pen = (to.x, to.y);
                }
                PathSegment::LineTo(to) => {
                    self.content.line_to(to.x, to.y);
                    pen = (to.x, to.y);
                }
                PathSegment::QuadTo(by, to) => {
                    // PDF has cubic curves only: their control points are at two thirds of the way
                    // to the quadratic one.
                    let handle = |end: f32, by: f32| end + (by - end) * 2.0 / 3.0;
                    let first = (handle(pen.0, by.x), handle(pen.1, by.y));
                    let second = (handle(to.x, by.x), handle(to.y, by.y));
                    self.content
                        .cubic_to(first.0, first.1, second.0, second.1, to.x, to.y);
                    pen = (to.x, to.y);
                }
                PathSegment::CubicTo(a, b, to) => {
                    self.content.cubic_to(a.x, a.y, b.x, b.y, to.x, to.y);
                    pen = (to.x, to.y);
                }
                PathSegment::Close => {
                    self.content.close_path();
                }
            }
        }
    }
}

/// Red, green and blue from 0 to 1; `None` for paints that our pictures do not use.
fn colour(paint: &Paint) -> Option<[f32; 3]> {
    match paint {
        Paint::Color(colour) => {
            let part = |value: u8| f32::from(value) / 255.0;
            Some([part(colour.red), part(colour.green), part(colour.blue)])
        }
        _ => None,
    }
}

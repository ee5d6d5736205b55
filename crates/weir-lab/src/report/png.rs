//! Converts SVG text to PNG bytes with the font that is compiled in and no fonts of the machine.

use resvg::{tiny_skia, usvg};
use thiserror::Error;

/// Why a drawing could not be rasterised.
#[derive(Debug, Error)]
pub enum PngError {
    /// The text is not an SVG that resvg reads.
    #[error("the drawing is not valid SVG: {0}")]
    Svg(#[from] usvg::Error),
    /// The drawing has no size, or too large a one.
    #[error("the drawing has no usable size")]
    Size,
    /// The encoder failed.
    #[error("the image cannot be encoded: {0}")]
    Encode(String),
}

/// Parses SVG text with the font that is compiled in.
pub(super) fn tree_of(svg: &str) -> Result<usvg::Tree, usvg::Error> {
    let mut options = usvg::Options {
        font_family: "Ubuntu".to_owned(),
        ..usvg::Options::default()
    };
    options
        .fontdb_mut()
        .load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    usvg::Tree::from_str(svg, &options)
}

/// Rasterises SVG text at `scale` pixels per unit.
///
/// # Errors
/// If the text is not SVG, or the drawing has no usable size.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, PngError> {
    let tree = tree_of(svg)?;
    let size = tree.size();
    let (width, height) = (size.width() * scale, size.height() * scale);
    let mut pixels = tiny_skia::Pixmap::new(width as u32, height as u32).ok_or(PngError::Size)?;
    let transform = tiny_skia::Transform::from_scale(scale, scale);
    resvg::render(&tree, transform, &mut pixels.as_mut());
    pixels
        .encode_png()
        .map_err(|error| PngError::Encode(error.to_string()))
}

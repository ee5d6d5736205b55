//! The folder of a report: `index.html`, `result.json`, and each plot as SVG and PNG.

use super::{NamedPlot, PngError, png};
use rayon::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a report is not written. For people: lower case, no full stop.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The folder cannot be made or a file cannot be written.
    #[error("{path}: {source}")]
    File {
        /// The path.
        path: String,
        /// The system's message.
        source: std::io::Error,
    },
    /// A plot cannot be rasterised.
    #[error("plot {name}: {source}")]
    Plot {
        /// The plot.
        name: String,
        /// What went wrong.
        source: PngError,
    },
}

/// The folder of a report. Plots can be written before the page is.
#[derive(Clone, Debug)]
pub struct ReportFolder {
    path: PathBuf,
}

impl ReportFolder {
    /// Makes the folder if it does not exist.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(path: &Path) -> Result<Self, ReportError> {
        fs::create_dir_all(path).map_err(|source| failed(path, source))?;
        let path = path.to_owned();
        Ok(Self { path })
    }

    /// Writes each plot as SVG and PNG; returns the paths of the PNG files in the same order.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn plots(&self, plots: &[NamedPlot]) -> Result<Vec<PathBuf>, ReportError> {
        let plots = plots.par_iter().map(|named| {
            let svg = named.drawing.svg();
            let png = png(&svg, 2.0).map_err(|source| ReportError::Plot {
                name: named.name.clone(),
                source,
            })?;
            self.write(&format!("{}.svg", named.name), svg.as_bytes())?;
            self.write(&format!("{}.png", named.name), &png)
        });
        plots.collect()
    }

    /// Writes the results as JSON and the page; returns the path of the page.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn page(&self, json: &str, html: &str) -> Result<PathBuf, ReportError> {
        self.write("result.json", json.as_bytes())?;
        self.write("index.html", html.as_bytes())
    }

    /// Writes a file under a temporary name first: it is whole or not there.
    fn write(&self, name: &str, octets: &[u8]) -> Result<PathBuf, ReportError> {
        let path = self.path.join(name);
        let written = tempfile::NamedTempFile::new_in(&self.path).and_then(|mut file| {
            std::io::Write::write_all(&mut file, octets)?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        });
        written.map_err(|source| failed(&path, source))?;
        Ok(path)
    }
}

fn failed(path: &Path, source: std::io::Error) -> ReportError {
    ReportError::File {
        path: path.display().to_string(),
        source,
    }
}

//! The files of a report: `index.html`, `result.json`, and each plot as SVG and PNG.

use super::ExperimentError;
use super::reproduction::{ExperimentResult, Reproduction};
use rayon::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of a report. Plots can be written before all experiments are done.
#[derive(Clone, Debug)]
pub struct ReportFiles {
    folder: PathBuf,
}

impl ReportFiles {
    /// Makes the folder if it does not exist.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(folder: &Path) -> Result<Self, ExperimentError> {
        fs::create_dir_all(folder).map_err(|source| failed(folder, source))?;
        let folder = folder.to_owned();
        Ok(Self { folder })
    }

    /// Writes the plots of an experiment; returns the paths of the PNG files in the order of the
    /// page.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn plots(&self, experiment: &ExperimentResult) -> Result<Vec<PathBuf>, ExperimentError> {
        let plots = experiment.plots.par_iter().map(|named| {
            let svg = named.drawing.svg();
            let png = crate::report::png(&svg, 2.0).map_err(|error| ExperimentError::Plot {
                name: named.name.clone(),
                message: error.to_string(),
            })?;
            self.write(&format!("{}.svg", named.name), svg.as_bytes())?;
            self.write(&format!("{}.png", named.name), &png)
        });
        plots.collect()
    }

    /// Writes the page and the tables as JSON; returns the path of the page.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn page(&self, reproduction: &Reproduction) -> Result<PathBuf, ExperimentError> {
        self.write("result.json", reproduction.json().as_bytes())?;
        self.write("index.html", reproduction.html().as_bytes())
    }

    /// Writes a file under a temporary name first: it is whole or not there.
    fn write(&self, name: &str, octets: &[u8]) -> Result<PathBuf, ExperimentError> {
        let path = self.folder.join(name);
        let written = tempfile::NamedTempFile::new_in(&self.folder).and_then(|mut file| {
            std::io::Write::write_all(&mut file, octets)?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        });
        written.map_err(|source| failed(&path, source))?;
        Ok(path)
    }
}

fn failed(path: &Path, source: std::io::Error) -> ExperimentError {
    ExperimentError::File {
        path: path.display().to_string(),
        source,
    }
}

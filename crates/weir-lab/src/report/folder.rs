//! The folder of a report: `index.html`, `result.json`, and each plot as SVG and PNG.
//!
//! Files are completed in a temporary folder beside them and renamed, so that each is either
//! complete or missing, however the program ends. The page of an earlier report is removed before
//! the first plot is written, because it does not belong to the new plots.

use super::{NamedPlot, PngError, png};
use crate::replication::in_order;
use crate::trace::{PartialFolder, remove_leftovers};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

const PAGE: &str = "index.html";
const RESULT: &str = "result.json";

/// The reason why a report is not written. Error text: lower case, no full stop.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The folder cannot be made or a file cannot be written.
    #[error("cannot write \"{path}\": {source}")]
    File {
        /// The path.
        path: String,
        /// The system's message.
        source: io::Error,
    },
    /// A plot cannot be rasterised.
    #[error("plot {name}: {source}")]
    Plot {
        /// The plot.
        name: String,
        /// The rasteriser's error.
        source: PngError,
    },
}

/// The folder of a report. Plots can be written before the page is.
#[derive(Debug)]
pub struct ReportFolder {
    path: PathBuf,
    partial: PartialFolder,
    written: Mutex<Vec<PathBuf>>,
}

impl ReportFolder {
    /// Makes the folder if it does not exist. Leftovers of a killed program in it are removed.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn create(path: &Path) -> Result<Self, ReportError> {
        remove_leftovers(path);
        let partial = PartialFolder::create(path).map_err(|source| failed(path, source))?;
        Ok(Self {
            path: path.to_owned(),
            partial,
            written: Mutex::default(),
        })
    }

    /// Writes each plot as SVG and PNG; returns the paths of the PNG files in the same order.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn plots(&self, plots: &[NamedPlot]) -> Result<Vec<PathBuf>, ReportError> {
        if !plots.is_empty() {
            self.remove(PAGE)?;
            self.remove(RESULT)?;
        }
        let plots = in_order(plots, |named| {
            let svg = named.drawing.svg();
            let png = png(&svg, 2.0).map_err(|source| ReportError::Plot {
                name: named.name.clone(),
                source,
            })?;
            self.write(&format!("{}.svg", named.name), svg.as_bytes())?;
            self.write(&format!("{}.png", named.name), &png)
        });
        plots.into_iter().collect()
    }

    /// Writes the results as JSON and the page; returns the path of the page.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn page(&self, json: &str, html: &str) -> Result<PathBuf, ReportError> {
        self.write(RESULT, json.as_bytes())?;
        self.write(PAGE, html.as_bytes())
    }

    /// Writes a whole report; returns the path of the page. After a failure its files are removed.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn report(
        self,
        plots: &[NamedPlot],
        json: &str,
        html: &str,
    ) -> Result<PathBuf, ReportError> {
        let written = self.plots(plots).and_then(|_| self.page(json, html));
        if written.is_err() {
            self.discard();
        }
        written
    }

    /// Removes the written files, because an incomplete set of files could be mistaken for a
    /// report.
    pub fn discard(self) {
        let written = self.written.into_inner();
        for path in written.unwrap_or_else(PoisonError::into_inner) {
            // A file that cannot be removed is at least complete.
            let _ = fs::remove_file(path);
        }
    }

    /// Writes a file; returns its path.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, octets: &[u8]) -> Result<PathBuf, ReportError> {
        let (path, partial) = (self.path.join(name), self.partial.new_files().join(name));
        let written = fs::write(&partial, octets).and_then(|()| fs::rename(&partial, &path));
        written.map_err(|source| failed(&path, source))?;
        let mut all = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(path.clone());
        Ok(path)
    }

    fn remove(&self, name: &str) -> Result<(), ReportError> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != ErrorKind::NotFound => Err(failed(&path, source)),
            _ => Ok(()),
        }
    }
}

fn failed(path: &Path, source: io::Error) -> ReportError {
    ReportError::File {
        path: path.display().to_string(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Axis, Plot};

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn leftovers_go_and_an_earlier_page_does_not_stand_beside_new_plots() {
        let place = tempfile::tempdir().unwrap();
        // A leftover of a killed program: a temporary folder without a lock.
        let leftover = place.path().join(".weir-partial-dead");
        fs::create_dir_all(leftover.join("new")).unwrap();
        fs::write(leftover.join("lock"), "").unwrap();
        for name in [PAGE, RESULT, "notes.txt"] {
            fs::write(place.path().join(name), "earlier").unwrap();
        }
        let folder = ReportFolder::create(place.path()).unwrap();
        let plot = Plot::new("Rate", Axis::time(), Axis::linear("rate", "bit/s"));
        let named = NamedPlot {
            name: "rate".to_owned(),
            caption: String::new(),
            drawing: plot.into(),
        };
        folder.plots(&[]).unwrap();
        assert!(names(place.path()).contains(&PAGE.to_owned()));
        folder.plots(&[named]).unwrap();
        drop(folder);
        assert_eq!(names(place.path()), ["notes.txt", "rate.png", "rate.svg"]);
        let folder = ReportFolder::create(place.path()).unwrap();
        folder.page("{}", "<html>").unwrap();
        drop(folder);
        let all = [PAGE, "notes.txt", "rate.png", "rate.svg", RESULT];
        assert_eq!(names(place.path()), all);
    }

    #[test]
    fn of_a_report_that_cannot_be_written_nothing_stays() {
        let place = tempfile::tempdir().unwrap();
        let named = |name: &str| NamedPlot {
            name: name.to_owned(),
            caption: String::new(),
            drawing: Plot::new("Rate", Axis::time(), Axis::linear("rate", "bit/s")).into(),
        };
        // No file can have the name of a folder.
        fs::create_dir_all(place.path().join("late.png/inside")).unwrap();
        let folder = ReportFolder::create(place.path()).unwrap();
        folder.plots(&[named("early")]).unwrap();
        let refused = folder.report(&[named("late")], "{}", "<html>");
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("late.png"), "{message}");
        assert_eq!(names(place.path()), ["late.png"]);
    }
}

//! Traces in the formats of other tools.
//!
//! - `csv`: the columns of the run's folder under their names, numbers in their shortest form
//!   that reads back the same, an empty field where there is no value.
//! - `dccp-probe`: the log of Linux's dccp_probe module (net/dccp/probe.c, 2.6.21 to 4.15), one
//!   line per write of the application.
//! - `qlog`: the controller and the packets of each flow, for tools of QUIC; `qlog-0.3` for those
//!   that read the earlier names, as qvis does.
//! - `pcapng`: octets, not columns; [`capture_run`](super::capture_run) writes it.
//!
//! Exports are made in memory, from a run or from its folder.

use super::{dccp_probe, qlog};
use crate::run::RunOutput;
use crate::table::{Table, Values};
use std::fmt::Write as _;

/// A format of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values, a file per table.
    Csv,
    /// The log of Linux's dccp_probe, a file per DCCP flow.
    DccpProbe,
    /// qlog in the schema of draft-ietf-quic-qlog-main-schema-14, a file per flow.
    Qlog,
    /// qlog 0.3, which qvis opens, a file per flow.
    Qlog03,
    /// A capture, one file of octets.
    Pcapng,
    /// What the listener of an audio stream hears, a WAV file per flow.
    #[cfg(feature = "files")]
    Wav,
}

/// Why a run cannot be exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// The format is unknown.
    #[error(
        "there is no format \"{0}\", expected one of {names}",
        names = Format::NAMES.join(", ")
    )]
    UnknownFormat(String),
    /// The run has no tables.
    #[error("the run kept no trace, only its summary")]
    NoTrace,
    /// No flow of the run has a table of writes, from which lines of dccp_probe are made.
    #[error("the run has no DCCP flow, expected at least one")]
    NoDccpFlow,
    /// No flow of the run has a trace.
    #[error(
        "the run has no flow with a trace, expected at least one; transfers of arrivals have none, \
         and pcapng has their packets"
    )]
    NoFlow,
    /// No flow of the run is audio.
    #[error("the run has no flow whose application is audio, expected at least one")]
    NoAudio,
    /// A capture consists of octets and not of columns.
    #[error("a capture is made by a run, expected a format of columns")]
    NotColumns,
}

impl Format {
    /// The names of all formats.
    pub const NAMES: [&'static str; 6] = ["csv", "dccp-probe", "pcapng", "qlog", "qlog-0.3", "wav"];

    /// The format of this name.
    ///
    /// # Errors
    /// If the format is unknown.
    pub fn named(name: &str) -> Result<Self, ExportError> {
        match name {
            "csv" => Ok(Self::Csv),
            "dccp-probe" | "dccp_probe" => Ok(Self::DccpProbe),
            "pcapng" => Ok(Self::Pcapng),
            "qlog" => Ok(Self::Qlog),
            "qlog-0.3" => Ok(Self::Qlog03),
            #[cfg(feature = "files")]
            "wav" => Ok(Self::Wav),
            _ => Err(ExportError::UnknownFormat(name.to_owned())),
        }
    }
}

/// A file of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportFile {
    /// Its path below the export's folder: `flows/stream.csv`.
    pub path: String,
    /// Its octets.
    pub content: Vec<u8>,
}

/// The files of a run in this format.
///
/// # Errors
/// If the run has no data for the format.
pub fn export(run: &RunOutput, format: Format) -> Result<Vec<ExportFile>, ExportError> {
    let tables = run.tables();
    if tables.is_empty() {
        return Err(ExportError::NoTrace);
    }
    let octets = |path: &str, ending: &str, content: Vec<u8>| ExportFile {
        path: format!("{path}.{ending}"),
        content,
    };
    let file = |path: &str, ending: &str, text: String| octets(path, ending, text.into_bytes());
    match format {
        Format::Pcapng => Err(ExportError::NotColumns),
        Format::Csv => {
            let csv_file = |(path, table): (String, &Table)| file(&path, "csv", csv(table));
            Ok(tables.into_iter().map(csv_file).collect())
        }
        Format::Qlog | Format::Qlog03 => {
            let schema = match format {
                Format::Qlog => qlog::Schema::Draft14,
                _ => qlog::Schema::V03,
            };
            let files = qlog::files(run, schema);
            if files.is_empty() {
                return Err(ExportError::NoFlow);
            }
            let qlog_file = |(flow, text): (&str, String)| file(flow, "qlog", text);
            Ok(files.into_iter().map(qlog_file).collect())
        }
        #[cfg(feature = "files")]
        Format::Wav => {
            let files = super::wav::files(run);
            if files.is_empty() {
                return Err(ExportError::NoAudio);
            }
            let wav_file = |(flow, content): (&str, Vec<u8>)| octets(flow, "wav", content);
            Ok(files.into_iter().map(wav_file).collect())
        }
        Format::DccpProbe => {
            let logs = dccp_probe::logs(run);
            if logs.is_empty() {
                return Err(ExportError::NoDccpFlow);
            }
            let log_file = |(flow, log): (&str, String)| file(flow, "dccp_probe", log);
            Ok(logs.into_iter().map(log_file).collect())
        }
    }
}

/// A table as comma-separated values with a line of names.
pub fn csv(table: &Table) -> String {
    let mut text = String::new();
    let names: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
    text.push_str(&names.join(","));
    text.push('\n');
    for row in 0..table.rows() {
        for (index, column) in table.columns.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            write_field(&mut text, &column.values, row);
        }
        text.push('\n');
    }
    text
}

fn write_field(text: &mut String, values: &Values, row: usize) {
    // Writing to a string cannot fail.
    let _ = match values {
        Values::F64(values) => match values.get(row) {
            Some(number) if number.is_finite() => write!(text, "{number}"),
            _ => Ok(()),
        },
        Values::U64(values) => values.get(row).map_or(Ok(()), |n| write!(text, "{n}")),
        Values::Text(values) => match values.get(row) {
            // RFC 4180 §2: fields with a comma, quote or line end are quoted.
            Some(word) if word.contains([',', '"', '\n', '\r']) => {
                write!(text, "\"{}\"", word.replace('"', "\"\""))
            }
            Some(word) => text.write_str(word),
            None => Ok(()),
        },
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    #[test]
    fn csv_has_names_shortest_numbers_and_empty_fields() {
        let column = |name: &str, values| Column {
            name: name.to_owned(),
            values,
        };
        let table = Table {
            columns: vec![
                column("time_s", Values::F64(vec![0.1, 2e-7])),
                column("rate_bps", Values::F64(vec![f64::NAN, 1e7])),
                column("drops", Values::U64(vec![0, 3])),
                column(
                    "state",
                    Values::Text(vec!["slow_start".into(), "a,\"b\"".into()]),
                ),
            ],
        };
        assert_eq!(
            csv(&table),
            "time_s,rate_bps,drops,state\n0.1,,0,slow_start\n0.0000002,10000000,3,\"a,\"\"b\"\"\"\n"
        );
    }

    #[test]
    fn every_name_is_a_format_and_others_are_told_the_names() {
        for name in Format::NAMES {
            assert!(Format::named(name).is_ok(), "{name}");
        }
        let never = Format::named("xls").unwrap_err().to_string();
        assert!(never.contains("csv, dccp-probe"), "{never}");
    }
}

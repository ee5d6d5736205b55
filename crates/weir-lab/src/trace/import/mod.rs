//! Reads traces that other programs wrote, as tables with the columns of a run.
//!
//! Each reader takes a file as a stream, so that memory grows with the rows that it keeps and not
//! with the file. A column that a format cannot express is missing, or NaN in the rows in which the
//! file has no value; nothing is guessed. Oddities of the programs that write a format are
//! tolerated and reported in [`Imported::remarks`]; a broken file is an error with its place.

mod as_run;
#[cfg(test)]
mod captured_run;
mod captures;
mod dccp_capture;
mod format;
mod iperf3;
mod lines;
mod probes;
pub mod qlog;
mod rows;
mod ss;
mod tables;
mod tcp_capture;

use crate::run::FlowTrace;
use crate::table::Table;

pub use dccp_capture::{read_dccp_capture, read_dccp_capture_from};
pub use format::read;
pub use iperf3::{read_iperf3, read_iperf3_text};
pub use probes::{read_dccp_probe, read_tcp_probe};
pub use ss::read_ss;
pub use tcp_capture::{read_tcp_capture, read_tcp_capture_from};

/// A trace of another program.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The format, such as `qlog 0.3` or `pcapng, TCP`.
    pub format: String,
    /// The program that wrote it, in the file's own words; empty if the file does not say.
    pub producer: String,
    /// The flows, each with the columns of a run that the file has; times count from the first
    /// event of the file.
    pub flows: Vec<ImportedFlow>,
    /// The columns of a run's table `packets` for all flows, if the file has packets.
    pub packets: Option<Table>,
    /// The time from the first to the last event, in seconds.
    pub duration_s: f64,
    /// A sentence for each oddity and for what the file does not say.
    pub remarks: Vec<String>,
}

/// A flow of a trace: data from a sender to a receiver.
#[derive(Clone, Debug)]
pub struct ImportedFlow {
    /// Its tables; `table` has at least `time_s`.
    pub trace: FlowTrace,
    /// `quic`, `tcp`, `dccp` or `udp`.
    pub transport: &'static str,
    /// The controller's name, if the file has it.
    pub controller: Option<String>,
    /// Where it was traced.
    pub vantage: Vantage,
    /// Octets of data that arrived for the first time or were acknowledged, if the file shows it.
    pub delivered_bytes: Option<f64>,
    /// Counters over the life of the connection and what waits in it, at some times: those of a
    /// socket (`ss`), or of a capture at its timeouts and its end.
    pub counters: Option<Table>,
    /// The handshake and the turns of the connection's ends, if the file shows both directions;
    /// those of the other direction's flow are the same.
    pub turns: Option<Table>,
}

impl ImportedFlow {
    /// A flow of this name and transport with a table and nothing else.
    fn new((name, transport): (String, &'static str), vantage: Vantage, table: Table) -> Self {
        Self {
            trace: FlowTrace::new(name, table),
            transport,
            controller: None,
            vantage,
            delivered_bytes: None,
            counters: None,
            turns: None,
        }
    }
}

/// The place at which a flow was traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// At the sender of the data.
    Sender,
    /// At its receiver.
    Receiver,
    /// In the network, or not known.
    Network,
}

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It cannot be opened or read.
    #[error("cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// It is in none of the formats that are read.
    #[error("is no trace that is read: {0}; read are {formats}", formats = FORMATS)]
    Unknown(String),
    /// It is damaged at a place: a line, an event or an octet.
    #[error("is damaged at {place}: {message}")]
    Damaged {
        /// The place, such as `line 17` or `octet 1024`.
        place: String,
        /// What was found and what was expected.
        message: String,
    },
    /// It has no flow of a transport that is read.
    #[error("has no flow: {0}")]
    NoFlow(String),
}

/// The formats that are read, in words.
pub const FORMATS: &str = "qlog (JSON and JSON-SEQ), captures (pcap, pcapng) of TCP and DCCP, \
                           output of `ss -tiO`, logs of tcp_probe and dccp_probe, results of iperf3 \
                           (JSON and text)";

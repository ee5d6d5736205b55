//! Which format a file is in, from its first octets.

use super::{ImportError, Imported, qlog};
use crate::scenario::files::open_input;
use std::io::{BufReader, Read};
use std::path::Path;

/// Octets that are looked at.
const HEAD: usize = 64 * 1024;

/// Reads the trace of another program, whatever its format.
///
/// # Errors
/// If the file cannot be read, is in no format that is read, or is damaged.
pub fn read(path: &Path) -> Result<Imported, ImportError> {
    let open = || open_input(path).map(BufReader::new);
    let mut head = Vec::new();
    open()?.take(HEAD as u64).read_to_end(&mut head)?;
    match Format::of(&head) {
        Some(Format::Capture) => read_capture(path),
        Some(Format::Qlog) => qlog::read(open()?),
        Some(Format::Iperf3) => super::read_iperf3(open()?),
        Some(Format::Iperf3Text) => super::read_iperf3_text(open()?),
        Some(Format::TcpProbe) => super::read_tcp_probe(open()?, None),
        Some(Format::DccpProbe) => super::read_dccp_probe(open()?),
        Some(Format::Ss) => super::read_ss(open()?),
        None => Err(ImportError::Unknown(format!(
            "it begins with {:?}",
            String::from_utf8_lossy(&head[..head.len().min(24)])
        ))),
    }
}

/// A capture has TCP or DCCP.
fn read_capture(path: &Path) -> Result<Imported, ImportError> {
    match super::read_tcp_capture(path) {
        Err(ImportError::NoFlow(no_tcp)) => match super::read_dccp_capture(path) {
            Err(ImportError::NoFlow(no_dccp)) => {
                Err(ImportError::NoFlow(format!("{no_tcp}; {no_dccp}")))
            }
            other => other,
        },
        other => other,
    }
}

/// A format that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Capture,
    Qlog,
    Iperf3,
    Iperf3Text,
    TcpProbe,
    DccpProbe,
    Ss,
}

impl Format {
    /// The format of a file that begins with these octets.
    fn of(head: &[u8]) -> Option<Self> {
        const CAPTURES: [[u8; 4]; 5] = [
            [0xd4, 0xc3, 0xb2, 0xa1],
            [0xa1, 0xb2, 0xc3, 0xd4],
            [0x4d, 0x3c, 0xb2, 0xa1],
            [0xa1, 0xb2, 0x3c, 0x4d],
            [0x0a, 0x0d, 0x0d, 0x0a],
        ];
        if head.starts_with(&[0x1f, 0x8b]) {
            return Self::of_packed(head);
        }
        if CAPTURES.iter().any(|magic| head.starts_with(magic)) {
            return Some(Self::Capture);
        }
        let text = String::from_utf8_lossy(head);
        let text = text.trim_start_matches(['\u{feff}', '\u{1e}']).trim_start();
        let is_list = text
            .strip_prefix('[')
            .is_some_and(|rest| rest.trim_start().starts_with(['{', '[']));
        if text.starts_with('{') || is_list {
            let is_iperf3 = ["\"test_start\"", "\"intervals\"", "\"event\":\"start\""]
                .iter()
                .any(|key| text.replace(' ', "").contains(key));
            return Some(if is_iperf3 { Self::Iperf3 } else { Self::Qlog });
        }
        text.lines().take(400).find_map(Self::of_line)
    }

    /// The format of what is compressed by gzip.
    fn of_packed(head: &[u8]) -> Option<Self> {
        let mut unpacked = vec![0; HEAD];
        let mut decoder = flate2::read::MultiGzDecoder::new(head);
        let mut filled = 0;
        while filled < unpacked.len() {
            // The head ends within the stream: what came before the error counts.
            match decoder.read(&mut unpacked[filled..]) {
                Ok(0) | Err(_) => break,
                Ok(more) => filled += more,
            }
        }
        let unpacked = &unpacked[..filled];
        (!unpacked.starts_with(&[0x1f, 0x8b])).then(|| Self::of(unpacked))?
    }

    /// The format to which only this line can belong.
    fn of_line(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.contains("tcp_probe:") || line.contains("tcp:tcp_probe") {
            return Some(Self::TcpProbe);
        }
        if super::ss::is_line(line) {
            return Some(Self::Ss);
        }
        if super::iperf3::is_line(line) {
            return Some(Self::Iperf3Text);
        }
        let has_addresses = words.len() > 3 && words[1..3].iter().all(|word| word.contains(':'));
        match words.first()?.parse::<f64>() {
            Ok(_) if has_addresses && words.len() >= 9 && words[4].starts_with("0x") => {
                Some(Self::TcpProbe)
            }
            Ok(_) if has_addresses => Some(Self::DccpProbe),
            _ => None,
        }
    }
}

/// What [`read`] takes a file for, for tests.
#[cfg(test)]
fn format_of(head: &str) -> Option<Format> {
    Format::of(head.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_first_octets() {
        assert_eq!(Format::of(&[0x0a, 0x0d, 0x0d, 0x0a]), Some(Format::Capture));
        assert_eq!(format_of("{\"qlog_version\": \"0.3\"}"), Some(Format::Qlog));
        assert_eq!(
            format_of("\u{1e}{\"file_schema\": \"x\"}\n"),
            Some(Format::Qlog)
        );
        assert_eq!(
            format_of("{\n \"start\": {}, \"intervals\": []}"),
            Some(Format::Iperf3)
        );
        let ss = "ESTAB 0 0 10.0.0.1:5201 10.0.0.2:40000 cubic rto:204 rtt:1.2/0.3 cwnd:10";
        assert_eq!(format_of(ss), Some(Format::Ss));
        let quoted = "It hangs:\n> lastack:32 busy:871ms\n> rwnd_limited:35ms(41.0%)";
        assert_eq!(format_of(quoted), Some(Format::Ss));
        assert_eq!(format_of("a window of cwnd:10 and more\n"), None);
        let iperf3 = "Connecting to host a, port 5201\n[ ID] Interval           Transfer\n";
        assert_eq!(format_of(iperf3), Some(Format::Iperf3Text));
        assert_eq!(format_of("Dear reader,\n"), None);
        assert_eq!(Format::of(&[]), None);
        assert_eq!(Format::of(&[0x1f, 0x8b, 8]), None);
    }

    #[test]
    fn what_is_no_trace_is_refused_with_what_it_begins_with() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[run]\nduration = \"1s\"\n").unwrap();
        let error = read(file.path()).unwrap_err().to_string();
        assert!(error.contains("qlog"), "{error}");
    }
}

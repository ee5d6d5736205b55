//! Lists all DCCP packets of a capture, one on each line.

use super::{Capture, CaptureError, ListingRow};
use std::fmt;
use std::io::{self, Write};
use weir_proto::dccp::wire::checksum::ChecksumStatus;

/// The format of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingFormat {
    /// One line of text for each packet.
    Text,
    /// One JSON object on each line: see [`ListingRow::json`].
    JsonLines,
}

/// The counts of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Frames of all protocols.
    pub frames: u64,
    /// DCCP packets.
    pub packets: u64,
    /// The number of these with an incorrect checksum.
    pub bad_checksums: u64,
    /// Frames whose DCCP packet is malformed.
    pub malformed: u64,
}

/// Why a listing ended early.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// The file is damaged; the lines before the damage were written.
    #[error(transparent)]
    Capture(CaptureError),
    /// Writing failed, for example to a closed pipe.
    #[error("cannot write: {0}")]
    Write(io::Error),
}

impl Capture {
    /// Writes a line for each remaining DCCP packet of the file.
    ///
    /// # Errors
    /// If the file is damaged, or writing fails.
    pub fn list(
        &mut self,
        form: ListingFormat,
        out: &mut dyn Write,
    ) -> Result<Listing, ListingError> {
        let mut listing = Listing::default();
        let fault = loop {
            match self.next_row() {
                Ok(Some(row)) => {
                    listing.count(&row);
                    write_row(&row, form, out).map_err(ListingError::Write)?;
                }
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        listing.frames = self.frames();
        out.flush().map_err(ListingError::Write)?;
        fault.map_or(Ok(listing), |error| Err(ListingError::Capture(error)))
    }
}

fn write_row(row: &ListingRow<'_>, form: ListingFormat, out: &mut dyn Write) -> io::Result<()> {
    match form {
        ListingFormat::Text => writeln!(out, "{row}"),
        ListingFormat::JsonLines => writeln!(out, "{}", row.json()),
    }
}

impl Listing {
    fn count(&mut self, row: &ListingRow<'_>) {
        match &row.content {
            Ok(content) => {
                self.packets += 1;
                self.bad_checksums += u64::from(content.checksum == ChecksumStatus::Bad);
            }
            Err(_) => self.malformed += 1,
        }
    }
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            frames,
            packets,
            bad_checksums,
            malformed,
        } = self;
        write!(
            f,
            "{packets} DCCP packets in {frames} frames, {bad_checksums} with a wrong checksum, \
             {malformed} malformed"
        )
    }
}

//! Reads qlog, the log of QUIC's endpoints, of any program: qlog 0.3 and its forerunners from
//! draft-00 on, 0.4, and draft-ietf-quic-qlog-main-schema up to -14; as JSON, JSON-SEQ or NDJSON,
//! also compressed by gzip.
//!
//! A connection at an endpoint is a flow, in the direction in which most data goes: the traced end
//! is its sender or its receiver. Two traces of one file at both ends of one connection are one
//! flow, with the packets of both. The metrics of the sender become the columns of `flows/NAME`;
//! where the file has none, the round-trip time and the octets in flight come from its packets and
//! acknowledgements (RFC 9002 §5, Appendix A).
//!
//! Does not read: events of HTTP/3, of security, of datagrams of UDP and of migration, in which
//! packets of several paths are put together; nor metrics of the receiver, whose controller is that
//! of the other direction.

mod clock;
mod connections;
mod contents;
mod document;
mod event;
mod fields;
mod flow_builder;
mod flows;
mod frames;
mod head;
mod input;
mod record;
mod rows;
mod sent;
mod stacks;
#[cfg(test)]
mod tests;

use super::{ImportError, Imported};
use connections::Collector;
use input::Input;
use std::io::Read;

/// Reads a qlog file.
///
/// # Errors
/// [`ImportError::Read`] if it cannot be read, [`ImportError::Damaged`] with the event, line and
/// octet if it is no JSON, and [`ImportError::NoFlow`] if it has no event of QUIC that is read.
pub fn read(reader: impl Read) -> Result<Imported, ImportError> {
    let mut collector = Collector::default();
    document::read_into(Input::new(reader)?, &mut collector)?;
    flows::imported(collector)
}

//! Control messages on a stream: each has its length before it.

use quinn::{ReadExactError, RecvStream, SendStream, WriteError};
use weir_wire::test_protocol::Message;

/// Octets of the longest message that is read.
const MAX_OCTETS: usize = 4096;

/// Writes a message.
pub async fn write(stream: &mut SendStream, message: Message) -> Result<(), WriteError> {
    let octets = message.to_octets();
    let length = u16::try_from(octets.len()).unwrap_or(u16::MAX);
    stream.write_all(&length.to_be_bytes()).await?;
    stream.write_all(&octets).await
}

/// Reads the next message; `None` at the end of the stream or for what is no message.
pub async fn read(stream: &mut RecvStream) -> Option<Message> {
    let octets = read_octets(stream).await.ok()?;
    Message::from_octets(&octets)
}

/// Reads the octets of the next message.
pub async fn read_octets(stream: &mut RecvStream) -> Result<Vec<u8>, ReadExactError> {
    let mut length = [0; 2];
    stream.read_exact(&mut length).await?;
    let mut octets = vec![0; usize::from(u16::from_be_bytes(length)).min(MAX_OCTETS)];
    stream.read_exact(&mut octets).await?;
    Ok(octets)
}

//! Control messages on a stream, each preceded by its length.

use quinn::{RecvStream, SendStream, WriteError};
use weir_wire::test_protocol::Message;

/// The maximum length of a message in octets.
const MAX_OCTETS: usize = 4096;

/// The stream of control messages.
pub struct Control {
    send: SendStream,
    receive: RecvStream,
    /// The received part of the next message.
    unread: Vec<u8>,
    /// Whether this end has sent its last message.
    is_finished: bool,
}

impl Control {
    /// Control messages on this stream.
    pub fn new((send, receive): (SendStream, RecvStream)) -> Self {
        Self {
            send,
            receive,
            unread: Vec::new(),
            is_finished: false,
        }
    }

    /// Writes a message; the last Report and a refusal finish the stream. False if the connection
    /// has ended.
    pub async fn write(&mut self, message: Message) -> bool {
        let is_last = match message {
            Message::Report(report) => report.last,
            message => matches!(message, Message::Refused(_)),
        };
        let written = self.write_all(&message.to_octets()).await.is_ok();
        if is_last {
            self.is_finished = self.send.finish().is_ok();
        }
        written
    }

    async fn write_all(&mut self, octets: &[u8]) -> Result<(), WriteError> {
        let length = u16::try_from(octets.len()).unwrap_or(u16::MAX);
        self.send.write_all(&length.to_be_bytes()).await?;
        self.send.write_all(octets).await
    }

    /// Reads the octets of the next message; `None` at the end of the stream, or when the peer has
    /// received everything after this end's last message. The future may be dropped and the
    /// function called again.
    pub async fn read(&mut self) -> Option<Vec<u8>> {
        if self.is_finished {
            let _ = self.send.stopped().await;
            return None;
        }
        loop {
            if let Some((length, rest)) = self.unread.split_first_chunk() {
                let length = usize::from(u16::from_be_bytes(*length)).min(MAX_OCTETS);
                if let Some(message) = rest.get(..length) {
                    let message = message.to_vec();
                    self.unread.drain(..2 + length);
                    return Some(message);
                }
            }
            let chunk = self.receive.read_chunk(MAX_OCTETS, true).await.ok()??;
            self.unread.extend_from_slice(&chunk.bytes);
        }
    }
}

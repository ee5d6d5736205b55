//! Errors that end a connection (RFC 9000 §20.1).

use std::fmt;

/// A transport error (RFC 9000 §20.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportError {
    /// The error code on the wire.
    pub code: u64,
    /// What happened, as a message for users.
    pub what: &'static str,
}

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        impl TransportError {
            $($(#[$doc])* pub const fn $name(what: &'static str) -> Self {
                Self { code: $code, what }
            })*
        }
    };
}

errors! {
    /// INTERNAL_ERROR.
    internal = 0x1;
    /// FLOW_CONTROL_ERROR.
    flow_control = 0x3;
    /// STREAM_LIMIT_ERROR.
    stream_limit = 0x4;
    /// STREAM_STATE_ERROR.
    stream_state = 0x5;
    /// FINAL_SIZE_ERROR.
    final_size = 0x6;
    /// FRAME_ENCODING_ERROR.
    frame_encoding = 0x7;
    /// PROTOCOL_VIOLATION.
    protocol_violation = 0xa;
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (error {:#x})", self.what, self.code)
    }
}

impl std::error::Error for TransportError {}

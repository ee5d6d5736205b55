//! TCP-friendly rate control (RFC 5348) and its earlier revisions.

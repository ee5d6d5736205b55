//! Answers: their bodies and the headers that all of them have.

use super::guard::Refusal;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// The octets of an answer.
pub enum ReplyBody {
    /// All of them.
    Whole(Option<Bytes>),
    /// Parts that follow, such as events.
    Parts(mpsc::Receiver<Bytes>),
}

/// An answer.
pub type Reply = Response<ReplyBody>;

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = |octets| Some(Ok(Frame::data(octets)));
        match &mut *self {
            Self::Whole(octets) => Poll::Ready(octets.take().and_then(frame)),
            Self::Parts(parts) => parts.poll_recv(context).map(|part| part.and_then(frame)),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(octets) => {
                SizeHint::with_exact(octets.as_ref().map_or(0, |octets| octets.len() as u64))
            }
            Self::Parts(_) => SizeHint::default(),
        }
    }
}

/// What a page may load: from this server only, and no script or style of its own text. WebAssembly
/// needs its word (Content Security Policy Level 3 §6.1).
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                      img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; \
                      worker-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

const SECURITY: [(HeaderName, &str); 6] = [
    (hyper::header::CONTENT_SECURITY_POLICY, POLICY),
    (hyper::header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (hyper::header::REFERRER_POLICY, "no-referrer"),
    (hyper::header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// The answer with the headers that protect the page and its data.
pub fn protected(mut reply: Reply) -> Reply {
    for (name, value) in SECURITY {
        reply
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    let headers = reply.headers_mut();
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    reply
}

/// An answer with these octets.
pub fn octets(status: StatusCode, kind: &'static str, octets: impl Into<Bytes>) -> Reply {
    with_body(status, kind, ReplyBody::Whole(Some(octets.into())))
}

/// A stream of server-sent events (HTML §9.2).
pub fn events(parts: mpsc::Receiver<Bytes>) -> Reply {
    with_body(StatusCode::OK, "text/event-stream", ReplyBody::Parts(parts))
}

fn with_body(status: StatusCode, kind: &'static str, body: ReplyBody) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

/// An answer in JSON.
pub fn document(status: StatusCode, document: &Value) -> Reply {
    octets(status, "application/json", document.to_string())
}

/// A refusal, with its reason.
pub fn refused(refusal: Refusal) -> Reply {
    error(refusal.0, refusal.1)
}

/// An error with its message.
pub fn error(status: StatusCode, message: &str) -> Reply {
    document(status, &json!({ "error": { "message": message } }))
}

/// An event with a name and a document, in the format of server-sent events.
pub fn event(name: &str, document: &Value) -> Bytes {
    // JSON has no line feeds here, so that the document is one line.
    Bytes::from(format!("event: {name}\ndata: {document}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_its_document_holds() {
        let text = event("failed", &json!({ "message": "a\n\ndata: b\r\u{2028}" }));
        let text = std::str::from_utf8(&text).unwrap();
        assert_eq!(text.matches('\n').count(), 3, "{text}");
        assert!(!text.contains('\r') && text.ends_with("\n\n"), "{text}");
    }

    #[test]
    fn every_answer_is_protected() {
        let reply = protected(error(StatusCode::NOT_FOUND, "</script><b>"));
        for (name, value) in SECURITY {
            assert_eq!(reply.headers()[name], value);
        }
        assert_eq!(reply.headers()[CONTENT_TYPE], "application/json");
        let policy = reply.headers()["content-security-policy"].to_str().unwrap();
        assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"));
    }
}

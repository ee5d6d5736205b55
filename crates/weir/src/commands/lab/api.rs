//! What the page asks: a path for each question, answered in JSON, as the octets of a run or as
//! events.

use super::bundle::bundle;
use super::folder::Folder;
use super::guard::{Guard, Refusal};
use super::jobs::{JobState, Jobs, Request};
use super::page::{Page, contents};
use super::reply::{self, Reply, document, error, event, octets};
use crate::build;
use crate::commands::compare;
use crate::exit::Failure;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, HeaderValue, VARY};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::timeout;
use weir_lab::diagnosis::{Trace, explain, explanation_json};
use weir_lab::trace::RunFolder;

/// The maximum size of the content of a request, and the time that it may take.
const MAX_CONTENT: usize = 4 << 20;
const CONTENT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time between two looks at the progress of other commands, and between two events of a
/// stream, so that a reader that has left is noticed.
const PROGRESS_PERIOD: Duration = Duration::from_secs(1);
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The runs that are read at the same time.
const READERS: usize = 2;

/// What the server knows.
pub struct Lab {
    pub guard: Guard,
    pub page: Page,
    pub folder: Folder,
    pub jobs: Jobs,
    readers: Semaphore,
    /// The progress of commands that were started elsewhere.
    progress: watch::Sender<Value>,
}

const NOT_FOUND: Refusal = Refusal(StatusCode::NOT_FOUND, "there is nothing at this path");
const NO_RUN: Refusal = Refusal(StatusCode::NOT_FOUND, "there is no run at this path");
const BUSY: Refusal = Refusal(
    StatusCode::TOO_MANY_REQUESTS,
    "two runs go on already: wait for one of them, or end it",
);
const TOO_LARGE: Refusal = Refusal(StatusCode::PAYLOAD_TOO_LARGE, "expected at most 4 MiB");
const INCOMPLETE: Refusal = Refusal(StatusCode::REQUEST_TIMEOUT, "the content is incomplete");
const NO_JSON: Refusal = Refusal(StatusCode::BAD_REQUEST, "expected a document in JSON");

impl Lab {
    pub fn new(guard: Guard, folder: Folder) -> Self {
        Self {
            guard,
            page: Page::embedded(),
            folder,
            jobs: Jobs::default(),
            readers: Semaphore::new(READERS),
            progress: watch::Sender::new(json!([])),
        }
    }

    /// Answers a request.
    pub async fn answer(self: &Arc<Self>, request: Parts, content: Incoming) -> Reply {
        let answered = match self.guard.check(&request) {
            Ok(()) if request.method == Method::POST => self.post(&request, content).await,
            Ok(()) => self.get(&request).await,
            Err(refusal) => Err(refusal),
        };
        reply::protected(answered.unwrap_or_else(reply::refused))
    }

    async fn get(self: &Arc<Self>, request: &Parts) -> Result<Reply, Refusal> {
        let query = request.uri.query().unwrap_or_default();
        let Some(path) = request.uri.path().strip_prefix("/api/") else {
            return self.file(request.uri.path(), &request.headers);
        };
        match path {
            "hello" => Ok(document(StatusCode::OK, &self.hello())),
            "runs" => self.blocking(|lab| Ok(lab.folder.runs())).await,
            "live" => Ok(reply::events(self.live())),
            "run" => {
                let run = self.run_of(query, "path")?;
                let read = self.read(move || bundle(&run).map_err(Failure::from)).await;
                Ok(match read {
                    Ok(bundle) => octets(StatusCode::OK, "application/octet-stream", bundle),
                    Err(failure) => failed(&failure),
                })
            }
            "explanation" => {
                let run = self.run_of(query, "path")?;
                let read = self.read(move || {
                    let folder = RunFolder::open(&run)?;
                    Ok(explanation_json(
                        &explain(&Trace::of_folder(&folder)?),
                        None,
                    ))
                });
                Ok(match read.await {
                    Ok(text) => octets(StatusCode::OK, "application/json", text),
                    Err(failure) => failed(&failure),
                })
            }
            "compare" => {
                let [a, b] = [self.run_of(query, "a")?, self.run_of(query, "b")?];
                self.blocking(move |_| compare::documented(&a, &b)).await
            }
            _ => match path
                .strip_prefix("jobs/")
                .and_then(|path| path.strip_suffix("/events"))
            {
                Some(number) => self.events_of(number),
                None => Err(NOT_FOUND),
            },
        }
    }

    async fn post(self: &Arc<Self>, request: &Parts, content: Incoming) -> Result<Reply, Refusal> {
        let path = request.uri.path();
        if path == "/api/jobs" {
            let content = timeout(CONTENT_TIMEOUT, read_content(content)).await;
            let content = content.map_err(|_| INCOMPLETE)??;
            let asked: Value = serde_json::from_slice(&content).map_err(|_| NO_JSON)?;
            let asked = Request::read(&asked);
            let asked = asked.map_err(|expected| Refusal(StatusCode::BAD_REQUEST, expected))?;
            let job = self.jobs.begin(&self.folder, asked).ok_or(BUSY)?;
            return Ok(document(StatusCode::ACCEPTED, &json!({ "job": job })));
        }
        let number = path
            .strip_prefix("/api/jobs/")
            .and_then(|path| path.strip_suffix("/cancel"));
        let number = number
            .and_then(|number| number.parse().ok())
            .ok_or(NOT_FOUND)?;
        if self.jobs.cancel(number) {
            Ok(document(StatusCode::OK, &json!({})))
        } else {
            Err(NOT_FOUND)
        }
    }

    fn hello(&self) -> Value {
        json!({
            "version": build::VERSION,
            "commit": build::commit(),
            "page": self.page.sources(),
            "folder": self.folder.root().to_string_lossy(),
            "token": self.guard.token,
        })
    }

    /// A file of the page, compressed as it is stored if the browser takes that.
    fn file(&self, path: &str, headers: &HeaderMap) -> Result<Reply, Refusal> {
        let (kind, compressed) = self.page.get(path).ok_or(NOT_FOUND)?;
        let accepted = headers
            .get(ACCEPT_ENCODING)
            .and_then(|value| value.to_str().ok());
        let takes_gzip = accepted.is_some_and(|accepted| {
            let mut codings = accepted.split(',').map(str::trim);
            codings.any(|coding| {
                coding == "gzip" || coding.starts_with("gzip;") && !coding.ends_with("q=0")
            })
        });
        let mut reply = if takes_gzip {
            let mut reply = octets(StatusCode::OK, kind, Bytes::from_static(compressed));
            reply
                .headers_mut()
                .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            reply
        } else {
            let whole = contents(compressed).map_err(|_| NOT_FOUND)?;
            octets(StatusCode::OK, kind, whole)
        };
        reply
            .headers_mut()
            .insert(VARY, HeaderValue::from_static("accept-encoding"));
        Ok(reply)
    }

    /// The folder of the run that this part of a query names.
    fn run_of(&self, query: &str, key: &str) -> Result<std::path::PathBuf, Refusal> {
        let parts = query.split('&').filter_map(|part| part.split_once('='));
        let value = parts
            .filter(|(name, _)| *name == key)
            .map(|(_, value)| value)
            .next();
        let path = value.and_then(decoded).ok_or(NO_RUN)?;
        self.folder.run(&path).ok_or(NO_RUN)
    }

    /// Does work that reads files, in a thread; few at a time, because runs are large.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        // The semaphore is never closed.
        let _turn = self.readers.acquire().await;
        let caught = || weir_lab::fault::caught(work).unwrap_or_else(|fault| Err(fault.into()));
        tokio::task::spawn_blocking(caught).await?
    }

    /// The document of work that reads files.
    async fn blocking(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<Value, Failure> + Send + 'static,
    ) -> Result<Reply, Refusal> {
        let lab = Arc::clone(self);
        Ok(match self.read(move || work(&lab)).await {
            Ok(found) => document(StatusCode::OK, &found),
            Err(failure) => failed(&failure),
        })
    }

    /// The states of a run that a page has asked for.
    fn events_of(&self, number: &str) -> Result<Reply, Refusal> {
        let number = number.parse().map_err(|_| NOT_FOUND)?;
        let states = self.jobs.states(number).ok_or(NOT_FOUND)?;
        let event_of = |state: &JobState| match state {
            JobState::Running(document) => (event("progress", document), false),
            JobState::Done(document) => (event("done", document), true),
            JobState::Failed(document) => (event("failed", document), true),
        };
        Ok(reply::events(stream(states, event_of)))
    }

    /// The progress of commands that were started elsewhere.
    fn live(&self) -> mpsc::Receiver<Bytes> {
        let told = |commands: &Value| (event("progress", &json!({ "commands": commands })), false);
        stream(self.progress.subscribe(), told)
    }

    /// Looks for the progress of other commands while a page wants to know it.
    pub async fn follow_progress(self: Arc<Self>) {
        loop {
            tokio::time::sleep(PROGRESS_PERIOD).await;
            if self.progress.receiver_count() == 0 {
                continue;
            }
            let folder = self.folder.clone();
            let found = tokio::task::spawn_blocking(move || folder.progress()).await;
            let found = Value::Array(found.unwrap_or_default());
            self.progress.send_if_modified(|known| {
                let is_new = *known != found;
                *known = found;
                is_new
            });
        }
    }
}

/// Events for the states of a value, until one is the last or the reader has left.
fn stream<T: Clone + Send + Sync + 'static>(
    mut states: watch::Receiver<T>,
    event_of: impl Fn(&T) -> (Bytes, bool) + Send + 'static,
) -> mpsc::Receiver<Bytes> {
    let (sender, receiver) = mpsc::channel(4);
    tokio::spawn(async move {
        loop {
            let (event, is_last) = event_of(&states.borrow_and_update());
            if sender.send(event).await.is_err() || is_last {
                return;
            }
            loop {
                match timeout(HEARTBEAT, states.changed()).await {
                    Ok(Ok(())) => break,
                    Ok(Err(_)) => return,
                    // A comment (HTML §9.2.6).
                    Err(_) if sender.send(Bytes::from_static(b":\n\n")).await.is_err() => return,
                    Err(_) => {}
                }
            }
        }
    });
    receiver
}

/// The content of a request, which is small.
async fn read_content(mut content: Incoming) -> Result<Vec<u8>, Refusal> {
    use hyper::body::Body as _;
    if content.size_hint().lower() > MAX_CONTENT as u64 {
        return Err(TOO_LARGE);
    }
    let mut whole = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut content).poll_frame(cx)).await {
        let frame = frame.map_err(|_| INCOMPLETE)?;
        if let Ok(part) = frame.into_data() {
            if whole.len() + part.len() > MAX_CONTENT {
                return Err(TOO_LARGE);
            }
            whole.extend_from_slice(&part);
        }
    }
    Ok(whole)
}

/// A value of a query without its percent-encoding (RFC 3986 §2.1); `None` if it is not valid.
fn decoded(value: &str) -> Option<String> {
    let mut octets = Vec::new();
    let mut rest = value.bytes();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digit = |digit: u8| char::from(digit).to_digit(16);
                (digit(digits[0])? * 16 + digit(digits[1])?) as u8
            }
            b'+' => b' ',
            other => other,
        });
    }
    String::from_utf8(octets).ok()
}

/// The answer for work that failed.
fn failed(failure: &Failure) -> Reply {
    error(StatusCode::UNPROCESSABLE_ENTITY, &failure.message())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_encoding_is_decoded_once_or_refused() {
        let table = [
            ("results%2Fa%20b+c", Some("results/a b c")),
            ("%252e", Some("%2e")),
            ("%2", None),
            ("%zz", None),
            ("%ff", None),
            ("%+1", None),
            ("", Some("")),
        ];
        for (value, expected) in table {
            assert_eq!(decoded(value).as_deref(), expected, "{value}");
        }
    }
}

//! The server: it accepts connections, few at a time, and ends with Ctrl-C.

use super::api::Lab;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// The connections that are open at the same time; others wait.
const MAX_CONNECTIONS: usize = 64;
/// The maximum size and number of the headers of a request, and the time that they may take, which
/// is also the time for which a connection may be idle.
const MAX_HEADERS: usize = 16 << 10;
const MAX_HEADER_LINES: usize = 64;
const HEADER_TIMEOUT: Duration = Duration::from_secs(20);
/// The time to wait after an error of the system, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until Ctrl-C.
pub async fn serve(lab: Lab, listener: TcpListener, interrupt: &Interrupt) -> Result<(), Failure> {
    let lab = Arc::new(lab);
    let follower = tokio::spawn(Arc::clone(&lab).follow_progress());
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = async {
            // The semaphore is never closed.
            let slot = Arc::clone(&slots).acquire_owned().await;
            (slot, listener.accept().await)
        };
        let (slot, accepted) = tokio::select! {
            accepted = accepted => accepted,
            () = interrupt.pressed() => break,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let lab = Arc::clone(&lab);
        tokio::spawn(async move {
            // A connection that breaks concerns its browser only.
            let _ = answer(stream, lab).await;
            drop(slot);
        });
    }
    follower.abort();
    // Runs remove their incomplete files.
    tokio::task::spawn_blocking(move || lab.jobs.end()).await?;
    Err(Failure::Interrupted)
}

async fn answer(stream: TcpStream, lab: Arc<Lab>) -> hyper::Result<()> {
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let lab = Arc::clone(&lab);
        async move {
            let (request, content) = request.into_parts();
            Ok::<_, Infallible>(lab.answer(request, content).await)
        }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEADERS)
        .max_headers(MAX_HEADER_LINES)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

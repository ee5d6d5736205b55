//! A transfer over the kernel's own TCP between two hosts of a testbed: a thread that writes as
//! much as the connection takes, and one that reads and counts. The state is the kernel's
//! `tcp_info`.

use crate::error::Error;
use crate::realtime::tcp_flow;
use crate::tcp_info::{SocketDiagnostics, TcpInfo};
use crate::testbed::Testbed;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use weir_proto::packet::FlowId;

/// How long a thread waits before it looks whether the transfer is over.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The time that a path has to let a handshake through.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Octets of one write and one read.
const CHUNK: usize = 1 << 16;

/// A transfer to be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferPlan {
    /// The sender's host.
    pub from: usize,
    /// The receiver's host.
    pub to: usize,
    /// The kernel's congestion control (`TCP_CONGESTION`).
    pub controller: &'static str,
    /// The time after [`KernelTransfer::start`] at which the connection is opened.
    pub start: Duration,
}

/// One end of the connection: its address, and a socket to ask about it.
#[derive(Debug)]
struct End {
    address: SocketAddr,
    diagnostics: SocketDiagnostics,
}

/// The sockets before the transfer starts.
#[derive(Debug)]
struct Sockets {
    listener: TcpListener,
    sender: Socket,
    start: Duration,
}

/// A transfer over the kernel's TCP. It ends when it is dropped.
#[derive(Debug)]
pub struct KernelTransfer {
    sender: End,
    receiver: End,
    waiting: Option<Sockets>,
    /// The sender's socket, by which a write that waits is ended.
    writing: Socket,
    threads: Vec<JoinHandle<()>>,
    received: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

/// The state of both ends at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferState {
    /// The sender's end.
    pub sender: TcpInfo,
    /// The receiver's end.
    pub receiver: TcpInfo,
    /// Octets that the receiving application has read.
    pub payload_received: u64,
}

impl Testbed {
    /// Prepares a transfer: both sockets exist, and nothing is sent.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel has no such congestion control; [`Error::Socket`].
    pub fn transfer(&self, plan: TransferPlan) -> Result<KernelTransfer, Error> {
        let [from, to] = [plan.from, plan.to];
        let near = SocketAddr::new(self.address_of(from), 0);
        let far = SocketAddr::new(self.address_of(to), 0);
        let name = format!(
            "use the congestion control \"{}\" of this kernel",
            plan.controller
        );
        let sender = self.host(from)?.run(move || {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.bind(&near.into())?;
            Ok::<_, io::Error>((socket, SocketDiagnostics::open()?))
        })?;
        let listener = self.host(to)?.run(move || {
            Ok::<_, io::Error>((TcpListener::bind(far)?, SocketDiagnostics::open()?))
        })?;
        let failed = |address| move |source| Error::Socket { address, source };
        let (sender, near_diagnostics) = sender.map_err(failed(near))?;
        let (listener, far_diagnostics) = listener.map_err(failed(far))?;
        sender
            .set_tcp_congestion(plan.controller.as_bytes())
            .map_err(|error| Error::System(name, error))?;
        let address = sender.local_addr().map_err(failed(near))?;
        let end = |address, diagnostics| End {
            address,
            diagnostics,
        };
        Ok(KernelTransfer {
            sender: end(address.as_socket().unwrap_or(near), near_diagnostics),
            receiver: end(listener.local_addr().map_err(failed(far))?, far_diagnostics),
            writing: sender.try_clone().map_err(failed(near))?,
            waiting: Some(Sockets {
                listener,
                sender,
                start: plan.start,
            }),
            threads: Vec::new(),
            received: Arc::default(),
            over: Arc::default(),
        })
    }
}

impl KernelTransfer {
    /// Starts the threads; only the first call has an effect.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn start(&mut self) -> Result<(), Error> {
        let Some(sockets) = self.waiting.take() else {
            return Ok(());
        };
        let Sockets {
            listener,
            sender,
            start,
        } = sockets;
        let (to, over) = (self.receiver.address, Arc::clone(&self.over));
        let spawn = |name: &str, job: Box<dyn FnOnce() + Send>| {
            let named = std::thread::Builder::new().name(name.to_owned());
            named
                .spawn(job)
                .map_err(|error| Error::System("start a thread".to_owned(), error))
        };
        // A connection that fails shows in what arrived.
        let write = move || drop(write_all_the_time(sender, to, start, &over));
        self.threads.push(spawn("kernel sender", Box::new(write))?);
        let (received, over) = (Arc::clone(&self.received), Arc::clone(&self.over));
        let read = move || drop(read_and_count(&listener, &received, &over));
        self.threads.push(spawn("kernel receiver", Box::new(read))?);
        Ok(())
    }

    /// The number that the packets of its data have at the devices of the testbed.
    pub fn flow(&self) -> FlowId {
        tcp_flow(self.sender.address, self.receiver.address)
    }

    /// The state of both ends; `None` while there is no connection.
    ///
    /// # Errors
    /// If the kernel refuses to tell.
    pub fn state(&self) -> Result<Option<TransferState>, Error> {
        let ask = |end: &End, peer: &End| end.diagnostics.tcp_info(end.address, peer.address);
        let told = ask(&self.sender, &self.receiver)
            .and_then(|sender| Ok((sender, ask(&self.receiver, &self.sender)?)));
        let (sender, receiver) =
            told.map_err(|error| Error::System("ask for a tcp_info".to_owned(), error))?;
        let payload_received = self.received.load(Ordering::Relaxed);
        Ok(sender
            .zip(receiver)
            .map(|(sender, receiver)| TransferState {
                sender,
                receiver,
                payload_received,
            }))
    }
}

impl Drop for KernelTransfer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Without a connection there is no write that waits.
        let _ = self.writing.shutdown(Shutdown::Both);
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// True for errors after which a thread tries again.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

/// Opens the connection after `start` and writes until the transfer is over.
fn write_all_the_time(
    socket: Socket,
    to: SocketAddr,
    start: Duration,
    over: &AtomicBool,
) -> io::Result<()> {
    let begun = std::time::Instant::now();
    while begun.elapsed() < start && !over.load(Ordering::Relaxed) {
        std::thread::sleep(POLL_INTERVAL.min(start.saturating_sub(begun.elapsed())));
    }
    socket.connect_timeout(&to.into(), HANDSHAKE_TIMEOUT)?;
    let mut stream = TcpStream::from(socket);
    let chunk = vec![0; CHUNK];
    // No timeout of writes: one that returned early would write again before the kernel wakes a
    // writer, which is when a third of the send buffer is free.
    while !over.load(Ordering::Relaxed) {
        stream.write_all(&chunk)?;
    }
    Ok(())
}

/// Accepts a connection, reads until the transfer is over, and counts what it reads.
fn read_and_count(
    listener: &TcpListener,
    received: &AtomicU64,
    over: &AtomicBool,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: POLL_INTERVAL.as_nanos() as _,
    };
    let mut stream = loop {
        if over.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut polled = [PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)];
        let _ = poll(&mut polled, Some(&timeout));
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    };
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(POLL_INTERVAL))?;
    let mut chunk = vec![0; CHUNK];
    while !over.load(Ordering::Relaxed) {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(octets) => {
                received.fetch_add(octets as u64, Ordering::Relaxed);
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

//! A server's socket.

use crate::config::{EndpointConfig, random_iss};
use crate::connection::Connection;
use crate::error::Error;
use crate::hub::{Command, Hub};
use crate::socket::Socket;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;

/// Connections that may wait for [`Listener::accept`].
const BACKLOG: usize = 1024;

/// What a listener holds, and what it has done with packets that had no connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Connections, those included whose handshake is not done or which are over.
    pub connections: usize,
    /// Connections whose handshake is not done.
    pub handshakes: usize,
    /// Connections that are over and in TIMEWAIT.
    pub lingering: usize,
    /// Responses that carried an Init Cookie, so that nothing was remembered.
    pub cookies_sent: u64,
    /// Connections that came to be from a cookie.
    pub cookies_accepted: u64,
    /// Cookies that were forged, changed, too old or used.
    pub cookies_refused: u64,
    /// Resets to packets that had no connection.
    pub resets_sent: u64,
    /// Packets that were not answered because of a limit.
    pub unanswered: u64,
}

/// Where the listener's task writes its load.
#[derive(Debug, Default)]
pub(crate) struct Board(Mutex<Load>);

impl Board {
    pub(crate) fn set(&self, load: Load) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = load;
    }

    fn get(&self) -> Load {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A socket that takes connections. Dropping it takes no more; those that there are go on.
#[derive(Debug)]
pub struct Listener {
    local: SocketAddr,
    connections: mpsc::Receiver<Connection>,
    board: Arc<Board>,
    _commands: mpsc::UnboundedSender<Command>,
}

impl Listener {
    /// Listens at this UDP address, port 0 for any, for the service and DCCP port of the options.
    /// The port means nothing if there is no UDP.
    ///
    /// # Errors
    /// [`Error::Socket`]; [`Error::Privilege`]; [`Error::UnknownProfile`]; [`Error::Randomness`].
    #[allow(
        clippy::unused_async,
        reason = "a socket needs the runtime that it runs in"
    )]
    pub async fn bind(address: SocketAddr, options: EndpointConfig) -> Result<Self, Error> {
        // What is wrong with the options is said here and not to a client.
        options.config(0, random_iss()?)?;
        let mut socket = Socket::bind(address, &options)?;
        socket.expect(options.dccp_port);
        let local = socket.local();
        let (sink, connections) = mpsc::channel(BACKLOG);
        let (hub, commands) = Hub::new(socket, &options, Some(sink))?;
        let board = hub.board();
        tokio::spawn(hub.run());
        Ok(Self {
            local,
            connections,
            board,
            _commands: commands,
        })
    }

    /// The UDP address, with port 0 if there is no UDP.
    pub const fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// What the listener holds and has done.
    pub fn load(&self) -> Load {
        self.board.get()
    }

    /// The next connection whose handshake is done.
    ///
    /// # Errors
    /// [`Error::Closed`] if the listener's task has ended.
    pub async fn accept(&mut self) -> Result<Connection, Error> {
        self.connections.recv().await.ok_or(Error::Closed)
    }
}

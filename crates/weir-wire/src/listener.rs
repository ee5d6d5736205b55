//! A server's socket.

use crate::connection::Connection;
use crate::error::Error;
use crate::hub::{Command, Hub};
use crate::options::Options;
use crate::socket::Socket;
use std::net::SocketAddr;
use tokio::sync::mpsc;

/// Connections that may wait for [`Listener::accept`].
const BACKLOG: usize = 1024;

/// A socket that takes connections. Dropping it takes no more; those that there are go on.
#[derive(Debug)]
pub struct Listener {
    local: SocketAddr,
    connections: mpsc::Receiver<Connection>,
    _commands: mpsc::UnboundedSender<Command>,
}

impl Listener {
    /// Listens at this UDP address, port 0 for any, for the service and DCCP port of the options.
    ///
    /// # Errors
    /// [`Error::Socket`]; [`Error::UnknownProfile`].
    #[allow(
        clippy::unused_async,
        reason = "a socket needs the runtime that it runs in"
    )]
    pub async fn bind(address: SocketAddr, options: Options) -> Result<Self, Error> {
        // What is wrong with the options is said here and not to a client.
        options.config(0)?;
        let socket = Socket::bind(address, options.segmentation)?;
        let local = socket.local();
        let (sink, connections) = mpsc::channel(BACKLOG);
        let (hub, commands) = Hub::new(socket, Some((options, sink)));
        tokio::spawn(hub.run());
        Ok(Self {
            local,
            connections,
            _commands: commands,
        })
    }

    /// The UDP address.
    pub const fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// The next connection whose handshake is done.
    ///
    /// # Errors
    /// [`Error::Closed`] if the listener's task has ended.
    pub async fn accept(&mut self) -> Result<Connection, Error> {
        self.connections.recv().await.ok_or(Error::Closed)
    }
}

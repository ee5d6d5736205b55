//! A server's socket.

use crate::config::{EndpointConfig, random_iss};
use crate::connection::{Command, Connection};
use crate::driver::EndpointDriver;
#[cfg(target_os = "linux")]
use crate::encapsulation::Encapsulation;
use crate::error::Error;
use crate::load::Load;
#[cfg(target_os = "linux")]
use crate::raw_port::RawPort;
use crate::socket::Socket;
use std::net::SocketAddr;
use tokio::sync::{mpsc, watch};

/// Connections that may wait for [`Listener::accept`]; further ones are dropped.
const BACKLOG: usize = 1024;

/// A socket that accepts connections. After it is dropped, accepted connections continue.
#[derive(Debug)]
pub struct Listener {
    local: SocketAddr,
    connections: mpsc::Receiver<Connection>,
    load: watch::Receiver<Load>,
    /// Over IP, the lock on the DCCP port.
    #[cfg(target_os = "linux")]
    _port: Option<RawPort>,
    /// Keeps the task alive, which ends when the last handle is dropped.
    _commands: mpsc::UnboundedSender<Command>,
}

impl Listener {
    /// Listens at this UDP address, port 0 for any, for the service code and DCCP port of the
    /// configuration. Over IP the port of the address is ignored.
    ///
    /// # Errors
    /// [`Error::Socket`]; [`Error::PortInUse`]; [`Error::Privilege`]; [`Error::Randomness`].
    #[allow(
        clippy::unused_async,
        reason = "a socket needs the runtime that it runs in"
    )]
    pub async fn bind(address: SocketAddr, config: EndpointConfig) -> Result<Self, Error> {
        // Reports a lack of randomness here instead of at the first client.
        random_iss()?;
        let mut socket = Socket::bind(address, &config)?;
        socket.restrict_to_port(config.dccp_port);
        let local = socket.local();
        #[cfg(target_os = "linux")]
        let port = match config.encapsulation {
            Encapsulation::RawIp => Some(RawPort::take(local.ip(), config.dccp_port)?),
            Encapsulation::Udp => None,
        };
        let (sink, connections) = mpsc::channel(BACKLOG);
        let (driver, commands) = EndpointDriver::new(socket, &config, Some(sink))?;
        let load = driver.load();
        tokio::spawn(driver.run());
        Ok(Self {
            local,
            connections,
            load,
            #[cfg(target_os = "linux")]
            _port: port,
            _commands: commands,
        })
    }

    /// The UDP address, with port 0 over IP.
    pub const fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// The load of the listener.
    pub fn load(&self) -> Load {
        *self.load.borrow()
    }

    /// The next connection whose handshake is done.
    ///
    /// # Errors
    /// [`Error::Closed`] if the listener's task has ended.
    pub async fn accept(&mut self) -> Result<Connection, Error> {
        self.connections.recv().await.ok_or(Error::Closed)
    }
}

//! Opening a connection from a client.

use super::EndpointDriver;
use crate::address::unspecified_with_port;
use crate::config::{EndpointConfig, random_iss, random_u64};
use crate::connection::Connection;
use crate::connection_key::ConnectionKey;
use crate::connection_state::PendingConnect;
use crate::error::Error;
use crate::socket::Socket;
use std::net::SocketAddr;
use tokio::sync::oneshot;
use weir_proto::dccp;
use weir_proto::endpoint::Endpoint;

impl Connection {
    /// Opens a connection to the DCCP server at this UDP address, from a socket of its own. Over IP
    /// the port of the address is ignored.
    ///
    /// # Errors
    /// [`Error::Socket`]; [`Error::Privilege`]; [`Error::Randomness`]; [`Error::Refused`] if an
    /// ICMP message reports that no process listens there; [`Error::Reset`] if the server refuses;
    /// [`Error::TimedOut`] if no answer arrives within the configured time.
    pub async fn connect(to: SocketAddr, config: EndpointConfig) -> Result<Self, Error> {
        let connected = EndpointDriver::spawn_client(to, &config)?;
        connected.await.map_err(|_| Error::Closed)?
    }
}

/// Receives the connection when the handshake is done.
type Connected = oneshot::Receiver<Result<Connection, Error>>;

impl EndpointDriver {
    /// Starts the driver of a client's connection.
    fn spawn_client(to: SocketAddr, config: &EndpointConfig) -> Result<Connected, Error> {
        let to = config.encapsulation.peer(to);
        let mut socket = Socket::bind(unspecified_with_port(to, config.client_port), config)?;
        socket.connect(to)?;
        // The pending connection holds a sender of commands, which keeps the channel open.
        let (mut driver, _commands) = Self::new(socket, config, None)?;
        let connected = driver.connect(to, config)?;
        tokio::spawn(driver.run());
        Ok(connected)
    }

    /// Sends a Request.
    fn connect(&mut self, to: SocketAddr, config: &EndpointConfig) -> Result<Connected, Error> {
        let mut machine = config.dccp(config.encapsulation.overhead(to), random_iss()?);
        // A random port from the dynamic range, which off-path attackers cannot guess (RFC 6056).
        machine.local_port = 49_152 + (random_u64()? % 16_384) as u16;
        machine.remote_port = config.dccp_port;
        let key = ConnectionKey {
            peer: to,
            peer_port: machine.remote_port,
            local_port: machine.local_port,
        };
        self.socket.restrict_to_port(key.local_port);
        let machine = dccp::Connection::client(machine);
        let (mut state, connection) = self
            .new_connection(key, machine, config)
            .ok_or(Error::Closed)?;
        let (reply, connected) = oneshot::channel();
        state.pending_connect = Some(PendingConnect { reply, connection });
        state.local_ip = self.socket.source_ip();
        state.machine.connect(self.clock.now());
        self.insert(key, state);
        self.drive_connection(key);
        self.socket.write(&mut self.send_queue);
        Ok(connected)
    }
}

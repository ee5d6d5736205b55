//! Listeners and connections over loopback, and a limit for tests that would otherwise hang.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;
use weir_wire::{Connection, EndpointConfig, Listener};

/// Fails after a minute.
pub async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), work)
        .await
        .expect("it ends within a minute")
}

/// A listener at an unused port of this IP address, and its address.
pub async fn listen(address: &str, config: EndpointConfig) -> (Listener, SocketAddr) {
    let address = address.parse().expect("an address");
    let listener = Listener::bind(address, config).await.expect("a listener");
    let address = listener.local_address();
    (listener, address)
}

/// Both ends of a new connection to the listener.
pub async fn connect(listener: &mut Listener, config: EndpointConfig) -> (Connection, Connection) {
    let connecting = Connection::connect(listener.local_address(), config);
    let (client, server) = tokio::join!(connecting, listener.accept());
    (client.expect("a client"), server.expect("a server"))
}

//! A chat over datagrams: the server forwards each line of a client to all others.
//!
//! ```text
//! cargo run -p weir-wire --example chat -- serve 127.0.0.1:6511
//! cargo run -p weir-wire --example chat -- join 127.0.0.1:6511 anna
//! ```

use std::io::BufRead;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::{broadcast, mpsc};
use weir_wire::{Connection, EndpointConfig, Error, Listener};

/// Both ends use the service code "CHAT", so that a client of another service is refused (RFC
/// 5595).
fn config() -> EndpointConfig {
    EndpointConfig {
        service_code: u32::from_be_bytes(*b"CHAT"),
        ..EndpointConfig::default()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address] => serve(address.parse()?).await?,
        ["join", address, name] => join(address.parse()?, name).await?,
        _ => return Err("expected: chat serve ADDRESS, or chat join ADDRESS NAME".into()),
    }
    Ok(())
}

async fn serve(address: SocketAddr) -> Result<(), Error> {
    let mut listener = Listener::bind(address, config()).await?;
    println!("listening at {}", listener.local_address());
    let (lines, _) = broadcast::channel(64);
    loop {
        let client = listener.accept().await?;
        tokio::spawn(serve_client(client, lines.clone()));
    }
}

/// A line, shared by all its receivers, and the address of its sender.
type Line = (SocketAddr, Arc<[u8]>);

/// Forwards lines between a client and the others until the client leaves.
async fn serve_client(mut client: Connection, lines: broadcast::Sender<Line>) {
    let mut from_others = lines.subscribe();
    let mut sent = client.send(b"welcome").await;
    while sent.is_ok() {
        tokio::select! {
            received = client.receive() => match received {
                // Each client is subscribed too, so the channel always has a receiver.
                Some(line) => drop(lines.send((client.peer_address(), line.into()))),
                None => return,
            },
            line = from_others.recv() => match line {
                Ok((sender, line)) if sender != client.peer_address() => {
                    sent = client.send_shared(&line).await;
                }
                // The client's own line, or lines lost because the client is too slow, like any
                // datagram.
                Ok(_) | Err(_) => {}
            },
        }
    }
}

async fn join(address: SocketAddr, name: &str) -> Result<(), Error> {
    let mut connection = Connection::connect(address, config()).await?;
    let (typed, mut lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines().map_while(Result::ok);
        for line in lines {
            if typed.send(line).is_err() {
                return;
            }
        }
    });
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(line) => connection.send(format!("{name}: {line}").as_bytes()).await?,
                None => break,
            },
            received = connection.receive() => match received {
                Some(line) => println!("{}", String::from_utf8_lossy(&line)),
                None => return Ok(()),
            },
        }
    }
    connection.close();
    while connection.receive().await.is_some() {}
    Ok(())
}

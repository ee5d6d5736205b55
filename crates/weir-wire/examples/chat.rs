//! A chat of datagrams: what one says, all others hear, unless the network loses it.
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

/// Both sides name the service, so that nobody joins something else (RFC 5595): "CHAT".
fn options() -> EndpointConfig {
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
    let mut listener = Listener::bind(address, options()).await?;
    println!("listening at {}", listener.local_address());
    let (room, _) = broadcast::channel(64);
    loop {
        let guest = listener.accept().await?;
        tokio::spawn(attend(guest, room.clone()));
    }
}

/// What was said, once for all who hear it, and who said it.
type Word = (SocketAddr, Arc<[u8]>);

/// Carries words between a guest and the room until the guest leaves.
async fn attend(mut guest: Connection, room: broadcast::Sender<Word>) {
    let mut heard = room.subscribe();
    let mut sent = guest.send(b"welcome").await;
    while sent.is_ok() {
        tokio::select! {
            said = guest.receive() => match said {
                // The guest listens too, so there is always somebody who hears.
                Some(said) => drop(room.send((guest.peer_address(), said.into()))),
                None => return,
            },
            word = heard.recv() => match word {
                Ok((who, said)) if who != guest.peer_address() => {
                    sent = guest.send_shared(&said).await;
                }
                // The guest's own words; or a slow guest misses some, as with any datagram.
                Ok(_) | Err(_) => {}
            },
        }
    }
}

async fn join(address: SocketAddr, name: &str) -> Result<(), Error> {
    let mut connection = Connection::connect(address, options()).await?;
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
            said = connection.receive() => match said {
                Some(said) => println!("{}", String::from_utf8_lossy(&said)),
                None => return Ok(()),
            },
        }
    }
    connection.close();
    while connection.receive().await.is_some() {}
    Ok(())
}

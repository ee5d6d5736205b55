//! `weir lab [FOLDER]`: the page of the laboratory in a browser, with the runs of a folder, served
//! on loopback; or as files for any web server.

mod api;
mod bundle;
mod folder;
mod guard;
mod jobs;
mod page;
mod reply;
mod server;
mod site;

use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::terminal;
use api::Lab;
use clap::Args;
use folder::Folder;
use guard::Guard;
use page::Page;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tokio::net::TcpListener;
use weir_wire::test_protocol::random_token;

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder whose runs the page shows, with those in folders below it
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// The address and port to listen at; port 0 for any. Who reaches it can read the runs of the
    /// folder and start runs
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Print the address of the page and open no browser
    #[arg(long)]
    no_open: bool,
    /// Write the page as files for a web server into this folder, and end
    #[arg(long = "static", value_name = "FOLDER", conflicts_with_all = ["listen", "no_open"])]
    site: Option<PathBuf>,
}

/// Serves the page until Ctrl-C, or writes it.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(site) = &arguments.site {
        return write_site(site);
    }
    let folder = Folder::open(&arguments.folder)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let interrupt = Interrupt::catch();
        let at = arguments.listen;
        let unusable = |error| Failure::Failed(format!("cannot listen at {at}: {error}"));
        let listener = TcpListener::bind(at).await.map_err(unusable)?;
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() {
            terminal::notice(&format!(
                "warning: who reaches {address} can read the runs below {} and start runs",
                folder.root().display()
            ));
        }
        let guard = Guard {
            address,
            token: token()?,
        };
        let page = format!("http://{address}/");
        terminal::print(&format!("{page}\n"))?;
        if !arguments.no_open && !open_browser(&page) {
            terminal::status("no browser was found: open the address in one");
        }
        server::serve(Lab::new(guard, folder), listener, &interrupt).await
    })
}

fn write_site(site: &Path) -> Result<(), Failure> {
    let count = site::write(&Page::embedded(), site)?;
    Ok(terminal::print(&format!(
        "{count} files: {}\n",
        site.join("index.html").display()
    ))?)
}

/// 256 random bits as text.
fn token() -> Result<String, Failure> {
    let mut text = String::new();
    for _ in 0..2 {
        let random = random_token().map_err(|error| Failure::Failed(error.to_string()))?;
        for octet in random {
            // Writing to a string cannot fail.
            let _ = write!(text, "{octet:02x}");
        }
    }
    Ok(text)
}

/// Opens an address in the browser of the desktop; false if there is none. The address has only
/// characters without a meaning in shells.
fn open_browser(address: &str) -> bool {
    let words: &[&str] = match std::env::consts::OS {
        "macos" => &["open"],
        "windows" => &["explorer"],
        _ => &["xdg-open"],
    };
    let [program, words @ ..] = words else {
        return false;
    };
    let mut command = Command::new(program);
    command.args(words).arg(address);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let started = command.spawn().map(|mut browser| {
        // Its status says nothing, and must not remain in the table of processes.
        std::thread::spawn(move || drop(browser.wait()));
    });
    started.is_ok()
}

//! The process of a module: its protocol is that of `scripts/kernel-modules`, in binary form, an
//! answer for each event.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Connections of one process: its numbers go from 0 to 1023.
const PLACES: i64 = 1024;

/// Defines a struct of the protocol from the names of its numbers, in the order of event.h.
macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident: $($field:ident)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $(pub $field: i64),+
        }

        impl $name {
            /// The names of its numbers in their order.
            pub const FIELDS: &[&str] = &[$(stringify!($field)),+];
        }

        impl From<$name> for Vec<u8> {
            fn from(numbers: $name) -> Self {
                [$(numbers.$field),+].iter().flat_map(|number| number.to_ne_bytes()).collect()
            }
        }

        impl From<&[u8]> for $name {
            fn from(octets: &[u8]) -> Self {
                let (words, _) = octets.as_chunks();
                let mut numbers = words.iter().copied().map(i64::from_ne_bytes);
                Self { $($field: numbers.next().unwrap_or_default()),+ }
            }
        }
    };
}

numbers! {
    /// An event of a connection. What it does not name is zero.
    Event:
    kind id now_ns
    mss cwnd seed ecn from
    in_flight packets_out snd_una snd_nxt srtt_us min_rtt_us
    app_limited limited acked losses ce rtt_us
    delivered interval_us prior_delivered prior_in_flight
    rs_app_limited ack_delayed repeated last_sent_ns
}

numbers! {
    /// The state of a connection after an event. Counts are of packets, rates of octets per second.
    Answer:
    error cwnd ssthresh pacing_rate paced burst ca_state
    bw info_min_rtt_us pacing_gain cwnd_gain alpha
    app_limited own_control needs_ecn
}

/// The kinds of events.
pub mod kind {
    pub const NEW: i64 = 1;
    pub const SENT: i64 = 2;
    pub const ACK: i64 = 3;
    pub const LOSS: i64 = 4;
    pub const MARK: i64 = 5;
    pub const OPEN: i64 = 6;
    pub const RTO: i64 = 7;
    pub const UNDO: i64 = 8;
    pub const IDLE: i64 = 9;
    pub const CLONE: i64 = 10;
    pub const FREE: i64 = 11;
    pub const MSS: i64 = 12;
}

/// The congestion states of Linux.
pub mod ca_state {
    pub const OPEN: i64 = 0;
    pub const CWR: i64 = 2;
    pub const RECOVERY: i64 = 3;
}

/// What an error of an answer means.
fn meaning(error: i64) -> String {
    match error {
        1 => "it has no module".to_owned(),
        2 => "it does not know the connection".to_owned(),
        3 => "it does not know the kind of event".to_owned(),
        5 => "the module has memory of its own and cannot be copied".to_owned(),
        other => format!("it answered error {other}"),
    }
}

/// A process that holds connections. It ends when it is dropped, or with this program, because its
/// standard input closes.
#[derive(Debug)]
pub struct Process(Mutex<Pipes>);

#[derive(Debug)]
struct Pipes {
    child: Child,
    to: ChildStdin,
    from: ChildStdout,
    /// Numbers below the next that are free again.
    free: Vec<i64>,
    next: i64,
}

impl Process {
    /// Starts the program.
    ///
    /// # Errors
    /// The system's error.
    pub fn start(program: &Path) -> io::Result<Self> {
        let mut child = Command::new(program)
            .arg("--binary")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let to = child.stdin.take().ok_or_else(missing)?;
        let from = child.stdout.take().ok_or_else(missing)?;
        let (free, next) = (Vec::new(), 0);
        Ok(Self(Mutex::new(Pipes {
            child,
            to,
            from,
            free,
            next,
        })))
    }

    fn pipes(&self) -> MutexGuard<'_, Pipes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a connection by this event; `None` if all places are taken.
    ///
    /// # Errors
    /// What the process answered or how it ended.
    pub fn connect(self: &Arc<Self>, event: Event) -> Result<Option<(Connection, Answer)>, String> {
        let mut pipes = self.pipes();
        let Some(id) = pipes.take_place() else {
            return Ok(None);
        };
        let answer = pipes.ask(Event { id, ..event })?;
        let process = Arc::clone(self);
        Ok(Some((Connection { process, id }, answer)))
    }
}

impl Pipes {
    fn take_place(&mut self) -> Option<i64> {
        self.free.pop().or_else(|| {
            self.next += 1;
            (self.next <= PLACES).then_some(self.next - 1)
        })
    }

    fn ask(&mut self, event: Event) -> Result<Answer, String> {
        match self.exchange(event) {
            Ok(answer) if answer.error == 0 => Ok(answer),
            Ok(answer) => Err(meaning(answer.error)),
            Err(error) => Err(self.end(&error)),
        }
    }

    fn exchange(&mut self, event: Event) -> io::Result<Answer> {
        self.to.write_all(&Vec::from(event))?;
        let mut octets = [0; 8 * Answer::FIELDS.len()];
        self.from.read_exact(&mut octets)?;
        Ok(Answer::from(&octets[..]))
    }

    /// Says how the process ended. Killing one that has ended does not change its status.
    fn end(&mut self, error: &io::Error) -> String {
        let killed = self.child.kill();
        match killed.and_then(|()| self.child.wait()) {
            Ok(status) => format!("its process has ended ({status})"),
            Err(_) => format!("its process does not answer ({error})"),
        }
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        // Nothing waits for its results.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection of a process, which is freed when it is dropped.
#[derive(Debug)]
pub struct Connection {
    process: Arc<Process>,
    id: i64,
}

impl Connection {
    /// Reports an event of this connection.
    ///
    /// # Errors
    /// What the process answered or how it ended.
    pub fn ask(&self, event: Event) -> Result<Answer, String> {
        let id = self.id;
        self.process.pipes().ask(Event { id, ..event })
    }

    /// Another connection in the same state.
    ///
    /// # Errors
    /// The same, or that no place is left in this process.
    pub fn copy(&self) -> Result<Self, String> {
        let event = Event {
            kind: kind::CLONE,
            from: self.id,
            ..Event::default()
        };
        let copied = self.process.connect(event)?;
        let (copy, _) = copied.ok_or_else(too_many)?;
        Ok(copy)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut pipes = self.process.pipes();
        let event = Event {
            kind: kind::FREE,
            id: self.id,
            ..Event::default()
        };
        // A process that has failed has been reported.
        if pipes.ask(event).is_ok() {
            pipes.free.push(self.id);
        }
    }
}

/// Why a connection cannot be made.
pub fn too_many() -> String {
    format!(
        "a process of the module has at most {PLACES} connections at the same time; use fewer flows, \
         or fewer threads (RAYON_NUM_THREADS)"
    )
}

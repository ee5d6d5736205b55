//! Moves messages between a socket and its tests.

use super::gate::Gate;
use super::session::Session;
use super::{Ending, MIN_LENGTH, TestStats};
use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::config::{self, EndpointConfig};
use crate::datagram::ecn_of;
use crate::error::Error;
use crate::outbox::{Outbox, Way};
use crate::socket::Socket;
use crate::tap::canonical;
use crate::test_protocol::{Message, TestConfig};
use quinn_udp::EcnCodepoint;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, watch};
use weir_proto::packet::Ecn;

/// Tests of a listener at once.
const MOST: usize = 1024;
/// Datagrams of one test that leave before another has its turn, as in one segmented send.
const TURN: usize = 32;
/// Datagrams that wait for the kernel when no more is sent.
const FULL: usize = 256;
/// How long a full socket is left alone.
const FULL_NANOS: u64 = 200_000;
/// From one stats to the next while nothing else happens.
const IDLE_NANOS: u64 = 50_000_000;
/// From one look to the next whether a listener without tests is still wanted.
const EMPTY_NANOS: u64 = 1_000_000_000;

/// A peer and the number of its test.
type Key = (SocketAddr, u64);

#[derive(Debug)]
enum Command {
    Stop(Key),
}

/// What a test's user and the hub have in common.
#[derive(Debug, Default)]
struct Shared(Mutex<TestStats>);

impl Shared {
    fn set(&self, stats: TestStats) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = stats;
    }

    fn get(&self) -> TestStats {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far a test is, for those that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Asking,
    Running,
    Over(Ending),
}

/// One end of a test. Dropping it ends the test.
#[derive(Debug)]
pub struct Test {
    key: Key,
    config: TestConfig,
    shared: Arc<Shared>,
    stage: watch::Receiver<Stage>,
    commands: mpsc::UnboundedSender<Command>,
}

impl Test {
    /// Asks the server at this address for a test, from a socket of its own; returns when it
    /// begins. Of the options those of the socket matter.
    ///
    /// # Errors
    /// [`Error::Socket`], [`Error::Refused`] if nobody listens there, [`Error::TimedOut`] if
    /// nobody answers, [`Error::Busy`] if the server has too many tests, [`Error::TooLarge`] for
    /// a length that no datagram has.
    pub async fn connect(
        to: SocketAddr,
        config: TestConfig,
        options: &EndpointConfig,
    ) -> Result<Self, Error> {
        if config.length > TestConfig::MAX_LENGTH {
            return Err(Error::TooLarge {
                octets: config.length.into(),
                limit: TestConfig::MAX_LENGTH.into(),
            });
        }
        let any = match to {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let mut socket = Socket::bind_udp(SocketAddr::new(any, 0), options)?;
        socket.connect(to)?;
        let mut hub = Hub::new(socket, None)?;
        let session = Session::client(config::random()?, config, hub.clock.now());
        let mut test = hub.add(session, to, None);
        tokio::spawn(hub.run());
        let stage = test.stage.wait_for(|stage| *stage != Stage::Asking).await;
        match stage.map(|stage| *stage) {
            Ok(Stage::Over(ending)) if ending != Ending::Done => Err(ending.error(to)),
            Ok(_) => Ok(test),
            Err(_) => Err(Error::Closed),
        }
    }

    /// What was asked for.
    pub const fn config(&self) -> &TestConfig {
        &self.config
    }

    /// The peer's UDP address.
    pub const fn peer_address(&self) -> SocketAddr {
        canonical(self.key.0)
    }

    /// How far it has come.
    pub fn stats(&self) -> TestStats {
        self.shared.get()
    }

    /// Ends the test before its time: both ends agree on what was sent and what came.
    pub fn stop(&self) {
        // A hub that is gone has ended it already.
        let _ = self.commands.send(Command::Stop(self.key));
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// [`Error::TimedOut`] if the peer was silent.
    pub async fn ended(&self) -> Result<(), Error> {
        let mut stage = self.stage.clone();
        let over = stage.wait_for(|stage| matches!(stage, Stage::Over(_)));
        match over.await.map(|stage| *stage) {
            Ok(Stage::Over(ending)) if ending != Ending::Done => Err(ending.error(self.key.0)),
            Ok(_) => Ok(()),
            Err(_) => Err(Error::Closed),
        }
    }
}

impl Drop for Test {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Ending {
    const fn error(self, peer: SocketAddr) -> Error {
        let peer = canonical(peer);
        match self {
            Self::Done => Error::Closed,
            Self::Refused => Error::Refused(peer),
            Self::Silent => Error::TimedOut(peer),
            Self::Busy => Error::Busy(peer),
        }
    }
}

/// Waits for tests.
#[derive(Debug)]
pub struct TestListener {
    local: SocketAddr,
    tests: mpsc::Receiver<Test>,
}

impl TestListener {
    /// Listens at this address, port 0 for any. Of the options those of the socket matter.
    ///
    /// # Errors
    /// [`Error::Socket`].
    pub async fn bind(address: SocketAddr, options: &EndpointConfig) -> Result<Self, Error> {
        let socket = Socket::bind_udp(address, options)?;
        let local = socket.local();
        let (sink, tests) = mpsc::channel(MOST);
        let hub = Hub::new(socket, Some(sink))?;
        tokio::spawn(hub.run());
        // It is there when the caller says so.
        tokio::task::yield_now().await;
        Ok(Self { local, tests })
    }

    /// Where it listens.
    pub const fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// The next test, which has begun.
    ///
    /// # Errors
    /// [`Error::Closed`] if the socket is gone.
    pub async fn accept(&mut self) -> Result<Test, Error> {
        self.tests.recv().await.ok_or(Error::Closed)
    }
}

/// A test of the hub.
struct Entry {
    session: Session,
    from: Option<IpAddr>,
    shared: Arc<Shared>,
    stage: watch::Sender<Stage>,
}

struct Listening {
    gate: Gate,
    sink: mpsc::Sender<Test>,
}

/// Owns the socket.
struct Hub {
    clock: Clock,
    socket: Socket,
    tests: BTreeMap<Key, Entry>,
    listening: Option<Listening>,
    commands: mpsc::UnboundedReceiver<Command>,
    sender: mpsc::UnboundedSender<Command>,
    outbox: Outbox,
}

impl Hub {
    fn new(socket: Socket, sink: Option<mpsc::Sender<Test>>) -> Result<Self, Error> {
        let (sender, commands) = mpsc::unbounded_channel();
        let listening = match sink {
            Some(sink) => Some(Listening {
                gate: Gate::new()?,
                sink,
            }),
            None => None,
        };
        Ok(Self {
            clock: Clock::start(),
            socket,
            tests: BTreeMap::new(),
            listening,
            commands,
            sender,
            outbox: Outbox::default(),
        })
    }

    /// Takes a session in, and gives the handle to it.
    fn add(&mut self, session: Session, peer: SocketAddr, from: Option<IpAddr>) -> Test {
        let key = (peer, session.id());
        let shared = Arc::new(Shared::default());
        shared.set(session.stats(self.clock.now()));
        let (stage, told) = watch::channel(stage(&session));
        let test = Test {
            key,
            config: *session.config(),
            shared: Arc::clone(&shared),
            stage: told,
            commands: self.sender.clone(),
        };
        let entry = Entry {
            session,
            from,
            shared,
            stage,
        };
        self.tests.insert(key, entry);
        test
    }

    /// Runs until no test is left and none can come.
    async fn run(mut self) {
        // Without a timer nothing can be paced, and nothing is.
        let Ok(mut alarm) = Alarm::new() else { return };
        loop {
            if self
                .listening
                .as_ref()
                .is_some_and(|to| to.sink.is_closed())
            {
                self.listening = None;
            }
            if self.tests.is_empty() && self.listening.is_none() {
                return;
            }
            let wait = self.wait();
            if wait < Alarm::SHORTEST_NANOS {
                tokio::task::yield_now().await;
            } else {
                tokio::select! {
                    biased;
                    Some(command) = self.commands.recv() => self.handle(command),
                    _ = self.socket.readable() => {}
                    _ = alarm.sleep(wait) => {}
                }
            }
            while let Ok(command) = self.commands.try_recv() {
                self.handle(command);
            }
            let came = self.read();
            self.write();
            if self.socket.take_refused() {
                let now = self.clock.now();
                self.tests
                    .values_mut()
                    .for_each(|test| test.session.refused(now));
            }
            self.publish();
            if came {
                // Those who wait for it have their turn before more comes.
                tokio::task::yield_now().await;
            }
        }
    }

    fn wait(&self) -> u64 {
        if !self.outbox.is_empty() {
            return FULL_NANOS;
        }
        let now = self.clock.now();
        let due = self.tests.values().filter_map(|test| test.session.due());
        let wait = due.min().map_or(u64::MAX, |due| due.since(now).as_nanos());
        wait.min(if self.tests.is_empty() {
            EMPTY_NANOS
        } else {
            IDLE_NANOS
        })
    }

    fn handle(&mut self, command: Command) {
        let Command::Stop(key) = command;
        if let Some(test) = self.tests.get_mut(&key) {
            test.session.stop(self.clock.now());
        }
    }

    fn read(&mut self) -> bool {
        let Self {
            clock,
            socket,
            tests,
            listening,
            outbox,
            ..
        } = &mut *self;
        let mut new = Vec::new();
        let reads = socket.read(|meta, octets| {
            let Some((id, message)) = Message::read(octets) else {
                return;
            };
            let now = clock.now();
            if let Some(test) = tests.get_mut(&(meta.addr, id)) {
                let marked = ecn_of(meta.ecn) == Ecn::Ce;
                test.session.receive(now, message, octets.len(), marked);
                return;
            }
            let (Some(listening), Message::Request(config, token)) = (&*listening, message) else {
                return;
            };
            if config.length < MIN_LENGTH {
                return;
            }
            let answer = match token {
                None => Message::Challenge(listening.gate.token(meta.addr, id, now)),
                Some(token) if !listening.gate.knows(meta.addr, id, now, &token) => {
                    Message::Challenge(listening.gate.token(meta.addr, id, now))
                }
                Some(_) if tests.len() + new.len() >= MOST => Message::Busy,
                Some(_) => {
                    new.push((Session::server(id, config, now), meta.addr, meta.dst_ip));
                    return;
                }
            };
            outbox.push(|out| {
                answer.write(id, out);
                Some(Way {
                    to: meta.addr,
                    from: meta.dst_ip,
                    ecn: None,
                })
            });
        });
        for (session, peer, from) in new {
            if self.tests.contains_key(&(peer, session.id())) {
                continue;
            }
            let test = self.add(session, peer, from);
            if let Some(listening) = &self.listening {
                // Nobody takes it: dropping it ends the test.
                let _ = listening.sink.try_send(test);
            }
        }
        reads > 0
    }

    fn write(&mut self) {
        for (&(to, _), test) in &mut self.tests {
            for _ in 0..TURN {
                if self.outbox.len() >= FULL {
                    test.session.blocked(self.clock.now());
                    break;
                }
                let Entry { session, from, .. } = &mut *test;
                let ecn = session.config().ecn.then_some(EcnCodepoint::Ect0);
                let (clock, way) = (
                    &self.clock,
                    Way {
                        to,
                        from: *from,
                        ecn,
                    },
                );
                let mut wrote = false;
                self.outbox.push(|out| {
                    wrote = session.write(clock.now(), out);
                    wrote.then_some(way)
                });
                if !wrote {
                    break;
                }
            }
        }
        self.socket.write(&mut self.outbox);
    }

    /// Tells the users what has become of their tests.
    fn publish(&mut self) {
        let now = self.clock.now();
        self.tests.retain(|_, test| {
            test.shared.set(test.session.stats(now));
            let stage = stage(&test.session);
            test.stage.send_if_modified(|told| {
                let changed = *told != stage;
                *told = stage;
                changed
            });
            test.session.over().is_none()
        });
    }
}

fn stage(session: &Session) -> Stage {
    match session.over() {
        Some(ending) => Stage::Over(ending),
        None if session.is_asking() => Stage::Asking,
        None => Stage::Running,
    }
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;

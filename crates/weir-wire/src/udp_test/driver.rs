//! The task that passes messages between a socket and its tests, and the handles of tests.

use super::MIN_LENGTH;
use super::address_validation::AddressValidator;
use super::session::Session;
use super::traffic::{SharedTraffic, TrafficFactory};
use crate::address::{canonical, unspecified_with_port};
use crate::clock::Clock;
use crate::config::{EndpointConfig, random_u64};
use crate::ecn;
use crate::error::Error;
use crate::send_queue::{Destination, SendQueue};
use crate::socket::Socket;
use crate::test_protocol::{
    Admission, Answer, EndReason, Message, Refusal, Secret, TestConfig, TestStats,
};
use crate::timer::Timer;
use quinn_udp::{EcnCodepoint, RecvMeta};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use tokio::sync::{mpsc, watch};
use weir_proto::packet::Ecn;
use weir_proto::time::Instant;

/// The most tests of a listener at a time.
const MAX_TESTS: usize = 1024;
/// Datagrams of one test before the next test is served, as many as in one segmented send.
const DATAGRAMS_PER_TURN: usize = 32;
/// The number of queued datagrams from which on no more are written.
const MAX_QUEUED: usize = 256;
/// The interval between updates of the stats if there are no other events.
const STATS_NANOS: u64 = 50_000_000;
/// The interval at which a listener without tests checks whether its handle has been dropped.
const HANDLE_CHECK_NANOS: u64 = 1_000_000_000;

/// A peer and the number of its test.
type TestKey = (SocketAddr, u64);

/// The state of a test that its handle can read.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// The server has not answered the Request yet.
    requesting: bool,
    ended: Option<EndReason>,
    stats: TestStats,
}

impl Progress {
    fn of(session: &Session, now: Instant) -> Self {
        Self {
            requesting: session.is_requesting(),
            ended: session.end_reason(),
            stats: session.stats(now),
        }
    }
}

/// How a client requests a test.
#[derive(Clone, Default)]
pub struct ClientSetup {
    /// The traffic of the test instead of datagrams at a constant rate.
    pub traffic: Option<TrafficFactory>,
    /// The secret that it shares with the server.
    pub secret: Option<Secret>,
}

/// The tests that a server accepts.
#[derive(Clone, Default)]
pub struct ServerSetup {
    /// The traffic of its tests instead of datagrams at a constant rate.
    pub traffic: Option<TrafficFactory>,
    /// Its limits and its secret.
    pub admission: Admission,
}

/// One end of a test. Dropping it stops the test.
pub struct Test {
    key: TestKey,
    config: TestConfig,
    progress: watch::Receiver<Progress>,
    /// Requests to the driver to stop a test.
    stops: mpsc::UnboundedSender<TestKey>,
    traffic: Option<SharedTraffic>,
}

impl Test {
    /// Requests a test from the server at this address, from a separate socket; returns when the
    /// server has accepted it. The socket's settings are those of `endpoint`.
    ///
    /// # Errors
    /// [`Error::Socket`]; [`Error::Randomness`]; [`Error::Refused`] if an ICMP message reports that
    /// no process listens there; [`Error::TimedOut`] without an answer; [`Error::Busy`] if the
    /// server runs too many tests; [`Error::OtherMedia`] if its tests carry different traffic;
    /// [`Error::TooLarge`] for a length that does not fit into a datagram; [`Error::Declined`] if
    /// the server refuses the test.
    pub async fn connect(
        to: SocketAddr,
        config: TestConfig,
        endpoint: &EndpointConfig,
        setup: ClientSetup,
    ) -> Result<Self, Error> {
        let ClientSetup { traffic, secret } = setup;
        if config.length > TestConfig::MAX_LENGTH {
            return Err(Error::TooLarge {
                octets: config.length.into(),
                limit: TestConfig::MAX_LENGTH.into(),
            });
        }
        let config = TestConfig {
            media: traffic.is_some(),
            ..config
        };
        let from = unspecified_with_port(to, endpoint.client_port);
        let mut socket = Socket::bind_udp(from, endpoint)?;
        socket.connect(to)?;
        let mut driver = TestDriver::new(socket, None, traffic)?;
        let session = Session::client(random_u64()?, config, secret, driver.clock.now());
        let test = driver.add(session, to, None);
        tokio::spawn(driver.run());
        test.wait_for(|progress| !progress.requesting).await?;
        Ok(test)
    }

    /// The parameters of the test.
    pub const fn config(&self) -> &TestConfig {
        &self.config
    }

    /// The traffic of the test instead of datagrams at a constant rate.
    pub const fn traffic(&self) -> Option<&SharedTraffic> {
        self.traffic.as_ref()
    }

    /// The peer's UDP address.
    pub const fn peer_address(&self) -> SocketAddr {
        canonical(self.key.0)
    }

    /// The test's progress.
    pub fn stats(&self) -> TestStats {
        self.progress.borrow().stats
    }

    /// Stops the test early. Both ends still agree on the data sent and received.
    pub fn stop(&self) {
        // If the driver has ended, so has the test.
        let _ = self.stops.send(self.key);
    }

    /// Waits for the end of the test.
    ///
    /// # Errors
    /// [`Error::TimedOut`] if the peer has stopped sending messages.
    pub async fn ended(&self) -> Result<(), Error> {
        self.wait_for(|progress| progress.ended.is_some()).await
    }

    /// Waits until the condition holds; fails if the test has then ended for a reason other than
    /// its regular end.
    async fn wait_for(&self, condition: impl Fn(&Progress) -> bool) -> Result<(), Error> {
        let mut progress = self.progress.clone();
        let reached = progress.wait_for(condition).await;
        let ended = reached.map_err(|_| Error::Closed)?.ended;
        ended.map_or(Ok(()), |reason| reason.result(self.key.0))
    }
}

impl Drop for Test {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A server's socket, which accepts tests.
#[derive(Debug)]
pub struct TestListener {
    local: SocketAddr,
    tests: mpsc::Receiver<Test>,
}

impl TestListener {
    /// Listens at this address, port 0 for any. The socket's settings are those of `endpoint`.
    ///
    /// # Errors
    /// [`Error::Socket`]; [`Error::Randomness`].
    pub async fn bind(
        address: SocketAddr,
        endpoint: &EndpointConfig,
        setup: ServerSetup,
    ) -> Result<Self, Error> {
        let socket = Socket::bind_udp(address, endpoint)?;
        let local = socket.local();
        let (sink, tests) = mpsc::channel(MAX_TESTS);
        let ServerSetup { traffic, admission } = setup;
        let driver = TestDriver::new(socket, Some((sink, admission)), traffic)?;
        tokio::spawn(driver.run());
        // Lets the driver start before the caller publishes the address.
        tokio::task::yield_now().await;
        Ok(Self { local, tests })
    }

    /// The socket's address.
    pub const fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// The next test that has begun.
    ///
    /// # Errors
    /// [`Error::Closed`] if the listener's task has ended.
    pub async fn accept(&mut self) -> Result<Test, Error> {
        self.tests.recv().await.ok_or(Error::Closed)
    }
}

/// The driver's state of a test.
struct DrivenTest {
    session: Session,
    local_ip: Option<IpAddr>,
    progress: watch::Sender<Progress>,
}

/// The part of a driver that accepts tests.
struct Acceptor {
    validator: AddressValidator,
    admission: Admission,
    /// The tests of clients with a proof whose tokens are still valid: such a test is not accepted
    /// again.
    proven: BTreeMap<TestKey, Instant>,
    sink: mpsc::Sender<Test>,
}

impl Acceptor {
    /// The answer to a Request that is refused; `None` if it is accepted.
    fn refuse(
        &mut self,
        key: TestKey,
        (config, answer): (&TestConfig, Option<Answer>),
        now: Instant,
    ) -> Option<Message> {
        let (client, id) = key;
        let is_valid = |answer: &Answer| self.validator.is_valid(client, id, now, &answer.token);
        let Some(answer) = answer.filter(is_valid) else {
            return Some(Message::Challenge(self.validator.token(client, id, now)));
        };
        if let Err(refusal) = self.admission.check(id, config, &answer) {
            return Some(Message::Refused(refusal));
        }
        self.admission.secret.as_ref()?;
        self.proven
            .retain(|_, at| now.since(*at) < AddressValidator::LONGEST_VALID);
        let is_replayed = self.proven.insert(key, now).is_some();
        is_replayed.then_some(Message::Refused(Refusal::OtherSecret))
    }
}

/// The task behind a socket.
struct TestDriver {
    clock: Clock,
    socket: Socket,
    tests: BTreeMap<TestKey, DrivenTest>,
    /// Only at a listener.
    acceptor: Option<Acceptor>,
    stops: mpsc::UnboundedReceiver<TestKey>,
    /// Cloned into the handles of new tests.
    stop_sender: mpsc::UnboundedSender<TestKey>,
    send_queue: SendQueue,
    /// The traffic of its tests instead of datagrams at a constant rate.
    traffic: Option<TrafficFactory>,
}

impl TestDriver {
    fn new(
        socket: Socket,
        accepts: Option<(mpsc::Sender<Test>, Admission)>,
        traffic: Option<TrafficFactory>,
    ) -> Result<Self, Error> {
        let (stop_sender, stops) = mpsc::unbounded_channel();
        let acceptor = match accepts {
            Some((sink, admission)) => Some(Acceptor {
                validator: AddressValidator::new()?,
                admission,
                proven: BTreeMap::new(),
                sink,
            }),
            None => None,
        };
        Ok(Self {
            clock: Clock::start(),
            socket,
            tests: BTreeMap::new(),
            acceptor,
            stops,
            stop_sender,
            send_queue: SendQueue::default(),
            traffic,
        })
    }

    /// Adds a session; returns the handle of its test.
    fn add(&mut self, mut session: Session, peer: SocketAddr, local_ip: Option<IpAddr>) -> Test {
        let key = (peer, session.id);
        let now = self.clock.now();
        let traffic = self.traffic.as_ref().map(|make| session.carry(make, now));
        let (sender, progress) = watch::channel(Progress::of(&session, now));
        let test = Test {
            key,
            config: session.config,
            progress,
            stops: self.stop_sender.clone(),
            traffic,
        };
        let driven = DrivenTest {
            session,
            local_ip,
            progress: sender,
        };
        self.tests.insert(key, driven);
        test
    }

    /// Runs until no tests remain and no new ones are possible.
    async fn run(mut self) {
        // Datagrams cannot be paced without a timer.
        let Ok(mut timer) = Timer::new() else { return };
        loop {
            if self.acceptor.as_ref().is_some_and(|a| a.sink.is_closed()) {
                self.acceptor = None;
            }
            if self.tests.is_empty() && self.acceptor.is_none() {
                return;
            }
            let wait = self.next_wakeup();
            if wait < Timer::MIN_SLEEP_NANOS {
                tokio::task::yield_now().await;
            } else {
                tokio::select! {
                    biased;
                    Some(key) = self.stops.recv() => self.stop(key),
                    _ = self.socket.readable() => {}
                    _ = timer.sleep(wait) => {}
                }
            }
            while let Ok(key) = self.stops.try_recv() {
                self.stop(key);
            }
            let read = self.read();
            self.write();
            if self.socket.take_refused() {
                let now = self.clock.now();
                for test in self.tests.values_mut() {
                    test.session.on_gone(now);
                }
            }
            self.publish();
            if read {
                // Lets waiting tasks run before the next read.
                tokio::task::yield_now().await;
            }
        }
    }

    /// Nanoseconds until the driver has work to do even if no message arrives.
    fn next_wakeup(&self) -> u64 {
        if !self.send_queue.is_empty() {
            return SendQueue::RETRY_NANOS;
        }
        let now = self.clock.now();
        let timeouts = self.tests.values().map(|test| test.session.next_timeout());
        let next = timeouts.flatten().min();
        let wait = next.map_or(u64::MAX, |next| next.since(now).as_nanos());
        wait.min(if self.tests.is_empty() {
            HANDLE_CHECK_NANOS
        } else {
            STATS_NANOS
        })
    }

    fn stop(&mut self, key: TestKey) {
        if let Some(test) = self.tests.get_mut(&key) {
            test.session.stop(self.clock.now());
        }
    }

    /// Reads and handles a batch of messages; true if there was anything to read.
    fn read(&mut self) -> bool {
        let Self {
            clock,
            socket,
            tests,
            acceptor,
            send_queue,
            traffic,
            ..
        } = &mut *self;
        let mut accepted = BTreeMap::new();
        let reads = socket.read(|meta, octets| {
            let now = clock.now();
            let Some((id, message)) = Message::read(octets) else {
                if let (Some((id, refused)), true) =
                    (Message::answer_other_version(octets), acceptor.is_some())
                {
                    send_queue.push(|out| {
                        refused.write(id, out);
                        Some(reply_destination(meta))
                    });
                    return;
                }
                // Other datagrams have no test number: they belong to the peer's first test.
                let mut tests = tests.range_mut((meta.addr, 0)..=(meta.addr, u64::MAX));
                if let Some((_, test)) = tests.next() {
                    let ecn = ecn::from_udp(meta.ecn);
                    test.session.receive_other(now, octets, ecn);
                }
                return;
            };
            let key = (meta.addr, id);
            if let Some(test) = tests.get_mut(&key) {
                let marked = ecn::from_udp(meta.ecn) == Ecn::Ce;
                test.session.receive(now, message, octets.len(), marked);
                return;
            }
            let (Some(acceptor), Message::Request(config, answer)) = (&mut *acceptor, message)
            else {
                return;
            };
            // The same Request may be read twice.
            if config.length < MIN_LENGTH || accepted.contains_key(&key) {
                return;
            }
            let answer = match acceptor.refuse(key, (&config, answer), now) {
                Some(answer) => answer,
                None if config.media != traffic.is_some() => Message::OtherMedia,
                None if tests.len() + accepted.len() >= MAX_TESTS => Message::Busy,
                None => {
                    accepted.insert(key, (Session::server(id, config, now), meta.dst_ip));
                    return;
                }
            };
            send_queue.push(|out| {
                answer.write(id, out);
                Some(reply_destination(meta))
            });
        });
        for ((peer, _), (session, local_ip)) in accepted {
            let test = self.add(session, peer, local_ip);
            if let Some(acceptor) = &self.acceptor {
                // If the channel is full, dropping the handle stops the test.
                let _ = acceptor.sink.try_send(test);
            }
        }
        reads > 0
    }

    /// Writes due messages of all tests in turn, and sends the queue.
    fn write(&mut self) {
        for (&(peer, _), test) in &mut self.tests {
            let DrivenTest {
                session, local_ip, ..
            } = test;
            let destination = Destination {
                peer,
                local_ip: *local_ip,
                ecn: session.config.ecn.then_some(EcnCodepoint::Ect0),
            };
            for _ in 0..DATAGRAMS_PER_TURN {
                let now = self.clock.now();
                if self.send_queue.len() >= MAX_QUEUED {
                    session.on_socket_full(now);
                    break;
                }
                let mut wrote = false;
                self.send_queue.push(|out| {
                    wrote = session.write(now, out);
                    wrote.then_some(destination)
                });
                if !wrote {
                    break;
                }
            }
        }
        self.socket.write(&mut self.send_queue);
    }

    /// Publishes the progress of all tests and removes those that have ended.
    fn publish(&mut self) {
        let now = self.clock.now();
        self.tests.retain(|_, test| {
            let new = Progress::of(&test.session, now);
            test.progress.send_if_modified(|progress| {
                // Waiting tasks are not woken if only the stats change.
                let changed = (progress.requesting, progress.ended) != (new.requesting, new.ended);
                *progress = new;
                changed
            });
            test.session.end_reason().is_none()
        });
    }
}

fn reply_destination(meta: &RecvMeta) -> Destination {
    Destination {
        peer: meta.addr,
        local_ip: meta.dst_ip,
        ecn: None,
    }
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;

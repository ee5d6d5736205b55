//! What a transport has to do to be measured: open a path as client or as server, move data over
//! it, count, and trace its controller.

use super::options::ClientOptions;
use super::report::Counters;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Instant;
use weir_lab::run::{MeasuredFlow, MeasuredTransport};
use weir_proto::time::Duration;
use weir_wire::EventStream;
use weir_wire::test_protocol::TestConfig;

/// A transport with its settings.
pub trait Transport: Clone + Send + Sync + 'static {
    /// One end of a test over it.
    type Path: TestPath;
    /// Its server.
    type Listener: Listener<Path = Self::Path>;

    /// What the user of a client has to know before the test.
    fn warning(&self) -> Option<&'static str> {
        None
    }

    /// The test that a client asks for, completed with the defaults of this transport.
    fn request(&self, client: &ClientOptions) -> Result<TestConfig, Failure>;

    /// The transport's settings, for the head of the result.
    fn settings(&self, request: &TestConfig) -> Value;

    /// An address of a server for people.
    fn describe(&self, address: SocketAddr) -> String {
        address.to_string()
    }

    /// Opens a path to the server at this address and asks for the test.
    fn connect(
        &self,
        to: SocketAddr,
        request: TestConfig,
    ) -> impl Future<Output = Result<Self::Path, Failure>> + Send;

    /// Listens for clients at this address.
    fn listen(
        &self,
        address: SocketAddr,
    ) -> impl Future<Output = Result<Self::Listener, Failure>> + Send;
}

/// A server of a transport.
pub trait Listener: Send {
    /// One end of a test over it.
    type Path: TestPath;

    /// Where it listens.
    fn local_address(&self) -> Result<SocketAddr, Failure>;

    /// What clients need to know to be sure of this server, if there is something.
    fn identity(&self) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    /// Waits for a client that is let in. May be dropped and called again.
    fn accept(&mut self) -> impl Future<Output = Result<Self::Path, Failure>> + Send;

    /// Ends after the last test.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// A test as both ends know it.
pub struct TestInfo {
    /// The other end.
    pub peer: SocketAddr,
    /// What the client asked for; nothing before a server has let it in.
    pub request: TestConfig,
    /// This end sends.
    pub sends: bool,
    /// When the path was opened, which is before its handshake.
    pub opened: Instant,
    /// The transport, in the words of a scenario.
    pub transport: MeasuredTransport,
    /// The events of this end's controller, if they are to be traced.
    pub events: Option<EventStream>,
}

impl TestInfo {
    /// Before the Request.
    pub fn opening(
        peer: SocketAddr,
        opened: Instant,
        transport: MeasuredTransport,
        events: Option<EventStream>,
    ) -> Self {
        Self {
            peer,
            request: TestConfig::default(),
            sends: false,
            opened,
            transport,
            events,
        }
    }
}

/// The end of a transfer.
pub struct Transfer {
    /// How long the data took.
    pub seconds: f64,
    /// Why it ended early, if it did.
    pub failure: Option<Failure>,
}

/// The time that counters are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// From the last time that they were read for an interval.
    LastInterval,
    /// The whole test, or what comes after the time that is omitted.
    Start,
    /// The whole test, which is omitted from now on: the lines of later counters are about the time
    /// from here.
    Omitted,
}

/// Reads the counters of a path while it transfers data.
pub type Observer = Box<dyn FnMut(Since) -> Counters + Send>;

/// One end of a test.
pub trait TestPath: Send + 'static {
    /// The test.
    fn info(&mut self) -> &mut TestInfo;

    /// Reads its counters from now on.
    fn observer(&self) -> Observer;

    /// Sends or receives until the time of the test is over, the peer ends it, or Ctrl-C.
    fn transfer(&mut self, interrupt: &Interrupt) -> impl Future<Output = Transfer> + Send;

    /// Adds what this end has counted to the test in the form of a run.
    fn count(&self, flow: &mut MeasuredFlow);

    /// Closes the path when the peer has what is still under way, or after some seconds.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// A time of the system as one of the state machines.
pub fn nanos(span: std::time::Duration) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

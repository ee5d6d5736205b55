//! The interface of a transport under test: it opens a path as client or server, moves data over
//! it, counts, and traces its controller.

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
    /// One end of a test over this transport.
    type Path: TestPath;
    /// The server of this transport.
    type Listener: Listener<Path = Self::Path>;

    /// A warning for the user of a client before the test.
    fn warning(&self) -> Option<&'static str> {
        None
    }

    /// The test that a client requests, completed with the defaults of this transport.
    fn request(&self, client: &ClientOptions) -> Result<TestConfig, Failure>;

    /// The transport's settings, for the head of the result.
    fn settings(&self, request: &TestConfig) -> Value;

    /// A server's address as text.
    fn describe(&self, address: SocketAddr) -> String {
        address.to_string()
    }

    /// Opens a path to the server at this address and requests the test.
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
    /// One end of a test over this transport.
    type Path: TestPath;

    /// The address at which it listens.
    fn local_address(&self) -> Result<SocketAddr, Failure>;

    /// The information that clients need to verify this server, if any.
    fn identity(&self) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    /// Waits for a client that is admitted. The future may be dropped and the function called
    /// again.
    fn accept(&mut self) -> impl Future<Output = Result<Self::Path, Failure>> + Send;

    /// Closes the server after the last test.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// The data about a test that both ends know.
pub struct TestInfo {
    /// The other end.
    pub peer: SocketAddr,
    /// The requested test; the default before a server has admitted the client.
    pub request: TestConfig,
    /// Whether this end sends.
    pub sends: bool,
    /// The time at which the path was opened, before its handshake.
    pub opened: Instant,
    /// The transport, in the notation of a scenario.
    pub transport: MeasuredTransport,
    /// The events of this end's controller, if they are traced.
    pub events: Option<EventStream>,
}

impl TestInfo {
    /// The description of a test before the Request.
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
    /// The duration of the data transfer.
    pub seconds: f64,
    /// The reason if it ended early.
    pub failure: Option<Failure>,
}

/// The time range that counters cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// Since the last time that they were read for an interval.
    LastInterval,
    /// The whole test, without the omitted time.
    Start,
    /// The whole test so far, which is omitted from now on: lines of later counters cover the time
    /// from here.
    Omitted,
}

/// Reads the counters of a path while it transfers data.
pub type Observer = Box<dyn FnMut(Since) -> Counters + Send>;

/// One end of a test.
pub trait TestPath: Send + 'static {
    /// The description of the test.
    fn info(&mut self) -> &mut TestInfo;

    /// Creates a reader of its counters.
    fn observer(&self) -> Observer;

    /// Sends or receives until the time of the test is over, the peer ends it, or Ctrl-C is
    /// pressed.
    fn transfer(&mut self, interrupt: &Interrupt) -> impl Future<Output = Transfer> + Send;

    /// Adds the counts of this end to the test in the form of a run.
    fn count(&self, flow: &mut MeasuredFlow);

    /// Closes the path when the peer has received data in transit, or after some seconds.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// Converts a duration of the system to one of the state machines.
pub fn nanos(span: std::time::Duration) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

//! What a transport has to do to be measured: open a path as client or as server, move data over
//! it, count, and trace its controller.

use super::options::ClientOptions;
use super::report::Counters;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use serde_json::Value;
use std::net::SocketAddr;
use std::pin::Pin;
use weir_lab::run::MeasuredTransport;
use weir_proto::endpoint::Statistics;
use weir_proto::time::Duration;
use weir_wire::EventStream;
use weir_wire::test_protocol::TestConfig;

/// A transport with its settings.
pub trait Transport: Clone + Send + Sync + 'static {
    /// One end of a test over it.
    type Path: DataPath;
    /// Its server.
    type Listener: Listener<Path = Self::Path>;

    /// What the user of a client has to know before the test.
    const WARNING: Option<&'static str> = None;

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
    ) -> impl Future<Output = Result<OpenTest<Self::Path>, Failure>> + Send;

    /// Listens for clients at this address. Ctrl-C ends the wait for a request.
    fn listen(
        &self,
        address: SocketAddr,
        interrupt: &Interrupt,
    ) -> impl Future<Output = Result<Self::Listener, Failure>> + Send;
}

/// A server of a transport.
pub trait Listener: Send {
    /// One end of a test over it.
    type Path: DataPath;

    /// Where it listens.
    fn local_address(&self) -> Result<SocketAddr, Failure>;

    /// Waits for a client. May be dropped and called again.
    fn accept(&mut self) -> impl Future<Output = Result<ArrivingTest<Self::Path>, Failure>> + Send;

    /// Ends after the last test.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// A test whose client is known, and perhaps not yet its request.
pub struct ArrivingTest<P> {
    /// The client.
    pub peer: SocketAddr,
    /// Waits for the request.
    pub opening: Pin<Box<dyn Future<Output = OpenTest<P>> + Send>>,
}

/// A test that can begin.
pub struct OpenTest<P> {
    /// This end of it.
    pub path: P,
    /// What the client asked for.
    pub request: TestConfig,
    /// This end sends.
    pub sends: bool,
    /// The events of this end's controller, if they are to be traced.
    pub events: Option<EventStream>,
}

/// The end of a transfer.
pub struct Transfer {
    /// How long it took.
    pub seconds: f64,
    /// Why it ended early, if it did.
    pub failure: Option<Failure>,
}

/// What a transport counted, in the form of a run of the laboratory.
pub struct Measured {
    /// The transport and its settings.
    pub transport: MeasuredTransport,
    /// How long the path was open.
    pub duration: Duration,
    /// The counters of this end.
    pub statistics: Statistics,
    /// Octets of application data that this end has sent.
    pub payload_sent: u64,
    /// Octets of application data that the receiver has got, if this end sends and knows it.
    pub payload_delivered: Option<u64>,
}

/// Reads the counters of a path while it transfers data.
pub type Observer<C> = Box<dyn Fn() -> C + Send + Sync>;

/// One end of a test.
pub trait DataPath: Send + 'static {
    /// What it counts.
    type Counters: Counters;

    /// Reads its counters from now on.
    fn observer(&self) -> Observer<Self::Counters>;

    /// Sends or receives until the time of the test is over, the peer ends it, or Ctrl-C.
    fn transfer(&mut self, interrupt: &Interrupt) -> impl Future<Output = Transfer> + Send;

    /// What this end has measured.
    fn measured(&self) -> Measured;

    /// Closes the path when the peer has what is still under way, or after some seconds.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// A time of the system as one of the state machines.
pub fn nanos(span: std::time::Duration) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

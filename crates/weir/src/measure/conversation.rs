//! Drives the session of a test over a separate connection: code shared by the transports with
//! connections.

use super::failure;
use super::test_path::{TestPath, Transfer};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::terminal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::sleep_until;
use weir_proto::time::Instant;
use weir_wire::Error;
use weir_wire::test_protocol::{
    Admission, Admitting, Channel, Counted, EndReason, Message, Opening, Secret, Session,
    TestConfig, TestStats, random_token,
};

/// The session of a test with its clock, shared by the test's task and its observers.
#[derive(Clone)]
pub struct Conversation {
    session: Arc<Mutex<Session<Counted>>>,
    started: tokio::time::Instant,
}

impl Conversation {
    /// The session of a client, which requests this test.
    pub fn ask(channel: Channel, request: TestConfig, secret: Option<Secret>) -> Self {
        Self::new(channel, Opening::Ask(request, secret))
    }

    /// The session of a server before the Request. A client that sends no Request gets the test
    /// `default_test`, if such clients are admitted.
    pub fn admit(
        channel: Channel,
        admission: Arc<Admission>,
        default_test: Option<TestConfig>,
    ) -> Result<Self, Error> {
        let admitting = Admitting {
            admission,
            token: random_token()?,
            default_test,
        };
        Ok(Self::new(channel, Opening::Admit(admitting)))
    }

    fn new(channel: Channel, opening: Opening) -> Self {
        Self {
            session: Arc::new(Mutex::new(Session::new(0, opening, channel, Instant::ZERO))),
            started: tokio::time::Instant::now(),
        }
    }

    /// The session.
    pub fn session(&self) -> MutexGuard<'_, Session<Counted>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current time of the session.
    pub fn now(&self) -> Instant {
        Instant::ZERO + self.started.elapsed().into()
    }

    /// Converts a time of the session to one of the runtime.
    pub fn at(&self, time: Instant) -> tokio::time::Instant {
        self.started + Duration::from_nanos(time.as_nanos())
    }

    /// The counts of both ends.
    pub fn stats(&self) -> TestStats {
        self.session().stats(self.now())
    }
}

/// Converts a duration of the session to one of the runtime.
pub const fn span(span: weir_proto::time::Duration) -> Duration {
    Duration::from_nanos(span.as_nanos())
}

/// A connection that carries a test.
pub trait Wire: TestPath {
    /// The conversation of the test.
    fn conversation(&self) -> &Conversation;

    /// Updates the session with the counts of this end; returns the number of packets from the
    /// peer, which show that it is alive.
    fn look(&mut self) -> u64;

    /// Sends a message; false if the connection has ended.
    fn say(&mut self, message: Message) -> impl Future<Output = bool> + Send;

    /// Moves data and receives messages until the session has something to do. It returns at the
    /// latest at this time, unless it is waiting. False if the connection has ended. The future may
    /// be dropped and the function called again.
    fn step(&mut self, until: Instant) -> impl Future<Output = bool> + Send;

    /// The reason why the connection has ended, if it is more precise than the session's.
    fn loss(&mut self) -> Option<Failure>;
}

/// Drives the session until it has ended or the condition holds.
async fn drive<W: Wire>(
    wire: &mut W,
    interrupted: impl Future<Output = ()>,
    is_over: fn(&Session<Counted>) -> bool,
) -> Option<EndReason> {
    let conversation = wire.conversation().clone();
    let mut interrupted = std::pin::pin!(interrupted);
    let (mut is_stopped, mut heard) = (false, 0);
    loop {
        let packets = wire.look();
        let now = conversation.now();
        let (message, until) = {
            let mut session = conversation.session();
            if packets != heard {
                session.on_packet(now);
                heard = packets;
            }
            let message = session.next_message(now);
            let until = session.next_timeout().filter(|_| !is_over(&session));
            (message, until)
        };
        let continues = match (message, until) {
            (Some(message), _) => wire.say(message).await,
            (None, None) => return conversation.session().end_reason(),
            (None, Some(until)) => tokio::select! {
                continues = wire.step(until) => continues,
                () = sleep_until(conversation.at(until)) => true,
                () = &mut interrupted, if !is_stopped => {
                    is_stopped = true;
                    conversation.session().stop(conversation.now());
                    true
                }
            },
        };
        if !continues {
            conversation.session().on_gone(conversation.now());
        }
    }
}

/// Requests the test or admits the client, until data may be sent.
pub async fn begin<W: Wire>(wire: &mut W) -> Result<(), Error> {
    let over = |session: &Session<Counted>| !session.is_requesting();
    let ended = drive(wire, std::future::pending(), over).await;
    let (request, sends) = {
        let session = wire.conversation().session();
        (session.config, session.is_sender())
    };
    let info = wire.info();
    (info.request, info.sends) = (request, sends);
    ended.map_or(Ok(()), |reason| reason.result(info.peer))
}

/// Waits for the Request; `None` for a client that is not admitted.
pub async fn admit<W: Wire>(mut wire: W) -> Option<W> {
    match begin(&mut wire).await {
        Ok(()) => return Some(wire),
        // The client has left.
        Err(Error::Closed) => {}
        Err(error) => terminal::notice(&error.to_string()),
    }
    wire.close().await;
    None
}

/// Sends or receives until the end of the test.
pub async fn transfer<W: Wire>(wire: &mut W, interrupt: &Interrupt) -> Transfer {
    let ended = drive(wire, interrupt.pressed(), |_| false).await;
    let result = ended.map_or(Ok(()), |reason| reason.result(wire.info().peer));
    Transfer {
        seconds: wire.conversation().stats().seconds,
        failure: wire.loss().or(result.err().map(failure)),
    }
}

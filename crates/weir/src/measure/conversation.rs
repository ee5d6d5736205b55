//! Drives the session of a test over a connection of its own: what the transports with connections
//! have in common.

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

/// The session of a test with its clock, which the test's task shares with those that look at it.
#[derive(Clone)]
pub struct Conversation {
    session: Arc<Mutex<Session<Counted>>>,
    started: tokio::time::Instant,
}

impl Conversation {
    /// A client's, which asks for this test.
    pub fn ask(channel: Channel, request: TestConfig, secret: Option<Secret>) -> Self {
        Self::new(channel, Opening::Ask(request, secret))
    }

    /// A server's, before the Request; the test of a client that does not ask is `unasked`, if it
    /// is let in.
    pub fn admit(
        channel: Channel,
        admission: Arc<Admission>,
        unasked: Option<TestConfig>,
    ) -> Result<Self, Error> {
        let admitting = Admitting {
            admission,
            token: random_token()?,
            unasked,
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

    /// The session's time.
    pub fn now(&self) -> Instant {
        Instant::ZERO + self.started.elapsed().into()
    }

    /// A time of the session as one of the runtime.
    pub fn at(&self, time: Instant) -> tokio::time::Instant {
        self.started + Duration::from_nanos(time.as_nanos())
    }

    /// What both ends have counted.
    pub fn stats(&self) -> TestStats {
        self.session().stats(self.now())
    }
}

/// A time span of the session as one of the runtime.
pub const fn span(span: weir_proto::time::Duration) -> Duration {
    Duration::from_nanos(span.as_nanos())
}

/// A connection that carries a test.
pub trait Wire: TestPath {
    /// The test.
    fn conversation(&self) -> &Conversation;

    /// Gives the session the counts of this end; returns the packets of the peer, each of which is
    /// a sign of life.
    fn look(&mut self) -> u64;

    /// Hands a message over; false if the connection has ended.
    fn say(&mut self, message: Message) -> impl Future<Output = bool> + Send;

    /// Moves data, and takes what comes, until the session has something to do; returns no later
    /// than at this time if it does not wait. False if the connection has ended. May be dropped and
    /// called again.
    fn step(&mut self, until: Instant) -> impl Future<Output = bool> + Send;

    /// Why the connection has ended, where it knows better than the session.
    fn loss(&mut self) -> Option<Failure>;
}

/// Follows the session until it has ended or this holds.
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
                session.hear(now);
                heard = packets;
            }
            let message = session.next_message(now);
            let until = session.next_timeout().filter(|_| !is_over(&session));
            (message, until)
        };
        let goes_on = match (message, until) {
            (Some(message), _) => wire.say(message).await,
            (None, None) => return conversation.session().end_reason(),
            (None, Some(until)) => tokio::select! {
                goes_on = wire.step(until) => goes_on,
                () = sleep_until(conversation.at(until)) => true,
                () = &mut interrupted, if !is_stopped => {
                    is_stopped = true;
                    conversation.session().stop(conversation.now());
                    true
                }
            },
        };
        if !goes_on {
            conversation.session().on_gone(conversation.now());
        }
    }
}

/// Asks for the test or lets the client in, until data may flow.
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

/// Waits for the Request; `None` for a client that is not let in.
pub async fn admit<W: Wire>(mut wire: W) -> Option<W> {
    match begin(&mut wire).await {
        Ok(()) => return Some(wire),
        // It has left.
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

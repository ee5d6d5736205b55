//! Which clients a server admits, and how a client requests a test: the same state for all
//! transports.
//!
//! A server with a shared secret answers a Request with a Challenge, whose token it creates and
//! never accepts twice. The client repeats its Request with a proof: the BLAKE3 keyed hash, under a
//! key derived from the secret, of the token, the test's number and the Request. The secret is
//! never sent, and a proof is not valid for another test. The data that follow are not
//! authenticated.

use super::{Message, TestConfig, Token};
use crate::config::random_u64;
use crate::error::Error;
use crate::fault::Refusal;
use crate::keyed_tag::TAG_OCTETS;
use std::fmt;
use std::time::Duration;

/// Octets of a proof.
pub(crate) const PROOF_OCTETS: usize = 32;
/// The most Challenges that a client answers: a token may expire in transit, but not repeatedly.
const MAX_CHALLENGES: u8 = 3;
/// The context of the derived keys, as required by BLAKE3: unique, and the same in all versions
/// that use this protocol.
const KEY_CONTEXT: &str = "weir test protocol 3: proof of a Request";

/// The answer to a Challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The Challenge's token.
    pub token: Token,
    /// The proof that the client knows the secret.
    pub proof: Option<[u8; PROOF_OCTETS]>,
}

impl From<Token> for Answer {
    fn from(token: Token) -> Self {
        Self { token, proof: None }
    }
}

/// A secret shared by both ends.
#[derive(Clone)]
pub struct Secret([u8; blake3::KEY_LEN]);

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Secret").finish_non_exhaustive()
    }
}

impl Secret {
    /// Derives a secret from these octets, which should be hard to guess.
    pub fn new(octets: &[u8]) -> Self {
        Self(blake3::derive_key(KEY_CONTEXT, octets))
    }

    /// The proof; its type is compared in constant time.
    fn proof(&self, token: &Token, id: u64, config: &TestConfig) -> blake3::Hash {
        let mut input = Vec::new();
        input.extend_from_slice(token);
        // The Request as it is sent, including the test's number.
        Message::Request(*config, None).write(id, &mut input);
        blake3::keyed_hash(&self.0, &input)
    }
}

/// The tests that a server admits.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    /// The largest rate in bit/s that a client may request.
    pub max_rate_bps: Option<f64>,
    /// The longest duration that it may request.
    pub max_time: Option<Duration>,
    /// The secret that it must know.
    pub secret: Option<Secret>,
}

impl Admission {
    /// Checks a Request with this answer to a Challenge. The caller must have checked that the
    /// answer's token is one of the server's.
    ///
    /// # Errors
    /// The [`Refusal`].
    pub fn check(&self, id: u64, config: &TestConfig, answer: &Answer) -> Result<(), Refusal> {
        if let Some(secret) = &self.secret {
            let expected = secret.proof(&answer.token, id, config);
            let proof = answer.proof.ok_or(Refusal::NoSecret)?;
            if expected != proof {
                return Err(Refusal::OtherSecret);
            }
        }
        if let (Some(most), Some(rate)) = (self.max_rate_bps, config.rate_bps)
            && rate > most
        {
            return Err(Refusal::Rate(most as u64));
        }
        match self.max_time {
            Some(most) if config.duration > most => {
                let nanos = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
                Err(Refusal::Time(nanos))
            }
            _ => Ok(()),
        }
    }

    /// The test with the rate at which this server sends if the client specifies none.
    pub fn bounded(&self, config: TestConfig) -> TestConfig {
        let bound = self.max_rate_bps.filter(|_| config.reverse);
        TestConfig {
            rate_bps: config.rate_bps.or(bound),
            ..config
        }
    }

    /// The answer to a Request on its own connection, whose token this is: a
    /// [`Message::Challenge`], a [`Message::Refused`], or [`Message::Alive`] if the client is
    /// admitted.
    pub fn judge(&self, token: Token, config: &TestConfig, answer: Option<Answer>) -> Message {
        let answer = answer.filter(|answer| answer.token == token);
        if answer.is_none() && self.secret.is_some() {
            return Message::Challenge(token);
        }
        let answer = answer.unwrap_or_else(|| token.into());
        self.check(0, config, &answer)
            .map_or_else(Message::Refused, |()| Message::Alive)
    }
}

/// A token for one connection.
///
/// # Errors
/// [`Error::Randomness`].
pub fn random_token() -> Result<Token, Error> {
    let mut token = [0; TAG_OCTETS];
    for part in token.chunks_mut(8) {
        part.copy_from_slice(&random_u64()?.to_be_bytes());
    }
    Ok(token)
}

/// The meaning of a server's message for a client that requests a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// The Request has to be sent again, with the answer to a Challenge: at once if this is the
    /// first Challenge, otherwise when the Request would be repeated.
    Again {
        /// This is the first Challenge.
        at_once: bool,
    },
    /// The server refuses the test.
    Refused(Refusal),
    /// The message does not answer the Request.
    Other,
}

/// The state of a client that requests a test.
#[derive(Clone, Debug)]
pub struct PendingRequest {
    id: u64,
    config: TestConfig,
    secret: Option<Secret>,
    answer: Option<Answer>,
    challenges: u8,
}

impl PendingRequest {
    /// A request for the test with this number, zero on its own connection.
    pub const fn new(id: u64, config: TestConfig, secret: Option<Secret>) -> Self {
        Self {
            id,
            config,
            secret,
            answer: None,
            challenges: 0,
        }
    }

    /// The Request to send.
    pub const fn request(&self) -> Message {
        Message::Request(self.config, self.answer)
    }

    /// Handles a message of the server.
    pub fn take(&mut self, message: &Message) -> RequestOutcome {
        match message {
            // Repeated Requests before the answer each cause the same Challenge.
            Message::Challenge(token) if self.answer.is_some_and(|old| old.token == *token) => {
                RequestOutcome::Other
            }
            Message::Challenge(_) if self.challenges == MAX_CHALLENGES => {
                RequestOutcome::Refused(Refusal::Challenges)
            }
            Message::Challenge(token) => {
                self.challenges += 1;
                let secret = self.secret.as_ref();
                let proof = secret.map(|secret| secret.proof(token, self.id, &self.config));
                self.answer = Some(Answer {
                    token: *token,
                    proof: proof.map(Into::into),
                });
                RequestOutcome::Again {
                    at_once: self.challenges == 1,
                }
            }
            Message::Refused(refusal) => RequestOutcome::Refused(*refusal),
            _ => RequestOutcome::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Token = [3; TAG_OCTETS];

    fn config() -> TestConfig {
        TestConfig {
            length: 1200,
            rate_bps: Some(1e6),
            duration: Duration::from_secs(10),
            ..TestConfig::default()
        }
    }

    fn secret(text: &str) -> Secret {
        Secret::new(text.as_bytes())
    }

    fn asked(id: u64, with: Option<Secret>) -> Answer {
        let mut asking = PendingRequest::new(id, config(), with);
        let asked = asking.take(&Message::Challenge(TOKEN));
        assert_eq!(asked, RequestOutcome::Again { at_once: true });
        match asking.request() {
            Message::Request(_, Some(answer)) => answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_proof_is_of_one_secret_one_token_one_test_and_one_request() {
        let server = Admission {
            secret: Some(secret("a")),
            ..Admission::default()
        };
        let answer = asked(7, Some(secret("a")));
        assert_eq!(server.check(7, &config(), &answer), Ok(()));
        let longer = TestConfig {
            duration: Duration::from_secs(11),
            ..config()
        };
        let other_token = Answer {
            token: [4; TAG_OCTETS],
            ..answer
        };
        let other_secret = asked(7, Some(secret("b")));
        for (id, config, answer) in [
            (8, config(), answer),
            (7, longer, answer),
            (7, config(), other_token),
            (7, config(), other_secret),
        ] {
            let refused = server.check(id, &config, &answer);
            assert_eq!(refused, Err(Refusal::OtherSecret));
        }
        let refused = server.check(7, &config(), &asked(7, None));
        assert_eq!(refused, Err(Refusal::NoSecret));
    }

    #[test]
    fn a_connection_with_a_secret_begins_with_its_own_challenge() {
        let server = Admission {
            secret: Some(secret("a")),
            ..Admission::default()
        };
        let challenge = Message::Challenge(TOKEN);
        assert_eq!(server.judge(TOKEN, &config(), None), challenge);
        // An answer to another connection's token is not valid on this one.
        let mut replayed = asked(0, Some(secret("a")));
        replayed.token = [9; TAG_OCTETS];
        assert_eq!(server.judge(TOKEN, &config(), Some(replayed)), challenge);
        let answer = asked(0, Some(secret("a")));
        assert_eq!(server.judge(TOKEN, &config(), Some(answer)), Message::Alive);
        let open = Admission::default();
        assert_eq!(open.judge(TOKEN, &config(), None), Message::Alive);
    }

    #[test]
    fn a_server_bounds_rate_and_time() {
        let server = |rate, secs| Admission {
            max_rate_bps: Some(rate),
            max_time: Some(Duration::from_secs(secs)),
            secret: None,
        };
        let check = |server: Admission| server.check(0, &config(), &TOKEN.into());
        assert_eq!(check(server(1e6, 10)), Ok(()));
        assert_eq!(check(server(999e3, 10)), Err(Refusal::Rate(999_000)));
        let refused = Err(Refusal::Time(9_000_000_000));
        assert_eq!(check(server(1e6, 9)), refused);
    }

    #[test]
    fn a_client_answers_three_challenges_and_the_same_one_once() {
        let mut asking = PendingRequest::new(1, config(), None);
        let mut take = |octet| asking.take(&Message::Challenge([octet; TAG_OCTETS]));
        assert_eq!(take(1), RequestOutcome::Again { at_once: true });
        for _ in 0..10 {
            assert_eq!(take(1), RequestOutcome::Other);
        }
        assert_eq!(take(2), RequestOutcome::Again { at_once: false });
        assert_eq!(take(3), RequestOutcome::Again { at_once: false });
        assert_eq!(take(4), RequestOutcome::Refused(Refusal::Challenges));
    }
}

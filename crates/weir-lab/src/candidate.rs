//! A controller under test: `TRANSPORT:CONTROLLER`, with settings of the transport behind it.

use crate::scenario::overrides::{Override, parse_set, parse_with};
use crate::scenario::{ForeignStack, Transport};
use thiserror::Error;
use weir_proto::cc::EcnCapability;
use weir_proto::cc::window::{self, ControllerEntry, WindowConfig};
use weir_proto::rtp::EcnCodepoint;
use weir_proto::tcp::EcnMode;

/// A controller that a suite tests or an evaluation judges, with the transport that carries it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The name in tables: `tcp:cubic`.
    pub name: String,
    /// The settings of its flows.
    pub transport: Transport,
    /// The settings as they were written: paths below `transport`, and values.
    settings: Vec<Override>,
}

/// A text that does not name a controller under test. Error text: lower case, no full stop.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("\"{text}\": {message}")]
pub struct CandidateError {
    /// The text as it was given.
    pub text: String,
    /// The reason why it cannot be read.
    pub message: String,
}

/// A scenario to which a flow with the transport is appended, so that the scenario parser reads it.
const FLOW: &str = "[run]\nduration = \"1s\"\n\n[[link]]\nname = \"wire\"\n\
    between = [\"server\", \"client\"]\ndelay = \"1ms\"\n\n[[flow]]\nname = \"subject\"\n\
    from = \"server\"\nto = \"client\"\n";

impl Candidate {
    /// Reads `TRANSPORT:CONTROLLER[,KEY=VALUE…]`, such as `tcp:cubic`, `quic:newreno`,
    /// `quinn:cubic`, `dccp:3`, `dccp:2,controller=cubic` or `tcp:cubic,rules=rfc`. The keys are
    /// those of a flow's `transport`.
    ///
    /// # Errors
    /// If the transport, the controller or a setting is not known or not valid.
    pub fn parse(text: &str) -> Result<Self, CandidateError> {
        let wrong = |message: String| CandidateError {
            text: text.to_owned(),
            message,
        };
        let Some((kind, rest)) = text.split_once(':') else {
            let help = "write TRANSPORT:CONTROLLER, such as tcp:cubic or quic:newreno";
            return Err(wrong(format!("there is no \":\" in it; {help}")));
        };
        if kind == "udp" {
            return Err(wrong("udp has no congestion controller".to_owned()));
        }
        let mut words = rest.split(',');
        let key = if kind == "dccp" { "ccid" } else { "controller" };
        let controller = words.next().unwrap_or_default();
        let mut settings: Vec<Override> = Vec::new();
        for setting in [format!("{key}={controller}")]
            .into_iter()
            .chain(words.map(str::to_owned))
        {
            let set = parse_set(&setting);
            settings.extend(set.map_err(|error| wrong(error.to_string()))?);
        }
        let flow = format!(
            "{FLOW}transport = {{ kind = \"{}\" }}\n",
            kind.escape_default()
        );
        let overrides = of_flow("subject", &settings);
        let scenario = parse_with(&flow, "controller", &overrides);
        let mut scenario = scenario.map_err(|error| {
            let help = error.help.map(|help| format!("; {help}"));
            wrong(error.message + &help.unwrap_or_default())
        })?;
        let flow = scenario
            .flows
            .pop()
            .ok_or_else(|| wrong("it is no flow".to_owned()))?;
        Ok(Self {
            name: text.to_owned(),
            transport: flow.transport,
            settings,
        })
    }

    /// The texts of several candidates, between commas. A text with `=` is a setting of the one
    /// before it: `tcp:bbr,rules=rfc,cubic` are two.
    pub fn list(text: &str) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for word in text.split(',') {
            match texts.last_mut() {
                Some(last) if word.contains('=') => {
                    last.push(',');
                    last.push_str(word);
                }
                _ => texts.push(word.to_owned()),
            }
        }
        texts
    }

    /// Another to compare with: `TRANSPORT:CONTROLLER[,KEY=VALUE…]`, or a controller over the
    /// same transport.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn other(&self, text: &str) -> Result<Self, CandidateError> {
        if text.contains(':') {
            Self::parse(text)
        } else {
            self.standard(text)
        }
    }

    /// The window controller's name in the registry; `None` for a transport without one.
    pub(crate) fn controller(&self) -> Option<&'static str> {
        match &self.transport {
            Transport::Quic(quic) => Some(quic.config.controller.name),
            Transport::Tcp(tcp) => Some(tcp.controller.name),
            Transport::Quinn(quinn) => Some(quinn.controller),
            Transport::Noq(noq) => Some(noq.controller),
            Transport::Dccp(dccp) => dccp.controller().map(|controller| controller.name),
            Transport::Rtp(_) | Transport::Udp(_) => None,
        }
    }

    /// The settings as overrides of the flow of this name in a scenario.
    pub fn overrides(&self, flow: &str) -> Vec<Override> {
        of_flow(flow, &self.settings)
    }

    /// A standard controller over the same transport, or over TCP if the transport has no choice of
    /// controllers. It uses ECN if this candidate does, so that both get the same congestion
    /// signals.
    ///
    /// # Errors
    /// If no controller has the name.
    pub fn standard(&self, controller: &str) -> Result<Self, CandidateError> {
        let kind = match self.transport {
            Transport::Quic(_) => "quic",
            Transport::Quinn(_) => "quinn",
            Transport::Noq(_) => "noq",
            Transport::Tcp(_) | Transport::Dccp(_) | Transport::Rtp(_) | Transport::Udp(_) => "tcp",
        };
        // Stacks of others use ECN unless a setting disables it.
        let is_foreign = ForeignStack::named(kind).is_some();
        let ecn = match (is_foreign, self.uses_ecn()) {
            (true, true) | (false, false) => "",
            (true, false) => ",ecn=false",
            (false, true) => ",ecn=true",
        };
        Self::parse(&format!("{kind}:{controller}{ecn}"))
    }

    /// True if the packets are ECN-capable, by a setting or because the controller requires it.
    pub(crate) fn uses_ecn(&self) -> bool {
        let uses = |controller: &ControllerEntry, by_settings| {
            let made = (controller.make)(&WindowConfig::default());
            EcnCapability::is_used(made.needs().ecn, by_settings)
        };
        match &self.transport {
            Transport::Quic(quic) => uses(quic.config.controller, quic.config.ecn),
            Transport::Tcp(tcp) => uses(tcp.controller, tcp.config.ecn != EcnMode::Off),
            Transport::Rtp(rtp) => rtp.ecn != EcnCodepoint::Off,
            Transport::Dccp(dccp) => {
                let by_settings = dccp.config.ecn;
                let controller = dccp.controller();
                controller.map_or(by_settings, |controller| uses(controller, by_settings))
            }
            Transport::Quinn(_) | Transport::Noq(_) => {
                self.transport.foreign().is_some_and(|foreign| {
                    let by_settings = foreign.settings.ecn;
                    let controller = window::find(foreign.controller);
                    controller.map_or(by_settings, |controller| uses(controller, by_settings))
                })
            }
            Transport::Udp(_) => false,
        }
    }

    /// The controller itself, then CUBIC and Reno unless it is one of them.
    ///
    /// # Errors
    /// None in practice: the standard controllers are in the registry.
    pub fn with_standards(&self) -> Result<Vec<Self>, CandidateError> {
        let mut candidates = vec![self.clone()];
        for controller in ["cubic", "newreno"] {
            let standard = self.standard(controller)?;
            if standard.transport != self.transport {
                candidates.push(standard);
            }
        }
        Ok(candidates)
    }
}

/// Turns paths below `transport` into paths of the flow.
fn of_flow(flow: &str, settings: &[Override]) -> Vec<Override> {
    let settings = settings.iter();
    settings
        .map(|setting| Override {
            path: format!("flow.{flow}.transport.{}", setting.path),
            value: setting.value.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_read_with_its_transport_and_settings() {
        for (text, expected) in [
            ("tcp:cubic", ["tcp:cubic", "tcp:newreno"].as_slice()),
            ("quic:newreno", &["quic:newreno", "quic:cubic"]),
            ("dccp:3", &["dccp:3", "tcp:cubic", "tcp:newreno"]),
            (
                "tcp:cubic,rules=rfc",
                &["tcp:cubic,rules=rfc", "tcp:cubic", "tcp:newreno"],
            ),
            (
                "quic:prague",
                &[
                    "quic:prague",
                    "quic:cubic,ecn=true",
                    "quic:newreno,ecn=true",
                ],
            ),
            (
                "tcp:prague",
                &["tcp:prague", "tcp:cubic,ecn=true", "tcp:newreno,ecn=true"],
            ),
            (
                "dccp:2,controller=prague",
                &[
                    "dccp:2,controller=prague",
                    "tcp:cubic,ecn=true",
                    "tcp:newreno,ecn=true",
                ],
            ),
            (
                "tcp:cubic,ecn=true",
                &["tcp:cubic,ecn=true", "tcp:newreno,ecn=true"],
            ),
            (
                "quic:bbr,ecn=true",
                &["quic:bbr,ecn=true", "quic:cubic", "quic:newreno"],
            ),
            (
                "quinn:tfrc",
                &["quinn:tfrc", "quinn:cubic", "quinn:newreno"],
            ),
            (
                "quinn:bbr",
                &[
                    "quinn:bbr",
                    "quinn:cubic,ecn=false",
                    "quinn:newreno,ecn=false",
                ],
            ),
        ] {
            let candidate = Candidate::parse(text).unwrap_or_else(|error| panic!("{error}"));
            let candidates = candidate.with_standards().unwrap();
            let names: Vec<_> = candidates.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names, expected);
        }
        let Transport::Dccp(dccp) = Candidate::parse("dccp:2").unwrap().transport else {
            panic!("it is another transport");
        };
        assert_eq!(dccp.ccid, 2);
    }

    #[test]
    fn a_list_has_commas_between_candidates_and_before_settings() {
        let found = Candidate::list("tcp:bbr,rules=rfc,bbr.beta=0.5,cubic,quic:newreno");
        let expected = ["tcp:bbr,rules=rfc,bbr.beta=0.5", "cubic", "quic:newreno"];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_wrong_is_said_in_words() {
        for (text, word) in [
            ("cubic", "TRANSPORT:CONTROLLER"),
            ("udp:none", "no congestion controller"),
            ("tcp:vegas9", "vegas9"),
            ("sctp:cubic", "sctp"),
            ("tcp:cubic,colour=red", "colour"),
            ("dccp:9", "9"),
            ("\"", ":"),
            ("a\"b:cubic", "a"),
        ] {
            let error = Candidate::parse(text).expect_err(text).to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}

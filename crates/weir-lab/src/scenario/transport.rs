//! `transport = { … }`: the protocol of a flow with all its settings.

use super::value::{Choice, Count};
use super::visit::{Need, Variants, Visitor};

/// The protocol that carries a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// DCCP (RFC 4340) with one of its congestion controls.
    Dccp(Dccp),
    /// QUIC (RFC 9000, 9002) with one of the window controllers.
    Quic(Quic),
}

/// `{ kind = "dccp", … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dccp {
    /// 2 or 3.
    pub ccid: u8,
    /// Preset of TFRC's rules.
    pub profile: &'static str,
}

/// `{ kind = "quic", … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Quic {
    /// `newreno` or `cubic`.
    pub controller: &'static str,
    /// Preset of the rules in which revisions differ.
    pub rules: &'static str,
}

impl Default for Transport {
    fn default() -> Self {
        Self::Dccp(Dccp::default())
    }
}

impl Default for Dccp {
    fn default() -> Self {
        Self {
            ccid: 3,
            profile: "rfc5348",
        }
    }
}

impl Default for Quic {
    fn default() -> Self {
        Self {
            controller: "newreno",
            rules: "rfc9002",
        }
    }
}

impl Variants for Transport {
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "dccp",
                "Datagrams without reliability, with congestion control (RFC 4340).",
            ),
            (
                "quic",
                "A reliable stream (RFC 9000 and 9002, without TLS).",
            ),
        ]
    }
    fn later(&self) -> &'static [&'static str] {
        &["tcp", "udp"]
    }
    fn kind(&self) -> &'static str {
        match self {
            Self::Dccp(_) => "dccp",
            Self::Quic(_) => "quic",
        }
    }
    fn set_kind(&mut self, kind: &str) {
        *self = match kind {
            "quic" => Self::Quic(Quic::default()),
            _ => Self::Dccp(Dccp::default()),
        };
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        match self {
            Self::Dccp(dccp) => dccp.visit(v),
            Self::Quic(quic) => quic.visit(v),
        }
    }
}

impl Dccp {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        let ccid = &mut Count {
            slot: &mut self.ccid,
            min: 2,
            max: 3,
            unit: "",
        };
        let doc = "The congestion control: 2 is like TCP (RFC 4341), 3 is TFRC (RFC 4342).";
        v.value("ccid", doc, optional, ccid);
        let profile = &mut Choice {
            slot: &mut self.profile,
            words: &["rfc3448", "linux-2008", "linux-mainline", "rfc5348"].map(|w| (w, w)),
        };
        let doc = "TFRC's rules as one revision has them.";
        v.value("profile", doc, optional, profile);
    }
}

impl Quic {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        let controller = &mut Choice {
            slot: &mut self.controller,
            words: &["newreno", "cubic"].map(|w| (w, w)),
        };
        let doc = "The window controller.";
        v.value("controller", doc, optional, controller);
        let rules = &mut Choice {
            slot: &mut self.rules,
            words: &["inet-2025", "inet-now", "rfc9002"].map(|w| (w, w)),
        };
        let doc = "The rules in which revisions differ.";
        v.value("rules", doc, optional, rules);
    }
}

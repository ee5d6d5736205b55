//! Single rules of TFRC outside of a scenario, in the notation of scenarios.

use super::document::Document;
use super::overrides::{Override, applied, parse_set};
use super::transport::Dccp;
use super::{ScenarioError, first_finding};
use weir_proto::settings::{Place, read, shortened};

impl Dccp {
    /// The configuration of one end outside of a scenario: a CCID, a profile, and single rules such
    /// as `tfrc.oscillation=off`, in the notation of a flow's transport.
    ///
    /// # Errors
    /// The first error, with its place: an unknown profile, a path that is not a rule of TFRC, or
    /// an invalid value.
    pub fn with_rules(
        ccid: u8,
        profile: &str,
        rules: &[String],
    ) -> Result<(Self, Vec<Override>), ScenarioError> {
        let text = format!("profile = {profile:?}\nccid = {ccid}");
        let mut document = Document::parse(&text, "--profile")?;
        let mut single = Vec::new();
        for rule in rules {
            let [only] = &parse_set(rule)?[..] else {
                return Err(document.error(
                    Place::default(),
                    format!("\"{}\" has several values", shortened(rule)),
                    Some("a test has one value for each rule".to_owned()),
                ));
            };
            single.push(only.clone());
        }
        document = applied(document, &single)?;
        for (number, rule) in single.iter().enumerate() {
            let first = rule.path.split('.').next().unwrap_or_default();
            if first.trim() != "tfrc" {
                // The profile's text is the first source of the document.
                let place = Place {
                    source: number + 1,
                    start: 0,
                    end: first.len(),
                };
                let message = format!("\"{}\" is no rule of TFRC", shortened(first));
                let help = "write tfrc.RULE=VALUE, such as tfrc.oscillation=off".to_owned();
                return Err(document.error(place, message, Some(help)));
            }
        }
        let mut dccp = Self::default();
        first_finding(&document, read(&mut dccp, &document.root, "the transport"))?;
        Ok((dccp, single))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_proto::cc::tfrc::{Oscillation, Profile};

    #[test]
    fn rules_change_a_profile_and_what_is_wrong_is_shown_in_its_words() {
        let with = |rule: &str| Dccp::with_rules(3, "linux-mainline", &[rule.to_owned()]);
        let (dccp, rules) = with("tfrc.oscillation=off").expect("a rule");
        let expected = Profile {
            oscillation: Oscillation::Off,
            ..Profile::linux_mainline()
        };
        assert_eq!(dccp.tfrc, expected);
        assert_eq!(rules[0].text(), "tfrc.oscillation=off");
        for (rule, place, message, help) in [
            (
                "tfrc.oscilation=off",
                "--set tfrc.oscilation=off",
                "oscilation",
                "oscillation",
            ),
            (
                "tfrc.oscillation=of",
                "--set tfrc.oscillation=of",
                "of",
                "off",
            ),
            (
                "ccid=2",
                "--set ccid=2",
                "is no rule of TFRC",
                "tfrc.RULE=VALUE",
            ),
            (
                "tfrc.equation=formula,kernel-table",
                "--profile",
                "several values",
                "one value",
            ),
        ] {
            let error = with(rule).expect_err(rule);
            assert_eq!(error.file, place);
            assert!(error.message.contains(message), "{error}");
            let text = error.help.unwrap_or_default();
            assert!(text.contains(help), "{text}");
        }
        let error = Dccp::with_rules(3, "rfc5438", &[]).expect_err("no profile");
        assert!(error.help.is_some_and(|help| help.contains("rfc5348")));
    }
}

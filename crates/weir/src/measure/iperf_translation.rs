//! Translates the options of iperf3.

use super::options::{ClientOptions, ServerOptions, TestOptions, TransportName};
use crate::exit::Failure;
use crate::terminal::{self, Verbosity};
use weir_proto::settings::word_here;

impl TestOptions {
    /// Replaces the options of iperf3 with the equivalent ones.
    fn translate(&mut self) -> Result<(), Failure> {
        let words = std::mem::take(&mut self.words);
        if words.udp {
            self.transport = TransportName::Udp;
        }
        if words.iperf_verbose {
            terminal::set_verbosity(Verbosity::Verbose);
        }
        if let Some(name) = &mut self.controller {
            *name = word_here(name).to_owned();
        }
        match &words.logfile {
            Some(path) => terminal::log_to(path).map_err(|error| {
                let path = path.display();
                Failure::Usage(format!("cannot write to --logfile {path}: {error}"))
            }),
            None => Ok(()),
        }
    }
}

impl ServerOptions {
    /// The options, including those translated from iperf3's.
    pub fn translated(&self) -> Result<Self, Failure> {
        let mut options = self.clone();
        options.test.translate()?;
        Ok(options)
    }
}

impl ClientOptions {
    /// The options, including those translated from iperf3's, after checks.
    pub fn translated(&self) -> Result<Self, Failure> {
        self.words.refused.check()?;
        let mut options = self.clone();
        options.test.translate()?;
        options.check_words()?;
        options.test.omit = options.words.omit.unwrap_or_default();
        options.test.client_port = options.words.cport.unwrap_or(0);
        Ok(options)
    }

    fn check_words(&self) -> Result<(), Failure> {
        let wrong = |message: &str| Err(Failure::Usage(message.to_owned()));
        let counts = self.words.bytes.is_some() || self.words.blockcount.is_some();
        let transport = self.test.transport;
        if transport == TransportName::Udp && self.bitrate.is_some_and(|rate| rate.bps.is_none()) {
            return wrong(
                "--bitrate 0: expected a rate with --transport udp, where nothing else bounds what \
                 is sent",
            );
        }
        if transport == TransportName::Rtp && counts {
            return wrong(
                "expected --time with --transport rtp, whose video has no size of its own",
            );
        }
        if transport == TransportName::Rtp && self.bitrate.is_some_and(|rate| rate.burst > 1) {
            return wrong("expected a rate without a burst with --transport rtp: NADA paces it");
        }
        if self.words.cport.is_some() && (self.parallel > 1 || self.words.bidir) {
            return wrong("expected --cport with a single connection, found several");
        }
        if self.words.cport.is_some() && self.test.raw {
            return wrong("expected --cport with a transport in UDP, found --raw");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::time::Duration;
    use weir_wire::test_protocol::TestConfig;

    #[derive(Parser)]
    #[command(disable_version_flag = true)]
    struct Send {
        #[command(flatten)]
        options: ClientOptions,
    }

    fn read(words: &[&str]) -> Result<ClientOptions, String> {
        let words = ["send", "host"].iter().chain(words);
        let send = Send::try_parse_from(words).map_err(|error| error.to_string())?;
        let translated = send.options.translated();
        translated.map_err(|failure| failure.message())
    }

    fn request(words: &[&str]) -> TestConfig {
        read(words).expect("options").request(1000)
    }

    #[test]
    fn words_of_iperf3_stand_for_options() {
        let udp = read(&["-u", "-b", "2M"]).expect("options");
        assert_eq!(udp.test.transport, TransportName::Udp);
        assert!(read(&["-J"]).expect("options").test.output.json);
        for word in ["-C", "--congestion"] {
            let words = ["--transport", "quic", word, "reno"];
            let options = read(&words).expect("options");
            assert_eq!(options.test.controller.as_deref(), Some("newreno"));
        }
        assert!(read(&["--bidir"]).expect("options").words.bidir);
        assert_eq!(
            read(&["--cport", "5000"]).expect("options").words.cport,
            Some(5000)
        );
    }

    #[test]
    fn a_rate_of_zero_is_none_and_a_slash_makes_bursts() {
        let rate = |words: &[&str]| {
            let request = request(words);
            (request.rate_bps, request.burst)
        };
        assert_eq!(rate(&["-b", "100M/20"]), (Some(1e8), 20));
        assert_eq!(rate(&["-b", "100M"]), (Some(1e8), 0));
        assert_eq!(rate(&["-b", "0"]), (None, 0));
        for words in [
            &["-b", "1M/0"][..],
            &["-b", "1M/x"],
            &["-b", "1M/1001"],
            &["-b", "0/20"],
            &["-u", "-b", "0"],
            &["--transport", "rtp", "-b", "1M/20"],
        ] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn an_omitted_time_comes_before_that_of_the_test() {
        let options = read(&["-O", "2", "-t", "3"]).expect("options");
        assert_eq!(options.test.omit, Duration::from_secs(2));
        assert_eq!(options.request(1000).duration, Duration::from_secs(5));
        for words in [["-O", "2", "-n", "1M"], ["-O", "2", "-k", "10"]] {
            assert!(read(&words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn a_size_is_a_number_of_writes() {
        let writes = |words: &[&str]| request(words).writes;
        assert_eq!(writes(&[]), 0);
        assert_eq!(writes(&["-n", "1M"]), 1049);
        assert_eq!(writes(&["-n", "1000", "-l", "100"]), 10);
        assert_eq!(writes(&["-k", "2K"]), 2048);
        for words in [
            &["-n", "0"][..],
            &["-n", "1.5M"],
            &["-n", "99999999999G"],
            &["-n", "1", "-k", "1"],
            &["--transport", "rtp", "-n", "1"],
        ] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn what_has_no_meaning_here_is_refused_with_its_reason() {
        for (words, reason) in [
            (&["-M", "1400"][..], "there is no TCP"),
            (&["--set-mss", "1400"], "--length"),
            (&["-S", "0x10"], "ECN codepoint"),
            (&["--dscp", "ef"], "ECN codepoint"),
            (&["--get-server-output"], "sum_received"),
            (&["--cport", "5000", "-P", "2"], "a single connection"),
            (&["--cport", "5000", "--raw"], "found --raw"),
        ] {
            let refused = read(words).expect_err("refused");
            assert!(refused.contains(reason), "{words:?}: {refused}");
        }
    }
}

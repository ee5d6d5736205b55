//! The words of iperf3 that `send` and `serve` take besides their own, and those that have no
//! meaning here, each with its reason. docs/iperf3.md lists them all.

use super::options::{ClientOptions, ServerOptions, TestOptions, TransportName};
use crate::exit::Failure;
use crate::terminal::{self, Verbosity};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use weir_wire::test_protocol::TestConfig;

/// Words of both ends.
#[derive(Clone, Debug, Default, Args)]
pub struct CommonWords {
    /// The same as --transport udp, as iperf3 has it
    #[arg(short, long, conflicts_with = "transport")]
    udp: bool,
    /// The same as --verbose, as iperf3 has it
    #[arg(short = 'V')]
    iperf_verbose: bool,
    /// Write what would be on the terminal to the end of this file
    #[arg(long, value_name = "FILE")]
    logfile: Option<PathBuf>,
}

/// Words of the client.
#[derive(Clone, Debug, Default, Args)]
pub struct ClientWords {
    /// Send so many bytes, such as 10M, K, M and G being powers of 1024; not longer than --time
    #[arg(short = 'n', long, value_name = "BYTES", value_parser = bytes)]
    #[arg(conflicts_with = "blockcount")]
    bytes: Option<u64>,
    /// Send so many datagrams or writes, such as 10K; not longer than --time
    #[arg(short = 'k', long, value_name = "COUNT", value_parser = bytes)]
    blockcount: Option<u64>,
    /// Both ends send at once, each over connections of its own
    #[arg(long, conflicts_with = "reverse")]
    pub bidir: bool,
    /// Send from this UDP port, of a single connection
    #[arg(long, value_name = "PORT")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub cport: Option<u16>,
    #[command(flatten)]
    refused: RefusedWords,
}

/// Words that have no meaning here: they are read so that the reason can be said.
#[derive(Clone, Debug, Default, Args)]
struct RefusedWords {
    #[arg(short = 'O', long, hide = true, value_name = "TIME")]
    omit: Option<String>,
    #[arg(short = 'M', long, hide = true, value_name = "BYTES")]
    set_mss: Option<String>,
    #[arg(short = 'S', long, hide = true, value_name = "TOS")]
    tos: Option<String>,
    #[arg(long, hide = true, value_name = "DSCP")]
    dscp: Option<String>,
    #[arg(long, hide = true)]
    get_server_output: bool,
}

impl RefusedWords {
    fn check(&self) -> Result<(), Failure> {
        for (word, given, reason) in [
            (
                "--omit",
                self.omit.is_some(),
                "the counters of an end are those of its whole test; leave the first lines of \
                 \"intervals\" out instead",
            ),
            (
                "--set-mss",
                self.set_mss.is_some(),
                "there is no TCP; write --length for the size of a datagram",
            ),
            (
                "--tos",
                self.tos.is_some(),
                "each packet carries its own ECN codepoint in that octet; write --ecn for ECT",
            ),
            (
                "--dscp",
                self.dscp.is_some(),
                "each packet carries its own ECN codepoint in the octet of the DSCP",
            ),
            (
                "--get-server-output",
                self.get_server_output,
                "the receiver reports what it has: \"sum_received\" of --json; for the rest use \
                 --json and --trace at the server",
            ),
        ] {
            if given {
                let message = format!("{word} of iperf3 has no meaning here: {reason}");
                return Err(Failure::Usage(message));
            }
        }
        Ok(())
    }
}

/// A rate and how many packets of it leave at once: `100M/20` of iperf3, 0 for no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BitRate {
    /// Bits per second; `None` for as much as congestion control allows.
    pub bps: Option<f64>,
    /// Packets that leave together; 0 and 1 for each alone.
    pub burst: u16,
}

/// Reads `64k`, `7Mbit`, `0` or `100M/20`.
pub fn bit_rate(text: &str) -> Result<BitRate, String> {
    let (rate, burst) = match text.split_once('/') {
        None => (text, 0),
        Some((rate, burst)) => {
            let burst = burst
                .parse()
                .ok()
                .filter(|burst| (1..=1000).contains(burst));
            let wrong = || format!("expected 1 to 1000 packets after the slash, found {text}");
            (rate, burst.ok_or_else(wrong)?)
        }
    };
    if rate == "0" {
        let wrong = || format!("a burst needs a rate: expected one before the slash, found {text}");
        let rate = BitRate { bps: None, burst };
        return (burst == 0).then_some(rate).ok_or_else(wrong);
    }
    let bps = Some(crate::arguments::rate(rate)?);
    Ok(BitRate { bps, burst })
}

/// A number in which K, M and G are powers of 1024, as in iperf3's `-n` and `-k`.
fn bytes(text: &str) -> Result<u64, String> {
    let prefixes = [
        (['k', 'K'], 1 << 10),
        (['m', 'M'], 1 << 20),
        (['g', 'G'], 1 << 30),
    ];
    let scaled = prefixes
        .into_iter()
        .find_map(|(letters, scale)| Some((text.strip_suffix(letters)?, scale)));
    let (number, scale) = scaled.unwrap_or((text, 1_u64));
    let number = number.parse::<u64>().ok().filter(|&number| number > 0);
    let number = number.and_then(|number| number.checked_mul(scale));
    number.ok_or_else(|| format!("expected a number such as 10M, found {text}"))
}

impl TestOptions {
    /// Takes the words of iperf3 for the options that they stand for.
    fn translate(&mut self) -> Result<(), Failure> {
        let words = std::mem::take(&mut self.words);
        if words.udp {
            self.transport = TransportName::Udp;
        }
        if words.iperf_verbose {
            terminal::set_verbosity(Verbosity::Verbose);
        }
        if let Some("reno") = self.controller.as_deref() {
            self.controller = Some("newreno".to_owned());
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
    /// The options with those of iperf3's words.
    pub fn translated(&self) -> Result<Self, Failure> {
        let mut options = self.clone();
        options.test.translate()?;
        Ok(options)
    }
}

impl ClientOptions {
    /// The options with those of iperf3's words, which are checked.
    pub fn translated(&self) -> Result<Self, Failure> {
        self.words.refused.check()?;
        let mut options = self.clone();
        options.test.translate()?;
        options.check_words()?;
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

    /// The request with the number of its writes.
    pub(super) fn with_writes(&self, request: TestConfig) -> TestConfig {
        let length = u64::from(request.length.max(1));
        let by_bytes = self.words.bytes.map(|bytes| bytes.div_ceil(length));
        let writes = by_bytes.or(self.words.blockcount).unwrap_or(0);
        TestConfig { writes, ..request }
    }
}

/// The request with the time that its writes take at its rate, if that is less: up to the
/// middle between the last of them and the next.
pub fn with_time_of_writes(request: TestConfig) -> TestConfig {
    let (Some(rate), 1..) = (request.rate_bps, request.writes) else {
        return request;
    };
    let interval = f64::from(request.length) * 8.0 / rate;
    let seconds = interval * (request.writes as f64 - 0.5);
    let duration = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    TestConfig {
        duration: duration.min(request.duration),
        ..request
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

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
    fn a_size_is_a_number_of_writes() {
        let writes = |words: &[&str]| request(words).writes;
        assert_eq!(writes(&[]), 0);
        assert_eq!(writes(&["-n", "1M"]), 1049);
        assert_eq!(writes(&["-n", "1000", "-l", "100"]), 10);
        assert_eq!(writes(&["-k", "2K"]), 2048);
        // 1000 octets at 8 Mbit/s are a millisecond.
        let timed = with_time_of_writes(request(&["-b", "8M", "-k", "10"]));
        assert_eq!(timed.duration, Duration::from_micros(9500));
        let short = with_time_of_writes(request(&["-b", "8M", "-k", "1K", "-t", "1"]));
        assert_eq!(short.duration, Duration::from_secs(1));
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
            (&["-O", "2"][..], "--omit of iperf3"),
            (&["-M", "1400"], "there is no TCP"),
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

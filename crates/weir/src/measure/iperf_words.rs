//! The options of iperf3 that `send` and `serve` accept in addition to their own, and those that
//! are rejected with a reason. docs/iperf3.md lists them all, and
//! [`iperf_translation`](super::iperf_translation) translates them.

use crate::arguments;
use crate::exit::Failure;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Words of both ends.
#[derive(Clone, Debug, Default, Args)]
pub struct CommonWords {
    /// The same as --transport udp, as iperf3 has it
    #[arg(short, long, conflicts_with = "transport")]
    pub udp: bool,
    /// The same as --verbose, as iperf3 has it
    #[arg(short = 'V')]
    pub iperf_verbose: bool,
    /// Write what would be on the terminal to the end of this file
    #[arg(long, value_name = "FILE")]
    pub logfile: Option<PathBuf>,
}

/// Words of the client.
#[derive(Clone, Debug, Default, Args)]
pub struct ClientWords {
    /// Send so many bytes, such as 10M, K, M and G being powers of 1024; not longer than --time
    #[arg(short = 'n', long, value_name = "BYTES", value_parser = bytes)]
    #[arg(conflicts_with = "blockcount")]
    pub bytes: Option<u64>,
    /// Send so many datagrams or writes, such as 10K; not longer than --time
    #[arg(short = 'k', long, value_name = "COUNT", value_parser = bytes)]
    pub blockcount: Option<u64>,
    /// Both ends send at once, each over connections of its own
    #[arg(long, conflicts_with = "reverse")]
    pub bidir: bool,
    /// Send from this UDP port, of a single connection
    #[arg(long, value_name = "PORT")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub cport: Option<u16>,
    /// Leave so much of the beginning out of the result, such as slow start; the test lasts longer
    /// by it
    #[arg(short = 'O', long, value_name = "TIME", value_parser = arguments::time)]
    #[arg(conflicts_with_all = ["bytes", "blockcount"])]
    pub omit: Option<Duration>,
    #[command(flatten)]
    pub refused: RefusedWords,
}

/// Words that have no meaning here: they are read so that the reason can be said.
#[derive(Clone, Debug, Default, Args)]
pub struct RefusedWords {
    #[arg(short = 'M', long, hide = true, value_name = "BYTES")]
    set_mss: Option<String>,
    #[arg(short = 'S', long, hide = true, value_name = "TOS")]
    tos: Option<String>,
    #[arg(long, hide = true, value_name = "DSCP")]
    dscp: Option<String>,
    #[arg(long, hide = true)]
    get_server_output: bool,
}

impl ClientWords {
    /// The number of datagrams or writes of `length` bytes after which the client ends; 0 for no
    /// limit.
    pub fn writes(&self, length: u16) -> u64 {
        let length = u64::from(length.max(1));
        let by_bytes = self.bytes.map(|bytes| bytes.div_ceil(length));
        by_bytes.or(self.blockcount).unwrap_or(0)
    }
}

impl RefusedWords {
    /// Rejects each of these options, with the reason.
    pub fn check(&self) -> Result<(), Failure> {
        for (word, given, reason) in [
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

/// A rate and the size of bursts in packets: `100M/20` of iperf3, 0 for no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BitRate {
    /// Bits per second; `None` for as much as congestion control allows.
    pub bps: Option<f64>,
    /// The number of packets sent together; 0 and 1 for single packets.
    pub burst: u16,
}

/// Parses `64k`, `7Mbit`, `0` or `100M/20`.
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
    let bps = Some(arguments::rate(rate)?);
    Ok(BitRate { bps, burst })
}

/// Parses a number in which K, M and G are powers of 1024, as in iperf3's `-n` and `-k`.
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

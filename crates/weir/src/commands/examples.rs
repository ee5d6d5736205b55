//! The examples at the end of each command's `--help`. A test parses every line as a command.

macro_rules! examples {
    ($($name:ident: $($line:literal)+;)+) => {
        $(pub const $name: &str = concat!("Examples:", $("\n  ", $line),+);)+
    };
}

examples! {
    WEIR:
        "weir new cubic-bbr"
        "weir run cubic-bbr.toml"
        "weir explain cubic-bbr.toml --try"
        "weir reproduce lossy-link";
    NEW:
        "weir new"
        "weir new path --from cubic-bbr";
    REPRODUCE:
        "weir reproduce"
        "weir reproduce lossy-link --out reports"
        "weir reproduce experiments/loopback --json";
    EVALUATE:
        "weir evaluate tcp:cubic"
        "weir evaluate quic:newreno --chapter bufferbloat,aqm --seeds 20"
        "weir evaluate kernel:linux-source-6.12/net/ipv4/tcp_cubic.c --beside cubic"
        "weir evaluate tcp:cubic,rules=rfc --json";
    SUITE:
        "weir suite bbr --controller quic:bbr,tcp:bbr,quinn:bbr,quic:cubic"
        "weir suite bbr --controller quic:bbr --set bbr.beta=0.5"
        "weir suite suites/bbr --case startup --json";
    YEARBOOK:
        "weir yearbook"
        "weir yearbook --controller tcp:cubic,tcp:bbr,quinn:quinn-cubic --out yearbook-2026"
        "weir yearbook --controller quic:prague --chapter classic-ecn,aqm --seeds 8 --json";
    RUN:
        "weir run path.toml"
        "weir run path.toml --set flow.stream.transport.tfrc.oscillation=off,full"
        "weir run path.toml --seeds 1..20 --summary-only"
        "weir run path.toml --live"
        "weir run - --json < path.toml";
    SWEEP:
        "weir sweep plan.toml"
        "weir sweep plan.toml --out sweeps/queues --json";
    EXPLAIN:
        "weir explain results/RUN"
        "weir explain path.toml --set link.bottleneck.queue.limit=20"
        "weir explain path.toml --try"
        "weir explain client.qlog"
        "weir explain results/RUN --json";
    FIT:
        "weir fit client.qlog --out path.toml"
        "weir fit sender.pcap --flow tcp-1 --controller bbr"
        "weir fit results/RUN --flow video --json";
    PLOT:
        "weir plot results/RUN"
        "weir plot results/RUN --out plots";
    EXPORT:
        "weir export results/RUN --format csv"
        "weir export results/RUN --format pcapng --host client";
    DECODE:
        "weir decode capture.pcap.gz"
        "weir decode capture.pcapng --json | jq .type";
    THEORY:
        "weir theory"
        "weir theory tfrc --s 1400 --rtt 400ms --p 0.002"
        "weir theory cubic --help";
    SCHEMA:
        "weir schema > scenario.schema.json"
        "weir schema run";
    SERVE:
        "weir serve"
        "weir serve --one-off --json --ccid 2"
        "weir serve --transport quic --trace tests";
    SEND:
        "weir send 192.0.2.1 -t 10 -b 7m"
        "weir send 192.0.2.1 --transport quic --controller newreno -R"
        "weir send 192.0.2.1 --transport rtp -b 3m -t 1min"
        "weir send 192.0.2.1 --profile linux-mainline --set tfrc.oscillation=off"
        "weir send 192.0.2.1 --trace results/test --pcap test.pcapng";
    LAB:
        "weir lab"
        "weir lab results --listen 127.0.0.1:7000 --no-open"
        "weir lab --static site";
    BLOAT:
        "weir bloat 192.0.2.1"
        "weir bloat 192.0.2.1 -t 15 -P 8 --json";
    TESTBED:
        "sudo weir testbed path.toml"
        "sudo weir testbed path.toml --pcap hosts.pcapng"
        "sudo weir testbed path.toml --kernel-tcp";
    EMULATE:
        "weir emulate --link \"rate 1mbit delay 25ms loss 0.1%\" --to 192.0.2.1:6511"
        "sudo weir emulate --link \"delay 20ms fq_codel\" -- ping -c 3 192.0.2.1";
    COMPLETIONS:
        "weir completions bash > weir.bash";
    MAN:
        "weir man | man -l -"
        "weir man --out /usr/local/share/man/man1";
    NOTICES:
        "weir notices | less";
}

/// What `weir` says without a command.
pub const WELCOME: &str = "\
Weir shows how a congestion controller behaves on a path, and why.

Three things to try:
  weir new cubic-bbr               a scenario; run it: weir run cubic-bbr.toml
  weir explain cubic-bbr.toml      what held each sender, and what went wrong
  weir reproduce lossy-link        a published experiment, number by number

All commands: weir --help
";

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use clap::error::ErrorKind;
    use clap::{Command, CommandFactory};
    use std::path::{Path, PathBuf};

    /// The words of a line in a shell: quotes join words, and words after `|`, `<` or `>` belong to
    /// other programs.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
        for character in line.chars() {
            match character {
                '"' => quoted = !quoted,
                ' ' if !quoted => words.extend(Some(std::mem::take(&mut word))),
                '|' | '<' | '>' if !quoted => break,
                _ => word.push(character),
            }
        }
        words.push(word);
        words.retain(|word| !word.is_empty() && word != "sudo");
        words
    }

    #[test]
    fn every_command_has_examples_which_are_commands() {
        let cli = Cli::command();
        for command in cli.get_subcommands() {
            let name = command.get_name();
            let examples = command.get_after_help().map(ToString::to_string);
            let examples = examples.unwrap_or_else(|| panic!("{name} has no examples"));
            for line in examples.replace("\\\n", " ").lines().skip(1) {
                let words = words(line);
                assert_eq!(words[..2], ["weir", name], "{line}");
                let parsed = Cli::command().try_get_matches_from(&words);
                parsed.unwrap_or_else(|error| panic!("{line}: {error}"));
            }
        }
    }

    /// The Markdown files of a folder and those below it.
    fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
        let entries = std::fs::read_dir(folder).expect("a folder");
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                pages(&path, found);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.push(path);
            }
        }
    }

    /// The commands of a page: lines of code, and code in the text.
    fn commands_of(page: &str) -> Vec<String> {
        let (mut prose, mut code, mut is_code) = (String::new(), String::new(), false);
        for line in page.lines() {
            if line.starts_with("```") {
                is_code = !is_code;
            } else if is_code || line.starts_with("    ") {
                code.extend([line.trim(), "\n"]);
            } else {
                prose.extend([line, "\n"]);
            }
        }
        let code = code.replace("\\\n", " ");
        let lines = code
            .lines()
            .map(|line| line.split(" #").next().unwrap_or_default());
        let quoted = prose.split('`').skip(1).step_by(2);
        let all = lines.chain(quoted).map(str::trim);
        let own = all.filter(|text| {
            let text = text.trim_start_matches("sudo ");
            text.starts_with("weir ") && !text.contains('…')
        });
        own.map(|text| text.replace('\n', " ")).collect()
    }

    #[test]
    fn every_command_of_the_pages_is_one() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
        for folder in ["docs", "examples", "experiments", "web/lessons"] {
            pages(&root.join(folder), &mut files);
        }
        let mut number = 0;
        for file in files {
            let page = std::fs::read_to_string(&file).expect("read");
            for line in commands_of(&page) {
                let Err(error) = Cli::command().try_get_matches_from(words(&line)) else {
                    number += 1;
                    continue;
                };
                // A text names a command without all that it needs, or an option without its value.
                let is_part = line
                    .split(' ')
                    .next_back()
                    .is_some_and(|end| end.starts_with("--"))
                    || matches!(
                        error.kind(),
                        ErrorKind::MissingRequiredArgument
                            | ErrorKind::DisplayHelp
                            | ErrorKind::DisplayVersion
                            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                    );
                assert!(is_part, "{}: {line}: {error}", file.display());
            }
        }
        assert!(number > 40, "{number} commands");
    }

    #[test]
    fn three_things_to_try_are_commands_within_a_terminal() {
        let things = super::WELCOME
            .lines()
            .filter(|line| line.starts_with("  weir "));
        let commands = things.map(|line| line.trim().split("  ").next().unwrap_or_default());
        let parsed = commands.map(|line| Cli::command().try_get_matches_from(words(line)));
        assert_eq!(parsed.flatten().count(), 3);
        assert!(super::WELCOME.lines().all(|line| line.len() <= 80));
    }

    #[test]
    fn the_command_line_is_consistent() {
        Command::debug_assert(Cli::command());
    }
}

//! Runs `examples/chat.rs` as its users do: a server and two guests, each a process.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

struct Process {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Process {
    fn start(words: &[&str]) -> Self {
        // Cargo puts examples beside the folder of its tests.
        let mut path = std::env::current_exe().expect("a path");
        path.pop();
        path.pop();
        path.push("examples/chat");
        let mut child = Command::new(path)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example is built with the tests");
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, lines }
    }

    fn say(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("piped");
        writeln!(input, "{line}").expect("it reads");
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("it writes");
        line.trim_end().to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_one_guest_says_the_other_hears() {
    let mut server = Process::start(&["serve", "127.0.0.1:0"]);
    let said = server.hear();
    let address = said.rsplit(' ').next().expect("an address");
    let mut anna = Process::start(&["join", address, "anna"]);
    let mut bert = Process::start(&["join", address, "bert"]);
    assert_eq!(anna.hear(), "welcome");
    assert_eq!(bert.hear(), "welcome");
    anna.say("is anyone here?");
    assert_eq!(bert.hear(), "anna: is anyone here?");
    bert.say("I am");
    assert_eq!(anna.hear(), "bert: I am");
    // The end of the input ends the guest, and in good order.
    drop(anna.child.stdin.take());
    assert!(anna.child.wait().expect("it ends").success());
}

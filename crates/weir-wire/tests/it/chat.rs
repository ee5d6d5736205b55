//! Runs `examples/chat.rs` as a user would: a server and two clients, each in a process.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

struct Process {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Process {
    fn start(words: &[&str]) -> Self {
        // Cargo places examples next to the folder of the tests.
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

    fn write_line(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("piped");
        writeln!(input, "{line}").expect("it reads");
    }

    fn read_line(&mut self) -> String {
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
fn a_line_of_one_client_reaches_the_other() {
    let mut server = Process::start(&["serve", "127.0.0.1:0"]);
    let line = server.read_line();
    let address = line.rsplit(' ').next().expect("an address");
    let mut anna = Process::start(&["join", address, "anna"]);
    let mut bert = Process::start(&["join", address, "bert"]);
    assert_eq!(anna.read_line(), "welcome");
    assert_eq!(bert.read_line(), "welcome");
    anna.write_line("is anyone here?");
    assert_eq!(bert.read_line(), "anna: is anyone here?");
    bert.write_line("I am");
    assert_eq!(anna.read_line(), "bert: I am");
    // At the end of its input a client closes the connection and exits.
    drop(anna.child.stdin.take());
    assert!(anna.child.wait().expect("it ends").success());
}

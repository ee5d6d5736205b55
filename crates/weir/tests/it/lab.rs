//! `weir lab`: who is answered and who is refused, and runs of the page beside those of `weir run`.

use crate::common::{
    Outcome, Running, SCENARIO, folder_with, json, only_run, outcome, parse, weir,
};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A server, and its address.
struct Lab {
    running: Running,
    host: String,
}

/// An answer: status, headers in lower case, content.
struct Answer {
    status: u16,
    head: String,
    content: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        parse(std::str::from_utf8(&self.content).expect("text"))
    }

    /// The events of a stream: name and document.
    fn events(&self) -> Vec<(String, Value)> {
        let text = std::str::from_utf8(&self.content).expect("text");
        let events = text
            .split("\n\n")
            .filter_map(|event| event.split_once('\n'));
        events
            .map(|(name, data)| {
                let name = name.strip_prefix("event: ").expect("a name");
                let data = data.strip_prefix("data: ").expect("a document");
                (name.to_owned(), parse(data))
            })
            .collect()
    }
}

impl Lab {
    fn start(folder: &Path) -> Self {
        let mut command = weir(&["lab", ".", "--no-open"]);
        command.current_dir(folder).stdout(Stdio::piped());
        let mut running = Running::start(&mut command);
        let stdout = running.child.stdout.take().expect("piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let host = line.trim().strip_prefix("http://").expect("an address");
        let host = host.trim_end_matches('/').to_owned();
        assert!(host.starts_with("127.0.0.1:"), "{host}");
        Self { running, host }
    }

    /// Sends these octets as they are, and reads until the server closes the connection.
    fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(&self.host).expect("connected");
        stream.write_all(request).expect("sent");
        let mut octets = Vec::new();
        // What is refused may be reset while the rest of it is still being sent.
        let _ = stream.read_to_end(&mut octets);
        let end = octets
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("a head");
        let head = String::from_utf8_lossy(&octets[..end]).to_ascii_lowercase();
        let status = head.get(9..12).and_then(|status| status.parse().ok());
        let mut content = octets.split_off(end + 4);
        if head.contains("transfer-encoding: chunked") {
            content = dechunked(&content);
        }
        Answer {
            status: status.expect("a status"),
            head,
            content,
        }
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], content: &str) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            let _ = write!(request, "Host: {}\r\n", self.host);
        }
        for (name, value) in headers {
            let _ = write!(request, "{name}: {value}\r\n");
        }
        if method == "POST" {
            let _ = write!(request, "Content-Length: {}\r\n", content.len());
        }
        self.raw(format!("{request}\r\n{content}").as_bytes())
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    fn post(&self, path: &str, document: &Value) -> Answer {
        let hello = self.get("/api/hello").json();
        let token = hello["token"].as_str().expect("a token");
        let headers = [
            ("X-Weir-Token", token),
            ("Content-Type", "application/json"),
        ];
        self.ask("POST", path, &headers, &document.to_string())
    }
}

/// The content of a chunked answer (RFC 9112 §7.1).
fn dechunked(mut rest: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).expect("a size");
        let size = usize::from_str_radix(size, 16).expect("digits");
        content.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[(end + 4 + size).min(rest.len())..];
    }
    content
}

fn successful(outcome: Outcome) {
    assert_eq!(outcome.0, Some(0), "{}", outcome.2);
}

/// The header of a bundle.
fn header(bundle: &[u8]) -> Value {
    assert_eq!(&bundle[..8], b"WEIRRUN1");
    let length = u64::from_le_bytes(bundle[8..16].try_into().expect("eight")) as usize;
    parse(std::str::from_utf8(&bundle[16..16 + length]).expect("text"))
}

#[test]
fn the_page_comes_with_a_strict_policy() {
    let folder = folder_with(SCENARIO);
    let lab = Lab::start(folder.path());
    for (accepts, is_compressed) in [("gzip, br", true), ("gzip;q=0", false), ("identity", false)] {
        let page = lab.ask("GET", "/", &[("Accept-Encoding", accepts)], "");
        assert_eq!(page.status, 200);
        assert_eq!(page.head.contains("content-encoding: gzip"), is_compressed);
        assert_eq!(page.content.starts_with(b"<!"), !is_compressed);
        for expected in [
            "content-type: text/html",
            "default-src 'none'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
        ] {
            assert!(page.head.contains(expected), "{expected}: {}", page.head);
        }
        assert!(!page.head.contains("unsafe-inline"), "{}", page.head);
        assert!(!page.head.contains("access-control"), "{}", page.head);
    }
    let head = lab.ask("HEAD", "/", &[], "");
    assert_eq!((head.status, head.content.len()), (200, 0));
}

#[test]
fn foreign_pages_hosts_and_methods_are_refused() {
    type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], u16);
    let folder = folder_with(SCENARIO);
    let lab = Lab::start(folder.path());
    let own = format!("http://{}", lab.host);
    let port = lab.host.rsplit(':').next().expect("a port").to_owned();
    let rebound = format!("weir.example:{port}");
    let table: [Case<'_>; 14] = [
        ("GET", "/api/hello", &[], 200),
        ("GET", "/api/hello", &[("Origin", &own)], 200),
        (
            "GET",
            "/api/hello",
            &[("Origin", "http://weir.example")],
            403,
        ),
        ("GET", "/api/hello", &[("Origin", "null")], 403),
        (
            "GET",
            "/api/hello",
            &[("Sec-Fetch-Site", "cross-site")],
            403,
        ),
        ("GET", "/api/hello", &[("Host", &rebound)], 403),
        ("GET", "/", &[("Host", &rebound)], 403),
        ("GET", "/", &[("Host", "")], 403),
        ("OPTIONS", "/api/jobs", &[], 405),
        ("DELETE", "/api/runs", &[], 405),
        (
            "POST",
            "/api/jobs",
            &[("Content-Type", "application/json")],
            403,
        ),
        ("POST", "/", &[("Content-Type", "application/json")], 405),
        ("GET", "/api/nothing", &[], 404),
        ("GET", "/api/jobs/1/events", &[], 404),
    ];
    for (method, path, headers, status) in table {
        let answer = lab.ask(method, path, headers, "{}");
        assert_eq!(answer.status, status, "{method} {path} {headers:?}");
        assert!(
            answer.head.contains("x-content-type-options"),
            "{}",
            answer.head
        );
    }
    let without_host = lab.raw(b"GET / HTTP/1.0\r\n\r\n");
    assert_eq!(without_host.status, 403);
}

#[test]
fn headers_and_content_are_bounded() {
    let folder = folder_with(SCENARIO);
    let lab = Lab::start(folder.path());
    let long = "a".repeat(40_000);
    assert_eq!(lab.ask("GET", "/", &[("X-Long", &long)], "").status, 431);
    let many: Vec<(&str, &str)> = std::iter::repeat_n(("X-Many", "1"), 200).collect();
    assert_eq!(lab.ask("GET", "/", &many, "").status, 431);
    // The answer comes before the content, which is not read.
    let hello = lab.get("/api/hello").json();
    let token = hello["token"].as_str().expect("a token");
    let large = format!(
        "POST /api/jobs HTTP/1.1\r\nHost: {}\r\nX-Weir-Token: {token}\r\n\
         Content-Type: application/json\r\n\
         Content-Length: 5000000\r\nConnection: close\r\n\r\n",
        lab.host
    );
    assert_eq!(lab.raw(large.as_bytes()).status, 413);
    for (content, status) in [("{", 400), ("[]", 400), ("{\"toml\": 1}", 400)] {
        let hello = lab.get("/api/hello").json();
        let token = hello["token"].as_str().expect("a token");
        let headers = [
            ("X-Weir-Token", token),
            ("Content-Type", "application/json"),
        ];
        let answer = lab.ask("POST", "/api/jobs", &headers, content);
        assert_eq!(answer.status, status, "{content}");
        assert!(
            answer.json()["error"]["message"]
                .as_str()
                .is_some_and(|m| m.contains("expected"))
        );
    }
}

/// A folder with a run outside and two runs in the folder `inner`.
fn folder_with_runs() -> (tempfile::TempDir, PathBuf) {
    let folder = folder_with(SCENARIO);
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).expect("made");
    for out in [folder.path().join("outside"), inner.join("results")] {
        let out = out.to_str().expect("text");
        successful(outcome(folder.path(), &["run", "path.toml", "--out", out]));
    }
    let slower = ["run", "path.toml", "--set", "link.bottleneck.rate=500kbit"];
    let out = inner.join("results");
    let out = out.to_str().expect("text");
    successful(outcome(
        folder.path(),
        &[&slower[..], &["--out", out]].concat(),
    ));
    (folder, inner)
}

fn paths(runs: &Value) -> Vec<&str> {
    let runs = runs["runs"].as_array().into_iter().flatten();
    runs.filter_map(|run| run["path"].as_str()).collect()
}

fn encoded(path: &str) -> String {
    path.replace('/', "%2F")
        .replace('=', "%3D")
        .replace(',', "%2C")
}

#[test]
fn a_run_of_the_folder_is_opened_with_its_files() {
    let (_folder, inner) = folder_with_runs();
    let lab = Lab::start(&inner);
    let runs = lab.get("/api/runs").json();
    let paths = paths(&runs);
    assert_eq!(paths.len(), 2, "{runs}");
    let run = &runs["runs"][0];
    assert_eq!(run["flows"], json!(["stream"]));
    assert_eq!(run["duration_s"], 3.0);

    let bundle = lab.get(&format!("/api/run?path={}", encoded(paths[0])));
    assert_eq!(bundle.status, 200);
    let header = header(&bundle.content);
    let summary = std::fs::read_to_string(inner.join(paths[0]).join("summary.json"));
    assert_eq!(header["summaryJson"].as_str(), summary.ok().as_deref());
    let resolved = std::fs::read_to_string(inner.join(paths[0]).join("scenario.toml"));
    assert_eq!(header["resolvedToml"].as_str(), resolved.ok().as_deref());
    let tables: Vec<&Value> = header["tables"].as_array().into_iter().flatten().collect();
    let names: Vec<&str> = tables
        .iter()
        .filter_map(|table| table["name"].as_str())
        .collect();
    for expected in ["flows/stream", "intervals/stream", "links/bottleneck"] {
        assert!(names.contains(&expected), "{names:?}");
    }
}

#[test]
fn runs_are_explained_and_compared_as_by_the_commands() {
    let (_folder, inner) = folder_with_runs();
    let lab = Lab::start(&inner);
    let runs = lab.get("/api/runs").json();
    let paths = paths(&runs);
    let bundle = lab.get(&format!("/api/run?path={}", encoded(paths[0])));
    let header = header(&bundle.content);
    let explained = lab.get(&format!("/api/explanation?path={}", encoded(paths[0])));
    let expected = outcome(&inner, &["explain", paths[0], "--json"]);
    assert_eq!(explained.json(), json(&expected));
    assert_eq!(header["explanationJson"].as_str(), Some(&*expected.1));

    let [a, b] = [encoded(paths[0]), encoded(paths[1])];
    let compared = lab.get(&format!("/api/compare?a={a}&b={b}"));
    let expected = outcome(&inner, &["compare", paths[0], paths[1], "--json"]);
    let (mut compared, mut expected) = (compared.json(), json(&expected));
    for document in [&mut compared, &mut expected] {
        // The names are those of the command line.
        for side in ["a", "b"] {
            document[side]["folder"] = Value::Null;
        }
    }
    assert_eq!(compared, expected);
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let (folder, inner) = folder_with_runs();
    let lab = Lab::start(&inner);
    let runs = lab.get("/api/runs").json();
    let paths = paths(&runs);
    let a = encoded(paths[0]);
    let outside = only_of(&folder.path().join("outside"));
    for path in [
        format!("..%2Foutside%2F{outside}"),
        format!("../outside/{outside}"),
        format!("%2e%2e/outside/{outside}"),
        format!("results/../../outside/{outside}"),
        encoded(
            folder
                .path()
                .join("outside")
                .join(&outside)
                .to_str()
                .expect("text"),
        ),
        "results".to_owned(),
        "nothing".to_owned(),
        "%00".to_owned(),
        "%".to_owned(),
    ] {
        for question in ["run", "explanation"] {
            let answer = lab.get(&format!("/api/{question}?path={path}"));
            assert_eq!(answer.status, 404, "{question} {path}");
        }
        assert_eq!(lab.get(&format!("/api/compare?a={a}&b={path}")).status, 404);
        assert_eq!(lab.get(&format!("/{path}")).status, 404, "{path}");
    }
}

/// The path of the only run below a folder.
fn only_of(folder: &Path) -> String {
    let runs = crate::common::runs_below(folder);
    let below = runs[0].strip_prefix(folder).expect("below");
    below.to_str().expect("text").to_owned()
}

#[test]
#[cfg(target_os = "linux")]
fn hostile_names_are_data() {
    let place = folder_with(SCENARIO);
    let name = "<img src=x onerror=alert(1)>\" ';&\n";
    let out = place.path().join(name);
    let arguments = ["run", "path.toml", "--out", out.to_str().expect("text")];
    successful(outcome(place.path(), &arguments));
    let lab = Lab::start(place.path());
    let runs = lab.get("/api/runs");
    assert!(
        runs.head.contains("content-type: application/json"),
        "{}",
        runs.head
    );
    let path = runs.json()["runs"][0]["path"]
        .as_str()
        .expect("a path")
        .to_owned();
    assert!(path.starts_with(name), "{path}");
    assert_eq!(runs.json()["runs"][0]["flows"], json!(["stream"]));
    let octets = path.bytes().map(|octet| format!("%{octet:02x}"));
    let run = lab.get(&format!("/api/run?path={}", octets.collect::<String>()));
    assert_eq!(run.status, 200);
    assert!(
        run.head.contains("content-type: application/octet-stream"),
        "{}",
        run.head
    );
    assert!(run.head.contains("nosniff"), "{}", run.head);
}

#[test]
fn a_run_of_the_page_is_that_of_the_command() {
    let place = folder_with(SCENARIO);
    let arguments = [
        "run",
        "path.toml",
        "--set",
        "run.seed=7",
        "--out",
        "expected",
    ];
    successful(outcome(place.path(), &arguments));
    let lab = Lab::start(place.path());
    let asked = json!({ "toml": SCENARIO, "name": "../path.toml", "seed": 7 });
    let begun = lab.post("/api/jobs", &asked);
    assert_eq!(begun.status, 202, "{}", begun.head);
    let job = &begun.json()["job"];
    let events = lab.get(&format!("/api/jobs/{job}/events")).events();
    let (name, document) = events.last().expect("an event");
    assert_eq!(name, "done", "{document}");
    let path = document["path"].as_str().expect("a path");
    assert_eq!(path, only_run(place.path()));
    let expected = place
        .path()
        .join("expected")
        .join(only_of(&place.path().join("expected")));
    for file in [
        "summary.json",
        "scenario.toml",
        "flows.parquet",
        "links.parquet",
    ] {
        let [ours, theirs] = [&place.path().join(path), &expected]
            .map(|run| std::fs::read(run.join(file)).expect(file));
        assert!(ours == theirs, "{file}");
    }
    assert!(place.path().join("results/runs.parquet").is_file());
}

#[test]
fn what_cannot_run_says_why_and_a_file_of_the_disk_is_not_read() {
    let place = folder_with(SCENARIO);
    std::fs::write(place.path().join("secret"), "a line of a secret\n").expect("written");
    let lab = Lab::start(place.path());
    let secret = place.path().join("secret");
    let trace = |file: &str| {
        let rate = format!("rate_trace = \"{file}\"");
        SCENARIO.replace("rate = \"1Mbit\"", &rate)
    };
    for (toml, expected) in [
        (SCENARIO.replace("1Mbit", "1Mbti"), "\"Mbti\" is not a unit"),
        (trace(secret.to_str().expect("text")), "cannot read"),
        (trace("../secret"), "cannot read"),
        (trace("secret"), "cannot read"),
    ] {
        let begun = lab.post("/api/jobs", &json!({ "toml": toml }));
        let events = lab
            .get(&format!("/api/jobs/{}/events", begun.json()["job"]))
            .events();
        let (name, document) = events.last().expect("an event");
        let message = document["message"].as_str().unwrap_or_default();
        assert_eq!(name, "failed", "{document}");
        assert!(
            message.contains(expected) && !message.contains("a line"),
            "{message}"
        );
    }
    let given = json!({ "toml": trace("secret"), "files": { "secret": "1\n2\n5\n" } });
    let begun = lab.post("/api/jobs", &given);
    let events = lab
        .get(&format!("/api/jobs/{}/events", begun.json()["job"]))
        .events();
    assert_eq!(events.last().expect("an event").0, "done", "{events:?}");
}

#[test]
fn a_long_run_is_ended_by_the_page_and_by_the_end_of_the_server() {
    let place = folder_with(SCENARIO);
    let lab = Lab::start(place.path());
    let long = json!({ "toml": SCENARIO.replace("3s", "8000h"), "name": "long.toml" });
    let jobs = [(); 2].map(|()| lab.post("/api/jobs", &long).json()["job"].clone());
    assert_eq!(lab.post("/api/jobs", &long).status, 429);
    let ended = lab.post(&format!("/api/jobs/{}/cancel", jobs[0]), &json!({}));
    assert_eq!(ended.status, 200);
    let events = lab.get(&format!("/api/jobs/{}/events", jobs[0])).events();
    assert_eq!(events.last().expect("an event").0, "failed", "{events:?}");
    assert_eq!(lab.post("/api/jobs/9/cancel", &json!({})).status, 404);
    let (status, said) = lab.running.interrupt();
    assert_eq!(status, Some(130), "{said}");
    let results = place.path().join("results");
    let left: Vec<_> = std::fs::read_dir(results)
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn the_progress_of_a_command_started_elsewhere_is_told() {
    let place = folder_with(&SCENARIO.replace("3s", "8000h"));
    let lab = Lab::start(place.path());
    let mut command = weir(&["run", "path.toml"]);
    let run = Running::start(command.current_dir(place.path()).stdout(Stdio::null()));
    let mut stream = TcpStream::connect(&lab.host).expect("connected");
    let request = format!("GET /api/live HTTP/1.1\r\nHost: {}\r\n\r\n", lab.host);
    stream.write_all(request.as_bytes()).expect("sent");
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let told = lines.find_map(|line| {
        let document = parse(line.strip_prefix("data: ")?);
        let commands = document["commands"].as_array()?;
        commands.first().cloned()
    });
    let told = told.expect("progress");
    assert_eq!(
        (&told["command"], &told["subject"]),
        (&json!("run"), &json!("path.toml"))
    );
    assert_eq!(told["folder"], "results");
    assert_eq!(told["total"], 8000.0 * 3600.0);
    assert_eq!(run.interrupt().0, Some(130));
    let gone = lines.find_map(|line| {
        let document = parse(line.strip_prefix("data: ")?);
        document["commands"].as_array()?.is_empty().then_some(())
    });
    assert_eq!(gone, Some(()));
    let left = std::fs::read_dir(place.path().join("results")).expect("there");
    assert_eq!(left.count(), 0);
}

#[test]
fn the_site_is_written_and_a_folder_of_something_else_is_not_touched() {
    let place = folder_with(SCENARIO);
    successful(outcome(place.path(), &["lab", "--static", "site"]));
    assert!(place.path().join("site/index.html").is_file());
    assert!(place.path().join("site/index.html.gz").is_file());
    successful(outcome(place.path(), &["lab", "--static", "site"]));
    let refused = outcome(place.path(), &["lab", "--static", "."]);
    assert_eq!(refused.0, Some(2), "{}", refused.2);
    let missing = outcome(place.path(), &["lab", "nowhere", "--no-open"]);
    assert_eq!(missing.0, Some(2), "{}", missing.2);
}

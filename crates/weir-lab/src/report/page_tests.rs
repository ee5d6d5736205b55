//! The page's script: the values under the pointer, the zoom shared by all pictures over time, and
//! its reset. The tests run in a browser, if one is installed, and in Node with a stub of the
//! browser without layout. `WEIR_BROWSER` names a browser other than the known ones.

use super::page::{self, pictures_page};
use super::*;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Simulated user actions and the expected results.
const CHECKS: &str = include_str!("page_tests/checks.js");

/// A stub of the browser for Node.
const STAND_IN: &str = include_str!("page_tests/stand_in.mjs");

const BROWSERS: [&str; 6] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

fn figure(name: &str, plot: Plot) -> NamedPlot {
    NamedPlot {
        name: name.to_owned(),
        caption: "A caption.".to_owned(),
        drawing: plot.into(),
    }
}

/// Four hours of a rate, a range of two minutes in the middle of them, and a picture that is not
/// over time.
fn page() -> String {
    let over = |label: &str, unit: &str, to: f64| Axis::linear(label, unit).within(0.0, to);
    let rate = Plot::new("Rate", Axis::time(), over("rate, bit/s", "bit/s", 1e7))
        .with(
            "",
            Colour(0),
            Shape::Line(vec![(0.0, 0.0), (14_400.0, 1e7)]),
        )
        .with(
            "limit",
            Colour(1),
            Shape::Line(vec![(0.0, 8e6), (14_400.0, 8e6)]),
        );
    let queue = Shape::Line(vec![(7200.0, 20e3), (7320.0, 100e3)]);
    let queue = Plot::new("Queue", Axis::time(), over("queue, bytes", "bytes", 100e3)).with(
        "queue",
        Colour(0),
        queue,
    );
    let share = Shape::Line(vec![(0.0, 0.0), (0.2, 1.0)]);
    let delay = over("delay, s", "s", 0.2);
    let share = Plot::new("Share", delay, over("share", "", 1.0)).with("share", Colour(0), share);
    let figures = vec![
        figure("rate", rate),
        figure("queue", queue),
        figure("share", share),
    ];
    let pictures = RunPictures {
        sections: vec![Section {
            title: "All".to_owned(),
            figures,
        }],
        ..RunPictures::default()
    };
    pictures_page("A run", "", &pictures)
}

/// The time limit for a browser, which needs about a second: one that hangs is treated as missing.
const BROWSER_TIMEOUT: Duration = Duration::from_mins(1);

/// The document after the page's scripts have run in the browser; `None` if the browser does not
/// start.
fn document(browser: &str, folder: &Path, width: u32) -> Option<String> {
    let out = folder.join(format!("{width}.html"));
    let mut running = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(format!("--window-size={width},900"))
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .arg(format!("file://{}", folder.join("page.html").display()))
        .stdout(File::create(&out).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let begun = Instant::now();
    while running.try_wait().is_ok_and(|ended| ended.is_none()) {
        if begun.elapsed() > BROWSER_TIMEOUT {
            let _ = running.kill();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let text = std::fs::read_to_string(out).ok()?;
    text.contains("<title>").then_some(text)
}

/// Collects violations of the page's policy that the browser reports.
const LISTENER: &str = "globalThis.refused = [];
document.addEventListener(\"securitypolicyviolation\",
  (event) => refused.push(event.violatedDirective + \" \" + event.blockedURI));
";

/// The hash of a policy: SHA-256 in base64.
fn hash(text: &str) -> String {
    use base64::Engine as _;
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let words = base64::engine::general_purpose::STANDARD.encode(digest);
    format!("sha256-{words}")
}

/// The contents of this element, which the page has once.
fn between<'a>(html: &'a str, tag: &str) -> &'a str {
    let (_, rest) = html.split_once(&format!("<{tag}>")).unwrap();
    let (text, rest) = rest.split_once(&format!("</{tag}>")).unwrap();
    assert!(
        !rest.contains(&format!("<{tag}")),
        "{tag} stands there twice"
    );
    text
}

#[test]
fn the_policy_has_the_hashes_of_the_pages_style_and_script() {
    let html = page();
    let (style, script) = (
        hash(between(&html, "style")),
        hash(between(&html, "script")),
    );
    assert_eq!((page::STYLE_HASH, page::SCRIPT_HASH), (&*style, &*script));
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'\">"
    );
    let place = html.find(&policy).unwrap();
    assert!(place < html.find("<style>").unwrap());
    // A page with tables only has no script, and its policy allows none.
    let tables = page::Page::new().html("Tables");
    assert!(tables.contains(&policy.replace(&format!(" script-src '{script}';"), "")));
    assert!(!tables.contains("<script"));
    for attribute in [" style=", " onclick=", " onload=", "javascript:", "<img"] {
        assert!(!html.contains(attribute), "{attribute}");
    }
}

/// Writes the page with the checks at its end, and with their helpers at its start.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let checks = format!("\n{CHECKS}");
    let own = page::SCRIPT_HASH;
    let hashes = format!("{own}' '{}' '{}", hash(LISTENER), hash(&checks));
    let html = page()
        .replace(own, &hashes)
        .replace("<title>", &format!("<script>{LISTENER}</script><title>"))
        .replace("</body>", &format!("<script>{checks}</script></body>"));
    std::fs::write(folder.path().join("page.html"), html).unwrap();
    folder
}

/// Fails unless all checks passed.
fn judge(text: &str, where_it_ran: &str) {
    let title = text.split("<title>").nth(1).unwrap_or_default();
    let title = title.split("</title>").next();
    assert_eq!(title, Some("as it should be"), "{where_it_ran}");
}

#[test]
fn a_reader_points_drags_and_goes_back_in_a_browser() {
    let folder = folder();
    let own = std::env::var("WEIR_BROWSER").ok();
    let browsers = own.iter().map(String::as_str).chain(BROWSERS);
    for browser in browsers {
        let [wide, narrow] = [1400, 390].map(|width| document(browser, folder.path(), width));
        let (Some(wide), Some(narrow)) = (wide, narrow) else {
            continue;
        };
        judge(&wide, &format!("wide screen, {browser}"));
        judge(&narrow, &format!("narrow screen, {browser}"));
        return;
    }
    let names = BROWSERS.join(", ");
    eprintln!("skipped: no browser of {names} is installed");
}

#[test]
fn a_reader_points_drags_and_goes_back_in_node() {
    let folder = folder();
    let script = folder.path().join("stand_in.mjs");
    std::fs::write(&script, STAND_IN).unwrap();
    let mut node = Command::new("node");
    let Ok(output) = node
        .arg(&script)
        .arg(folder.path().join("page.html"))
        .output()
    else {
        eprintln!("skipped: node is not installed");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    judge(
        &String::from_utf8_lossy(&output.stdout),
        &format!("node: {said}"),
    );
}

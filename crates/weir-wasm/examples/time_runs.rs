//! Times runs on this machine, for `web/bench.mjs`: reads a JSON document on each line, `{ "toml",
//! "options", "repeats" }`, and writes the milliseconds of each repetition, as an array.

use serde::Deserialize;
use serde_json::Value;
use std::io::{self, BufRead as _};
use std::time::Instant;
use weir_wasm::LiveRun;

#[derive(Deserialize)]
struct Request {
    toml: String,
    options: Value,
    repeats: usize,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let options = request.options.to_string();
        let mut millis = Vec::new();
        for _ in 0..request.repeats {
            let begun = Instant::now();
            let mut live = LiveRun::new(&request.toml, &options)?;
            live.advance(u32::MAX)?;
            drop(live.finish()?);
            millis.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        println!("{}", serde_json::to_string(&millis)?);
    }
    Ok(())
}

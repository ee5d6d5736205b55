// Runs scenarios in WebAssembly: `node run.mjs FOLDER` reads a JSON document on each line,
// `{ "toml", "options", "slices" }`, and writes one for each: `{ "summary", "explanation" }` or
// `{ "error" }`. FOLDER is what scripts/wasm.sh writes.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const { initSync, LiveRun, lastFault } = await import(pathToFileURL(join(folder, "weir_wasm.js")));
initSync({ module: readFileSync(join(folder, "weir_wasm_bg.wasm")) });

function run({ toml, options, slices }) {
  try {
    const live = new LiveRun(toml, JSON.stringify(options));
    for (let slice = 1; slice <= slices; slice += 1) {
      live.advance((live.endS * slice) / slices);
    }
    const finished = live.finish();
    const { summaryJson: summary, explanationJson: explanation } = finished;
    finished.free();
    return { summary, explanation };
  } catch (error) {
    return { error: typeof error === "string" ? error : `${lastFault() ?? error}` };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(run(JSON.parse(line)))}\n`);
}

// Runs scenarios in WebAssembly: `node run.mjs FOLDER` reads a JSON document on each line,
// `{ "toml", "options", "pieces" }`, and writes one for each: `{ "summary", "explanation" }` or
// `{ "error" }`. FOLDER is what scripts/wasm.sh writes.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const { initSync, LiveRun, lastFault } = await import(pathToFileURL(join(folder, "weir_wasm.js")));
initSync({ module: readFileSync(join(folder, "weir_wasm_bg.wasm")) });

function run({ toml, options, pieces }) {
  try {
    const live = new LiveRun(toml, JSON.stringify(options));
    while (!live.advance(pieces)) {
      if (!(live.nowS <= live.endS)) {
        throw new Error(`${live.nowS} s is behind the end`);
      }
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

// What a run takes in WebAssembly beside the same code on this machine, in milliseconds:
//
//     scripts/wasm.sh && cargo build --release -p weir-wasm --example time_runs
//     node web/bench.mjs [FOLDER of the module] [native program]
//
// A run is everything: reading the scenario, the network, all tables and the explanation.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const folder = process.argv[2] ?? join(root, "web/src/engine/pkg");
const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
const program = process.argv[3] ?? join(target, "release/examples/time_runs");
const REPEATS = 9;

const cases = [
  ["loopback", "experiments/loopback/failing.toml", {}],
  ["lossy-link", "experiments/lossy-link/random-every.toml", {}],
  ["cubic-newreno", "examples/cubic-newreno.toml", {}],
  ["cubic-satellite", "examples/cubic-satellite.toml", {}],
  ["incast", "examples/incast.toml", {}],
  ["quic-lte", "examples/quic-lte.toml", { "lte.trace": "examples/lte.trace" }],
  ["requests", "examples/requests.toml", {}],
  ["video-call", "examples/video-call.toml", {}],
  ["video-wifi", "examples/video-wifi.toml", {}],
];
const text = (path) => readFileSync(join(root, path), "utf8");
const requests = cases.map(([, path, files]) => ({
  toml: text(path),
  options: { files: Object.fromEntries(Object.entries(files).map(([k, v]) => [k, text(v)])) },
  repeats: REPEATS,
}));

const { initSync, LiveRun } = await import(pathToFileURL(join(folder, "weir_wasm.js")));
const { memory } = initSync({ module: readFileSync(join(folder, "weir_wasm_bg.wasm")) });

/** A run as the worker makes it, columns copied; its milliseconds and octets of tables. */
function run({ toml, options }, packets) {
  const begun = performance.now();
  const live = new LiveRun(toml, JSON.stringify({ ...options, packets }));
  while (!live.advance(1000));
  const finished = live.finish();
  let octets = 0;
  for (const table of [...JSON.parse(finished.tables()), ...JSON.parse(finished.stages())]) {
    for (const { at, words } of table.columns) {
      const Column = words ? Uint32Array : Float64Array;
      octets += new Column(memory.buffer, at, table.rows).slice().byteLength;
    }
  }
  finished.free();
  return { millis: performance.now() - begun, octets };
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const repeated = (request, packets) =>
  Array.from({ length: REPEATS }, () => run(request, packets));

const native = existsSync(program)
  ? execFileSync(program, { input: requests.map((r) => JSON.stringify(r)).join("\n") })
      .toString()
      .trim()
      .split("\n")
      .map((line) => median(JSON.parse(line)))
  : [];
const cell = (value, digits = 1) => (value === undefined ? "–" : value.toFixed(digits)).padStart(9);
console.log("median of", REPEATS, "runs, ms    wasm   native    ratio  packets   tables MB");
for (const [index, [name]] of cases.entries()) {
  const runs = repeated(requests[index]);
  const wasm = median(runs.map(({ millis }) => millis));
  const followed = median(repeated(requests[index], {}).map(({ millis }) => millis));
  const ratio = native[index] && wasm / native[index];
  console.log(
    name.padEnd(22),
    cell(wasm),
    cell(native[index]),
    cell(ratio, 2),
    cell(followed),
    cell(runs[0].octets / 1e6),
  );
}

// The WebAssembly of a module against the native program: the same events, the same answers; and the
// cost of an event in V8. Usage: node wasm.mjs FOLDER NAME
import { readFileSync } from "node:fs";
import { spawnSync } from "node:child_process";

const [folder, name] = process.argv.slice(2);
const bytes = readFileSync(`${folder}/${name}.wasm`);
const { module, instance } = await WebAssembly.instantiate(bytes, {});
console.log("imports:", WebAssembly.Module.imports(module).length);
const { memory, __wasm_call_ctors, weir_start, weir_event, weir_handle } = instance.exports;
__wasm_call_ctors();
if (weir_start() !== 0) throw new Error("no module");
const FIELDS = 28, ANSWERS = 15, at = weir_event();
const event = new BigInt64Array(memory.buffer, at, FIELDS);

// A walk through slow start, losses, marks, timeouts and undoing, from a generator of its own.
let state = 1n;
const random = (bound) => {
  state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
  return Number((state >> 33n) % BigInt(bound));
};
const events = [], answers = [];
let now = 0, delivered = 0;
for (let n = 0; n < 20000; n++) {
  const fields = new Array(FIELDS).fill(0);
  now += 100000 + random(2000000);
  const kind = n === 0 ? 1 : [4, 5, 6, 7, 8, 9][random(600)] ?? 3;
  const acked = 1 + random(3), flight = 5 + random(200), rtt = 40000 + random(20000);
  Object.assign(fields, { 0: kind, 2: now, 3: 1448, 4: 10, 5: 7, 8: flight, 9: flight, 10: delivered * 1448, 11: (delivered + flight) * 1448,
    12: 45000, 13: 40000, 15: 1, 16: acked, 17: random(50) === 0 ? 1 : 0, 18: random(20) === 0 ? 1 : 0, 19: rtt, 20: flight, 21: rtt,
    22: Math.max(delivered - flight, 0), 23: flight + acked, 24: random(40) === 0 ? 1 : 0 });
  if (kind === 3) delivered += acked;
  for (let i = 0; i < FIELDS; i++) event[i] = BigInt(fields[i]);
  events.push(...fields);
  answers.push(...new BigInt64Array(memory.buffer, weir_handle(), ANSWERS));
}
const native = spawnSync(`${folder}/driver-${name}`, ["--binary"], { input: Buffer.from(BigInt64Array.from(events, BigInt).buffer), maxBuffer: 1 << 28 });
const same = new BigInt64Array(native.stdout.buffer, native.stdout.byteOffset, native.stdout.length / 8);
const differ = answers.findIndex((value, i) => value !== same[i]);
console.log(differ < 0 && same.length === answers.length ? `the same answers to ${answers.length / ANSWERS} events`
  : `event ${Math.floor(differ / ANSWERS)} differs in field ${differ % ANSWERS}: ${answers[differ]} and ${same[differ]}`);

const count = 200000, begin = process.cpuUsage();
for (let n = 0; n < count; n++) { event[0] = 3n; event[2] = BigInt(now + n * 1000000); weir_handle(); }
const { user, system } = process.cpuUsage(begin);
console.log(`V8: ${((user + system) * 1000 / count).toFixed(0)} ns an event`);

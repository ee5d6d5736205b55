import { expect, test } from "vitest";
import { readTables } from "../src/engine/columns";
import { startEngine } from "../src/engine/engine";
import type { FromWorker, PlainRun, ToWorker } from "../src/engine/protocol";
import { type Advancing, advanceInSlices } from "../src/engine/slices";

/** A worker that keeps what it is told, and says what a test wants. */
class FakeWorker {
  static all: FakeWorker[] = [];
  onmessage: ((event: { data: FromWorker }) => void) | null = null;
  onerror: ((event: unknown) => void) | null = null;
  told: ToWorker[] = [];
  isEnded = false;
  constructor() {
    FakeWorker.all.push(this);
  }
  postMessage(message: ToWorker) {
    this.told.push(message);
  }
  terminate() {
    this.isEnded = true;
  }
  say(data: FromWorker) {
    this.onmessage?.({ data });
  }
}

function started() {
  FakeWorker.all = [];
  const engine = startEngine(() => new FakeWorker() as unknown as Worker);
  return { engine, worker: FakeWorker.all[0]! };
}

const explanation = {
  version: 1,
  held: [],
  findings: [
    {
      remedies: [{ text: "more room", place: "network", set: ["link.a.queue.limit=20", "x=a=b"] }],
    },
  ],
  unknown: [],
};

const plain: PlainRun = {
  summaryJson: '{ "run": { "events": 7 } }\n',
  resolvedToml: "[run]\n",
  explanationJson: JSON.stringify(explanation),
  tables: [],
  packets: null,
  wallMs: 1,
};

test("a run reports its progress and gives its remedies as settings", async () => {
  const { engine, worker } = started();
  const shares: number[] = [];
  const run = engine.run("[run]", { packets: true, onProgress: (share) => shares.push(share) });
  const [message] = worker.told;
  expect(message).toEqual({
    id: 1,
    call: { method: "run", toml: "[run]", options: { maxRows: 1_000_000, packets: {} } },
  });
  worker.say({ id: 1, progress: [0.5, 2] });
  worker.say({ id: 1, run: plain });
  const { summary, remedies, summaryJson } = await run;
  expect(shares).toEqual([0.5]);
  expect(summary.run.events).toBe(7);
  expect(summaryJson).toBe(plain.summaryJson);
  const set = [
    ["link.a.queue.limit", "20"],
    ["x", "a=b"],
  ];
  expect(remedies).toEqual([{ finding: 0, text: "more room", place: "network", set }]);
});

test("an abort rejects at once and tells the worker", async () => {
  const { engine, worker } = started();
  const abort = new AbortController();
  const run = engine.run("[run]", { signal: abort.signal });
  abort.abort();
  await expect(run).rejects.toMatchObject({ name: "AbortError" });
  expect(worker.told.at(-1)).toEqual({ id: 1, cancel: true });
  // The answer that comes all the same has nobody to go to.
  worker.say({ id: 1, cancelled: true });
  await expect(engine.run("", { signal: abort.signal })).rejects.toMatchObject({
    name: "AbortError",
  });
});

test("an error has its place, and a fault ends the worker but not the engine", async () => {
  const { engine, worker } = started();
  const wrong = engine.run("x");
  const problem = {
    severity: "error",
    message: "no",
    line: 1,
    column: 2,
    endLine: 1,
    endColumn: 3,
  } as const;
  worker.say({ id: 1, failure: { message: "a:1:2: no", source: "a", problem } });
  await expect(wrong).rejects.toMatchObject({ name: "ScenarioError", problem, source: "a" });
  const [first, second] = [engine.run("y"), engine.schema()];
  worker.say({ id: 2, failure: { message: "a fault", fault: true } });
  await expect(first).rejects.toThrow("a fault");
  await expect(second).rejects.toThrow("a fault");
  expect(worker.isEnded).toBe(true);
  const again = engine.version();
  FakeWorker.all[1]!.say({ id: 4, text: '"weir 1"' });
  await expect(again).resolves.toBe("weir 1");
});

test("columns are copied out of the memory", () => {
  const memory = new ArrayBuffer(64);
  new Float64Array(memory, 8, 2).set([1.5, Number.NaN]);
  new Uint32Array(memory, 32, 2).set([1, 0]);
  const columns = [
    { name: "rtt_s", at: 8 },
    { name: "bound", at: 32, words: ["window", "pacer"] },
  ];
  const [table] = readTables([{ name: "flows/a", rows: 2, columns }], memory);
  new Uint8Array(memory).fill(255);
  expect([...table!.numbers.rtt_s!]).toEqual([1.5, Number.NaN]);
  expect(table!.words.bound).toEqual({ words: ["window", "pacer"], codes: Uint32Array.of(1, 0) });
});

/** A run that takes this long for a second of its time. */
function clockedRun(endS: number, msPerS: (atS: number) => number) {
  const times: number[] = [];
  let clock = 0;
  let pieces = 0;
  const at = () => (endS * pieces) / 1000;
  const run: Advancing = {
    endS,
    get nowS() {
      return at();
    },
    advance(more) {
      for (let piece = 0; piece < more && pieces < 1000; piece += 1) {
        clock += (endS / 1000) * msPerS(at());
        pieces += 1;
      }
      times.push(at());
      return pieces === 1000;
    },
  };
  return { run, times, now: () => clock };
}

test("slices are short, and end at the end", async () => {
  // It becomes ten times as busy.
  const { run, times, now } = clockedRun(10, (at) => (at < 5 ? 20 : 200));
  let longest = 0;
  let before = 0;
  const reports: number[] = [];
  const done = await advanceInSlices(run, {
    isCancelled: () => false,
    onProgress: (share) => reports.push(share),
    pause: async () => {
      longest = Math.max(longest, now() - before);
      before = now();
    },
    now,
  });
  expect(done).toBe(true);
  expect(times.at(-1)).toBe(10);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(longest).toBeLessThan(80);
  expect(reports.length).toBeGreaterThan(10);
});

test("a cancelled run stops between two slices", async () => {
  const { run, times, now } = clockedRun(10, () => 1000);
  let pauses = 0;
  const done = await advanceInSlices(run, {
    isCancelled: () => pauses === 3,
    onProgress: () => {},
    pause: async () => {
      pauses += 1;
    },
    now,
  });
  expect(done).toBe(false);
  expect(times.at(-1)).toBeLessThan(1);
});

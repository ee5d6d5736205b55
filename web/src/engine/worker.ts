// The worker: the laboratory as WebAssembly, one run at a time.

import { buffersOf, readTables, type TablePlace } from "./columns";
import type { Call, Failure, FromWorker, PlainOptions, PlainRun, ToWorker } from "./protocol";
import { advanceInSlices } from "./slices";
import init, {
  check,
  columns,
  lastFault,
  laws,
  LiveRun,
  schema,
  set,
  theory,
  value,
  version,
} from "./pkg/weir_wasm.js";
import moduleUrl from "./pkg/weir_wasm_bg.wasm?url";

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
};

const ready = init({ module_or_path: moduleUrl });
const cancelled = new Set<number>();
/** Runs wait for each other. */
let runs: Promise<unknown> = Promise.resolve();

/** A message to ourselves comes after those that wait; a timer would come milliseconds later. */
const channel = new MessageChannel();
let resume: () => void = () => {};
channel.port1.onmessage = () => resume();
const pause = () =>
  new Promise<void>((resolve) => {
    resume = resolve;
    channel.port2.postMessage(null);
  });

scope.onmessage = ({ data }) => {
  if ("cancel" in data) {
    cancelled.add(data.id);
    return;
  }
  const { id, call } = data;
  if (call.method === "run") {
    runs = runs.then(() => answer(id, () => run(id, call.toml, call.options)));
  } else {
    void answer(id, async () => {
      await ready;
      scope.postMessage({ id, text: textOf(call) });
    });
  }
};

async function answer(id: number, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    scope.postMessage({ id, failure: failureOf(error) });
  } finally {
    cancelled.delete(id);
  }
}

function textOf(call: Exclude<Call, { method: "run" }>): string {
  switch (call.method) {
    case "version":
      return JSON.stringify(version());
    case "schema":
      return schema();
    case "columns":
      return columns();
    case "laws":
      return laws();
    case "check":
      return check(call.toml, JSON.stringify(call.files));
    case "set":
      return JSON.stringify(set(call.toml, JSON.stringify(call.sets)));
    case "value":
      return value(call.toml, call.key, JSON.stringify(call.files));
    case "theory":
      return theory(call.law, JSON.stringify(call.parameters));
  }
}

async function run(id: number, toml: string, options: PlainOptions): Promise<void> {
  const { memory } = await ready;
  // What was cancelled while it waited does not begin.
  await pause();
  if (cancelled.has(id)) {
    scope.postMessage({ id, cancelled: true });
    return;
  }
  const begun = performance.now();
  const live = new LiveRun(toml, JSON.stringify(options));
  let goesOn = false;
  try {
    goesOn = await advanceInSlices(live, {
      isCancelled: () => cancelled.has(id),
      onProgress: (share, simulatedS) => scope.postMessage({ id, progress: [share, simulatedS] }),
      pause,
      now: () => performance.now(),
    });
  } finally {
    if (!goesOn) {
      live.free();
    }
  }
  if (!goesOn) {
    scope.postMessage({ id, cancelled: true });
    return;
  }
  const finished = live.finish();
  try {
    const places: TablePlace[] = JSON.parse(finished.tables());
    const stages: TablePlace[] = JSON.parse(finished.stages());
    const tables = readTables(places, memory.buffer as ArrayBuffer);
    const [ways] = readTables(stages, memory.buffer as ArrayBuffer);
    const leftOutFromS = finished.leftOutFromS ?? null;
    const plain: PlainRun = {
      summaryJson: finished.summaryJson,
      resolvedToml: finished.resolvedToml,
      explanationJson: finished.explanationJson,
      tables,
      packets: ways ? { ...ways, leftOutFromS } : null,
      wallMs: performance.now() - begun,
    };
    scope.postMessage({ id, run: plain }, buffersOf(ways ? [...tables, ways] : tables));
  } finally {
    finished.free();
  }
}

/** The module throws texts: failures as JSON. Anything else is a fault of the program. */
function failureOf(error: unknown): Failure {
  if (typeof error === "string") {
    return JSON.parse(error) as Failure;
  }
  let message = String(error);
  try {
    message = lastFault() ?? message;
  } catch {
    // The module was not even loaded.
    return { message: `the simulator cannot be loaded: ${message}`, fault: true };
  }
  return { message: `a fault of the program: ${message}; please report it`, fault: true };
}

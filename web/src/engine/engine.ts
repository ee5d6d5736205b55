// The simulator in a worker. One engine has one worker, and one run at a time: a run that is
// started while another goes on waits for it, unless that is ended through its signal.

import type { Call, FromWorker, PlainRun, ToWorker } from "./protocol";
import {
  type Column,
  type Explanation,
  type Finding,
  type Law,
  type Problem,
  type RemedySettings,
  type Run,
  type RunOptions,
  ScenarioError,
  type Setting,
  type Theory,
  type Value,
} from "./types";

export * from "./types";

export interface Engine {
  /** The program and its version: `weir 0.1.0`. */
  version(): Promise<string>;
  /** The JSON Schema of the scenario. */
  schema(): Promise<Record<string, unknown>>;
  /** The columns of all tables, in the order of the documentation. */
  columns(): Promise<Column[]>;
  /** What the reader says of a scenario: its first error, or the remarks of lint. */
  check(toml: string, files?: Record<string, string>): Promise<Problem[]>;
  /** The text with these settings changed, its comments and layout kept. */
  set(toml: string, sets: Setting[]): Promise<string>;
  /** The resolved value of a key, such as `link.bottleneck.rate`; null if there is none. */
  value(toml: string, key: string, files?: Record<string, string>): Promise<Value | null>;
  /** Runs a scenario. Rejected with a `ScenarioError`, or with an `AbortError`. */
  run(toml: string, options?: RunOptions): Promise<Run>;
  /** The laws of `weir theory`. */
  laws(): Promise<Law[]>;
  /** Evaluates a law. Numbers are in s, bit/s and bytes; texts have units: `400ms`. */
  theory(law: string, parameters: Record<string, number | string>): Promise<Theory>;
  /** Ends the worker; what waits for it is rejected. */
  close(): void;
}

interface Waiting {
  resolve(answer: string | PlainRun): void;
  reject(error: Error): void;
  onProgress?: RunOptions["onProgress"];
}

const aborted = () => new DOMException("the run was cancelled", "AbortError");

/** What the memory of a page holds: some hundred octets a row, twice while they are copied. */
const MOST_ROWS = 1_000_000;

/** Makes the worker; a test makes another one. */
export type WorkerMaker = () => Worker;

const makeWorker: WorkerMaker = () =>
  new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "weir" });

class WorkerEngine implements Engine {
  #make: WorkerMaker;
  #worker: Worker | null = null;
  #waiting = new Map<number, Waiting>();
  #next = 1;

  constructor(make: WorkerMaker) {
    this.#make = make;
    this.#started();
  }

  async version() {
    return this.#json<string>({ method: "version" });
  }
  async schema() {
    return this.#json<Record<string, unknown>>({ method: "schema" });
  }
  async columns() {
    return this.#json<Column[]>({ method: "columns" });
  }
  async check(toml: string, files: Record<string, string> = {}) {
    return this.#json<Problem[]>({ method: "check", toml, files });
  }
  async set(toml: string, sets: Setting[]) {
    return this.#json<string>({ method: "set", toml, sets });
  }
  async value(toml: string, key: string, files: Record<string, string> = {}) {
    return this.#json<Value | null>({ method: "value", toml, key, files });
  }
  async laws() {
    return this.#json<Law[]>({ method: "laws" });
  }
  async theory(law: string, parameters: Record<string, number | string>) {
    return this.#json<Theory>({ method: "theory", law, parameters });
  }

  async run(toml: string, options: RunOptions = {}): Promise<Run> {
    const { onProgress, signal, packets, ...rest } = options;
    const followed = packets === true ? {} : packets || undefined;
    const plain = { maxRows: MOST_ROWS, ...rest, packets: followed };
    if (signal?.aborted) {
      throw aborted();
    }
    const id = this.#next++;
    const cancel = () => {
      this.#post({ id, cancel: true });
      this.#take(id)?.reject(aborted());
    };
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      const call: Call = { method: "run", toml, options: plain };
      return finished((await this.#call(id, call, onProgress)) as PlainRun);
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  close() {
    this.#end(new Error("the engine was closed"));
  }

  async #json<T>(call: Call): Promise<T> {
    return JSON.parse((await this.#call(this.#next++, call)) as string) as T;
  }

  #call(id: number, call: Call, onProgress?: RunOptions["onProgress"]) {
    return new Promise<string | PlainRun>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, onProgress });
      this.#post({ id, call });
    });
  }

  #post(message: ToWorker) {
    this.#started().postMessage(message);
  }

  #started(): Worker {
    if (this.#worker === null) {
      const worker = this.#make();
      worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#receive(data);
      worker.onerror = (event) => {
        event.preventDefault();
        this.#end(new Error(event.message || "the worker of the simulator cannot be loaded"));
      };
      this.#worker = worker;
    }
    return this.#worker;
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #receive(message: FromWorker) {
    if ("progress" in message) {
      const [share, simulatedS] = message.progress;
      this.#waiting.get(message.id)?.onProgress?.(share, simulatedS);
      return;
    }
    const waiting = this.#take(message.id);
    if ("text" in message) {
      waiting?.resolve(message.text);
    } else if ("run" in message) {
      waiting?.resolve(message.run);
    } else if ("cancelled" in message) {
      waiting?.reject(aborted());
    } else {
      const { message: text, problem, source, fault } = message.failure;
      const error = problem ? new ScenarioError(problem, source ?? "", text) : new Error(text);
      waiting?.reject(error);
      if (fault) {
        // The next call starts another worker.
        this.#end(error);
      }
    }
  }

  #end(error: Error) {
    this.#worker?.terminate();
    this.#worker = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) {
      reject(error);
    }
  }
}

function finished(run: PlainRun): Run {
  const explanation = JSON.parse(run.explanationJson) as Explanation;
  return {
    ...run,
    summary: JSON.parse(run.summaryJson),
    explanation,
    remedies: explanation.findings.flatMap(remediesOf),
  };
}

function remediesOf(finding: Finding, index: number): RemedySettings[] {
  return finding.remedies.map(({ text, place, set }) => ({
    finding: index,
    text,
    place,
    set: set.map((setting) => {
      const at = setting.indexOf("=");
      return [setting.slice(0, at), setting.slice(at + 1)];
    }),
  }));
}

/** Starts the worker. */
export function startEngine(make: WorkerMaker = makeWorker): Engine {
  return new WorkerEngine(make);
}

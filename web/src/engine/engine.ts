// The simulator in a worker. One engine has one worker, and one run at a time: a run that is
// started while another goes on waits for it, or ends it through its signal.

import type { Column, Law, Problem, Run, RunOptions, Setting, Theory, Value } from "./types";

export * from "./types";

export interface Engine {
  /** The version of the program, and the commit of its sources. */
  version(): Promise<{ version: string; build: string }>;
  /** The JSON Schema of the scenario. */
  schema(): Promise<Record<string, unknown>>;
  /** The columns of all tables, in the order of the documentation. */
  columns(): Promise<Column[]>;
  /** What the reader says of a scenario: its first error, or the remarks of lint. */
  check(toml: string, files?: Record<string, string>): Promise<Problem[]>;
  /** The text with these settings changed, its comments and layout kept. */
  set(toml: string, sets: Setting[]): Promise<string>;
  /** The resolved value of a key, such as `link.bottleneck.rate`; null if there is none. */
  value(toml: string, key: string): Promise<Value | null>;
  /** Runs a scenario. Rejected with a `ScenarioError`, or with an `AbortError`. */
  run(toml: string, options?: RunOptions): Promise<Run>;
  /** The laws of `weir theory`. */
  laws(): Promise<Law[]>;
  /** Evaluates a law. Numbers are in the units of its parameters; texts have units: `400ms`. */
  theory(law: string, parameters: Record<string, number | string>): Promise<Theory>;
  /** Ends the worker. */
  close(): void;
}

/** Starts the worker. */
export declare function startEngine(): Engine;

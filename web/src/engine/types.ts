// What the engine takes and gives. The engine decides nothing of its own: every value here comes
// from weir-lab, compiled to WebAssembly.

/** A place in the text of a scenario; lines and columns count from 1, columns in characters. */
export interface Problem {
  /** `error`: the scenario cannot be run. `remark`: it can, and lint has something to say. */
  severity: "error" | "remark";
  message: string;
  help?: string;
  /** Of a remark the rule of lint, such as `queue`. */
  rule?: string;
  /** Of a remark the setting in the notation of `--set`, such as `link.bottleneck.queue`. */
  path?: string;
  line: number;
  column: number;
  endLine: number;
  endColumn: number;
}

/** How a column is labelled in plots. A value times `factor` is in `unit`. */
export interface Label {
  axis: string;
  short: string;
  unit: string;
  factor: number;
}

/** The declaration of a column of a run's tables. */
export interface Column {
  /** The kind of table: `flows/NAME`, `links/NAME`, `delays`, … */
  table: string;
  name: string;
  /** Empty for words, shares and counts. */
  unit: string;
  documentation: string;
  kind: "number" | "count" | "word";
  label?: Label;
}

/** A column of words: row `i` has the word `words[codes[i]]`. */
export interface Words {
  words: string[];
  codes: Uint32Array;
}

/** A table of a run. A number that is missing is NaN, a word that is missing is "". */
export interface Table {
  /** Its path, which is its kind and the name of its flow or link: `flows/stream`, `links/path`. */
  name: string;
  rows: number;
  /** Columns of numbers and counts; the unit is the last part of the name. */
  numbers: Record<string, Float64Array>;
  /** Columns of words. */
  words: Record<string, Words>;
}

/** One value of a scenario: `key` in the notation of `--set`. */
export type Setting = [key: string, value: string];

/** A value of the resolved scenario, defaults filled in. */
export interface Value {
  /** As it would be written in the file, without quotes: `5ms`, `1Mbit`, `cubic`, `true`. */
  text: string;
  /** The value in `unit`; null for words and tables. */
  number: number | null;
  /** `s`, `bit/s`, `bytes`, or empty. */
  unit: string;
  /** Whether the file itself has the key, so that it is no default. */
  written: boolean;
}

/** A number that an explanation is based on. `weir schema explanation` has the whole form. */
export interface Evidence {
  table: string;
  column: string;
  rows: [number, number] | null;
  span_s: [number, number] | null;
  statistic: unknown;
  value: number;
}

export interface Statement {
  text: string;
  evidence: Evidence[];
}

/** A change of the scenario that should end a finding. */
export interface Remedy {
  text: string;
  /** As `--set` takes them: `link.bottleneck.queue.limit=20`. */
  set: string[];
  place: "sender" | "receiver" | "network";
}

export interface Finding {
  kind: string;
  title: string;
  /** The flow or the link that it is found at. */
  subject: string;
  also: string[];
  /** From 0 to 1. */
  severity: number;
  symptom: Statement;
  chain: Statement[];
  span_s: [number, number];
  remedies: Remedy[];
  citation: string;
  caused_by: string | null;
}

/** What held a sender, by share of time. */
export interface Held {
  flow: string;
  shares: { bound: string; share: Evidence; rule: [string, Evidence] | null }[];
}

export interface Explanation {
  version: number;
  held: Held[];
  findings: Finding[];
  unknown: { column: string; flows: string[]; kinds: string[] }[];
}

/** `summary.json` of a run, parsed; docs/columns.md has its numbers. */
export interface Summary {
  run: Record<string, number | string | null>;
  flows: Record<string, Record<string, unknown>>;
  links: Record<string, Record<string, unknown>>;
  [part: string]: unknown;
}

/** A remedy of a finding, with the settings apart, for a button that makes a variant. */
export interface RemedySettings {
  /** The index in `explanation.findings`. */
  finding: number;
  text: string;
  place: Remedy["place"];
  set: Setting[];
}

/**
 * The ways of packets over the links, a row for each time that a link carried a packet or dropped
 * it; on the air a row for each frame. Times are NaN where there is none.
 *
 * `numbers`: `packet` (its number within the run), `number` (of its transport), `size_bytes`,
 * `sent_s`, `entered_s` (the queue), `started_s` and `left_s` (transmission), `arrives_s`,
 * `dropped_s`. `words`: `flow`, `from` (`sender` or `receiver`), `link`, `content` (`data`,
 * `retransmission`, `acknowledgement`, `control`), `reason` (of a drop).
 */
export interface Packets extends Table {
  /** When the table was full, so that later packets are missing; null if all are here. */
  leftOutFromS: number | null;
}

/** A finished run. */
export interface Run {
  summary: Summary;
  /** Exactly the bytes of `summary.json`. */
  summaryJson: string;
  /** The scenario with all defaults filled in. */
  resolvedToml: string;
  tables: Table[];
  explanation: Explanation;
  explanationJson: string;
  remedies: RemedySettings[];
  /** Only with `packets: true`. */
  packets: Packets | null;
  /** Milliseconds that the worker took, for display only. */
  wallMs: number;
}

export interface RunOptions {
  /** Applied over the text in their order, as `--set`. */
  sets?: Setting[];
  seed?: number;
  /** The contents of files that the scenario names (rate traces), by their names in it. */
  files?: Record<string, string>;
  /** Adds the ways of packets over the links: all, as far as memory goes, or those of a time. */
  packets?: boolean | { fromS?: number; toS?: number; maxRows?: number };
  /** Rows of flows and links above which their tables are thinned: a million unless told. */
  maxRows?: number;
  /** `share` from 0 to 1, and the virtual time reached. */
  onProgress?: (share: number, simulatedS: number) => void;
  /** Ends the run; the promise is rejected with an `AbortError`. */
  signal?: AbortSignal;
}

/** A law of `weir theory`. */
export interface Law {
  law: string;
  describe: string;
  equation: string;
  source: string;
  /** Where it holds, as measured; empty if that was not measured. */
  valid: string;
  /** A parameter whose default is null is required; "" is optional. */
  parameters: { name: string; describe: string; default: string | null }[];
}

export interface Theory {
  law: string;
  equation: string;
  source: string;
  valid: string;
  results: { name: string; value: number | null; text: string; describe: string }[];
}

/** A scenario that cannot be run, or a run that failed. */
export class ScenarioError extends Error {
  constructor(
    readonly problem: Problem,
    /** The name of the text that the place is in: the file, or `--set KEY=VALUE`. */
    readonly source: string,
    /** Place, problem and advice in one line. */
    message: string,
  ) {
    super(message);
    this.name = "ScenarioError";
  }
}

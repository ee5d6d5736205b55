// What the page and the worker say to each other.

import type { Packets, Problem, RunOptions, Table } from "./types";

/** The options of a run that a message can carry. */
export type PlainOptions = Omit<RunOptions, "onProgress" | "signal" | "packets"> & {
  packets?: { fromS?: number; toS?: number; maxRows?: number };
};

/** A call of the page. Texts of the engine stay JSON until the page needs them. */
export type Call =
  | { method: "version" | "schema" | "columns" | "laws" }
  | { method: "check"; toml: string; files: Record<string, string> }
  | { method: "set"; toml: string; sets: [string, string][] }
  | { method: "value"; toml: string; key: string; files: Record<string, string> }
  | { method: "theory"; law: string; parameters: Record<string, number | string> }
  | { method: "run"; toml: string; options: PlainOptions };

export type ToWorker = { id: number; call: Call } | { id: number; cancel: true };

/** A run as it crosses: its columns move, they are not copied again. */
export interface PlainRun {
  summaryJson: string;
  resolvedToml: string;
  explanationJson: string;
  tables: Table[];
  packets: Packets | null;
  wallMs: number;
}

/** Why a call failed. */
export interface Failure {
  message: string;
  source?: string;
  problem?: Problem;
  /** A fault of the program: the worker cannot go on. */
  fault?: boolean;
}

export type FromWorker =
  | { id: number; progress: [share: number, simulatedS: number] }
  | { id: number; text: string }
  | { id: number; run: PlainRun }
  | { id: number; cancelled: true }
  | { id: number; failure: Failure };

// Files to take away: the scenario, the tables as CSV, the plots as SVG and PNG.
import { strToU8, zipSync } from "fflate";
import type { Run, Table } from "../engine/types";

export function save(name: string, data: Blob | string, type = "text/plain;charset=utf-8"): void {
  const url = URL.createObjectURL(typeof data === "string" ? new Blob([data], { type }) : data);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A name for files: letters, digits and dashes. */
export const fileName = (title: string) =>
  title
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 60) || "weir";

const quoted = (word: string) => (/[",\n\r]/.test(word) ? `"${word.replaceAll('"', '""')}"` : word);

/** A table as CSV, with the column names of the Parquet files; a missing value is empty. */
export function csv(table: Table): string {
  const numbers = Object.entries(table.numbers);
  const words = Object.entries(table.words);
  const lines = [[...numbers, ...words].map(([name]) => quoted(name)).join(",")];
  for (let row = 0; row < table.rows; row++) {
    const cells = numbers.map(([, values]) =>
      Number.isNaN(values[row]!) ? "" : String(values[row]),
    );
    for (const [, { words: list, codes }] of words) cells.push(quoted(list[codes[row]!] ?? ""));
    lines.push(cells.join(","));
  }
  return lines.join("\r\n") + "\r\n";
}

/** All tables of a run in one archive, with summary and scenario as a run's folder has them. */
export function archive(run: Run): Uint8Array<ArrayBuffer> {
  const files: Record<string, Uint8Array> = {
    "summary.json": strToU8(run.summaryJson),
    "scenario.toml": strToU8(run.resolvedToml),
    "explanation.json": strToU8(run.explanationJson),
  };
  for (const table of run.tables) files[`${table.name}.csv`] = strToU8(csv(table));
  return zipSync(files, {
    level: 6,
    mtime: new Date("2026-01-01T00:00:00Z"),
  }) as Uint8Array<ArrayBuffer>;
}

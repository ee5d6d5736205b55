// The tables of a finished run, out of the module's memory.

import type { Table, Words } from "./types";

/** Where the columns of a table are: what `FinishedRun.tables()` gives. */
export interface TablePlace {
  name: string;
  rows: number;
  columns: { name: string; at: number; words?: string[] }[];
}

/** Copies the columns, because the memory of the module is used again by the next run. */
export function readTables(places: TablePlace[], memory: ArrayBuffer): Table[] {
  return places.map(({ name, rows, columns }) => {
    const numbers: Record<string, Float64Array> = {};
    const words: Record<string, Words> = {};
    for (const column of columns) {
      if (column.words === undefined) {
        numbers[column.name] = new Float64Array(memory, column.at, rows).slice();
      } else {
        const codes = new Uint32Array(memory, column.at, rows).slice();
        words[column.name] = { words: column.words, codes };
      }
    }
    return { name, rows, numbers, words };
  });
}

/** The buffers of the tables, which a message moves. */
export function buffersOf(tables: Table[]): ArrayBuffer[] {
  return tables.flatMap((table) => [
    ...Object.values(table.numbers).map((values) => values.buffer as ArrayBuffer),
    ...Object.values(table.words).map((column) => column.codes.buffer as ArrayBuffer),
  ]);
}

// Where the cursor stands in a scenario: which table, which key, before or after its equals sign.
// Works on text that is being written and is no whole TOML yet.
import type { Step } from "./schema";

export interface Entry {
  steps: Step[];
  keyFrom: number;
  keyTo: number;
  valueFrom: number;
  valueTo: number;
  /** The value as text without quotes, if it is no table and no list. */
  value: string | null;
}

export interface Cursor {
  /** The table that the cursor is in. */
  table: Step[];
  /** The key whose value is being written; null while a key is. */
  key: string | null;
  /** The start of the word at the cursor. */
  from: number;
  /** Whether the word stands in quotes. */
  quoted: boolean;
}

export interface Scan {
  entries: Entry[];
  cursor: Cursor | null;
}

const WORD = /[A-Za-z0-9_-]/;

/** Reads the text as far as it goes; `at` asks for the context of a place. */
export function scan(text: string, at = -1): Scan {
  const entries: Entry[] = [];
  const counts = new Map<string, number>();
  let table: Step[] = [];
  let cursor: Cursor | null = null;
  let position = 0;

  const note = (from: number, to: number, where: Step[], key: string | null, quoted = false) => {
    if (at >= from && at <= to) cursor = { table: where, key, from, quoted };
  };
  /** A gap belongs to the table; a word that ends where it begins goes before it. */
  const gap = (from: number, to: number, where: Step[], key: string | null) => {
    if (at >= from && at <= to && (at > from || !cursor)) {
      cursor = { table: where, key, from: at, quoted: false };
    }
  };
  const space = (newlines: boolean) => {
    while (position < text.length) {
      const letter = text[position]!;
      if (letter === "#") while (position < text.length && text[position] !== "\n") position++;
      else if (
        letter === " " ||
        letter === "\t" ||
        letter === "\r" ||
        (newlines && letter === "\n")
      )
        position++;
      else break;
    }
  };
  const word = () => {
    const from = position;
    while (position < text.length && WORD.test(text[position]!)) position++;
    return text.slice(from, position);
  };
  const text_ = (quote: string, where: Step[], key: string) => {
    const from = ++position;
    while (position < text.length && text[position] !== quote && text[position] !== "\n")
      position++;
    note(from, position, where, key, true);
    const value = text.slice(from, position);
    if (text[position] === quote) position++;
    return value;
  };

  /** The steps of `a.b.c` below a table; entries of lists get the index of the last one. */
  const below = (base: Step[], names: string[]): Step[] => {
    const steps = [...base];
    for (const name of names) {
      steps.push(name);
      const count = counts.get(steps.join("\0"));
      if (count) steps.push(count - 1);
    }
    return steps;
  };

  const value = (where: Step[], key: string, steps: Step[]): string | null => {
    const start = position;
    const letter = text[position];
    if (letter === '"' || letter === "'") return text_(letter, where, key);
    if (letter === "{") {
      position++;
      pairs(steps, "}");
      return null;
    }
    if (letter === "[") {
      position++;
      let index = 0;
      while (position < text.length) {
        space(true);
        if (text[position] === "]") {
          position++;
          break;
        }
        if (text[position] === ",") {
          position++;
          continue;
        }
        if (text[position] === "[" && text[position + 1] === "[") break;
        const before = position;
        value(where, key, [...steps, index++]);
        if (position === before) position++;
      }
      return null;
    }
    while (position < text.length && !/[\s,}\]#]/.test(text[position]!)) position++;
    note(start, position, where, key);
    return text.slice(start, position);
  };

  /** One `key = value`; returns false if there is none. */
  const pair = (where: Step[]): boolean => {
    const keyFrom = position;
    const names: string[] = [];
    do {
      space(false);
      const from = position;
      const quote = text[position];
      let name = word();
      if (!name && (quote === '"' || quote === "'")) name = text_(quote, where, "");
      note(from, position, names.length ? below(where, names) : where, null);
      if (!name) break;
      names.push(name);
      space(false);
    } while (text[position] === "." && ++position);
    if (!names.length) return false;
    const keyTo = position;
    if (text[position] !== "=") return true;
    const last = names.at(-1)!;
    const inner = below(where, names.slice(0, -1));
    position++;
    const after = position;
    space(false);
    // Between the equals sign and the value the value begins.
    gap(after, position, inner, last);
    const valueFrom = position;
    const steps = [...inner, last];
    const read = value(inner, last, steps);
    entries.push({ steps, keyFrom, keyTo, valueFrom, valueTo: position, value: read });
    return true;
  };

  function pairs(where: Step[], end: string): void {
    while (position < text.length) {
      const from = position;
      space(true);
      gap(from, position, where, null);
      if (text[position] === end) {
        position++;
        return;
      }
      if (text[position] === "," || text[position] === "\n") {
        position++;
        continue;
      }
      if (text[position] === "[" && text[position - 1] === "\n") return;
      if (!pair(where)) position++;
    }
  }

  while (position < text.length) {
    const from = position;
    space(true);
    gap(from, position, table, null);
    if (position >= text.length) break;
    if (text[position] === "[") {
      const list = text[position + 1] === "[";
      const end = text.indexOf(list ? "]]" : "]", position);
      const line = text.indexOf("\n", position);
      const stop = end < 0 || (line >= 0 && line < end) ? (line < 0 ? text.length : line) : end;
      const names = text
        .slice(position + (list ? 2 : 1), stop)
        .split(".")
        .map((name) => name.trim())
        .filter(Boolean);
      note(position, stop, ["", ...names], null);
      if (list && names.length) {
        const parent = below([], names.slice(0, -1));
        const path = [...parent, names.at(-1)!].join("\0");
        counts.set(path, (counts.get(path) ?? 0) + 1);
      }
      table = below([], names);
      position = stop + (list ? 2 : 1);
      continue;
    }
    if (!pair(table)) position++;
    const rest = text.indexOf("\n", position);
    // What stands behind a value on its line is an error that the reader reports.
    space(false);
    if (position < text.length && text[position] !== "\n" && rest >= 0) position = rest;
  }
  return { entries, cursor };
}

/** The kind of a table in the text. */
export function kindIn(entries: Entry[]): (steps: Step[]) => unknown {
  const found = new Map(
    entries
      .filter(({ steps }) => steps.at(-1) === "kind")
      .map((entry) => [entry.steps.slice(0, -1).join("\0"), entry.value]),
  );
  return (steps) => found.get(steps.join("\0")) ?? undefined;
}

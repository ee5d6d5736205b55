// The sliders and choices of a scenario: which keys there are says the resolved scenario, what each
// may be says the schema. A setting is written as `--set` takes it.
import { parse } from "smol-toml";
import type { Setting } from "../engine/types";
import { quantity, type Dimension } from "../ui/units";
import {
  kinds,
  numeric,
  options,
  resolve,
  tables,
  type Node,
  type Option,
  type Schema,
} from "./schema";

export interface Control {
  /** In the notation of `--set`. */
  key: string;
  /** The part of the key behind the group. */
  label: string;
  group: string;
  documentation: string;
  /** The present value as the resolved scenario has it. */
  text: string;
  kind: "number" | "choice";
  choices: Option[];
  /** Of a number. */
  value: number;
  dimension: Dimension;
  unit: string;
  least: number;
  most: number;
  whole: boolean;
  /** Of a periodic loss: one in a whole number of packets. */
  reciprocal?: boolean;
  /** Settings that a choice of kind needs, as a random loss its rate. */
  needs: Map<string, Setting[]>;
  /** Numbers that matter stand first; others are found by their names. */
  rank: number;
}

type Table = Record<string, unknown>;
const isTable = (value: unknown): value is Table =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Keys that matter, most important first, by the end of the path within a link, a flow or a run. */
const MATTER: RegExp[] = [
  /^rate$/,
  /^delay$/,
  /^queue\.kind$/,
  /^queue\.limit$/,
  /^loss\.kind$/,
  /^loss\.(rate|p|r|period)$/,
  /^shaper\.kind$/,
  /^shaper\.(rate|burst|limit)$/,
  /^queue\.(target|interval|max|min|step|threshold)$/,
  /^transport\.controller$/,
  /^transport\.(profile|rules)$/,
  /^transport\.tfrc\.(rtt_min|oscillation|idle_round_trips|initial_window|nofeedback_min)$/,
  /^app\.(rate|bitrate|packet|kind)$/,
  /^transport\.(ack_every|max_ack_delay|send_queue)$/,
  /^access_delay$/,
  /^start$/,
  /^(duration|seed)$/,
];
const BESIDE = 100;

/** Parts of a resolved scenario that only some transports use. */
function unused(path: string[], flow: Table): boolean {
  const transport = isTable(flow.transport) ? flow.transport : {};
  const part = path[1];
  if (path[0] !== "transport" || !part) return false;
  const window = transport.kind !== "dccp" || transport.ccid === 2;
  if (["cubic", "bbr", "copa", "nada"].includes(part))
    return transport.controller !== part || !window;
  if (part === "tfrc")
    return !(transport.kind === "dccp" && transport.ccid !== 2) && transport.controller !== "tfrc";
  return part === "controller" && !window;
}

/** All keys that the text and the settings write, so that a control stands where the scenario has it. */
function writtenPaths(text: string, sets: Setting[]): Set<string> {
  const made = new Set(sets.map(([key]) => key));
  let document: Table;
  try {
    document = parse(text);
  } catch {
    return made;
  }
  const visit = (value: unknown, path: string) => {
    if (!isTable(value)) return void made.add(path);
    for (const [key, inner] of Object.entries(value)) visit(inner, path ? `${path}.${key}` : key);
  };
  for (const [part, value] of Object.entries(document)) {
    if (!Array.isArray(value)) visit(value, part);
    else
      for (const entry of value) if (isTable(entry)) visit(entry, `${part}.${String(entry.name)}`);
  }
  return made;
}

/** The names of links, media and flows as the text has them: `flow.answer`. */
function namesIn(text: string): Set<string> {
  const names = new Set<string>();
  try {
    for (const [part, value] of Object.entries(parse(text) as Table)) {
      if (Array.isArray(value))
        for (const entry of value) if (isTable(entry)) names.add(`${part}.${String(entry.name)}`);
    }
  } catch {
    // The reader reports what is wrong with the text.
  }
  return names;
}

/** Entries of each kind that get controls. */
const ENTRIES = 8;

export function controls(
  schema: Schema,
  resolvedToml: string,
  text: string,
  sets: Setting[],
): Control[] {
  const resolved = parse(resolvedToml) as Table;
  const written = writtenPaths(text, sets);
  const made: Control[] = [];
  const root = schema.properties ?? {};

  const add = (
    table: unknown,
    node: Node,
    group: string,
    prefix: string,
    keep: (path: string[]) => boolean = () => true,
  ) => {
    visit(table, node, []);

    function visit(value: unknown, at: Node, path: string[], periodic = false): void {
      if (path.length && !keep(path)) return;
      if (isTable(value)) {
        const all = kinds(schema, at);
        const [shape] = tables(schema, at, value.kind);
        if (all.length > 1)
          kindControl(String(value.kind), all, path, resolve(schema, at).description ?? "");
        for (const [key, inner] of Object.entries(value)) {
          const below = shape?.properties?.[key];
          if (below && key !== "kind" && key !== "name" && key !== "count")
            visit(inner, below, [...path, key], value.kind === "periodic" && key === "rate");
        }
        return;
      }
      const control = leaf(value, at, path);
      if (control && periodic) control.reciprocal = true;
      if (control) made.push(control);
    }

    function kindControl(
      value: string,
      all: ReturnType<typeof kinds>,
      path: string[],
      documentation: string,
    ): void {
      const choices = all.map(({ name, description }) => ({ value: name, description }));
      const key = [...path, "kind"];
      const needs = new Map(
        all.map(({ name, table }) => [name, needed(table, [prefix, ...path].join("."))]),
      );
      made.push({ ...common(key, documentation), text: value, kind: "choice", choices, needs });
    }

    function common(
      path: string[],
      documentation: string,
    ): Omit<Control, "text" | "kind" | "choices" | "needs"> {
      const label = path.join(".");
      const key = `${prefix}.${label}`;
      let rank = MATTER.findIndex((pattern) => pattern.test(label));
      if (rank < 0) rank = BESIDE;
      if (written.has(key) && rank === BESIDE) rank = BESIDE - 1;
      return {
        key,
        label,
        group,
        documentation,
        value: NaN,
        dimension: "",
        unit: "",
        least: 0,
        most: 0,
        whole: false,
        rank,
      };
    }

    function leaf(value: unknown, at: Node, path: string[]): Control | null {
      const node = resolve(schema, at);
      const documentation = at.description ?? node.description ?? "";
      const base = common(path, documentation);
      const words = options(schema, at);
      const number = numeric(schema, at);
      const found = quantity(value);
      const needs = new Map<string, Setting[]>();
      if (typeof value === "boolean") {
        const choices = ["true", "false"].map((word) => ({ value: word, description: "" }));
        return { ...base, text: String(value), kind: "choice", choices, needs };
      }
      if (found) {
        const least = number?.minimum ?? number?.exclusiveMinimum ?? 0;
        const most = number?.maximum ?? number?.exclusiveMaximum ?? Infinity;
        const whole = found.dimension === "" && number?.type === "integer";
        const unit = found.dimension || number?.["x-unit"] || "";
        return {
          ...base,
          text: String(value),
          kind: "number",
          choices: [],
          needs,
          value: found.value,
          dimension: found.dimension,
          unit,
          least: Math.max(0, least),
          most,
          whole,
        };
      }
      if (typeof value === "string" && words.length > 1) {
        return { ...base, text: value, kind: "choice", choices: words, needs };
      }
      return null;
    }
  };

  const names = namesIn(text);
  /** Entries by the names that the text has: `rack-1` of several alike is set as `rack`. */
  const list = (name: string): Table[] => {
    const entries = new Map<string, Table>();
    for (const entry of Array.isArray(resolved[name]) ? (resolved[name] as Table[]) : []) {
      const full = String(entry.name);
      const short = full.replace(/-\d+$/, "");
      const known = names.has(`${name}.${full}`) || !names.has(`${name}.${short}`) ? full : short;
      if (!entries.has(known)) entries.set(known, { ...entry, name: known });
    }
    return [...entries.values()].slice(0, ENTRIES);
  };
  const items = (name: string): Node => resolve(schema, root[name] ?? {}).items ?? {};
  if (isTable(resolved.run)) {
    const shown = ["duration", "seed", "warmup", "interval"];
    add(resolved.run, root.run ?? {}, "Run", "run", ([key]) => shown.includes(key!));
  }
  for (const link of list("link")) linkControls(link);
  for (const wifi of list("wifi"))
    add(wifi, items("wifi"), `Wi-Fi ${String(wifi.name)}`, `wifi.${String(wifi.name)}`);
  for (const flow of list("flow")) {
    add(
      flow,
      items("flow"),
      `Flow ${String(flow.name)}`,
      `flow.${String(flow.name)}`,
      (path) => !unused(path, flow) && path[0] !== "arrivals",
    );
  }
  return made;

  /** A key of a link is for both directions unless the scenario has it for one of them. */
  function linkControls(link: Table): void {
    const name = String(link.name);
    const prefix = `link.${name}`;
    const node = items("link");
    const [shape] = tables(schema, node);
    const own = (direction: string) =>
      [...written]
        .filter((key) => key.startsWith(`${prefix}.${direction}.`))
        .map((key) => key.split(".")[3]!);
    const apart = new Set([...own("forward"), ...own("backward")]);
    const both = isTable(link.forward) ? link.forward : {};
    add(
      Object.fromEntries(Object.entries(both).filter(([key]) => !apart.has(key))),
      node,
      `Link ${name}`,
      prefix,
    );
    for (const direction of ["forward", "backward"]) {
      const part = link[direction];
      const keys = new Set(own(direction));
      if (!isTable(part) || !keys.size) continue;
      const only = Object.fromEntries(Object.entries(part).filter(([key]) => keys.has(key)));
      add(
        only,
        shape?.properties?.[direction] ?? {},
        `Link ${name}, ${direction}`,
        `${prefix}.${direction}`,
      );
    }
  }

  /** First values for the keys that a kind requires. */
  function needed(table: Node, prefix: string): Setting[] {
    return (table.required ?? [])
      .filter((key) => key !== "kind")
      .flatMap((key) => {
        const node = table.properties?.[key];
        const value = node ? firstValue(node, key) : null;
        return value === null ? [] : [[`${prefix}.${key}`, value] as Setting];
      });
  }

  function firstValue(node: Node, key: string): string | null {
    const full = resolve(schema, node);
    if (full.default !== undefined) return String(full.default);
    const [word] = options(schema, node);
    if (word) return word.value;
    const text = JSON.stringify(node);
    if (text.includes('/rate"')) return "1Mbit";
    if (text.includes('/size"')) return key === "burst" ? "10kB" : "30kB";
    if (text.includes("/duration")) return "10ms";
    if (text.includes("/fraction")) return "0.01";
    const number = numeric(schema, node);
    if (number) return String(Math.max(number.minimum ?? 0, number.type === "integer" ? 1 : 0.01));
    return null;
  }
}

/** The positions of a slider. */
export const STEPS = 1000;
const DECADES = 3;

/** The range of a slider: three decades around the value it began with, within the schema's bounds. */
export interface Range {
  low: number;
  high: number;
  /** Whether the lowest position is zero. */
  zero: boolean;
}

export function range(control: Control): Range {
  const { value, least, most, dimension, whole } = control;
  const first =
    value > 0 ? value : dimension === "s" ? 1e-3 : dimension === "" ? (whole ? 30 : 0.03) : 1e6;
  const wide = dimension === "" && !whole && most <= 1 ? 4 : DECADES;
  let [low, high] = [first / 10 ** wide, first * 10 ** wide];
  if (value === 0 && dimension === "s") [low, high] = [1e-6, 1];
  if (whole) low = Math.max(1, low);
  if (dimension === "s") low = Math.max(1e-9, low);
  if (dimension === "bit/s" || dimension === "bytes") low = Math.max(1, low);
  low = Math.max(low, least);
  high = Math.min(high, most);
  return { low, high: Math.max(high, low * 1.001), zero: least === 0 };
}

/** The value at a position from 0 to `STEPS`, on a logarithmic scale. */
export function valueAt({ low, high, zero }: Range, position: number, whole: boolean): number {
  if (zero && position <= 0) return 0;
  const value = low * (high / low) ** (position / STEPS);
  if (whole) return Math.round(value);
  return Number(value.toPrecision(3));
}

export function positionOf({ low, high, zero }: Range, value: number): number {
  if (value <= low) return zero && value <= 0 ? 0 : value < low ? 0 : 1;
  return Math.min(
    STEPS,
    Math.max(0, Math.round((STEPS * Math.log(value / low)) / Math.log(high / low))),
  );
}

// Numbers for people, and the quantities of scenarios: "5ms", "10Mbit", "30kB".

const PREFIXES: Record<string, [number, string][]> = {
  "bit/s": [
    [1e9, "Gbit/s"],
    [1e6, "Mbit/s"],
    [1e3, "kbit/s"],
    [1, "bit/s"],
  ],
  s: [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "µs"],
    [1e-9, "ns"],
  ],
  bytes: [
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "kB"],
    [1, "B"],
  ],
};

export const digits = (value: number, count = 4): string => {
  if (!Number.isFinite(value)) return "–";
  const text = Number(value.toPrecision(count));
  return Math.abs(text) >= 1e6 || (text !== 0 && Math.abs(text) < 1e-4)
    ? text.toExponential()
    : String(text);
};

/** The prefix in which a value has one to three digits before the point. */
export function prefixFor(value: number, unit: string): [number, string] {
  const prefixes = PREFIXES[unit];
  if (!prefixes) return [1, unit];
  const size = Math.abs(value);
  const fits = prefixes.find(([scale]) => size >= scale * 0.9999995);
  if (fits) return fits;
  return size === 0 ? prefixes.find(([scale]) => scale === 1)! : prefixes.at(-1)!;
}

/** A value with its unit: 12.3 Mbit/s. */
export function withUnit(value: number | null | undefined, unit: string, count = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const [scale, name] = prefixFor(value, unit);
  return `${digits(value / scale, count)} ${name}`.trim();
}

/** A time with as many decimals as a pixel of the span stands for. */
export function timeText(value: number, span: number, width = 800): string {
  const [scale, name] = span >= 1 ? [1, "s"] : prefixFor(span, "s");
  const decimals = Math.min(
    12,
    Math.max(0, Math.ceil(-Math.log10(span / width / (scale as number)))),
  );
  return `${Number((value / (scale as number)).toFixed(decimals))} ${name}`;
}

export type Dimension = "s" | "bit/s" | "bytes" | "";

const UNITS: Record<string, [number, Dimension]> = {
  ns: [1e-9, "s"],
  us: [1e-6, "s"],
  ms: [1e-3, "s"],
  s: [1, "s"],
  min: [60, "s"],
  h: [3600, "s"],
  bit: [1, "bit/s"],
  kbit: [1e3, "bit/s"],
  Mbit: [1e6, "bit/s"],
  Gbit: [1e9, "bit/s"],
  b: [1, "bytes"],
  B: [1, "bytes"],
  kB: [1e3, "bytes"],
  MB: [1e6, "bytes"],
  GB: [1e9, "bytes"],
  KiB: [1024, "bytes"],
  MiB: [1048576, "bytes"],
  GiB: [1073741824, "bytes"],
};

export interface Quantity {
  value: number;
  dimension: Dimension;
}

/** A quantity as the resolved scenario writes it; null for words. */
export function quantity(value: unknown): Quantity | null {
  if (typeof value === "number") return { value, dimension: "" };
  if (typeof value === "bigint") return { value: Number(value), dimension: "" };
  if (typeof value !== "string") return null;
  const found = value.trim().match(/^([0-9.]+(?:[eE][-+]?\d+)?)\s*([A-Za-z]+)$/);
  const unit = found && UNITS[found[2]!];
  return unit ? { value: Number(found![1]) * unit[0], dimension: unit[1] } : null;
}

const WRITTEN: Record<Exclude<Dimension, "">, [number, string][]> = {
  s: [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "us"],
    [1e-9, "ns"],
  ],
  "bit/s": [
    [1e9, "Gbit"],
    [1e6, "Mbit"],
    [1e3, "kbit"],
    [1, "bit"],
  ],
  bytes: [
    [1e6, "MB"],
    [1e3, "kB"],
    [1, "b"],
  ],
};

/** A quantity as a scenario is written: three digits are enough for a slider. */
export function written(value: number, dimension: Dimension, count = 3): string {
  if (dimension === "") return plain(Number(value.toPrecision(count)));
  const list = WRITTEN[dimension];
  if (value === 0) return `0${list.find(([scale]) => scale === 1)![1]}`;
  const [scale, name] = list.find(([scale]) => value >= scale * 0.9999995) ?? list.at(-1)!;
  const number = Number((value / scale).toPrecision(count));
  const least = dimension === "s" && name === "ns";
  const whole =
    least || (dimension === "bytes" && name === "b") || (dimension === "bit/s" && name === "bit");
  return plain(whole ? Math.max(1, Math.round(number)) : number) + name;
}

/** Without an exponent, which the readers of quantities take and people do not. */
const plain = (value: number) =>
  Math.abs(value) >= 1e-6 || value === 0 ? String(value) : value.toFixed(12).replace(/0+$/, "");

// The figures of a run: what its tables hold, as curves over time. The simulator has decided every
// value; nothing is computed here but differences between two runs.
import type { Run, Summary, Table, Words } from "../engine/types";
import { palette } from "../generated/palette";
import { Curve } from "./curve";
import type { Band, Categories, Figure, Layer } from "./figure";

/** A run that is shown, with the name of its variant. */
export interface Shown {
  /** The letter and the settings of the variant; empty if there is only one. */
  name: string;
  /** The index of the variant, which is its colour where variants share a plot. */
  number: number;
  run: Run;
}

export interface Selection {
  /** The flows to show; all if empty. */
  flows: string[];
}

const FLOW_COLOURS = 10;
const QUEUE = 9;
const DROP = 5;
const MARK = 8;
/** Flows that are shown before somebody chooses. */
export const FLOWS_AT_FIRST = 8;

const tableOf = (run: Run, name: string) => run.tables.find((table) => table.name === name);

/** The names of the flows that have tables, in the order of the run. */
export function flowsOf(run: Run): string[] {
  const names = run.tables.filter(({ name }) => /^(flows|intervals)\//.test(name));
  return [...new Set(names.map(({ name }) => name.slice(name.indexOf("/") + 1)))];
}

const column = (table: Table | undefined, name: string): Curve | null => {
  const values = table?.numbers[name];
  const times = table?.numbers.time_s;
  if (!values || !times || !anyValue(values)) return null;
  return new Curve(times, values);
};

function anyValue(values: Float64Array): boolean {
  for (const value of values) if (!Number.isNaN(value)) return true;
  return false;
}

/** Values of intervals stand at the end of each; a step begins where its interval does. */
function interval(table: Table | undefined, name: string): Curve | null {
  const curve = column(table, name);
  if (!curve || curve.length === 0) return curve;
  const { x, y } = curve;
  const length = x.length > 1 ? x[1]! - x[0]! : x[0]!;
  const times = new Float64Array(x.length + 1);
  const values = new Float64Array(x.length + 1);
  for (let index = 0; index < x.length; index++) times[index] = Math.max(0, x[index]! - length);
  times[x.length] = x[x.length - 1]!;
  values.set(y);
  values[x.length] = y[y.length - 1]!;
  return new Curve(times, values);
}

const limitPlace = new Map<string, number>(palette.limits.map(({ name }, place) => [name, place]));

/** The label of a rule; in the notation of TFRC for a rate. */
function limitLabel(name: string, ofRate: boolean): string {
  const words = palette.limitWords as Record<string, string>;
  return (ofRate && words[name]) || name.replaceAll("_", " ");
}

/** Colour and pattern of a rule, as `rules.rs` of the report has them. */
function limitKind(name: string, ofRate: boolean) {
  const place = limitPlace.get(name);
  if (place === undefined) return null;
  const pattern = (place + Math.floor(place / 10) + 3) % 4;
  return {
    label: limitLabel(name, ofRate),
    colour: palette.firstLimit + (place % 10),
    dash: pattern,
    stripes: Math.floor(place / 10),
  };
}

function boundKind(name: string) {
  const at = (palette.bounds as Record<string, number>)[name];
  return at === undefined
    ? null
    : { label: name.replaceAll("_", " "), colour: palette.firstBound + at, dash: 0, stripes: 0 };
}

const categories = (
  words: Words | undefined,
  kind: (name: string) => Categories["kinds"][number],
): Categories | null => (words ? { codes: words.codes, kinds: words.words.map(kind) } : null);

/** The end of a run in seconds. */
export const durationOf = (run: Run): number => Number(run.summary.run.duration_s);

/** When a flow ended, so that its last value does not hold beyond. */
function endOf(run: Run, flow: string): number {
  const summary = run.summary.flows[flow] as { completion_time_s?: number } | undefined;
  const table = tableOf(run, `flows/${flow}`) ?? tableOf(run, `intervals/${flow}`);
  const last = table?.numbers.time_s?.at(-1);
  return summary?.completion_time_s && last !== undefined ? last : durationOf(run);
}

/** The links with the most to show: those that dropped or marked, then by utilisation. */
export function linksByLoad(summary: Summary): string[] {
  const load = (name: string) => {
    const link = summary.links[name] as Record<string, number> & { queue_bytes?: { max?: number } };
    const congested = (link.queue_drops ?? 0) > 0 || (link.marks ?? 0) > 0 ? 1 : 0;
    return [
      congested,
      Math.round((link.utilisation ?? 0) * 100),
      link.drops ?? 0,
      link.queue_bytes?.max ?? 0,
    ];
  };
  return Object.keys(summary.links).sort((a, b) => {
    const [x, y] = [load(a), load(b)];
    for (let index = 0; index < x.length; index++)
      if (x[index] !== y[index]) return y[index]! - x[index]!;
    return a < b ? -1 : 1;
  });
}

/** Times at which a count increased. */
function increments(table: Table | undefined, name: string): Curve | null {
  const [times, counts] = [table?.numbers.time_s, table?.numbers[name]];
  if (!times || !counts) return null;
  const at: number[] = [];
  let before = 0;
  for (let index = 0; index < counts.length; index++) {
    if (counts[index]! > before) at.push(times[index]!);
    before = counts[index]!;
  }
  if (!at.length) return null;
  const x = Float64Array.from(at);
  return new Curve(x, new Float64Array(x.length));
}

interface Parts {
  shown: Shown;
  flows: string[];
  /** True if several variants share the plots: then colour means the variant. */
  together: boolean;
}

const MAKERS: ((parts: Parts) => Figure | null)[] = [
  rates,
  windows,
  goodput,
  roundTrips,
  oneWay,
  queue,
  silence,
];

/** The figures of one run. */
export function figuresOf(shown: Shown, selection: Selection, together = false): Figure[] {
  const all = flowsOf(shown.run);
  const chosen = selection.flows.length
    ? all.filter((flow) => selection.flows.includes(flow))
    : all.slice(0, FLOWS_AT_FIRST);
  const parts = { shown, flows: chosen, together };
  const made = MAKERS.map((make) => make(parts)).filter((figure) => figure !== null);
  const first = made[0];
  if (first && !together) first.bands = bands(parts);
  return made;
}

function figure(
  id: string,
  title: string,
  quantity: string,
  unit: string,
  layers: Layer[],
): Figure | null {
  if (!layers.length) return null;
  return {
    id,
    title,
    quantity,
    unit,
    layers,
    bands: [],
    marks: [],
    levels: [],
    log: decades(layers),
    note: undefined,
  };
}

/** As `Axis::by_range` of the report: logarithmic if the positive values span decades. */
function decades(layers: Layer[]): boolean {
  let [low, high] = [Infinity, 0];
  for (const { curve, rug } of layers) {
    if (rug) continue;
    const [, most] = curve.extent(0, curve.length);
    if (most > high) high = most;
    for (const value of curve.y) if (value > 0 && value < low) low = value;
  }
  return high > low * palette.logFrom;
}

const colourOf = ({ shown, together }: Parts, place: number) =>
  (together ? shown.number : place) % FLOW_COLOURS;

function nameOf({ shown, flows, together }: Parts, flow: string, what = ""): string {
  const words = [together ? shown.name : "", flows.length > 1 || !together ? flow : "", what];
  return words.filter(Boolean).join(" · ");
}

/** One curve for each flow. */
function perFlow(parts: Parts, curve: (flow: string) => Curve | null): Layer[] {
  return parts.flows.flatMap((flow, place) => {
    const found = curve(flow);
    if (!found) return [];
    const colour = colourOf(parts, place);
    const dash = parts.together ? place % 4 : 0;
    return [
      {
        name: nameOf(parts, flow),
        colour,
        curve: found,
        course: "step" as const,
        dash,
        untilS: endOf(parts.shown.run, flow),
      },
    ];
  });
}

function rates(parts: Parts): Figure | null {
  const { run } = parts.shown;
  const table = (flow: string) => tableOf(run, `flows/${flow}`);
  const layers = perFlow(parts, (flow) => column(table(flow), "allowed_rate_bps"));
  const made = figure("rate", "Allowed rate", "allowed rate", "bit/s", layers);
  if (!made) return null;
  made.log = decades(layers);
  if (layers.length === 1 && !parts.together) {
    const flow = parts.flows.find((name) => column(table(name), "allowed_rate_bps"))!;
    const kinds = categories(table(flow)!.words.limit, (name) => limitKind(name, true));
    if (kinds) layers[0]!.categories = kinds;
    const beside = (name: string, label: string, dash: number) => {
      const curve = column(table(flow), name);
      if (curve) layers.push(besideLayer(label, curve, dash, endOf(run, flow)));
    };
    beside("receive_rate_bps", "X_recv", 2);
    beside("equation_rate_bps", "X_calc", 1);
  }
  return made;
}

/** A curve that explains the first one of a figure, in a colour that stays behind it. */
function besideLayer(name: string, curve: Curve, dash: number, untilS: number): Layer {
  return { name, colour: palette.beside, curve, course: "step", dash, beside: true, untilS };
}

function windows(parts: Parts): Figure | null {
  const { run } = parts.shown;
  const table = (flow: string) => tableOf(run, `flows/${flow}`);
  const layers = perFlow(parts, (flow) => column(table(flow), "cwnd_bytes"));
  const made = figure("window", "Congestion window", "window", "bytes", layers);
  if (!made) return null;
  made.log = false;
  if (layers.length === 1 && !parts.together) {
    const flow = parts.flows.find((name) => column(table(name), "cwnd_bytes"))!;
    const [, most] = layers[0]!.curve.extent(0, layers[0]!.curve.length);
    const beside = (name: string, label: string, dash: number) => {
      const curve = column(table(flow), name);
      // A threshold or window far above would make the curves flat.
      if (curve && curve.extent(0, curve.length)[1] <= most * 2) {
        layers.push(besideLayer(label, curve, dash, endOf(run, flow)));
      }
    };
    beside("bytes_in_flight", "bytes in flight", 0);
    beside("ssthresh_bytes", "ssthresh", 1);
  }
  return made;
}

function goodput(parts: Parts): Figure | null {
  const layers = perFlow(parts, (flow) =>
    interval(tableOf(parts.shown.run, `intervals/${flow}`), "goodput_bps"),
  );
  const made = figure("goodput", "Goodput", "goodput", "bit/s", layers);
  if (made) made.log = false;
  return made;
}

function roundTrips(parts: Parts): Figure | null {
  const table = (flow: string) => tableOf(parts.shown.run, `flows/${flow}`);
  const layers = perFlow(parts, (flow) => column(table(flow), "smoothed_rtt_s"));
  const made = figure("rtt", "Round-trip time", "round-trip time", "s", layers);
  if (made && layers.length === 1 && !parts.together) {
    const flow = parts.flows.find((name) => column(table(name), "smoothed_rtt_s"))!;
    const samples = column(table(flow), "rtt_s");
    layers[0]!.name = `${layers[0]!.name} · smoothed`;
    if (samples)
      layers.push({
        name: "samples",
        colour: palette.beside,
        curve: samples,
        course: "dots",
        beside: true,
      });
  }
  return made;
}

function oneWay(parts: Parts): Figure | null {
  const layers = perFlow(parts, (flow) =>
    interval(tableOf(parts.shown.run, `intervals/${flow}`), "one_way_delay_s"),
  );
  return figure("delay", "One-way delay", "one-way delay", "s", layers);
}

function queue(parts: Parts): Figure | null {
  const { run } = parts.shown;
  for (const link of linksByLoad(run.summary)) {
    const table = tableOf(run, `links/${link}`);
    const bytes = column(table, "queue_bytes");
    if (!bytes || bytes.extent(0, bytes.length)[1] === 0) continue;
    const name = parts.together ? parts.shown.name : "queue";
    const colour = parts.together ? parts.shown.number : QUEUE;
    const layers: Layer[] = [
      { name, colour, curve: bytes, course: "step", untilS: durationOf(run) },
    ];
    const drops = increments(table, "drops");
    const marks = increments(table, "marks");
    if (drops && !parts.together)
      layers.push({ name: "drops", colour: DROP, curve: drops, course: "dots", rug: true });
    if (marks && !parts.together)
      layers.push({ name: "marks", colour: MARK, curve: marks, course: "dots", rug: true });
    const made = figure("queue", `Queue of ${link}`, "queue", "bytes", layers);
    if (made) made.log = false;
    return made;
  }
  return null;
}

/** Audio that was not heard so far. */
function silence(parts: Parts): Figure | null {
  const layers = perFlow(parts, (flow) =>
    column(tableOf(parts.shown.run, `gaps/${flow}`), "silence_s"),
  );
  const made = figure("silence", "Audio that was not heard so far", "silence", "s", layers);
  if (made) made.log = false;
  return made;
}

/** What held each flow and which rule set its window or rate. */
function bands({ shown: { run }, flows }: Parts): Band[] {
  const named = flows.length > 1;
  return flows.slice(0, 4).flatMap((flow) => {
    const table = tableOf(run, `flows/${flow}`);
    const x = table?.numbers.time_s;
    if (!table || !x?.length) return [];
    const ofRate = !!column(table, "allowed_rate_bps");
    const band = (name: "bound" | "limit", kind: (word: string) => Categories["kinds"][number]) => {
      const words = table.words[name];
      const kinds = categories(words, kind);
      // A transport without a controller has no rule.
      const says = name === "bound" || words?.words.some((word) => word !== "" && word !== "none");
      return kinds && says
        ? [{ name, subject: named ? flow : "", x, categories: kinds, untilS: endOf(run, flow) }]
        : [];
    };
    return [...band("limit", (word) => limitKind(word, ofRate)), ...band("bound", boundKind)];
  });
}

/** The figures of several variants in the same plots, a colour for each variant. */
export function together(runs: Shown[], selection: Selection): Figure[] {
  const all = runs.map((shown) => figuresOf(shown, selection, true));
  return merged(all);
}

function merged(all: Figure[][]): Figure[] {
  const made: Figure[] = [];
  for (const figures of all) {
    for (const next of figures) {
      const found = made.find(({ id }) => id === next.id);
      if (!found) made.push({ ...next, layers: [...next.layers] });
      else {
        found.layers.push(...next.layers);
        found.log ||= next.log;
        if (found.title !== next.title)
          found.title = next.quantity[0]!.toUpperCase() + next.quantity.slice(1);
      }
    }
  }
  const order = ["rate", "window", "goodput", "rtt", "delay", "queue", "silence"];
  return made.sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id));
}

/** Times of a difference at most; beyond, it is taken at so many equal steps. */
const MOST_TIMES = 20_000;

/** What each variant has more or less than the first, flow by flow. */
export function differences(runs: Shown[], selection: Selection): Figure[] {
  const [first, ...others] = runs;
  if (!first) return [];
  const base = figuresOf(first, selection, true);
  const all = others.map((shown) =>
    figuresOf(shown, selection, true).flatMap((figure) => {
      const before = base.find(({ id }) => id === figure.id);
      const layers = figure.layers.flatMap((layer, index) => {
        const reference = before?.layers[index];
        return reference
          ? [{ ...layer, curve: difference(layer.curve, reference.curve), categories: undefined }]
          : [];
      });
      return layers.length
        ? [
            {
              ...figure,
              title: `${figure.title}: difference to ${first.name}`,
              layers,
              log: false,
              signed: true,
            },
          ]
        : [];
    }),
  );
  return merged(all).map((figure) => ({ ...figure, log: false }));
}

/** A curve less another one, each holding its value until its next. */
export function difference(a: Curve, b: Curve): Curve {
  const x = times(a, b);
  const y = new Float64Array(x.length);
  let [i, j] = [-1, -1];
  for (let index = 0; index < x.length; index++) {
    while (i + 1 < a.length && a.x[i + 1]! <= x[index]!) i++;
    while (j + 1 < b.length && b.x[j + 1]! <= x[index]!) j++;
    y[index] = i < 0 || j < 0 ? NaN : a.y[i]! - b.y[j]!;
  }
  return new Curve(x, y);
}

function times(a: Curve, b: Curve): Float64Array {
  const end = Math.max(a.x.at(-1) ?? 0, b.x.at(-1) ?? 0);
  if (a.length + b.length > MOST_TIMES) {
    return Float64Array.from(
      { length: MOST_TIMES / 2 },
      (_, index) => (end * index) / (MOST_TIMES / 2 - 1),
    );
  }
  const all = new Float64Array(a.length + b.length);
  all.set(a.x);
  all.set(b.x, a.length);
  all.sort();
  return all.filter((time, index) => index === 0 || time !== all[index - 1]);
}

// Who got what: a row for each flow and variant, with the difference to the first variant.
import type { Summary } from "../engine/types";
import { h, swatch } from "../ui/dom";
import { colour } from "../ui/theme";
import { withUnit } from "../ui/units";
import { nameOf, type Session, type Variant } from "./session";

interface Measure {
  name: string;
  unit: string;
  /** Of a flow's part of the summary; NaN if there is none. */
  of(flow: Record<string, unknown>): number;
  /** Whether more is better; null if neither is. */
  more: boolean | null;
}

const at = (value: unknown, ...path: string[]): number => {
  for (const key of path) {
    if (typeof value !== "object" || value === null) return NaN;
    value = (value as Record<string, unknown>)[key];
  }
  return typeof value === "number" ? value : NaN;
};

const MEASURES: Measure[] = [
  { name: "goodput", unit: "bit/s", of: (flow) => at(flow, "goodput_bps"), more: true },
  { name: "completed after", unit: "s", of: (flow) => at(flow, "completion_time_s"), more: false },
  { name: "round trip, median", unit: "s", of: (flow) => at(flow, "rtt_s", "p50"), more: false },
  {
    name: "one-way delay, p95",
    unit: "s",
    of: (flow) => at(flow, "one_way_delay_s", "p95"),
    more: false,
  },
  { name: "lost", unit: "packets", of: (flow) => at(flow, "packets_lost"), more: false },
  {
    name: "timeouts",
    unit: "",
    of: (flow) => at(flow, "retransmissions", "timeouts"),
    more: false,
  },
];

/** What held a flow most of the time, and its share. */
export function heldBy(flow: Record<string, unknown>): string {
  const shares = flow.bound_share;
  if (typeof shares !== "object" || shares === null) return "–";
  const list = Object.entries(shares as Record<string, number>).sort((a, b) => b[1] - a[1]);
  const first = list[0];
  return first && first[1] > 0
    ? `${first[0].replaceAll("_", " ")} ${(first[1] * 100).toFixed(1)} %`
    : "–";
}

/** Rows of a table at most. */
const FLOWS = 10;

/** Flows, or flows with arrivals, all their connections together. */
const partsOf = (summary: Summary) =>
  ({
    ...(summary.transfers as Record<string, Record<string, unknown>> | undefined),
    ...summary.flows,
  }) as Record<string, Record<string, unknown>>;

export function summaryTable(session: Session): HTMLElement {
  const variants = session.variants.filter((variant) => variant.run);
  const first = variants[0];
  if (!first) return h("div");
  const flows = [...new Set(variants.flatMap(({ run }) => Object.keys(partsOf(run!.summary))))];
  const all = variants.flatMap(({ run }) => Object.values(partsOf(run!.summary)));
  const shown = MEASURES.filter(({ of, name }) =>
    all.some((flow) => (name === "timeouts" ? of(flow) > 0 : !Number.isNaN(of(flow)))),
  );
  const several = session.variants.length > 1;
  const head = h(
    "tr",
    {},
    h("th", { scope: "col" }, "flow"),
    ...shown.map(({ name }) => h("th", { scope: "col" }, name)),
    h("th", { scope: "col" }, "held by"),
  );
  const rows = flows
    .slice(0, FLOWS)
    .flatMap((flow) => variants.map((variant) => row(flow, variant)));
  const rest =
    flows.length > FLOWS
      ? h("p", { class: "quiet-text" }, `and ${flows.length - FLOWS} more flows`)
      : null;
  return h(
    "div",
    { class: "summary" },
    h("div", { class: "scroll" }, h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows))),
    rest,
  );

  function row(flow: string, variant: Variant): HTMLElement {
    const values = partsOf(variant.run!.summary)[flow] ?? {};
    const base = variant === first ? null : (partsOf(first!.run!.summary)[flow] ?? null);
    const mark = several
      ? [swatch(colour(session.variants.indexOf(variant))), h("b", {}, variant.letter), " "]
      : [];
    const name = h(
      "th",
      { scope: "row", title: several ? nameOf(variant) : undefined },
      ...mark,
      flow,
    );
    const cells = shown.map((measure) => {
      const value = measure.of(values);
      return h(
        "td",
        {},
        withUnit(value, measure.unit),
        base ? change(measure, measure.of(base), value) : null,
      );
    });
    return h("tr", {}, name, ...cells, h("td", {}, heldBy(values)));
  }
}

/** The difference to the first variant, in percent where that says something. */
function change(measure: Measure, before: number, after: number): HTMLElement | null {
  if (Number.isNaN(before) || Number.isNaN(after) || before === after) return null;
  const share = (after - before) / Math.abs(before);
  const words =
    before === 0 || Math.abs(share) >= 10
      ? withUnit(after - before, measure.unit, 3)
      : `${(share * 100).toPrecision(2)} %`;
  const better =
    measure.more === null ? "" : after > before === measure.more ? " better" : " worse";
  const sign = after > before ? "+" : "";
  return h(
    "small",
    { class: `change${better}`, title: `${better.trim()} than ${withUnit(before, measure.unit)}` },
    `${sign}${numberText(words)}`,
  );
}

const numberText = (words: string) =>
  words.replace(/^(-?[\d.]+)e\+?(-?\d+)/, (text) => String(Number(text)));

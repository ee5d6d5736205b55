// The cards of the gallery, made from the repository's folders when the page is built.
import type { Setting } from "../engine/types";
import type { Figure } from "../plots/figure";
import { palette } from "../generated/palette";
import index from "../generated/gallery.json";

export type CardKind = "experiment" | "example" | "evaluation" | "bbr";

export interface Picture {
  /** The quantity of the picture with its unit. */
  label: string;
  log: boolean;
  from: number;
  to: number;
  low: number;
  high: number;
  /** Curves: a colour, and the least and greatest value of each column between 0 and 100. */
  curves: { colour: number; name: string; low: (number | null)[]; high: (number | null)[] }[];
}

export interface CardSummary {
  id: string;
  kind: CardKind;
  title: string;
  about: string;
  source?: string;
  runs: number;
  picture: Picture | null;
}

export interface CardRun {
  name: string;
  about: string;
  scenario: string;
  set: Setting[];
}

export interface Row {
  id: string;
  place: string;
  text: string;
  kind: "value" | "theory" | "claim" | "check" | "input" | "parameter" | "quantity";
  published?: number;
  expected?: number;
  unit: string;
  scale?: number;
  within?: number;
  withinPercent?: number;
  atLeast?: number;
  atMost?: number;
  run?: string;
  note?: string;
  explanation?: string;
}

export interface CardPlot {
  name: string;
  kind: string;
  title: string;
  caption: string;
  runs?: string[];
  of?: string[];
  fromS?: number;
  untilS?: number;
  points?: [string, string][];
  level?: string;
}

export interface Card {
  id: string;
  kind: CardKind;
  title: string;
  about: string;
  source?: string;
  runs: CardRun[];
  scenarios: Record<string, string>;
  files?: Record<string, string>;
  rows?: Row[];
  plots?: CardPlot[];
  checks?: { says: string; section: string }[];
}

export const cards = index as unknown as CardSummary[];

const loaders = import.meta.glob<{ default: Card }>("../generated/cards/*.json");

export async function loadCard(id: string): Promise<Card | null> {
  const load = loaders[`../generated/cards/${id}.json`];
  return load ? (await load()).default : null;
}

/** The figure that a plot of `published.toml` belongs to. */
const FIGURES: Record<string, string> = {
  rate: "rate",
  overlay: "rate",
  rtt: "rtt",
  sawtooth: "window",
};
const COLUMNS: Record<string, string> = {
  allowed_rate_bps: "rate",
  cwnd_bytes: "window",
  smoothed_rtt_s: "rtt",
  rtt_s: "rtt",
  goodput_bps: "goodput",
  one_way_delay_s: "delay",
  silence_s: "silence",
};

function baseValue(card: Card, id: string): number | null {
  const row = card.rows?.find((each) => each.id === id);
  const value = row?.published ?? row?.expected;
  return row && value !== undefined && row.scale !== undefined ? value * row.scale : null;
}

/** What the document says of a value, as the report's rings have it. */
function words(card: Card, id: string): string {
  const row = card.rows?.find((each) => each.id === id);
  const value = row?.published ?? row?.expected;
  return row && value !== undefined ? `${value} ${row.unit}`.trim() : "";
}

/** Adds the published points and levels of a run to its figures. */
export function addPublished(figures: Figure[], card: Card, run: string): void {
  for (const plot of card.plots ?? []) {
    if (!plot.runs?.includes(run)) continue;
    const id = FIGURES[plot.kind] ?? (plot.of?.length === 1 ? COLUMNS[plot.of[0]!] : undefined);
    const figure = figures.find((each) => each.id === id);
    if (!figure) continue;
    for (const [time, value] of plot.points ?? []) {
      const [x, y] = [baseValue(card, time), baseValue(card, value)];
      if (x === null || y === null || figure.marks.some((mark) => mark.x === x && mark.y === y))
        continue;
      figure.marks.push({ x, y, label: words(card, value) });
    }
    const level = plot.level ? baseValue(card, plot.level) : null;
    if (plot.level && level !== null && !figure.levels.some(({ y }) => y === level)) {
      figure.levels.push({
        y: level,
        label: `published: ${words(card, plot.level)}`,
        colour: palette.beside,
      });
    }
  }
}

/** What the plots of a document show of the time of a run. */
export function publishedSpan(card: Card, run: string): [number, number] | null {
  const plot = card.plots?.find(
    ({ runs, untilS, points }) => runs?.includes(run) && untilS !== undefined && points?.length,
  );
  return plot ? [plot.fromS ?? 0, plot.untilS!] : null;
}

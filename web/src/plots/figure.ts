// What a picture over time consists of. The screen and the files for paper draw the same figures.
import type { Curve, Course } from "./curve";

export interface Layer {
  /** The name in the legend; empty for none. */
  name: string;
  /** The number of the colour in the palette. */
  colour: number;
  curve: Curve;
  course: Course;
  /** 0 is solid; 1 dashed, 2 dotted, 3 dashes and dots. */
  dash?: number;
  /** Thinner and paler, for what stands beside the main curve. */
  beside?: boolean;
  /** The end of what the curve describes, at which a step ends. */
  untilS?: number;
  /** Categories that colour the curve, as the rule that bound a rate. */
  categories?: Categories;
  /** Ticks at the top for each point, without values: drops and marks. */
  rug?: boolean;
}

/** The look of a word. Rules share ten colours: a line has a pattern, an area has stripes. */
export interface Kind {
  label: string;
  colour: number;
  /** As of a layer. */
  dash: number;
  /** 0 is plain; the stripes of 1, 2 and 3 are wider and wider. */
  stripes: number;
}

/** A word for each row of a curve. */
export interface Categories {
  codes: Uint32Array;
  /** For each code its label, colour and pattern; null if it is not drawn. */
  kinds: (Kind | null)[];
}

/** Published values: rings with a label. */
export interface Mark {
  x: number;
  y: number;
  label: string;
}

/** A published value that holds for the whole time. */
export interface Level {
  y: number;
  label: string;
  colour: number;
}

/** A strip of words over time, below a figure. */
export interface Band {
  name: string;
  subject: string;
  x: Float64Array;
  categories: Categories;
  untilS: number;
}

export interface Figure {
  id: string;
  title: string;
  /** The quantity at the axis, without the unit. */
  quantity: string;
  /** The base unit: bit/s, s, bytes, packets or nothing. */
  unit: string;
  layers: Layer[];
  bands: Band[];
  marks: Mark[];
  levels: Level[];
  log: boolean;
  /** Differences are around zero. */
  signed?: boolean;
  /** A sentence below the figure. */
  note?: string;
}

/** The range of values that a figure shows between two times. */
export function valueRange(
  figure: Figure,
  [from, to]: [number, number],
  log: boolean,
): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  const take = (value: number) => {
    if (!Number.isFinite(value) || (log && value <= 0)) return;
    if (value < low) low = value;
    if (value > high) high = value;
  };
  for (const { curve, course, rug } of figure.layers) {
    if (rug) continue;
    const held = course === "dots" ? 0 : 1;
    const first = Math.max(0, curve.after(from) - held);
    const end = Math.min(curve.length, curve.from(to) + held);
    const [least, most] = curve.extent(first, end);
    if (least > most) continue;
    take(most);
    if (log && least <= 0) take(leastPositive(curve, first, end));
    else take(least);
  }
  for (const mark of figure.marks) if (mark.x >= from && mark.x <= to) take(mark.y);
  for (const level of figure.levels) take(level.y);
  if (low > high) return log ? [1, 10] : [0, 1];
  if (log) {
    const room = Math.max(1.3, (high / low) ** 0.05);
    // The labels of published points stand above them.
    return [low / room, high * (figure.marks.length ? room ** 3 : room)];
  }
  if (figure.signed) {
    const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
    return [-most * 1.08, most * 1.08];
  }
  const top = high === 0 ? 1 : high * 1.08;
  // Rates, delays and queues begin at zero, unless that would hide how they vary.
  return low > 0 && low > high * 0.6 && high > low
    ? [low - (high - low) * 0.3, high + (high - low) * 0.15]
    : [Math.min(0, low), top];
}

function leastPositive({ y }: Curve, from: number, to: number): number {
  let least = Infinity;
  for (let index = from; index < to; index++)
    if (y[index]! > 0 && y[index]! < least) least = y[index]!;
  return least;
}

// A curve over time of any length: the least and greatest values of a span are found in blocks, so
// that a million points are drawn as fast as a thousand.

const BLOCK = 64;

export class Curve {
  private readonly low: Float64Array[] = [];
  private readonly high: Float64Array[] = [];
  private built = false;

  constructor(
    readonly x: Float64Array,
    readonly y: Float64Array,
  ) {}

  get length(): number {
    return this.x.length;
  }

  /** The first index whose time is not below `at`. */
  from(at: number): number {
    let [low, high] = [0, this.x.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.x[middle]! < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first index whose time is above `at`. */
  after(at: number): number {
    let [low, high] = [0, this.x.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.x[middle]! <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The value that holds at a time; NaN before the first. */
  at(time: number): number {
    const index = this.after(time) - 1;
    return index < 0 ? NaN : this.y[index]!;
  }

  private build(): void {
    this.built = true;
    let [low, high] = [this.y, this.y];
    while (low.length > BLOCK) {
      const blocks = Math.ceil(low.length / BLOCK);
      const [lows, highs] = [new Float64Array(blocks), new Float64Array(blocks)];
      for (let block = 0; block < blocks; block++) {
        let [least, most] = [Infinity, -Infinity];
        const end = Math.min(low.length, (block + 1) * BLOCK);
        for (let index = block * BLOCK; index < end; index++) {
          // A missing value compares as false both times.
          if (low[index]! < least) least = low[index]!;
          if (high[index]! > most) most = high[index]!;
        }
        lows[block] = least;
        highs[block] = most;
      }
      this.low.push(lows);
      this.high.push(highs);
      [low, high] = [lows, highs];
    }
  }

  /** The least and the greatest value in a half-open range of indices; missing ones are skipped. */
  extent(from: number, to: number): [number, number] {
    if (!this.built) this.build();
    let [least, most] = [Infinity, -Infinity];
    const take = (level: number, start: number, end: number) => {
      const lows = level < 0 ? this.y : this.low[level]!;
      const highs = level < 0 ? this.y : this.high[level]!;
      for (let index = start; index < end; index++) {
        if (lows[index]! < least) least = lows[index]!;
        if (highs[index]! > most) most = highs[index]!;
      }
    };
    const descend = (level: number, start: number, end: number): void => {
      const blocks = level + 1 < this.low.length;
      if (!blocks || end - start <= 2 * BLOCK) return take(level, start, end);
      const [first, last] = [Math.ceil(start / BLOCK), Math.floor(end / BLOCK)];
      take(level, start, first * BLOCK);
      descend(level + 1, first, last);
      take(level, last * BLOCK, end);
    };
    descend(-1, from, to);
    return [least, most];
  }
}

/** How a curve goes from a point to the next. */
export type Course = "step" | "line" | "dots";

/** Receives the corners of a thinned curve; `move` begins anew, as after a missing value. */
export interface Pen {
  move(x: number, y: number): void;
  line(x: number, y: number): void;
}

/** Dots of a layer in a picture at most. */
const MOST_DOTS = 4000;

/**
 * The corners of a curve between two times for a picture of so many columns of pixels. Each column
 * keeps its first, least, greatest and last value, so that no peak is lost.
 */
export function trace(
  curve: Curve,
  course: Course,
  [from, to]: [number, number],
  columns: number,
  pen: Pen,
  until: number = to,
): void {
  const { x, y } = curve;
  if (x.length === 0 || !(to > from)) return;
  if (course === "dots") return dots(curve, from, to, pen);
  const first = Math.max(0, curve.after(from) - 1);
  const end = Math.min(x.length, curve.from(to) + 1);
  let last = NaN;
  const go = (at: number, value: number) => {
    if (Number.isNaN(value)) {
      if (!Number.isNaN(last) && course === "step") pen.line(at, last);
    } else if (Number.isNaN(last)) pen.move(at, value);
    else {
      if (course === "step" && value !== last) pen.line(at, last);
      pen.line(at, value);
    }
    last = value;
  };
  if (end - first <= columns * 4) {
    for (let index = first; index < end; index++) go(x[index]!, y[index]!);
  } else {
    const width = (to - from) / columns;
    go(x[first]!, y[first]!);
    let index = first + 1;
    while (index < end) {
      const column = Math.floor((x[index]! - from) / width);
      let next = curve.from(from + (column + 1) * width);
      next = Math.min(end, Math.max(index + 1, next));
      if (next - index <= 4) {
        for (let each = index; each < next; each++) go(x[each]!, y[each]!);
      } else {
        const [least, most] = curve.extent(index, next);
        const at = x[index]!;
        go(at, y[index]!);
        if (least <= most) {
          // A vertical line has both ends, whatever came first.
          if (Number.isNaN(last)) pen.move(at, least);
          else pen.line(at, least);
          pen.line(at, most);
          last = most;
        }
        go(x[next - 1]!, y[next - 1]!);
      }
      index = next;
    }
  }
  // The last value holds until the end of the run.
  if (course === "step" && end === x.length && !Number.isNaN(last)) {
    const hold = Math.min(to, until);
    if (hold > x[x.length - 1]!) pen.line(hold, last);
  }
}

function dots(curve: Curve, from: number, to: number, pen: Pen): void {
  const [first, end] = [curve.from(from), curve.after(to)];
  const every = Math.max(1, Math.ceil((end - first) / MOST_DOTS));
  for (let index = first; index < end; index += every) {
    if (every === 1) {
      if (!Number.isNaN(curve.y[index]!)) pen.move(curve.x[index]!, curve.y[index]!);
      continue;
    }
    const stop = Math.min(end, index + every);
    const [least, most] = curve.extent(index, stop);
    if (least > most) continue;
    pen.move(curve.x[index]!, least);
    if (most !== least) pen.move(curve.x[index]!, most);
  }
}

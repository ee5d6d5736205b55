// The ways of packets, arranged for drawing: the links that they cross in their order, and which
// packet is where at a time. Everything is read from the run's table of ways.

import type { Packets, Words } from "../engine/types";

/** Where a packet is on a link. */
export type Where = "waits" | "flies" | "falls";

/** A packet at a time, on a link. */
export interface Seen {
  /** The row of the table. */
  row: number;
  where: Where;
  /** Of a waiting packet its place in the queue, of a flying one the share of its way. */
  at: number;
  /** Of a flying packet the share of the way that it takes up, being transmitted. */
  length: number;
}

/** The rows of a link in one direction of a flow, in the order in which packets enter. */
export interface Lane {
  link: string;
  /** Whether its packets come from senders; the others come back from receivers. */
  isForward: boolean;
  /** How many links a packet has crossed before this one. */
  depth: number;
  rows: Uint32Array;
  entered: Float64Array;
  /** The longest time from entering to arriving or dropping, for the search. */
  longestS: number;
  /** The most packets that waited at once. */
  mostWaiting: number;
  /** Of a station on the air the medium. */
  medium: string | null;
}

/** How long a dropped packet is shown, as a share of a second of the page. */
export const FALL_S = 0.7;

export const wordAt = (column: Words | undefined, row: number): string =>
  column ? (column.words[column.codes[row]!] ?? "") : "";

export class Ways {
  readonly lanes: Lane[];
  readonly flows: string[];
  /** All times at which something happens, sorted. */
  readonly moments: Float64Array;
  readonly endS: number;
  private readonly number: (name: string) => Float64Array;

  constructor(readonly packets: Packets) {
    const missing = new Float64Array(packets.rows).fill(Number.NaN);
    this.number = (name) => packets.numbers[name] ?? missing;
    const flow = packets.words.flow;
    const known = new Set<string>();
    for (let row = 0; row < packets.rows; row += 1) {
      known.add(wordAt(flow, row));
    }
    this.flows = [...known].filter((name) => name !== "");
    this.lanes = this.lanesOf();
    this.moments = this.momentsOf();
    this.endS = this.moments.at(-1) ?? 0;
  }

  time(name: "sent_s" | "entered_s" | "started_s" | "left_s" | "arrives_s" | "dropped_s") {
    return this.number(name);
  }

  size(row: number): number {
    return this.number("size_bytes")[row]!;
  }

  flow(row: number): string {
    return wordAt(this.packets.words.flow, row);
  }

  content(row: number): string {
    return wordAt(this.packets.words.content, row);
  }

  reason(row: number): string {
    return wordAt(this.packets.words.reason, row);
  }

  /** The number of a packet in its transport; null where it has none. */
  label(row: number): number | null {
    const number = this.number("number")[row]!;
    return Number.isNaN(number) ? null : number;
  }

  /** The packets on a lane at a time; those that fall stay for `fallS`. */
  seen(lane: Lane, t: number, fallS: number): Seen[] {
    const { rows, entered } = lane;
    const [started, left] = [this.time("started_s"), this.time("left_s")];
    const [arrives, dropped] = [this.time("arrives_s"), this.time("dropped_s")];
    const found: Seen[] = [];
    let waiting = 0;
    const first = lowerBound(entered, t - lane.longestS - fallS);
    for (let index = first; index < rows.length && entered[index]! <= t; index += 1) {
      const row = rows[index]!;
      const fell = dropped[row]!;
      if (fell <= t) {
        if (t < fell + fallS) {
          found.push({ row, where: "falls", at: (t - fell) / fallS, length: 0 });
        }
      } else if (!(started[row]! <= t)) {
        // It waits until it is transmitted or dropped.
        found.push({ row, where: "waits", at: waiting, length: 0 });
        waiting += 1;
      } else {
        const end = Number.isNaN(arrives[row]!) ? left[row]! : arrives[row]!;
        if (t < end) {
          const whole = end - started[row]!;
          const head = (t - started[row]!) / whole;
          const behind = Math.max(0, t - left[row]!) / whole;
          found.push({ row, where: "flies", at: head, length: head - behind });
        }
      }
    }
    return found;
  }

  /** The first moment after a time, or before it. */
  step(t: number, forward: boolean): number {
    const { moments } = this;
    if (forward) {
      return moments[lowerBound(moments, t + 1e-12)] ?? this.endS;
    }
    return moments[lowerBound(moments, t - 1e-12) - 1] ?? 0;
  }

  private lanesOf(): Lane[] {
    const { packets } = this;
    const { link, from } = packets.words;
    const [packet, entered] = [this.number("packet"), this.time("entered_s")];
    const dropped = this.time("dropped_s");
    const depthOf = new Map<number, [string, number]>();
    const byLane = new Map<string, { depth: number[]; rows: number[] }>();
    const order = Array.from({ length: packets.rows }, (_, row) => row);
    const at = (row: number) => (Number.isNaN(entered[row]!) ? dropped[row]! : entered[row]!);
    order.sort((a, b) => at(a) - at(b) || a - b);
    for (const row of order) {
      const name = wordAt(link, row);
      const side = wordAt(from, row) === "receiver" ? "<" : ">";
      const [last, before] = depthOf.get(packet[row]!) ?? ["", -1];
      // A frame that is sent again is on the same link.
      const depth = name === last ? before : before + 1;
      depthOf.set(packet[row]!, [name, depth]);
      const key = side + name;
      const lane = byLane.get(key) ?? { depth: [], rows: [] };
      lane.depth.push(depth);
      lane.rows.push(row);
      byLane.set(key, lane);
    }
    const lanes = [...byLane].map(([key, { depth, rows }]) => {
      const name = key.slice(1);
      // `NAME.backward` is a direction of a link, `NAME.HOST` a station of a medium.
      const [first, second] = name.split(".");
      const medium = second !== undefined && second !== "backward" ? first! : null;
      const sorted = depth.slice().sort((a, b) => a - b);
      return this.laneOf(name, key[0] === ">", sorted[sorted.length >> 1]!, rows, medium);
    });
    return lanes.sort((a, b) => a.depth - b.depth || a.link.localeCompare(b.link));
  }

  private laneOf(
    link: string,
    isForward: boolean,
    depth: number,
    rows: number[],
    medium: string | null,
  ): Lane {
    const dropped = this.time("dropped_s");
    const [starts, arrives] = [this.time("started_s"), this.time("arrives_s")];
    const times = this.time("entered_s");
    const entered = Float64Array.from(rows, (row) =>
      Number.isNaN(times[row]!) ? dropped[row]! : times[row]!,
    );
    let longestS = 0;
    const changes: [number, number][] = [];
    for (const [index, row] of rows.entries()) {
      const ends = [arrives[row]!, dropped[row]!, this.time("left_s")[row]!];
      const end = Math.max(...ends.filter((value) => !Number.isNaN(value)));
      longestS = Math.max(longestS, end - entered[index]!);
      const waits = Number.isNaN(starts[row]!) ? dropped[row]! : starts[row]!;
      if (waits > entered[index]!) {
        changes.push([entered[index]!, 1], [waits, -1]);
      }
    }
    changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let [waiting, mostWaiting] = [0, 0];
    for (const [, change] of changes) {
      waiting += change;
      mostWaiting = Math.max(mostWaiting, waiting);
    }
    const kept = Uint32Array.from(rows);
    return { link, isForward, depth, rows: kept, entered, longestS, mostWaiting, medium };
  }

  private momentsOf(): Float64Array {
    const names = ["entered_s", "started_s", "arrives_s", "dropped_s"] as const;
    const all: number[] = [];
    for (const name of names) {
      for (const value of this.time(name)) {
        if (!Number.isNaN(value)) {
          all.push(value);
        }
      }
    }
    const sorted = Float64Array.from(all).sort();
    return sorted.filter((value, index) => index === 0 || value !== sorted[index - 1]);
  }
}

/** The index of the first value that is not below `limit`. */
export function lowerBound(values: ArrayLike<number>, limit: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! < limit) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

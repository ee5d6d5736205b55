// Draws the ways of packets at a time on a canvas: queues that fill, wires with packets on them,
// what falls out, and the acknowledgements that come back.

import { FALL_S, type Lane, type Seen, type Ways } from "./ways";

/** What the drawing takes from the page. */
export interface Look {
  paper: string;
  ink: string;
  soft: string;
  grid: string;
  alarm: string;
  colourOf: (flow: string) => string;
}

/** A lane with its place on the canvas. */
interface Placed {
  lane: Lane;
  x: number;
  y: number;
  width: number;
  queueWidth: number;
}

/** A packet under the pointer. */
export interface Hit {
  row: number;
  x: number;
  y: number;
}

const LANE = 46;
const HOST = 74;
const GAP = 18;
/** The height of packets, and that of acknowledgements. */
const TALL = 18;
const LOW = 9;
const FONT = "12px system-ui, sans-serif";
/** The height of the line that says whose turn it is on the air. */
const AIR = 36;
/** Most lanes beside each other; further ones are counted. */
const MOST_LANES = 6;

/** Lanes by direction and column, as they stand on the canvas. */
class Layout {
  readonly placed: Placed[] = [];
  readonly height: number;
  readonly middle: number;
  readonly hidden: number;

  constructor(ways: Ways, readonly width: number) {
    const sides = [true, false].map((isForward) => {
      const lanes = ways.lanes.filter((lane) => lane.isForward === isForward && lane.link !== "");
      const depths = [...new Set(lanes.map(({ depth }) => depth))].sort((a, b) => a - b);
      return depths.map((depth) => lanes.filter((lane) => lane.depth === depth));
    });
    const most = (columns: Lane[][]) =>
      Math.min(MOST_LANES, Math.max(1, ...columns.map((lanes) => lanes.length)));
    const [there, back] = sides as [Lane[][], Lane[][]];
    const hasAir = ways.lanes.some(({ medium }) => medium !== null);
    const top = 26 + most(there) * LANE;
    this.middle = top + (hasAir ? AIR : 0);
    this.height = this.middle + 26 + most(back) * LANE;
    let hidden = 0;
    for (const [columns, isForward] of [[there, true], [back, false]] as const) {
      const room = width - 2 * HOST - GAP * (columns.length + 1);
      const column = Math.max(40, room / Math.max(1, columns.length));
      for (const [index, lanes] of columns.entries()) {
        const place = isForward ? index : columns.length - 1 - index;
        hidden += Math.max(0, lanes.length - MOST_LANES);
        for (const [row, lane] of lanes.slice(0, MOST_LANES).entries()) {
          const rows = Math.min(lanes.length, MOST_LANES);
          const most = (isForward ? top - 26 : this.height - this.middle - 26) / rows;
          this.placed.push({
            lane,
            x: HOST + GAP + place * (column + GAP),
            y: (isForward ? 26 : this.middle + 26) + row * most + most / 2,
            width: column,
            queueWidth: lane.mostWaiting > 0 ? Math.min(column * 0.45, 170) : 10,
          });
        }
      }
    }
    this.hidden = hidden;
  }
}

export class Drawing {
  private layout: Layout | null = null;
  private hits: Hit[] = [];

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly ways: Ways,
    private look: Look,
  ) {}

  setLook(look: Look): void {
    this.look = look;
  }

  /** Draws a time; `speed` is in seconds of the run for one of the page. */
  draw(t: number, speed: number): void {
    const width = this.canvas.clientWidth;
    if (width === 0) {
      return;
    }
    if (this.layout?.width !== width) {
      this.layout = new Layout(this.ways, width);
    }
    const { layout } = this;
    const scale = devicePixelRatio || 1;
    const [wide, high] = [Math.round(width * scale), Math.round(layout.height * scale)];
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
      this.canvas.style.height = `${layout.height}px`;
    }
    const pen = this.canvas.getContext("2d");
    if (!pen) {
      return;
    }
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = this.look.paper;
    pen.fillRect(0, 0, width, layout.height);
    pen.font = FONT;
    this.hits = [];
    this.hosts(pen, layout, t, speed);
    for (const placed of layout.placed) {
      const seen = this.ways.seen(placed.lane, t, FALL_S * speed);
      this.link(pen, placed, seen);
      this.packets(pen, placed, seen);
    }
    this.turns(pen, layout, t);
  }

  /** The packet nearest to a point, within a few pixels. */
  hit(x: number, y: number): Hit | null {
    let best: Hit | null = null;
    let least = 14;
    for (const hit of this.hits) {
      const far = Math.hypot(hit.x - x, hit.y - y);
      if (far < least) {
        [best, least] = [hit, far];
      }
    }
    return best;
  }

  private hosts(pen: CanvasRenderingContext2D, layout: Layout, t: number, speed: number): void {
    const { grid, ink, soft } = this.look;
    const top = 8;
    const height = layout.height - 16;
    for (const [x, name] of [[4, "senders"], [layout.width - HOST + 4, "receivers"]] as const) {
      pen.strokeStyle = grid;
      pen.strokeRect(x + 0.5, top + 0.5, HOST - 9, height);
      pen.fillStyle = soft;
      pen.textAlign = "center";
      pen.fillText(name, x + (HOST - 8) / 2, top + 16);
      for (const [index, flow] of this.ways.flows.slice(0, 6).entries()) {
        const y = top + 36 + index * 18;
        pen.fillStyle = this.look.colourOf(flow);
        pen.fillRect(x + 7, y - 8, 9, 9);
        pen.fillStyle = ink;
        pen.textAlign = "left";
        pen.fillText(shortened(pen, flow, HOST - 34), x + 20, y);
      }
    }
    pen.fillStyle = soft;
    pen.textAlign = "center";
    const centre = layout.width / 2;
    pen.fillText("data →", centre, 15);
    const more = layout.hidden > 0 ? ` (${layout.hidden} more links are not drawn)` : "";
    pen.fillText(`← acknowledgements${more}`, centre, layout.middle + 15);
    // What the socket lost falls out of the sender.
    for (const lane of this.ways.lanes.filter(({ link }) => link === "")) {
      for (const { row, at } of this.ways.seen(lane, t, FALL_S * speed)) {
        this.fall(pen, row, lane.isForward ? HOST - 14 : layout.width - HOST + 16, 60, at);
      }
    }
  }

  private link(pen: CanvasRenderingContext2D, placed: Placed, seen: Seen[]): void {
    const { lane, x, y, width, queueWidth } = placed;
    const { grid, ink, soft } = this.look;
    const back = !lane.isForward;
    const queueX = back ? x + width - queueWidth : x;
    const half = TALL / 2 + 3;
    pen.strokeStyle = soft;
    pen.lineWidth = 1;
    if (lane.mostWaiting > 0) {
      pen.strokeRect(queueX + 0.5, y - half + 0.5, queueWidth, half * 2);
    }
    pen.strokeStyle = grid;
    pen.lineWidth = 2;
    const [from, to] = back ? [queueX, x] : [queueX + queueWidth, x + width];
    pen.beginPath();
    pen.moveTo(from, y);
    pen.lineTo(to, y);
    pen.stroke();
    pen.lineWidth = 1;
    const waiting = seen.filter(({ where }) => where === "waits").length;
    const sends = lane.medium !== null && seen.some(({ where }) => where === "flies");
    const text = `${lane.link}${waiting > 0 ? ` · ${waiting} wait` : ""}${sends ? " · sends" : ""}`;
    pen.fillStyle = sends ? ink : soft;
    pen.textAlign = back ? "right" : "left";
    const label = shortened(pen, text, width);
    pen.fillText(label, back ? x + width : x, y - half - 3);
  }

  private packets(pen: CanvasRenderingContext2D, placed: Placed, seen: Seen[]): void {
    const { lane, x, y, width, queueWidth } = placed;
    const back = !lane.isForward;
    const queueX = back ? x + width - queueWidth : x;
    const slot = queueWidth / Math.max(lane.mostWaiting, 4);
    const room = width - queueWidth;
    // A lane that carries only acknowledgements has low packets.
    for (const packet of seen) {
      const isAck = this.ways.content(packet.row) === "acknowledgement";
      const tall = isAck ? LOW : TALL;
      if (packet.where === "falls") {
        const at = back ? queueX + queueWidth - slot : queueX + queueWidth / 2;
        this.fall(pen, packet.row, at, y + 6, packet.at);
        continue;
      }
      let [left, long] = [0, 0];
      if (packet.where === "waits") {
        // The head of the queue stands at its exit.
        const place = (packet.at + 1) * slot;
        left = back ? queueX + place - slot : queueX + queueWidth - place;
        long = Math.max(1, slot - (slot > 3 ? 1 : 0));
      } else {
        long = Math.max(isAck ? 3 : 4, packet.length * room);
        const head = packet.at * room;
        left = back
          ? x + room - head
          : x + queueWidth + Math.max(0, head - long);
        long = Math.min(long, head + 4);
      }
      this.box(pen, packet.row, left, y - tall / 2, long, tall);
    }
  }

  private box(
    pen: CanvasRenderingContext2D,
    row: number,
    x: number,
    y: number,
    width: number,
    height: number,
  ): void {
    pen.fillStyle = this.look.colourOf(this.ways.flow(row));
    pen.fillRect(x, y, width, height);
    if (this.ways.content(row) === "retransmission") {
      // Sent again: with a bar of another colour, which is no colour of a flow.
      pen.fillStyle = this.look.alarm;
      pen.fillRect(x, y, width, 4);
    }
    this.hits.push({ row, x: x + width / 2, y: y + height / 2 });
  }

  private fall(
    pen: CanvasRenderingContext2D,
    row: number,
    x: number,
    y: number,
    share: number,
  ): void {
    const down = y + share * share * 26;
    pen.globalAlpha = 1 - share * 0.7;
    pen.fillStyle = this.look.colourOf(this.ways.flow(row));
    pen.fillRect(x - 5, down - 5, 10, 10);
    pen.strokeStyle = this.look.ink;
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(x - 6, down - 6);
    pen.lineTo(x + 6, down + 6);
    pen.moveTo(x + 6, down - 6);
    pen.lineTo(x - 6, down + 6);
    pen.stroke();
    pen.globalAlpha = 1;
    pen.lineWidth = 1;
    pen.fillStyle = this.look.soft;
    pen.textAlign = "left";
    pen.fillText(this.ways.reason(row).replaceAll("_", " "), x + 9, down + 4);
    this.hits.push({ row, x, y: down });
  }

  /** Whose turn it is on the air: a line for the last milliseconds of each medium. */
  private turns(pen: CanvasRenderingContext2D, layout: Layout, t: number): void {
    const onAir = layout.placed.filter(({ lane }) => lane.medium !== null);
    if (onAir.length === 0) {
      return;
    }
    const spanS = 0.02;
    const [x, y] = [HOST + GAP, layout.middle - 4];
    const width = layout.width - 2 * (HOST + GAP);
    pen.fillStyle = this.look.grid;
    pen.fillRect(x, y - 5, width, 1);
    for (const { lane } of onAir) {
      const started = this.ways.time("started_s");
      const [left, arrives] = [this.ways.time("left_s"), this.ways.time("arrives_s")];
      for (const row of lane.rows) {
        const [from, to] = [started[row]!, Math.min(t, left[row]!)];
        if (!(from <= t) || to < t - spanS) {
          continue;
        }
        const begin = x + width * Math.max(0, 1 - (t - from) / spanS);
        const end = x + width * (1 - (t - to) / spanS);
        pen.fillStyle = this.look.colourOf(this.ways.flow(row));
        const isLost = left[row]! <= t && Number.isNaN(arrives[row]!);
        const height = lane.isForward ? 10 : 5;
        if (isLost) {
          pen.strokeStyle = pen.fillStyle;
          pen.strokeRect(begin + 0.5, y - height + 0.5, Math.max(1, end - begin - 1), height - 1);
        } else {
          pen.fillRect(begin, y - height, Math.max(1, end - begin - 0.5), height);
        }
      }
    }
    pen.fillStyle = this.look.soft;
    pen.textAlign = "right";
    pen.fillText("on the air, last 20 ms", x + width, y - 15);
  }
}

function shortened(pen: CanvasRenderingContext2D, text: string, width: number): string {
  if (pen.measureText(text).width <= width) {
    return text;
  }
  let short = text;
  while (short.length > 1 && pen.measureText(`${short}…`).width > width) {
    short = short.slice(0, -1);
  }
  return `${short}…`;
}

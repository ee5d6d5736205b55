// "The path, alive": a run packet by packet, at any speed, step by step, forward and backward.

import "./path.css";
import type { Run } from "../engine/types";
import { button, h } from "../ui/dom";
import { onTheme } from "../ui/theme";
import { timeText, withUnit } from "../ui/units";
import { sentence } from "./bound";
import { Drawing, type Hit, type Look } from "./draw";
import { Ways } from "./ways";

export interface PathOptions {
  /** The colour of a flow; those of the palette in the order of the flows if absent. */
  colourOf?: (flow: string) => string;
  /** The first time shown, in seconds. */
  startS?: number;
  /** Called when the time changes, for a cursor in plots. */
  onTime?: (timeS: number) => void;
}

export interface Path {
  /** Shows a time, such as that of a cursor in a plot. */
  seek(timeS: number): void;
  destroy(): void;
}

/** Seconds of the run for a second of the page: from a thousandth to real time. */
const [SLOWEST, FASTEST] = [1e-3, 1];
/** Sentences are for at most so many flows. */
const MOST_SENTENCES = 4;

/** Mounts the view for a run that was made with `packets`. */
export function mountPath(element: HTMLElement, run: Run, options: PathOptions = {}): Path {
  if (!run.packets || run.packets.rows === 0) {
    const text = run.packets ? "No packet crossed a link." : "This run has no packets.";
    const note = h("p", {}, text);
    element.append(note);
    return { seek: () => {}, destroy: () => note.remove() };
  }
  return new PathView(element, run, new Ways(run.packets), options);
}

class PathView implements Path {
  private readonly root: HTMLElement;
  private readonly drawing: Drawing;
  private readonly canvas = h("canvas", { role: "img", "aria-label": "Packets on the path" });
  private readonly said = h("div", { class: "path-said", "aria-live": "polite" });
  private readonly packet = h("p", { class: "path-packet" });
  private readonly clock = h("output");
  private readonly time: HTMLInputElement;
  private readonly play: HTMLButtonElement;
  private readonly observer = new ResizeObserver(() => this.show());
  private readonly forgetTheme: () => void;
  private t: number;
  private speed: number;
  private frame = 0;
  private before = 0;
  private saidAt = 0;

  constructor(
    element: HTMLElement,
    private readonly run: Run,
    private readonly ways: Ways,
    private readonly options: PathOptions,
  ) {
    this.t = options.startS ?? ways.moments[0] ?? 0;
    this.speed = firstSpeed(ways);
    this.time = h("input", {
      type: "range", min: 0, max: ways.endS, step: "any", value: this.t,
      "aria-label": "Time of the run", oninput: () => this.jump(Number(this.time.value)),
    });
    this.play = button("Play", () => this.toggle(), { class: "primary", "aria-pressed": "false" });
    this.root = h("section", { class: "path", "aria-label": "The path, alive" },
      this.canvas, this.controls(), this.said, this.packet);
    element.append(this.root);
    this.drawing = new Drawing(this.canvas, ways, this.look());
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.packet.replaceChildren());
    this.forgetTheme = onTheme(() => {
      this.drawing.setLook(this.look());
      this.show();
    });
    this.observer.observe(this.canvas);
    this.show();
  }

  seek(timeS: number): void {
    this.t = Math.min(Math.max(0, timeS), this.ways.endS);
    this.show();
  }

  destroy(): void {
    cancelAnimationFrame(this.frame);
    this.observer.disconnect();
    this.forgetTheme();
    this.root.remove();
  }

  private controls(): HTMLElement {
    const decades = Math.log10(FASTEST / SLOWEST);
    const speedText = h("output");
    const tell = () => {
      speedText.textContent = `1 s = ${withUnit(this.speed, "s", 2)}`;
    };
    const slider = h("input", {
      type: "range", min: 0, max: 1, step: 0.01,
      value: Math.log10(this.speed / SLOWEST) / decades, "aria-label": "Speed",
    });
    slider.addEventListener("input", () => {
      this.speed = SLOWEST * 10 ** (Number(slider.value) * decades);
      tell();
    });
    tell();
    return h("div", { class: "path-controls" },
      this.play,
      button("◂ Step", () => this.step(false), { "aria-label": "One event back" }),
      button("Step ▸", () => this.step(true), { "aria-label": "One event on" }),
      h("label", { class: "path-time" }, this.time, this.clock),
      h("label", {}, "Speed", slider, speedText));
  }

  private get plays(): boolean {
    return this.frame !== 0;
  }

  private toggle(): void {
    if (this.plays) {
      this.pause();
      return;
    }
    if (this.t >= this.ways.endS) {
      this.t = 0;
    }
    this.before = performance.now();
    this.play.textContent = "Pause";
    this.play.setAttribute("aria-pressed", "true");
    this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  private pause(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.play.textContent = "Play";
    this.play.setAttribute("aria-pressed", "false");
    this.show();
  }

  private tick(now: number): void {
    // A page in the background comes back later, and not far ahead.
    const passedS = Math.min(0.1, (now - this.before) / 1000);
    this.before = now;
    this.t = Math.min(this.ways.endS, this.t + passedS * this.speed);
    this.show();
    if (this.t >= this.ways.endS) {
      this.pause();
    } else {
      this.frame = requestAnimationFrame((later) => this.tick(later));
    }
  }

  private step(forward: boolean): void {
    if (this.plays) {
      this.pause();
    }
    this.jump(this.ways.step(this.t, forward));
  }

  private jump(timeS: number): void {
    this.seek(timeS);
    this.options.onTime?.(this.t);
  }

  private show(): void {
    this.drawing.draw(this.t, this.speed);
    this.time.value = String(this.t);
    this.clock.textContent = timeText(this.t, this.ways.endS, 20_000);
    const now = performance.now();
    if (!this.plays || now - this.saidAt > 250) {
      this.saidAt = now;
      this.say();
    }
    if (this.plays) {
      this.options.onTime?.(this.t);
    }
  }

  private say(): void {
    const { flows, packets } = this.ways;
    const sentences = flows.slice(0, MOST_SENTENCES).map((flow) => sentence(this.run, flow, this.t));
    const end = packets.leftOutFromS;
    if (end !== null && this.t >= end) {
      sentences.push(`Packets are kept up to ${withUnit(end, "s")}.`);
    }
    const lines = sentences.filter((text) => text !== "").map((text) => h("p", {}, text));
    this.said.replaceChildren(...lines);
  }

  private point(event: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    const hit = this.drawing.hit(event.clientX - box.left, event.clientY - box.top);
    this.packet.textContent = hit ? this.described(hit) : "";
  }

  private described({ row }: Hit): string {
    const { ways } = this;
    const label = ways.label(row);
    const waited = ways.time("started_s")[row]! - ways.time("entered_s")[row]!;
    const parts = [
      `${ways.flow(row) || "packet"}${label === null ? "" : ` ${label}`}`,
      ways.content(row),
      withUnit(ways.size(row), "bytes"),
      `sent at ${withUnit(ways.time("sent_s")[row], "s", 6)}`,
      waited > 0 ? `waited ${withUnit(waited, "s", 3)}` : "",
      ways.reason(row) ? `dropped: ${ways.reason(row).replaceAll("_", " ")}` : "",
    ];
    return parts.filter((part) => part !== "").join(", ");
  }

  private look(): Look {
    const style = getComputedStyle(this.root);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const { flows } = this.ways;
    const own = (flow: string) => colour(`--c${Math.max(0, flows.indexOf(flow)) % 8}`);
    const colours = new Map(flows.map((flow) => [flow, (this.options.colourOf ?? own)(flow)]));
    const soft = colour("--soft");
    return {
      paper: colour("--paper"),
      ink: colour("--ink"),
      soft,
      grid: colour("--grid"),
      alarm: colour("--alarm"),
      colourOf: (flow) => colours.get(flow) ?? soft,
    };
  }
}

/** A speed at which a packet takes about two seconds from end to end. */
function firstSpeed(ways: Ways): number {
  const longest = Math.max(1e-6, ...ways.lanes.map(({ longestS }) => longestS));
  return Math.min(FASTEST, Math.max(SLOWEST, longest / 2));
}

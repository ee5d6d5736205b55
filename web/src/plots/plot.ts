// A figure on the screen: uPlot has axes, scales and the selection; the layers are drawn from
// thinned curves, so that the time of a frame depends on pixels and not on points.
import uPlot from "uplot";
import { colour, colours } from "../ui/theme";
import { digits, prefixFor, timeText, withUnit } from "../ui/units";
import { trace, type Pen } from "./curve";
import { valueRange, type Figure, type Layer } from "./figure";
import { logTicks } from "./ticks";
import type { Span, TimeView } from "./view";
import { h, swatch } from "../ui/dom";

/** The room for the vertical axis, the same in all plots so that times stand below each other. */
export const gutter = (width: number) => (width < 480 ? 70 : 76);
export const RIGHT = 22;
const DASHES: number[][] = [[], [6, 4], [2, 3], [10, 3, 2, 3]];

export interface PlotOptions {
  height: number;
  /** The range of values, where several plots share one. */
  range?: (span: Span) => [number, number];
}

export class Plot {
  readonly element: HTMLElement;
  private readonly host = h("div", { class: "plot-host" });
  private readonly legend = h("div", { class: "legend" });
  private readonly values: HTMLElement[] = [];
  private chart: uPlot | null = null;
  private readonly forget: () => void;
  private readonly resizing: ResizeObserver;
  private waiting = 0;
  private log = false;
  /** Milliseconds of the last drawing, for the benchmark. */
  drawMs = 0;

  constructor(
    private figure: Figure,
    private readonly view: TimeView,
    private readonly options: PlotOptions,
  ) {
    const title = h("span", { class: "plot-title" }, figure.title);
    this.element = h(
      "figure",
      { class: "plot", "data-figure": figure.id },
      h("figcaption", {}, title, this.legend),
      this.host,
    );
    this.host.tabIndex = 0;
    this.host.setAttribute("role", "application");
    this.host.addEventListener("keydown", (event) => this.key(event));
    this.pointers();
    this.forget = view.listen(
      () => this.later(),
      () => this.cursor(),
    );
    this.resizing = new ResizeObserver(() => this.resize());
    this.resizing.observe(this.host);
    this.describe();
    this.legendOf();
  }

  /** Shows another figure at the same place. */
  show(figure: Figure): void {
    this.figure = figure;
    this.element.querySelector(".plot-title")!.textContent = figure.title;
    this.describe();
    this.legendOf();
    if (!this.chart) return;
    if (figure.log !== this.log) this.make();
    else this.redraw();
  }

  restyle(): void {
    this.legendOf();
    if (this.chart) this.make();
  }

  destroy(): void {
    this.forget();
    this.resizing.disconnect();
    cancelAnimationFrame(this.waiting);
    this.chart?.destroy();
    this.chart = null;
  }

  private describe(): void {
    const names = this.figure.layers.map((layer) => layer.name).filter(Boolean);
    this.host.setAttribute(
      "aria-label",
      `${this.figure.title} over time: ${names.join(", ")}. Arrow keys move the cursor, plus and minus zoom, 0 shows all.`,
    );
  }

  private legendOf(): void {
    this.legend.replaceChildren();
    this.values.length = 0;
    for (const layer of this.figure.layers) {
      const value = h("span", { class: "value" });
      this.values.push(value);
      if (!layer.name) continue;
      const mark = swatch(colour(layer.colour), layer.dash ?? 0);
      this.legend.append(h("span", { class: "entry" }, mark, layer.name, " ", value));
    }
    for (const level of this.figure.levels) {
      this.legend.append(
        h("span", { class: "entry" }, swatch(colour(level.colour), 1), level.label),
      );
    }
    if (this.figure.marks.length) {
      this.legend.append(
        h(
          "span",
          { class: "entry" },
          h("i", { class: "ring", "aria-hidden": "true" }),
          "published",
        ),
      );
    }
    this.cursor();
  }

  private resize(): void {
    const width = Math.floor(this.host.clientWidth);
    if (width < 60) return;
    if (!this.chart) this.make();
    else if (this.chart.width !== width) this.chart.setSize({ width, height: this.options.height });
  }

  /** One drawing a frame, however many events there are. */
  private later(): void {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.redraw();
    });
  }

  private redraw(): void {
    const chart = this.chart;
    if (!chart) return;
    const [min, max] = this.view.span;
    const [low, high] = this.values_();
    chart.batch(() => {
      chart.setScale("x", { min, max });
      chart.setScale("y", { min: low, max: high });
    });
    this.cursor();
  }

  private values_(): [number, number] {
    return (
      this.options.range?.(this.view.span) ??
      valueRange(this.figure, this.view.span, this.figure.log)
    );
  }

  private make(): void {
    this.chart?.destroy();
    this.log = this.figure.log;
    const theme = colours();
    const width = Math.floor(this.host.clientWidth);
    const font = "12px system-ui, sans-serif";
    const axis = {
      stroke: theme.soft,
      font,
      ticks: { stroke: theme.grid, size: 4 },
      grid: { stroke: theme.grid, width: 1 },
    };
    this.chart = new uPlot(
      {
        width,
        height: this.options.height,
        padding: [8, RIGHT, 0, 0],
        legend: { show: false },
        scales: { x: { time: false, auto: false }, y: { auto: false, distr: this.log ? 3 : 1 } },
        axes: [
          {
            ...axis,
            size: 28,
            values: (_, splits) => this.times(splits),
            space: width < 480 ? 60 : 80,
          },
          {
            ...axis,
            size: gutter(width),
            values: (chart, splits) => this.labels(chart, splits),
            space: this.log ? 34 : 28,
            filter: (_, splits) => splits,
            ...(this.log
              ? {
                  splits: (_: uPlot, __: number, min: number, max: number) =>
                    logTicks(min, max, this.options.height / 34),
                }
              : {}),
          },
        ],
        series: [{}, { scale: "y", paths: () => null, points: { show: false } }],
        cursor: {
          y: false,
          points: { show: false },
          drag: { x: true, y: false, setScale: false, dist: 6 },
        },
        hooks: {
          draw: [(chart) => this.draw(chart)],
          setCursor: [(chart) => this.pointed(chart)],
          setSelect: [(chart) => this.selected(chart)],
        },
      },
      [this.view.span, [null, null]] as uPlot.AlignedData,
      this.host,
    );
    this.redraw();
  }

  private times(splits: number[]): string[] {
    const [from, to] = this.view.span;
    const span = to - from;
    const [scale, name] = span >= 1 ? [1, "s"] : prefixFor(span, "s");
    return splits.map((split, index) => {
      const text = String(Number((split / scale).toPrecision(9)));
      return index === splits.length - 1 ? `${text} ${name}` : text;
    });
  }

  private labels({ scales }: uPlot, splits: (number | null)[]): string[] {
    const most = Math.max(Math.abs(scales.y!.min ?? 0), Math.abs(scales.y!.max ?? 0)) / 1.1;
    const [scale, name] = prefixFor(most, this.figure.unit);
    if (!this.log) {
      const top = splits.length - 1;
      return splits.map((split, index) =>
        index === top ? `${digits(split! / scale)} ${name}` : digits(split! / scale),
      );
    }
    return splits.map((split) => withUnit(split!, this.figure.unit, 2));
  }

  private draw(chart: uPlot): void {
    const began = performance.now();
    const { ctx } = chart;
    const { left, top, width, height } = chart.bbox;
    const ratio = devicePixelRatio || 1;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    for (const level of this.figure.levels) {
      const y = Math.round(chart.valToPos(level.y, "y", true)) + 0.5;
      ctx.strokeStyle = colour(level.colour);
      ctx.setLineDash([8 * ratio, 5 * ratio]);
      ctx.lineWidth = 1.2 * ratio;
      ctx.beginPath();
      ctx.moveTo(left, y);
      ctx.lineTo(left + width, y);
      ctx.stroke();
    }
    // What stands beside the main curves lies below them.
    const layers = [...this.figure.layers].sort(
      (a, b) => Number(b.beside ?? false) - Number(a.beside ?? false),
    );
    for (const layer of layers) drawLayer(chart, layer, this.view.span, this.log, ratio);
    this.drawMarks(chart, ratio);
    ctx.restore();
    this.drawMs = performance.now() - began;
  }

  private drawMarks(chart: uPlot, ratio: number): void {
    const { ctx } = chart;
    const theme = colours();
    const [from, to] = this.view.span;
    for (const mark of this.figure.marks) {
      if (mark.x < from || mark.x > to) continue;
      const [x, y] = [chart.valToPos(mark.x, "x", true), chart.valToPos(mark.y, "y", true)];
      ctx.setLineDash([]);
      ctx.beginPath();
      ctx.arc(x, y, 4.5 * ratio, 0, 2 * Math.PI);
      ctx.fillStyle = theme.paper;
      ctx.fill();
      ctx.strokeStyle = theme.ink;
      ctx.lineWidth = 1.6 * ratio;
      ctx.stroke();
      ctx.font = `${12 * ratio}px system-ui, sans-serif`;
      const wide = ctx.measureText(mark.label).width;
      const right = x + wide + 10 * ratio > chart.bbox.left + chart.bbox.width;
      ctx.textAlign = right ? "right" : "left";
      ctx.lineWidth = 3 * ratio;
      ctx.strokeStyle = theme.paper;
      const at: [number, number] = [x + (right ? -9 : 9) * ratio, y - 6 * ratio];
      ctx.strokeText(mark.label, ...at);
      ctx.fillStyle = theme.ink;
      ctx.fillText(mark.label, ...at);
    }
  }

  /** The pointer of this plot moves the cursor of all. */
  private pointed(chart: uPlot): void {
    const { left } = chart.cursor;
    this.view.point(
      left === undefined || left === null || left < 0 ? null : chart.posToVal(left, "x"),
    );
  }

  private selected(chart: uPlot): void {
    const { left, width } = chart.select;
    if (width < 2) return;
    const span: Span = [chart.posToVal(left, "x"), chart.posToVal(left + width, "x")];
    chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.view.show(span);
  }

  /** Draws the shared cursor and says the values at it. */
  private cursor(): void {
    const at = this.view.cursor;
    const chart = this.chart;
    if (chart) {
      const left = at === null ? -10 : chart.valToPos(at, "x");
      if (chart.cursor.left !== left) chart.setCursor({ left, top: 10 }, false);
    }
    this.figure.layers.forEach((layer, index) => {
      const value = this.values[index];
      if (value) value.textContent = at === null ? "" : this.valueAt(layer, at);
    });
  }

  private valueAt(layer: Layer, at: number): string {
    if (layer.rug) {
      return `${layer.curve.after(at)} until ${timeText(at, this.view.span[1] - this.view.span[0])}`;
    }
    const value = layer.curve.at(at);
    if (Number.isNaN(value)) return "–";
    const signed = this.figure.signed && value > 0 ? "+" : "";
    return signed + withUnit(value, this.figure.unit);
  }

  private key(event: KeyboardEvent): void {
    const view = this.view;
    const [from, to] = view.span;
    const step = (to - from) / (event.shiftKey ? 20 : 200);
    const at = view.cursor ?? (from + to) / 2;
    const move = (to_: number) => {
      view.point(Math.min(view.whole[1], Math.max(view.whole[0], to_)));
      if (to_ < from || to_ > to) view.pan(to_ < from ? -0.1 : 0.1);
      this.say();
    };
    const actions: Record<string, () => void> = {
      ArrowLeft: () => move(at - step),
      ArrowRight: () => move(at + step),
      "+": () => view.zoom(0.5, at),
      "=": () => view.zoom(0.5, at),
      "-": () => view.zoom(2, at),
      "0": () => view.reset(),
      Home: () => move(from),
      End: () => move(to),
      PageUp: () => view.pan(-0.5),
      PageDown: () => view.pan(0.5),
      Escape: () => view.point(null),
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  }

  /** Tells a reader of the screen the values at the cursor. */
  private say(): void {
    const at = this.view.cursor;
    const live = document.getElementById("live");
    if (at === null || !live) return;
    const words = this.figure.layers
      .filter((layer) => layer.name)
      .map((layer) => `${layer.name} ${this.valueAt(layer, at)}`);
    live.textContent = `${timeText(at, this.view.span[1] - this.view.span[0])}: ${words.join(", ")}`;
  }

  /** The wheel with Ctrl zooms, with Shift it moves; two fingers do both. */
  private pointers(): void {
    this.host.addEventListener(
      "wheel",
      (event) => {
        if (!this.chart || !(event.ctrlKey || event.metaKey || event.shiftKey)) return;
        event.preventDefault();
        const delta = event.deltaY || event.deltaX;
        if (event.shiftKey) return this.view.pan(Math.sign(delta) * 0.1);
        this.view.zoom(delta > 0 ? 1.25 : 0.8, this.timeOf(event.clientX));
      },
      { passive: false },
    );
    this.host.addEventListener("dblclick", () => this.view.reset());
    const fingers = new Map<number, number>();
    let before: Span | null = null;
    const touched = () => [...fingers.values()].sort((a, b) => a - b);
    this.host.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "touch") return;
      fingers.set(event.pointerId, event.clientX);
      before = fingers.size === 2 ? (touched().map((x) => this.timeOf(x)) as Span) : null;
      if (fingers.size === 1) this.view.point(this.timeOf(event.clientX));
    });
    this.host.addEventListener("pointermove", (event) => {
      if (!fingers.has(event.pointerId)) return;
      fingers.set(event.pointerId, event.clientX);
      if (fingers.size === 1) return this.view.point(this.timeOf(event.clientX));
      if (!before || fingers.size !== 2) return;
      // The times below the fingers stay below them.
      const [a, b] = touched() as Span;
      const box = this.over();
      if (b - a < 10) return;
      const scale = (before[1] - before[0]) / (b - a);
      const from = before[0] - (a - box.left) * scale;
      this.view.show([from, from + box.width * scale]);
    });
    const up = (event: PointerEvent) => {
      fingers.delete(event.pointerId);
      before = null;
    };
    this.host.addEventListener("pointerup", up);
    this.host.addEventListener("pointercancel", up);
    this.host.addEventListener("pointerleave", up);
  }

  private over(): DOMRect {
    return this.chart!.over.getBoundingClientRect();
  }

  private timeOf(clientX: number): number {
    return this.chart!.posToVal(clientX - this.over().left, "x");
  }
}

function drawLayer(chart: uPlot, layer: Layer, span: Span, log: boolean, ratio: number): void {
  const { ctx } = chart;
  const { left, top, width } = chart.bbox;
  const px = (x: number) => chart.valToPos(x, "x", true);
  const base = log ? chart.scales.y!.min! : -Infinity;
  const py = (y: number) => chart.valToPos(log && y < base ? base : y, "y", true);
  ctx.lineJoin = "round";
  ctx.lineCap = "butt";
  ctx.globalAlpha = layer.beside && layer.course === "dots" ? 0.55 : 1;
  ctx.lineWidth = (layer.beside ? 1.1 : 1.7) * ratio;
  if (layer.rug) {
    ctx.strokeStyle = colour(layer.colour);
    ctx.setLineDash([]);
    const [first, end] = [layer.curve.from(span[0]), layer.curve.after(span[1])];
    ctx.beginPath();
    let last = -1;
    for (let index = first; index < end; index++) {
      const x = Math.round(px(layer.curve.x[index]!));
      if (x === last) continue;
      last = x;
      ctx.moveTo(x + 0.5, top + 1);
      ctx.lineTo(x + 0.5, top + 9 * ratio);
    }
    ctx.stroke();
    return;
  }
  if (layer.course === "dots") {
    ctx.fillStyle = colour(layer.colour);
    const size = 2.4 * ratio;
    const pen: Pen = {
      move: (x, y) => ctx.fillRect(px(x) - size / 2, py(y) - size / 2, size, size),
      line: () => undefined,
    };
    trace(layer.curve, "dots", span, width, pen);
    ctx.globalAlpha = 1;
    return;
  }
  const stroke = (number: number, dash: number, part: Span) => {
    ctx.strokeStyle = colour(number);
    ctx.setLineDash((DASHES[dash % 4] ?? []).map((length) => length * ratio));
    ctx.beginPath();
    const columns = Math.max(1, Math.ceil((width * (part[1] - part[0])) / (span[1] - span[0])));
    const pen: Pen = {
      move: (x, y) => ctx.moveTo(px(x), py(y)),
      line: (x, y) => ctx.lineTo(px(x), py(y)),
    };
    trace(layer.curve, layer.course, part, columns, pen, layer.untilS);
    ctx.stroke();
  };
  const parts = layer.categories && categoryParts(layer, span, width);
  if (!parts) return stroke(layer.colour, layer.dash ?? 0, span);
  const reach = [left, left + width];
  for (const { from, to, kind } of parts) {
    if (!kind || px(to) < reach[0]! || px(from) > reach[1]!) continue;
    ctx.save();
    ctx.beginPath();
    // A step belongs to the rule that holds from it on.
    ctx.rect(px(from) - 1, top, px(to) - px(from) + 2, chart.bbox.height);
    ctx.clip();
    stroke(kind.colour, kind.dash, [from, to]);
    ctx.restore();
  }
}

/** Spans of one category each; null if there are more than can be told apart. */
export function categoryParts(layer: Layer, [from, to]: Span, width: number) {
  const { codes, kinds } = layer.categories!;
  const { curve } = layer;
  const first = Math.max(0, curve.after(from) - 1);
  const end = Math.min(curve.length, curve.from(to) + 1);
  const parts: { from: number; to: number; kind: (typeof kinds)[number] }[] = [];
  for (let index = first; index < end;) {
    let next = index + 1;
    while (next < end && codes[next] === codes[index]) next++;
    const until = next < curve.length ? curve.x[next]! : Math.max(to, curve.x[next - 1]!);
    parts.push({
      from: Math.max(from, curve.x[index]!),
      to: Math.min(to, until),
      kind: kinds[codes[index]!] ?? null,
    });
    if (parts.length > width) return null;
    index = next;
  }
  return parts;
}

// Strips below the plots: what held a sender, which rule set its rate, and findings of the
// explanation as bars.
import type { Finding } from "../engine/types";
import { h, svg, swatch } from "../ui/dom";
import { colour } from "../ui/theme";
import type { Band } from "./figure";
import { gutter, RIGHT } from "./plot";
import type { Span, TimeView } from "./view";

/** In each column of pixels the share of time of each category, as [category, share] in order. */
export function shares(band: Band, [from, to]: Span, columns: number): Float64Array[] {
  const kinds = band.categories.kinds.length;
  const made = Array.from({ length: columns }, () => new Float64Array(kinds));
  const { x, categories } = band;
  const width = (to - from) / columns;
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (x[middle]! <= from) low = middle + 1;
    else high = middle;
  }
  for (let index = Math.max(0, low - 1); index < x.length; index++) {
    const start = Math.max(from, x[index]!);
    const end = Math.min(to, index + 1 < x.length ? x[index + 1]! : band.untilS);
    if (start >= to) break;
    if (end <= start) continue;
    const code = categories.codes[index]!;
    const last = Math.min(columns - 1, Math.floor((end - from) / width));
    for (let column = Math.floor((start - from) / width); column <= last; column++) {
      const covered =
        Math.min(end, from + (column + 1) * width) - Math.max(start, from + column * width);
      if (covered > 0) made[column]![code]! += covered / width;
    }
  }
  return made;
}

/** True if a column, in CSS pixels, lies between the stripes of an area. */
const isBetween = (x: number, stripes: number) =>
  stripes > 0 && Math.floor(x / (2 * stripes)) % 2 === 1;

/** A strip on the screen. */
export class BandView {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { height: 16 });
  private readonly words = h("span", { class: "legend" });
  private readonly forget: () => void;
  private readonly resizing: ResizeObserver;
  /** The categories in the span that is shown. */
  private readonly seen = new Set<number>();

  constructor(
    private band: Band,
    private readonly view: TimeView,
  ) {
    this.element = h(
      "div",
      { class: "band" },
      h("div", { class: "band-words" }, this.words),
      this.canvas,
    );
    this.canvas.setAttribute("role", "img");
    this.forget = view.listen(
      () => this.draw(),
      () => this.legend(),
    );
    this.resizing = new ResizeObserver(() => this.draw());
    this.resizing.observe(this.element);
  }

  show(band: Band): void {
    this.band = band;
    this.draw();
  }

  destroy(): void {
    this.forget();
    this.resizing.disconnect();
  }

  restyle(): void {
    this.draw();
  }

  private legend(): void {
    const { band, view } = this;
    const at = view.cursor;
    let now = -1;
    if (at !== null) {
      let index = 0;
      let high = band.x.length;
      while (index < high) {
        const middle = (index + high) >>> 1;
        if (band.x[middle]! <= at) index = middle + 1;
        else high = middle;
      }
      now = index > 0 ? band.categories.codes[index - 1]! : -1;
    }
    const { seen } = this;
    const entries = band.categories.kinds.map((kind, code) => {
      if (!kind || !seen.has(code)) return null;
      const entry = h(
        "span",
        { class: code === now ? "entry now" : "entry" },
        swatch(colour(kind.colour), 0, kind.stripes),
        kind.label,
      );
      return entry;
    });
    const name = band.name === "bound" ? "held by" : "rule";
    this.words.replaceChildren(
      h("b", {}, band.subject ? `${band.subject}: ${name}` : name),
      ...entries.filter((entry) => entry !== null),
    );
    const labels = band.categories.kinds
      .filter((kind, code) => kind && seen.has(code))
      .map((kind) => kind!.label);
    this.canvas.setAttribute(
      "aria-label",
      `${band.subject}: ${name} over time: ${labels.join(", ")}`,
    );
  }

  private draw(): void {
    const whole = this.element.clientWidth;
    const left = gutter(whole);
    const width = Math.max(10, whole - left - RIGHT);
    const ratio = devicePixelRatio || 1;
    const height = 14;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.canvas.style.marginLeft = `${left}px`;
    const context = this.canvas.getContext("2d");
    if (!context) return;
    const columns = this.canvas.width;
    this.seen.clear();
    shares(this.band, this.view.span, columns).forEach((column, x) => {
      let top = 0;
      column.forEach((share, code) => {
        if (share > 0) this.seen.add(code);
        const kind = this.band.categories.kinds[code];
        if (share <= 0 || !kind) return;
        context.fillStyle = colour(kind.colour);
        context.globalAlpha = isBetween(x / ratio, kind.stripes) ? 0.3 : 1;
        context.fillRect(x, top * this.canvas.height, 1, share * this.canvas.height + 0.5);
        top += share;
      });
    });
    this.legend();
  }
}

/** Bars of findings over the time in which each is seen. */
export class FindingBars {
  readonly element = h("div", {
    class: "findings",
    role: "group",
    "aria-label": "Findings over time",
  });
  private findings: Finding[] = [];
  private readonly forget: () => void;
  private readonly resizing: ResizeObserver;

  constructor(
    private readonly view: TimeView,
    private readonly onchoose: (index: number) => void,
  ) {
    this.forget = view.listen(
      () => this.draw(),
      () => undefined,
    );
    this.resizing = new ResizeObserver(() => this.draw());
    this.resizing.observe(this.element);
  }

  show(findings: Finding[]): void {
    this.findings = findings;
    this.draw();
  }

  destroy(): void {
    this.forget();
    this.resizing.disconnect();
  }

  private draw(): void {
    const whole = this.element.clientWidth;
    if (!whole) return;
    const left = gutter(whole);
    const width = Math.max(10, whole - left - RIGHT);
    const [from, to] = this.view.span;
    const at = (time: number) =>
      left + Math.min(1, Math.max(0, (time - from) / (to - from))) * width;
    const rows = this.findings.map((finding, index) => {
      const [start, end] = finding.span_s;
      const row = h("div", { class: "finding-row" });
      if (end < from || start > to) return row;
      const words = `${finding.subject}: ${finding.title}`;
      const bar = h(
        "button",
        { type: "button", class: "finding-bar", title: words, onclick: () => this.onchoose(index) },
        words,
      );
      const [x0, x1] = [at(start), at(end)];
      bar.style.left = `${x0}px`;
      bar.style.width = `${Math.max(3, x1 - x0)}px`;
      row.append(bar);
      return row;
    });
    this.element.replaceChildren(...rows.filter((row) => row.childNodes.length));
    this.element.hidden = this.element.childNodes.length === 0;
  }
}

/** The strip as SVG rectangles, for files. */
export function bandSvg(
  band: Band,
  span: Span,
  [left, top, width, height]: number[],
  paint: (n: number) => string,
): SVGElement {
  const group = svg("g");
  const columns = Math.round(width!);
  shares(band, span, columns).forEach((column, x) => {
    let above = 0;
    column.forEach((share, code) => {
      const kind = band.categories.kinds[code];
      if (share < 0.001 || !kind) return;
      group.append(
        svg("rect", {
          x: left! + x,
          y: (top! + above * height!).toFixed(2),
          width: 1.05,
          height: (share * height!).toFixed(2),
          fill: paint(kind.colour),
        }),
      );
      above += share;
    });
  });
  return group;
}

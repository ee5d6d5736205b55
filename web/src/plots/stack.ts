// The plots of one or more runs below each other, linked in time.
import type { Finding } from "../engine/types";
import { onTheme } from "../ui/theme";
import { h } from "../ui/dom";
import { BandView, FindingBars } from "./band";
import { valueRange, type Figure } from "./figure";
import { Plot } from "./plot";
import type { Span, TimeView } from "./view";

export interface Column {
  heading: HTMLElement | null;
  figures: Figure[];
  findings: Finding[];
}

export interface StackOptions {
  height: number;
  onfinding: (column: number, index: number) => void;
}

/** Bars of findings at most; the list has all. */
const BARS = 5;

/** Columns of plots beside each other; plots of the same quantity share their range. */
export class Stack {
  readonly element = h("div", { class: "stack" });
  private columns: {
    figures: Figure[];
    plots: Plot[];
    bands: BandView[];
    bars: FindingBars;
    heading: HTMLElement;
  }[] = [];
  private shape = "";
  private readonly forgetTheme: () => void;

  constructor(
    private readonly view: TimeView,
    private readonly options: StackOptions,
  ) {
    this.forgetTheme = onTheme(() => {
      for (const { plots, bands } of this.columns)
        [...plots, ...bands].forEach((each) => each.restyle());
    });
  }

  show(columns: Column[]): void {
    const shape = JSON.stringify(
      columns.map(({ figures }) => figures.map(({ id, bands }) => [id, bands.length])),
    );
    if (shape !== this.shape) this.make(columns, shape);
    columns.forEach(({ figures, findings, heading }, index) => {
      const column = this.columns[index]!;
      column.figures = figures;
      column.heading.replaceChildren(...(heading ? [heading] : []));
      column.bars.show(findings.slice(0, BARS));
    });
    // A logarithmic axis is logarithmic in all columns.
    for (const figure of this.figures) {
      figure.log = this.figures.some(({ id, log }) => id === figure.id && log);
    }
    // Only when all columns have their new figures are the common ranges right.
    columns.forEach(({ figures }, index) => {
      const column = this.columns[index]!;
      const bands = figures.flatMap((figure) => figure.bands);
      figures.forEach((figure, place) => column.plots[place]!.show(figure));
      bands.forEach((band, place) => column.bands[place]!.show(band));
    });
  }

  private make(columns: Column[], shape: string): void {
    this.clear();
    this.shape = shape;
    columns.forEach(({ figures }, index) => {
      const element = h("div", { class: "column" });
      const heading = h("div", { class: "column-heading" });
      const bars = new FindingBars(this.view, (finding) => this.options.onfinding(index, finding));
      const column = { figures, plots: [] as Plot[], bands: [] as BandView[], bars, heading };
      element.append(heading);
      figures.forEach((figure, place) => {
        const height = place === 0 ? Math.round(this.options.height * 1.2) : this.options.height;
        const plot = new Plot(figure, this.view, {
          height,
          range: (span) => this.range(figure.id, span),
        });
        column.plots.push(plot);
        element.append(plot.element);
        for (const band of figure.bands) {
          const strip = new BandView(band, this.view);
          column.bands.push(strip);
          element.append(strip.element);
        }
        // Beside each other, plots of the same quantity stand at the same height.
        const last = place === (columns.length > 1 ? figures.length - 1 : 0);
        if (last) element.append(bars.element);
      });
      this.columns.push(column);
      this.element.append(element);
    });
    this.element.dataset.columns = String(columns.length);
  }

  private range(id: string, span: Span): [number, number] {
    const same = this.columns.flatMap(({ figures }) =>
      figures.filter((figure) => figure.id === id),
    );
    const ranges = same.map((figure) => valueRange(figure, span, figure.log));
    return [Math.min(...ranges.map(([low]) => low)), Math.max(...ranges.map(([, high]) => high))];
  }

  /** The figures on the screen, for files. */
  get figures(): Figure[] {
    return this.columns.flatMap(({ figures }) => figures);
  }

  /** Milliseconds that the plots took to draw last. */
  get drawMs(): number {
    return this.columns.flatMap(({ plots }) => plots).reduce((sum, plot) => sum + plot.drawMs, 0);
  }

  private clear(): void {
    for (const { plots, bands, bars } of this.columns)
      [...plots, ...bands, bars].forEach((each) => each.destroy());
    this.columns = [];
    this.element.replaceChildren();
  }

  destroy(): void {
    this.forgetTheme();
    this.clear();
  }
}

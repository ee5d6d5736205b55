// Figures as one SVG file for paper: light, with literal colours and the same thinned curves.
import { palette } from "../generated/palette";
import { svg } from "../ui/dom";
import { colour } from "../ui/theme";
import { digits, prefixFor, withUnit } from "../ui/units";
import { bandSvg } from "./band";
import { trace } from "./curve";
import { valueRange, type Figure, type Layer } from "./figure";
import { categoryParts } from "./plot";
import { logTicks, ticks } from "./ticks";
import type { Span } from "./view";

const WIDTH = 900;
const LEFT = 84;
const RIGHT = 20;
const HEIGHT = 190;
const HEAD = 40;
const BAND = 16;
const DASHES = ["", "6 4", "2 3", "10 3 2 3"];

const paint = (number: number) => colour(number, "light");
const round = (value: number) => Number(value.toFixed(1));

export function figuresSvg(title: string, figures: Figure[], span: Span): SVGElement {
  const drawn: SVGElement[] = [];
  let top = 34;
  for (const figure of figures) {
    drawn.push(one(figure, span, top));
    top += HEAD + HEIGHT + 30 + figure.bands.length * (BAND + 18);
  }
  const { paper, ink } = palette.light;
  return svg(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${WIDTH} ${top}`,
      width: WIDTH,
      height: top,
      "font-family": "system-ui, sans-serif",
      "font-size": 12,
    },
    svg("title", {}, title),
    svg("rect", { width: WIDTH, height: top, fill: paper }),
    svg("text", { x: LEFT, y: 22, fill: ink, "font-size": 15 }, title),
    ...drawn,
  );
}

function one(figure: Figure, span: Span, top: number): SVGElement {
  const { ink, soft, grid, paper } = palette.light;
  const [low, high] = valueRange(figure, span, figure.log);
  const [width, head] = [WIDTH - LEFT - RIGHT, top + HEAD];
  const px = (x: number) => LEFT + ((x - span[0]) / (span[1] - span[0])) * width;
  const scale = (y: number) => (figure.log ? Math.log10(Math.max(y, low)) : y);
  const [a, b] = [scale(low), scale(high)];
  const py = (y: number) => head + HEIGHT - ((scale(y) - a) / (b - a)) * HEIGHT;
  const group = svg("g");
  group.append(
    svg(
      "text",
      { x: LEFT, y: top + 12, fill: ink },
      `${figure.title}${figure.unit ? `, ${figure.unit}` : ""}`,
    ),
  );
  const values = figure.log ? logTicks(low, high, 6) : ticks(low, high, 5);
  const [factor] = prefixFor(Math.max(Math.abs(low), Math.abs(high)), figure.unit);
  values.forEach((value) => {
    const y = round(py(value));
    const text = figure.log
      ? withUnit(value, figure.unit, 2)
      : withPrefix(value, factor, figure.unit);
    group.append(
      svg("line", { x1: LEFT, x2: LEFT + width, y1: y, y2: y, stroke: grid }),
      svg("text", { x: LEFT - 6, y: y + 4, fill: soft, "text-anchor": "end" }, text),
    );
  });
  const [second, unit] = span[1] - span[0] >= 1 ? [1, "s"] : prefixFor(span[1] - span[0], "s");
  for (const at of ticks(span[0], span[1], 8)) {
    const x = round(px(at));
    group.append(
      svg("line", { x1: x, x2: x, y1: head, y2: head + HEIGHT, stroke: grid }),
      svg(
        "text",
        { x, y: head + HEIGHT + 15, fill: soft, "text-anchor": "middle" },
        `${Number((at / second).toPrecision(6))} ${unit}`,
      ),
    );
  }
  group.append(
    svg("rect", { x: LEFT, y: head, width, height: HEIGHT, fill: "none", stroke: soft }),
  );
  for (const level of figure.levels) {
    const y = round(py(level.y));
    group.append(
      svg("line", {
        x1: LEFT,
        x2: LEFT + width,
        y1: y,
        y2: y,
        stroke: paint(level.colour),
        "stroke-dasharray": "8 5",
      }),
    );
  }
  const layers = [...figure.layers].sort(
    (x, y) => Number(y.beside ?? false) - Number(x.beside ?? false),
  );
  const clip = { x: LEFT, y: head, width, height: HEIGHT };
  for (const layer of layers) group.append(...layerSvg(layer, span, px, py, clip));
  for (const mark of figure.marks) {
    if (mark.x < span[0] || mark.x > span[1]) continue;
    group.append(
      svg("circle", {
        cx: round(px(mark.x)),
        cy: round(py(mark.y)),
        r: 4.5,
        fill: paper,
        stroke: ink,
        "stroke-width": 1.6,
      }),
      svg("text", { x: round(px(mark.x)) + 9, y: round(py(mark.y)) - 6, fill: ink }, mark.label),
    );
  }
  legend(group, figure, top + 30);
  figure.bands.forEach((band, index) => {
    const y = head + HEIGHT + 34 + index * (BAND + 18);
    const name = band.name === "bound" ? "held by" : "rule";
    group.append(
      svg(
        "text",
        { x: LEFT, y: y - 2, fill: soft, "font-size": 11 },
        `${band.subject ? `${band.subject}, ` : ""}${name}: ${bandWords(band)}`,
      ),
    );
    group.append(bandSvg(band, span, [LEFT, y + 2, width, BAND - 4], paint));
  });
  return group;
}

const withPrefix = (value: number, factor: number, unit: string) =>
  `${digits(value / factor)} ${prefixFor(factor, unit)[1]}`.trim();

function bandWords(band: Figure["bands"][number]): string {
  const seen = new Set(band.categories.codes);
  return band.categories.kinds
    .filter((kind, code) => kind && seen.has(code))
    .map((kind) => kind!.label)
    .join(", ");
}

function legend(group: SVGElement, figure: Figure, y: number): void {
  let x = LEFT;
  for (const layer of figure.layers) {
    if (!layer.name) continue;
    const stroke = paint(layer.colour);
    group.append(
      svg("line", {
        x1: x,
        x2: x + 18,
        y1: y - 4,
        y2: y - 4,
        stroke,
        "stroke-width": 2,
        "stroke-dasharray": DASHES[(layer.dash ?? 0) % 4] || undefined,
      }),
      svg("text", { x: x + 23, y, fill: palette.light.ink, "font-size": 11 }, layer.name),
    );
    x += 40 + layer.name.length * 6.2;
    if (x > WIDTH - 120) break;
  }
}

type Box = { x: number; y: number; width: number; height: number };

function layerSvg(
  layer: Layer,
  span: Span,
  px: (x: number) => number,
  py: (y: number) => number,
  box: Box,
): SVGElement[] {
  if (layer.rug) {
    const { curve } = layer;
    let d = "";
    let last = -1;
    for (let index = curve.from(span[0]); index < curve.after(span[1]); index++) {
      const x = Math.round(px(curve.x[index]!));
      if (x !== last) d += `M${x} ${box.y}v8`;
      last = x;
    }
    return [svg("path", { d, stroke: paint(layer.colour), fill: "none" })];
  }
  const path = (part: Span) => {
    let d = "";
    const dot = layer.course === "dots";
    const columns = Math.max(1, Math.ceil((box.width * (part[1] - part[0])) / (span[1] - span[0])));
    trace(
      layer.curve,
      layer.course,
      part,
      columns,
      {
        move: (x, y) => (d += `M${round(px(x))} ${round(py(y))}${dot ? "h0" : ""}`),
        line: (x, y) => (d += `L${round(px(x))} ${round(py(y))}`),
      },
      layer.untilS,
    );
    return d;
  };
  const attributes = (number: number, dash: number) => ({
    fill: "none",
    stroke: paint(number),
    "stroke-linejoin": "round",
    "stroke-width": layer.course === "dots" ? 2.4 : layer.beside ? 1.1 : 1.7,
    "stroke-linecap": layer.course === "dots" ? "round" : "butt",
    "stroke-opacity": layer.course === "dots" ? 0.55 : undefined,
    "stroke-dasharray": DASHES[dash % 4] || undefined,
  });
  const parts = layer.categories && categoryParts(layer, span, box.width);
  if (!parts)
    return [svg("path", { d: clipped(path(span)), ...attributes(layer.colour, layer.dash ?? 0) })];
  return parts
    .filter(({ kind, from, to }) => kind && to > from)
    .map(({ from, to, kind }) =>
      svg("path", { d: clipped(path([from, to])), ...attributes(kind!.colour, kind!.dash) }),
    );

  /** Corners outside of the frame come to its edge, so that no clip path is needed. */
  function clipped(d: string): string {
    const within = (value: number, least: number, most: number) =>
      round(Math.min(most, Math.max(least, value)));
    return d.replace(
      /([ML])(-?[\d.]+) (-?[\d.]+)/g,
      (_, letter, x, y) =>
        `${letter}${within(Number(x), box.x, box.x + box.width)} ${within(Number(y), box.y, box.y + box.height)}`,
    );
  }
}

/** The file's text. */
export const svgText = (element: SVGElement) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(element)}\n`;

/** The same picture as PNG, at twice the size. */
export async function png(element: SVGElement): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([svgText(element)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width * 2;
    canvas.height = image.height * 2;
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob(
        (blob) => (blob ? resolve(blob) : reject(new Error("the picture could not be drawn"))),
        "image/png",
      ),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}

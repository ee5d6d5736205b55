// A small picture of a card: areas between the least and the greatest value of each column.
import { h, svg } from "../ui/dom";
import type { Picture } from "./cards";

const WIDTH = 240;
const HEIGHT = 92;

export function cardPicture(picture: Picture | null, title: string): Element {
  if (!picture) return h("div", { class: "no-picture", "aria-hidden": "true" });
  const areas = picture.curves.map(({ colour, low, high }) => {
    const step = WIDTH / low.length;
    const y = (share: number) => (HEIGHT - 4 - (share / 100) * (HEIGHT - 8)).toFixed(1);
    let d = "";
    let open = false;
    for (let column = 0; column < low.length; column++) {
      const [least, most] = [low[column] ?? null, high[column] ?? null];
      if (least === null || most === null) {
        open = false;
        continue;
      }
      const x = (column * step).toFixed(1);
      d += `${open ? "L" : "M"}${x} ${y(most)}`;
      if (most - least > 1) d += `L${x} ${y(least)}`;
      d += `H${((column + 1) * step).toFixed(1)}`;
      open = true;
    }
    return svg("path", { d, class: `stroke-${colour}` });
  });
  const image = svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      class: "card-picture",
      role: "img",
      "aria-label": `${title}: ${picture.label}`,
      preserveAspectRatio: "none",
    },
    ...areas,
  );
  const names = picture.curves
    .map(({ name }) => name)
    .filter(Boolean)
    .join(", ");
  return h(
    "div",
    { class: "card-plot" },
    image,
    h("small", { class: "quiet-text" }, picture.label + (names ? ` of ${names}` : "")),
  );
}

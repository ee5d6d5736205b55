import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { addPublished, cards, loadCard, publishedSpan } from "../src/gallery/cards";
import { Curve } from "../src/plots/curve";
import type { Figure } from "../src/plots/figure";
import { palette } from "../src/generated/palette";

const empty = () => new Curve(new Float64Array(), new Float64Array());
const rate = (): Figure => ({
  id: "rate",
  title: "",
  quantity: "",
  unit: "bit/s",
  layers: [{ name: "", colour: 0, curve: empty(), course: "step" }],
  bands: [],
  marks: [],
  levels: [],
  log: true,
});

test("the five documents come first, and each card has its scenarios and a picture", async () => {
  expect(cards.slice(0, 5).map(({ id }) => id)).toEqual([
    "loopback",
    "lossy-link",
    "oscillation",
    "deep-fifo",
    "cut-off",
  ]);
  for (const { id, picture } of cards) {
    const card = (await loadCard(id))!;
    expect(picture, id).not.toBeNull();
    for (const run of card.runs)
      expect(parse(card.scenarios[run.scenario]!), `${id}: ${run.name}`).toBeTypeOf("object");
  }
});

test("the published peak of loopback is a ring at its time and rate, in base units", async () => {
  const figure = rate();
  addPublished([figure], (await loadCard("loopback"))!, "failing");
  const peak = figure.marks.find(({ y }) => y > 2e8)!;
  expect(peak.x).toBeCloseTo(2.391, 3);
  expect(peak.y).toBeCloseTo(234.7e6, -5);
  expect(peak.label).toBe("234.7 Mbit/s");
  expect(publishedSpan((await loadCard("loopback"))!, "failing")).toEqual([0, 9.1]);
});

test("colours, rules and bounds are those of the report", () => {
  expect(palette.light.colours).toHaveLength(30);
  expect(palette.limits[1]!.name).toBe("equation");
  expect(palette.limits[1]!.doc).toContain("RFC 5348");
  expect(Object.keys(palette.bounds)).toContain("minimum_interval");
  expect(palette.limitWords.one_packet_per_rtt).toBe("s/RTT");
});

import { expect, test } from "vitest";
import { Curve } from "../src/plots/curve";
import { difference } from "../src/plots/figures";
import { shares } from "../src/plots/band";
import { logTicks, ticks } from "../src/plots/ticks";
import { TimeView } from "../src/plots/view";

const curve = (x: number[], y: number[]) => new Curve(Float64Array.from(x), Float64Array.from(y));

test("a difference holds between the rows of both curves", () => {
  const less = difference(curve([0, 2, 4], [10, 12, 14]), curve([1, 3], [1, 5]));
  expect([...less.x]).toEqual([0, 1, 2, 3, 4]);
  expect([...less.y]).toEqual([NaN, 9, 11, 7, 9]);
});

test("a strip has in each column the share of time of each word", () => {
  const categories = { codes: Uint32Array.from([0, 1, 0]), kinds: [null, null] };
  const band = {
    name: "bound",
    subject: "",
    x: Float64Array.from([0, 1, 3]),
    categories,
    untilS: 4,
  };
  const found = shares(band, [0, 4], 2);
  expect([...found[0]!]).toEqual([0.5, 0.5]);
  expect([...found[1]!]).toEqual([0.5, 0.5]);
  const later = shares(band, [3.5, 5.5], 2);
  expect([...later[0]!]).toEqual([0.5, 0]);
  expect([...later[1]!]).toEqual([0, 0]);
});

test("ticks are round numbers inside of the range", () => {
  expect(ticks(0, 60, 6)).toEqual([0, 10, 20, 30, 40, 50, 60]);
  expect(logTicks(3, 40_000, 6)).toEqual([10, 100, 1000, 10_000]);
  expect(logTicks(15, 90, 6)).toEqual([20, 50]);
  expect(logTicks(1, 1e12, 4)).toEqual([1, 1e4, 1e8, 1e12]);
});

test("a view stays within the run and keeps its zoom while the run is as long", () => {
  const view = new TimeView();
  view.setWhole([0, 100]);
  view.show([90, 130]);
  expect(view.span).toEqual([60, 100]);
  view.zoom(0.5, 60);
  expect(view.span).toEqual([60, 80]);
  view.setWhole([0, 90]);
  expect(view.span).toEqual([60, 80]);
  view.setWhole([0, 70]);
  expect(view.span).toEqual([0, 70]);
});

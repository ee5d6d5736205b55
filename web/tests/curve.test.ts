import { expect, test } from "vitest";
import { Curve, trace, type Pen } from "../src/plots/curve";

/** Corners as text: `M` begins, `L` goes on. */
function recorder(): { pen: Pen; said: string[]; points: [number, number][] } {
  const said: string[] = [];
  const points: [number, number][] = [];
  const note = (letter: string) => (x: number, y: number) => {
    said.push(`${letter}${x},${y}`);
    points.push([x, y]);
  };
  return { pen: { move: note("M"), line: note("L") }, said, points };
}

const curve = (x: number[], y: number[]) => new Curve(Float64Array.from(x), Float64Array.from(y));

test("a step holds its value until the next, and the last until the end", () => {
  const { pen, said } = recorder();
  trace(curve([0, 1, 2], [5, 7, 6]), "step", [0, 4], 100, pen, 3);
  expect(said).toEqual(["M0,5", "L1,5", "L1,7", "L2,7", "L2,6", "L3,6"]);
});

test("a missing value ends the line there", () => {
  const { pen, said } = recorder();
  trace(curve([0, 1, 2], [5, NaN, 6]), "step", [0, 2], 100, pen, 2);
  expect(said).toEqual(["M0,5", "L1,5", "M2,6"]);
});

test("a single peak among a million points is drawn", () => {
  const count = 1_000_000;
  const x = Float64Array.from({ length: count }, (_, index) => index);
  const y = new Float64Array(count).fill(1);
  y[654_321] = 99;
  y[123_456] = -3;
  const { pen, points } = recorder();
  trace(new Curve(x, y), "step", [0, count], 800, pen);
  const values = points.map(([, value]) => value);
  expect(Math.max(...values)).toBe(99);
  expect(Math.min(...values)).toBe(-3);
  expect(points.length).toBeLessThan(800 * 10);
  expect(points.find(([, value]) => value === 99)![0]).toBeGreaterThan(654_321 - count / 800);
});

test("the extent of any range is that of its values", () => {
  const y = Float64Array.from(
    { length: 20_000 },
    (_, index) => (Math.sin(index * 12.9898) * 43758.5453) % 1,
  );
  const whole = new Curve(Float64Array.from(y.keys()), y);
  for (const [from, to] of [
    [0, 20_000],
    [1, 2],
    [63, 65],
    [64, 8192],
    [100, 19_999],
    [4095, 4097],
    [5, 5],
  ] as const) {
    const part = [...y.slice(from, to)];
    expect(whole.extent(from, to)).toEqual([Math.min(...part), Math.max(...part)]);
  }
});

test("the value at a time is that of the last row before it", () => {
  const made = curve([1, 2, 2, 3], [10, 20, 21, 30]);
  expect(made.at(0.5)).toBeNaN();
  expect(made.at(1)).toBe(10);
  expect(made.at(2)).toBe(21);
  expect(made.at(9)).toBe(30);
});

import { expect, test } from "vitest";
import type { Packets, Words } from "../src/engine/types";
import { Ways } from "../src/path/ways";

const nothing = Number.NaN;

function words(list: string[]): Words {
  const known = [...new Set(list)];
  return { words: known, codes: Uint32Array.from(list, (word) => known.indexOf(word)) };
}

/** Rows of: packet, link, from, entered, started, left, arrives, dropped. */
type Row = [number, string, string, number, number, number, number, number];

function packets(rows: Row[]): Packets {
  const column = (index: number) => Float64Array.from(rows, (row) => row[index] as number);
  return {
    name: "stages",
    rows: rows.length,
    numbers: {
      packet: column(0),
      entered_s: column(3),
      started_s: column(4),
      left_s: column(5),
      arrives_s: column(6),
      dropped_s: column(7),
      size_bytes: Float64Array.from(rows, () => 1500),
    },
    words: {
      flow: words(rows.map(() => "bulk")),
      link: words(rows.map((row) => row[1])),
      from: words(rows.map((row) => row[2])),
    },
    leftOutFromS: null,
  };
}

const ways = new Ways(
  packets([
    [0, "access", "sender", 0, 0, 1, 2, nothing],
    [1, "access", "sender", 0, 1, 2, 3, nothing],
    [0, "path", "sender", 2, 2, 4, 5, nothing],
    [1, "path", "sender", 3, 4, 6, 7, nothing],
    [2, "path", "sender", 3.5, nothing, nothing, nothing, 3.5],
    [3, "path.backward", "receiver", 5, 5, 5, 6, nothing],
  ]),
);

test("links stand in the order in which packets cross them", () => {
  const lanes = ways.lanes.map(({ link, isForward, depth }) => [link, isForward, depth]);
  // Packet 2 was dropped at the first link that is known of it.
  expect(lanes).toEqual([
    ["access", true, 0],
    ["path.backward", false, 0],
    ["path", true, 1],
  ]);
  expect(ways.lanes.map(({ mostWaiting }) => mostWaiting)).toEqual([1, 0, 1]);
  expect(ways.flows).toEqual(["bulk"]);
  expect(ways.endS).toBe(7);
});

test("a packet waits, flies and falls", () => {
  const [access, , path] = ways.lanes;
  const places = (lane: typeof access, t: number) =>
    ways.seen(lane!, t, 0.5).map(({ row, where, at, length }) => [row, where, at, length]);
  expect(places(access, 0.5)).toEqual([
    [0, "flies", 0.25, 0.25],
    [1, "waits", 0, 0],
  ]);
  expect(places(access, 1.5)).toEqual([
    [0, "flies", 0.75, 0.5],
    [1, "flies", 0.25, 0.25],
  ]);
  expect(places(access, 3)).toEqual([]);
  expect(places(path, 3.75)).toEqual([
    [2, "flies", 1.75 / 3, 1.75 / 3],
    [3, "waits", 0, 0],
    [4, "falls", 0.5, 0],
  ]);
  expect(places(path, 4.25).map(([row]) => row)).toEqual([2, 3]);
});

test("steps go from event to event", () => {
  expect(ways.step(0, true)).toBe(1);
  expect(ways.step(3, true)).toBe(3.5);
  expect(ways.step(3.5, false)).toBe(3);
  expect(ways.step(0, false)).toBe(0);
  expect(ways.step(7, true)).toBe(7);
});

import { deflateRawSync } from "node:zlib";
import { deflateSync, strToU8 } from "fflate";
import { expect, test } from "vitest";
import { pack, unpack, type Shared } from "../src/share/link";

const shared: Shared = {
  title: "loopback",
  variants: [
    { text: '[run]\nduration = "9s" # ü', sets: [] },
    { text: '[run]\nduration = "9s" # ü', sets: [["flow.a.transport.tfrc.rtt_min", "4us"]] },
  ],
  files: { "lte.trace": "1\n2\n" },
  mode: "difference",
  span: [1, 2.5],
  card: ["loopback", "failing"],
};

const linkOf = (document: unknown) =>
  Buffer.from(deflateSync(strToU8(JSON.stringify(document)))).toString("base64url");

test("a link gives back what was put in", () => {
  const text = pack(shared);
  expect(text).toMatch(/^[\w-]+$/);
  expect(unpack(text)).toEqual(shared);
});

test("equal texts are stored once", () => {
  const text = "x".repeat(50) + Math.PI;
  const one = pack({ ...shared, variants: [{ text, sets: [] }] });
  const four = pack({ ...shared, variants: Array.from({ length: 4 }, () => ({ text, sets: [] })) });
  expect(four.length - one.length).toBeLessThan(40);
});

test("what is no link is told in one sentence", () => {
  for (const wrong of [
    "",
    "%%%",
    "AAAA",
    pack(shared).slice(0, 40),
    linkOf({ v: 9 }),
    linkOf({ v: 1, t: ["a"] }),
    linkOf(null),
  ]) {
    expect(() => unpack(wrong)).toThrow(/^The link cannot be read: .*\.$/);
  }
});

test("a hostile link neither fills the memory nor brings other types", () => {
  const bomb = deflateRawSync(Buffer.alloc(50_000_000)).toString("base64url");
  expect(() => unpack(bomb)).toThrow(/more than 4 MB/);
  const odd = unpack(
    linkOf({
      v: 1,
      n: 7,
      t: [{}, "a"],
      w: [
        [
          0,
          [
            ["k", 3],
            ["k", "v"],
          ],
        ],
        5,
        null,
        [0, []],
        [0, []],
      ],
      f: { a: 1, b: "x" },
      r: ["0", 1],
      c: [1],
    }),
  );
  expect(odd.title).toBe("Scenario");
  expect(odd.variants).toHaveLength(4);
  expect(odd.variants[0]).toEqual({ text: "a", sets: [["k", "v"]] });
  expect(odd.files).toEqual({ b: "x" });
  expect(odd.span).toBeNull();
  expect(odd.card).toBeNull();
});

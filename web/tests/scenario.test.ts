import { expect, test } from "vitest";
import { kindIn, scan } from "../src/scenario/context";
import {
  controls,
  positionOf,
  range,
  STEPS,
  valueAt,
  type Control,
} from "../src/scenario/controls";
import { nodeAt, options, type Schema } from "../src/scenario/schema";
import { quantity, written } from "../src/ui/units";

const schema = {
  properties: {
    run: { $ref: "#/$defs/run" },
    link: { items: { $ref: "#/$defs/link" }, type: "array" },
  },
  $defs: {
    run: {
      properties: {
        duration: { $ref: "#/$defs/duration", description: "How long." },
        seed: { type: "integer", minimum: 0 },
      },
    },
    link: {
      properties: {
        name: { type: "string" },
        rate: { $ref: "#/$defs/rate", description: "Its rate." },
        queue: { $ref: "#/$defs/queue" },
        loss: { $ref: "#/$defs/loss" },
        forward: { $ref: "#/$defs/direction" },
      },
    },
    direction: {
      properties: {
        rate: { $ref: "#/$defs/rate" },
        queue: { $ref: "#/$defs/queue" },
        loss: { $ref: "#/$defs/loss" },
      },
    },
    queue: {
      oneOf: [
        { enum: ["droptail", "codel"] },
        { $ref: "#/$defs/droptail" },
        { $ref: "#/$defs/codel" },
      ],
    },
    droptail: {
      description: "First in, first out.",
      properties: {
        kind: { const: "droptail" },
        limit: {
          anyOf: [
            { type: "integer", minimum: 1, maximum: 5000, "x-unit": "packets" },
            { type: "string" },
          ],
        },
      },
      required: ["kind"],
    },
    codel: {
      properties: { kind: { const: "codel" }, target: { $ref: "#/$defs/duration" } },
      required: ["kind"],
    },
    loss: {
      oneOf: [
        { enum: ["none"] },
        { properties: { kind: { const: "none" } } },
        {
          properties: { kind: { const: "random" }, rate: { $ref: "#/$defs/fraction" } },
          required: ["kind", "rate"],
        },
      ],
    },
    duration: { type: "string" },
    rate: { type: "string" },
    fraction: { anyOf: [{ type: "number", minimum: 0, maximum: 1 }, { type: "string" }] },
  },
} as unknown as Schema;

const text = `# a scenario
[run]
duration = "10s"
[[link]]
name = "a"
[[link]]
name = "b" # the second
queue = { kind = "codel", target = "5ms" }
forward.rate = "1Mbit"
`;

test("the scan finds each key with its table, also of lists and of dotted keys", () => {
  const { entries } = scan(text);
  const found = entries.map(({ steps, value }) => [steps.join("."), value]);
  expect(found).toEqual([
    ["run.duration", "10s"],
    ["link.0.name", "a"],
    ["link.1.name", "b"],
    ["link.1.queue.kind", "codel"],
    ["link.1.queue.target", "5ms"],
    ["link.1.queue", null],
    ["link.1.forward.rate", "1Mbit"],
  ]);
  const node = nodeAt(schema, ["link", 1, "queue", "target"], kindIn(entries));
  expect(node).toEqual({ $ref: "#/$defs/duration" });
  expect(nodeAt(schema, ["link", 1, "queue", "limits"], kindIn(entries))).toBeNull();
});

test("the cursor is in its table, before or after the equals sign", () => {
  const at = (marked: string) => scan(marked.replace("|", ""), marked.indexOf("|")).cursor;
  expect(at("[run]\ndur|")).toMatchObject({ table: ["run"], key: null, from: 6 });
  expect(at("[run]\nwarm|\nwarmup = 1")).toMatchObject({ table: ["run"], key: null, from: 6 });
  expect(at("[run]\nduration = |")).toMatchObject({
    table: ["run"],
    key: "duration",
    quoted: false,
  });
  expect(at('[run]\nduration = "1|"')).toMatchObject({
    table: ["run"],
    key: "duration",
    from: 18,
    quoted: true,
  });
  expect(at("[[link]]\nqueue = { ki| }")).toMatchObject({ table: ["link", 0, "queue"], key: null });
  expect(at('[[link]]\nqueue = { kind = "co|" }')).toMatchObject({
    table: ["link", 0, "queue"],
    key: "kind",
  });
  expect(at("[[link]]\n[[link]]\n\n|")).toMatchObject({ table: ["link", 1], key: null });
  expect(at("[[li|")).toMatchObject({ table: ["", "li"], key: null });
  expect(at("[[link]]\nforward.ra|")).toMatchObject({ table: ["link", 0, "forward"], key: null });
});

test("no text makes the scan hang or fail", () => {
  const pieces = [
    "[",
    "]",
    "[[",
    "{",
    "}",
    "=",
    '"',
    "'",
    ",",
    "\n",
    " ",
    "#",
    "a",
    "a.b",
    "1",
    "link",
    "é",
  ];
  let state = 1;
  const next = () => (state = (state * 48271) % 2147483647);
  for (let round = 0; round < 3000; round++) {
    const made = Array.from({ length: next() % 14 }, () => pieces[next() % pieces.length]!).join(
      "",
    );
    scan(made, next() % (made.length + 1));
  }
});

const resolved = `
[run]
duration = "10s"
seed = 1
[[link]]
name = "b"
[link.forward]
rate = "1Mbit"
[link.forward.queue]
kind = "droptail"
limit = 100
[link.forward.loss]
kind = "none"
`;

test("controls are made of the resolved scenario, with bounds and choices of the schema", () => {
  const made = controls(
    schema,
    resolved,
    '[run]\nduration = "10s"\n[[link]]\nname = "b"\nrate = "1Mbit"\n',
    [],
  );
  const found = new Map(made.map((control) => [control.key, control]));
  expect([...found.keys()]).toEqual([
    "run.duration",
    "run.seed",
    "link.b.rate",
    "link.b.queue.kind",
    "link.b.queue.limit",
    "link.b.loss.kind",
  ]);
  expect(found.get("link.b.rate")).toMatchObject({
    kind: "number",
    value: 1e6,
    dimension: "bit/s",
    documentation: "Its rate.",
  });
  expect(found.get("link.b.queue.limit")).toMatchObject({
    least: 1,
    most: 5000,
    whole: true,
    unit: "packets",
  });
  expect(found.get("link.b.queue.kind")!.choices.map(({ value }) => value)).toEqual([
    "droptail",
    "codel",
  ]);
  expect(found.get("link.b.loss.kind")!.needs.get("random")).toEqual([
    ["link.b.loss.rate", "0.01"],
  ]);
});

test("a key that stands in one direction of a link is set there", () => {
  const keys = controls(
    schema,
    resolved,
    '[[link]]\nname = "b"\nforward = { rate = "1Mbit" }\n',
    [],
  ).map(({ key }) => key);
  expect(keys).toContain("link.b.forward.rate");
  expect(keys).not.toContain("link.b.rate");
  expect(keys).toContain("link.b.queue.limit");
});

test("a slider goes around its value, within the bounds, and back", () => {
  const control = { value: 100, least: 1, most: 5000, dimension: "", whole: true } as Control;
  const around = range(control);
  expect(around).toEqual({ low: 1, high: 5000, zero: false });
  for (let position = 0; position <= STEPS; position += 50) {
    const value = valueAt(around, position, false);
    expect(Math.abs(positionOf(around, value) - position)).toBeLessThanOrEqual(1);
  }
  const zero = range({
    ...control,
    value: 0,
    least: 0,
    most: Infinity,
    dimension: "s",
    whole: false,
  });
  expect(valueAt(zero, 0, false)).toBe(0);
  expect(valueAt(zero, 1, false)).toBeGreaterThan(0);
  expect(zero.low).toBe(1e-6);
});

test("quantities are read and written as scenarios have them", () => {
  expect(quantity("43800us")).toEqual({ value: 0.0438, dimension: "s" });
  expect(quantity("1.5Mbit")).toEqual({ value: 1.5e6, dimension: "bit/s" });
  expect(quantity("cubic")).toBeNull();
  expect(written(4e-6, "s")).toBe("4us");
  expect(written(0.0438, "s", 6)).toBe("43.8ms");
  expect(written(2.5e6, "bit/s")).toBe("2.5Mbit");
  expect(written(0, "s")).toBe("0s");
  expect(written(0.00001, "")).toBe("0.00001");
  expect(options(schema, { oneOf: [{ const: "a", description: "one" }] })).toEqual([
    { value: "a", description: "one" },
  ]);
});

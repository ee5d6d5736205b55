// Makes the small pictures of the gallery: `node scripts/pictures.mjs PATH/TO/weir [CARD…]` runs the
// first run of each card and writes gallery/pictures.json. Runs are deterministic, so that the file
// changes only with the simulator or the scenarios.
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gallery } from "./gallery.mjs";
import { palette } from "./palette.mjs";

const [weir, ...only] = process.argv.slice(2);
if (!weir) throw new Error("usage: node scripts/pictures.mjs PATH/TO/weir [CARD…]");
const web = new URL("../", import.meta.url);
const root = new URL("../", web);
const file = new URL("gallery/pictures.json", web);
const { logFrom } = palette(root);
const COLUMNS = 80;
const CURVES = 4;

function columns(path) {
  const [head, ...lines] = readFileSync(path, "utf8").trimEnd().split(/\r?\n/);
  const names = head.split(",");
  const found = Object.fromEntries(names.map((name) => [name, []]));
  for (const line of lines)
    line
      .split(",")
      .forEach((cell, index) => found[names[index]].push(cell === "" ? NaN : Number(cell)));
  return found;
}

/** The curves of the first quantity that the run has: a rate or window of one flow, else goodput. */
function chosen(folder) {
  const list = (kind) =>
    existsSync(join(folder, kind))
      ? readdirSync(join(folder, kind))
          .sort()
          .map((name) => [name.replace(/\.csv$/, ""), join(folder, kind, name)])
      : [];
  const flows = list("flows").map(([name, path]) => [name, columns(path)]);
  const has = (table, column) => table[column]?.some((value) => !Number.isNaN(value));
  if (flows.length === 1) {
    const [[, table]] = flows;
    if (has(table, "allowed_rate_bps"))
      return { label: "allowed rate", column: "allowed_rate_bps", curves: flows };
    if (has(table, "cwnd_bytes"))
      return { label: "congestion window", column: "cwnd_bytes", curves: flows };
  }
  const intervals = list("intervals")
    .slice(0, CURVES)
    .map(([name, path]) => [name, columns(path)]);
  return { label: "goodput", column: "goodput_bps", curves: intervals };
}

function picture(card, folder, span) {
  const { label, column, curves } = chosen(folder);
  const values = curves.flatMap(([, table]) =>
    table[column].filter(
      (value, index) =>
        value > 0 && table.time_s[index] >= span[0] && table.time_s[index] <= span[1],
    ),
  );
  if (!values.length) return null;
  const [least, most] = values.reduce(
    ([a, b], value) => [Math.min(a, value), Math.max(b, value)],
    [Infinity, 0],
  );
  const log = column === "allowed_rate_bps" && most > least * logFrom;
  const [low, high] = log ? [Math.log10(least), Math.log10(most)] : [0, most];
  const share = (value) =>
    Math.round(
      Math.min(
        100,
        Math.max(
          0,
          (100 * ((log ? Math.log10(Math.max(value, least)) : value) - low)) / (high - low || 1),
        ),
      ),
    );
  const width = (span[1] - span[0]) / COLUMNS;
  const drawn = curves.map(([name, table], number) => {
    const [lows, highs] = [new Array(COLUMNS).fill(null), new Array(COLUMNS).fill(null)];
    let held = null;
    let index = 0;
    while (index < table.time_s.length && table.time_s[index] < span[0])
      held = table[column][index++];
    if (Number.isNaN(held)) held = null;
    for (let at = 0; at < COLUMNS; at++) {
      const end = span[0] + (at + 1) * width;
      let [a, b] = held === null ? [Infinity, -Infinity] : [held, held];
      while (index < table.time_s.length && table.time_s[index] <= end) {
        const value = table[column][index++];
        if (Number.isNaN(value)) continue;
        held = value;
        [a, b] = [Math.min(a, value), Math.max(b, value)];
      }
      if (a <= b) [lows[at], highs[at]] = [share(a), share(b)];
    }
    return { colour: number, name: curves.length > 1 ? name : "", low: lows, high: highs };
  });
  return { label, log, from: span[0], to: span[1], low: least, high: most, curves: drawn };
}

const made = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
const cards = gallery(root);
const temporary = mkdtempSync(join(tmpdir(), "weir-pictures-"));
for (const card of cards) {
  if (only.length && !only.includes(card.id)) continue;
  const run = card.runs[0];
  const folder = join(temporary, card.id);
  mkdirSync(folder);
  const path = join(folder, "scenario.toml");
  writeFileSync(path, card.scenarios[run.scenario]);
  for (const [name, text] of Object.entries(card.files ?? {}))
    writeFileSync(join(folder, name), text);
  const sets = run.set.flatMap(([key, value]) => ["--set", `${key}=${value}`]);
  execFileSync(weir, ["run", path, "--quiet", "--out", join(folder, "out"), ...sets], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const runs = join(folder, "out", "scenario");
  const result = join(
    runs,
    readdirSync(runs).find((name) => !name.startsWith(".")),
  );
  execFileSync(weir, ["export", result, "--format", "csv", "--out", join(folder, "csv")], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const { duration_s: end } = JSON.parse(readFileSync(join(result, "summary.json"), "utf8")).run;
  const plot = card.plots?.find(({ runs: of, untilS }) => of?.includes(run.name) && untilS);
  made[card.id] = picture(card, join(folder, "csv"), [
    plot?.fromS ?? 0,
    Math.min(end, plot?.untilS ?? end),
  ]);
  console.log(card.id);
  rmSync(folder, { recursive: true });
}
rmSync(temporary, { recursive: true });
const known = Object.fromEntries(cards.map(({ id }) => [id, made[id] ?? null]));
mkdirSync(new URL("gallery/", web), { recursive: true });
const lines = Object.entries(known).map(
  ([id, one]) => `${JSON.stringify(id)}: ${JSON.stringify(one)}`,
);
writeFileSync(file, `{\n${lines.join(",\n")}\n}\n`);

// Takes what `weir reproduce NAME… --json` has measured into gallery/measured.json, so that the page
// shows it beside the published values:
//
//     node scripts/measured.mjs REPRODUCED.json
//     node scripts/measured.mjs --check REPRODUCED.json    say whether that file has the same
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const check = process.argv[2] === "--check";
const source = process.argv[check ? 3 : 2];
if (!source) throw new Error("usage: node scripts/measured.mjs [--check] REPRODUCED.json");
const file = new URL("../gallery/measured.json", import.meta.url);
const made = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
const before = JSON.stringify(made);
for (const { name, rows } of JSON.parse(readFileSync(source, "utf8")).experiments) {
  // The page shows no quantities, for which nothing was published.
  const shown = rows.filter(
    ({ measured, verdict }) => verdict !== "quantity" && (measured !== null || verdict !== "input"),
  );
  made[name] = Object.fromEntries(
    shown.map(({ id, measured, verdict }) => [id, { measured, verdict }]),
  );
}
if (check) {
  if (JSON.stringify(made) !== before) {
    console.error(`${source} has other numbers than web/gallery/measured.json, expected the same`);
    process.exit(1);
  }
  console.log("web/gallery/measured.json has the numbers of this reproduction");
} else {
  const lines = Object.entries(made).map(
    ([name, rows]) => `${JSON.stringify(name)}: ${JSON.stringify(rows)}`,
  );
  writeFileSync(file, `{\n${lines.join(",\n")}\n}\n`);
}

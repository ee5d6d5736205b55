// Takes what `weir reproduce NAME… --json` has measured into gallery/measured.json, so that the page
// shows it beside the published values: `node scripts/measured.mjs REPRODUCED.json`.
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const [source] = process.argv.slice(2);
if (!source) throw new Error("usage: node scripts/measured.mjs REPRODUCED.json");
const file = new URL("../gallery/measured.json", import.meta.url);
const made = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
for (const { name, rows } of JSON.parse(readFileSync(source, "utf8")).experiments) {
  const measured = rows.filter((row) => row.measured !== null || row.verdict !== "input");
  made[name] = Object.fromEntries(
    measured.map(({ id, measured, verdict }) => [id, { measured, verdict }]),
  );
}
const lines = Object.entries(made).map(
  ([name, rows]) => `${JSON.stringify(name)}: ${JSON.stringify(rows)}`,
);
writeFileSync(file, `{\n${lines.join(",\n")}\n}\n`);

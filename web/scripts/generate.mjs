// Writes what the page takes from the repository: colours, gallery, lessons. Run before each build.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gallery } from "./gallery.mjs";
import { lessons } from "./lessons.mjs";
import { palette, paletteCss } from "./palette.mjs";

const web = new URL("../", import.meta.url);
const root = new URL("../", web);
const out = new URL("src/generated/", web);

rmSync(out, { recursive: true, force: true });
mkdirSync(new URL("cards/", out), { recursive: true });
mkdirSync(new URL("lessons/", out), { recursive: true });
const write = (name, text) => writeFileSync(new URL(name, out), text);
const json = (value) => JSON.stringify(value) + "\n";

const colours = palette(root);
write("palette.ts", `export const palette = ${JSON.stringify(colours, null, 2)} as const;\n`);
write("palette.css", paletteCss(colours));

const pictureFile = new URL("gallery/pictures.json", web);
const pictures = existsSync(pictureFile) ? JSON.parse(readFileSync(pictureFile, "utf8")) : {};
const cards = gallery(root);
for (const card of cards) write(`cards/${card.id}.json`, json(card));
const index = cards.map(({ id, kind, title, about, source, runs }) => ({
  id,
  kind,
  title,
  about,
  source,
  runs: runs.length,
  picture: pictures[id] ?? null,
}));
write("gallery.json", json(index));

mkdirSync(new URL("measured/", out));
const measuredFile = new URL("gallery/measured.json", web);
const measured = existsSync(measuredFile) ? JSON.parse(readFileSync(measuredFile, "utf8")) : {};
for (const { id } of cards) if (measured[id]) write(`measured/${id}.json`, json(measured[id]));

const pages = lessons(new URL("lessons/", web));
for (const page of pages) write(`lessons/${page.id}.json`, json(page));
write("lessons.json", json(pages.map(({ blocks: _, scenarios: __, ...meta }) => meta)));
console.log(`generated: ${cards.length} cards, ${pages.length} lessons`);

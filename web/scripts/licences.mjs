// The licences of what the page contains, as a file beside it.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const ALLOWED = new Set([
  "MIT",
  "ISC",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "Apache-2.0",
  "MIT OR Apache-2.0",
]);

/** The package that a bundled file belongs to; null for our own files. */
function packageOf(id) {
  const found = id.replaceAll("\\", "/").match(/^(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//);
  return found ? { folder: found[1], name: found[2] } : null;
}

function textOf(folder) {
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  return file && existsSync(join(folder, file))
    ? readFileSync(join(folder, file), "utf8").trim()
    : "";
}

export function licences() {
  return {
    name: "weir-licences",
    generateBundle(_options, bundle) {
      const packages = new Map();
      for (const chunk of Object.values(bundle)) {
        for (const id of chunk.type === "chunk" ? chunk.moduleIds : []) {
          const found = packageOf(id);
          if (found) packages.set(found.name, found.folder);
        }
      }
      const parts = [...packages]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, folder]) => {
          const { version, license } = JSON.parse(
            readFileSync(join(folder, "package.json"), "utf8"),
          );
          if (!ALLOWED.has(license))
            this.error(
              `${name} has the licence ${license}, which is not on the list of scripts/licences.mjs`,
            );
          return `${name} ${version} (${license})\n${"-".repeat(60)}\n${textOf(folder)}\n`;
        });
      const head =
        "Weir is licensed as MIT OR Apache-2.0. This page contains these packages besides;\n`weir notices` prints the licences of what the simulator contains.\n";
      this.emitFile({
        type: "asset",
        fileName: "LICENCES.txt",
        source: [head, ...parts].join("\n"),
      });
    },
  };
}

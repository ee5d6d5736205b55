// The table of a document: what it says, and what is measured.
import type { Card, Row } from "../gallery/cards";
import { h } from "../ui/dom";
import { digits } from "../ui/units";

/** A row as `weir reproduce` has judged it. */
export interface Measured {
  measured: number | null;
  verdict: string;
}

const KINDS: Record<Row["kind"], string> = {
  value: "number",
  theory: "formula",
  claim: "statement",
  check: "own check",
  input: "given",
  parameter: "fitted",
  quantity: "quantity",
};

/** What the document says: a value with its tolerance, or the bound that a statement implies. */
function said(row: Row): string {
  const value = row.published ?? row.expected;
  if (value !== undefined) return `${digits(value, 6)} ${row.unit}`.trim() + tolerance(row);
  const bounds = [row.atLeast, row.atMost].map((bound) => bound !== undefined && digits(bound, 5));
  if (bounds[0] && bounds[1]) return `${bounds[0]} to ${bounds[1]} ${row.unit}`.trim();
  if (bounds[0]) return `at least ${bounds[0]} ${row.unit}`.trim();
  return bounds[1] ? `at most ${bounds[1]} ${row.unit}`.trim() : "–";
}

function tolerance(row: Row): string {
  if (row.withinPercent !== undefined) return ` ± ${row.withinPercent} %`;
  return row.within ? ` ± ${digits(row.within)}` : "";
}

export function publishedTable(
  card: Card,
  run: string,
  measured: Map<string, Measured> | null,
): HTMLElement | null {
  const ofRun = (card.rows ?? []).filter((row) => row.run === run && row.kind !== "quantity");
  const given = (card.rows ?? []).filter((row) => row.kind === "input" && !row.run);
  const rows = ofRun.length ? ofRun : [];
  const checks = card.checks ?? [];
  if (!rows.length && !checks.length) return null;
  if (checks.length) {
    const list = checks.map(({ says, section }) =>
      h("li", {}, says, section ? h("small", {}, ` §${section}`) : null),
    );
    return h(
      "section",
      { class: "published" },
      h("h2", {}, "What must hold"),
      h("p", { class: "quiet-text" }, "weir suite bbr judges it."),
      h("ul", {}, ...list),
    );
  }
  const head = [
    "what",
    "published",
    ...(measured ? ["measured by weir reproduce", ""] : []),
    "place",
  ];
  const body = rows.map((row) => {
    const found = measured?.get(row.id);
    const cells = measured
      ? [
          h(
            "td",
            {},
            found && found.measured !== null ? `${digits(found.measured, 5)} ${row.unit}` : "–",
          ),
          h("td", { class: `verdict ${found?.verdict ?? ""}` }, found?.verdict ?? ""),
        ]
      : [];
    return h(
      "tr",
      {},
      h(
        "td",
        { title: row.explanation || row.note },
        row.text,
        " ",
        h("small", {}, KINDS[row.kind]),
      ),
      h("td", {}, said(row)),
      ...cells,
      h("td", { class: "place" }, row.place),
    );
  });
  const inputs = given.length
    ? h(
        "p",
        { class: "quiet-text" },
        `Given by the document: ${given
          .slice(0, 12)
          .map((row) => `${row.text} (${said(row)})`)
          .join("; ")}.`,
      )
    : null;
  return h(
    "section",
    { class: "published", "aria-label": "Published values" },
    h("h2", {}, "Published"),
    h("p", { class: "quiet-text" }, card.source ?? ""),
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ...head.map((word) => h("th", { scope: "col" }, word)))),
        h("tbody", {}, ...body),
      ),
    ),
    inputs,
  );
}

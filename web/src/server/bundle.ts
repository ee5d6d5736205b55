// Reads a run as `weir lab` sends it: a header in JSON, then the columns as they are in memory
// (crates/weir/src/commands/lab/bundle.rs).
import type { Explanation, RemedySettings, Run, Setting, Summary, Table } from "../engine/types";

const MAGIC = "WEIRRUN1";
const HEAD = 16;

interface Header {
  summaryJson: string;
  resolvedToml: string;
  explanationJson: string;
  tables: { name: string; rows: number; columns: { name: string; words?: string[] }[] }[];
}

const whole = (octets: number) => Math.ceil(octets / 8) * 8;

/** The run in these octets. */
export function unbundle(octets: ArrayBuffer, wallMs: number): Run {
  const text = (from: number, to: number) =>
    new TextDecoder().decode(new Uint8Array(octets, from, to - from));
  if (octets.byteLength < HEAD || text(0, 8) !== MAGIC)
    throw new Error("The server's answer is no run.");
  const length = Number(new DataView(octets).getBigUint64(8, true));
  if (HEAD + length > octets.byteLength) throw new Error("The server's answer is cut off.");
  const header = JSON.parse(text(HEAD, HEAD + length)) as Header;
  let at = HEAD + length;
  const take = (size: number) => {
    const from = at;
    at += whole(size);
    if (at > octets.byteLength) throw new Error("The server's answer is cut off.");
    return from;
  };
  const tables = header.tables.map(({ name, rows, columns }): Table => {
    const table: Table = { name, rows, numbers: {}, words: {} };
    for (const column of columns) {
      if (column.words)
        table.words[column.name] = {
          words: column.words,
          codes: new Uint32Array(octets, take(4 * rows), rows),
        };
      else table.numbers[column.name] = new Float64Array(octets, take(8 * rows), rows);
    }
    return table;
  });
  const explanation = JSON.parse(header.explanationJson) as Explanation;
  return {
    summary: JSON.parse(header.summaryJson) as Summary,
    summaryJson: header.summaryJson,
    resolvedToml: header.resolvedToml,
    tables,
    explanation,
    explanationJson: header.explanationJson,
    remedies: remediesOf(explanation),
    packets: null,
    wallMs,
  };
}

function remediesOf(explanation: Explanation): RemedySettings[] {
  return explanation.findings.flatMap((finding, index) =>
    finding.remedies.map(({ text, place, set }) => ({
      finding: index,
      text,
      place,
      set: set.map(settingOf),
    })),
  );
}

/** A setting as `--set` has it: the key ends at the first `=`. */
function settingOf(text: string): Setting {
  const at = text.indexOf("=");
  return [text.slice(0, at), text.slice(at + 1)];
}

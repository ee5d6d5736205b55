// The gallery: cards of the published experiments, the examples, the evaluation's cases and BBR's
// test cases, read from their folders. Nothing here is written by hand.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { parse } from "smol-toml";

/** The factors of `UNITS` in experiment/published.rs: to bit/s, seconds and plain numbers. */
function unitScales(root) {
  const text = readFileSync(new URL("crates/weir-lab/src/experiment/published.rs", root), "utf8");
  const list = text.slice(
    text.indexOf("const UNITS"),
    text.indexOf("];", text.indexOf("const UNITS")),
  );
  return new Map(
    [...list.matchAll(/\("([^"]*)", ([\d.e-]+)\)/g)].map(([, unit, scale]) => [
      unit,
      Number(scale),
    ]),
  );
}

/** The comment at the head of a scenario, as one text. */
export function headOf(toml) {
  const lines = [];
  for (const line of toml.split("\n")) {
    if (!line.startsWith("#")) break;
    lines.push(line.replace(/^#\s?/, ""));
  }
  return lines.join(" ").trim();
}

const firstSentence = (text) => text.match(/^.*?[.?!](?=\s|$)/s)?.[0] ?? text;

const settings = (set) =>
  (set ?? []).map((text) => {
    const at = text.indexOf("=");
    return [text.slice(0, at), text.slice(at + 1)];
  });

/** Files that a scenario names: rate traces beside it. */
function filesOf(toml, folder) {
  const files = {};
  for (const [, name] of toml.matchAll(/=\s*"([\w.-]+\.trace)"/g)) {
    const file = new URL(name, folder);
    if (existsSync(file)) files[name] = readFileSync(file, "utf8");
  }
  return Object.keys(files).length ? files : undefined;
}

function rowsOf(published, scales) {
  return (published.row ?? []).map((row) => ({
    id: row.id,
    place: row.place,
    text: row.text,
    kind: row.kind,
    published: row.published,
    expected: row.expected,
    unit: row.unit ?? "",
    scale: scales.get(row.unit ?? ""),
    within: row.within,
    withinPercent: row.within_percent,
    atLeast: row.at_least,
    atMost: row.at_most,
    run: row.measure?.run,
    note: row.note,
    explanation: row.explanation,
  }));
}

/** An experiment: its document, runs, rows and the plots that show traces. */
function experiment(root, scales, name) {
  const folder = new URL(`experiments/${name}/`, root);
  const published = parse(readFileSync(new URL("published.toml", folder), "utf8"));
  const text = (file) => readFileSync(new URL(file, folder), "utf8");
  const runs = (published.run ?? []).filter((run) => !run.testbed && run.scenario);
  const scenarios = {};
  for (const { scenario } of runs) scenarios[scenario] ??= text(scenario);
  const files = Object.values(scenarios).map((toml) => filesOf(toml, folder));
  return {
    id: name,
    kind: "experiment",
    title: published.document.title,
    source: published.document.source,
    about: published.document.about,
    runs: runs.map((run) => ({
      name: run.name,
      about: run.about,
      scenario: run.scenario,
      set: settings(run.set),
    })),
    scenarios,
    files: Object.assign({}, ...files),
    rows: rowsOf(published, scales),
    plots: (published.plot ?? [])
      .filter((plot) =>
        ["rate", "rtt", "overlay", "series", "interval", "sawtooth"].includes(plot.kind),
      )
      .map(({ name, kind, title, caption, runs, of, from_s, until_s, points, level }) => ({
        name,
        kind,
        title,
        caption,
        runs,
        of,
        fromS: from_s,
        untilS: until_s,
        points,
        level,
      })),
  };
}

function examples(root) {
  const folder = new URL("examples/", root);
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".toml"))
    .sort();
  const readme = readFileSync(new URL("README.md", folder), "utf8");
  /** The heading of the section that links the file first. */
  const titleOf = (file) => {
    const at = readme.search(new RegExp(`\\]\\(${file.replaceAll(".", "\\.")}\\)`));
    return at < 0 ? undefined : [...readme.slice(0, at).matchAll(/^## (.+)$/gm)].at(-1)?.[1];
  };
  return names.map((file) => {
    const toml = readFileSync(new URL(file, folder), "utf8");
    const name = file.replace(".toml", "");
    const about = headOf(toml);
    return {
      id: `example-${name}`,
      kind: "example",
      title: titleOf(file) ?? name.replaceAll("-", " "),
      about,
      runs: [{ name, about: firstSentence(about), scenario: file, set: [] }, ...inHead(about)],
      scenarios: { [file]: toml },
      files: filesOf(toml, folder),
    };

    /** Variants that the head of the file names: `--set KEY=FIRST,SECOND`. */
    function inHead(words) {
      const found = words.match(/--set ([\w.]+)=([\w.,]+)/);
      if (!found) return [];
      const values = found[2].replace(/\.$/, "").split(",").slice(1);
      return values.map((value) => ({
        name: value,
        about: `${found[1]}=${value}`,
        scenario: file,
        set: [[found[1], value]],
      }));
    }
  });
}

/** The chapters of the evaluation, each with its cases. */
function evaluation(root) {
  const folder = new URL("suites/rfc9743/", root);
  const suite = parse(readFileSync(new URL("suite.toml", folder), "utf8"));
  return suite.chapter
    .filter((chapter) => chapter.case?.length)
    .map((chapter) => {
      const scenarios = {};
      for (const { scenario } of chapter.case) {
        scenarios[scenario] ??= readFileSync(new URL(scenario, folder), "utf8");
      }
      return {
        id: `rfc9743-${chapter.id}`,
        kind: "evaluation",
        title: chapter.title,
        source: `RFC 9743 §${chapter.section}`,
        about: `${chapter.title}: ${chapter.case.map((one) => one.words).join("; ")}.`,
        runs: chapter.case.map((one) => ({
          name: one.words,
          about: one.words,
          scenario: one.scenario,
          set: settings(one.set),
        })),
        scenarios,
      };
    });
}

/**
 * BBR's test cases that need no rehearsal, as scenarios for QUIC: the tables of the case are taken
 * out, and the first flow gets the transport that `weir suite` gives it.
 */
function bbrCases(root) {
  const folder = new URL("suites/bbr/", root);
  const source = readFileSync(new URL("crates/weir-lab/src/suite/case.rs", root), "utf8");
  const ample = source.slice(source.indexOf("fn ample"));
  const quic = [...ample.slice(ample.indexOf("_ =>")).matchAll(/\("([a-z_]+)", "([^"]+)"\)/g)];
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".toml"))
    .sort();
  const cards = [];
  for (const file of names) {
    const text = readFileSync(new URL(file, folder), "utf8");
    const spec = parse(text).case;
    if (spec.trigger) continue;
    const from = text.search(/^(\[run\]|run = )/m);
    const parts = text.slice(from).split(/^(?=\[)/m);
    const rest = parts.filter((part) => !/^\[\[?case[\].]/.test(part)).join("");
    const own = Object.entries(spec.transport?.quic ?? {});
    const all = new Map([
      ["kind", "quic"],
      ["controller", "bbr"],
      ...quic.map(([, key, value]) => [key, value]),
      ...own,
    ]);
    const words = [...all].map(
      ([key, value]) =>
        `${key} = ${typeof value === "string" ? JSON.stringify(value) : inline(value)}`,
    );
    const toml =
      `# ${spec.title}: ${spec.source}\n` +
      rest.replace(/\[\[flow\]\]\n/, `[[flow]]\ntransport = { ${words.join(", ")} }\n`);
    const name = file.replace(".toml", "");
    cards.push({
      id: `bbr-${name}`,
      kind: "bbr",
      title: spec.title,
      source: spec.source,
      about: spec.how.trim().replace(/\s+/g, " "),
      runs: [{ name, about: spec.title, scenario: file, set: [] }],
      scenarios: { [file]: toml.trimEnd() + "\n" },
      checks: spec.check.map(({ says, section }) => ({ says, section })),
    });
  }
  return cards;
}

function inline(value) {
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (value && typeof value === "object") {
    return `{ ${Object.entries(value)
      .map(([key, inner]) => `${key} = ${inline(inner)}`)
      .join(", ")} }`;
  }
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** The five documents first, in the order of the README of the experiments, then the others. */
export function gallery(root) {
  const scales = unitScales(root);
  const readme = readFileSync(new URL("experiments/README.md", root), "utf8");
  const listed = [...readme.matchAll(/^\| \[([a-z0-9-]+)\]\(/gm)].map(([, name]) => name);
  const experiments = listed.map((name) => experiment(root, scales, name));
  return [
    ...experiments.filter((card) => card.runs.length),
    ...examples(root),
    ...evaluation(root),
    ...bbrCases(root),
  ];
}

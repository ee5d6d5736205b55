// Takes the colours of plots from the report's style sheet, and the order and the words of rules
// and bounds from the report, so that the page and the report look alike.
import { readFileSync } from "node:fs";

const between = (text, start, end) => {
  const from = text.indexOf(start);
  if (from < 0) throw new Error(`"${start}" is not there any more`);
  return text.slice(from, text.indexOf(end, from));
};

function theme(style, name) {
  const block = between(style, `const ${name}: Theme`, "};");
  const value = (key) => block.match(new RegExp(`${key}: "(#[0-9a-f]{6})"`))[1];
  const colours = between(block, "colours: [", "]").match(/#[0-9a-f]{6}/g);
  return {
    paper: value("paper"),
    ink: value("ink"),
    soft: value("soft"),
    grid: value("grid"),
    shade: value("shade"),
    alarm: style.match(/const ALARM: &str = "(#[0-9a-f]{6})"/)[1],
    colours,
  };
}

/** The words of `match limit` in the report's `rules.rs`. */
function limitWords(rules) {
  const body = between(rules, "fn words(limit", "other =>");
  const pairs = [...body.matchAll(/"([a-z_]+)" => "([^"]+)"/g)];
  return Object.fromEntries(pairs.map(([, limit, words]) => [limit, words]));
}

export function palette(root) {
  const read = (path) => readFileSync(new URL(path, root), "utf8");
  const style = read("crates/weir-lab/src/report/style.rs");
  const rules = read("crates/weir-lab/src/report/rules.rs");
  const plot = read("crates/weir-lab/src/report/plot.rs");
  const event = read("crates/weir-proto/src/event.rs");
  const axis = read("crates/weir-lab/src/report/axis.rs");
  const limits = between(event, "pub enum Limit {", "\n    }\n");
  const documented = [
    ...limits.matchAll(/((?:\s*\/\/\/[^\n]*\n)+)(?:\s*#\[default\]\n)?\s*\w+ => "([a-z_]+)"/g),
  ];
  const bounds = between(rules, "const BOUNDS: [(&str, usize)", "];");
  return {
    light: theme(style, "LIGHT"),
    dark: theme(style, "DARK"),
    limits: documented.map(([, doc, name]) => ({
      name,
      doc: doc.replace(/\s*\/\/\/ ?/g, " ").trim(),
    })),
    limitWords: limitWords(rules),
    bounds: Object.fromEntries(
      [...bounds.matchAll(/\("([a-z_]+)", (\d+)\)/g)].map(([, name, at]) => [name, Number(at)]),
    ),
    firstBound: Number(plot.match(/const BOUNDS: usize = (\d+)/)[1]),
    firstLimit: Number(plot.match(/const LIMITS: usize = (\d+)/)[1]),
    beside: Number(plot.match(/const BESIDE: Self = Self\((\d+)\)/)[1]),
    logFrom: Number(axis.match(/const LOG_FROM: f64 = ([\d.]+)/)[1]),
  };
}

/** Style variables of both themes: by the system's preference, or by the switch of the page. */
export function paletteCss({ light, dark }) {
  const variables = (theme) =>
    ["paper", "ink", "soft", "grid", "shade", "alarm"]
      .map((name) => `--${name}:${theme[name]};`)
      .concat(theme.colours.map((colour, number) => `--c${number}:${colour};`))
      .join("");
  const of = (theme, scheme) => `{${variables(theme)}color-scheme:${scheme}}\n`;
  return (
    `:root${of(light, "light")}` +
    `@media (prefers-color-scheme:dark){:root:not([data-theme="light"])${of(dark, "dark").trim()}}\n` +
    `:root[data-theme="dark"]${of(dark, "dark")}`
  );
}

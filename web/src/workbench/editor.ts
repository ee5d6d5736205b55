// The editor: TOML with completion and documentation from the schema, and the reader's errors at
// their places. It lives in a shadow root, where its styles need no exception from the content
// security policy.
import {
  autocompletion,
  completionKeymap,
  closeBrackets,
  closeBracketsKeymap,
  type Completion,
  type CompletionContext,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import {
  HighlightStyle,
  StreamLanguage,
  bracketMatching,
  syntaxHighlighting,
} from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { searchKeymap } from "@codemirror/search";
import { EditorState, type Text } from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Problem } from "../engine/types";
import { kindIn, scan } from "../scenario/context";
import {
  nodeAt,
  numeric,
  options,
  resolve,
  tables,
  type Node,
  type Schema,
  type Step,
} from "../scenario/schema";
import { h } from "../ui/dom";

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", color: "var(--ink)", backgroundColor: "var(--paper)" },
  ".cm-scroller": {
    fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
    lineHeight: "1.5",
  },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--soft)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": {
    backgroundColor: "color-mix(in srgb, var(--shade) 8%, transparent)",
  },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--shade) 28%, transparent) !important",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--ink)",
    border: "1px solid var(--grid)",
    borderRadius: "6px",
    maxWidth: "26rem",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--shade)",
    color: "var(--paper)",
  },
  ".cm-completionInfo": { maxWidth: "22rem", padding: "6px 8px" },
  ".documentation": { padding: "6px 10px", lineHeight: "1.4", fontFamily: "system-ui, sans-serif" },
  ".documentation p": { margin: "0 0 4px" },
  ".documentation .facts": { color: "var(--soft)" },
  "&.cm-focused": { outline: "2px solid var(--shade)", outlineOffset: "-2px" },
});

const highlight = HighlightStyle.define([
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: tags.string, color: "var(--c2)" },
  { tag: tags.number, color: "var(--c0)" },
  { tag: [tags.bool, tags.atom], color: "var(--c3)" },
  {
    tag: [tags.propertyName, tags.variableName, tags.definition(tags.propertyName)],
    color: "var(--ink)",
  },
  { tag: [tags.heading, tags.typeName, tags.labelName], color: "var(--c1)", fontWeight: "600" },
]);

export interface Editor {
  element: HTMLElement;
  text(): string;
  setText(text: string): void;
  setProblems(problems: Problem[]): void;
  goTo(line: number, column: number): void;
  destroy(): void;
}

export function makeEditor(schema: Schema, onchange: (text: string) => void): Editor {
  const element = h("div", { class: "editor" });
  const root = element.attachShadow({ mode: "open" });
  let told = false;
  const view = new EditorView({
    root,
    state: EditorState.create({
      doc: "",
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        EditorView.lineWrapping,
        bracketMatching(),
        closeBrackets(),
        StreamLanguage.define(toml),
        syntaxHighlighting(highlight),
        autocompletion({ override: [(context) => complete(schema, context)], icons: false }),
        hoverTooltip((view, position) => {
          const found = documentationAt(schema, view.state.doc.toString(), position);
          return (
            found && { pos: found.from, end: found.to, create: () => ({ dom: found.element }) }
          );
        }),
        lintGutter(),
        keymap.of([
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...completionKeymap,
          ...lintKeymap,
          indentWithTab,
        ]),
        EditorView.contentAttributes.of({
          "aria-label": "Scenario in TOML. Escape, then Tab leaves the editor.",
          spellcheck: "false",
        }),
        look,
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !told) onchange(update.state.doc.toString());
        }),
      ],
    }),
  });
  root.append(view.dom);
  view.dom.style.height = "100%";
  return {
    element,
    text: () => view.state.doc.toString(),
    setText(text) {
      if (text === view.state.doc.toString()) return;
      told = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      told = false;
    },
    setProblems(problems) {
      const diagnostics = problems.map((problem) => diagnostic(view.state.doc, problem));
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    goTo(line, column) {
      const at = offset(view.state.doc, line, column);
      view.dispatch({
        selection: { anchor: at },
        effects: EditorView.scrollIntoView(at, { y: "center" }),
      });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}

function offset(doc: Text, line: number, column: number): number {
  const found = doc.line(Math.min(doc.lines, Math.max(1, line)));
  // Columns count characters, offsets UTF-16 units.
  const before = [...found.text].slice(0, Math.max(0, column - 1)).join("");
  return Math.min(found.to, found.from + before.length);
}

function diagnostic(doc: Text, problem: Problem): Diagnostic {
  const from = offset(doc, problem.line, problem.column);
  const to = Math.max(from, offset(doc, problem.endLine, problem.endColumn));
  const message = problem.help ? `${problem.message}\n${problem.help}` : problem.message;
  return {
    from,
    to: to === from ? Math.min(doc.length, from + 1) : to,
    severity: problem.severity === "error" ? "error" : "info",
    message,
    source: problem.rule,
  };
}

/** The node of the table that the cursor is in, and its keys. */
function tableAt(schema: Schema, text: string, steps: Step[]): Node[] {
  const kind = kindIn(scan(text).entries);
  const node = nodeAt(schema, steps, kind);
  return node ? tables(schema, node, kind(steps)) : [];
}

const HEADS = ["run", "host", "link", "wifi", "flow"];

function complete(schema: Schema, context: CompletionContext) {
  const text = context.state.doc.toString();
  const { cursor } = scan(text, context.pos);
  if (!cursor) return null;
  const before = text.slice(cursor.from, context.pos);
  if (!context.explicit && !before && !cursor.quoted) return null;
  if (cursor.table[0] === "") return heads(schema, context);
  const list = tableAt(schema, text, cursor.table);
  if (cursor.key === null)
    return { from: cursor.from, options: keys(schema, list), validFor: /^[\w-]*$/ };
  const node = list.map((table) => table.properties?.[cursor.key!]).find(Boolean);
  if (!node) return null;
  const words = options(schema, node);
  const inTable = cursor.key === "kind" ? tableKinds(schema, list) : words;
  const found = resolve(schema, node);
  const examples = (found.examples ?? []).map((example) => ({
    value: String(example),
    description: "an example",
  }));
  const quote = (word: string) =>
    cursor.quoted || word === "true" || word === "false" || !Number.isNaN(Number(word))
      ? word
      : `"${word}"`;
  const all = inTable.length ? inTable : examples;
  const made = all.map(({ value, description }): Completion => ({
    label: quote(value),
    info: description || undefined,
    type: "constant",
  }));
  return made.length ? { from: cursor.from, options: made, validFor: /^[\w."-]*$/ } : null;
}

function heads(schema: Schema, context: CompletionContext) {
  const line = context.state.doc.lineAt(context.pos);
  const made = HEADS.map((name): Completion => {
    const list = name !== "run";
    return {
      label: list ? `[[${name}]]` : `[${name}]`,
      info: schema.properties?.[name]?.description,
      type: "type",
    };
  });
  return { from: line.from, to: line.to, options: made };
}

function tableKinds(schema: Schema, list: Node[]) {
  return list.flatMap((table) =>
    options(schema, table.properties?.kind ?? {}).map((word) => ({
      ...word,
      description: word.description || (table.description ?? ""),
    })),
  );
}

function keys(schema: Schema, list: Node[]): Completion[] {
  const found = new Map<string, Completion>();
  for (const table of list) {
    for (const [key, node] of Object.entries(table.properties ?? {})) {
      const needed = table.required?.includes(key) ? 1 : 0;
      if (!found.has(key))
        found.set(key, {
          label: key,
          apply: `${key} = `,
          info: () => documentation(schema, key, node),
          type: "property",
          boost: needed,
        });
    }
  }
  return [...found.values()];
}

/** Sentence, values, bounds and default of a key. */
export function documentation(schema: Schema, key: string, node: Node): HTMLElement {
  const full = resolve(schema, node);
  const number = numeric(schema, node);
  const facts: string[] = [];
  if (node.default !== undefined) facts.push(`default ${JSON.stringify(node.default)}`);
  if (number?.minimum !== undefined) facts.push(`at least ${number.minimum}`);
  if (number?.maximum !== undefined && number.maximum < 1e12)
    facts.push(`at most ${number.maximum}`);
  if (number?.["x-unit"]) facts.push(number["x-unit"]);
  const words = options(schema, node);
  const list = words
    .slice(0, 12)
    .map(({ value, description }) =>
      h("li", {}, h("code", {}, value), description ? ` ${description}` : ""),
    );
  return h(
    "div",
    { class: "documentation" },
    h("p", {}, h("b", {}, key), " ", node.description ?? full.description ?? ""),
    facts.length ? h("p", { class: "facts" }, facts.join(", ")) : null,
    list.length ? h("ul", {}, ...list) : null,
  );
}

function documentationAt(schema: Schema, text: string, position: number) {
  const { entries } = scan(text);
  const entry = entries
    .filter(({ keyFrom, valueTo }) => position >= keyFrom && position <= valueTo)
    .at(-1);
  if (!entry) return null;
  const key = String(entry.steps.filter((step) => typeof step === "string").at(-1));
  const node = nodeAt(schema, entry.steps, kindIn(entries));
  if (!node) return null;
  const onKey = position <= entry.keyTo;
  return {
    from: onKey ? entry.keyFrom : entry.valueFrom,
    to: onKey ? entry.keyTo : entry.valueTo,
    element: documentation(schema, key, node),
  };
}

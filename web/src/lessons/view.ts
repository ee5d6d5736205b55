// Lessons: a text, live figures, and questions whose answers are hidden until they are asked for.
import type { Engine } from "../engine/engine";
import { h } from "../ui/dom";
import { LessonFigure, type FigureSpec } from "./figure";
import index from "../generated/lessons.json";

export interface LessonSummary {
  id: string;
  title: string;
  about: string;
  reading: { title: string; url: string }[];
}

type Inline =
  | { type: "text" | "code"; text: string }
  | { type: "br" }
  | { type: "strong" | "em" | "del" | "span"; inner?: Inline[]; text?: string }
  | { type: "link"; href: string; inner?: Inline[]; text?: string };

type Block =
  | { type: "heading"; depth: number; inner: Inline[] }
  | { type: "paragraph"; inner: Inline[] }
  | { type: "quote"; blocks: Block[] }
  | { type: "list"; ordered: boolean; items: Block[][] }
  | { type: "table"; head: Inline[][]; rows: Inline[][][] }
  | { type: "code"; text: string }
  | { type: "rule" }
  | { type: "figure"; figure: FigureSpec }
  | { type: "question"; question: Block[]; answer: Block[] };

interface Lesson extends LessonSummary {
  blocks: Block[];
  scenarios: Record<string, string>;
}

const lessons = index as unknown as LessonSummary[];
const loaders = import.meta.glob<{ default: Lesson }>("../generated/lessons/*.json");

export function lessonList(): HTMLElement {
  const items = lessons.map(({ id, title, about }) =>
    h(
      "li",
      { class: "card" },
      h("a", { href: `#/lessons/${id}` }, h("h2", {}, title), h("p", {}, about)),
    ),
  );
  return h(
    "div",
    { class: "gallery" },
    h(
      "header",
      { class: "lead" },
      h("h1", {}, "Lessons"),
      h("p", {}, "Each has a short text, a live figure, and two questions. They can be printed."),
    ),
    h("ol", { class: "cards lessons" }, ...items),
  );
}

export interface LessonView {
  element: HTMLElement;
  figures: LessonFigure[];
  close(): void;
}

export async function lessonView(engine: Engine, id: string): Promise<LessonView | null> {
  const load = loaders[`../generated/lessons/${id}.json`];
  if (!load) return null;
  const lesson = (await load()).default;
  const figures: LessonFigure[] = [];
  let questions = 0;

  const block = (each: Block): Node => {
    switch (each.type) {
      case "heading":
        return h(each.depth <= 2 ? "h2" : "h3", {}, ...each.inner.map(inline));
      case "paragraph":
        return h("p", {}, ...each.inner.map(inline));
      case "quote":
        return h("blockquote", {}, ...each.blocks.map(block));
      case "list": {
        const items = each.items.map((item) => h("li", {}, ...item.map(block)));
        return each.ordered ? h("ol", {}, ...items) : h("ul", {}, ...items);
      }
      case "table": {
        const head = h(
          "tr",
          {},
          ...each.head.map((cell) => h("th", { scope: "col" }, ...cell.map(inline))),
        );
        const rows = each.rows.map((row) =>
          h("tr", {}, ...row.map((cell) => h("td", {}, ...cell.map(inline)))),
        );
        return h(
          "div",
          { class: "scroll" },
          h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows)),
        );
      }
      case "code":
        return h("pre", {}, h("code", {}, each.text));
      case "rule":
        return h("hr");
      case "question":
        return h(
          "section",
          { class: "question" },
          h("h3", {}, `Question ${++questions}`),
          ...each.question.map(block),
          h("details", {}, h("summary", {}, "Answer"), ...each.answer.map(block)),
        );
      case "figure": {
        const figure = new LessonFigure(
          engine,
          each.figure,
          lesson.scenarios[each.figure.scenario] ?? "",
          lesson.title,
        );
        figures.push(figure);
        return figure.element;
      }
    }
  };

  const at = lessons.findIndex((each) => each.id === id);
  const beside = (lessonAt: LessonSummary | undefined, words: string) =>
    lessonAt
      ? h("a", { href: `#/lessons/${lessonAt.id}` }, `${words}: ${lessonAt.title}`)
      : h("span");
  const print = h(
    "button",
    { type: "button", class: "no-print", onclick: () => window.print() },
    "Print",
  );
  const reading = lesson.reading.map(({ title, url }) => h("li", {}, external(url, title)));
  const element = h(
    "article",
    { class: "lesson" },
    h(
      "header",
      {},
      h(
        "p",
        { class: "quiet-text no-print" },
        h("a", { href: "#/lessons" }, "Lessons"),
        ` · ${at + 1} of ${lessons.length}`,
      ),
      h("h1", {}, lesson.title),
      h("p", { class: "about" }, lesson.about),
      print,
    ),
    ...lesson.blocks.map(block),
    reading.length ? h("section", {}, h("h2", {}, "Read next"), h("ul", {}, ...reading)) : null,
    h(
      "nav",
      { class: "pager no-print", "aria-label": "Lessons" },
      beside(lessons[at - 1], "Before"),
      beside(lessons[at + 1], "Next"),
    ),
  );
  return { element, figures, close: () => figures.forEach((figure) => figure.close()) };
}

/** A link out of the page; only addresses of the web. */
function external(url: string, words: string): HTMLElement {
  return /^https:\/\//.test(url)
    ? h("a", { href: url, rel: "noreferrer" }, words)
    : h("span", {}, words);
}

function inline(each: Inline): Node {
  switch (each.type) {
    case "text":
      return document.createTextNode(each.text);
    case "code":
      return h("code", {}, each.text);
    case "br":
      return h("br");
    case "link": {
      const words = each.inner?.map(inline) ?? [document.createTextNode(each.text ?? "")];
      if (each.href.startsWith("#/")) return h("a", { href: each.href }, ...words);
      const link = external(each.href, "");
      link.append(...words);
      return link;
    }
    default:
      return h(
        each.type,
        {},
        ...(each.inner?.map(inline) ?? [document.createTextNode(each.text ?? "")]),
      );
  }
}

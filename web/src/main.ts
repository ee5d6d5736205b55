// The page: routes, theme and the engine that all views share.
import "uplot/dist/uPlot.min.css";
import "./generated/palette.css";
import "./style.css";
import { startEngine, type Engine } from "./engine/engine";
import { loadCard } from "./gallery/cards";
import { galleryView } from "./gallery/view";
import { lessonList, lessonView } from "./lessons/view";
import { Server } from "./server/server";
import { ServedEngine } from "./server/engine";
import { sharedRuns } from "./server/open";
import { serverView } from "./server/view";
import { unpack, type Shared } from "./share/link";
import { button, h } from "./ui/dom";
import { scheme, startTheme, switchTheme } from "./ui/theme";
import { workbench } from "./workbench/view";

startTheme();
const main = h("main", { id: "main", tabindex: -1 });
const themeButton = button("", () => {
  switchTheme();
  showTheme();
});
const showTheme = () => {
  const dark = scheme() === "dark";
  themeButton.textContent = dark ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", dark ? "Light colours" : "Dark colours");
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
showTheme();
const links = [
  ["#/", "Gallery"],
  ["#/lab", "Workbench"],
  ["#/lessons", "Lessons"],
].map(([href, words]) => h("a", { href }, words));
const live = h("div", { id: "live", class: "only-read", "aria-live": "polite" });
const nav = h("nav", { "aria-label": "Pages" }, ...links);
document.body.append(
  h(
    "a",
    {
      class: "skip",
      href: "#main",
      onclick: (event: Event) => {
        event.preventDefault();
        main.focus();
      },
    },
    "To the content",
  ),
  h("header", { class: "bar" }, h("a", { class: "brand", href: "#/" }, "Weir"), nav, themeButton),
  main,
  live,
);

/** `weir lab`, if that has sent this page; then the page has its runs too. */
const server = Server.find();
void server.then((found) => {
  if (!found) return;
  const link = h("a", { href: "#/runs" }, "Runs");
  links.push(link);
  nav.append(link);
  markLinks();
});

let engine: Engine | null = null;
/** Where long runs are made natively, and runs of the folder are shown. */
let served: ServedEngine | null = null;
async function theEngine(): Promise<Engine> {
  const found = await server;
  engine ??= startEngine();
  if (found) return (served ??= new ServedEngine(engine, found));
  return engine;
}

/** What is shown, for tests; nothing of the page uses it. */
const shown: Record<string, unknown> = {};
Object.assign(window, { weir: shown });

/** What a new scenario begins with. */
const FIRST_CARD = "example-cubic-newreno";

async function fromCard(id: string, run: string | undefined): Promise<Shared | null> {
  const card = await loadCard(id);
  const found = card?.runs.find(({ name }) => name === run) ?? card?.runs[0];
  if (!card || !found) return null;
  return {
    title: card.runs.length > 1 ? `${card.id}: ${found.name}` : card.title,
    variants: [{ text: card.scenarios[found.scenario] ?? "", sets: found.set }],
    files: card.files ?? {},
    mode: "beside",
    span: null,
    card: [card.id, found.name],
  };
}

let close: () => void = () => undefined;
let turn = 0;

function put(element: HTMLElement, title: string, closing: () => void = () => undefined): void {
  close();
  close = closing;
  main.replaceChildren(element);
  document.title = title ? `${title} · Weir` : "Weir";
  window.scrollTo(0, 0);
}

const failed = (words: string) =>
  put(
    h(
      "div",
      { class: "gallery" },
      h("h1", {}, "This page cannot be shown"),
      h("p", {}, words),
      h("p", {}, h("a", { href: "#/" }, "To the gallery")),
    ),
    "Error",
  );

/** Marks the link of the page that is shown. */
function markLinks(): void {
  const page = location.hash.split("?")[0]!.split("/")[1] ?? "";
  for (const link of links) {
    const here = link.getAttribute("href")!.slice(2).split("/")[0] === page;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

async function route(): Promise<void> {
  const mine = ++turn;
  const [path = "", query = ""] = location.hash.replace(/^#/, "").split("?");
  const [, page = "", id = "", run] = path.split("/");
  markLinks();
  try {
    if (page === "lab") {
      const packed = new URLSearchParams(query).get("s");
      const shared = packed
        ? unpack(packed)
        : await fromCard(id || FIRST_CARD, run && decodeURIComponent(run));
      if (mine !== turn) return;
      if (!shared) return failed(`There is no experiment “${id}”.`);
      const bench = await workbench(await theEngine(), shared);
      if (mine !== turn) return bench.close();
      Object.assign(shown, { session: bench.session, stack: bench.stack });
      return put(bench.element, shared.title, bench.close);
    }
    if (page === "runs") {
      const found = await server;
      if (mine !== turn) return;
      if (!found)
        return failed("This page was not sent by “weir lab”, so that it has no folder of runs.");
      const paths = new URLSearchParams(query).getAll("path");
      if (!paths.length) {
        const open = (chosen: string[]) =>
          (location.hash = `#/runs?${new URLSearchParams(chosen.map((one) => ["path", one]))}`);
        const list = serverView(found, { open });
        return put(list.element, "Runs", list.close);
      }
      await theEngine();
      const shared = await sharedRuns(found, served!, paths);
      const bench = await workbench(served!, shared);
      if (mine !== turn) return bench.close();
      Object.assign(shown, { session: bench.session, stack: bench.stack });
      return put(bench.element, shared.title, bench.close);
    }
    if (page === "lessons" && id) {
      const lesson = await lessonView(await theEngine(), id);
      if (mine !== turn) return lesson?.close();
      if (!lesson) return failed(`There is no lesson “${id}”.`);
      Object.assign(shown, { lesson });
      return put(lesson.element, lesson.element.querySelector("h1")!.textContent!, lesson.close);
    }
    if (page === "lessons") return put(lessonList(), "Lessons");
    put(galleryView(), "");
  } catch (error) {
    if (mine !== turn) return;
    console.error(error);
    failed(error instanceof Error ? error.message : String(error));
  }
}

window.addEventListener("hashchange", () => void route());
void route();

// The workbench: settings and text on one side, the runs of the variants on the other.
import type { Engine } from "../engine/engine";
import { ScenarioError } from "../engine/engine";
import { addPublished, loadCard, publishedSpan, type Card, type CardRun } from "../gallery/cards";
import {
  differences,
  figuresOf,
  flowsOf,
  FLOWS_AT_FIRST,
  together,
  type Shown,
} from "../plots/figures";
import { Stack, type Column } from "../plots/stack";
import { figuresSvg, png, svgText } from "../plots/svg";
import type { Schema } from "../scenario/schema";
import { pack, type Shared } from "../share/link";
import { button, h, swatch } from "../ui/dom";
import { colour } from "../ui/theme";
import { Alive } from "./alive";
import { makeEditor, type Editor } from "./editor";
import { archive, fileName, save } from "./files";
import { publishedTable, type Measured } from "./published";
import { MODES, nameOf, Session, type Change } from "./session";
import { Settings } from "./settings";
import { summaryTable } from "./summary";
import { Why } from "./why";

/** A pause in typing after which the text is checked and run. */
const TYPING_MS = 250;

export interface Workbench {
  element: HTMLElement;
  session: Session;
  stack: Stack;
  close(): void;
}

export async function workbench(engine: Engine, shared: Shared): Promise<Workbench> {
  const schema = (await engine.schema()) as unknown as Schema;
  const session = new Session(engine);
  const card = shared.card ? await loadCard(shared.card[0]) : null;
  const cardRun = card?.runs.find(({ name }) => name === shared.card![1]) ?? card?.runs[0] ?? null;
  const measured = card?.rows?.length ? await loadMeasured(card) : null;
  const page = new Page(engine, session, schema, card, cardRun, measured);
  session.open(shared);
  return {
    element: page.element,
    session,
    stack: page.stack,
    close: () => page.close(),
  };
}

/** What `weir reproduce` has measured, if the site was built with it. */
async function loadMeasured(card: Card): Promise<Map<string, Measured> | null> {
  const load = measuredLoaders[`../generated/measured/${card.id}.json`];
  return load ? new Map(Object.entries((await load()).default)) : null;
}
const measuredLoaders = import.meta.glob<{ default: Record<string, Measured> }>(
  "../generated/measured/*.json",
);

class Page {
  readonly element: HTMLElement;
  readonly stack: Stack;
  private readonly editor: Editor;
  private readonly settings: Settings;
  private readonly why: Why;
  private readonly alive: Alive;
  private readonly tabs = h("div", { class: "variants", role: "group", "aria-label": "Variants" });
  private readonly modes = h("div", {
    class: "modes",
    role: "group",
    "aria-label": "How variants are shown",
  });
  private readonly status = h("p", { class: "status", role: "status" });
  private readonly progress = h("progress", { max: 1, "aria-label": "Share that is simulated" });
  private readonly problem = h("div", { class: "problem", role: "alert", hidden: true });
  private readonly table = h("div");
  private readonly flows = h("div", { class: "flow-choice", role: "group", "aria-label": "Flows" });
  private readonly published = h("div");
  private readonly sides: Record<
    "settings" | "text",
    { tab: HTMLButtonElement; panel: HTMLElement }
  >;
  private typing = 0;
  private checks = 0;
  private published_ = false;
  private frame = 0;
  private fresh = false;

  constructor(
    private readonly engine: Engine,
    private readonly session: Session,
    schema: Schema,
    private readonly card: Card | null,
    private readonly run: CardRun | null,
    private readonly measured: Map<string, Measured> | null,
  ) {
    this.stack = new Stack(session.view, {
      height: 150,
      onfinding: (column, index) => this.chooseFinding(column, index),
    });
    this.editor = makeEditor(schema, (text) => this.typed(text));
    this.settings = new Settings(session, schema);
    this.why = new Why(session);
    this.alive = new Alive(engine, session);
    this.sides = {
      settings: this.side("Settings", "settings", this.settings.element),
      text: this.side("Scenario", "text", this.editor.element),
    };
    this.element = h(
      "div",
      { class: "workbench" },
      this.head(),
      h(
        "div",
        { class: "panes" },
        h(
          "aside",
          { class: "side", "aria-label": "Scenario" },
          h(
            "div",
            { class: "tablist", role: "tablist" },
            this.sides.settings.tab,
            this.sides.text.tab,
          ),
          this.sides.settings.panel,
          this.sides.text.panel,
        ),
        h(
          "div",
          { class: "results" },
          this.problem,
          this.table,
          this.flows,
          this.zoomBar(),
          this.stack.element,
          this.alive.element,
          this.why.element,
          this.published,
        ),
      ),
    );
    this.turn("settings", false);
    session.listen((change) => this.changed(change));
    session.view.listen(
      () => this.zoomState(),
      () => undefined,
    );
  }

  close(): void {
    clearTimeout(this.typing);
    cancelAnimationFrame(this.frame);
    this.alive.close();
    this.session.close();
    this.stack.destroy();
    this.editor.destroy();
  }

  private side(words: string, name: "settings" | "text", content: HTMLElement) {
    const panel = h(
      "div",
      { class: "panel", role: "tabpanel", id: `panel-${name}`, "aria-label": words },
      content,
    );
    const tab = button(words, () => this.turn(name), {
      role: "tab",
      "aria-controls": `panel-${name}`,
    });
    return { tab, panel };
  }

  /** Shows a tab. On a narrow screen the tabs are a sheet at the bottom, which a second click closes. */
  private turn(name: "settings" | "text", open?: boolean): void {
    const side = this.element.querySelector(".side");
    const same = this.sides[name].tab.getAttribute("aria-selected") === "true";
    side?.classList.toggle("open", open ?? !(same && side.classList.contains("open")));
    for (const [key, { tab, panel }] of Object.entries(this.sides)) {
      tab.setAttribute("aria-selected", String(key === name));
      panel.hidden = key !== name;
    }
  }

  private head(): HTMLElement {
    const files = h(
      "details",
      { class: "menu" },
      h("summary", { class: "button" }, "Download"),
      h(
        "div",
        { class: "menu-items" },
        this.file("Scenario, TOML", () => save(`${this.name()}.toml`, this.session.current.text)),
        this.file("All tables, CSV in a ZIP", () => this.saveTables()),
        this.file(
          "Summary, JSON",
          () =>
            this.session.current.run &&
            save(`${this.name()}-summary.json`, this.session.current.run.summaryJson),
        ),
        this.file("Plots, SVG", () =>
          save(`${this.name()}.svg`, svgText(this.picture()), "image/svg+xml"),
        ),
        this.file(
          "Plots, PNG",
          () => void png(this.picture()).then((blob) => save(`${this.name()}.png`, blob)),
        ),
      ),
    );
    const copy = button("Copy link", () => void this.copyLink(copy), {
      title: "The link holds the scenario and its variants. Nothing is sent anywhere.",
    });
    const about = this.run?.about ?? this.card?.about ?? "";
    return h(
      "header",
      { class: "bench-head" },
      h(
        "div",
        { class: "bench-title" },
        h("h1", {}, this.card?.title ?? "Workbench"),
        this.runChoice(),
        about ? h("p", { class: "quiet-text" }, about) : null,
      ),
      h("div", { class: "bench-tools" }, copy, files),
      h(
        "div",
        { class: "bench-variants" },
        this.tabs,
        this.modes,
        h("div", { class: "bench-status" }, this.progress, this.status),
      ),
    );
  }

  /** The other runs of the same document. */
  private runChoice(): HTMLElement | null {
    const { card, run } = this;
    if (!card || card.runs.length < 2) return null;
    const select = h("select", { "aria-label": "Run of this document" });
    select.append(
      ...card.runs.map(({ name, about }) => h("option", { value: name, title: about }, name)),
    );
    select.value = run?.name ?? "";
    select.addEventListener("change", () => {
      location.hash = `#/lab/${card.id}/${encodeURIComponent(select.value)}`;
    });
    return h("label", { class: "run-choice" }, "Run ", select);
  }

  private file(words: string, onclick: () => void): HTMLElement {
    return button(words, () => {
      onclick();
      this.element.querySelector<HTMLDetailsElement>(".menu")!.open = false;
    });
  }

  private name = () => fileName(this.session.title);

  private saveTables(): void {
    const { run, letter } = this.session.current;
    if (run)
      save(`${this.name()}-${letter}.zip`, new Blob([archive(run)], { type: "application/zip" }));
  }

  private picture(): SVGElement {
    return figuresSvg(this.session.title, this.stack.figures, this.session.view.span);
  }

  private async copyLink(where: HTMLButtonElement): Promise<void> {
    const link = `${location.href.split("#")[0]}#/lab?s=${pack(this.session.shared())}`;
    history.replaceState(null, "", link);
    try {
      await navigator.clipboard.writeText(link);
      where.textContent = "Copied";
    } catch {
      where.textContent = "It is in the address bar";
    }
    setTimeout(() => (where.textContent = "Copy link"), 2000);
  }

  private zoomBar(): HTMLElement {
    const { view } = this.session;
    const bar = h("div", { class: "zoom", role: "group", "aria-label": "Time shown" });
    const document = this.card && this.run ? publishedSpan(this.card, this.run.name) : null;
    bar.append(
      button("−", () => view.zoom(2), { "aria-label": "Zoom out", title: "Zoom out (minus)" }),
      button("+", () => view.zoom(0.5), { "aria-label": "Zoom in", title: "Zoom in (plus)" }),
      button("◀", () => view.pan(-0.25), { "aria-label": "Earlier" }),
      button("▶", () => view.pan(0.25), { "aria-label": "Later" }),
      button("All", () => view.reset(), {
        "aria-label": "Show the whole run",
        title: "Show the whole run (0, or a double click)",
      }),
    );
    if (document)
      bar.append(
        button("As published", () => view.show(document), {
          title: `0 to ${document[1]} s, as the document's plot`,
        }),
      );
    bar.append(
      h(
        "span",
        { class: "quiet-text hint" },
        "Drag to zoom; Ctrl and wheel, or two fingers, zoom too.",
      ),
    );
    return bar;
  }

  private zoomState(): void {
    this.element.classList.toggle("zoomed", this.session.view.zoomed);
  }

  private chooseFinding(column: number, index: number): void {
    const { session } = this;
    const shown =
      session.mode === "beside"
        ? session.variants.filter(({ run }) => run)[column]
        : session.current;
    const variant = shown ? session.variants.indexOf(shown) : -1;
    if (variant >= 0 && variant !== session.active) session.choose(variant);
    this.why.choose(index);
  }

  private typed(text: string): void {
    clearTimeout(this.typing);
    this.typing = window.setTimeout(() => {
      this.session.edit(text);
      void this.check();
    }, TYPING_MS);
  }

  /** What the reader and lint say of the text; the newest answer counts. */
  private async check(): Promise<void> {
    const number = ++this.checks;
    const problems = await this.engine
      .check(this.session.current.text, this.session.files)
      .catch(() => []);
    if (number === this.checks) this.editor.setProblems(problems);
  }

  private changed(change: Change): void {
    if (change === "progress") return this.showStatus();
    if (change === "run") this.fresh = true;
    if (change === "variants") {
      this.shown_();
      this.fresh = true;
    }
    if (change === "text" || change === "variants") {
      this.editor.setText(this.session.current.text);
      void this.check();
    }
    if (change === "settings") this.settings.show(false);
    if (change === "variants" || change === "settings" || change === "run") this.showTabs();
    this.showStatus();
    if (change === "settings" || change === "text") return;
    // One drawing a frame, however fast the runs come.
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  private shown_(): void {
    this.modes.hidden = this.session.variants.length < 2;
  }

  private draw(): void {
    const { session } = this;
    if (this.fresh) {
      this.fresh = false;
      this.settings.show(true);
      this.table.replaceChildren(summaryTable(session));
      this.why.show();
      void this.alive.show();
      this.showFlows();
    }
    if (!this.published_ && this.card && this.run && session.current.run) {
      this.published_ = true;
      const table = publishedTable(this.card, this.run.name, this.measured);
      if (table) this.published.append(table);
      const span = publishedSpan(this.card, this.run.name);
      if (span && !session.view.zoomed && span[1] < session.view.whole[1]) session.view.show(span);
    }
    this.showModes();
    this.stack.show(this.columns());
    this.element.dataset.runs = String(Number(this.element.dataset.runs ?? 0) + 1);
    this.element.dataset.drawn = String(performance.now());
  }

  private columns(): Column[] {
    const { session } = this;
    const several = session.variants.length > 1;
    const shown = session.variants.flatMap((variant, number): (Shown & { settings: string })[] =>
      variant.run
        ? [
            {
              name: several ? variant.letter : "",
              number,
              run: variant.run,
              settings: nameOf(variant),
            },
          ]
        : [],
    );
    const selection = { flows: session.flows };
    const findings = session.current.run?.explanation.findings ?? [];
    if (shown.length > 1 && session.mode === "together") {
      const figures = together(shown, selection);
      this.mark(figures);
      return [{ heading: null, figures, findings }];
    }
    if (shown.length > 1 && session.mode === "difference") {
      return [{ heading: null, figures: differences(shown, selection), findings }];
    }
    return shown.map(({ settings, ...one }) => {
      const figures = figuresOf(one, selection);
      this.mark(figures);
      const heading = several
        ? h("p", {}, swatch(colour(one.number)), h("b", {}, one.name), ` ${settings}`)
        : null;
      return { heading, figures, findings: one.run.explanation.findings };
    });
  }

  private mark(figures: Parameters<typeof addPublished>[0]): void {
    if (this.card && this.run) addPublished(figures, this.card, this.run.name);
  }

  private showModes(): void {
    const { session } = this;
    this.shown_();
    this.modes.replaceChildren(
      ...MODES.map((mode) =>
        button(mode[0]!.toUpperCase() + mode.slice(1), () => session.setMode(mode), {
          "aria-pressed": String(session.mode === mode),
        }),
      ),
    );
  }

  private showTabs(): void {
    const { session } = this;
    const made = session.variants.map((variant, index) => {
      const chosen = index === session.active;
      const tab = h(
        "button",
        {
          type: "button",
          class: "variant-tab",
          "aria-pressed": String(chosen),
          onclick: () => session.choose(index),
          title: nameOf(variant),
        },
        swatch(colour(index)),
        h("b", {}, variant.letter),
        " ",
        h("span", { class: "variant-name" }, nameOf(variant)),
      );
      const close =
        session.variants.length > 1
          ? button("×", () => session.remove(index), {
              class: "close",
              "aria-label": `Close variant ${variant.letter}`,
            })
          : null;
      return h("span", { class: chosen ? "variant chosen" : "variant" }, tab, close);
    });
    const add = button("+ Variant", () => session.add(), {
      disabled: session.full,
      title: session.full
        ? "There are four variants"
        : "Copies this one, to change a setting and compare",
    });
    this.tabs.replaceChildren(...made, add);
  }

  private showFlows(): void {
    const { session } = this;
    const all = [...new Set(session.variants.flatMap(({ run }) => (run ? flowsOf(run) : [])))];
    this.flows.hidden = all.length < 2;
    if (all.length < 2) return this.flows.replaceChildren();
    const chosen = session.flows.length ? session.flows : all.slice(0, FLOWS_AT_FIRST);
    const boxes = all.slice(0, 40).map((flow) => {
      const box = h("input", { type: "checkbox" });
      box.checked = chosen.includes(flow);
      box.addEventListener("change", () => {
        const next = box.checked ? [...chosen, flow] : chosen.filter((other) => other !== flow);
        session.showFlows(all.filter((name) => next.includes(name)));
        this.showFlows();
      });
      return h("label", {}, box, ` ${flow}`);
    });
    this.flows.replaceChildren(...boxes);
  }

  private showStatus(): void {
    const { session } = this;
    const running = session.variants.find(({ progress }) => progress !== null);
    this.progress.hidden = !running;
    if (running) this.progress.value = running.progress ?? 0;
    const { run, error } = session.current;
    this.showProblem(error);
    this.element.classList.toggle("stale", !!error);
    if (running && (running.run?.wallMs ?? Infinity) > 300) {
      const stop = button("Stop", () => session.stop(), { class: "quiet" });
      if (!this.status.querySelector("button")) this.status.replaceChildren("Running. ", stop);
    } else if (run && !running) {
      this.status.textContent = `${Number(run.summary.run.events).toLocaleString("en")} events in ${run.wallMs < 10 ? run.wallMs.toFixed(1) : Math.round(run.wallMs)} ms; seed ${run.summary.run.seed}.`;
    } else if (!running) {
      const again = button("Run", () => session.again(session.current));
      this.status.replaceChildren(error ? "" : again);
    }
  }

  private showProblem(error: Error | null): void {
    this.problem.hidden = !error;
    if (!error) return;
    const words: (Node | string)[] = [error.message];
    if (error instanceof ScenarioError) {
      const { line, column, help } = error.problem;
      const ofText = !error.source.startsWith("--set");
      if (ofText) {
        words.unshift(
          button(`Line ${line}`, () => {
            this.turn("text", true);
            this.editor.goTo(line, column);
          }),
          " ",
        );
      } else words.unshift(`${error.source}: `);
      if (help && !error.message.includes(help)) words.push(h("small", {}, ` ${help}`));
    }
    this.problem.replaceChildren(...words);
  }
}

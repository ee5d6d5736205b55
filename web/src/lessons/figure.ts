// A live figure of a lesson: a scenario, a few sliders, and some of its plots.
import type { Engine, Setting } from "../engine/engine";
import { figuresOf } from "../plots/figures";
import { Stack } from "../plots/stack";
import { pack } from "../share/link";
import { button, h } from "../ui/dom";
import { written, type Dimension } from "../ui/units";
import { Session } from "../workbench/session";
import { summaryTable } from "../workbench/summary";

interface Slider {
  key: string;
  label: string;
  min?: number;
  max?: number;
  step?: number;
  unit?: string;
  scale?: "log" | "linear";
  shows?: string;
  choices?: (string | number)[];
}

export interface FigureSpec {
  scenario: string;
  plots: string[];
  flows?: string[];
  slider?: Slider[];
}

const PLOTS: Record<string, string> = { round_trip: "rtt", one_way_delay: "delay" };
const STEPS = 400;

export class LessonFigure {
  readonly element: HTMLElement;
  readonly session: Session;
  private readonly stack: Stack;
  private readonly table = h("div");
  private readonly controls = h("div", { class: "lesson-controls no-print" });
  private readonly printed = h("p", { class: "print-only quiet-text" });
  private frame = 0;
  private readonly seen: IntersectionObserver;

  constructor(
    private readonly engine: Engine,
    private readonly spec: FigureSpec,
    private readonly toml: string,
    title: string,
  ) {
    this.session = new Session(engine);
    this.stack = new Stack(this.session.view, { height: 150, onfinding: () => undefined });
    const open = h("a", { class: "no-print", href: "#/lab" }, "Open in the workbench");
    open.addEventListener("click", () => {
      open.href = `#/lab?s=${pack(this.session.shared())}`;
    });
    this.element = h(
      "figure",
      { class: "lesson-figure" },
      this.controls,
      this.printed,
      this.stack.element,
      this.table,
      h("figcaption", {}, open),
    );
    this.session.title = title;
    this.session.listen((change) => {
      if (change === "run" || change === "variants") this.later();
    });
    // A figure runs when it comes into sight.
    this.seen = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        this.seen.disconnect();
        void this.start(title);
      },
      { rootMargin: "300px" },
    );
    this.seen.observe(this.element);
  }

  close(): void {
    this.seen.disconnect();
    cancelAnimationFrame(this.frame);
    this.session.close();
    this.stack.destroy();
  }

  private async start(title: string): Promise<void> {
    const sliders = await Promise.all(
      (this.spec.slider ?? []).map((slider) => this.control(slider)),
    );
    const reset = button("As in the text", () => {
      this.session.current.sets = [];
      this.session.again(this.session.current);
      sliders.forEach((slider) => slider.reset());
    });
    this.controls.replaceChildren(...sliders.map(({ element }) => element), reset);
    this.session.open({
      title,
      variants: [{ text: this.toml, sets: [] }],
      files: {},
      mode: "beside",
      span: null,
      card: null,
    });
  }

  /** The value that the scenario has; of all flows that of the first. */
  private async present(
    key: string,
  ): Promise<{ text: string; number: number | null; unit: string } | null> {
    const name = this.toml.match(/\[\[flow\]\]\s*\nname = "([^"]+)"/)?.[1] ?? "";
    return this.engine.value(this.toml, key.replace("flow.*", `flow.${name}`)).catch(() => null);
  }

  private async control(slider: Slider): Promise<{ element: HTMLElement; reset(): void }> {
    const present = await this.present(slider.key);
    return slider.choices
      ? this.choice(slider, slider.choices.map(String), present?.text ?? "")
      : this.slide(slider, present?.number ?? null);
  }

  private choice(slider: Slider, choices: string[], present: string) {
    const select = h(
      "select",
      { "data-key": slider.key },
      ...choices.map((word) => h("option", { value: word }, word)),
    );
    if (!choices.includes(present)) select.prepend(h("option", { value: "" }, "as in the text"));
    const first = choices.includes(present) ? present : "";
    select.value = first;
    select.addEventListener("change", () => {
      if (select.value === "") this.session.unset(slider.key);
      else this.session.set([[slider.key, select.value]]);
    });
    return {
      element: h("label", {}, slider.label, " ", select),
      reset: () => void (select.value = first),
    };
  }

  private slide(slider: Slider, base: number | null) {
    const { min = 0, max = 1, step = 0 } = slider;
    const unit = slider.unit ?? "";
    const log = slider.scale === "log";
    const first = base === null ? min : base / unitFactor(unit);
    const value = (position: number): number => {
      if (!log) return position;
      const found = min * (max / min) ** (position / STEPS);
      return step ? Math.round(found / step) * step : Number(found.toPrecision(2));
    };
    const position = (at: number) =>
      log ? Math.round((STEPS * Math.log(Math.max(at, min) / min)) / Math.log(max / min)) : at;
    const whole = log && min >= 1;
    const input = h("input", {
      type: "range",
      "data-key": slider.key,
      "aria-label": slider.label,
      min: log ? 0 : min,
      max: log ? STEPS : max,
      step: log ? 1 : step || "any",
    });
    const output = h("output");
    const show = () => {
      const at = whole ? Math.round(value(Number(input.value))) : value(Number(input.value));
      const words = shown(at, unit, slider.shows ?? "");
      output.textContent = words;
      input.setAttribute("aria-valuetext", words);
      return at;
    };
    const reset = () => {
      input.value = String(position(first));
      // A scenario may have a value between two steps.
      output.textContent = shown(first, unit, slider.shows ?? "");
    };
    reset();
    input.addEventListener("input", () =>
      this.session.set([[slider.key, `${show()}${unit}`] as Setting]),
    );
    return { element: h("label", {}, slider.label, " ", input, " ", output), reset };
  }

  private later(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  private draw(): void {
    const { run, error, sets } = this.session.current;
    this.printed.textContent = sets.map(([key, value]) => `${key} = ${value}`).join(", ");
    if (error) {
      this.table.replaceChildren(h("p", { class: "problem" }, error.message));
      return;
    }
    if (!run) return;
    const wanted = this.spec.plots.map((plot) => PLOTS[plot] ?? plot);
    const all = figuresOf({ name: "", number: 0, run }, { flows: this.spec.flows ?? [] });
    const figures = wanted
      .map((id) => all.find((figure) => figure.id === id))
      .filter((figure) => figure !== undefined);
    this.stack.show([{ heading: null, figures, findings: [] }]);
    this.table.replaceChildren(summaryTable(this.session));
    this.element.dataset.runs = String(Number(this.element.dataset.runs ?? 0) + 1);
  }
}

const FACTORS: Record<string, number> = {
  ns: 1e-9,
  us: 1e-6,
  ms: 1e-3,
  s: 1,
  bit: 1,
  kbit: 1e3,
  Mbit: 1e6,
  Gbit: 1e9,
  b: 1,
  B: 1,
  kB: 1e3,
  MB: 1e6,
};
const unitFactor = (unit: string) => FACTORS[unit] ?? 1;
const DIMENSIONS: Record<string, Dimension> = { ns: "s", us: "s", ms: "s", s: "s" };

/** A slider's value for people: 40 ms, 2.1 %, 33 packets. */
function shown(value: number, unit: string, shows: string): string {
  if (DIMENSIONS[unit] === "s")
    return written(value * unitFactor(unit), "s")
      .replace("us", " µs")
      .replace(/(\d)([nm]?s)$/, "$1 $2");
  const words = shows || unit.replace(/^([kMG]?)bit$/, "$1bit/s");
  if (!words && value < 1) return `${Number((value * 100).toPrecision(3))} %`;
  return `${Number(value.toPrecision(4))} ${words}`.trim();
}

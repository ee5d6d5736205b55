// Sliders and choices, and the settings of the current variant.
import {
  controls,
  positionOf,
  range,
  STEPS,
  valueAt,
  type Control,
  type Range,
} from "../scenario/controls";
import type { Schema } from "../scenario/schema";
import { button, h } from "../ui/dom";
import { withUnit, written } from "../ui/units";
import type { Session } from "./session";

const MATTERS = 50;

/** The text of a number for `--set`. */
export function settingText(
  value: number,
  control: Pick<Control, "dimension" | "whole" | "reciprocal">,
): string {
  if (control.reciprocal && value > 0) return String(1 / Math.max(1, Math.round(1 / value)));
  return control.whole ? String(Math.round(value)) : written(value, control.dimension);
}

/** A number for people, with its unit. */
export function shownText(value: number, control: Pick<Control, "dimension" | "unit">): string {
  if (control.dimension) return withUnit(value, control.dimension, 4);
  return `${Number(value.toPrecision(4))}${control.unit ? ` ${control.unit}` : ""}`;
}

interface Row {
  element: HTMLElement;
  control: Control;
  update(control: Control): void;
}

export class Settings {
  readonly element: HTMLElement;
  private readonly list = h("div", { class: "control-groups" });
  private readonly chips = h("div", { class: "chips" });
  private readonly search = h("input", {
    type: "search",
    placeholder: "Find a setting, such as rtt_min or ecn",
    "aria-label": "Find a setting",
  });
  private rows = new Map<string, Row>();
  private shape = "";
  private all: Control[] = [];
  /** Ranges stay while the page is open, so that a slider does not move below the finger. */
  private readonly ranges = new Map<string, Range>();

  constructor(
    private readonly session: Session,
    private readonly schema: Schema,
  ) {
    this.search.addEventListener("input", () => this.rebuild());
    this.element = h("div", { class: "settings" }, this.chips, this.search, this.list);
  }

  /** Shows the settings of the current variant; `values` if its resolved scenario is new. */
  show(values: boolean): void {
    this.showChips();
    const { run, text, sets } = this.session.current;
    if (!run || !values) return;
    try {
      this.all = controls(this.schema, run.resolvedToml, text, sets);
    } catch (error) {
      console.error(error);
      return;
    }
    const shape = JSON.stringify([
      this.session.active,
      this.all.map(({ key, kind, rank }) => [key, kind, rank < MATTERS]),
    ]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.rebuild();
    } else {
      for (const control of this.all) this.rows.get(control.key)?.update(control);
    }
  }

  private showChips(): void {
    const { sets } = this.session.current;
    const made = sets.map(([key, value]) => {
      const words = `${key} = ${value}`;
      return h(
        "span",
        { class: "chip" },
        h("code", {}, words),
        button("×", () => this.session.unset(key), {
          "aria-label": `Undo ${words}`,
          title: "Undo this setting",
        }),
      );
    });
    this.chips.replaceChildren(...made);
    if (sets.length) {
      this.chips.append(
        button("Write into the scenario", () => void this.session.write(), { class: "quiet" }),
      );
    }
    this.chips.hidden = !sets.length;
  }

  private rebuild(): void {
    const focused =
      document.activeElement instanceof HTMLElement
        ? document.activeElement.dataset.key
        : undefined;
    const asked = this.search.value.trim().toLowerCase();
    const found = asked
      ? this.all
          .filter(({ key, documentation }) =>
            `${key} ${documentation}`.toLowerCase().includes(asked),
          )
          .slice(0, 60)
      : this.all;
    const groups = new Map<string, { near: Control[]; far: Control[] }>();
    for (const control of found) {
      const group = groups.get(control.group) ?? { near: [], far: [] };
      groups.set(control.group, group);
      (asked || control.rank < MATTERS || control.rank === 99 ? group.near : group.far).push(
        control,
      );
    }
    this.rows.clear();
    const row = (control: Control) => {
      const made = this.row(control);
      this.rows.set(control.key, made);
      return made.element;
    };
    const made = [...groups].map(([name, { near, far }]) => {
      near.sort((a, b) => a.rank - b.rank);
      const more = far.length
        ? h(
            "details",
            { class: "more" },
            h("summary", {}, `${far.length} more`),
            h("div", { class: "later" }),
          )
        : null;
      more?.addEventListener("toggle", () => {
        const later = more.querySelector(".later")!;
        if (more.open && !later.childNodes.length) later.append(...far.map(row));
      });
      return h("fieldset", {}, h("legend", {}, name), ...near.map(row), more);
    });
    this.list.replaceChildren(...made);
    if (!made.length)
      this.list.append(
        h("p", { class: "quiet-text" }, "No setting of this scenario has this name."),
      );
    if (focused)
      this.list.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  private row(control: Control): Row {
    return control.kind === "choice" ? this.choice(control) : this.number(control);
  }

  private choice(first: Control): Row {
    const row: Row = { element: h("div", { class: "control" }), control: first, update };
    const session = this.session;
    const select = h("select", {
      "data-key": first.key,
      "aria-label": `${first.group}: ${first.label}`,
    });
    select.addEventListener("change", () => {
      // What the scenario has already stays as it is.
      const has = new Set(this.all.map(({ key }) => key));
      const needs = (row.control.needs.get(select.value) ?? []).filter(([key]) => !has.has(key));
      session.set([[first.key, select.value], ...needs]);
    });
    row.element.append(label(first), select);
    update(first);
    return row;

    function update(control: Control): void {
      row.control = control;
      const words = control.choices.map(({ value }) => value);
      if (!words.includes(control.text)) words.unshift(control.text);
      if (select.options.length !== words.length) {
        select.replaceChildren(...words.map((word) => h("option", { value: word }, word)));
      }
      select.value = control.text;
      const chosen = control.choices.find(({ value }) => value === control.text);
      select.title = chosen?.description ?? "";
    }
  }

  private number(first: Control): Row {
    const row: Row = {
      element: h("div", { class: "control" }),
      control: first,
      update: (control) => update(control),
    };
    const { session, ranges } = this;
    const rangeOf = (control: Control) => {
      const known = ranges.get(control.key);
      if (
        known &&
        control.value <= known.high &&
        (control.value >= known.low || control.value === 0)
      )
        return known;
      const made = range(control);
      ranges.set(control.key, made);
      return made;
    };
    const name = `${first.group}: ${first.label}`;
    const slider = h("input", {
      type: "range",
      min: 0,
      max: STEPS,
      step: 1,
      "data-key": first.key,
      "aria-label": name,
    });
    const field = h("input", {
      type: "text",
      class: "number",
      "aria-label": `${name}, value`,
      inputmode: "text",
      spellcheck: "false",
    });
    slider.addEventListener("input", () => {
      const value = valueAt(rangeOf(row.control), Number(slider.value), row.control.whole);
      const text = settingText(value, row.control);
      field.value = text;
      slider.setAttribute("aria-valuetext", shownText(value, row.control));
      session.set([[first.key, text]]);
    });
    field.addEventListener("change", () => session.set([[first.key, field.value.trim()]]));
    row.element.append(label(first), slider, field);
    update(first);
    return row;

    function update(control: Control): void {
      row.control = control;
      if (document.activeElement !== slider)
        slider.value = String(positionOf(rangeOf(control), control.value));
      if (document.activeElement !== field)
        field.value = control.dimension
          ? written(control.value, control.dimension, 6)
          : control.text;
      slider.setAttribute("aria-valuetext", shownText(control.value, control));
    }
  }
}

const label = (control: Control) =>
  h(
    "span",
    { class: "control-label", title: `${control.key}: ${control.documentation}` },
    shortLabel(control.label),
  );

/** The group says the rest: `queue.kind` is the queue, `transport.tfrc.rtt_min` rtt_min. */
const shortLabel = (text: string) =>
  text === "transport.kind"
    ? "transport"
    : text.replace(/^transport\.(tfrc\.)?/, "").replace(/\.kind$/, "");

// Why: what held each sender, and what went wrong. A remedy is a button that makes a variant.
import type { Finding } from "../engine/types";
import { button, h } from "../ui/dom";
import { timeText } from "../ui/units";
import { durationOf } from "../plots/figures";
import type { Session } from "./session";

export class Why {
  readonly element = h("section", { class: "why", "aria-label": "Why" });
  private items: HTMLElement[] = [];

  constructor(private readonly session: Session) {}

  show(): void {
    const { session } = this;
    const { run } = session.current;
    this.items = [];
    if (!run) return this.element.replaceChildren();
    const { explanation, remedies } = run;
    const heading =
      session.variants.length > 1 ? `Why, in variant ${session.current.letter}` : "Why";
    const held = explanation.held.slice(0, 6).map(({ flow, shares }) => {
      const words = shares
        .filter(({ share }) => share.value >= 0.005)
        .slice(0, 4)
        .map(
          ({ bound, share, rule }) =>
            `${bound.replaceAll("_", " ")} ${(share.value * 100).toFixed(1)} %${rule ? ` (rule: ${rule[0].replaceAll("_", " ")})` : ""}`,
        );
      return h("li", {}, h("b", {}, flow), ` was held by ${words.join(", ") || "nothing"}.`);
    });
    const findings = explanation.findings.map((finding, index) => {
      const own = remedies.filter((remedy) => remedy.finding === index);
      const item = this.finding(finding, own, durationOf(run));
      this.items.push(item);
      return item;
    });
    this.element.replaceChildren(
      h("h2", {}, heading),
      h("ul", { class: "held" }, ...held),
      findings.length
        ? h("ol", { class: "finding-list" }, ...findings)
        : h("p", {}, "Nothing in this run looks wrong."),
    );
  }

  /** Brings a finding into sight and shows its time. */
  choose(index: number): void {
    const item = this.items[index];
    const finding = this.session.current.run?.explanation.findings[index];
    if (!item || !finding) return;
    item.querySelector("details")!.open = true;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    item.scrollIntoView({ block: "center", behavior: still ? "auto" : "smooth" });
    item.querySelector("summary")!.focus({ preventScroll: true });
  }

  private finding(
    finding: Finding,
    remedies: { text: string; place: string; set: [string, string][] }[],
    duration: number,
  ): HTMLElement {
    const { session } = this;
    const [from, to] = finding.span_s;
    const also = finding.also.length ? ` and ${finding.also.length} more` : "";
    const show = button(
      "Show its time",
      () => {
        const room = (to - from) * 0.1;
        session.view.show([from - room, to + room]);
      },
      { class: "quiet" },
    );
    const tries = remedies.map(({ text, place, set }) => {
      const words = set.map(([key, value]) => `${key}=${value}`).join(" ");
      const full = session.full;
      const attributes = {
        title: full ? "There are four variants: close one first" : words,
        disabled: full || !set.length,
        class: "remedy",
      };
      return h(
        "li",
        {},
        button("Try", () => session.add(set), attributes),
        ` ${text} `,
        h("small", {}, `(${place})`),
      );
    });
    return h(
      "li",
      { class: "finding" },
      h(
        "details",
        {},
        h(
          "summary",
          {},
          h("b", {}, `${finding.subject}${also}: ${finding.title}`),
          " ",
          h("span", {}, finding.symptom.text),
        ),
        h("ul", {}, ...finding.chain.map(({ text }) => h("li", {}, text))),
        h(
          "p",
          { class: "quiet-text" },
          `Seen from ${timeText(from, duration)} to ${timeText(to, duration)}. Source: ${finding.citation} `,
          show,
        ),
      ),
      tries.length ? h("ul", { class: "remedies" }, ...tries) : null,
    );
  }
}

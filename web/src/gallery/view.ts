// The gallery: a click opens a card in the workbench and runs it.
import { h } from "../ui/dom";
import { cards, type CardKind, type CardSummary } from "./cards";
import { cardPicture } from "./picture";

const SECTIONS: [CardKind, string, string][] = [
  [
    "experiment",
    "Published experiments",
    "Each runs here, with the published values marked on its plots.",
  ],
  ["example", "Everyday questions", "Short scenarios to begin with."],
  [
    "evaluation",
    "Evaluation of a controller, RFC 9743",
    "The chapters of the evaluation with their cases; CUBIC is the subject.",
  ],
  [
    "bbr",
    "BBR's test cases",
    "Cases of draft-ietf-ccwg-bbr over QUIC, those that need no rehearsal. weir suite bbr runs and judges all.",
  ],
];

export function galleryView(): HTMLElement {
  const search = h("input", {
    type: "search",
    placeholder: "Find an experiment",
    "aria-label": "Find an experiment",
  });
  const sections = SECTIONS.map(([kind, title, words]) => {
    const own = cards.filter((card) => card.kind === kind);
    const list = h("ul", { class: "cards" }, ...own.map(cardOf));
    const section = h(
      "section",
      {},
      h("h2", {}, title),
      h("p", { class: "quiet-text" }, words),
      list,
    );
    return {
      section,
      items: own.map((card, index) => ({ card, element: list.children[index] as HTMLElement })),
    };
  });
  search.addEventListener("input", () => {
    const asked = search.value.trim().toLowerCase();
    for (const { section, items } of sections) {
      for (const { card, element } of items) {
        element.hidden = !`${card.title} ${card.about} ${card.id}`.toLowerCase().includes(asked);
      }
      section.hidden = items.every(({ element }) => element.hidden);
    }
  });
  return h(
    "div",
    { class: "gallery" },
    h(
      "header",
      { class: "lead" },
      h("h1", {}, "Congestion control, run in this page"),
      h(
        "p",
        {},
        "The simulator itself runs here. Open an experiment, move a slider and see what changes, and why.",
      ),
      h(
        "p",
        { class: "lead-links" },
        h(
          "a",
          { class: "button primary", href: "#/lab/example-cubic-newreno" },
          "CUBIC beside NewReno",
        ),
        " ",
        h("a", { class: "button", href: "#/lab/loopback" }, "A sender that starves"),
        " ",
        h("a", { class: "button", href: "#/lessons" }, "Lessons"),
      ),
      search,
    ),
    ...sections.map(({ section }) => section),
  );
}

/** The first sentence; the rest is in the workbench. */
const sentence = (text: string) => text.match(/^.*?[.?!](?=\s|$)/s)?.[0] ?? text;

function cardOf(card: CardSummary): HTMLElement {
  return h(
    "li",
    { class: "card" },
    h(
      "a",
      { href: `#/lab/${card.id}` },
      cardPicture(card.picture, card.title),
      h("h3", {}, card.title),
      h("p", {}, sentence(card.about)),
      h(
        "p",
        { class: "quiet-text" },
        [card.source ?? "", card.runs > 1 ? `${card.runs} runs` : ""].filter(Boolean).join(" · "),
      ),
    ),
  );
}

// A run in a notebook (anywidget): the plots of the workbench, linked in time. The cell brings the
// run in the form in which `weir lab` sends it; nothing is asked of a server.
import uplotCss from "uplot/dist/uPlot.min.css?inline";
import paletteCss from "./generated/palette.css?inline";
import pageCss from "./style.css?inline";
import { durationOf, figuresOf, flowsOf, FLOWS_AT_FIRST } from "./plots/figures";
import { Stack } from "./plots/stack";
import { TimeView } from "./plots/view";
import { unbundle } from "./server/bundle";
import { h } from "./ui/dom";
import { onTheme, scheme } from "./ui/theme";

interface Model {
  get(name: "run"): DataView;
  get(name: "flows"): string[];
  on(event: string, then: () => void): void;
  off(event: string, then: () => void): void;
}

/** The page's rules for a root of its own, so that the notebook keeps its look. */
const sheet = () => {
  const made = new CSSStyleSheet();
  made.replaceSync([uplotCss, paletteCss, pageCss].join("\n").replaceAll(":root", ":host"));
  return made;
};

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const host = h("div");
  const root = host.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = [sheet()];
  const view = new TimeView();
  const stack = new Stack(view, { height: 130, onfinding: () => undefined });
  const problem = h("p", { class: "problem", hidden: true });
  root.append(problem, stack.element);
  el.append(host);
  const show = () => {
    try {
      const { buffer, byteOffset, byteLength } = model.get("run");
      const run = unbundle((buffer as ArrayBuffer).slice(byteOffset, byteOffset + byteLength), 0);
      const wanted = model.get("flows");
      const flows = wanted.length ? wanted : flowsOf(run).slice(0, FLOWS_AT_FIRST);
      view.setWhole([0, durationOf(run)]);
      const figures = figuresOf({ name: "", number: 0, run }, { flows });
      stack.show([{ heading: null, figures, findings: run.explanation.findings }]);
      problem.hidden = true;
    } catch (error) {
      problem.hidden = false;
      problem.textContent = error instanceof Error ? error.message : String(error);
    }
  };
  const themed = () => (host.dataset.theme = scheme());
  themed();
  const forget = onTheme(themed);
  const changes = ["change:run", "change:flows"];
  for (const change of changes) model.on(change, show);
  show();
  return () => {
    for (const change of changes) model.off(change, show);
    forget();
    stack.destroy();
  };
}

export default { render };

// The runs of the server's folder, and the commands that write into it.
import { button, h } from "../ui/dom";
import { withUnit } from "../ui/units";
import type { Command, FolderRun, Server } from "./server";

export interface ServerView {
  element: HTMLElement;
  close(): void;
}

export interface Opening {
  /** Opens runs beside each other. */
  open(paths: string[]): void;
}

/** At most as many runs beside each other as the workbench has variants. */
const BESIDE = 4;

export function serverView(server: Server, opening: Opening): ServerView {
  const chosen = new Set<string>();
  const list = h("tbody");
  const note = h("p", { class: "quiet-text", role: "status" }, "Reading the folder …");
  const commands = h("section", {
    class: "going-on",
    "aria-label": "Commands that go on",
    "aria-live": "off",
  });
  const compared = h("section", { "aria-label": "Comparison", hidden: true });
  const beside = button("Show beside each other", () => opening.open([...chosen]), {
    class: "primary",
  });
  const compare = button(
    "Compare the numbers",
    () => void showComparison(server, [...chosen], compared),
  );
  const search = h("input", {
    type: "search",
    placeholder: "Find a run",
    "aria-label": "Find a run",
  });
  const choose = () => {
    beside.disabled = chosen.size === 0 || chosen.size > BESIDE;
    compare.disabled = chosen.size !== 2;
  };
  search.addEventListener("input", () => {
    const asked = search.value.trim().toLowerCase();
    for (const row of list.rows)
      row.hidden = !(row.textContent ?? "").toLowerCase().includes(asked);
  });
  const read = async () => {
    try {
      const { runs, more } = await server.runs();
      list.replaceChildren(...runs.map((run) => rowOf(run, chosen, choose, opening)));
      note.textContent = runs.length
        ? `${runs.length} runs${more ? ", and more that are not listed" : ""} in ${server.hello.folder}`
        : `There is no run in ${server.hello.folder} yet. “weir run FILE” there makes one.`;
    } catch (error) {
      note.textContent = error instanceof Error ? error.message : String(error);
    }
  };
  choose();
  void read();
  let going = 0;
  const close = server.live((told) => {
    commands.replaceChildren(...told.map(commandOf));
    // What has ended is a run now.
    if (told.length < going) void read();
    going = told.length;
  });
  const head = ["", "Run", "Flows", "Duration", "Seed", "Program"].map((words) =>
    h("th", { scope: "col" }, words),
  );
  const element = h(
    "div",
    { class: "gallery" },
    h("h1", {}, "Runs of this folder"),
    note,
    commands,
    search,
    h(
      "div",
      { class: "bench-tools served-tools" },
      beside,
      compare,
      button("Read again", () => void read()),
    ),
    compared,
    h(
      "div",
      { class: "scroll" },
      h("table", { class: "served" }, h("thead", {}, h("tr", {}, ...head)), list),
    ),
  );
  return { element, close };
}

function rowOf(
  run: FolderRun,
  chosen: Set<string>,
  choose: () => void,
  opening: Opening,
): HTMLTableRowElement {
  const name = run.path || "this folder";
  const box = h("input", { type: "checkbox", "aria-label": `Choose ${name}` });
  box.addEventListener("change", () => {
    if (box.checked) chosen.add(run.path);
    else chosen.delete(run.path);
    choose();
  });
  const others = (run.flow_count ?? 0) - (run.flows?.length ?? 0);
  const flows = [...(run.flows ?? []), ...(others > 0 ? [`and ${others} more`] : [])].join(", ");
  const title = run.message
    ? h("span", {}, name, h("small", {}, ` ${run.message}`))
    : button(name, () => opening.open([run.path]), { class: "quiet run-name" });
  const build = [
    run.lateness_p99_s == null ? "" : "in real time",
    run.commit?.slice(0, 9) ?? run.build ?? "",
  ];
  return h(
    "tr",
    {},
    h("td", {}, run.message ? null : box),
    h("td", {}, title),
    h("td", {}, flows),
    h("td", { class: "number" }, run.duration_s === undefined ? "" : `${run.duration_s} s`),
    h("td", { class: "number" }, run.seed ?? ""),
    h("td", {}, build.filter(Boolean).join(", ")),
  );
}

function commandOf({ command, subject, folder, done, total, unit, live }: Command): HTMLElement {
  const flows = (live?.flows ?? []).map((flow) => {
    const delay =
      flow.one_way_delay_s === null ? "" : `, ${withUnit(flow.one_way_delay_s, "s", 3)}`;
    return h(
      "li",
      {},
      `${flow.name}: ${withUnit(flow.goodput_bps, "bit/s", 3)}${delay}, lost ${flow.packets_lost}`,
    );
  });
  const links = (live?.links ?? [])
    .filter((link) => link.rate_bps > 0 || link.packets_dropped > 0)
    .map((link) =>
      h(
        "li",
        {},
        `${link.name}: queue ${withUnit(link.queue_bytes, "bytes", 3)}, dropped ${link.packets_dropped}`,
      ),
    );
  const at =
    unit === "runs"
      ? `${Math.floor(done)} of ${total} runs`
      : `${done.toFixed(1)} of ${total} ${unit}`;
  return h(
    "article",
    {},
    h("h2", {}, `weir ${command} ${subject}`),
    h("p", { class: "quiet-text" }, [folder, at].filter(Boolean).join(" · ")),
    h("progress", { max: total || 1, value: done, "aria-label": "Share that is done" }),
    h("ul", {}, ...flows, ...links),
  );
}

interface Effect {
  kind: string;
  name: string;
  measure: string;
  unit: string;
  a_mean: number | null;
  b_mean: number | null;
  relative: number | null;
}

interface Comparison {
  settings: { path: string; a: string | null; b: string | null }[];
  first_divergence: { table: string; time_s: number | null } | null;
  effects: Effect[];
}

/** What `weir compare` says of two runs, in its own numbers. */
async function showComparison(server: Server, paths: string[], place: HTMLElement): Promise<void> {
  place.hidden = false;
  place.replaceChildren(h("p", { class: "quiet-text" }, "Comparing …"));
  try {
    const [a, b] = paths as [string, string];
    const document = (await server.compare(a, b)) as unknown as Comparison;
    const settings = document.settings.map(({ path, a, b }) =>
      h("li", {}, `${path}: ${a ?? "none"} in A, ${b ?? "none"} in B`),
    );
    const rows = document.effects.map(({ kind, name, measure, unit, a_mean, b_mean, relative }) => {
      const numbers = [
        withUnit(a_mean, unit),
        withUnit(b_mean, unit),
        relative === null ? "" : `${(100 * relative).toFixed(1)} %`,
      ];
      return h(
        "tr",
        {},
        h("td", {}, `${kind} ${name}`.trim()),
        h("td", {}, measure),
        ...numbers.map((words) => h("td", { class: "number" }, words)),
      );
    });
    const first = document.first_divergence;
    const parts = first
      ? `The traces part at ${first.time_s ?? 0} s, in ${first.table}.`
      : "The traces that both have are equal.";
    const head = ["Of", "Measure", "A", "B", "Change"].map((words) =>
      h("th", { scope: "col" }, words),
    );
    place.replaceChildren(
      h("h2", {}, "Comparison"),
      h("p", { class: "quiet-text" }, `A: ${a}. B: ${b}. ${parts}`),
      h("ul", {}, ...settings),
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          { class: "served" },
          h("thead", {}, h("tr", {}, ...head)),
          h("tbody", {}, ...rows),
        ),
      ),
    );
  } catch (error) {
    place.replaceChildren(
      h("p", { class: "problem" }, error instanceof Error ? error.message : String(error)),
    );
  }
}

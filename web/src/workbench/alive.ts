// The path, alive: the current variant packet by packet, linked to the cursor of the plots. It is
// run again with the stages of its packets when somebody opens the view.
import type { Engine, Run } from "../engine/engine";
import { mountPath, type Path } from "../path/path";
import { h } from "../ui/dom";
import type { Session } from "./session";

export class Alive {
  readonly element = h(
    "details",
    { class: "alive" },
    h("summary", {}, h("b", {}, "The path, alive"), " packet by packet"),
  );
  private readonly place = h("div");
  private path: Path | null = null;
  private shown: Run | null = null;
  private abort: AbortController | null = null;
  /** True while the time comes from the path, so that the cursor does not move it back. */
  private telling = false;
  private readonly forget: () => void;

  constructor(
    private readonly engine: Engine,
    private readonly session: Session,
  ) {
    this.element.append(this.place);
    this.element.addEventListener("toggle", () => void this.show());
    this.forget = session.view.listen(
      () => undefined,
      () => this.seek(),
    );
  }

  /** Shows the current variant, if the view is open and has another run. */
  async show(): Promise<void> {
    const { run, text, sets } = this.session.current;
    if (!this.element.open || !run || run === this.shown) return;
    this.shown = run;
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    const words = h("p", { class: "quiet-text" }, "Running again with every packet …");
    this.path?.destroy();
    this.path = null;
    this.place.replaceChildren(words);
    try {
      const whole = await this.engine.run(text, {
        sets,
        files: this.session.files,
        packets: true,
        signal: abort.signal,
      });
      if (abort.signal.aborted) return;
      words.remove();
      const startS = this.session.view.cursor ?? Math.max(this.session.view.span[0], 0);
      this.path = mountPath(this.place, whole, {
        startS: startS || undefined,
        onTime: (timeS) => this.tell(timeS),
      });
    } catch (error) {
      if (abort.signal.aborted) return;
      words.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  private tell(timeS: number): void {
    this.telling = true;
    this.session.view.point(timeS);
    this.telling = false;
  }

  private seek(): void {
    const at = this.session.view.cursor;
    if (at !== null && !this.telling) this.path?.seek(at);
  }

  close(): void {
    this.abort?.abort();
    this.forget();
    this.path?.destroy();
  }
}

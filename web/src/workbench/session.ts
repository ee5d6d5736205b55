// A scenario in up to four variants, and their runs. A variant is a text and settings over it, as
// `weir run FILE --set KEY=VALUE` has them.
import type { Engine, Run, ScenarioError, Setting } from "../engine/engine";
import { TimeView } from "../plots/view";
import { VARIANTS, type Shared } from "../share/link";
import { durationOf } from "../plots/figures";

export type Mode = "beside" | "together" | "difference";
export const MODES: Mode[] = ["beside", "together", "difference"];

export interface Variant {
  letter: string;
  text: string;
  sets: Setting[];
  run: Run | null;
  /** Whether text or settings have changed since the run. */
  waiting: boolean;
  /** The share that is simulated while a run goes on. */
  progress: number | null;
  error: Error | ScenarioError | null;
}

export type Change = "variants" | "settings" | "text" | "run" | "progress" | "shown";

/** A run that took longer is ended by the next change; a shorter one shows its picture first. */
const SHORT_MS = 300;
/** While a slider moves, a run of up to `MEDIUM_MS` shows its picture if none came for `PAUSE_MS`. */
const MEDIUM_MS = 2000;
const PAUSE_MS = 500;

export class Session {
  title = "Scenario";
  card: [id: string, run: string] | null = null;
  files: Record<string, string> = {};
  variants: Variant[] = [];
  active = 0;
  mode: Mode = "beside";
  /** The flows that are shown; the first ones if empty. */
  flows: string[] = [];
  readonly view = new TimeView();
  private readonly listeners = new Set<(change: Change) => void>();
  private running: { variant: Variant; abort: AbortController } | null = null;
  private closed = false;
  /** When a run ended last. */
  private ranAt = 0;

  constructor(private readonly engine: Engine) {}

  listen(listener: (change: Change) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private tell(change: Change): void {
    this.listeners.forEach((listener) => listener(change));
  }

  get current(): Variant {
    return this.variants[this.active]!;
  }

  /** Shows other scenarios. */
  open(shared: Shared): void {
    this.running?.abort.abort();
    this.title = shared.title;
    this.card = shared.card;
    this.files = shared.files;
    this.flows = [];
    this.active = 0;
    this.mode = MODES.find((mode) => mode === shared.mode) ?? "beside";
    this.variants = shared.variants
      .slice(0, VARIANTS)
      .map(({ text, sets }) => this.made(text, sets));
    this.letters();
    if (shared.span) {
      this.view.setWhole([0, Math.max(shared.span[1], this.view.whole[1])]);
      this.view.show(shared.span);
    } else this.view.reset();
    this.tell("variants");
    void this.work();
  }

  /** What a link holds. */
  shared(): Shared {
    return {
      title: this.title,
      variants: this.variants.map(({ text, sets }) => ({ text, sets })),
      files: this.files,
      mode: this.mode,
      span: this.view.zoomed ? this.view.span : null,
      card: this.card,
    };
  }

  private made(text: string, sets: Setting[]): Variant {
    return { letter: "", text, sets, run: null, waiting: true, progress: null, error: null };
  }

  private letters(): void {
    this.variants.forEach((variant, index) => (variant.letter = "ABCD"[index]!));
  }

  get full(): boolean {
    return this.variants.length >= VARIANTS;
  }

  /** Adds a variant of the current one with more settings, and shows it. */
  add(more: Setting[] = []): void {
    if (this.full) return;
    const variant = this.made(this.current.text, this.current.sets);
    for (const [key, value] of more) variant.sets = withSetting(variant.sets, key, value);
    if (!more.length)
      Object.assign(variant, { run: this.current.run, waiting: this.current.waiting });
    this.variants.push(variant);
    this.letters();
    this.active = this.variants.length - 1;
    this.tell("variants");
    void this.work();
  }

  remove(index: number): void {
    if (this.variants.length < 2) return;
    const [gone] = this.variants.splice(index, 1);
    if (this.running?.variant === gone) this.running!.abort.abort();
    if (this.active >= index) this.active = Math.max(0, this.active - 1);
    this.letters();
    this.tell("variants");
  }

  choose(index: number): void {
    this.active = index;
    this.tell("variants");
  }

  setMode(mode: Mode): void {
    this.mode = mode;
    this.tell("shown");
  }

  showFlows(flows: string[]): void {
    this.flows = flows;
    this.tell("shown");
  }

  /** Settings of the current variant: a slider has moved. */
  set(settings: Setting[]): void {
    const variant = this.current;
    for (const [key, value] of settings) variant.sets = withSetting(variant.sets, key, value);
    this.changed(variant, "settings");
  }

  unset(key: string): void {
    this.current.sets = this.current.sets.filter(([other]) => other !== key);
    this.changed(this.current, "settings");
  }

  /** A new text: of all variants that had the same one. */
  edit(text: string): void {
    const before = this.current.text;
    if (text === before) return;
    // All have the new text before anybody is told.
    const same = this.variants.filter((variant) => variant.text === before);
    for (const variant of same) variant.text = text;
    for (const variant of same) this.changed(variant, "text");
  }

  /** Writes the settings of the current variant into its text. */
  async write(): Promise<void> {
    const variant = this.current;
    const text = await this.engine.set(variant.text, variant.sets);
    variant.text = text;
    variant.sets = [];
    this.tell("text");
    this.tell("settings");
  }

  again(variant: Variant): void {
    this.changed(variant, "settings");
  }

  private changed(variant: Variant, change: Change): void {
    variant.waiting = true;
    const wallMs = variant.run?.wallMs ?? Infinity;
    const isDue = wallMs <= MEDIUM_MS && performance.now() - this.ranAt > PAUSE_MS;
    const ends = wallMs > SHORT_MS && !isDue;
    if (this.running?.variant === variant && ends) this.running.abort.abort();
    this.tell(change);
    void this.work();
  }

  stop(): void {
    for (const variant of this.variants) variant.waiting = false;
    this.running?.abort.abort();
  }

  close(): void {
    this.closed = true;
    this.running?.abort.abort();
    this.listeners.clear();
  }

  /** Runs what waits, the current variant first, one after the other. */
  private async work(): Promise<void> {
    if (this.running) return;
    for (;;) {
      const variant = this.current.waiting
        ? this.current
        : this.variants.find((each) => each.waiting);
      if (!variant || this.closed) return;
      variant.waiting = false;
      const abort = new AbortController();
      this.running = { variant, abort };
      variant.progress = 0;
      this.tell("progress");
      try {
        const run = await this.engine.run(variant.text, {
          sets: variant.sets,
          files: this.files,
          signal: abort.signal,
          onProgress: (share) => {
            variant.progress = share;
            this.tell("progress");
          },
        });
        variant.run = run;
        variant.error = null;
        this.ranAt = performance.now();
      } catch (error) {
        if (!(error instanceof Error && error.name === "AbortError")) {
          variant.error = error instanceof Error ? error : new Error(String(error));
        }
      }
      variant.progress = null;
      this.running = null;
      if (this.closed) return;
      const ends = this.variants.map(({ run }) => (run ? durationOf(run) : 0));
      const end = Math.max(...ends);
      if (end > 0) this.view.setWhole([0, end]);
      this.tell("run");
    }
  }
}

/** The settings with one changed; the last one for a key holds. */
export function withSetting(sets: Setting[], key: string, value: string): Setting[] {
  const at = sets.findIndex(([other]) => other === key);
  if (at < 0) return [...sets, [key, value]];
  return sets.map((set, index) => (index === at ? [key, value] : set));
}

/** What a variant is called: its settings, without the path that they share. */
export function nameOf(variant: Variant): string {
  const words = variant.sets.map(
    ([key, value]) => `${key.split(".").slice(-2).join(".")} = ${value}`,
  );
  return words.length ? words.join(", ") : "as written";
}

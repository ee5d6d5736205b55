// The engine of a page that `weir lab` has sent: short runs go to the worker, long ones to the
// native simulator, and a run of the folder is shown as it was made. All give the same numbers.
import type { Engine, Run, RunOptions, Setting } from "../engine/engine";
import type { Server } from "./server";

/** A run in the worker goes on for this long before its end is estimated. */
const TRIED_MS = 1500;
/** A run that would take longer in the worker goes to the native simulator. */
const LONG_MS = 8000;

export class ServedEngine implements Engine {
  /** Runs of the folder, by what a run of the same scenario would be asked with. */
  private readonly opened = new Map<string, Run>();
  /** Scenarios that have gone to the native simulator once. */
  private readonly long = new Set<string>();

  constructor(
    private readonly engine: Engine,
    private readonly server: Server,
    /** Milliseconds; a test has its own. */
    private readonly now: () => number = () => performance.now(),
  ) {}

  version = () => this.engine.version();
  schema = () => this.engine.schema();
  columns = () => this.engine.columns();
  check: Engine["check"] = (...words) => this.engine.check(...words);
  set: Engine["set"] = (...words) => this.engine.set(...words);
  value: Engine["value"] = (...words) => this.engine.value(...words);
  laws = () => this.engine.laws();
  theory: Engine["theory"] = (...words) => this.engine.theory(...words);
  close = () => this.engine.close();

  /** Shows this run when this text is asked for, without a setting. */
  keep(toml: string, run: Run): void {
    this.opened.set(toml, run);
  }

  async run(toml: string, options: RunOptions = {}): Promise<Run> {
    const kept = isPlain(options) ? this.opened.get(toml) : undefined;
    if (kept) return kept;
    // The native simulator keeps no packets of the view of the path.
    if (options.packets) return this.engine.run(toml, options);
    if (this.long.has(toml)) return this.server.run(toml, "page", options);
    return this.tried(toml, options);
  }

  /** Begins in the worker, and goes over to the native simulator if the end is far. */
  private async tried(toml: string, options: RunOptions): Promise<Run> {
    const own = new AbortController();
    const ended = () => own.abort();
    if (options.signal?.aborted) own.abort();
    options.signal?.addEventListener("abort", ended, { once: true });
    const began = this.now();
    let far = false;
    const onProgress = (share: number, simulatedS: number) => {
      const took = this.now() - began;
      if (took > TRIED_MS && took / Math.max(share, 1e-6) > LONG_MS) {
        far = true;
        own.abort();
      } else options.onProgress?.(share, simulatedS);
    };
    try {
      return await this.engine.run(toml, { ...options, onProgress, signal: own.signal });
    } catch (error) {
      if (!far || options.signal?.aborted) throw error;
    } finally {
      options.signal?.removeEventListener("abort", ended);
    }
    this.long.add(toml);
    return this.server.run(toml, "page", options);
  }
}

const isPlain = (options: RunOptions) =>
  !(options.sets as Setting[] | undefined)?.length &&
  options.seed === undefined &&
  !options.packets;

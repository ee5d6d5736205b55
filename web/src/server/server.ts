// What the page asks `weir lab`, if that has sent it. A page of another web server asks nothing.
import type { Run, RunOptions } from "../engine/types";
import { unbundle } from "./bundle";

/** A run of the server's folder. */
export interface FolderRun {
  path: string;
  seed?: number;
  duration_s?: number;
  events?: number;
  build?: string;
  commit?: string;
  /** Of a run in real time. */
  lateness_p99_s?: number | null;
  flows?: string[];
  flow_count?: number;
  /** Why the run cannot be opened. */
  message?: string;
}

export interface LiveState {
  at_s: number;
  end_s: number;
  flows: {
    name: string;
    goodput_bps: number;
    one_way_delay_s: number | null;
    packets_lost: number;
  }[];
  links: { name: string; rate_bps: number; queue_bytes: number; packets_dropped: number }[];
  other_flows: number;
}

/** A command that writes into the folder and goes on. */
export interface Command {
  command: string;
  subject: string;
  folder: string;
  done: number;
  total: number;
  unit: string;
  live: LiveState | null;
}

interface Hello {
  version: string;
  folder: string;
  token: string;
}

type Fetch = typeof fetch;

export class Server {
  private constructor(
    readonly hello: Hello,
    private readonly ask: Fetch,
  ) {}

  /** The server that has sent this page; null if it is another web server, or there is none. */
  static async find(ask: Fetch = (...words) => fetch(...words)): Promise<Server | null> {
    if (typeof location !== "undefined" && !location.protocol.startsWith("http")) return null;
    try {
      const answer = await ask("./api/hello", { cache: "no-store" });
      const isJson = answer.headers.get("content-type")?.startsWith("application/json");
      if (!answer.ok || !isJson) return null;
      const hello = (await answer.json()) as Hello;
      return typeof hello.token === "string" ? new Server(hello, ask) : null;
    } catch {
      return null;
    }
  }

  async runs(): Promise<{ runs: FolderRun[]; more: boolean }> {
    return (await this.get("./api/runs")).json() as Promise<{ runs: FolderRun[]; more: boolean }>;
  }

  /** The run in a folder. */
  async open(path: string, signal?: AbortSignal): Promise<Run> {
    const began = performance.now();
    const answer = await this.get(`./api/run?path=${encodeURIComponent(path)}`, signal);
    return unbundle(await answer.arrayBuffer(), performance.now() - began);
  }

  /** Two runs, as `weir compare A B --json` compares them. */
  async compare(a: string, b: string): Promise<Record<string, unknown>> {
    const answer = await this.get(
      `./api/compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`,
    );
    return answer.json() as Promise<Record<string, unknown>>;
  }

  /** Runs a scenario in the native simulator; its folder is among the runs afterwards. */
  async run(toml: string, name: string, options: RunOptions = {}): Promise<Run> {
    const began = performance.now();
    const { sets, seed, files, signal, onProgress } = options;
    const begun = await this.post("./api/jobs", { toml, name, sets, seed, files }, signal);
    const { job } = (await begun.json()) as { job: number };
    const end = () => void this.post(`./api/jobs/${job}/cancel`, {}).catch(() => undefined);
    signal?.addEventListener("abort", end, { once: true });
    try {
      const path = await this.result(job, onProgress, signal);
      const run = await this.open(path, signal);
      return { ...run, wallMs: performance.now() - began };
    } finally {
      signal?.removeEventListener("abort", end);
    }
  }

  /** Waits for the folder of a run. */
  private result(
    job: number,
    onProgress: RunOptions["onProgress"],
    signal?: AbortSignal,
  ): Promise<string> {
    return new Promise((resolve, reject) => {
      const events = new EventSource(`./api/jobs/${job}/events`);
      const over = (end: () => void) => {
        events.close();
        end();
      };
      const aborted = () =>
        over(() => reject(new DOMException("The run was ended.", "AbortError")));
      if (signal?.aborted) return aborted();
      signal?.addEventListener("abort", aborted, { once: true });
      const on = (name: string, then: (document: Record<string, unknown>) => void) =>
        events.addEventListener(name, (event) =>
          then(JSON.parse((event as MessageEvent<string>).data) as Record<string, unknown>),
        );
      on("progress", ({ share, simulated_s }) =>
        onProgress?.(Number(share), Number(simulated_s ?? 0)),
      );
      on("done", ({ path }) => over(() => resolve(String(path))));
      on("failed", ({ message }) => over(() => reject(new Error(String(message)))));
      events.onerror = () => over(() => reject(new Error("The server has ended.")));
    });
  }

  /** Tells of the commands that go on, until the returned function is called. */
  live(told: (commands: Command[]) => void): () => void {
    const events = new EventSource("./api/live");
    events.addEventListener("progress", (event) => {
      const { commands } = JSON.parse((event as MessageEvent<string>).data) as {
        commands: Command[];
      };
      told(commands);
    });
    return () => events.close();
  }

  private async get(url: string, signal?: AbortSignal): Promise<Response> {
    return checked(await this.ask(url, { cache: "no-store", ...(signal ? { signal } : {}) }));
  }

  private async post(url: string, document: unknown, signal?: AbortSignal): Promise<Response> {
    const headers = { "content-type": "application/json", "x-weir-token": this.hello.token };
    const body = JSON.stringify(document);
    return checked(
      await this.ask(url, { method: "POST", headers, body, ...(signal ? { signal } : {}) }),
    );
  }
}

/** The answer, or the server's message as an error. */
async function checked(answer: Response): Promise<Response> {
  if (answer.ok) return answer;
  const document = (await answer.json().catch(() => null)) as {
    error?: { message?: string };
  } | null;
  throw new Error(document?.error?.message ?? `The server answered with ${answer.status}.`);
}

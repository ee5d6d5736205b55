// The pages of `weir lab`: what it sends is read, and runs go where they belong.
import { describe, expect, it } from "vitest";
import type { Run, RunOptions } from "../src/engine/types";
import type { Engine as FullEngine } from "../src/engine/engine";
import { unbundle } from "../src/server/bundle";
import { ServedEngine } from "../src/server/engine";
import { Server } from "../src/server/server";

const explanation = {
  version: 1,
  held: [],
  unknown: [],
  findings: [
    {
      kind: "bufferbloat",
      remedies: [
        {
          text: "a shorter queue",
          set: ["link.a.queue.limit=20", "link.a.note=b=c"],
          place: "network",
        },
      ],
    },
  ],
};

function bundle(): ArrayBuffer {
  const header = JSON.stringify({
    summaryJson: '{"run":{"seed":3},"flows":{},"links":{}}\n',
    resolvedToml: "[run]\n",
    explanationJson: JSON.stringify(explanation),
    tables: [
      {
        name: "flows/</script>",
        rows: 3,
        columns: [{ name: "time_s" }, { name: "state", words: ["a", "b"] }, { name: "drops" }],
      },
    ],
  });
  const octets = new TextEncoder().encode(header);
  const length = Math.ceil(octets.length / 8) * 8;
  const whole = new ArrayBuffer(16 + length + 24 + 16 + 24);
  const bytes = new Uint8Array(whole);
  bytes.set(new TextEncoder().encode("WEIRRUN1"));
  new DataView(whole).setBigUint64(8, BigInt(length), true);
  bytes.fill(32, 16, 16 + length);
  bytes.set(octets, 16);
  new Float64Array(whole, 16 + length, 3).set([0.5, NaN, 2]);
  new Uint32Array(whole, 16 + length + 24, 3).set([0, 1, 0]);
  new Float64Array(whole, 16 + length + 40, 3).set([1, 2, 2 ** 40]);
  return whole;
}

describe("a run as the server sends it", () => {
  it("has the columns, the bytes of the summary and the remedies", () => {
    const run = unbundle(bundle(), 12);
    expect(run.summaryJson).toBe('{"run":{"seed":3},"flows":{},"links":{}}\n');
    expect(run.summary.run.seed).toBe(3);
    const [table] = run.tables;
    expect([...table!.numbers.time_s!]).toEqual([0.5, NaN, 2]);
    expect([...table!.numbers.drops!]).toEqual([1, 2, 2 ** 40]);
    expect([...table!.words.state!.codes].map((code) => table!.words.state!.words[code])).toEqual([
      "a",
      "b",
      "a",
    ]);
    expect(run.remedies).toEqual([
      {
        finding: 0,
        text: "a shorter queue",
        place: "network",
        set: [
          ["link.a.queue.limit", "20"],
          ["link.a.note", "b=c"],
        ],
      },
    ]);
  });

  it("is refused where it is cut off or something else", () => {
    const whole = bundle();
    for (const size of [0, 15, 40, whole.byteLength - 8])
      expect(() => unbundle(whole.slice(0, size), 0)).toThrow();
    const other = whole.slice(0);
    new Uint8Array(other)[0] = 60;
    expect(() => unbundle(other, 0)).toThrow("no run");
  });
});

const answer = (document: unknown, type = "application/json", status = 200) =>
  new Response(JSON.stringify(document), { status, headers: { "content-type": type } });

describe("the server", () => {
  it("is found by its answer only", async () => {
    const hello = { version: "0.1.0", folder: "/runs", token: "t" };
    expect((await Server.find(async () => answer(hello)))?.hello).toEqual(hello);
    expect(await Server.find(async () => answer(hello, "text/html"))).toBeNull();
    expect(await Server.find(async () => answer({}, "application/json", 404))).toBeNull();
    expect(await Server.find(async () => answer({}))).toBeNull();
    expect(await Server.find(async () => Promise.reject(new Error("none")))).toBeNull();
  });

  it("gets the token with what it starts, and its errors are errors", async () => {
    const asked: [string, RequestInit | undefined][] = [];
    const server = await Server.find(async (url, init) => {
      asked.push([String(url), init]);
      if (String(url).endsWith("hello"))
        return answer({ version: "", folder: "", token: "secret" });
      return answer({ error: { message: "two runs go on already" } }, "application/json", 429);
    });
    await expect(server!.run("[run]", "page", { seed: 7 })).rejects.toThrow(
      "two runs go on already",
    );
    const [url, init] = asked.at(-1)!;
    expect(url).toBe("./api/jobs");
    expect(init?.method).toBe("POST");
    expect(new Headers(init?.headers).get("x-weir-token")).toBe("secret");
    expect(JSON.parse(String(init?.body))).toEqual({ toml: "[run]", name: "page", seed: 7 });
  });
});

describe("the engine of a served page", () => {
  const run = { resolvedToml: "", wallMs: 1 } as unknown as Run;
  const served = (inWorker: (options: RunOptions) => Promise<Run>, now?: () => number) => {
    const calls: string[] = [];
    const engine = {
      run: async (_: string, options: RunOptions) => (calls.push("worker"), inWorker(options)),
    };
    const server = { run: async () => (calls.push("native"), run) };
    return {
      calls,
      engine: new ServedEngine(engine as unknown as FullEngine, server as unknown as Server, now),
    };
  };

  it("shows a run of the folder as it was made, and a variant of it runs", async () => {
    const { calls, engine } = served(async () => ({ ...run, wallMs: 2 }));
    engine.keep("# a\n[run]\n", run);
    expect(await engine.run("# a\n[run]\n", {})).toBe(run);
    expect(calls).toEqual([]);
    expect((await engine.run("# a\n[run]\n", { sets: [["run.seed", "2"]] })).wallMs).toBe(2);
    expect(calls).toEqual(["worker"]);
  });

  it("gives a run whose end is far to the native simulator, and the next one of the same text too", async () => {
    let clock = 0;
    const { calls, engine } = served(
      async (options) => {
        clock += 2000;
        options.onProgress?.(0.1, 1);
        options.signal?.throwIfAborted();
        return { ...run, wallMs: 2 };
      },
      () => clock,
    );
    expect(await engine.run("[run]", {})).toBe(run);
    expect(await engine.run("[run]", { seed: 2 })).toBe(run);
    expect(calls).toEqual(["worker", "native", "native"]);
  });

  it("leaves short runs and packets to the worker, and an end by the page is no long run", async () => {
    const { calls, engine } = served(async (options) => (options.onProgress?.(0.9, 1), run));
    await engine.run("[run]", {});
    await engine.run("[run]", { packets: true });
    expect(calls).toEqual(["worker", "worker"]);
    const ended = served(async (options) => {
      options.signal?.throwIfAborted();
      return run;
    });
    const abort = new AbortController();
    abort.abort();
    await expect(ended.engine.run("[run]", { signal: abort.signal })).rejects.toThrow();
    expect(ended.calls).toEqual(["worker"]);
  });
});

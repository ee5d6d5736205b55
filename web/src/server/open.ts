// Runs of the folder in the workbench: each is a variant whose text is its resolved scenario.
import { VARIANTS, type Shared } from "../share/link";
import type { ServedEngine } from "./engine";
import type { Server } from "./server";

/** Reads the runs at these paths; the workbench shows them as they were made. */
export async function sharedRuns(
  server: Server,
  engine: ServedEngine,
  paths: string[],
): Promise<Shared> {
  const variants = await Promise.all(
    paths.slice(0, VARIANTS).map(async (path) => {
      const run = await server.open(path);
      // The name makes equal scenarios of different runs different texts; JSON has it in one line.
      const text = `# The run in ${JSON.stringify(path || ".")}\n${run.resolvedToml}`;
      engine.keep(text, run);
      return { text, sets: [] };
    }),
  );
  const last = (path: string) => path.split("/").slice(-2).join("/") || "the folder";
  return {
    title: paths.slice(0, VARIANTS).map(last).join(", "),
    variants,
    files: {},
    mode: "beside",
    span: null,
    card: null,
  };
}

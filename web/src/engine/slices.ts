// A run in slices: between two of them the worker reads its messages, so that a cancellation is
// seen and other calls are answered.

/** The part of `LiveRun` that is needed here. */
export interface Advancing {
  readonly endS: number;
  readonly nowS: number;
  /** Simulates so many pieces of at most a thousandth of the run; true at its end. */
  advance(pieces: number): boolean;
}

/** The length of a slice, and the times between two reports of progress. */
const SLICE_MS = 15;
const REPORT_MS = 50;
/** Pieces that are simulated without a look at the clock: more, the faster they go. */
const MOST_PIECES = 100;

export interface Slicing {
  isCancelled: () => boolean;
  onProgress: (share: number, simulatedS: number) => void;
  /** Lets other work go on. */
  pause: () => Promise<void>;
  now: () => number;
}

/** Advances a run to its end; false if it was cancelled. */
export async function advanceInSlices(run: Advancing, slicing: Slicing): Promise<boolean> {
  const { isCancelled, onProgress, pause, now } = slicing;
  let pieces = 1;
  let begun = now();
  let before = begun;
  let reported = begun;
  while (!run.advance(pieces)) {
    const after = now();
    // A third of a slice, because a run may become busier.
    const fits = (pieces * SLICE_MS) / 3 / Math.max(after - before, 0.01);
    pieces = Math.max(1, Math.min(MOST_PIECES, pieces * 2, Math.floor(fits)));
    before = after;
    if (after - begun < SLICE_MS) {
      continue;
    }
    if (after - reported >= REPORT_MS) {
      reported = after;
      onProgress(run.nowS / run.endS, run.nowS);
    }
    await pause();
    if (isCancelled()) {
      return false;
    }
    begun = now();
    before = begun;
  }
  return true;
}

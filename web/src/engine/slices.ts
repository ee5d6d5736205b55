// A run in slices: between two of them the worker reads its messages, so that a cancellation is
// seen and other calls are answered.

/** The part of `LiveRun` that is needed here. */
export interface Advancing {
  readonly endS: number;
  advance(untilS: number): void;
}

/** The length of a slice, and the times between two reports of progress. */
const SLICE_MS = 15;
const REPORT_MS = 50;
/** The first slice is this share of the run, and none is larger. */
const FIRST_SHARE = 1 / 1000;
const MOST_SHARE = 1 / 10;

export interface Slicing {
  isCancelled: () => boolean;
  onProgress: (share: number, simulatedS: number) => void;
  /** Lets other work go on. */
  pause: () => Promise<void>;
  now: () => number;
}

/**
 * Advances a run to its end; false if it was cancelled. The division into slices does not change
 * the run: the next slice is as long as the last one was short.
 */
export async function advanceInSlices(run: Advancing, slicing: Slicing): Promise<boolean> {
  const { isCancelled, onProgress, pause, now } = slicing;
  const end = run.endS;
  let at = 0;
  let step = end * FIRST_SHARE;
  let begun = now();
  let reported = begun;
  while (at < end) {
    const before = now();
    at = Math.min(end, at + step);
    run.advance(at);
    const after = now();
    const took = Math.max(after - before, 0.01);
    // At most ten times as long, because a run may become busier.
    step *= Math.min(10, Math.max(0.1, SLICE_MS / 3 / took));
    step = Math.min(step, end * MOST_SHARE);
    if (after - begun < SLICE_MS && at < end) {
      continue;
    }
    if (after - reported >= REPORT_MS) {
      reported = after;
      onProgress(at / end, at);
    }
    await pause();
    if (isCancelled()) {
      return false;
    }
    begun = now();
  }
  return true;
}
